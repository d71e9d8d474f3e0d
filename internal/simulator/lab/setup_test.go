package lab

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// TestSetup: what a host that is set up in part only says, by the ids of errors.md 1, 2, 5, 6 and 7.
func TestSetup(t *testing.T) {
	credential := map[string]any{"VMName": []any{"vm1"}, "Credential": cmdlet.Credential{User: "Administrator", Password: "Lab-Guest-1!"}}
	const hv = "Microsoft.HyperV.PowerShell.Commands."
	tests := []struct {
		name       string
		setup      ScenarioSetup
		cmdlet     string
		parameters map[string]any
		session    string
		id         string // "": it works
		category   string
	}{
		{name: "ready", cmdlet: "Get-VMHost"},
		{name: "no module", setup: ScenarioSetup{HyperVModule: "missing"}, cmdlet: "Get-VMHost", id: "CommandNotFoundException", category: "ObjectNotFound"},
		{name: "no module, no PowerShell Direct", setup: ScenarioSetup{HyperVModule: "missing"}, cmdlet: "New-PSSession", parameters: credential,
			id: "HyperVModuleNotAvailable,Microsoft.PowerShell.Commands.NewPSSessionCommand", category: "NotInstalled"},
		{name: "no module, net adapters", setup: ScenarioSetup{HyperVModule: "missing"}, cmdlet: "Get-NetAdapter"},
		{name: "vmms stopped", setup: ScenarioSetup{VMMS: "stopped"}, cmdlet: "Get-VM", id: "ObjectNotFound," + hv + "GetVM", category: "ObjectNotFound"},
		{name: "vmms stopped, for whoever sits there too", setup: ScenarioSetup{VMMS: "stopped"}, cmdlet: "Get-VMSwitch", session: "control", id: "ObjectNotFound," + hv + "GetVMSwitch", category: "ObjectNotFound"},
		{name: "vmms stopped, no PowerShell Direct", setup: ScenarioSetup{VMMS: "stopped"}, cmdlet: "New-PSSession", parameters: credential,
			id: "InvalidVMNameNotSingle,Microsoft.PowerShell.Commands.NewPSSessionCommand", category: "InvalidArgument"},
		{name: "no right", setup: ScenarioSetup{UserRights: "remote_management_user"}, cmdlet: "Get-VM", id: "AccessDenied," + hv + "GetVM", category: "PermissionDenied"},
		{name: "no right, but an administrator at the machine", setup: ScenarioSetup{UserRights: "remote_management_user"}, cmdlet: "Get-VM", session: "control"},
		{name: "no right, no PowerShell Direct", setup: ScenarioSetup{UserRights: "remote_management_user"}, cmdlet: "New-PSSession", parameters: credential,
			id: "InvalidVMNameNotSingle,Microsoft.PowerShell.Commands.NewPSSessionCommand", category: "InvalidArgument"},
		{name: "Hyper-V administrator", setup: ScenarioSetup{UserRights: "hyperv_administrator"}, cmdlet: "Get-VM"},
		{name: "Hyper-V administrator and PowerShell Direct", setup: ScenarioSetup{UserRights: "hyperv_administrator"}, cmdlet: "New-PSSession", parameters: credential},
		{name: "Hyper-V administrator and net adapters", setup: ScenarioSetup{UserRights: "hyperv_administrator"}, cmdlet: "Disable-NetAdapterRdma", parameters: map[string]any{"Name": []any{"iWARP 1"}},
			id: "Windows System Error 5,Disable-NetAdapterRdma", category: "PermissionDenied"},
		{name: "Hyper-V administrator reads net adapters", setup: ScenarioSetup{UserRights: "hyperv_administrator"}, cmdlet: "Get-NetAdapterRdma"},
		{name: "Hyper-V administrator and the registry", setup: ScenarioSetup{UserRights: "hyperv_administrator"}, cmdlet: "Set-ItemProperty",
			parameters: map[string]any{"LiteralPath": []any{`HKLM:\SOFTWARE\Microsoft`}, "Name": "x", "Value": "y"},
			id:         "System.Security.SecurityException,Microsoft.PowerShell.Commands.SetItemPropertyCommand", category: "PermissionDenied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := LoadScenario("intel-x722")
			if err != nil {
				t.Fatal(err)
			}
			s.Hosts[0].Setup = tt.setup
			l, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			session := tt.session
			if session == "" {
				session = "powershell:1"
			}
			out := l.Invoke(cmdlet.Invocation{Host: "hv1", Target: "host", Cmdlet: tt.cmdlet, Parameters: tt.parameters, Session: session})
			switch {
			case tt.id == "" && len(out.Errors) > 0:
				t.Errorf("%+v", out.Errors[0])
			case tt.id != "" && (len(out.Errors) != 1 || out.Errors[0].ID != tt.id || out.Errors[0].Category != tt.category || len(out.Objects) > 0):
				t.Errorf("want %s %s: %+v", tt.id, tt.category, out)
			}
			if available := l.Available("hv1", "host", tt.cmdlet); available != !strings.HasPrefix(tt.id, "CommandNotFound") {
				t.Errorf("available: %v", available)
			}
		})
	}
}

func TestSetupServices(t *testing.T) {
	for vmms, want := range map[string]string{"running": "Running", "stopped": "Stopped", "missing": ""} {
		s, err := LoadScenario("intel-x722")
		if err != nil {
			t.Fatal(err)
		}
		s.Hosts[0].Setup.VMMS = vmms
		l, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		out := l.Invoke(cmdlet.Invocation{Host: "hv1", Target: "host", Cmdlet: "Get-Service", Parameters: map[string]any{"Name": []any{"vmms"}}, Session: "powershell:1"})
		got := ""
		if len(out.Objects) == 1 {
			status, _ := out.Objects[0].Get("Status")
			got = text(status)
		}
		if got != want || (want == "") != (len(out.Errors) == 1 && strings.HasPrefix(out.Errors[0].ID, "NoServiceFoundForGivenName,")) {
			t.Errorf("%s: %q, %+v", vmms, got, out.Errors)
		}
	}
}
