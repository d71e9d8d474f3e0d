package provider_test

import (
	"strings"
	"testing"
)

func TestDcbRestartsByHand(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff)
	s := l.harness("hv1").resource(dcbType)
	config := but(roceDcb(), object{"restart_policy": "manual"})
	seq := l.seq()
	mustApply(t, s, config)
	s.settled(config)
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 0 {
		t.Errorf("%d ports restarted by hand", got)
	}
	if pending, _ := s.state["pending_restarts"].(list); len(pending) != 1 {
		t.Errorf("pending_restarts: %v", s.state["pending_restarts"])
	}
	p := s.plan(roceDcb())
	if !strings.Contains(p.warnings().String(), "MyRDMANIC, MyRDMANIC 2") {
		t.Errorf("the plan does not show the owed restart: %s", p.diagnostics)
	}
	mustApply(t, s, roceDcb())
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
		t.Errorf("%d ports restarted, want both once", got)
	}
	s.settled(roceDcb())
	if pending, _ := s.state["pending_restarts"].(list); len(pending) != 0 {
		t.Errorf("pending_restarts: %v", pending)
	}
}

// A device that DCB and other settings share is taken down with one restart, by the last of them.
func TestDcbLastOnTheDevicePays(t *testing.T) {
	for name, first := range map[string]string{"DCB goes last": nicType, "DCB goes first": dcbType} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "mellanox-cx3pro", dcbOff)
			before := l.state()
			h := l.harness("hv1")
			all := map[string]*instance{nicType: h.resource(nicType), dcbType: h.resource(dcbType)}
			mustApply(t, all[nicType], object{"net_adapter_names": list{"MyRDMANIC"}, "vmq": false, "restart_policy": "manual"})
			mustApply(t, all[dcbType], but(roceDcb(), object{"restart_policy": "manual"}))
			seq := l.seq()
			mustApply(t, all[first], nil)
			if got := restarts(l.since(seq))["net_adapter_restart"]; got != 0 {
				t.Errorf("%d ports restarted by the first that goes", got)
			}
			delete(all, first)
			for _, last := range all {
				mustApply(t, last, nil)
			}
			if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
				t.Errorf("%d ports restarted, want both once", got)
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

func TestDcbNoRestartOnDestroy(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff)
	s := l.harness("hv1").resource(dcbType)
	mustApply(t, s, but(roceDcb(), object{"restart_on_destroy": false}))
	seq := l.seq()
	d := s.apply(nil)
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 0 || !strings.Contains(d.warnings().String(), "stays owed") {
		t.Errorf("%d ports restarted: %s", got, d)
	}
}

// The plan announces the restarts by the configuration alone.
func TestDcbPlannedRestarts(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff)
	s := l.harness("hv1").resource(dcbType)
	if p := s.plan(withOut(roceDcb(), "net_adapter_names")); len(p.state["planned_restarts"].(list)) != 0 {
		t.Errorf("planned_restarts without net adapters: %v", p.state["planned_restarts"])
	}
	p := s.plan(roceDcb())
	planned, _ := p.state["planned_restarts"].(list)
	if len(planned) != 1 || planned[0].(object)["target"] != "MyRDMANIC" || !strings.Contains(p.warnings().String(), "net_adapter \"MyRDMANIC\"") {
		t.Errorf("planned_restarts %v: %s", planned, p.diagnostics)
	}
	if p := s.plan(but(roceDcb(), object{"net_adapter_names": unknown})); p.state["planned_restarts"] != unknown {
		t.Errorf("planned_restarts with unknown net adapters: %v", p.state["planned_restarts"])
	}
	mustApply(t, s, roceDcb())
	if p := s.plan(nil); !strings.Contains(p.warnings().String(), "MyRDMANIC") {
		t.Errorf("the destroy announces no restart: %s", p.diagnostics)
	}
}
