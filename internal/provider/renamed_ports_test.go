package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// rename gives a net adapter another name, as somebody on the machine would.
func (l *testLab) rename(host, name, to string) {
	l.t.Helper()
	literal := strings.NewReplacer("`", "``", "[", "`[", "]", "`]", "*", "`*").Replace(name)
	l.cmdlet(host, "host", "Rename-NetAdapter", object{"Name": literal, "NewName": to})
}

// renaming is a resource with net_adapter_names, on a lab where the names a and b belong to two devices.
type renaming struct {
	preset string
	change func(*lab.Scenario)
	typ    string
	config object // without net_adapter_names
	a, b   string // of the configuration, and of another device
	ports  []string
}

func renamings() map[string]renaming {
	iwarp, roce := iwarpPorts(), []string{"MyRDMANIC", "MyRDMANIC 2"}
	return map[string]renaming{
		nicType:              {"intel-x722", nil, nicType, object{"host": "hv1", "rdma_max_vfs": 8, "advanced_properties": object{"*JumboPacket": "9014"}}, "iWARP 1", "Ethernet", iwarp},
		nicType + " RoCE":    {"mellanox-cx3pro", nil, nicType, object{"host": "hv1", "guest_rdma_registry": object{"value": 1}, "num_vfs": 4}, "MyRDMANIC", "Ethernet", roce},
		dcbType:              {"mellanox-cx3pro", dcbOff, dcbType, withOut(merged(object{"host": "hv1"}, roceDcb()), "net_adapter_names"), "MyRDMANIC", "Ethernet", roce},
		switchType:           {"intel-x722", nil, switchType, object{"host": "hv1", "name": "S", "allow_management_os": false}, "iWARP 1", "Ethernet", iwarp},
		routingType:          {"intel-x722", nil, routingType, object{"host": "hv1"}, "iWARP 1", "Ethernet", iwarp},
		restartType:          {"intel-x722", nil, restartType, object{"host": "hv1", "restart_when": "always", "triggers": object{"a": "1"}}, "iWARP 1", "Ethernet", iwarp},
		restartType + " end": {"intel-x722", nil, restartType, object{"host": "hv1", "restart_on_destroy": true}, "iWARP 1", "Ethernet", iwarp},
	}
}

// A net adapter that is renamed stays the same one: its rename is no drift, and destroy finds it.
func TestRenamedNetAdapters(t *testing.T) {
	t.Parallel()
	away := "Mine [x]* 'ü' $(y)"
	for name, tt := range map[string]struct {
		names    list // of the configuration; nil: a alone
		somebody func(*testing.T, *testLab, renaming)
		undo     func(*testLab, renaming)
	}{
		"its port": {
			somebody: func(_ *testing.T, l *testLab, r renaming) { l.rename("hv1", r.a, away) },
			undo:     func(l *testLab, r renaming) { l.rename("hv1", away, r.a) },
		},
		"all ports of the device": {
			somebody: func(_ *testing.T, l *testLab, r renaming) {
				for i, p := range r.ports {
					l.rename("hv1", p, strings.Repeat("P", i+1))
				}
			},
			undo: func(l *testLab, r renaming) {
				for i, p := range r.ports {
					l.rename("hv1", strings.Repeat("P", i+1), p)
				}
			},
		},
		"another device's port has its name now": {
			somebody: func(_ *testing.T, l *testLab, r renaming) {
				l.rename("hv1", r.a, away)
				l.rename("hv1", r.b, r.a)
			},
			undo: func(l *testLab, r renaming) {
				l.rename("hv1", r.a, r.b)
				l.rename("hv1", away, r.a)
			},
		},
		"two ports swapped their names": {
			somebody: func(_ *testing.T, l *testLab, r renaming) { swapNames(l, r.ports[0], r.ports[1]) },
			undo:     func(l *testLab, r renaming) { swapNames(l, r.ports[0], r.ports[1]) },
		},
	} {
		for what, r := range renamings() {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				l := startLab(t, r.preset, nonNilChange(r.change))
				before := l.state()
				i := l.harness("hv1").resource(r.typ)
				config := merged(object{"net_adapter_names": list{r.a}}, r.config)
				mustApply(t, i, config)
				tt.somebody(t, l, r)
				i.settled(config)
				l.unchanged(func() { mustApply(t, i, config) })
				mustApply(t, i, nil)
				tt.undo(l, r)
				if after := l.settledState(before); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			})
		}
	}
}

