package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// TestHostFindings: a host that is set up in part only can be read, and each thing that is missing is named with the
// command that mends it. Resources of the host fail with the same cause.
func TestHostFindings(t *testing.T) {
	setup := func(s lab.ScenarioSetup) func(*lab.Scenario) {
		return func(x *lab.Scenario) { x.Hosts[0].Setup = s }
	}
	on := func(os string, s lab.ScenarioSetup) func(*lab.Scenario) {
		return func(x *lab.Scenario) { x.Hosts[0].Setup, x.Hosts[0].OS = s, lab.ScenarioOS{Name: os} }
	}
	german := func(s lab.ScenarioSetup) func(*lab.Scenario) {
		return func(x *lab.Scenario) { x.Hosts[0].Setup, x.Hosts[0].OS.Language = s, "de-DE" }
	}
	tests := []struct {
		name     string
		change   func(*lab.Scenario)
		checks   []string
		says     []string // in findings and fixes
		read     bool     // everything could be read
		devices  bool
		resource []string // what a switch of this host says
	}{
		{name: "a host that is ready", change: setup(lab.ScenarioSetup{}), read: true, devices: true},
		{name: "no module", change: setup(lab.ScenarioSetup{HyperVModule: "missing"}), checks: []string{"hyperv_module"}, devices: true,
			says: []string{"Install-WindowsFeature -Name Hyper-V-PowerShell"}, resource: []string{"CommandNotFoundException", "Install-WindowsFeature Hyper-V-PowerShell"}},
		{name: "no module on a client", change: on("windows-11-pro", lab.ScenarioSetup{HyperVModule: "missing"}), checks: []string{"hyperv_module"}, devices: true,
			says: []string{"Enable-WindowsOptionalFeature -Online -FeatureName Microsoft-Hyper-V-Management-PowerShell"}},
		{name: "no Hyper-V", change: setup(lab.ScenarioSetup{HyperVModule: "missing", VMMS: "missing"}), checks: []string{"hyperv_role", "hyperv_module"}, devices: true,
			says: []string{"Install-WindowsFeature -Name Hyper-V -IncludeManagementTools -Restart"}},
		{name: "vmms stopped", change: setup(lab.ScenarioSetup{VMMS: "stopped"}), checks: []string{"vmms"}, devices: true,
			says: []string{"it is stopped", "Start-Service -Name vmms"}},
		{name: "vmms stopped, in German", change: german(lab.ScenarioSetup{VMMS: "stopped"}), checks: []string{"vmms"}, devices: true},
		{name: "no right on Hyper-V", change: setup(lab.ScenarioSetup{UserRights: "remote_management_user"}), checks: []string{"user_rights"}, devices: true,
			says: []string{"Add-LocalGroupMember -SID S-1-5-32-544"}, resource: []string{"AccessDenied", "Administrators group"}},
		{name: "no right on Hyper-V, in German", change: german(lab.ScenarioSetup{UserRights: "remote_management_user"}), checks: []string{"user_rights"}, devices: true},
		{name: "Hyper-V administrator", change: setup(lab.ScenarioSetup{UserRights: "hyperv_administrator"}), read: true, devices: true, resource: []string{"Administrators group", "Hyper-V Administrators is not enough"}},
		{name: "constrained language", change: setup(lab.ScenarioSetup{LanguageMode: "constrained"}), checks: []string{"language_mode"},
			says: []string{"constrained language mode", "Get-AppLockerPolicy", "__PSLockdownPolicy"}, resource: []string{"constrained language mode", "Get-AppLockerPolicy", "MethodInvocationNotSupportedInConstrainedLanguage"}},
		{name: "RDMA off", change: setup(lab.ScenarioSetup{NetworkDirect: "disabled"}), checks: []string{"network_direct"}, read: true, devices: true,
			says: []string{"Set-NetOffloadGlobalSetting -NetworkDirect Enabled"}},
		{name: "no SR-IOV", change: func(s *lab.Scenario) {
			s.Hosts[0].Iov = &lab.ScenarioIov{Reasons: []string{"The system BIOS must be updated.", "No interrupt remapping."}}
		}, checks: []string{"iov_support", "iov_support"}, read: true, devices: true, says: []string{"No interrupt remapping.", "(Get-VMHost).IovSupportReasons"}},
		{name: "an adapter without SR-IOV", change: func(s *lab.Scenario) { three := 3; s.Hosts[0].Devices[1].SriovSupport = &three }, checks: []string{"sriov_support", "sriov_support"}, read: true, devices: true,
			says: []string{`"iWARP 1"`, "Get-NetAdapterSriov -Name 'iWARP 1'"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", tt.change)
			h := l.harness("hv1")
			host, d := h.data("hyperv_rdma_host", object{})
			if len(d) > 0 {
				t.Fatal(d)
			}
			var checks []string
			var text strings.Builder
			for _, f := range host["findings"].([]any) {
				f := f.(object)
				checks = append(checks, fmt.Sprint(f["check"]))
				fmt.Fprintln(&text, f["severity"], f["finding"], f["fix"])
				if f["finding"] == "" || f["fix"] == "" || !slices.Contains([]any{"error", "warning"}, f["severity"]) {
					t.Errorf("%v", f)
				}
			}
			if !slices.Equal(checks, tt.checks) {
				t.Errorf("findings %v, want %v: %s", checks, tt.checks, text.String())
			}
			says(t, text.String(), tt.says...)
			if (host["iov_support"] != nil) != tt.read {
				t.Errorf("iov_support %v, want it read: %v", host["iov_support"], tt.read)
			}
			if n := len(host["devices"].([]any)); (n > 0) != tt.devices {
				t.Errorf("%d devices", n)
			}
			if tt.resource != nil {
				mustFail(t, h.resource(switchType), object{"name": "S", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false}, tt.resource...)
			}
		})
	}
}

// TestHostAsFound: what is mended on the host is seen in the same run.
func TestHostAsFound(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) { s.Hosts[0].Setup.NetworkDirect = "disabled" })
	h := l.harness("hv1")
	host, _ := h.data("hyperv_rdma_host", object{})
	if len(host["findings"].([]any)) != 1 {
		t.Fatal(host["findings"])
	}
	l.cmdlet("hv1", "host", "Set-NetOffloadGlobalSetting", object{"NetworkDirect": "Enabled"})
	if host, d := h.data("hyperv_rdma_host", object{}); len(d) > 0 || len(host["findings"].([]any)) != 0 {
		t.Errorf("%v %s", host["findings"], d)
	}
}

// TestNotARemoteManagementUser: who may log on and not use WinRM is told which group lets him.
func TestNotARemoteManagementUser(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) { s.Hosts[0].Setup.UserRights = "none" })
	_, d := l.harness("hv1").data("hyperv_rdma_host", object{})
	says(t, d.errors().String(), "may not use Windows Remote Management", "S-1-5-32-580", "LocalAccountTokenFilterPolicy", "URL: https://127.0.0.1:", "TLS: TLS 1.3, the certificate was verified", "Authentication: ")
}
