package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Finding is something that is not as RDMA in guests needs it, and what to do about it on the host.
type Finding struct {
	Severity string // error: nothing works so; warning: RDMA does not
	Check    string
	Finding  string
	Fix      string
}

// Severities of findings.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Checks of a host.
const (
	CheckHyperVRole    = "hyperv_role"
	CheckHyperVModule  = "hyperv_module"
	CheckVMMS          = "vmms"
	CheckUserRights    = "user_rights"
	CheckLanguageMode  = "language_mode"
	CheckNetworkDirect = "network_direct"
	CheckIovSupport    = "iov_support"
	CheckSriovSupport  = "sriov_support"
	CheckOther         = "other"
)

// Checks lists them.
func Checks() []string {
	return []string{CheckLanguageMode, CheckHyperVRole, CheckHyperVModule, CheckVMMS, CheckUserRights, CheckNetworkDirect, CheckIovSupport, CheckSriovSupport, CheckOther}
}

// service is Get-Service.
type service struct {
	Name   string `json:"Name"`
	Status string `json:"Status"`
}

// constrained says whether PowerShell on the host refuses scripts.
func constrained(err error) bool {
	var start *powershell.StartError
	return errors.As(err, &start) && start.Constrained()
}

func languageFinding() Finding {
	return Finding{SeverityError, CheckLanguageMode,
		"PowerShell runs in constrained language mode for the user of the connection, because of an application control policy or the environment variable __PSLockdownPolicy; what the provider runs is refused.",
		"Look at Get-AppLockerPolicy -Effective -Xml and exempt the user from its script rules (App Control for Business applies to all users: allow PowerShell there), or, where the variable was set: " +
			"[Environment]::SetEnvironmentVariable('__PSLockdownPolicy', $null, 'Machine')"}
}

// readWhatWorks reads the parts that need no Hyper-V, each as far as it works.
func (h *Host) readWhatWorks(ctx context.Context) (*Inventory, error) {
	inv := &Inventory{}
	for _, p := range []part{partOS, partNetAdapters} {
		b := h.batch("read the host", "")
		after := b.readParts(p)
		err := b.run(ctx)
		var e *Error
		if err != nil && (!asError(err, &e) || e.Command == nil) {
			return nil, err
		}
		if err != nil {
			continue
		}
		one, err := after()
		if err != nil {
			return nil, err
		}
		if one.OS != nil {
			inv.OS = one.OS
		} else {
			one.OS = inv.OS
			inv = one
		}
	}
	return inv, nil
}

