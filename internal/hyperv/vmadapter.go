package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// VMAdapterSpec is a VM network adapter as it is wanted. Nil fields are not managed.
type VMAdapterSpec struct {
	VMName                 string
	Name                   string
	SwitchName             *string
	AccessVlanID           *int64
	MacAddress             *string
	DeviceNaming           *bool
	TeamMapping            *string // name of a physical net adapter
	MinimumBandwidthWeight *int64
	Restarts               RestartRules // auto: a running VM of Generation 1 is restarted where its adapters come or go
}

// onOff is Hyper-V's OnOffState.
func onOff(b bool) string {
	if b {
		return "On"
	}
	return "Off"
}

// CreateVMNetworkAdapter adds an adapter to a VM and gives it its settings. It ends with the adapter as it is
// wanted, or with none: an adapter that could not be finished is removed again.
func (h *Host) CreateVMNetworkAdapter(ctx context.Context, spec VMAdapterSpec) (*VMAdapter, []Note, error) {
	const op = "create the network adapter"
	ref := AdapterRef{VMName: spec.VMName, AdapterName: spec.Name}
	unlock, err := h.lockVM(ctx, spec.VMName)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	inv, err := h.read(ctx, op, adapterAbout(ref), append(adapterParts(&spec, partVM("", spec.VMName)), partHost, partLedger)...)
	if err != nil {
		return nil, nil, err
	}
	vm, err := inv.findVM(h, op, ref)
	if err != nil {
		return nil, nil, h.elaborate(ctx, ref, err)
	}
	orphan, err := h.orphanAdapter(inv, op, vm, spec)
	if err != nil {
		return nil, nil, err
	}
	in := adapterIntent(vm, spec)
	again := false
	defer h.holdIntent(in, &err, &again)()
	if orphan != nil && h.isAsIntended(inv, op, spec, in, orphan) {
		h.made(in)
		return orphan, nil, nil
	}
	there := map[string]bool{}
	for _, a := range inv.adaptersOfVM(vm) {
		there[a.ID] = true
	}
	if err = h.checkHardwareChange(op, ref, vm, spec.Restarts); err != nil {
		return nil, nil, err
	}
	c := &adapterChange{host: h, inv: inv, op: op, vm: vm, spec: &spec}
	if err = c.prepare(nil); err != nil {
		return nil, nil, err
	}
	w := inv.ledger.writes()
	w.intend(in)
	var out *VMAdapter
	var notes []Note
	notes, err = h.whileOff(ctx, inv, vm, spec.Restarts, func(ctx context.Context) error {
		var err error
		if orphan != nil { // made from another configuration, or half: nothing hangs on it yet
			if err = h.removeOrphan(ctx, orphan, in, inv); err != nil {
				return err
			}
		}
		if out, err = c.create(ctx, in, w); err != nil {
			err = c.undoCreate(ctx, out, there, in, err)
		}
		return err
	})
	if err == nil {
		h.made(in)
	}
	return out, notes, err
}

// adapterParts are the parts that a change of an adapter looks at.
func adapterParts(spec *VMAdapterSpec, vm part) []part {
	parts := []part{vm}
	if spec.SwitchName != nil || spec.TeamMapping != nil || spec.MinimumBandwidthWeight != nil {
		parts = append(parts, partSwitchList)
	}
	if spec.TeamMapping != nil {
		parts = append(parts, partNetAdapterList)
	}
	return parts
}

// checkHardwareChange refuses what the state of the VM does not allow: adapters come to and go from a running
// VM only in Generation 2, and a saved or paused one keeps its hardware (facts.md 61a).
func (h *Host) checkHardwareChange(op string, ref AdapterRef, vm *VM, rules RestartRules) error {
	switch {
	case vm.State == "Off", vm.State == "Running" && vm.Generation >= 2, vm.State == "Running" && rules.Policy == RestartAuto:
		return nil
	case vm.State == "Running":
		return &Error{Kind: Conflict, Op: op, Host: h.Name, Object: adapterAbout(ref), Attribute: "vm_name", Value: vm.Name,
			Cause: "The VM is of Generation 1 and running: adapters are added to and removed from a running VM only in Generation 2 (facts.md 61a).",
			Fix:   `Shut down the VM, then apply again; or set restart_policy = "auto", by which it is restarted for that.`}
	}
	return &Error{Kind: Conflict, Op: op, Host: h.Name, Object: adapterAbout(ref), Attribute: "vm_name", Value: vm.Name,
		Cause: fmt.Sprintf("The VM is %s: its hardware can be changed only while it is off, or running in Generation 2 (facts.md 61a).", strings.ToLower(vm.State)),
		Fix:   "Start or shut down the VM, then apply again."}
}

