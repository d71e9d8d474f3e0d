package hyperv

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// routingChange is a change of the setting on its way, on the host or in a guest.
type routingChange struct {
	host    *Host
	op      string
	target  *target
	spec    *RoutingSpec
	former  []string   // net adapters that were named before: what they owe is paid too
	known   KnownPorts // of those
	names   []string   // net adapters as the configuration has them
	inv     *Inventory
	vm      *VM
	guest   *guestAdapters // of a guest
	now     string
	w       *ledgerWrites
	wish    string // what to write, "" to leave it
	restart []restartTarget
	removal bool
	unpaid  bool // a restart that was due failed
	unlock  func()
}

// restartTarget is what a change restarts as one: a device of the host, or the adapters of a guest.
type restartTarget struct {
	id, title string
	device    *Device // nil in a guest
}

// ApplyRouting lets RDMA cross IP subnets, or not, and restarts the net adapters that are to follow: they read the
// setting when they start (facts.md 68). old is what was wanted before, nil on create.
func (h *Host) ApplyRouting(ctx context.Context, spec RoutingSpec, old *RoutingSpec) (*Routing, error) {
	const op = "change " + settingAcross
	ref := spec.Target
	if old != nil {
		ref = old.Target
		ref.Credential = spec.Target.Credential
	}
	c := &routingChange{host: h, op: op, spec: &spec, names: spec.Adapters}
	claimant := routingClaimant(&spec)
	defer c.free()
	if old != nil {
		c.former, c.known = old.Adapters, old.Known
	}
	if err := c.read(ctx, ref); err != nil {
		return nil, err
	}
	if err := c.target.renamed(op, spec.Target.VMName, c.vm); err != nil {
		return nil, err
	}
	if err := h.refuseSwapped(c.nics(), op, c.names, spec.Known); err != nil {
		return nil, err
	}
	if err := c.findAdapters(); err != nil {
		return nil, err
	}
	object := routingObject(c.vm)
	if have, ok := c.inv.ledger.claim(object); old == nil && (ok && have != claimant || h.claimed.has(object)) {
		return nil, c.alreadyClaimed(have)
	}
	c.w.remember(before{Object: object, Setting: settingAcross, Value: &c.now, About: routingAbout(c.target.ref)})
	c.w.claim(object, claimant)
	switch {
	case c.now != spec.Across:
		c.wish = spec.Across
	case old == nil || len(c.former) == 0: // it was so before, and whoever made it so restarted what had to
		c.restart = nil
	default:
		c.restart = c.added(c.former)
	}
	out, err := c.run(ctx)
	if err == nil {
		h.claimed.add(object)
		out.Known = knowPorts(c.nics(), c.names, spec.Known)
	}
	return out, err
}

// nics are the net adapters of the host, or of the guest.
func (c *routingChange) nics() []NetAdapter {
	if c.guest != nil {
		return c.guest.list
	}
	return c.inv.NetAdapters
}

// followNames makes the net adapters what they are called now.
func (c *routingChange) followNames() {
	spec := *c.spec
	spec.Adapters = nowCalled(c.nics(), spec.Adapters, spec.Known)
	c.spec, c.former = &spec, nowCalled(c.nics(), c.former, c.known)
}