func nonNilChange(change func(*lab.Scenario)) func(*lab.Scenario) {
	if change == nil {
		return func(*lab.Scenario) {}
	}
	return change
}

func swapNames(l *testLab, a, b string) {
	l.rename("hv1", a, "between")
	l.rename("hv1", b, a)
	l.rename("hv1", "between", b)
}

// The configuration follows the rename: nothing is replaced, restarted or changed on the host but what the ledger says of it.
func TestRenamedNetAdapterIsFollowed(t *testing.T) {
	t.Parallel()
	for what, r := range renamings() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, r.preset, nonNilChange(r.change))
			before := l.state()
			i := l.harness("hv1").resource(r.typ)
			config := merged(object{"net_adapter_names": list{r.a}}, r.config)
			mustApply(t, i, config)
			l.rename("hv1", r.a, "Mine")
			follows := merged(object{"net_adapter_names": list{"mine"}}, r.config)
			if d := i.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
			p := i.plan(follows)
			if len(p.replace) > 0 {
				t.Errorf("replaced because of %v", p.replace)
			}
			seq := l.seq()
			if d := i.applyPlan(p).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if n := restarts(l.since(seq))["net_adapter_restart"]; n != 0 && r.typ != restartType {
				t.Errorf("%d ports restarted for a rename", n)
			}
			i.settled(follows)
			mustApply(t, i, nil)
			l.rename("hv1", "Mine", r.a)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// A change goes to the renamed net adapter; where another one has its name by now, nobody can say which is meant.
func TestChangeOfRenamedNetAdapter(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722")
	before := l.state()
	i := l.harness("hv1").resource(nicType)
	config := func(vfs int) object {
		return object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": vfs}
	}
	mustApply(t, i, config(8))
	l.rename("hv1", "iWARP 1", "Mine")
	mustApply(t, i, config(16))
	i.settled(config(16))
	if s := l.state(); strings.Count(s, `"registry": "16"`) < 2 {
		t.Error("the change did not come to both ports of the device")
	}
	l.rename("hv1", "Ethernet", "iWARP 1")
	l.unchanged(func() {
		says(t, i.apply(config(4)).errors().String(), "net_adapter_names", `"iWARP 1"`, `"Mine"`, "another one took its name", "Rename-NetAdapter")
	})
	mustApply(t, i, nil)
	l.rename("hv1", "iWARP 1", "Ethernet")
	l.rename("hv1", "Mine", "iWARP 1")
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// A state that knows no interface GUIDs, as of a provider that kept none: the ledger's claim tells the device.
func TestRenamedNetAdapterByTheLedger(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722")
	before := l.state()
	i := l.harness("hv1").resource(nicType)
	mustApply(t, i, object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
	for n, p := range iwarpPorts() {
		l.rename("hv1", p, strings.Repeat("P", n+1))
	}
	i.private = nil
	if d := i.applyPlan(i.plan(nil)).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	for n, p := range iwarpPorts() {
		l.rename("hv1", strings.Repeat("P", n+1), p)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// In a guest, too.
func TestRenamedNetAdapterInAGuest(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722")
	i := l.harness("hv1").resource(routingType)
	config := object{"host": "hv1", "vm_name": "vm1", "net_adapter_names": list{"Ethernet"}}
	mustApply(t, i, config)
	l.cmdlet("hv1", "guest:vm1", "Rename-NetAdapter", object{"Name": "Ethernet", "NewName": "Mine"})
	i.settled(config)
	seq := l.seq()
	mustApply(t, i, nil)
	if !slices.ContainsFunc(l.since(seq), func(e lab.JournalEntry) bool { return e.Event == "guest_net_adapter_restart" }) {
		t.Error("the renamed adapter was not restarted")
	}
}
