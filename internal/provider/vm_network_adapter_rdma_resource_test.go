package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// onIovSwitch moves the first port of hv1's RDMA device under a switch with SR-IOV and gives vm1 an adapter "R" on it.
func onIovSwitch(s *lab.Scenario) {
	port := s.Hosts[0].Devices[1].Ports[0].Name
	s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "RDMA", Type: "External", Ports: []string{port}, Iov: true})
	vm := &s.Hosts[0].VMs[0]
	vm.Adapters = append(vm.Adapters, lab.ScenarioAdapter{Name: "R", Switch: "RDMA"})
}

// weights prints the calls that set weights and queue pairs, in order: "iov=0", "rdma=100", "iov=100 pairs=4".
func weights(entries []lab.JournalEntry) []string {
	var out []string
	for _, e := range entries {
		if e.OutOfBand || (e.Cmdlet != "Set-VMNetworkAdapter" && e.Cmdlet != "Set-VMNetworkAdapterRdma") || e.Error != "" {
			continue
		}
		var parts []string
		for _, p := range [][2]string{{"RdmaWeight", "rdma"}, {"IovWeight", "iov"}, {"IovQueuePairsRequested", "pairs"}, {"IovInterruptModeration", "moderation"}} {
			if v, ok := e.Parameters[p[0]]; ok {
				parts = append(parts, fmt.Sprintf("%s=%v", p[1], v))
			}
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

// The order of facts.md 44-47a, on a running VM and on one that is off, on an adapter that is not ours.
func TestVMNetworkAdapterRdmaOrder(t *testing.T) {
	for _, state := range []string{"Running", "Off"} {
		t.Run(state, func(t *testing.T) {
			l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = state })
			h := l.harness("hv1")
			before := l.state()
			r := h.resource(rdmaType)
			live := state == "Running"
			pick := func(running, off []string) []string {
				if live {
					return running
				}
				return off
			}
			config := func(more object) object {
				c := object{"vm_name": "vm1", "vm_network_adapter_name": "r"}
				for k, v := range more {
					c[k] = v
				}
				return c
			}
			for _, step := range []struct {
				name   string
				config object
				want   []string
			}{
				{"up", config(object{"iov_weight": 100, "rdma_weight": 100}), []string{"rdma=100", "iov=100"}},
				{"queue pairs", config(object{"iov_weight": 100, "rdma_weight": 100, "iov_queue_pairs_requested": 4}), pick([]string{"iov=0", "iov=100 pairs=4"}, []string{"pairs=4"})},
				{"another RDMA weight", config(object{"iov_weight": 100, "rdma_weight": 50, "iov_queue_pairs_requested": 4}), pick([]string{"iov=0", "rdma=50", "iov=100"}, []string{"rdma=50"})},
				{"another IOV weight", config(object{"iov_weight": 60, "rdma_weight": 50, "iov_queue_pairs_requested": 4}), []string{"iov=60"}},
				{"moderation alone", config(object{"iov_weight": 60, "rdma_weight": 50, "iov_queue_pairs_requested": 4, "iov_interrupt_moderation": "Low"}), []string{"moderation=Low"}},
				{"RDMA off, VF stays", config(object{"iov_weight": 60, "rdma_weight": 0, "iov_queue_pairs_requested": 4, "iov_interrupt_moderation": "Low"}), []string{"iov=0", "rdma=0", "iov=60"}},
				{"RDMA on again, rest left out", config(object{"iov_weight": 60, "rdma_weight": 100}), pick([]string{"iov=0", "rdma=100", "iov=60 pairs=1 moderation=Default"}, []string{"rdma=100", "pairs=1 moderation=Default"})},
			} {
				seq := l.seq()
				mustApply(t, r, step.config)
				if got := weights(l.since(seq)); !slices.Equal(got, step.want) {
					t.Errorf("%s: %q, want %q", step.name, got, step.want)
				}
				r.settled(step.config)
			}
			seq := l.seq()
			mustApply(t, r, nil)
			if got, want := weights(l.since(seq)), []string{"iov=0", "rdma=0"}; !slices.Equal(got, want) {
				t.Errorf("destroy: %q, want %q", got, want)
			}
			after := l.state()
			if stripLines(after, `"rdma_weight": 0`) != before { // a weight that was set once reads 0, not "never set" (facts.md 50)
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
			for _, e := range l.since(0) {
				if e.Event == "vm_restart" {
					t.Error("a VM was restarted")
				}
			}
		})
	}
}

func stripLines(text, with string) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, with) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// What nobody knows about a running VM, in every position (facts.md section 7).
func TestVMNetworkAdapterRdmaUnknowns(t *testing.T) {
	for _, x := range []struct {
		running, underIov string
		restarts          int // of the VM, from nothing to weights, to another weight, to nothing
	}{
		{"apply", "reject", 0}, {"apply", "accept", 0}, {"defer", "reject", 0}, {"reject", "reject", 3}, {"reject", "accept", 3},
	} {
		t.Run(x.running+" "+x.underIov, func(t *testing.T) {
			l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
				s.Unknowns.RdmaWeightOnRunningVM, s.Unknowns.RdmaWeightZeroUnderIov = x.running, x.underIov
			})
			h := l.harness("hv1")
			r := h.resource(rdmaType)
			config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}
			p := r.plan(config)
			if !strings.Contains(fmt.Sprint(p.state["planned_restarts"]), "if_recovery_needed") || !strings.Contains(p.warnings().String(), "vm1") {
				t.Errorf("the plan does not show that the VM may restart: %v %s", p.state["planned_restarts"], p.diagnostics)
			}
			mustApply(t, r, config)
			r.settled(config)
			config["rdma_weight"] = 50
			mustApply(t, r, config)
			r.settled(config)
			mustApply(t, r, nil)
			if got := restarts(l.since(0))["vm_restart"]; got != x.restarts {
				t.Errorf("%d restarts of the VM, want %d", got, x.restarts)
			}
		})
	}
	t.Run("reject, manual", func(t *testing.T) {
		l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) { s.Unknowns.RdmaWeightOnRunningVM = "reject" })
		before := l.state()
		r := l.harness("hv1").resource(rdmaType)
		config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100, "restart_policy": "manual"}
		mustFail(t, r, config, "facts.md 45", "restart_policy", "manual")
		if after := l.settledState(before); after != before {
			t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
		}
		l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "TurnOff": true})
		mustApply(t, r, config)
		r.settled(config)
	})
}