// read locks the target and what of it restarts, and reads what is there.
func (c *routingChange) read(ctx context.Context, ref TargetRef) (err error) {
	if c.target, err = c.host.target(c.op, ref); err != nil {
		return err
	}
	about := routingAbout(ref)
	if c.unlock, err = c.target.lock(ctx, settingAcross); err != nil {
		return err
	}
	if !ref.guest() {
		var unlock func()
		if c.inv, unlock, err = c.host.readLocked(ctx, c.op, about, append(c.spec.Known.lockedBy(c.spec.Adapters), c.known.lockedBy(c.former)...), partOS, partPorts, partOffload, partLedger); err != nil {
			return err
		}
		first := c.unlock
		c.unlock = func() { unlock(); first() }
		c.now, c.w = c.inv.Across, c.inv.ledger.writes()
		c.followNames()
		return nil
	}
	b := c.host.batch(c.op, about)
	after := b.readParts(append(c.target.parts(), partOS, partLedger)...)
	setting, nics := c.target.readOffload(b), c.target.readAdapters(b)
	if err := b.run(ctx); err != nil {
		return err
	}
	if c.inv, err = after(); err != nil {
		return err
	}
	c.w = c.inv.ledger.writes()
	if c.vm, err = c.target.vm(ctx, c.inv, c.op); err != nil {
		return err
	}
	c.guest = &guestAdapters{list: nics.Items}
	if c.guest.err = c.target.failure(c.op, c.vm, setting.Errors); c.guest.err == nil {
		c.guest.err = c.target.failure(c.op, c.vm, nics.Errors)
	}
	c.followNames()
	c.target.guest.VMID = c.vm.ID
	if len(setting.Items) > 0 {
		c.now = setting.Items[0].NetworkDirectAcrossIPSubnets
	}
	return nil
}

func (c *routingChange) free() {
	if c.unlock != nil {
		c.unlock()
		c.unlock = nil
	}
}

// findAdapters finds what restarts after the change; a name that is not there is an error.
func (c *routingChange) findAdapters() error {
	if c.guest == nil {
		devices, err := c.host.devicesOf(c.inv, c.op, c.spec.Adapters, "")
		if err != nil {
			return err
		}
		for _, d := range devices {
			c.restart = append(c.restart, restartTarget{d.Location, d.Title(), d})
		}
		return nil
	}
	if c.guest.err != nil {
		return c.guest.err
	}
	for _, name := range c.spec.Adapters {
		if !c.guest.has(name) {
			return &Error{Kind: NotFound, Op: c.op, Host: c.host.Name, Object: fmt.Sprintf("net adapter %q in %s", name, c.target.ref.about()), Attribute: "net_adapter_names", Value: name,
				Cause: "The guest has no net adapter of this name.", Fix: "Net adapters of the guest: " + quoteList(c.guest.names()) + "."}
		}
	}
	c.restart = []restartTarget{{id: targetID(c.vm), title: GuestAdapterTitle(c.spec.Adapters, c.vm.Name)}}
	return nil
}

// added are the restart targets that none of the former names belongs to: they have not started since the change.
func (c *routingChange) added(former []string) []restartTarget {
	if c.guest != nil {
		for _, name := range c.spec.Adapters {
			if !containsFold(former, name) {
				return c.restart
			}
		}
		return nil
	}
	known := c.inv.devicesNamed(former)
	var out []restartTarget
	for _, r := range c.restart {
		if !hasDevice(known, r.id) {
			out = append(out, r)
		}
	}
	return out
}

func (c *routingChange) alreadyClaimed(have string) error {
	id := c.host.Name
	if c.vm != nil {
		id += "/" + strings.ToLower(c.vm.ID)
	}
	if have == "" {
		have = "another hyperv_network_direct_routing"
	}
	return &Error{Kind: Conflict, Op: c.op, Host: c.host.Name, Object: routingAbout(c.target.ref),
		Cause: "The setting belongs to another resource already: " + have + " (by the ledger on the host).",
		Fix:   fmt.Sprintf("Keep one resource for each host and each guest. If the other one was lost with its state, import it: terraform import hyperv_network_direct_routing.<name> '%s'.", id)}
}

