package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// guestLab is hv1 of the Intel preset with everything on the host ready for RDMA in vm1's adapter "R".
func guestLab(t testing.TB, changes ...func(*lab.Scenario)) (*testLab, *harness) {
	t.Helper()
	l := startLab(t, "intel-x722", append([]func(*lab.Scenario){onIovSwitch}, changes...)...)
	h := l.harness("hv1")
	mustApply(t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
	mustApply(t, h.resource(rdmaType), object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
	return l, h
}

func guestConfig(more object) object {
	c := object{"vm_name": "vm1", "vm_network_adapter_name": "R"}
	for k, v := range more {
		c[k] = v
	}
	return c
}

func actual(i *instance, name string) any { return i.state["actual"].(object)[name] }

// guestCalls are the calls that changed something inside guests, in order.
func guestCalls(entries []lab.JournalEntry) []string {
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Target, "guest:") && !e.OutOfBand && e.Cmdlet != "" && !readsOnly(e.Cmdlet) {
			out = append(out, e.Cmdlet)
		}
	}
	return out
}

// settledState is the lab without what moves by itself or only counts.
func settledState(l *testLab) string {
	return stripLines(stripLines(l.state(), "data_path"), "recovery_done")
}

func TestGuestRdmaLifecycle(t *testing.T) {
	l, h := guestLab(t)
	before := settledState(l)
	g := h.resource(guestType)
	config := guestConfig(nil)
	p := g.plan(config)
	if s := fmt.Sprint(p.state["planned_restarts"]); !strings.Contains(s, "guest_rdma") || strings.Contains(s, "net_adapter") {
		t.Errorf("planned_restarts %s: want recovery step 1 alone", s)
	}
	seq := l.seq()
	mustApply(t, g, config)
	if got, want := guestCalls(l.since(seq)), []string{"Set-NetAdapterAdvancedProperty", "Enable-NetAdapterRdma", "Enable-NetAdapterRdma"}; !slices.Equal(got, want) {
		t.Errorf("in the guest: %v, want the keyword, then RDMA on both adapters: %v", got, want)
	}
	for name, want := range map[string]any{"stage": "smb_rdma_capable", "smb_rdma_capable": true, "net_adapter_rdma_enabled": true, "vf_rdma_enabled": true, "vf_keyword": "RdmaVfEnabled = 1"} {
		if got := actual(g, name); got != want {
			t.Errorf("actual.%s is %v, want %v", name, got, want)
		}
	}
	if steps := actual(g, "recovery_steps"); len(steps.([]any)) != 0 {
		t.Errorf("recovery steps %v", steps)
	}
	g.settled(config)
	synthetic, vf := fmt.Sprint(actual(g, "net_adapter_name")), fmt.Sprint(actual(g, "vf_name"))

	t.Run("a rename in the guest is no drift", func(t *testing.T) {
		l.cmdlet("hv1", "guest:vm1", "Rename-NetAdapter", object{"Name": synthetic, "NewName": "LAN 'x' [1]"})
		g.settled(config)
		synthetic = "LAN 'x' [1]"
	})
	for _, x := range []struct{ name, cmdlet string }{
		{synthetic, "Disable-NetAdapterRdma"}, {vf, "Disable-NetAdapterRdma"},
	} {
		t.Run("RDMA off on "+x.name, func(t *testing.T) {
			l.cmdlet("hv1", "guest:vm1", x.cmdlet, object{"Name": strings.NewReplacer("[", "?", "]", "?").Replace(x.name)})
			if d := g.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if got := drifted(g.state, g.plan(config).state); !slices.Equal(got, []string{"enabled"}) {
				t.Errorf("the plan changes %v, want enabled", got)
			}
			mustApply(t, g, config)
			g.settled(config)
		})
	}
	t.Run("keyword off", func(t *testing.T) {
		l.cmdlet("hv1", "guest:vm1", "Set-NetAdapterAdvancedProperty", object{"Name": vf, "RegistryKeyword": "RdmaVfEnabled", "RegistryValue": "0"})
		mustApply(t, g, config)
		g.settled(config)
		if got := actual(g, "vf_keyword"); got != "RdmaVfEnabled = 1" {
			t.Errorf("keyword %v", got)
		}
	})
	t.Run("triggers verify again", func(t *testing.T) {
		again := guestConfig(object{"triggers": object{"driver": "2"}})
		l.unchanged(func() { mustApply(t, g, again) })
		g.settled(again)
	})
	t.Run("switched off", func(t *testing.T) {
		off := guestConfig(object{"enabled": false})
		mustApply(t, g, off)
		if actual(g, "smb_rdma_capable") != false || actual(g, "vf_rdma_enabled") != false {
			t.Errorf("actual %v", g.state["actual"])
		}
		g.settled(off)
		mustApply(t, g, config)
	})
	mustApply(t, g, nil)
	after := strings.ReplaceAll(settledState(l), "LAN 'x' [1]", "Ethernet 2")
	if after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// Case 48: the recovery ladder, in order, only what is named, only as far as needed.
func TestCase48GuestRdmaRecovery(t *testing.T) {
	all := list{"vm_restart", "guest_rdma", "net_adapter"}
	for _, x := range []struct {
		needed   int
		recovery list
		steps    []string
		ok       bool
	}{
		{0, all, nil, true},
		{1, list{"guest_rdma"}, []string{"guest_rdma"}, true},
		{2, all, []string{"guest_rdma", "net_adapter"}, true},
		{3, all, []string{"guest_rdma", "net_adapter", "vm_restart"}, true},
		{2, list{"guest_rdma"}, []string{"guest_rdma"}, false},
		{1, list{}, nil, false},
	} {
		t.Run(fmt.Sprintf("needs %d, may %v", x.needed, x.recovery), func(t *testing.T) {
			t.Parallel()
			l, h := guestLab(t, func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.RecoveryNeeded = x.needed })
			before := settledState(l)
			g := h.resource(guestType)
			config := guestConfig(object{"recovery": x.recovery})
			seq := l.seq()
			if !x.ok {
				mustFail(t, g, config, "smb_rdma_capable", "recovery", "facts.md 66")
				if after := settledState(l); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			} else {
				d := mustApply(t, g, config)
				if got := fmt.Sprint(actual(g, "recovery_steps")); got != fmt.Sprint(x.steps) {
					t.Errorf("steps %v, want %v", got, x.steps)
				}
				if warned := strings.Contains(d.warnings().String(), "Recovery steps were taken"); warned != (len(x.steps) > 0) {
					t.Errorf("warned of recovery: %v\n%s", warned, d)
				}
				g.settled(config)
			}
			counts := restarts(l.since(seq))
			want := map[string]int{}
			if slices.Contains(x.steps, "net_adapter") {
				want["net_adapter_restart"] = 2
			}
			if slices.Contains(x.steps, "vm_restart") {
				want["vm_restart"] = 1
			}
			for _, kind := range []string{"net_adapter_restart", "vm_restart"} {
				if counts[kind] != want[kind] {
					t.Errorf("%s: %d, want %d", kind, counts[kind], want[kind])
				}
			}
		})
	}
}

