package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

const switchType = "hyperv_iov_switch"

func TestIovSwitchLifecycle(t *testing.T) {
	for name, x := range map[string]struct {
		preset, port, other string
		bounces             int // net_adapter_restart events of a create and of a delete: two ports each
	}{
		"intel restarts all ports of the device (facts 25)": {"intel-x722", "iWARP 1", "iWARP 2", 2},
		"mellanox needs no restart":                         {"mellanox-cx3pro", "MyRDMANIC", "MyRDMANIC 2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, x.preset)
			before := l.state()
			h := l.harness("hv1")
			s := h.resource(switchType)
			config := object{"name": "S 'x' [1]*", "net_adapter_names": list{x.port}, "allow_management_os": false, "notes": `$(calc); "n"`}
			seq := l.seq()
			if d := s.apply(config).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if got := restarts(l.since(seq))["net_adapter_restart"]; got != x.bounces {
				t.Errorf("restarts of ports: %d, want %d", got, x.bounces)
			}
			s.settled(config)
			changed := object{"name": "renamed ü", "net_adapter_names": list{x.port}, "allow_management_os": false, "notes": "other"}
			if d := s.apply(changed).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			s.settled(changed)
			imported := h.resource(switchType)
			if d := imported.importID("hv1/renamed ü").errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if imported.state["id"] != s.state["id"] {
				t.Errorf("import gave %v, want %v", imported.state["id"], s.state["id"])
			}
			moved := object{"name": "renamed ü", "net_adapter_names": list{x.other}, "allow_management_os": false, "notes": "other"}
			id := s.state["switch_id"]
			if d := s.apply(moved).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if s.state["switch_id"] != id {
				t.Error("another net adapter replaced the switch; Windows changes it in place")
			}
			s.settled(moved)
			seq = l.seq()
			if d := s.apply(nil).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if got := restarts(l.since(seq))["net_adapter_restart"]; got != x.bounces {
				t.Errorf("restarts of ports at destroy: %d, want %d", got, x.bounces)
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// textDiff lists the lines that differ, for a test's message.
func textDiff(a, b string) string {
	var out []string
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		var p, q string
		if i < len(x) {
			p = x[i]
		}
		if i < len(y) {
			q = y[i]
		}
		if p != q {
			out = append(out, fmt.Sprintf("%d: %s | %s", i, p, q))
		}
		if len(out) > 20 {
			break
		}
	}
	return strings.Join(out, "\n")
}

func TestIovSwitchBadInput(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness()
	for name, x := range map[string]struct {
		config object
		want   []string
	}{
		"no such host":                  {object{"host": "hv9", "name": "S", "net_adapter_names": list{"iWARP 1"}}, []string{`"hv9"`, "hv1"}},
		"no such net adapter":           {object{"host": "hv1", "name": "S", "net_adapter_names": list{"nope"}}, []string{`"nope"`, `"iWARP 1"`}},
		"net adapter of another switch": {object{"host": "hv1", "name": "S", "net_adapter_names": list{"Ethernet 2"}}, []string{`"LAN"`, "facts.md 24"}},
		"name is taken":                 {object{"host": "hv1", "name": "lan", "net_adapter_names": list{"iWARP 1"}}, []string{"exists already", "import"}},
		"bandwidth mode Weight":         {object{"host": "hv1", "name": "S", "net_adapter_names": list{"iWARP 1"}, "minimum_bandwidth_mode": "Weight"}, []string{"Weight", "facts.md 10"}},
		"several adapters, no team":     {object{"host": "hv1", "name": "S", "net_adapter_names": list{"iWARP 1", "iWARP 2"}, "enable_embedded_teaming": false}, []string{"enable_embedded_teaming", "facts.md 13"}},
	} {
		t.Run(name, func(t *testing.T) {
			l.unchanged(func() {
				d := h.resource(switchType).apply(x.config).errors()
				if len(d) == 0 {
					t.Fatal("no error")
				}
				for _, w := range x.want {
					if !strings.Contains(d.String(), w) {
						t.Errorf("the error does not say %q:\n%s", w, d)
					}
				}
			})
		})
	}
}

// list is a list in a configuration.
type list = []any

// A destroy whose restart fails keeps the state, also over a refresh, and the next destroy pays.
func TestIovSwitchDestroyOwesItsRestart(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	h := l.harness("hv1")
	s := h.resource(switchType)
	mustApply(t, s, object{"name": "S", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false})
	l.fault(door.Rule{Host: "hv1", Cmdlet: "Disable-NetAdapter", Effect: door.ErrorRecordEffect, Count: 1,
		Error: &door.ErrorRecord{ID: "Windows System Error 5,Disable-NetAdapter", Category: "PermissionDenied", Message: "Access is denied."}})
	if d := s.apply(nil).errors(); len(d) == 0 || s.state == nil {
		t.Fatalf("the restart failed, but: %s, state %v", d, s.state)
	}
	if d := s.refresh().errors(); len(d) > 0 || s.state == nil {
		t.Fatalf("after a refresh: %s, state %v", d, s.state)
	}
	if pending, _ := s.state["pending_restarts"].([]any); len(pending) != 1 {
		t.Errorf("pending_restarts: %v", s.state["pending_restarts"])
	}
	seq := l.seq()
	if d := s.apply(nil).errors(); len(d) > 0 || s.state != nil {
		t.Fatalf("second destroy: %s, state %v", d, s.state)
	}
	if n := restarts(l.since(seq))["net_adapter_restart"]; n != 2 {
		t.Errorf("%d ports restarted, want both", n)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