// diagnose looks for what is wrong with the host: by what was read where all could be, else by asking again part by part.
func (h *Host) diagnose(ctx context.Context, inv *Inventory, host *RdmaHost) ([]Finding, error) {
	b := h.batch("look for what is missing on the host", "")
	always := tolerating(anyError)
	global := find[offloadSetting](b, wire.Call{Cmdlet: "Get-NetOffloadGlobalSetting"}, always)
	var vmms *found[service]
	var vmHost *found[VMHost]
	var vms *found[named]
	if !host.Read {
		vmms = find[service](b, wire.Call{Cmdlet: "Get-Service", Parameters: map[string]any{"Name": "vmms"}}, always)
		vmHost = find[VMHost](b, wire.Call{Cmdlet: "Get-VMHost"}, always)
		vms = find[named](b, wire.Call{Cmdlet: "Get-VM"}, always)
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	findings := []Finding{}
	if !host.Read {
		findings = append(findings, hyperVFindings(inv.OS, vmms, vmHost.answer, vms.answer)...)
	}
	if g := one(global.Items); g != nil && g.NetworkDirect == "Disabled" {
		findings = append(findings, Finding{SeverityWarning, CheckNetworkDirect, "RDMA (Network Direct) is turned off for the whole host.", "Set-NetOffloadGlobalSetting -NetworkDirect Enabled"})
	}
	if inv.Host != nil && !inv.Host.IovSupport {
		reasons := inv.Host.IovSupportReasons
		if len(reasons) == 0 {
			reasons = []string{"Windows gives no reason."}
		}
		for _, reason := range reasons { // facts.md 42
			findings = append(findings, Finding{SeverityWarning, CheckIovSupport, "The host does not support SR-IOV: " + reason,
				"In the BIOS turn on what the reason names (VT-d or AMD-Vi, interrupt remapping, SR-IOV, ACS, control of PCI Express), then look again: (Get-VMHost).IovSupportReasons"})
		}
	}
	for _, d := range host.Devices {
		for _, p := range d.PortInfo {
			if p.SriovSupport != "" && p.SriovSupport != "Supported" { // facts.md 41
				findings = append(findings, Finding{SeverityWarning, CheckSriovSupport, fmt.Sprintf("SR-IOV of the net adapter %q: %s.", p.NetAdapter.Name, p.SriovSupport),
					"Look at what is missing: Get-NetAdapterSriov -Name " + quotePowerShell(p.NetAdapter.Name) + " | Format-List SriovSupport, NumVFs; a driver of the vendor and the BIOS decide"})
			}
		}
	}
	return findings, nil
}

// hyperVFindings explains why Hyper-V's cmdlets do not work. Stopped service and missing right look alike to some of
// them (errors.md 1), so the service is asked for itself.
func hyperVFindings(os *OSInfo, vmms *found[service], answers ...*answer) []Finding {
	client := os != nil && os.ProductType == 1
	choose := func(onServer, onClient string) string {
		if client {
			return onClient
		}
		return onServer
	}
	var out []Finding
	s := one(vmms.Items)
	if s == nil && hasID(vmms.answer, "NoServiceFoundForGivenName") {
		out = append(out, Finding{SeverityError, CheckHyperVRole, "Hyper-V is not installed: there is no service vmms.",
			choose("Install-WindowsFeature -Name Hyper-V -IncludeManagementTools -Restart", "Enable-WindowsOptionalFeature -Online -FeatureName Microsoft-Hyper-V-All")})
	}
	if hasID(answers[0], "CommandNotFoundException") {
		out = append(out, Finding{SeverityError, CheckHyperVModule, "The Hyper-V PowerShell module is not installed.",
			choose("Install-WindowsFeature -Name Hyper-V-PowerShell", "Enable-WindowsOptionalFeature -Online -FeatureName Microsoft-Hyper-V-Management-PowerShell")})
	}
	if s != nil && s.Status != "Running" {
		out = append(out, Finding{SeverityError, CheckVMMS, fmt.Sprintf("The service Hyper-V Virtual Machine Management (vmms) does not run: it is %s.", strings.ToLower(s.Status)),
			"Set-Service -Name vmms -StartupType Automatic; Start-Service -Name vmms"})
	}
	for _, a := range answers {
		for _, e := range a.Errors {
			if commandKind(e) == Unauthorized {
				return append(out, Finding{SeverityError, CheckUserRights, "The user of the connection is neither an administrator nor a Hyper-V administrator.",
					"Add-LocalGroupMember -SID S-1-5-32-544 -Member 'DOMAIN\\name' (Administrators; S-1-5-32-578, Hyper-V Administrators, is not enough for net adapters and the registry)"})
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, a := range answers {
		for _, e := range a.Errors {
			return append(out, Finding{SeverityError, CheckOther, fmt.Sprintf("Hyper-V's cmdlets do not work: %s [%s]", e.Message, e.ID), "Look at the host's event log: Get-WinEvent -LogName Microsoft-Windows-Hyper-V-VMMS-Admin -MaxEvents 20"})
		}
	}
	return append(out, Finding{SeverityError, CheckOther, "Not everything on the host could be read.", "Read the error of a resource of this host; it names the cmdlet."})
}

func hasID(a *answer, head string) bool {
	for _, e := range a.Errors {
		if idHead(e) == head {
			return true
		}
	}
	return false
}

// quotePowerShell writes a name for a person to paste.
func quotePowerShell(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
