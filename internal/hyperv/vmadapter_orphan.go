package hyperv

import (
	"context"
	"fmt"
	"strings"
)

// adapterIntent is what is written down ahead of an Add-VMNetworkAdapter.
func adapterIntent(vm *VM, spec VMAdapterSpec) intent {
	in := intent{Kind: kindAdapter, Name: spec.Name, VMID: strings.ToLower(vm.ID)}
	spec.VMName, spec.Name = strings.ToLower(vm.ID), strings.ToLower(spec.Name)
	in.MadeFrom = madeFrom(spec)
	return in
}

// orphanAdapter finds the adapter that a killed provider made for this same resource. An adapter of this name that is
// anything else is an error.
func (h *Host) orphanAdapter(inv *Inventory, op string, vm *VM, spec VMAdapterSpec) (*VMAdapter, error) {
	in, made, intended := inv.ledger.intent(intent{Kind: kindAdapter, VMID: strings.ToLower(vm.ID), Name: spec.Name})
	var others, orphans []*VMNetworkAdapter
	for _, a := range inv.adaptersOfVM(vm) {
		switch {
		case !strings.EqualFold(a.Name, spec.Name):
		case intended && !h.making.has(in.record()) && (made == "" || strings.EqualFold(made, a.ID)) && !a.IsLegacy:
			orphans = append(orphans, a)
		default:
			others = append(others, a)
		}
	}
	if len(others) == 0 && len(orphans) == 1 {
		return inv.describeAdapter(vm, orphans[0]), nil
	}
	if others = append(others, orphans...); len(others) > 0 {
		return nil, &Error{Kind: Conflict, Op: op, Host: h.Name, Object: adapterAbout(AdapterRef{VMName: spec.VMName, AdapterName: spec.Name}), Attribute: "name", Value: spec.Name,
			Cause: "The VM has a network adapter of this name already.",
			Fix: fmt.Sprintf("Import it (terraform import hyperv_vm_network_adapter.<name> '%s/%s/%s'), or choose another name.",
				h.Name, strings.ToLower(vm.ID), adapterGUID(others[0].ID))}
	}
	return nil, nil
}

// takeOverAdapter gives the orphan as it is, if it was made from this same configuration and is as that says. Else it
// removes it, and gives none: nothing hangs on an adapter whose id nobody knows.
func (h *Host) takeOverAdapter(ctx context.Context, op string, spec VMAdapterSpec, in intent, inv *Inventory, orphan *VMAdapter) (*VMAdapter, error) {
	c := &adapterChange{host: h, inv: inv, op: op, vm: &orphan.VM, spec: &spec}
	if err := c.prepare(orphan); err != nil {
		return nil, err
	}
	if was, _, _ := inv.ledger.intent(in); was.MadeFrom == in.MadeFrom && c.nothing() {
		return orphan, c.verify(orphan)
	}
	if err := h.checkHardwareChange(op, orphan.ByID(), &orphan.VM); err != nil {
		return nil, err
	}
	w := inv.ledger.writes()
	w.dropObject(adapterObject(orphan))
	w.dropObject(guestObjectOf(orphan.VM.ID, orphan.GUID))
	w.dropIntent(in)
	if err := h.removeAdapter(ctx, orphan, w); err != nil {
		return nil, err
	}
	w.apply()
	var left []VMNetworkAdapter
	for _, a := range inv.Adapters {
		if a.ID != orphan.ID {
			left = append(left, a)
		}
	}
	inv.Adapters = left
	return nil, nil
}
