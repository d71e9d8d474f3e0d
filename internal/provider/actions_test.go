package provider_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const (
	restartNetAdapter  = "hyperv_restart_net_adapter"
	restartVM          = "hyperv_restart_vm"
	reenableGuestRdma  = "hyperv_reenable_guest_rdma"
	bothPortsAreUp     = `The net adapters "iWARP 1", "iWARP 2" are up again`
	disablesBothPorts  = `Disabling and enabling the net adapters "iWARP 1", "iWARP 2"`
	guestIsWaitedFor   = `Waiting for the guest of the VM "vm1"`
	smbIsAskedForItAll = "SMB in the guest says RDMA capable"
)

func (h *harness) actions() tfprotov6.ActionServer {
	h.t.Helper()
	s, ok := h.srv.(tfprotov6.ActionServer)
	if !ok {
		h.t.Fatal("the provider serves no actions")
	}
	return s
}

func (h *harness) actionConfig(typ string, config object) *tfprotov6.DynamicValue {
	h.t.Helper()
	s, ok := h.schema.ActionSchemas[typ]
	if !ok {
		h.t.Fatalf("there is no action %s", typ)
	}
	return h.dynamic(s.Schema.Block.ValueType(), config)
}

// check validates and plans an action, as Terraform does before it asks a person.
func (h *harness) check(typ string, config object) diagnostics {
	h.t.Helper()
	v, err := h.actions().ValidateActionConfig(h.ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: typ, Config: h.actionConfig(typ, config)})
	must(h.t, err)
	if d := diagnostics(v.Diagnostics); len(d.errors()) > 0 {
		return d
	}
	p, err := h.actions().PlanAction(h.ctx, &tfprotov6.PlanActionRequest{ActionType: typ, Config: h.actionConfig(typ, config)})
	must(h.t, err)
	return append(v.Diagnostics, p.Diagnostics...)
}

// invoke checks an action and invokes it; progress is what it said on the way.
func (h *harness) invoke(ctx context.Context, typ string, config object) (progress []string, d diagnostics) {
	h.t.Helper()
	if d = h.check(typ, config); len(d.errors()) > 0 {
		return nil, d
	}
	stream, err := h.actions().InvokeAction(ctx, &tfprotov6.InvokeActionRequest{ActionType: typ, Config: h.actionConfig(typ, config)})
	must(h.t, err)
	completed := false
	for e := range stream.Events {
		switch e := e.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			completed, d = true, append(d, e.Diagnostics...)
		}
	}
	if !completed {
		h.t.Error("the action never completed")
	}
	h.keepsSecrets(object{"progress": strings.Join(progress, "\n")}, d)
	return progress, d
}

// throughTheSwitch lets the host be reached through its SR-IOV switch.
func throughTheSwitch(s *lab.Scenario) {
	throughRdmaPort(s)
	s.Hosts[0].Switches[len(s.Hosts[0].Switches)-1].ManagementOS = true
}