func TestVMNetworkAdapterRdmaRefused(t *testing.T) {
	for name, x := range map[string]struct {
		preset string
		change func(*lab.Scenario)
		config object
		want   []string
	}{
		"switch without SR-IOV": {"intel-x722", nil, object{"vm_network_adapter_name": "Network Adapter", "iov_weight": 100}, []string{"iov_weight = 100", `"LAN"`, "without SR-IOV", "hyperv_iov_switch"}},
		"not connected": {"intel-x722", func(s *lab.Scenario) { s.Hosts[0].VMs[0].Adapters[1].Switch = "" },
			object{"vm_network_adapter_name": "R", "iov_weight": 100}, []string{"iov_weight = 100", "not connected", "switch_name"}},
		"no cmdlet on this host": {"mellanox-cx3pro", nil, object{"vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}, []string{"rdma_weight = 100", "Set-VMNetworkAdapterRdma", "facts.md 4", "facts.md 5"}},
		"legacy adapter": {"intel-x722", func(s *lab.Scenario) {
			vm := &s.Hosts[0].VMs[0]
			vm.Generation = 1
			vm.Adapters = append(vm.Adapters, lab.ScenarioAdapter{Name: "old", Switch: "RDMA", Legacy: true})
		}, object{"vm_network_adapter_name": "old", "iov_weight": 100}, []string{"legacy", "facts.md 61"}},
		"two adapters of the name": {"intel-x722", func(s *lab.Scenario) {
			vm := &s.Hosts[0].VMs[0]
			vm.Adapters = append(vm.Adapters, lab.ScenarioAdapter{Name: "r", Switch: "RDMA"})
		}, object{"vm_network_adapter_name": "R", "iov_weight": 100}, []string{"2 network adapters", "by its id"}},
		"no such adapter":       {"intel-x722", nil, object{"vm_network_adapter_name": "nope", "iov_weight": 100}, []string{"vm_network_adapter_name = nope", `"R"`}},
		"a pattern is no name":  {"intel-x722", nil, object{"vm_network_adapter_name": "*", "iov_weight": 100}, []string{"vm_network_adapter_name = *"}},
		"no such id":            {"intel-x722", nil, object{"vm_network_adapter_id": "5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f", "iov_weight": 100}, []string{"vm_network_adapter_id = 5f0e4b8a"}},
		"name and id":           {"intel-x722", nil, object{"vm_network_adapter_name": "R", "vm_network_adapter_id": "5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f"}, []string{"vm_network_adapter_id"}},
		"weight above 100":      {"intel-x722", nil, object{"vm_network_adapter_name": "R", "iov_weight": 101}, []string{"100"}},
		"no queue pair":         {"intel-x722", nil, object{"vm_network_adapter_name": "R", "iov_queue_pairs_requested": 0}, []string{"iov_queue_pairs_requested"}},
		"unknown moderation":    {"intel-x722", nil, object{"vm_network_adapter_name": "R", "iov_interrupt_moderation": "Fast"}, []string{"Adaptive"}},
		"case 14: host adapter": {"intel-x722", func(s *lab.Scenario) { s.Hosts[0].Switches[1].ManagementOS = true }, object{"vm_network_adapter_name": "RDMA"}, []string{"management operating system", "facts.md 48", "vEthernet (RDMA)"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, x.preset, onIovSwitch, func(s *lab.Scenario) {
				if x.change != nil {
					x.change(s)
				}
			})
			config := object{"host": "hv1", "vm_name": "vm1"}
			for k, v := range x.config {
				config[k] = v
			}
			l.unchanged(func() { mustFail(t, l.harness().resource(rdmaType), config, x.want...) })
		})
	}
}

// One resource per adapter, in one run and in a later one.
func TestVMNetworkAdapterRdmaClaim(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100}
	h := l.harness("hv1")
	first := h.resource(rdmaType)
	mustApply(t, first, config)
	l.unchanged(func() {
		mustFail(t, h.resource(rdmaType), config, "another resource already", `network adapter "R" of VM "vm1"`, "terraform import")
		other := object{"vm_name": "vm1", "vm_network_adapter_id": first.state["adapter_id"], "iov_weight": 50}
		mustFail(t, l.harness("hv1").resource(rdmaType), other, "another resource already", `network adapter "R" of VM "vm1"`)
	})
	mustApply(t, first, nil)
	mustApply(t, h.resource(rdmaType), config)
}