// What stops the way to RDMA is named, with the stage and what to do, and nothing is left changed.
func TestGuestRdmaStops(t *testing.T) {
	guest := func(driver string) func(*lab.Scenario) {
		return func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.VFDriver = driver }
	}
	for name, x := range map[string]struct {
		change func(*lab.Scenario)
		config object
		bare   bool // no settings on the host
		want   []string
	}{
		"case 33: in-box driver, data path inactive": {guest("inbox_bad"), nil, false, []string{"vf_driver", "data path is not active", "Install the vendor's VF driver"}},
		"case 34: no virtual function":               {nil, nil, true, []string{"vf_requested", "no VF adapter with MAC 00-15-5D", "iov_weight", "hyperv_vm_network_adapter_rdma"}},
		"case 35: no driver":                         {guest("none"), nil, false, []string{"no VF adapter with MAC 00-15-5D", "PCI\\VEN_8086", "problem code 28", "Install the vendor's VF driver"}},
		"in-box driver without RDMA":                 {guest("inbox"), nil, false, []string{"rdma_enabled", "in-box drivers do no guest RDMA", "facts.md 6"}},
		"LAN adapter":                                {nil, object{"vm_network_adapter_name": "Network Adapter"}, false, []string{"vf_requested", "no VF adapter with MAC"}},
		"VM is off":                                  {func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Off" }, nil, false, []string{"The VM is off", "Start the VM"}},
		"no such VM":                                 {nil, object{"vm_name": "nope"}, false, []string{`vm_name = nope`, `"vm1"`}},
		"no such credential":                         {nil, object{"credential": "nope"}, false, []string{`credential = nope`, `"lab"`}},
		"Windows Pro (facts 71)":                     {func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.OS = lab.ScenarioOS{Name: "windows-11-pro"} }, nil, false, []string{"smb_rdma_capable", "Windows Pro", "facts.md 71"}},
		"RDMA weight counts from the next start only (facts 45)": {func(s *lab.Scenario) { s.Unknowns.RdmaWeightOnRunningVM = "defer" }, nil, false,
			[]string{"rdma_enabled", "facts.md 45", "vm_restart"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
				if x.change != nil {
					x.change(s)
				}
			})
			h := l.harness("hv1")
			if !x.bare {
				mustApply(t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
				mustApply(t, h.resource(rdmaType), object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
			}
			before := settledState(l)
			mustFail(t, h.resource(guestType), guestConfig(x.config), x.want...)
			if after := settledState(l); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// The host's part of the reasons is named too.
func TestGuestRdmaStopsByTheHost(t *testing.T) {
	for name, x := range map[string]struct {
		nic, rdma object
		want      []string
	}{
		"no VF may do RDMA (facts 35)": {object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 0}, object{"iov_weight": 100, "rdma_weight": 100}, []string{"RdmaMaxVfsEnabled is 0", "rdma_max_vfs"}},
		"no RDMA weight (facts 5)":     {object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8}, object{"iov_weight": 100}, []string{"rdma_weight is 0", "facts.md 5"}},
		"a restart is owed":            {object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8, "restart_policy": "manual"}, object{"iov_weight": 100, "rdma_weight": 100}, []string{"is owed", "rdma_max_vfs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", onIovSwitch)
			h := l.harness("hv1")
			mustApply(t, h.resource(nicType), x.nic)
			mustApply(t, h.resource(rdmaType), guestConfig(x.rdma))
			mustFail(t, h.resource(guestType), guestConfig(nil), append(x.want, "rdma_enabled")...)
		})
	}
}

