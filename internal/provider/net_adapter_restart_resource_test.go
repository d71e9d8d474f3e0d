package provider_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const restartType = "hyperv_net_adapter_restart"

// restartChain is settings and two switches that restart nothing themselves, and the restart at their end.
type restartChain struct {
	l                      *testLab
	h                      *harness
	nic, one, two, restart *instance
	settings               object
	switches               []object
}

func iwarpPorts() []string { return []string{"iWARP 1", "iWARP 2"} }

func newRestartChain(l *testLab, policy string) *restartChain {
	h := l.harness("hv1")
	return &restartChain{
		l: l, h: h, nic: h.resource(nicType), one: h.resource(switchType), two: h.resource(switchType), restart: h.resource(restartType),
		settings: object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8, "restart_policy": policy},
		switches: []object{
			{"name": "A", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false, "restart_policy": policy, "profile": "intel_x722"},
			{"name": "B", "net_adapter_names": list{"iWARP 2"}, "allow_management_os": false, "restart_policy": policy, "profile": "intel_x722"},
		},
	}
}

// end is the configuration of the restart, with the parts' triggers as they are.
func (c *restartChain) end() object {
	return object{"net_adapter_names": list{"iWARP 2", "iWARP 1"}, "triggers": object{
		"settings": c.nic.state["restart_trigger"], "A": c.one.state["restart_trigger"], "B": c.two.state["restart_trigger"]}}
}

func (c *restartChain) up() {
	c.l.t.Helper()
	mustApply(c.l.t, c.nic, c.settings)
	mustApply(c.l.t, c.one, c.switches[0])
	mustApply(c.l.t, c.two, c.switches[1])
	mustApply(c.l.t, c.restart, c.end())
}

func (c *restartChain) settled() {
	c.l.t.Helper()
	c.nic.settled(c.settings)
	c.one.settled(c.switches[0])
	c.two.settled(c.switches[1])
	c.restart.settled(c.end())
}

// bouncesIn counts the bounces of the device that f makes.
func (l *testLab) bouncesIn(f func()) int {
	l.t.Helper()
	seq := l.seq()
	f()
	return bounces(l.t, l.since(seq), "hv1", iwarpPorts())
}

func (l *testLab) wantBounces(want int, what string, f func()) {
	l.t.Helper()
	if n := l.bouncesIn(f); n != want {
		l.t.Errorf("%s: the device was restarted %d times, want %d", what, n, want)
	}
}

// targetsOf are kind, target and condition of what a plan or a state says of restarts.
func targetsOf(restarts any) []string {
	var out []string
	entries, _ := restarts.([]any)
	for _, r := range entries {
		o := r.(object)
		out = append(out, fmt.Sprintf("%v %v %v", o["kind"], o["target"], o["condition"]))
	}
	return out
}

func wantTargets(t *testing.T, what string, got any, want ...string) {
	t.Helper()
	if have := targetsOf(got); strings.Join(have, "; ") != strings.Join(want, "; ") {
		t.Errorf("%s: %q, want %q", what, have, want)
	}
}

// failBounce lets the next restarts fail before anything is disabled.
func (l *testLab) failBounce(times int) {
	l.fault(door.Rule{Host: "hv1", Cmdlet: "Disable-NetAdapter", Effect: door.ErrorRecordEffect, Count: times,
		Error: &door.ErrorRecord{ID: "Windows System Error 5,Disable-NetAdapter", Category: "PermissionDenied", Exception: "Microsoft.Management.Infrastructure.CimException", Message: "Access is denied."}})
}