func TestActions(t *testing.T) {
	owing := func(l *testLab, h *harness) {
		mustApply(l.t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8, "restart_policy": "manual"})
	}
	enabled := func(l *testLab, h *harness) {
		mustApply(l.t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
		mustApply(l.t, h.resource(rdmaType), weightsOfR(nil))
		mustApply(l.t, h.resource(guestType), guestConfig(nil))
	}
	for _, tt := range []struct {
		name     string
		change   func(*lab.Scenario)
		before   func(*testLab, *harness)
		typ      string
		config   object
		progress []string // in this order, among others
		says     []string // of an error; nil where it succeeds
		restarts map[string]int
	}{
		{name: "net adapters", typ: restartNetAdapter, config: object{"net_adapter_names": list{"iWARP 1"}}, progress: []string{disablesBothPorts, bothPortsAreUp}, restarts: map[string]int{"net_adapter_restart": 2}},
		{name: "net adapters, each device once", typ: restartNetAdapter, config: object{"net_adapter_names": list{"iWARP 2", "iWARP 1"}}, progress: []string{disablesBothPorts, bothPortsAreUp}, restarts: map[string]int{"net_adapter_restart": 2}},
		{name: "net adapters that owe nothing", typ: restartNetAdapter, config: object{"net_adapter_names": list{"iWARP 1"}, "restart_when": "owed"}, progress: []string{"No restart is owed"}},
		{name: "net adapters that owe a restart", before: owing, typ: restartNetAdapter, config: object{"net_adapter_names": list{"iWARP 1"}, "restart_when": "owed"}, progress: []string{bothPortsAreUp}, restarts: map[string]int{"net_adapter_restart": 2}},
		{name: "no such net adapter", typ: restartNetAdapter, config: object{"net_adapter_names": list{"nope"}}, says: []string{"nope", `"iWARP 1"`}},
		{name: "net adapters through which the host is reached", change: throughTheSwitch, typ: restartNetAdapter, config: object{"net_adapter_names": list{"iWARP 1"}}, progress: []string{bothPortsAreUp}, restarts: map[string]int{"net_adapter_restart": 2}},
		{name: "a VM", typ: restartVM, config: object{"vm_name": "vm1"}, progress: []string{"Shutting down", "Starting", guestIsWaitedFor, "runs again after"}, restarts: map[string]int{"vm_restart": 1}},
		{name: "a VM, until its guest can be looked into", typ: restartVM, config: object{"vm_name": "VM1", "wait_for_guest": true}, progress: []string{"Starting", "runs again after"}, restarts: map[string]int{"vm_restart": 1}},
		{name: "a VM whose guest takes no credential", typ: restartVM, config: object{"vm_name": "vm1", "wait_for_guest": true, "credential": "nope"}, says: []string{"credential", "nope"}, restarts: map[string]int{"vm_restart": 1}},
		{name: "a VM that is off", change: func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Off" }, typ: restartVM, config: object{"vm_name": "vm1"}, progress: []string{"needs no restart"}},
		{name: "a VM that is saved", change: func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Saved" }, typ: restartVM, config: object{"vm_name": "vm1"}, says: []string{"The VM is saved"}},
		{name: "a VM that hangs", change: func(s *lab.Scenario) { s.Hosts[0].VMs[0].Hangs, s.Timing.VMShutdownLimit = true, 200 }, typ: restartVM,
			config: object{"vm_name": "vm1", "on_timeout": "turn_off"}, progress: []string{"turning it off", "Starting", "was turned off"}, restarts: map[string]int{"vm_restart": 1}},
		{name: "no such VM", typ: restartVM, config: object{"vm_name": "nope"}, says: []string{"nope", `"vm1"`}},
		{name: "RDMA of a guest", before: enabled, typ: reenableGuestRdma, config: guestConfig(nil), progress: []string{"Turning RDMA off and on", smbIsAskedForItAll}},
		{name: "RDMA of a guest where it is off", typ: reenableGuestRdma, config: guestConfig(nil), says: []string{"hyperv_guest_rdma_enablement"}},
		{name: "RDMA of a guest that is off", change: func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Off" }, typ: reenableGuestRdma, config: guestConfig(nil), says: []string{"The VM is off"}},
		{name: "RDMA of a guest that needs more", before: func(l *testLab, h *harness) {
			enabled(l, h)
			l.cmdlet("hv1", "host", "Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R", "IovWeight": 0}) // the VF goes away
		}, typ: reenableGuestRdma, config: guestConfig(object{"timeouts": object{"invoke": "2s"}}), says: []string{"does not say RDMA capable", "is missing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
				if tt.change != nil {
					tt.change(s)
				}
			})
			h := l.harness("hv1")
			if tt.before != nil {
				tt.before(l, h)
			}
			seq := len(l.journal())
			progress, d := h.invoke(t.Context(), tt.typ, tt.config)
			if tt.says != nil {
				if len(d.errors()) == 0 {
					t.Errorf("it did not fail, and said %q", progress)
				}
				says(t, d.errors().String(), tt.says...)
			} else if len(d) > 0 {
				t.Fatal(d)
			}
			rest := progress
			for _, want := range tt.progress {
				at := slices.IndexFunc(rest, func(line string) bool { return strings.Contains(line, want) })
				if at < 0 {
					t.Fatalf("%q is not said, in this order, in %q", want, progress)
				}
				rest = rest[at+1:]
			}
			got := restarts(l.journal()[seq:])
			for _, kind := range []string{"net_adapter_restart", "vm_restart"} {
				if got[kind] != tt.restarts[kind] {
					t.Errorf("%s: %d, want %d", kind, got[kind], tt.restarts[kind])
				}
			}
		})
	}
}

// TestActionsSettle: what a resource owes is paid by an action.
func TestActionsSettle(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	nic := h.resource(nicType)
	config := object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8, "restart_policy": "manual"}
	mustApply(t, nic, config)
	if owed := nic.state["pending_restarts"].([]any); len(owed) != 1 {
		t.Fatalf("owed: %v", owed)
	}
	if _, d := h.invoke(t.Context(), restartNetAdapter, object{"net_adapter_names": list{"iWARP 2"}}); len(d) > 0 {
		t.Fatal(d)
	}
	nic.refresh()
	if owed := nic.state["pending_restarts"].([]any); len(owed) != 0 {
		t.Errorf("still owed: %v", owed)
	}
	nic.settled(config)
}