// verification = warn accepts what is there, and says what is missing.
func TestGuestRdmaWarn(t *testing.T) {
	l, h := guestLab(t, func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.RecoveryNeeded = 3 })
	g := h.resource(guestType)
	config := guestConfig(object{"verification": "warn", "recovery": list{}})
	d := mustApply(t, g, config)
	if w := d.warnings().String(); !strings.Contains(w, "does not work yet") || !strings.Contains(w, "smb_rdma_capable") {
		t.Errorf("no warning: %s", d)
	}
	g.settled(config)
	mustApply(t, g, nil)
	if strings.Contains(l.state(), "guest rdma") {
		t.Error("the ledger still knows the guest")
	}
}

// A create whose process dies in the middle leaves nothing in the guest.
func TestGuestRdmaIsUndone(t *testing.T) {
	l, h := guestLab(t)
	g := h.resource(guestType)
	before := settledState(l)
	l.fault(door.Rule{Cmdlet: "Enable-NetAdapterRdma", Effect: door.KillProcess})
	mustFail(t, g, guestConfig(nil))
	if after := settledState(l); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	mustApply(t, g, guestConfig(nil))
	g.settled(guestConfig(nil))
}

// Case 51: with a team of both ports of a ConnectX-3 only the first carries guest RDMA, so the adapter is mapped to it.
func TestCase51TeamMapping(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", func(s *lab.Scenario) {
		s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "SET", Type: "External", Ports: []string{"MyRDMANIC", "MyRDMANIC 2"}, Iov: true})
	})
	h := l.harness("hv1")
	mustApply(t, h.resource(nicType), object{"net_adapter_names": list{"MyRDMANIC"}, "guest_rdma_registry": object{"value": 1}})
	on := func(port string) (adapter, rdma *instance) {
		adapter, rdma = h.resource(adapterType), h.resource(rdmaType)
		config := object{"vm_name": "vm1", "name": "R", "switch_name": "SET", "team_mapping": port}
		mustApply(t, adapter, config)
		adapter.settled(config)
		mustApply(t, rdma, object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100})
		return adapter, rdma
	}
	adapter, rdma := on("MyRDMANIC 2")
	mustFail(t, h.resource(guestType), guestConfig(nil), "Stopped before stage", `only the first port ("MyRDMANIC")`, "team_mapping", "facts.md 22")
	mustApply(t, rdma, nil)
	mustApply(t, adapter, nil)
	on("mYRDMANIC")
	g := h.resource(guestType)
	mustApply(t, g, guestConfig(nil))
	g.settled(guestConfig(nil))
}

