package provider_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// needsRestart is a host that refuses RdmaWeight on a running VM (facts.md 45).
func needsRestart(s *lab.Scenario) {
	onIovSwitch(s)
	s.Unknowns.RdmaWeightOnRunningVM = "reject"
}

func weightsOfR(more object) object {
	return merged(object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}, more)
}

func (l *testLab) vmState(name string) string {
	for _, h := range l.labState().Hosts {
		for _, vm := range h.VMs {
			if vm.Name == name {
				return vm.State
			}
		}
	}
	return "gone"
}

// powerEvents are the journal's events about VMs, in order.
func (l *testLab) powerEvents() []string {
	var out []string
	for _, e := range l.journal() {
		if slices.Contains([]string{"vm_stop", "vm_start", "vm_restart", "vm_resume", "vm_save", "vm_pause"}, e.Event) {
			out = append(out, e.Event)
		}
	}
	return out
}

// TestVMRestart: a VM is restarted gracefully, and left as it was found where it may not or cannot be.
func TestVMRestart(t *testing.T) {
	vm := func(change func(*lab.ScenarioVM)) func(*lab.Scenario) {
		return func(s *lab.Scenario) { change(&s.Hosts[0].VMs[0]) }
	}
	none := func(*lab.Scenario) {}
	hangs := func(limit lab.Milliseconds) func(*lab.Scenario) {
		return func(s *lab.Scenario) { s.Hosts[0].VMs[0].Hangs, s.Timing.VMShutdownLimit = true, limit }
	}
	for _, tt := range []struct {
		name   string
		change func(*lab.Scenario)
		config object
		fails  []string // nil: it succeeds
		says   []string // in the warnings of a success
		events []string
		state  string // of the VM at the end
	}{
		{"running", none, nil, nil, []string{`The VM "vm1" was restarted`}, []string{"vm_stop", "vm_start", "vm_restart"}, "Running"},
		{"off", vm(func(v *lab.ScenarioVM) { v.State = "Off" }), nil, nil, nil, nil, "Off"},
		{"saved", vm(func(v *lab.ScenarioVM) { v.State = "Saved" }), nil, []string{"VM is saved", "Resume or shut down"}, nil, nil, "Saved"},
		{"paused", vm(func(v *lab.ScenarioVM) { v.State = "Paused" }), nil, []string{"paused", "Resume or shut down"}, nil, nil, "Paused"},
		{"clustered", vm(func(v *lab.ScenarioVM) { v.Clustered = true }), nil, []string{"failover cluster", "Stop-ClusterGroup"}, nil, nil, "Running"},
		{"checkpoints", vm(func(v *lab.ScenarioVM) { v.Checkpoints = []string{"before", "after"} }), nil, nil, nil, []string{"vm_stop", "vm_start", "vm_restart"}, "Running"},
		{"no shutdown service", vm(func(v *lab.ScenarioVM) { v.NoShutdown = true }), nil,
			[]string{"vm_restart.on_timeout = fail", "could not be asked to shut down", "integration service", "OperationFailed"}, nil, nil, "Running"},
		{"no shutdown service, turned off", vm(func(v *lab.ScenarioVM) { v.NoShutdown = true }), object{"vm_restart": object{"on_timeout": "turn_off"}}, nil,
			[]string{`The VM "vm1" was turned off`, "What its guest had not written is lost"}, []string{"vm_stop", "vm_start", "vm_restart"}, "Running"},
		{"a guest that hangs, and Windows gives up", hangs(300), nil, []string{"could not be asked to shut down", "turn_off"}, nil, nil, "Running"},
		{"a guest that hangs, turned off", hangs(300), object{"vm_restart": object{"on_timeout": "turn_off"}}, nil, []string{"was turned off"}, []string{"vm_stop", "vm_start", "vm_restart"}, "Running"},
		{"a guest that hangs, and Windows waits", hangs(3000), object{"vm_restart": object{"shutdown_timeout": "1s"}},
			[]string{"vm_restart.shutdown_timeout = 1s", "did not shut down within 1s", "vm_restart.on_timeout"}, nil, nil, "Running"},
		{"a guest that hangs, and Windows waits, turned off", hangs(60000), object{"vm_restart": object{"shutdown_timeout": "1s", "on_timeout": "turn_off"}}, nil,
			[]string{"was turned off", "within 1s"}, []string{"vm_stop", "vm_start", "vm_restart"}, "Running"},
		{"a slow guest", func(s *lab.Scenario) { s.Timing.VMShutdown = 1500 }, nil, nil, nil, []string{"vm_stop", "vm_start", "vm_restart"}, "Running"},
		{"a guest that does not come back", func(s *lab.Scenario) { s.Timing.GuestBoot = 60000 }, object{"vm_restart": object{"guest_timeout": "1s"}}, nil,
			[]string{"does not answer yet", "vm_restart.guest_timeout"}, []string{"vm_stop", "vm_start", "vm_restart"}, "Running"},
		{"by hand", none, object{"restart_policy": "manual"}, []string{"facts.md 45", "restart_policy"}, nil, nil, "Running"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", needsRestart, tt.change)
			before := l.state()
			r := l.impatientHarness(l.config("hv1"), quick).resource(rdmaType)
			config := weightsOfR(tt.config)
			if tt.fails != nil {
				mustFail(t, r, config, tt.fails...)
				if after := l.settledState(before); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			} else {
				says(t, mustApply(t, r, config).String(), tt.says...)
				r.settled(config)
			}
			if got := l.powerEvents(); !slices.Equal(got, tt.events) {
				t.Errorf("events %v, want %v", got, tt.events)
			}
			if got := eventually(tt.state, func() string { return l.vmState("vm1") }); got != tt.state {
				t.Errorf("the VM is %s, want %s", got, tt.state)
			}
			for _, v := range l.labState().Hosts[0].VMs {
				if v.Name == "vm1" && strings.Join(v.Checkpoints, " ") != strings.Join(checkpointsOf(tt.change), " ") {
					t.Errorf("checkpoints %v", v.Checkpoints)
				}
			}
		})
	}
}

