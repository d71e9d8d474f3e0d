package hyperv

import (
	"context"
	"fmt"
	"strings"
)

// adapterIntent is what is written down ahead of an Add-VMNetworkAdapter.
func adapterIntent(vm *VM, spec VMAdapterSpec) intent {
	in := intent{Kind: kindAdapter, Name: spec.Name, VMID: strings.ToLower(vm.ID)}
	spec.VMName, spec.Name, spec.Restarts = strings.ToLower(vm.ID), strings.ToLower(spec.Name), RestartRules{}
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

// isAsIntended says that the orphan was made from this same configuration and is as that says: it is then taken over as
// it is. Any other is removed and made again.
func (h *Host) isAsIntended(inv *Inventory, op string, spec VMAdapterSpec, in intent, orphan *VMAdapter) bool {
	c := &adapterChange{host: h, inv: inv, op: op, vm: &orphan.VM, spec: &spec}
	was, _, _ := inv.ledger.intent(in)
	return was.MadeFrom == in.MadeFrom && c.prepare(orphan) == nil && c.nothing() && c.verify(orphan) == nil
}

// removeOrphan removes the adapter and what the ledger knows of it. Nothing hangs on an adapter whose id nobody has.
func (h *Host) removeOrphan(ctx context.Context, orphan *VMAdapter, in intent, inv *Inventory) error {
	w := inv.ledger.writes()
	w.dropObject(adapterObject(orphan))
	w.dropObject(guestObjectOf(orphan.VM.ID, orphan.GUID))
	w.dropIntent(in)
	if err := h.removeAdapter(ctx, orphan, w); err != nil {
		return err
	}
	w.apply()
	return nil
}
