package lab

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func profileValue(sum int) cmdlet.Enum {
	return cmdlet.Enum{Name: profileText(sum), Number: int64(sum)}
}

func TestErrors5FirewallRules(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	rule := params{"Name": "iw", "DisplayName": "iWARP", "Protocol": "17", "LocalPort": list("3935"), "Profile": profileValue(3), "RemoteAddress": list("10.0.0.0/8")}
	o := b.run("New-NetFirewallRule", rule)[0]
	if got, _ := o.Get("Profile"); text(got) != "Domain, Private" {
		t.Errorf("profile %v", got)
	}
	for _, tt := range []struct {
		name, cmdlet string
		p            params
		id           string
	}{
		{"a name that exists", "New-NetFirewallRule", rule, "Windows System Error 183,New-NetFirewallRule"},
		{"a display name that exists", "New-NetFirewallRule", params{"DisplayName": "iWARP"}, ""},
		{"no address", "Set-NetFirewallRule", params{"Name": list("iw"), "RemoteAddress": list("10.0.0.300")}, "Windows System Error 87,Set-NetFirewallRule"},
		{"a port without a protocol that has ports", "New-NetFirewallRule", params{"DisplayName": "x", "LocalPort": list("1")}, "Windows System Error 87,New-NetFirewallRule"},
		{"no such rule", "Get-NetFirewallRule", params{"Name": list("gone")}, "CmdletizationQuery_NotFound_InstanceID,Get-NetFirewallRule"},
		{"no such display name", "Remove-NetFirewallRule", params{"DisplayName": list("gone")}, "CmdletizationQuery_NotFound_DisplayName,Remove-NetFirewallRule"},
		{"a pattern without a match", "Get-NetFirewallRule", params{"Name": list("gone*")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := b.on("host", tt.cmdlet, tt.p)
			id := ""
			if len(out.Errors) > 0 {
				id = out.Errors[0].ID
			}
			if id != tt.id {
				t.Errorf("error %q, want %q", id, tt.id)
			}
		})
	}
	filters := b.run("Get-NetFirewallPortFilter", params{"Protocol": list("UDP")})
	if len(filters) != 1 {
		t.Fatalf("%d filters", len(filters))
	}
	rules := b.run("Get-NetFirewallRule", params{"AssociatedNetFirewallPortFilter": filters[0]})
	if got := names(rules, "Name"); got != "iw" {
		t.Errorf("the filter's rule is %s", got)
	}
	b.run("Remove-NetFirewallRule", params{"InputObject": []any{rules[0]}})
	if got := len(b.on("guest:vm1", "Get-NetFirewallRule", params{"Name": list("iw")}).Errors); got != 1 {
		t.Error("the guest has the host's rule")
	}
}

// What the active store says of a rule (objects.md, EnforcementStatus); another store says nothing.
func TestFirewallEnforcement(t *testing.T) {
	for _, tt := range []struct {
		firewall ScenarioFirewall
		profiles []string
		want     string
	}{
		{ScenarioFirewall{}, nil, "Full"},
		{ScenarioFirewall{ActiveProfile: "Public"}, []string{"Domain", "Private"}, "InactiveProfile"},
		{ScenarioFirewall{OffIn: []string{"Domain"}}, nil, "FirewallOffInProfile"},
		{ScenarioFirewall{OffIn: []string{"Public"}}, nil, "Full"},
		{ScenarioFirewall{ThirdParty: "x", OffIn: []string{"Domain"}}, nil, "CategoryOff"},
		{ScenarioFirewall{NoLocalRules: true}, nil, "LocalFirewallRulesDisallowed"},
	} {
		t.Run(fmt.Sprintf("%s %v", tt.want, tt.profiles), func(t *testing.T) {
			b := newBench(t, "intel-x722", func(s *Scenario) {
				f := tt.firewall
				f.Rules = []ScenarioFirewallRule{{Name: "iw", DisplayName: "iWARP", LocalPort: []string{"3935"}, Profiles: tt.profiles}}
				s.Hosts[0].Firewall = &f
			})
			status := func(store string) any {
				v, _ := b.run("Get-NetFirewallRule", params{"Name": list("iw"), "PolicyStore": store})[0].Get("EnforcementStatus")
				return v
			}
			if got := status("ActiveStore"); fmt.Sprint(got) != "["+tt.want+"]" {
				t.Errorf("active store: %v", got)
			}
			if got := status("PersistentStore"); fmt.Sprint(got) != "[]" {
				t.Errorf("persistent store: %v", got)
			}
		})
	}
}

func TestFirewallServiceStopped(t *testing.T) {
	b := newBench(t, "intel-x722", func(s *Scenario) { s.Hosts[0].Firewall = &ScenarioFirewall{Service: "stopped"} })
	for _, name := range []string{"Get-NetFirewallRule", "Get-NetFirewallPortFilter", "Get-NetFirewallProfile", "Remove-NetFirewallRule"} {
		if e := b.fails(name, params{}); e.ID != "Windows System Error 1753,"+name {
			t.Errorf("%s: %s", name, e.ID)
		}
	}
	b.must("guest:vm1", "Get-NetFirewallRule", params{})
}

func TestUnknownFirewallSubnetForm(t *testing.T) {
	given := []string{"10.0.0.0/8", "192.0.2.1", "LOCALSUBNET", "2001:db8::/32", "10.1.0.0/255.255.0.0", "10.0.0.1-10.0.0.9"}
	for form, want := range map[string][]string{
		"mask":   {"10.0.0.0/255.0.0.0", "192.0.2.1", "LocalSubnet", "2001:db8::/32", "10.1.0.0/255.255.0.0", "10.0.0.1-10.0.0.9"},
		"prefix": {"10.0.0.0/8", "192.0.2.1", "LocalSubnet", "2001:db8::/32", "10.1.0.0/255.255.0.0", "10.0.0.1-10.0.0.9"},
	} {
		b := newBench(t, "intel-x722", func(s *Scenario) { s.Unknowns.FirewallSubnetForm = form })
		if got, ok := b.storedAddresses(given); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", form, got, want)
		}
	}
}
