package hyperv

import "context"

// DeleteRouting puts back what was there before and restarts the net adapters that are to follow. What an import found
// has no before: it stays as it is. A guest that cannot be reached is an error, unless it is to be forgotten.
func (h *Host) DeleteRouting(ctx context.Context, spec RoutingSpec, forget bool) ([]Note, error) {
	const op = "restore " + settingAcross
	c := &routingChange{host: h, op: op, spec: &spec, removal: true}
	defer c.free()
	err := c.read(ctx, spec.Target)
	if IsNotFound(err) && spec.Target.VMID != "" && c.inv != nil { // the VM is gone, and its guest with it
		gone := &VM{ID: spec.Target.VMID}
		h.claimed.remove(routingObject(gone))
		return nil, h.forgetObject(ctx, op, c.inv, routingObject(gone), routingOwner(gone))
	}
	if err != nil {
		return nil, err
	}
	object := routingObject(c.vm)
	was, known := c.inv.ledger.before(object, settingAcross)
	known = known && was.Value != nil
	if c.guest != nil && c.guest.err != nil {
		return c.leaveGuest(ctx, forget, known)
	}
	var notes []Note
	switch {
	case !known:
		notes = append(notes, Note{settingAcross + " of " + spec.Target.about() + " stays as it is", "The resource was imported, so what was there before it is not known. It keeps " + c.now + "."})
	case c.now != *was.Value:
		c.wish = *was.Value
		c.keepFound()
	}
	c.w.dropObject(object)
	out, err := c.run(ctx)
	if err != nil {
		return notes, err
	}
	if c.unpaid {
		return notes, &Error{Kind: Other, Op: op, Host: h.Name, Object: routingAbout(spec.Target), Cause: out.Notes[0].Summary + ": " + out.Notes[0].Detail, Fix: "Apply the destroy again: the restart is still owed."}
	}
	h.claimed.remove(object)
	return append(notes, out.Notes...), nil
}

// leaveGuest ends a resource whose guest cannot be reached.
func (c *routingChange) leaveGuest(ctx context.Context, forget, changed bool) (notes []Note, err error) {
	object, owner := routingObject(c.vm), routingOwner(c.vm)
	owed, _ := c.inv.openDebts(func(d Debt) bool { return d.Owner == owner })
	if changed || len(owed) > 0 {
		note, err := c.target.forgetOrFail(c.guest.err, forget, settingAcross)
		if err != nil {
			return nil, err
		}
		notes = append(notes, note)
	}
	c.host.claimed.remove(object)
	return notes, c.host.forgetObject(ctx, c.op, c.inv, object, owner)
}

// keepFound lists what of the named adapters is still there to restart.
func (c *routingChange) keepFound() {
	spec := *c.spec
	spec.Adapters = nil
	for _, name := range c.spec.Adapters {
		_, onHost := c.inv.device(name, "")
		if c.guest == nil && onHost || c.guest != nil && c.guest.has(name) {
			spec.Adapters = append(spec.Adapters, name)
		}
	}
	c.spec = &spec
	if len(spec.Adapters) > 0 {
		_ = c.findAdapters() // every name was just seen
	}
}