// TestActionCancelled: somebody who does not want to wait gets an answer, and the VM is not left off.
func TestActionCancelled(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) { s.Hosts[0].VMs[0].Hangs, s.Timing.VMShutdownLimit = true, 2000 })
	h := l.impatientHarness(l.config("hv1"))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	begun := time.Now()
	_, d := h.invoke(ctx, restartVM, object{"vm_name": "vm1"})
	if len(d.errors()) == 0 || time.Since(begun) > 10*time.Second {
		t.Errorf("after %s: %s", time.Since(begun), d)
	}
	if got := eventually("Running", func() string { return l.vmState("vm1") }); got != "Running" {
		t.Errorf("the VM is %s", got)
	}
}

func TestActionConfig(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	for _, tt := range []struct {
		name   string
		typ    string
		config object
		says   []string // nil: it is good
	}{
		{"no adapters", restartNetAdapter, object{"net_adapter_names": list{}}, []string{"net_adapter_names", "at least 1"}},
		{"one adapter twice", restartNetAdapter, object{"net_adapter_names": list{"a", "a"}}, []string{"net_adapter_names", "a"}},
		{"an adapter without a name", restartNetAdapter, object{"net_adapter_names": list{""}}, []string{"net_adapter_names[0]", "at least 1"}},
		{"adapters that are not known yet", restartNetAdapter, object{"net_adapter_names": unknown}, nil},
		{"a profile that is none", restartNetAdapter, object{"net_adapter_names": list{"a"}, "profile": "nope"}, []string{"profile", "nope"}},
		{"another restart_when", restartNetAdapter, object{"net_adapter_names": list{"a"}, "restart_when": "never"}, []string{"restart_when", "never"}},
		{"a host that is none", restartNetAdapter, object{"host": "hv9", "net_adapter_names": list{"a"}}, []string{"hv9", `"hv1"`}},
		{"a host that is not known yet", restartNetAdapter, object{"host": unknown, "net_adapter_names": list{"a"}}, nil},
		{"a timeout that is none", restartNetAdapter, object{"net_adapter_names": list{"a"}, "timeouts": object{"invoke": "soon"}}, []string{"timeouts.invoke", "soon"}},
		{"no VM", restartVM, object{"vm_name": ""}, []string{"vm_name", "at least 1"}},
		{"too short a shutdown", restartVM, object{"vm_name": "v", "shutdown_timeout": "10ms"}, []string{"shutdown_timeout", "1s to 1h", "10ms"}},
		{"no duration", restartVM, object{"vm_name": "v", "guest_timeout": "5"}, []string{"guest_timeout", "5"}},
		{"another on_timeout", restartVM, object{"vm_name": "v", "on_timeout": "reset"}, []string{"on_timeout", "reset"}},
		{"a VM that is not known yet", restartVM, object{"vm_name": unknown}, nil},
		{"no adapter", reenableGuestRdma, object{"vm_name": "v"}, []string{"vm_network_adapter_name", "vm_network_adapter_id"}},
		{"two adapters", reenableGuestRdma, object{"vm_name": "v", "vm_network_adapter_name": "a", "vm_network_adapter_id": "b"}, []string{"vm_network_adapter_name", "vm_network_adapter_id"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := h.check(tt.typ, tt.config)
			if tt.says == nil && len(d) > 0 {
				t.Error(d)
			}
			if tt.says != nil {
				if len(d.errors()) == 0 {
					t.Error("it is taken")
				}
				says(t, strings.NewReplacer(`AttributeName("`, "", `").`, ".", `")`, "", ".ElementKeyInt(", "[", "):", "]:").Replace(d.String()), tt.says...)
			}
		})
	}
	if n := l.metrics().Hosts["hv1"].Requests; n != 0 {
		t.Errorf("%d requests were made for a check", n)
	}
}

// TestActionsOfAHostAway: the error of a connection names what that of a resource names.
func TestActionsOfAHostAway(t *testing.T) {
	l := startLab(t, "intel-x722")
	l.fault(door.Rule{Effect: door.DropBefore, Count: -1})
	h := l.impatientHarness(l.config("hv1"))
	_, d := h.invoke(t.Context(), restartVM, object{"vm_name": "vm1"})
	says(t, d.errors().String(), "Host: hv1\n", "URL: https://", "Cause: ")
}
