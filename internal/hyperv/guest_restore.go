package hyperv

import (
	"context"
	"errors"
	"fmt"
)

// before is the wish to put back what the ledger remembers.
func (c *guestChange) before() guestWish {
	var w guestWish
	flag := func(setting string) *bool {
		r, ok := c.ledger.before(c.object, setting)
		if !ok || r.Value == nil {
			return nil
		}
		on := *r.Value == "true"
		return &on
	}
	w.synthetic, w.vf = flag(settingSyntheticRdma), flag(settingVFRdma)
	if c.g.VF != nil && c.g.VF.Keyword != "" {
		if r, ok := c.ledger.before(c.object, c.g.VF.Keyword); ok {
			w.keyword = r.Value
		}
	}
	return w
}

// putBack restores the guest and takes everything about it out of the ledger, in one batch.
func (c *guestChange) putBack(ctx context.Context) error {
	unlock, err := c.host.lockVM(ctx, c.g.Adapter.VM.Name)
	if err != nil {
		return err
	}
	defer unlock()
	wish := c.before()
	w := c.ledger.writes()
	w.dropObject(c.object)
	b := c.host.batch(c.op, adapterAbout(c.ref))
	c.addWish(b, wish)
	w.addRemoves(b)
	if len(b.calls) == 0 {
		return nil
	}
	if !wish.differs(c.g) { // nothing of the guest's: its session is not needed
		defer w.guard(c.host)()
		if err := b.run(ctx); err != nil {
			return err
		}
		w.apply()
		return nil
	}
	guest := b.readGuest(c.target)
	after := b.readParts(partVM(c.ref.VMID, ""))
	release := w.guard(c.host)
	err = b.run(ctx)
	release()
	if err != nil {
		return err
	}
	w.apply()
	if err := c.take(after, guest); err != nil {
		return err
	}
	if c.g.Reachable && wish.differs(c.g) {
		return &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: adapterAbout(c.ref),
			Cause: "RDMA of the guest's adapters was put back and does not read so.", Fix: "Look at Get-NetAdapterRdma in the guest; something else may switch it."}
	}
	return nil
}

// undo puts back what a failed create changed, with time of its own: the create may have failed for lack of it.
func (c *guestChange) undo(ctx context.Context, cause error) error {
	if len(c.written) == 0 {
		return cause
	}
	ctx, cancel := c.host.cleanUp(ctx)
	defer cancel()
	b := c.host.batch(c.op, adapterAbout(c.ref)) // where an answer was lost, only the host knows what was written
	after := b.readParts(partSwitchList, partVM(c.ref.VMID, ""), partLedger)
	guest := b.readGuest(c.target)
	err := b.run(ctx)
	var inv *Inventory
	if err == nil {
		inv, err = after()
	}
	if err == nil {
		c.ledger = inv.ledger
		err = c.take(func() (*Inventory, error) { return inv, nil }, guest)
	}
	if err == nil && !c.g.Reachable && c.ledger.remembers(c.object) {
		err = c.g.Err // the ledger keeps what was there before, for the next attempt
	}
	if err != nil {
		return errors.Join(cause, fmt.Errorf("undoing it failed too: %w", err))
	}
	if err := c.putBack(ctx); err != nil {
		return errors.Join(cause, fmt.Errorf("undoing it failed too: %w", err))
	}
	return cause
}

// RestoreGuestRdma puts back what the guest held before the resource. A VM or adapter that is gone needs nothing but
// a clean ledger; a guest that cannot be reached is an error, unless it is to be forgotten.
func (h *Host) RestoreGuestRdma(ctx context.Context, ref AdapterRef, credential string, forget bool) ([]Note, error) {
	const op = "restore RDMA of the guest"
	object := guestObjectOf(ref.VMID, ref.AdapterID)
	target, credentialError := h.guestTarget(op, ref, ref.VMID, credential)
	b := h.batch(op, adapterAbout(ref))
	after := b.readParts(partVM(ref.VMID, ref.VMName), partLedger)
	var guest *guestRead
	if credentialError == nil {
		guest = b.readGuest(target)
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	inv, err := after()
	if err != nil {
		return nil, err
	}
	a, err := inv.findAdapter(h, op, ref)
	if IsNotFound(err) {
		h.claimed.remove(object)
		return nil, h.forgetObject(ctx, op, inv, object)
	}
	if err != nil {
		return nil, err
	}
	c := &guestChange{host: h, op: op, ref: a.ByID(), target: target, object: object, ledger: inv.ledger, g: &GuestRdma{Adapter: a, Err: credentialError}}
	if guest != nil {
		c.g = guest.join(h, op, a)
	}
	var notes []Note
	if !c.g.Reachable && inv.ledger.remembers(object) {
		if !forget {
			var e *Error
			if asError(c.g.Err, &e) {
				e.Attribute, e.Value = "on_unreachable", "error"
				e.Fix += ` Or set on_unreachable = "forget" to leave the guest as it is.`
			}
			return nil, c.g.Err
		}
		notes = append(notes, Note{fmt.Sprintf("The guest of VM %q was left as it is", a.VM.Name),
			"It cannot be reached, and on_unreachable is \"forget\": RDMA of its adapters stays as this resource set it. " + c.g.Err.Error()})
		c.g.Synthetic, c.g.VF = nil, nil
	}
	if c.g.Reachable && c.g.VF == nil && c.before().vf != nil {
		notes = append(notes, Note{fmt.Sprintf("The virtual function of VM %q is not there", a.VM.Name),
			"RDMA of its adapter in the guest could not be put back; Windows keeps the setting for when the adapter comes back."})
	}
	if err := c.putBack(ctx); err != nil {
		return notes, err
	}
	h.claimed.remove(object)
	return notes, nil
}
