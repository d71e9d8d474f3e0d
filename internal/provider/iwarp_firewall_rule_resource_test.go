package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const firewallType = "hyperv_iwarp_firewall_rule"

const installerName = "Intel Ethernet iWARP port mapper"

// withFirewall gives hv1 and the guest of vm1 a firewall.
func withFirewall(f lab.ScenarioFirewall) func(*lab.Scenario) {
	return func(s *lab.Scenario) { s.Hosts[0].Firewall, s.Hosts[0].VMs[0].Guest.Firewall = &f, &f }
}

// installerFirewall is the installer's rule, for its service alone (facts.md 69).
func installerFirewall(more ...lab.ScenarioFirewallRule) lab.ScenarioFirewall {
	return lab.ScenarioFirewall{Rules: append(more, lab.ScenarioFirewallRule{Name: "{0F5C}", DisplayName: installerName, Protocol: "Any", Service: "IntelIWARP"})}
}

// targets are the host and a guest by each transport.
func targets() map[string]object {
	return map[string]object{"host": {}, "powershell_direct": {"vm_name": "VM1"}, "winrm": {"vm_name": "vm1"}}
}

// targetLab is a lab whose hv1, or the guest of vm1, is the target.
func targetLab(t testing.TB, target string, changes ...func(*lab.Scenario)) (*testLab, *harness) {
	t.Helper()
	l := startLab(t, "intel-x722", append(changes, func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.Listener = &lab.ScenarioListener{Basic: true} })...)
	return l, newHarness(t, l.through(target))
}

// on is the control door's name of a target.
func on(target string) string {
	if target == "host" {
		return target
	}
	return "guest:vm1"
}