// What was there before is put back, on an adapter that had weights of its own and belongs to nobody.
func TestVMNetworkAdapterRdmaRestoresBefore(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
		weight := 20
		a := &s.Hosts[0].VMs[0].Adapters[1]
		a.IovWeight, a.RdmaWeight = 30, &weight
	})
	before := l.state()
	h := l.harness("hv1")
	r := h.resource(rdmaType)
	config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "rdma_weight": 100}
	seq := l.seq()
	mustApply(t, r, config)
	if got, want := weights(l.since(seq)), []string{"iov=0", "rdma=100", "iov=30"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q: iov_weight is not managed and comes back", got, want)
	}
	r.settled(config)
	config["iov_weight"] = 100
	mustApply(t, r, config)
	r.settled(config)
	mustApply(t, r, nil)
	if after := l.state(); stripLines(after, "data_path") != stripLines(before, "data_path") {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	t.Run("imported: stays as it is", func(t *testing.T) {
		i := h.resource(rdmaType)
		if d := i.importID("hv1/vm1/R").errors(); len(d) > 0 {
			t.Fatal(d)
		}
		imported := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 30, "rdma_weight": 20}
		if p := i.plan(imported); !p.empty(i.state) {
			t.Errorf("the plan after an import changes %v", drifted(i.state, p.state))
		}
		if d := mustApply(t, i, nil); !strings.Contains(d.String(), "stays as it is") {
			t.Errorf("no warning: %s", d)
		}
		if after := l.state(); stripLines(after, "data_path") != stripLines(before, "data_path") {
			t.Errorf("the lab changed:\n%s", textDiff(before, after))
		}
	})
}