// run writes, ledger first, reads back, and restarts what is to follow.
func (c *routingChange) run(ctx context.Context) (*Routing, error) {
	owner := routingOwner(c.vm)
	owed, settled := c.inv.openDebts(func(d Debt) bool { return d.Owner == owner })
	for _, d := range settled {
		c.w.settle(d)
	}
	for _, r := range c.restart {
		c.w.owe(Debt{Kind: RestartNetAdapter, Target: r.title, TargetID: r.id, Owner: owner, Since: c.inv.Now(),
			Reason: settingAcross + " changed: a net adapter reads it when it starts (facts.md 68)"})
	}
	b := c.host.batch(c.op, routingAbout(c.target.ref))
	c.w.addPuts(b)
	if c.wish != "" {
		b.change(c.target.in(wire.Call{Cmdlet: "Set-NetOffloadGlobalSetting", Parameters: map[string]any{settingAcross: c.wish, "Confirm": false}}))
	}
	c.w.addRemoves(b)
	var back *found[offloadSetting]
	if c.wish != "" {
		back = c.target.readOffload(b)
	}
	release := c.w.guard(c.host)
	err := b.run(ctx)
	release()
	if err != nil {
		return nil, err
	}
	c.w.apply()
	out := &Routing{VM: c.vm, Across: c.now}
	if c.wish != "" {
		if out.Across = c.spec.Across; len(back.Items) > 0 {
			out.Across = back.Items[0].NetworkDirectAcrossIPSubnets
		}
		if out.Across != c.wish {
			return nil, &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: routingAbout(c.target.ref), Attribute: "network_direct_across_ip_subnets", Value: c.wish,
				Cause: fmt.Sprintf("It was set to %s and reads %q.", c.wish, out.Across), Fix: "Something else sets it (the driver's service, a policy): stop it, then apply again."}
		}
	}
	out.Notes = c.pay(ctx, owed)
	out.Restarted = c.titles()
	out.Debts, _ = c.inv.openDebts(func(d Debt) bool { return d.Owner == owner })
	return out, nil
}

func (c *routingChange) titles() []string {
	if c.guest != nil {
		return []string{GuestAdapterTitle(c.spec.Adapters, c.vm.Name)}
	}
	return c.inv.deviceTitles(c.spec.Adapters)
}

// pay restarts what the change or an earlier one owes. A restart that fails stays owed.
func (c *routingChange) pay(ctx context.Context, owed []Debt) []Note {
	targets := slices.Clone(c.restart)
	for _, d := range owed {
		known := false
		for _, t := range targets {
			known = known || t.id == d.TargetID
		}
		if known {
			continue
		}
		if t, ok := c.restartOf(d); ok {
			targets = append(targets, t)
		}
	}
	epoch := c.host.currentEpoch()
	if c.guest == nil {
		c.free() // others that change the devices come first: one restart serves all
	}
	var notes []Note
	for _, t := range targets {
		due := c.due(t)
		switch {
		case due == nil:
			continue
		case c.removal && c.spec.KeepOwedOnDelete:
			notes = append(notes, Note{"A restart stays owed for " + t.title, "restart_on_destroy is false, so " + settingAcross + " was put back and nothing restarted. The adapters go on with what they read when they started (facts.md 68)."})
			continue
		}
		if err := c.payOne(ctx, t, epoch, due); err != nil {
			c.unpaid = true
			notes = append(notes, Note{"The restart of " + t.title + " failed", err.Error() + "\n\nThe setting is written. The restart stays owed and is tried again by the next apply."})
		}
	}
	return notes
}

// due says which debts of a target are paid now; nil: none.
func (c *routingChange) due(t restartTarget) func(Debt) bool {
	p := payment{own: ownedBy(routingOwner(c.vm)), policy: c.spec.RestartPolicy, removal: c.removal && t.device != nil}
	return p.due(c.inv.ledger, t.device)
}

// restartOf is what a debt owes, if it is of an adapter that this change has locked.
func (c *routingChange) restartOf(d Debt) (restartTarget, bool) {
	if c.guest != nil {
		return restartTarget{id: d.TargetID, title: d.Target}, true
	}
	for _, device := range c.inv.devicesNamed(append(slices.Clone(c.spec.Adapters), c.former...)) {
		if device.owes(d) {
			return restartTarget{d.TargetID, d.Target, device}, true
		}
	}
	return restartTarget{}, false
}

func (c *routingChange) payOne(ctx context.Context, t restartTarget, epoch int, due func(Debt) bool) error {
	if t.device != nil {
		l, err := c.host.payOwed(ctx, t.device, c.inv, epoch, due)
		c.inv.ledger = l
		return err
	}
	if err := c.guest.bounce(ctx, c.target, c.spec.Adapters); err != nil {
		return err
	}
	return c.host.settle(ctx, c.inv.ledger, func(x Debt) bool { return x.Kind == RestartNetAdapter && x.TargetID == t.id })
}
