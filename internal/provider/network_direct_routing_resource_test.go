package provider_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const routingType = "hyperv_network_direct_routing"

// plus is a copy of a configuration with more in it.
func plus(config, more object) object { return merged(merged(object{}, config), more) }

// routed counts the adapters that started with NetworkDirectAcrossIPSubnets allowed.
func routed(l *testLab) int { return strings.Count(l.state(), `"routes_rdma": true`) }

func TestNetworkDirectRoutingOnTheHost(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	h := l.harness("hv1")
	r := h.resource(routingType)
	config := object{"net_adapter_names": list{"iwarp 2"}}
	p := r.plan(config)
	if s := fmt.Sprint(p.state["planned_restarts"]); !strings.Contains(s, "iwarp 2") || !strings.Contains(p.warnings().String(), "facts.md 68") {
		t.Errorf("planned_restarts %s, said %s", s, p.diagnostics)
	}
	seq := l.seq()
	mustApply(t, r, config)
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
		t.Errorf("%d ports restarted, want both ports of the device once", got)
	}
	if got := routed(l); got != 2 {
		t.Errorf("%d adapters route RDMA, want both ports of the device", got)
	}
	r.settled(config)
	t.Run("another device's adapter is added", func(t *testing.T) {
		more := object{"net_adapter_names": list{"iWARP 2", "Ethernet 2"}}
		p := r.plan(more)
		if s := fmt.Sprint(p.state["planned_restarts"]); !strings.Contains(s, "Ethernet 2") || strings.Contains(s, "iWARP") {
			t.Errorf("planned_restarts %s: want the added one alone", s)
		}
		seq := l.seq()
		mustApply(t, r, more)
		if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 { // both ports of the LAN's device
			t.Errorf("%d ports restarted, want those of the added device", got)
		}
		r.settled(more)
		seq = l.seq()
		mustApply(t, r, config)
		if got := cmdlets(l.since(seq)); len(got) > 0 {
			t.Errorf("a name that is taken away changes nothing, but: %v", got)
		}
		r.settled(config)
	})
	t.Run("drift", func(t *testing.T) {
		l.cmdlet("hv1", "host", "Set-NetOffloadGlobalSetting", object{"NetworkDirectAcrossIPSubnets": "Blocked"})
		if d := r.refresh().errors(); len(d) > 0 {
			t.Fatal(d)
		}
		if got := drifted(r.state, r.plan(config).state); !slices.Equal(got, []string{"network_direct_across_ip_subnets"}) {
			t.Errorf("the plan changes %v", got)
		}
		mustApply(t, r, config)
		r.settled(config)
	})
	t.Run("a second resource", func(t *testing.T) {
		l.unchanged(func() { mustFail(t, h.resource(routingType), config, "another resource", "terraform import", "'hv1'") })
	})
	mustApply(t, r, nil)
	if got := routed(l); got != 2 {
		t.Errorf("%d adapters route RDMA, want those that were no more named", got)
	}
	l.cmdlet("hv1", "host", "Restart-NetAdapter", object{"Name": list{"Ethernet", "Ethernet 2"}})
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestNetworkDirectRoutingInAGuest(t *testing.T) {
	for _, transport := range transports() {
		t.Run(transport, func(t *testing.T) {
			l := startLab(t, "intel-x722", func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.Listener = &lab.ScenarioListener{Basic: true} })
			before := l.state()
			h := newHarness(t, l.through(transport))
			r := h.resource(routingType)
			wanted := object{"vm_name": "VM1", "net_adapter_names": list{"ethernet"}}
			seq := l.seq()
			mustApply(t, r, wanted)
			if got, want := guestCalls(l.since(seq)), []string{"Set-NetOffloadGlobalSetting", "Disable-NetAdapter", "Enable-NetAdapter"}; !slices.Equal(got, want) {
				t.Errorf("in the guest: %v, want %v", got, want)
			}
			if got := restarts(l.since(seq)); got["guest_net_adapter_restart"] != 1 || got["net_adapter_restart"] != 0 {
				t.Errorf("restarts %v, want the guest's adapter once", got)
			}
			if got := routed(l); got != 1 {
				t.Errorf("%d adapters route RDMA, want the guest's", got)
			}
			r.settled(wanted)
			imported := h.resource(routingType)
			if d := imported.importID("hv1/vm1").errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if imported.state["id"] != r.state["id"] || imported.state["network_direct_across_ip_subnets"] != "Allowed" {
				t.Errorf("import gave %v", imported.state)
			}
			l.cmdlet("hv1", "guest:vm1", "Set-NetOffloadGlobalSetting", object{"NetworkDirectAcrossIPSubnets": "Blocked"})
			mustApply(t, r, wanted)
			r.settled(wanted)
			mustApply(t, r, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// What the installer has set already is no change, no restart, and stays when the resource goes.
func TestNetworkDirectRoutingSetBefore(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) { s.Hosts[0].Routing = "Allowed" })
	before := l.state()
	h := l.harness("hv1")
	config := object{"net_adapter_names": list{"iWARP 1"}}
	t.Run("created", func(t *testing.T) {
		r := h.resource(routingType)
		seq := l.seq()
		mustApply(t, r, config)
		r.settled(config)
		mustApply(t, r, nil)
		if got := restarts(l.since(seq))["net_adapter_restart"]; got != 0 {
			t.Errorf("%d restarts", got)
		}
	})
	t.Run("imported", func(t *testing.T) {
		r := h.resource(routingType)
		if d := r.importID("hv1").errors(); len(d) > 0 {
			t.Fatal(d)
		}
		if p := r.plan(config); len(p.state["planned_restarts"].(list)) != 0 {
			t.Errorf("planned_restarts %v", p.state["planned_restarts"])
		}
		seq := l.seq()
		mustApply(t, r, config)
		r.settled(config)
		mustApply(t, r, plus(config, object{"network_direct_across_ip_subnets": "Blocked"}))
		if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
			t.Errorf("%d ports restarted, want both of the device by the change", got)
		}
		mustApply(t, r, nil)
	})
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// Under manual nothing restarts: the restart is owed until auto pays it, or somebody else restarts the adapters.
func TestNetworkDirectRoutingByHand(t *testing.T) {
	for name, x := range map[string]struct {
		config  object
		restart func(*testLab) // by somebody else
	}{
		"host":  {object{"net_adapter_names": list{"iWARP 1", "iWARP 2"}}, nil},
		"guest": {object{"vm_name": "vm1", "net_adapter_names": list{"Ethernet"}}, func(l *testLab) { l.cmdlet("hv1", "host", "Restart-VM", object{"Name": "vm1", "Force": true}) }},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "intel-x722")
			before := l.state()
			h := l.harness("hv1")
			r := h.resource(routingType)
			manual := plus(x.config, object{"restart_policy": "manual"})
			seq := l.seq()
			mustApply(t, r, manual)
			if got := restarts(l.since(seq)); len(got) > 0 || routed(l) > 0 {
				t.Errorf("restarts %v, %d adapters route", got, routed(l))
			}
			if s := fmt.Sprint(r.state["pending_restarts"]); !strings.Contains(s, "facts.md 68") {
				t.Errorf("pending_restarts %s", s)
			}
			r.settled(manual)
			if x.restart != nil {
				time.Sleep(1100 * time.Millisecond) // the two clocks are read a moment apart: a start within a second does not count
				x.restart(l)
				time.Sleep(200 * time.Millisecond)
				if d := r.refresh().errors(); len(d) > 0 || len(r.state["pending_restarts"].(list)) != 0 {
					t.Errorf("pending_restarts after a restart: %v %s", r.state["pending_restarts"], d)
				}
			} else {
				auto := plus(x.config, object{"restart_policy": "auto"})
				seq = l.seq()
				mustApply(t, r, auto)
				if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
					t.Errorf("%d restarts", got)
				}
				r.settled(auto)
			}
			mustApply(t, r, x.config)
			mustApply(t, r, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// As a part of a chain with one restart at its end, and on the way back.
func TestNetworkDirectRoutingAsAPart(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	h := l.harness("hv1")
	r, end := h.resource(routingType), h.resource("hyperv_net_adapter_restart")
	part := object{"net_adapter_names": list{"iWARP 1"}, "restart_policy": "manual"}
	chain := func() object {
		return object{"net_adapter_names": list{"iWARP 1"}, "triggers": object{"routing": r.state["restart_trigger"]}}
	}
	seq := l.seq()
	mustApply(t, r, part)
	mustApply(t, end, chain())
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 || routed(l) != 2 {
		t.Errorf("%d ports restarted and %d route, want both of the device once", got, routed(l))
	}
	r.settled(part)
	end.settled(chain())
	trigger := r.state["restart_trigger"]
	mustApply(t, r, plus(part, object{"restart_policy": "auto"}))
	if r.state["restart_trigger"] != trigger {
		t.Error("the trigger changed without a change that needs a restart")
	}
	mustApply(t, r, plus(part, object{"network_direct_across_ip_subnets": "Blocked"}))
	if r.state["restart_trigger"] == trigger {
		t.Error("the trigger is the same after a change that needs a restart")
	}
	mustApply(t, r, part)
	mustApply(t, end, chain())
	mustApply(t, end, nil)
	seq = l.seq()
	mustApply(t, r, nil) // the last on the device pays
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
		t.Errorf("%d ports restarted on destroy, want both of the device once", got)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	t.Run("restart_on_destroy = false", func(t *testing.T) {
		mustApply(t, r, object{"net_adapter_names": list{"iWARP 1"}, "restart_on_destroy": false})
		seq := l.seq()
		if w := mustApply(t, r, nil).warnings().String(); !strings.Contains(w, "stays owed") {
			t.Errorf("said %s", w)
		}
		if got := restarts(l.since(seq)); len(got) > 0 || !strings.Contains(l.state(), "debt.net_adapter") {
			t.Errorf("restarts %v", got)
		}
	})
}

func TestNetworkDirectRoutingStops(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*lab.Scenario)
		config object
		want   []string
	}{
		"no such net adapter":            {nil, object{"net_adapter_names": list{"nope"}}, []string{`net_adapter_names = nope`, `"iWARP 1"`}},
		"a pattern is a name":            {nil, object{"net_adapter_names": list{"iWARP*"}}, []string{`net_adapter_names = iWARP*`}},
		"no such net adapter in a guest": {nil, object{"vm_name": "vm1", "net_adapter_names": list{"iWARP 1"}}, []string{`net_adapter_names = iWARP 1`, `"Ethernet"`}},
		"no such VM":                     {nil, object{"vm_name": "nope", "net_adapter_names": list{"Ethernet"}}, []string{"vm_name = nope", `"vm1"`}},
		"the VM is off":                  {func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Off" }, object{"vm_name": "vm1", "net_adapter_names": list{"Ethernet"}}, []string{"The VM is off", "Start the VM"}},
		"no such credential":             {nil, object{"vm_name": "vm1", "credential": "nope", "net_adapter_names": list{"Ethernet"}}, []string{"credential = nope", `"lab"`}},
		"a credential without a VM":      {nil, object{"credential": "lab", "net_adapter_names": list{"Ethernet"}}, []string{"vm_name"}},
		"another value":                  {nil, object{"network_direct_across_ip_subnets": "Allow", "net_adapter_names": list{"Ethernet"}}, []string{"Allowed", "Blocked"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "intel-x722", func(s *lab.Scenario) {
				if x.change != nil {
					x.change(s)
				}
			})
			h := l.harness("hv1")
			l.unchanged(func() { mustFail(t, h.resource(routingType), x.config, x.want...) })
		})
	}
}

func TestNetworkDirectRoutingUnreachableAndGone(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	r := h.resource(routingType)
	config := object{"vm_name": "vm1", "net_adapter_names": list{"Ethernet"}}
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
	t.Run("forget", func(t *testing.T) {
		kept := r.state
		r.state = plus(kept, object{"on_unreachable": "forget"})
		if d := r.applyPlan(r.plan(nil)); len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "left as it is") {
			t.Fatalf("destroy: %s", d)
		}
		if strings.Contains(l.state(), "TerraformProviderHyperV") {
			t.Error("the ledger is still there")
		}
		r.state = kept
	})
	t.Run("gone", func(t *testing.T) {
		l.cmdlet("hv1", "host", "Start-VM", object{"Name": "vm1"})
		time.Sleep(200 * time.Millisecond)
		again := h.resource(routingType)
		mustApply(t, again, plus(config, object{"network_direct_across_ip_subnets": "Blocked", "restart_policy": "manual"}))
		l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "TurnOff": true})
		l.cmdlet("hv1", "host", "Remove-VM", object{"Name": "vm1", "Force": true})
		kept := again.state
		if d := again.applyPlan(again.plan(nil)).errors(); len(d) > 0 {
			t.Errorf("destroy: %s", d)
		}
		if strings.Contains(l.state(), "TerraformProviderHyperV") {
			t.Error("the ledger is still there")
		}
		again.state = kept
		if d := again.refresh().errors(); len(d) > 0 || again.state != nil {
			t.Errorf("state %v: %s", again.state, d)
		}
	})
}

