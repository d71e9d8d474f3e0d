package hyperv

import (
	"encoding/json"
	"strings"
)

// dropGone takes out what the ledger knows of VM adapters that are gone. Somebody removed them, or their VM, and
// Terraform then forgot their resources on a refresh, without a Delete. allVMs says that every VM was read, so that a
// VM that is not there is gone too. The ledger must have been read ahead of the VMs: a record is younger than
// its adapter, so what the ledger had and the VMs have not is gone for good.
func (w *ledgerWrites) dropGone(inv *Inventory, allVMs bool) {
	for name, raw := range w.from.values {
		if vmID, guid, ok := madeAdapter(name, raw); ok && inv.isGone(vmID, guid, allVMs) {
			w.drop(name)
			w.drop("intent." + strings.TrimPrefix(name, "made."))
			continue
		}
		var r struct {
			Object   string `json:"object"`
			TargetID string `json:"target_id"`
		}
		if json.Unmarshal([]byte(raw), &r) != nil {
			continue
		}
		if id, ok := guestOf(r.Object, r.TargetID); ok {
			if inv.isVMGone(id, allVMs) {
				w.drop(name)
			}
			continue
		}
		id, ok := strings.CutPrefix(r.Object, adapterObjectPrefix)
		if !ok {
			id, ok = strings.CutPrefix(r.Object, guestObjectPrefix)
		}
		vmID, guid, _ := strings.Cut(id, "/")
		if ok && inv.isGone(vmID, guid, allVMs) {
			w.drop(name)
		}
	}
}

// guestOf is the VM of a record about its guest: by the object of a setting, or by the target of a debt.
func guestOf(object, targetID string) (vmID string, ok bool) {
	if _, id, ok := strings.Cut(object, " "+guestTargetPrefix); ok {
		return id, true
	}
	return strings.CutPrefix(targetID, guestTargetPrefix)
}

func (inv *Inventory) isVMGone(vmID string, allVMs bool) bool {
	for i := range inv.VMs {
		if sameGUID(inv.VMs[i].ID, vmID) {
			return false
		}
	}
	return allVMs
}

func (inv *Inventory) isGone(vmID, guid string, allVMs bool) bool {
	for i := range inv.VMs {
		if !sameGUID(inv.VMs[i].ID, vmID) {
			continue
		}
		for _, a := range inv.adaptersOfVM(&inv.VMs[i]) {
			if adapterGUID(a.ID) == guid {
				return false
			}
		}
		return true
	}
	return allVMs
}

// madeAdapter reads the record of an adapter that the provider made: its id, Microsoft:<VM>\\<adapter>.
func madeAdapter(name, raw string) (vmID, guid string, ok bool) {
	id, colon := strings.CutPrefix(raw, "Microsoft:")
	vmID, guid, both := strings.Cut(id, `\`)
	return vmID, adapterGUID(guid), colon && both && strings.HasPrefix(name, "made.")
}