func TestIwarpFirewallRuleLifecycle(t *testing.T) {
	for target, at := range targets() {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			l, h := targetLab(t, target)
			before := l.state()
			r := h.resource(firewallType)
			config := plus(at, nil)
			if d := mustApply(t, r, config); len(d.warnings()) > 0 {
				t.Error(d)
			}
			for name, want := range map[string]any{"made_by_provider": true, "enforcement": list{"Full"}, "findings": list{}, "other_rules": list{}} {
				if got := actual(r, name); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("actual.%s is %v, want %v", name, got, want)
				}
			}
			if got := strings.Count(l.state(), `"3935"`); got != 1 {
				t.Errorf("%d rules for the port", got)
			}
			r.settled(config)
			narrow := plus(at, object{"display_name": "i'W $(x) [1]* é", "profiles": list{"Private", "Domain"}, "remote_addresses": list{"10.1.0.0/16", "192.0.2.7", "10.2.0.1-10.2.0.9", "LocalSubnet"}})
			mustApply(t, r, narrow)
			r.settled(narrow)
			same := plus(narrow, object{"remote_addresses": list{"LocalSubnet", "10.1.0.0/255.255.0.0", "192.0.2.7/32", "10.2.0.1-10.2.0.9"}})
			if p := r.plan(same); len(p.errors()) > 0 {
				t.Error(p.diagnostics)
			}
			seq := l.seq()
			mustApply(t, r, same)
			if got := cmdlets(l.since(seq)); len(got) > 0 {
				t.Errorf("another spelling changed something: %v", got)
			}
			r.settled(same)
			mustApply(t, r, narrow)

			const ours = "TerraformProviderHyperV-iWARP-PortMapper"
			for name, x := range map[string]struct {
				cmdlet     string
				parameters object
				want       []string
			}{
				"switched off":        {"Disable-NetFirewallRule", object{}, []string{"enabled"}},
				"another port":        {"Set-NetFirewallRule", object{"Protocol": "UDP", "LocalPort": list{"3936"}}, []string{"enabled"}},
				"blocks":              {"Set-NetFirewallRule", object{"Action": "Block"}, []string{"enabled"}},
				"another profile":     {"Set-NetFirewallRule", object{"Profile": "Public"}, []string{"profiles"}},
				"another address":     {"Set-NetFirewallRule", object{"RemoteAddress": list{"10.1.0.0/17"}}, []string{"remote_addresses"}},
				"another name":        {"Set-NetFirewallRule", object{"NewDisplayName": "theirs"}, []string{"display_name"}},
				"removed":             {"Remove-NetFirewallRule", object{}, []string{gone}},
				"a description alone": {"Set-NetFirewallRule", object{"Description": "Lets the iWARP port mapper of other hosts in. Made and removed by Terraform."}, nil},
			} {
				l.cmdlet("hv1", on(target), x.cmdlet, plus(x.parameters, object{"Name": ours}))
				if d := r.refresh().errors(); len(d) > 0 {
					t.Fatal(d)
				}
				var got []string
				if r.state == nil {
					got = []string{gone}
				} else {
					got = drifted(r.state, r.plan(narrow).state)
				}
				if !slices.Equal(got, x.want) {
					t.Errorf("%s: the plan changes %v, want %v", name, got, x.want)
				}
				mustApply(t, r, narrow)
				r.settled(narrow)
			}
			imported := h.resource(firewallType)
			id := map[bool]string{true: "hv1/" + ours, false: "hv1/vm1/" + ours}[target == "host"]
			if d := imported.importID(id).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if imported.state["id"] != r.state["id"] {
				t.Errorf("import gave %v, want %v", imported.state["id"], r.state["id"])
			}
			off := plus(at, object{"enabled": false})
			mustApply(t, r, off)
			r.settled(off)
			mustApply(t, r, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// The installer's rule is used where it is equal, named where it is not, and never removed.
func TestIwarpFirewallRuleOfTheInstaller(t *testing.T) {
	for target, at := range targets() {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			l, h := targetLab(t, target, withFirewall(installerFirewall(lab.ScenarioFirewallRule{Name: "off", DisplayName: "Off", Disabled: true, LocalPort: []string{"3935"}})))
			before := l.state()
			t.Run("equal", func(t *testing.T) {
				r := h.resource(firewallType)
				var d diagnostics
				l.unchanged(func() { d = mustApply(t, r, plus(at, nil)) })
				if w := d.warnings().String(); !strings.Contains(w, "is there already") || !strings.Contains(w, "terraform import") || !strings.Contains(w, "{0F5C}") {
					t.Errorf("said %s", d)
				}
				if actual(r, "made_by_provider") != false || r.state["display_name"] != installerName {
					t.Errorf("state %v", r.state)
				}
				r.settled(plus(at, nil))
				l.unchanged(func() {
					if d := mustApply(t, r, nil).warnings().String(); !strings.Contains(d, "stays") {
						t.Errorf("said %s", d)
					}
				})
			})
			t.Run("not equal", func(t *testing.T) {
				r := h.resource(firewallType)
				config := plus(at, object{"remote_addresses": list{"10.0.0.0/8"}})
				if w := mustApply(t, r, config).warnings().String(); !strings.Contains(w, "Another firewall rule") || !strings.Contains(w, installerName) {
					t.Errorf("said %s", w)
				}
				if s := fmt.Sprint(actual(r, "other_rules")); !strings.Contains(s, installerName) || !strings.Contains(s, `"Off"`) {
					t.Errorf("other_rules %s", s)
				}
				r.settled(config)
				mustApply(t, r, nil)
			})
			t.Run("imported", func(t *testing.T) {
				r := h.resource(firewallType)
				id := map[bool]string{true: "hv1/" + installerName, false: "hv1/vm1/" + installerName}[target == "host"]
				if d := r.importID(id).errors(); len(d) > 0 {
					t.Fatal(d)
				}
				config := plus(at, object{"profiles": list{"Domain"}})
				mustApply(t, r, config)
				r.settled(config)
				if got := strings.Count(l.state(), installerName); got != strings.Count(before, installerName) {
					t.Errorf("%d rules of that name", got)
				}
				mustApply(t, r, plus(at, nil))
				mustApply(t, r, nil)
			})
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// A firewall that does nothing for the rule is said, on host and guest.
func TestIwarpFirewallRuleWithoutEffect(t *testing.T) {
	for name, x := range map[string]struct {
		firewall    lab.ScenarioFirewall
		config      object
		enforcement string
		want        string // "" for no warning
	}{
		"off everywhere":          {lab.ScenarioFirewall{OffIn: []string{"Domain", "Private", "Public"}}, nil, "FirewallOffInProfile", "off in the profiles Domain, Private, Public"},
		"off in one":              {lab.ScenarioFirewall{OffIn: []string{"Private"}}, nil, "Full", "off in the profiles Private"},
		"off in another":          {lab.ScenarioFirewall{OffIn: []string{"Private"}}, object{"profiles": list{"Domain"}}, "Full", ""},
		"another product":         {lab.ScenarioFirewall{ThirdParty: "Other Firewall"}, nil, "CategoryOff", "Another firewall product has taken over"},
		"group policy":            {lab.ScenarioFirewall{NoLocalRules: true}, nil, "LocalFirewallRulesDisallowed", "group policy"},
		"profile is not in force": {lab.ScenarioFirewall{ActiveProfile: "Public"}, object{"profiles": list{"Domain"}}, "InactiveProfile", ""},
	} {
		for _, target := range []string{"host", "powershell_direct"} {
			t.Run(name+" "+target, func(t *testing.T) {
				t.Parallel()
				l, h := targetLab(t, target, withFirewall(x.firewall))
				before := l.state()
				r := h.resource(firewallType)
				config := plus(targets()[target], x.config)
				d := mustApply(t, r, config).warnings()
				if x.want == "" && len(d) > 0 || !strings.Contains(d.String(), x.want) || x.want != "" && !strings.Contains(d.String(), "UDP 3935") {
					t.Errorf("said %s, want %q", d, x.want)
				}
				if got := fmt.Sprint(actual(r, "enforcement")); got != "["+x.enforcement+"]" {
					t.Errorf("enforcement %s", got)
				}
				if got := len(actual(r, "findings").(list)); got > 0 != (x.want != "") {
					t.Errorf("%d findings", got)
				}
				r.settled(config)
				mustApply(t, r, nil)
				if after := l.settledState(before); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			})
		}
	}
}

func TestIwarpFirewallRuleStops(t *testing.T) {
	stopped := lab.ScenarioFirewall{Service: "stopped", ThirdParty: "Other Firewall"}
	for name, x := range map[string]struct {
		target string
		change func(*lab.Scenario)
		config object
		want   []string
	}{
		"the service is stopped":            {"host", withFirewall(stopped), nil, []string{"MpsSvc", "1753", "by hand", "facts.md 69"}},
		"the service in a guest is stopped": {"winrm", withFirewall(stopped), object{"vm_name": "vm1"}, []string{"MpsSvc", "by hand"}},
		"no rights":                         {"host", func(s *lab.Scenario) { s.Hosts[0].Setup.UserRights = "hyperv_administrator" }, nil, []string{"Windows System Error 5", "Administrators"}},
		"no such VM":                        {"host", nil, object{"vm_name": "nope"}, []string{"vm_name = nope", `"vm1"`}},
		"the VM is off":                     {"host", func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Off" }, object{"vm_name": "vm1"}, []string{"The VM is off"}},
		"no address":                        {"host", nil, object{"remote_addresses": list{"10.0.0.300"}}, []string{"10.0.0.300", "LocalSubnet"}},
		"a range that ends first":           {"host", nil, object{"remote_addresses": list{"10.0.0.9-10.0.0.1"}}, []string{"10.0.0.9-10.0.0.1"}},
		"code is no address":                {"host", nil, object{"remote_addresses": list{"Any'; Stop-Computer; '"}}, []string{"Stop-Computer"}},
		"any and more":                      {"host", nil, object{"profiles": list{"Any", "Domain"}}, []string{"Any beside something else"}},
		"no profile":                        {"host", nil, object{"profiles": list{"Home"}}, []string{"Home"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, h := targetLab(t, x.target, func(s *lab.Scenario) {
				if x.change != nil {
					x.change(s)
				}
			})
			before := l.state()
			mustFail(t, h.resource(firewallType), plus(x.config, nil), x.want...)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// Whatever form Windows gives subnets back in, what the configuration says stays, and only another subnet is drift.
func TestIwarpFirewallRuleSubnetForm(t *testing.T) {
	for _, form := range []string{"mask", "prefix"} {
		t.Run(form, func(t *testing.T) {
			l, h := targetLab(t, "host", func(s *lab.Scenario) { s.Unknowns.FirewallSubnetForm = form })
			r := h.resource(firewallType)
			for _, addresses := range []list{{"10.0.0.0/8"}, {"10.0.0.0/255.0.0.0"}, {"10.1.2.3/8", "2001:db8::/32"}} {
				mustApply(t, r, object{"remote_addresses": addresses})
				if got := fmt.Sprint(r.state["remote_addresses"]); got != fmt.Sprint(addresses) {
					t.Errorf("state has %s, the configuration %v", got, addresses)
				}
				r.settled(object{"remote_addresses": addresses})
			}
			l.cmdlet("hv1", "host", "Set-NetFirewallRule", object{"Name": "TerraformProviderHyperV-iWARP-PortMapper", "RemoteAddress": list{"10.0.0.0/9", "2001:db8::/32"}})
			if d := r.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if got := drifted(r.state, r.plan(object{"remote_addresses": list{"10.0.0.0/8", "2001:db8::/32"}}).state); !slices.Equal(got, []string{"remote_addresses"}) {
				t.Errorf("the plan changes %v", got)
			}
		})
	}
}

func TestIwarpFirewallRuleTwice(t *testing.T) {
	l, h := targetLab(t, "host")
	first := h.resource(firewallType)
	mustApply(t, first, object{"profiles": list{"Domain"}})
	l.unchanged(func() { mustFail(t, h.resource(firewallType), object{"profiles": list{"Public"}}, "Another resource") })
	t.Run("a create that was cut off is taken up", func(t *testing.T) {
		again := l.harness("hv1").resource(firewallType)
		mustApply(t, again, object{"profiles": list{"Private"}})
		again.settled(object{"profiles": list{"Private"}})
		if got := strings.Count(l.state(), `"3935"`); got != 1 {
			t.Errorf("%d rules for the port", got)
		}
	})
}

func TestIwarpFirewallRuleUnreachableAndGone(t *testing.T) {
	l, h := targetLab(t, "powershell_direct")
	r := h.resource(firewallType)
	config := object{"vm_name": "vm1"}
	mustApply(t, r, config)
	l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "Force": true})
	if d := r.refresh(); len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "The VM is off") {
		t.Fatalf("refresh: %s", d)
	}
	if got := drifted(r.state, r.plan(config).state); len(got) > 0 {
		t.Errorf("a guest that cannot be reached is planned to change %v", got)
	}
	if d := r.applyPlan(r.plan(nil)).errors(); !strings.Contains(d.String(), `on_unreachable = "forget"`) || r.state == nil {
		t.Fatalf("destroy: %s", d)
	}
	kept := r.state
	r.state = plus(kept, object{"on_unreachable": "forget"})
	if d := r.applyPlan(r.plan(nil)); len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "left as it is") {
		t.Fatalf("destroy: %s", d)
	}
	l.cmdlet("hv1", "host", "Remove-VM", object{"Name": "vm1", "Force": true})
	r.state = kept
	if d := r.applyPlan(r.plan(nil)).errors(); len(d) > 0 {
		t.Errorf("destroy: %s", d)
	}
	r.state = kept
	if d := r.refresh().errors(); len(d) > 0 || r.state != nil {
		t.Errorf("state %v: %s", r.state, d)
	}
}

func TestIwarpFirewallRuleRequests(t *testing.T) {
	l, h := targetLab(t, "powershell_direct")
	for name, config := range map[string]object{"host": {"host": "hv1"}, "guest": {"host": "hv1", "vm_name": "vm1"}} {
		t.Run(name, func(t *testing.T) {
			r := h.resource(firewallType)
			mustApply(t, r, config)
			mustApply(t, r, nil)
			for _, x := range []struct {
				name string
				f    func()
			}{
				{"create", func() { r.applyPlan(r.plan(config)) }},
				{"read", func() { r.refresh() }},
				{"update", func() { r.applyPlan(r.plan(plus(config, object{"profiles": list{"Domain"}}))) }},
				{"delete", func() { r.applyPlan(r.plan(nil)) }},
			} {
				if n := l.requests(x.f); n > 4 {
					t.Errorf("%s: %d requests, at most 4", x.name, n)
				}
			}
		})
	}
}

func TestAccIwarpFirewallRule(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) {
		s.Hosts[0].VMs[0].Name = "v'm;$(x) [1] é"
		f := installerFirewall()
		s.Hosts[0].VMs[1].Guest.Firewall = &f
	})
	before := l.state()
	config := func(host, guest string) string {
		return l.hcl("hv1") + fmt.Sprintf(`
resource "hyperv_iwarp_firewall_rule" "host" {
  %s
}
resource "hyperv_iwarp_firewall_rule" "guest" {
  vm_name = "v'm;$(x) [1] é"
  %s
}
resource "hyperv_iwarp_firewall_rule" "installer" {
  vm_name = "vm2"
}
`, host, guest)
	}
	const host, guest, installer = firewallType + ".host", firewallType + ".guest", firewallType + ".installer"
	made := func(at string, want bool) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(at, tfjsonpath.New("actual").AtMapKey("made_by_provider"), knownvalue.Bool(want))
	}
	acceptance(t,
		resource.TestStep{Config: config("", `remote_addresses = ["198.51.100.0/24"]`), ConfigStateChecks: []statecheck.StateCheck{made(host, true), made(guest, true), made(installer, false)}},
		resource.TestStep{
			Config: config("profiles = [\"Domain\", \"Private\"]\n  display_name = \"i'W $${x} [1]*\"", `remote_addresses = ["198.51.100.0/255.255.255.0"]`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(host, plancheck.ResourceActionUpdate), plancheck.ExpectResourceAction(installer, plancheck.ResourceActionNoop),
			}},
		},
		resource.TestStep{ResourceName: host, ImportState: true, ImportStateVerify: true},
		resource.TestStep{ResourceName: guest, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"remote_addresses"}},
		resource.TestStep{ResourceName: installer, ImportState: true, ImportStateVerify: true},
		resource.TestStep{
			PreConfig: func() {
				l.cmdlet("hv1", "guest:v'm;$(x) [1] é", "Disable-NetFirewallRule", object{"Name": "TerraformProviderHyperV-iWARP-PortMapper"})
			},
			Config: config("", ""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(guest, plancheck.ResourceActionUpdate), plancheck.ExpectResourceAction(installer, plancheck.ResourceActionNoop),
			}},
		},
	)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
