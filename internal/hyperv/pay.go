package hyperv

import (
	"context"
	"time"
)

// anyDevice is wanted by who will change a device that it has yet to find.
const anyDevice = "device:?"

// payOwed restarts a device if it still owes a restart that is due. It lets everybody who is changing the device come
// first: one restart serves all that wait for it. inv is what was read after the caller's own change, epoch the host's
// at that time; where something changed since, the ledger is read again: somebody else's restart may have settled it.
// It gives the ledger as it is now. Callers hold no lock of the device.
func (h *Host) payOwed(ctx context.Context, d *Device, inv *Inventory, epoch int, due func(Debt) bool) (*ledger, error) {
	if err := sleep(ctx, h.opts.Poll/2); err != nil { // for those who start at the same moment
		return inv.ledger, err
	}
	unlock, err := h.locks.lockLast(ctx, d.lockKey(), anyDevice)
	if err != nil {
		return inv.ledger, err
	}
	defer unlock()
	if h.currentEpoch() != epoch {
		now, err := h.read(ctx, "restart the net adapters", portsAbout(d.PortNames()), partHost, partLedger)
		if err != nil {
			return inv.ledger, err
		}
		inv = now
	}
	open, settled := inv.openDebts(func(x Debt) bool { return d.owes(x) && due(x) })
	switch {
	case len(open) > 0:
		err = h.payDevice(ctx, d, inv.ledger)
	case len(settled) > 0: // by a start of the host
		err = h.settle(ctx, inv.ledger, func(x Debt) bool { return d.owes(x) && due(x) })
	}
	return inv.ledger, err
}

// payment is what a change of a resource pays for the devices in its way.
type payment struct {
	own     func(Debt) bool // the resource's own debts
	policy  string
	removal bool   // the resource goes
	keep    bool   // and leaves what is owed (restart_on_destroy = false)
	about   string // the resource, for people
}

// due says which debts of a device are paid now; nil: none.
func (p payment) due(l *ledger, d *Device) func(Debt) bool {
	switch {
	case p.removal:
		return dueOnDelete(l, d, p.policy, p.own)
	case p.policy == RestartManual:
		return nil
	}
	return p.own
}

// payFor restarts a device that owes what is due, or notes that it stays owed. inv.ledger becomes the ledger as it is then.
func (h *Host) payFor(ctx context.Context, d *Device, inv *Inventory, epoch int, p payment) (notes []Note, err error) {
	due := p.due(inv.ledger, d)
	switch {
	case due == nil || !inv.ledger.owes(d, due):
	case p.removal && p.keep && inv.owes(d, due):
		notes = []Note{staysOwed(p.about, d)}
	default:
		inv.ledger, err = h.payOwed(ctx, d, inv, epoch, due)
	}
	return notes, err
}

// owes says that a debt is a restart of this device.
func (d *Device) owes(x Debt) bool { return x.Kind == RestartNetAdapter && x.TargetID == d.Location }

func ownedBy(owners ...string) func(Debt) bool {
	return func(x Debt) bool { return contains(owners, x.Owner) }
}

func anyOwner(Debt) bool { return true }

// sleep pauses, or ends with the context.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
