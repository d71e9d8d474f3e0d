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
	for tries := 1; ; tries++ {
		err := c.putBack(ctx)
		if err == nil {
			return cause
		}
		if again, e := c.changedMeanwhile(ctx, err); !again || tries == restoreTries || !c.g.Reachable {
			return errors.Join(cause, fmt.Errorf("undoing it failed too: %w", e))
		}
	}
}

// restoreTries is how often a guest is put back that changes under the hands of who does it.
const restoreTries = 3

// changedMeanwhile looks again after a call in the guest failed, and says whether the guest is another one now than it was
// taken for: its virtual function went away, or its VM stopped. Otherwise the error is the answer.
func (c *guestChange) changedMeanwhile(ctx context.Context, err error) (bool, error) {
	var e *Error
	if !asError(err, &e) || e.Command == nil || ctx.Err() != nil {
		return false, err
	}
	was := c.shows()
	if look := c.look(ctx); look != nil {
		return false, look
	}
	return c.shows() != was, err
}

// shows is what of the guest decides about putting it back.
func (c *guestChange) shows() string {
	adapter := func(a *GuestAdapter) string {
		if a == nil {
			return "none"
		}
		return fmt.Sprintf("%s %t %t %s", a.InterfaceDescription, a.RdmaListed, a.RdmaEnabled, a.KeywordText)
	}
	return fmt.Sprintf("%s, %t: %s; %s", c.g.Adapter.VM.State, c.g.Reachable, adapter(c.g.Synthetic), adapter(c.g.VF))
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
	notes, err := c.restore(ctx, forget)
	if IsNotFound(err) { // the VM or its adapter went meanwhile
		notes, err = nil, h.forgetObject(ctx, op, &Inventory{ledger: c.ledger}, object)
	}
	if err == nil {
		h.claimed.remove(object)
	}
	return notes, err
}

// restore puts the guest back as it is found, and as it becomes on the way: a virtual function that goes away has nothing
// left to put back, and the Hyper-V adapter is put back all the same.
func (c *guestChange) restore(ctx context.Context, forget bool) (notes []Note, err error) {
	for tries := 1; ; tries++ {
		if notes, err = c.mayForget(forget); err != nil {
			return nil, err
		}
		vm, left := c.g.Adapter.VM.Name, c.before().vf != nil
		if err = c.putBack(ctx); err == nil {
			if c.g.Reachable && c.g.VF == nil && left {
				notes = append(notes, Note{fmt.Sprintf("The virtual function of VM %q is not there", vm),
					"RDMA of its adapter in the guest could not be put back; Windows keeps the setting for when the adapter comes back."})
			}
			return notes, nil
		}
		again, failed := c.changedMeanwhile(ctx, err)
		if !again || tries == restoreTries {
			return notes, failed
		}
	}
}

// mayForget ends with an error where the guest cannot be reached and something in it is to be put back, unless it is to be
// forgotten: then there is a note of it.
func (c *guestChange) mayForget(forget bool) ([]Note, error) {
	if c.g.Reachable || !c.ledger.remembers(c.object) {
		return nil, nil
	}
	if vm := &c.g.Adapter.VM; vm.State != "Running" {
		c.g.Err = notRunning(c.host, c.op, vm)
	}
	t := &target{host: c.host, ref: TargetRef{VMName: c.g.Adapter.VM.Name}}
	note, err := t.forgetOrFail(c.g.Err, forget, "RDMA of its adapters")
	if err != nil {
		return nil, err
	}
	c.g.Synthetic, c.g.VF = nil, nil
	return []Note{note}, nil
}