// create runs the batch that adds the adapter. What it returns beside an error is the adapter that was added.
func (c *adapterChange) create(ctx context.Context, in intent, w *ledgerWrites) (*VMAdapter, error) {
	ref := AdapterRef{VMName: c.vm.Name, AdapterName: c.spec.Name}
	b := c.host.batch(c.op, adapterAbout(ref))
	w.addPuts(b)
	find[VM](b, wire.Call{Cmdlet: "Get-VM", Parameters: map[string]any{"Id": wire.GUID(c.vm.ID)}, Save: "vm"})
	p := map[string]any{"VM": wire.First("vm"), "Name": c.spec.Name, "Passthru": true, "Confirm": false}
	if c.connect != nil && !strings.ContainsAny(c.connect.Name, "*?[]`") {
		p["SwitchName"] = c.connect.Name // an exact name; one that is a pattern is connected by object instead (facts.md 39)
		c.connect = nil
	}
	if c.spec.MacAddress != nil {
		p["StaticMacAddress"] = macDigits(*c.spec.MacAddress)
		delete(c.set, "StaticMacAddress")
	}
	if c.spec.DeviceNaming != nil {
		p["DeviceNaming"] = onOff(*c.spec.DeviceNaming)
		delete(c.set, "DeviceNaming")
	}
	added := changeAndRead[VMNetworkAdapter](b, wire.Call{Cmdlet: "Add-VMNetworkAdapter", Parameters: p, Save: "adapter"})
	b.noteMade(in, "adapter")
	c.addCalls(b)
	after := b.readParts(adapterParts(c.spec, partVM(c.vm.ID, ""))...)
	release := w.guard(c.host)
	err := b.run(ctx)
	release()
	var out *VMAdapter
	if len(added.Items) > 0 {
		out = &VMAdapter{VMNetworkAdapter: added.Items[0], VM: *c.vm, GUID: adapterGUID(added.Items[0].ID)}
	}
	switch {
	case err != nil:
		return out, refineState(err, c.vm, "adapters are changed while the VM is off, or running in Generation 2 (facts.md 61a).")
	case out == nil:
		return nil, &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: adapterAbout(ref), Cause: "Add-VMNetworkAdapter returned no adapter."}
	}
	inv, err := after()
	if err != nil {
		return out, err
	}
	read, err := inv.findAdapter(c.host, c.op, out.ByID())
	if err != nil {
		return out, err
	}
	return read, c.verify(read)
}

// undoCreate removes an adapter that was added and could not be finished, and its intent. Where the answer was lost,
// the adapter is the one of that name that was not there before.
func (c *adapterChange) undoCreate(ctx context.Context, out *VMAdapter, there map[string]bool, in intent, cause error) error {
	ctx, cancel := c.host.cleanUp(ctx)
	defer cancel()
	inv, err := c.host.read(ctx, c.op, vmAbout(c.vm.Name), partLedger, partVM(c.vm.ID, ""))
	if err != nil {
		return cause // the host cannot be asked: the next create finds the intent, and the adapter if it is there
	}
	if out == nil {
		for _, a := range inv.adaptersOfVM(c.vm) {
			if !there[a.ID] && strings.EqualFold(a.Name, c.spec.Name) {
				out = inv.describeAdapter(c.vm, a)
			}
		}
	}
	w := inv.ledger.writes()
	if out != nil || !changeLost(cause) { // else it may still come, and is then taken over
		w.dropIntent(in)
	}
	if out == nil {
		if err := c.host.write(ctx, c.op, adapterAbout(AdapterRef{VMName: c.vm.Name, AdapterName: c.spec.Name}), w); err != nil {
			return errors.Join(cause, err)
		}
		return cause
	}
	if err := c.host.removeAdapter(ctx, out, w); err != nil {
		return errors.Join(cause, fmt.Errorf("removing the unfinished adapter %s failed too: %w", out.GUID, err))
	}
	return cause
}

// removeAdapter removes exactly this adapter, and what the ledger knows of it.
func (h *Host) removeAdapter(ctx context.Context, a *VMAdapter, w *ledgerWrites) error {
	b := h.batch("remove the network adapter", adapterAbout(a.ByID()))
	gone := tolerating(notFoundByName)
	find[VM](b, wire.Call{Cmdlet: "Get-VM", Parameters: map[string]any{"Id": wire.GUID(a.VM.ID)}, Save: "vm"}, gone)
	find[VMNetworkAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Input: "vm", Save: "adapter", Where: []wire.Condition{{Property: "Id", Equals: []string{a.ID}}}})
	b.change(wire.Call{Cmdlet: "Remove-VMNetworkAdapter", Input: "adapter", Parameters: map[string]any{"Confirm": false}})
	if w != nil {
		w.addRemoves(b)
		defer w.guard(h)()
	}
	return b.run(ctx)
}

// DeleteVMNetworkAdapter removes the adapter, and only that. One that is gone, or whose VM is, is a success.
func (h *Host) DeleteVMNetworkAdapter(ctx context.Context, ref AdapterRef, rules RestartRules) ([]Note, error) {
	const op = "remove the network adapter"
	unlock, err := h.lockVM(ctx, ref.VMName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	inv, err := h.read(ctx, op, adapterAbout(ref), partHost, partLedger, partVM(ref.VMID, ref.VMName))
	if err != nil {
		return nil, err
	}
	a, err := inv.findAdapter(h, op, ref)
	if IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := h.checkHardwareChange(op, ref, &a.VM, rules); err != nil {
		return nil, err
	}
	w := inv.ledger.writes()
	w.dropObject(adapterObject(a))
	w.dropObject(guestObjectOf(a.VM.ID, a.GUID))
	w.dropMade(a.ID)
	w.dropIntent(intent{Kind: kindAdapter, VMID: a.VM.ID, Name: a.Name})
	w.dropGone(inv, false)
	w.dropGoneIntents(h, inv, false)
	notes, err := h.whileOff(ctx, inv, &a.VM, rules, func(ctx context.Context) error { return h.removeAdapter(ctx, a, w) })
	return notes, refineState(err, &a.VM, "an adapter is removed while the VM is off, or running in Generation 2 (facts.md 61a).")
}