func TestGuestRdmaUnreachable(t *testing.T) {
	l, h := guestLab(t)
	g := h.resource(guestType)
	config := guestConfig(nil)
	mustApply(t, g, config)
	l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "Force": true})
	if d := g.refresh(); len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "The VM is off") {
		t.Fatalf("refresh: %s", d)
	}
	if got := drifted(g.state, g.plan(config).state); len(got) > 0 {
		t.Errorf("a guest that cannot be reached is planned to change %v", got)
	}
	d := g.applyPlan(g.plan(nil)).errors()
	if len(d) == 0 || !strings.Contains(d.String(), `on_unreachable = "forget"`) || g.state == nil {
		t.Fatalf("destroy: %s", d)
	}
	t.Run("forget", func(t *testing.T) {
		g.state["on_unreachable"] = "forget"
		d := g.applyPlan(g.plan(nil))
		if len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "left as it is") || g.state != nil {
			t.Fatalf("destroy: %s", d)
		}
		if strings.Contains(l.state(), "guest rdma") {
			t.Error("the ledger still knows the guest")
		}
	})
}

func TestGuestRdmaGone(t *testing.T) {
	l, h := guestLab(t)
	g := h.resource(guestType)
	mustApply(t, g, guestConfig(nil))
	l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "TurnOff": true})
	l.cmdlet("hv1", "host", "Remove-VM", object{"Name": "vm1", "Force": true})
	kept := g.state
	if d := g.applyPlan(g.plan(nil)).errors(); len(d) > 0 {
		t.Errorf("destroy: %s", d)
	}
	if strings.Contains(l.state(), "guest rdma") {
		t.Error("the ledger still knows the guest")
	}
	g.state = kept
	if d := g.refresh().errors(); len(d) > 0 || g.state != nil {
		t.Errorf("state %v: %s", g.state, d)
	}
}

func TestGuestRdmaWrongCredential(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	config := l.config("hv1")
	config["guest_credentials"] = object{"lab": object{"user": "Administrator", "password": "wrong-guest-secret"}}
	h := newHarness(t, config)
	mustApply(t, h.resource(rdmaType), object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
	before := settledState(l)
	mustFail(t, h.resource(guestType), guestConfig(object{"timeouts": object{"create": "3s"}}), "PSSessionOpenFailed", "guest_credentials")
	if after := settledState(l); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// Each operation takes at most two batches: four requests on a warm session. Polls are not counted, so the lab is fast.
func TestGuestRdmaRequests(t *testing.T) {
	l, h := guestLab(t, func(s *lab.Scenario) { s.Timing.SMBRefresh, s.Timing.VFAllocation, s.Timing.VFDataPath = 0, 0, 0 })
	g := h.resource(guestType)
	mustApply(t, g, guestConfig(nil))
	mustApply(t, g, nil)
	for _, x := range []struct {
		name string
		f    func()
	}{
		{"create", func() { mustApply(t, g, guestConfig(nil)) }},
		{"read", func() { g.refresh() }},
		{"update", func() { g.applyPlan(g.plan(guestConfig(object{"enabled": false}))) }},
		{"delete", func() { g.applyPlan(g.plan(nil)) }},
	} {
		if n := l.requests(x.f); n > 4 {
			t.Errorf("%s: %d requests", x.name, n)
		}
	}
}