func checkpointsOf(change func(*lab.Scenario)) []string {
	s := &lab.Scenario{Hosts: []lab.ScenarioHost{{VMs: []lab.ScenarioVM{{}}}}}
	change(s)
	return s.Hosts[0].VMs[0].Checkpoints
}

// TestVMRestartTurnOffIsPlanned: what may pull the plug says so in the plan.
func TestVMRestartTurnOffIsPlanned(t *testing.T) {
	l := startLab(t, "intel-x722", needsRestart)
	r := l.harness("hv1").resource(rdmaType)
	p := r.plan(weightsOfR(object{"vm_restart": object{"on_timeout": "turn_off"}}))
	says(t, fmt.Sprint(p.state["planned_restarts"])+p.warnings().String(), "vm_restart.on_timeout", "turned off")
}

// TestVMStoppedByUsIsStartedAgain: a VM that was shut down for a restart and did not start, or whose provider ended in
// between, is owed a start, and gets it from the next apply, of a resource that exists or that is made anew.
func TestVMStoppedByUsIsStartedAgain(t *testing.T) {
	refused := door.Rule{Cmdlet: "Start-VM", Effect: door.ErrorRecordEffect, Error: &door.ErrorRecord{ID: "OperationFailed,Microsoft.HyperV.PowerShell.Commands.StartVM", Category: "NotSpecified", Message: "no memory"}}
	t.Run("a create", func(t *testing.T) {
		l := startLab(t, "intel-x722", needsRestart)
		r := l.harness("hv1").resource(rdmaType)
		l.fault(refused)
		mustFail(t, r, weightsOfR(nil), "did not start again", "next apply")
		if l.vmState("vm1") != "Off" || r.state != nil {
			t.Fatalf("the VM is %s, state %v", l.vmState("vm1"), r.state)
		}
		again := l.harness("hv1").resource(rdmaType) // as another run would
		says(t, mustApply(t, again, weightsOfR(nil)).String(), "was started again")
		again.settled(weightsOfR(nil))
		if l.vmState("vm1") != "Running" {
			t.Errorf("the VM is %s", l.vmState("vm1"))
		}
		mustApply(t, again, nil)
		if strings.Contains(l.state(), ledgerKey) {
			t.Error("the ledger is still there")
		}
	})
	t.Run("an update", func(t *testing.T) {
		l := startLab(t, "intel-x722", needsRestart)
		r := l.harness("hv1").resource(rdmaType)
		mustApply(t, r, weightsOfR(nil))
		l.fault(refused)
		mustFail(t, r, weightsOfR(object{"rdma_weight": 50}), "did not start again")
		r.refresh()
		says(t, fmt.Sprint(r.state["pending_restarts"]), "kind:vm", "is to be started again")
		p := r.plan(weightsOfR(object{"rdma_weight": 50}))
		says(t, fmt.Sprint(p.state["planned_restarts"]), "owed since", "vm1")
		mustApply(t, r, weightsOfR(object{"rdma_weight": 50}))
		r.settled(weightsOfR(object{"rdma_weight": 50}))
		if l.vmState("vm1") != "Running" {
			t.Errorf("the VM is %s", l.vmState("vm1"))
		}
	})
	t.Run("somebody else starts it", func(t *testing.T) {
		l := startLab(t, "intel-x722", needsRestart)
		r := l.harness("hv1").resource(rdmaType)
		l.fault(refused)
		mustFail(t, r, weightsOfR(nil), "did not start again")
		l.cmdlet("hv1", "host", "Start-VM", object{"Name": "vm1"})
		l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "TurnOff": true}) // for a reason of his own: the record must not start it
		l.cmdlet("hv1", "host", "Start-VM", object{"Name": "vm1"})
		again := l.harness("hv1").resource(rdmaType)
		mustApply(t, again, weightsOfR(nil))
		again.settled(weightsOfR(nil))
	})
	t.Run("the provider ends in between", func(t *testing.T) {
		l := startLab(t, "intel-x722", needsRestart, func(s *lab.Scenario) { s.Timing.VMShutdown = 300 })
		h := l.harness("hv1")
		r := h.resource(rdmaType)
		p := r.plan(weightsOfR(nil))
		l.fault(door.Rule{Cmdlet: "Start-VM", Effect: door.KillProcess, Count: -1})
		r.applyAlone(p)
		if got := l.powerEvents(); !slices.Contains(got, "vm_stop") {
			t.Fatalf("the VM was not shut down: %v", got)
		}
		l.server.ClearFaults()
		again := l.harness("hv1").resource(rdmaType)
		mustApply(t, again, weightsOfR(nil))
		again.settled(weightsOfR(nil))
		if l.vmState("vm1") != "Running" {
			t.Errorf("the VM is %s", l.vmState("vm1"))
		}
	})
}