// A chain costs one restart of the device up, and one down, where the last part pays for all.
func TestNetAdapterRestartChain(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	c := newRestartChain(l, "manual")
	l.wantBounces(0, "the parts", func() {
		mustApply(t, c.nic, c.settings)
		mustApply(t, c.one, c.switches[0])
		mustApply(t, c.two, c.switches[1])
	})
	p := c.restart.plan(c.end())
	wantTargets(t, "planned", p.state["planned_restarts"], "net_adapter iWARP 2, iWARP 1 if_owed")
	if w := p.warnings(); len(w) != 1 || !strings.Contains(w.String(), "facts.md 25, 33-36") {
		t.Errorf("the plan warns %d times: %s", len(w), w)
	}
	l.wantBounces(1, "the restart", func() {
		if d := c.restart.applyPlan(p).errors(); len(d) > 0 {
			t.Fatal(d)
		}
	})
	devices := c.restart.state["devices"].([]any)
	device := devices[0].(object)
	if len(devices) != 1 || device["restarted"] != true || len(device["owed"].([]any)) != 3 || len(device["ports"].([]any)) != 2 {
		t.Errorf("devices: %v", devices)
	}
	if pending := c.restart.state["pending_restarts"].([]any); len(pending) > 0 {
		t.Errorf("still owed: %v", pending)
	}
	l.unchanged(c.settled)
	if w := c.nic.plan(nil).warnings(); len(w) != 1 || !strings.Contains(w.String(), "will cause restarts, or owe them") {
		t.Errorf("the plan of a destroy warns: %s", w)
	}

	t.Run("another switch name restarts nothing", func(t *testing.T) {
		c.switches[0]["notes"] = "new"
		l.wantBounces(0, "notes", func() { c.up() })
		l.unchanged(c.settled)
	})
	t.Run("a restart that is made anew restarts nothing", func(t *testing.T) {
		l.unchanged(func() { mustApply(t, c.restart, nil) })
		l.wantBounces(0, "nothing owed", func() { mustApply(t, c.restart, c.end()) })
	})
	t.Run("a changed part changes the trigger", func(t *testing.T) {
		c.settings["rdma_max_vfs"] = 16
		was := c.nic.state["restart_trigger"]
		p := c.nic.plan(c.settings)
		if p.state["restart_trigger"] != unknown {
			t.Errorf("restart_trigger is planned as %v", p.state["restart_trigger"])
		}
		triggers := c.end()
		triggers["triggers"].(object)["settings"] = unknown
		end := c.restart.plan(triggers)
		if end.state["planned_restarts"] != unknown || !strings.Contains(end.warnings().String(), "may be made") {
			t.Errorf("with an unknown trigger planned_restarts is %v: %s", end.state["planned_restarts"], end.diagnostics)
		}
		l.wantBounces(1, "changed settings", func() { c.up() })
		if c.nic.state["restart_trigger"] == was {
			t.Error("restart_trigger is as it was")
		}
		l.unchanged(c.settled)
	})
	t.Run("what a part owes is paid without a trigger", func(t *testing.T) {
		c.settings["rdma_max_vfs"] = 8
		same := c.end()
		mustApply(t, c.nic, c.settings)
		if d := c.restart.refresh().errors(); len(d) > 0 {
			t.Fatal(d)
		}
		p := c.restart.plan(same)
		wantTargets(t, "planned", p.state["planned_restarts"], "net_adapter iWARP 1, iWARP 2 always")
		l.wantBounces(1, "owed", func() {
			if d := c.restart.applyPlan(p).errors(); len(d) > 0 {
				t.Fatal(d)
			}
		})
		c.restart.settled(same)
		mustApply(t, c.restart, c.end())
	})

	l.wantBounces(0, "the restart goes", func() { mustApply(t, c.restart, nil) })
	l.wantBounces(0, "the first switch goes", func() { mustApply(t, c.one, nil) })
	l.wantBounces(0, "the second switch goes", func() { mustApply(t, c.two, nil) })
	l.wantBounces(1, "the last part goes", func() { mustApply(t, c.nic, nil) })
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestNetAdapterRestartAlways(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	s := l.harness("hv1").resource(restartType)
	config := func(trigger string) object {
		return object{"net_adapter_names": list{"iWARP 1", "iWARP 2"}, "restart_when": "always", "triggers": object{"x": trigger}}
	}
	l.wantBounces(1, "create", func() { mustApply(t, s, config("a")) })
	l.unchanged(func() { s.settled(config("a")) })
	p := s.plan(config("b"))
	wantTargets(t, "planned", p.state["planned_restarts"], "net_adapter iWARP 1, iWARP 2 always")
	l.wantBounces(1, "another trigger", func() { mustApply(t, s, config("b")) })
	imported := s.h.resource(restartType)
	if d := imported.importID("hv1/iWARP 2").errors(); len(d) > 0 {
		t.Fatal(d)
	}
	l.unchanged(func() {
		imported.settled(object{"net_adapter_names": list{"iWARP 2"}})
		mustApply(t, imported, nil)
	})
	t.Run("an update that fails is an error, and owed", func(t *testing.T) {
		l.failBounce(1)
		if d := s.apply(config("c")).errors(); !strings.Contains(d.String(), "Access is denied") {
			t.Fatalf("the restart failed, but: %s", d)
		}
		if d := s.refresh().errors(); len(d) > 0 {
			t.Fatal(d)
		}
		if n := len(s.state["pending_restarts"].([]any)); n != 1 {
			t.Errorf("%d restarts are owed", n)
		}
		wantTargets(t, "planned, with the old trigger", s.plan(config("b")).state["planned_restarts"], "net_adapter iWARP 1, iWARP 2 always")
		l.wantBounces(1, "the next apply", func() { mustApply(t, s, config("c")) })
		l.unchanged(func() { s.settled(config("c")) })
	})
	t.Run("a create that fails is a warning, and owed", func(t *testing.T) {
		other := s.h.resource(restartType)
		l.failBounce(1)
		d := other.apply(config("d"))
		if len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "Access is denied") || other.state == nil {
			t.Fatalf("the restart failed, but: %s", d)
		}
		if n := len(other.state["pending_restarts"].([]any)); n != 1 {
			t.Errorf("%d restarts are owed", n)
		}
		l.wantBounces(1, "the next apply", func() { mustApply(t, other, config("d")) })
		l.unchanged(func() { other.settled(config("d")) })
	})
	t.Run("a destroy forgets what nobody else wanted", func(t *testing.T) {
		l.failBounce(1)
		if len(s.apply(config("e")).errors()) == 0 {
			t.Fatal("the restart did not fail")
		}
		l.wantBounces(0, "destroy", func() { mustApply(t, s, nil) })
	})
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// restart_on_destroy: the restart pays at its own end, or a part leaves its debt.
func TestRestartOnDestroy(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	h := l.harness("hv1")
	part := func(more object) object {
		return merged(object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8, "restart_policy": "manual"}, more)
	}
	t.Run("the restart pays", func(t *testing.T) {
		nic, restart := h.resource(nicType), h.resource(restartType)
		end := object{"net_adapter_names": list{"iWARP 1"}, "restart_on_destroy": true}
		mustApply(t, restart, end)
		mustApply(t, nic, part(nil))
		if d := restart.refresh().errors(); len(d) > 0 {
			t.Fatal(d)
		}
		if w := restart.plan(nil).warnings(); len(w) != 1 || !strings.Contains(w.String(), `net_adapter "iWARP 1, iWARP 2"`) {
			t.Errorf("the plan of the destroy warns: %s", w)
		}
		l.wantBounces(1, "destroy", func() { mustApply(t, restart, nil) })
		l.wantBounces(1, "settings alone on the device", func() { mustApply(t, nic, nil) })
	})
	for _, policy := range []string{"manual", "auto"} {
		t.Run("a part leaves its debt, "+policy, func(t *testing.T) {
			nic := h.resource(nicType)
			config := part(object{"restart_on_destroy": false, "restart_policy": policy})
			mustApply(t, nic, config)
			nic.settled(config)
			if w := nic.plan(nil).warnings(); !strings.Contains(w.String(), "will owe restarts") {
				t.Errorf("the plan of the destroy warns: %s", w)
			}
			l.wantBounces(0, "destroy", func() {
				d := nic.apply(nil)
				if len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "A restart stays owed") {
					t.Errorf("the destroy says: %s", d)
				}
			})
			restart := h.resource(restartType)
			l.wantBounces(1, "a restart pays", func() { mustApply(t, restart, object{"net_adapter_names": list{"iWARP 1"}}) })
			mustApply(t, restart, nil)
		})
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// The last part pays, and keeps its state until it has; what somebody else removed does not count.
func TestLastPartPays(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	c := newRestartChain(l, "manual")
	c.up()
	mustApply(t, c.restart, nil)
	mustApply(t, c.nic, nil)
	l.cmdlet("hv1", "host", "Remove-VMSwitch", object{"Name": "A", "Force": true})
	if d := c.one.refresh().errors(); len(d) > 0 || c.one.state != nil {
		t.Fatalf("a switch that is gone: %s, %v", d, c.one.state)
	}
	l.failBounce(1)
	if d := c.two.apply(nil).errors(); len(d) == 0 || c.two.state == nil {
		t.Fatalf("the restart failed, but: %s, state %v", d, c.two.state)
	}
	l.wantBounces(1, "the destroy is repeated", func() { mustApply(t, c.two, nil) })
	c.two.h.close() // what Terraform is known to have is forgotten with the end of the run
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// Under "auto" too, one restart serves all that wait for it at the same moment.
func TestOneRestartServesAll(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	c := newRestartChain(l, "auto")
	mustApply(t, c.nic, c.settings)
	together := func(a, b plan) {
		var wg sync.WaitGroup
		for _, x := range []struct {
			i *instance
			p plan
		}{{c.one, a}, {c.two, b}} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if d := x.i.applyPlan(x.p).errors(); len(d) > 0 {
					t.Error(d)
				}
			}()
		}
		wg.Wait()
	}
	l.wantBounces(1, "two switches are made", func() { together(c.one.plan(c.switches[0]), c.two.plan(c.switches[1])) })
	for _, i := range []*instance{c.one, c.two} {
		if pending := i.state["pending_restarts"].([]any); len(pending) > 0 {
			t.Errorf("still owed: %v", pending)
		}
	}
	l.unchanged(func() {
		c.one.settled(c.switches[0])
		c.two.settled(c.switches[1])
	})
	l.wantBounces(1, "two switches are removed", func() { together(c.one.plan(nil), c.two.plan(nil)) })
	mustApply(t, c.nic, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// While a restart is owed, what Windows says of SR-IOV does not count; the restart that pays it makes the check.
func TestIovSupportWaitsForTheRestart(t *testing.T) {
	for name, x := range map[string]struct {
		bios bool // SR-IOV is on in the firmware
		says string
	}{
		"the settings make it work": {bios: true},
		"the firmware is against":   {says: "require_iov_support"},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "mellanox-cx3pro", func(s *lab.Scenario) {
				for i := range s.Hosts[0].Devices {
					for j := range s.Hosts[0].Devices[i].Ports {
						s.Hosts[0].Devices[i].Ports[j].Keywords = map[string]string{"*SRIOV": "0"}
					}
				}
				if !x.bios {
					s.Hosts[0].Iov = &lab.ScenarioIov{Reasons: []string{"The system BIOS must be updated."}}
				}
			})
			h := l.harness("hv1")
			nic, sw, restart := h.resource(nicType), h.resource(switchType), h.resource(restartType)
			mustApply(t, nic, object{"net_adapter_names": list{"MyRDMANIC"}, "sriov": true, "restart_policy": "manual"})
			d := sw.apply(object{"name": "S", "net_adapter_names": list{"MyRDMANIC"}, "allow_management_os": false, "require_iov_support": true, "restart_policy": "manual"})
			if len(d.errors()) > 0 || strings.Contains(d.String(), "SR-IOV does not work") {
				t.Fatalf("a restart is owed, and the switch says: %s", d)
			}
			for range 2 { // the second finds nothing owed, and yet the switch lacks what it must have
				d = restart.apply(object{"net_adapter_names": list{"MyRDMANIC"}}).errors()
				if x.says == "" && len(d) > 0 || x.says != "" && (!strings.Contains(d.String(), x.says) || restart.state != nil) {
					t.Fatalf("the restart says %s", d)
				}
			}
		})
	}
}

// The warning of a plan names what the restart hits.
func TestRestartHits(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	h := l.harness("hv1")
	s := h.resource(restartType)
	config := func(trigger string, ports ...any) object {
		return object{"net_adapter_names": ports, "restart_when": "always", "triggers": object{"x": trigger}}
	}
	mustApply(t, s, config("a", "iWARP 1"))
	if d := s.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if w := s.plan(config("b", "iWARP 1")).warnings(); len(w) != 1 || !strings.Contains(w.String(), "running virtual machines") || !strings.Contains(w.String(), ": vm1.") || strings.Contains(w.String(), "management path") {
		t.Errorf("the plan warns: %s", w)
	}
	if w := s.plan(config("b", "Ethernet")).warnings(); len(w) != 1 || !strings.Contains(w.String(), "management path") || !strings.Contains(w.String(), ": vm1, vm2.") { // by the LAN on its other port
		t.Errorf("the plan warns: %s", w)
	}
}