// Records of a guest that Terraform forgot on a refresh go with the next resource that looks at all VMs.
func TestNetworkDirectRoutingForgottenGuest(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	h := l.harness("hv1")
	mustApply(t, h.resource(routingType), object{"vm_name": "vm2", "net_adapter_names": list{"Ethernet"}, "restart_policy": "manual"})
	l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm2", "TurnOff": true})
	l.cmdlet("hv1", "host", "Remove-VM", object{"Name": "vm2", "Force": true})
	rdma := h.resource(rdmaType)
	mustApply(t, rdma, object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100})
	mustApply(t, rdma, nil)
	sw := h.resource(switchType)
	mustApply(t, sw, object{"name": "S", "net_adapter_names": list{"iWARP 2"}, "allow_management_os": false, "restart_policy": "auto"})
	mustApply(t, sw, nil)
	if strings.Contains(l.state(), "TerraformProviderHyperV") {
		t.Error("the ledger still knows the guest that is gone")
	}
}

// A restart that fails is a warning of the create and stays owed; the next apply makes it.
func TestNetworkDirectRoutingRestartFails(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	h := l.harness("hv1")
	r := h.resource(routingType)
	config := object{"net_adapter_names": list{"iWARP 1"}}
	l.fault(door.Rule{Cmdlet: "Disable-NetAdapter", Effect: door.ErrorRecordEffect, Error: &door.ErrorRecord{ID: "Windows System Error 5,Disable-NetAdapter", Category: "PermissionDenied", Message: "Access is denied."}, Count: 1})
	d := mustApply(t, r, config)
	if !strings.Contains(d.warnings().String(), "stays owed") || len(r.state["pending_restarts"].(list)) != 1 {
		t.Errorf("pending_restarts %v: %s", r.state["pending_restarts"], d)
	}
	mustApply(t, r, config)
	if got := routed(l); got != 2 {
		t.Errorf("%d adapters route RDMA", got)
	}
	r.settled(config)
	mustApply(t, r, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestNetworkDirectRoutingRequests(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	for name, config := range map[string]object{
		"host":  {"host": "hv1", "net_adapter_names": list{"iWARP 1"}, "restart_policy": "manual", "restart_on_destroy": false},
		"guest": {"host": "hv1", "vm_name": "vm1", "net_adapter_names": list{"Ethernet"}, "restart_policy": "manual"},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.resource(routingType)
			mustApply(t, r, config)
			mustApply(t, r, nil)
			for _, x := range []struct {
				name string
				most int64
				f    func()
			}{
				{"create", 4, func() { r.applyPlan(r.plan(config)) }},
				{"read", 4, func() { r.refresh() }},
				{"update", 4, func() { r.applyPlan(r.plan(plus(config, object{"network_direct_across_ip_subnets": "Blocked"}))) }},
				{"delete", 4, func() { r.applyPlan(r.plan(nil)) }},
			} {
				if n := l.requests(x.f); n > x.most {
					t.Errorf("%s: %d requests, at most %d", x.name, n, x.most)
				}
			}
		})
	}
	t.Run("reads are shared", func(t *testing.T) {
		p := l.patientHarness("hv1")
		r, nic := p.resource(routingType), p.resource(nicType)
		mustApply(t, r, object{"host": "hv1", "net_adapter_names": list{"iWARP 1"}})
		mustApply(t, nic, object{"host": "hv1", "net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 4})
		n := l.requests(func() {
			for _, i := range []*instance{r, nic, r, nic} {
				if d := i.refresh().errors(); len(d) > 0 {
					t.Fatal(d)
				}
			}
		})
		if n > 2 {
			t.Errorf("4 reads made %d HTTP requests, want one batch of 2", n)
		}
	})
}

func TestAccNetworkDirectRouting(t *testing.T) {
	const odd = "i'W$${x}A\"R;P [1]*"
	l := startLab(t, "intel-x722", func(s *lab.Scenario) {
		s.Hosts[0].Devices[1].Ports[0].Name = strings.ReplaceAll(odd, "$$", "$")
		s.Hosts[0].Devices[0].Ports[1].Name = "iW"
		s.Hosts[0].Switches[0].Ports[0] = "iW"
		s.Hosts[0].VMs[0].Name = "v'm;$(x) [1] é"
	})
	before := l.state()
	config := func(host, guest string) string {
		return l.hcl("hv1") + fmt.Sprintf(`
resource "hyperv_network_direct_routing" "host" {
  net_adapter_names = [%q]
  %s
}
resource "hyperv_network_direct_routing" "guest" {
  vm_name           = "v'm;$(x) [1] é"
  net_adapter_names = ["Ethernet"]
  %s
}
`, odd, host, guest)
	}
	const host, guest = routingType + ".host", routingType + ".guest"
	ignore := []string{"net_adapter_names", "restart_trigger", "planned_restarts", "actual.restart_targets"}
	acceptance(t,
		resource.TestStep{Config: l.hcl("hv1") + "resource \"hyperv_network_direct_routing\" \"x\" {\n  net_adapter_names = []\n}\n", ExpectError: regexp.MustCompile(`net_adapter_names`)},
		resource.TestStep{Config: config("", ""), ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(host, tfjsonpath.New("actual").AtMapKey("network_direct_across_ip_subnets"), knownvalue.StringExact("Allowed")),
			statecheck.ExpectKnownValue(guest, tfjsonpath.New("pending_restarts"), knownvalue.ListSizeExact(0)),
		}},
		resource.TestStep{
			Config: config(`network_direct_across_ip_subnets = "Blocked"`, `restart_policy = "manual"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(host, plancheck.ResourceActionUpdate),
				plancheck.ExpectKnownValue(host, tfjsonpath.New("planned_restarts"), knownvalue.ListSizeExact(1)),
				plancheck.ExpectResourceAction(guest, plancheck.ResourceActionUpdate),
			}},
		},
		resource.TestStep{Config: config("", "")},
		resource.TestStep{ResourceName: host, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: ignore},
		resource.TestStep{ResourceName: guest, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: ignore},
		resource.TestStep{
			PreConfig: func() {
				l.cmdlet("hv1", "host", "Set-NetOffloadGlobalSetting", object{"NetworkDirectAcrossIPSubnets": "Blocked"})
			},
			Config: config("", ""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(host, plancheck.ResourceActionUpdate), plancheck.ExpectResourceAction(guest, plancheck.ResourceActionNoop),
			}},
		},
	)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