func TestVMNetworkAdapterRdmaDrift(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	h := l.harness("hv1")
	r := h.resource(rdmaType)
	config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}
	mustApply(t, r, config)
	l.cmdlet("hv1", "host", "Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R", "IovWeight": 0})
	if d := r.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if got := drifted(r.state, r.plan(config).state); !slices.Equal(got, []string{"iov_weight"}) {
		t.Errorf("the plan changes %v, want iov_weight", got)
	}
	mustApply(t, r, config)
	r.settled(config)
	l.cmdlet("hv1", "host", "Rename-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R", "NewName": "other"})
	r.settled(config) // found by its id: the name is the adapter's own business
}

// A change that fails on the way leaves everything as it was, the ledger included.
func TestVMNetworkAdapterRdmaIsUndone(t *testing.T) {
	refused := &door.ErrorRecord{ID: "OperationFailed,Microsoft.HyperV.PowerShell.Commands.SetVMNetworkAdapter", Category: "NotSpecified"}
	l := startLab(t, "intel-x722", onIovSwitch)
	before := l.state()
	h := l.harness("hv1")
	r := h.resource(rdmaType)
	config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}
	l.fault(door.Rule{Cmdlet: "Set-VMNetworkAdapter", Effect: door.ErrorRecordEffect, Error: refused})
	mustFail(t, r, config, "OperationFailed")
	if after := l.state(); stripLines(after, `"rdma_weight": 0`) != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	mustApply(t, r, config)
	settled := l.state()
	l.fault(door.Rule{Cmdlet: "Set-VMNetworkAdapter", Request: 2, Effect: door.ErrorRecordEffect, Error: refused})
	changed := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 50}
	mustFail(t, r, changed, "OperationFailed")
	r.settled(config)
	if after := l.state(); stripLines(after, "data_path") != stripLines(settled, "data_path") {
		t.Errorf("the lab is not as it was:\n%s", textDiff(settled, after))
	}
	l.fault(door.Rule{Cmdlet: "Set-VMNetworkAdapterRdma", Effect: door.KillProcess}) // the answer is lost, half of it is done
	mustFail(t, r, changed)
	r.settled(config)
	if after := l.state(); stripLines(after, "data_path") != stripLines(settled, "data_path") {
		t.Errorf("the lab is not as it was after the process died:\n%s", textDiff(settled, after))
	}
}

// A VM whose device has no virtual function left runs on without one: a person is told (facts.md 56).
func TestVMNetworkAdapterRdmaNoneLeft(t *testing.T) {
	none := 0
	l := startLab(t, "intel-x722", func(s *lab.Scenario) { s.Hosts[0].Devices[1].MaxVFs = &none }, onIovSwitch)
	r := l.harness("hv1").resource(rdmaType)
	d := mustApply(t, r, object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100})
	if !strings.Contains(d.warnings().String(), "facts.md 56") {
		t.Errorf("no warning: %s", d)
	}
}

func TestVMNetworkAdapterRdmaGone(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	h := l.harness("hv1")
	r := h.resource(rdmaType)
	mustApply(t, r, object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100})
	l.cmdlet("hv1", "host", "Remove-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R"})
	kept := r.state
	if d := r.applyPlan(r.plan(nil)).errors(); len(d) > 0 {
		t.Errorf("destroy: %s", d)
	}
	if strings.Contains(l.state(), "TerraformProviderHyperV") {
		t.Error("the ledger is still there")
	}
	r.state = kept
	if d := r.refresh().errors(); len(d) > 0 || r.state != nil {
		t.Errorf("state %v: %s", r.state, d)
	}
}

func TestVMNetworkAdapterRdmaRequests(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	r := l.harness("hv1").resource(rdmaType)
	config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}
	mustApply(t, r, config)
	mustApply(t, r, nil)
	for _, x := range []struct {
		name string
		f    func()
	}{
		{"create", func() { mustApply(t, r, config) }},
		{"read", func() { r.refresh() }},
		{"update", func() {
			r.applyPlan(r.plan(object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 50}))
		}},
		{"delete", func() { r.applyPlan(r.plan(nil)) }},
	} {
		if n := l.requests(x.f); n > 4 {
			t.Errorf("%s: %d requests", x.name, n)
		}
	}
}