// TestGeneration1: adapters come to and go from a running VM of Generation 1 by a restart, if that is allowed; of Generation 2
// without one (facts.md 61a).
func TestGeneration1(t *testing.T) {
	for _, tt := range []struct {
		generation int
		state      string
		policy     string
		restarts   int  // for coming and for going, each
		refused    bool // both
	}{
		{1, "Running", "auto", 1, false},
		{1, "Running", "manual", 0, true},
		{1, "Off", "auto", 0, false},
		{1, "Saved", "auto", 0, true},
		{2, "Running", "auto", 0, false},
		{2, "Running", "manual", 0, false},
	} {
		t.Run(fmt.Sprintf("%d %s %s", tt.generation, tt.state, tt.policy), func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
				vm := &s.Hosts[0].VMs[0]
				vm.Generation, vm.State = tt.generation, tt.state
			})
			before := l.state()
			r := l.harness("hv1").resource(adapterType)
			config := object{"vm_name": "vm1", "name": "A", "switch_name": "RDMA", "restart_policy": tt.policy}
			p := r.plan(config)
			if planned := fmt.Sprint(p.state["planned_restarts"]); strings.Contains(planned, "if_generation_1") != (tt.policy == "auto") {
				t.Errorf("planned restarts %s", planned)
			}
			if tt.refused {
				mustFail(t, r, config, "facts.md 61a")
			} else {
				mustApply(t, r, config)
				r.settled(config)
				if got := restarts(l.since(0))["vm_restart"]; got != tt.restarts {
					t.Errorf("%d restarts, want %d", got, tt.restarts)
				}
				mustApply(t, r, nil)
				if got := restarts(l.since(0))["vm_restart"]; got != 2*tt.restarts {
					t.Errorf("%d restarts with the destroy, want %d", got, 2*tt.restarts)
				}
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// TestVMRestartServesAll: two adapters of one VM whose guest comes up only behind the last recovery step share one restart.
func TestVMRestartServesAll(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
		vm := &s.Hosts[0].VMs[0]
		vm.Adapters = append(vm.Adapters, lab.ScenarioAdapter{Name: "R2", Switch: "RDMA"})
		vm.Guest.RecoveryNeeded = 3
	})
	h := l.harness("hv1")
	mustApply(t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
	var all []*instance
	var plans []plan
	var configs []object
	for _, name := range []string{"R", "R2"} {
		mustApply(t, h.resource(rdmaType), object{"vm_name": "vm1", "vm_network_adapter_name": name, "iov_weight": 100, "rdma_weight": 100})
	}
	for _, name := range []string{"R", "R2"} {
		r, config := h.resource(guestType), guestConfig(object{"vm_network_adapter_name": name, "recovery": list{"vm_restart"}})
		all, configs, plans = append(all, r), append(configs, config), append(plans, r.plan(config))
	}
	seq := len(l.journal())
	var wg sync.WaitGroup
	failed := make([]diagnostics, len(all))
	for i, r := range all {
		wg.Go(func() { failed[i] = r.applyPlan(plans[i]).errors() })
	}
	wg.Wait()
	for i, r := range all {
		if len(failed[i]) > 0 {
			t.Fatal(failed[i])
		}
		r.settled(configs[i])
	}
	if got := restarts(l.journal()[seq:])["vm_restart"]; got != 1 {
		t.Errorf("%d restarts of the VM, want 1", got)
	}
}

// labState is the state of the lab.
func (l *testLab) labState() lab.State {
	l.t.Helper()
	var s lab.State
	must(l.t, json.Unmarshal([]byte(l.state()), &s))
	return s
}
