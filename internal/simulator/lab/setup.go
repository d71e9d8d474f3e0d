package lab

import (
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Setup is how far a host has been set up.
type Setup struct {
	HyperVModule  string `json:"hyperv_module"`  // installed, missing
	VMMS          string `json:"vmms"`           // running, stopped, missing
	LanguageMode  string `json:"language_mode"`  // full, constrained
	UserRights    string `json:"user_rights"`    // administrator, hyperv_administrator, remote_management_user, none
	NetworkDirect string `json:"network_direct"` // enabled, disabled
}

// ScenarioSetup is a host that is set up in part only.
type ScenarioSetup struct {
	HyperVModule  string `json:"hyperv_module,omitempty" yaml:"hyperv_module" jsonschema:"enum=installed,enum=missing,default=installed,description=The Hyper-V PowerShell module."`
	VMMS          string `json:"vmms,omitempty" yaml:"vmms" jsonschema:"enum=running,enum=stopped,enum=missing,default=running,description=The service Hyper-V Virtual Machine Management; missing without the Hyper-V role."`
	LanguageMode  string `json:"language_mode,omitempty" yaml:"language_mode" jsonschema:"enum=full,enum=constrained,default=full,description=Language mode of PowerShell: an application control policy makes it constrained."`
	UserRights    string `json:"user_rights,omitempty" yaml:"user_rights" jsonschema:"enum=administrator,enum=hyperv_administrator,enum=remote_management_user,enum=none,default=administrator,description=Groups of the user of the WinRM connection."`
	NetworkDirect string `json:"network_direct,omitempty" yaml:"network_direct" jsonschema:"enum=enabled,enum=disabled,default=enabled,description=RDMA of the whole machine (Set-NetOffloadGlobalSetting -NetworkDirect)."`
}

// Values of Setup that rules look at.
const (
	moduleMissing       = "missing"
	vmmsRunning         = "running"
	languageConstrained = "constrained"
	rightsAdministrator = "administrator"
	rightsHyperV        = "hyperv_administrator"
	rightsNone          = "none"
	networkDirectOn     = "enabled"
)

func buildSetup(s ScenarioSetup) Setup {
	or := func(v, otherwise string) string {
		if v == "" {
			return otherwise
		}
		return v
	}
	return Setup{
		HyperVModule: or(s.HyperVModule, "installed"), VMMS: or(s.VMMS, vmmsRunning), LanguageMode: or(s.LanguageMode, "full"),
		UserRights: or(s.UserRights, rightsAdministrator), NetworkDirect: or(s.NetworkDirect, networkDirectOn),
	}
}

// Constrained says whether PowerShell runs in constrained language mode on a host.
func (l *Lab) Constrained(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	return h != nil && h.Setup.LanguageMode == languageConstrained
}

// MayUseWinRM says whether the user of the connection may open shells on a host.
func (l *Lab) MayUseWinRM(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	return h == nil || h.Setup.UserRights != rightsNone
}

// ofHyperV says whether a cmdlet is of the Hyper-V module: what only hosts have, but for PowerShell's own.
func (c *command) ofHyperV() bool {
	return c.host && !c.guest && !strings.HasSuffix(c.name, "-PSSession")
}

// unprepared says what keeps a call on a host that is set up in part only from running. Whoever sits at the
// machine, from the control door, is an administrator.
func (c *call) unprepared(command *command) *cmdlet.Error {
	if c.vm != nil {
		return nil
	}
	s := c.host.Setup
	local := c.inv.Session == "control"
	switch {
	case command.ofHyperV() && s.VMMS != vmmsRunning: // errors.md 1
		return c.hyperv("ObjectNotFound", "Hyper-V encountered an error trying to access an object on computer '%s' because the object was not found. "+
			"The object might have been deleted, or you might not have permission to perform the task. Verify that the Virtual Machine Management service on the computer is running.", c.host.Name)
	case local || s.UserRights == rightsAdministrator:
	case command.ofHyperV() && s.UserRights != rightsHyperV: // errors.md 2
		return c.hyperv("AccessDenied", "You do not have the required permission to complete this task. Contact the administrator of the authorization policy for the computer '%s'.", c.host.Name)
	case slices.Contains([]string{"Restart-Computer", "Set-Acl", "New-Item", "Remove-Item", "Set-ItemProperty", "New-ItemProperty", "Remove-ItemProperty"}, command.name): // errors.md 7
		return &cmdlet.Error{ID: "System.Security.SecurityException," + c.coreTail(), Category: "PermissionDenied", Exception: "System.Security.SecurityException",
			Message: "Requested registry access is not allowed."}
	case !command.ofHyperV() && changes(command.name): // errors.md 5
		return c.cimSystemError(5, "MSFT_NetAdapter", "Access is denied.")
	}
	return nil
}

// changes says whether a cmdlet changes the machine.
func changes(name string) bool {
	verb, _, _ := strings.Cut(name, "-")
	return slices.Contains([]string{"Set", "Enable", "Disable", "Restart", "Rename", "New", "Remove", "Add"}, verb) && !strings.HasSuffix(name, "-PSSession")
}
