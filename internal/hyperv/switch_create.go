package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// CreateSwitch makes the switch, pays the restart that it needs, connects what a removed switch of this name had left
// disconnected, and checks what SR-IOV really says. A switch that a killed provider had made for this same resource
// is taken over.
func (h *Host) CreateSwitch(ctx context.Context, spec SwitchSpec) (*Switch, error) {
	free, err := h.locks.lock(ctx, "switch:"+strings.ToLower(spec.Name))
	if err != nil {
		return nil, err
	}
	defer free()
	out, again, err := h.createSwitch(ctx, spec)
	if again && err == nil {
		out, _, err = h.createSwitch(ctx, spec)
	}
	return out, err
}

// createSwitch is CreateSwitch under the switch's lock. again says that an orphan was removed, so that the host is to
// be looked at anew.
func (h *Host) createSwitch(ctx context.Context, spec SwitchSpec) (out *Switch, again bool, err error) {
	const op = "create the switch"
	inv, unlock, err := h.readLocked(ctx, op, switchAbout(spec.Name), spec.NetAdapterNames, partHost, partNetAdapters, partSwitches, partLedger, partHostNetwork)
	if err != nil {
		return nil, false, err
	}
	defer func() { unlock() }()
	orphan, err := h.orphanSwitch(inv, op, spec)
	if err != nil {
		return nil, false, err
	}
	own := ""
	if orphan != nil {
		own = orphan.ID
	}
	nics, devices, err := h.switchMembers(inv, op, spec, own)
	if err != nil {
		return nil, false, err
	}
	in := switchIntent(spec, nics)
	in.Since = inv.Now()
	defer h.holdIntent(in, &err, &again)()
	switch {
	case orphan == nil:
		out, err = h.makeSwitch(ctx, op, spec, in, inv, nics, devices)
	case h.pendingJobs(inv, nics):
		unlock()
		return nil, true, h.endJobs(ctx, op, switchAbout(spec.Name), inv.ledger)
	case !canTakeOver(spec, in, inv, orphan):
		unlock()
		left := spec
		left.RestartPolicy, left.KeepOwedOnDelete = RestartManual, true // the switch that comes next owes the same restart
		_, err = h.DeleteSwitch(ctx, orphan.ID, left)
		return nil, true, err
	default:
		var change *changedSwitch
		out, change, err = h.changeSwitch(ctx, op, inv, orphan, spec)
		change.unlock()
	}
	if err != nil {
		return out, false, err
	}
	epoch := h.currentEpoch()
	unlock() // others that change the device come first: one restart serves all
	if out, err = h.finishSwitch(ctx, op, spec, inv, out, devices, epoch); err == nil {
		h.made(in)
	}
	return out, false, err
}

// makeSwitch makes the switch and its debts; a switch that fails is undone.
func (h *Host) makeSwitch(ctx context.Context, op string, spec SwitchSpec, in intent, inv *Inventory, nics []NetAdapter, devices []*Device) (*Switch, error) {
	w := inv.ledger.writes()
	w.intend(in)
	owner := switchOwner(nics[0].InterfaceGuid)
	for _, d := range devices {
		if d.Profile.RebindAfterSwitch {
			w.owe(Debt{Kind: RestartNetAdapter, Target: d.Title(), TargetID: d.Location, Owner: owner, Since: inv.Now(),
				Reason: fmt.Sprintf("switch %q was made: all ports of the device must be disabled and enabled (facts.md 25)", spec.Name)})
		}
	}
	w.claimPorts(spec, nics, nil)
	out, err := h.newSwitch(ctx, op, spec, in, w, inv, nics)
	if changeLost(err) && len(h.managementPath(inv, nics)) == 0 { // a job is taken back by the host itself
		out, err = h.lostNewSwitch(ctx, op, spec, inv, err)
	}
	if err != nil {
		return nil, h.undoNewSwitch(ctx, spec, in, inv, owner, err)
	}
	return out, nil
}

// finishSwitch pays what the new switch owes, connects what was disconnected, and looks at what came of it.
func (h *Host) finishSwitch(ctx context.Context, op string, spec SwitchSpec, inv *Inventory, out *Switch, devices []*Device, epoch int) (*Switch, error) {
	var notes []Note
	bounced := false
	if spec.RestartPolicy != RestartManual {
		due := ownedBy(owners(out.Debts)...)
		for _, d := range devices {
			if !owes(out.Debts, d.Location) {
				continue
			}
			bounced = true
			if _, err := h.payOwed(ctx, d, inv, epoch, due); err != nil {
				notes = append(notes, Note{"The restart of the net adapters failed", err.Error() + "\n\nThe switch was made. The restart stays owed and is tried again by the next apply."})
			}
		}
	}
	if bounced { // what a switch can do changes with the restart
		read, err := h.readSwitch(ctx, out.ID)
		if err != nil { // without a state the switch would be nobody's
			out.Notes = append(notes, Note{"The switch could not be read after the restart of its net adapters",
				err.Error() + "\n\nThe switch was made. The next plan reads what it is now."})
			return out, nil
		}
		out = read
	}
	notes = append(notes, iovNotes(inv, out)...)
	if spec.RequireIovSupport && !out.DeviceOwes && !out.IovSupport {
		cause := &Error{Kind: Unsupported, Op: op, Host: h.Name, Object: switchAbout(spec.Name), Attribute: "require_iov_support", Value: "true",
			Cause: "Windows says that SR-IOV does not work here: " + iovReasons(inv, out),
			Fix:   "Enable SR-IOV (and VT-d or the IOMMU) in the BIOS and at the adapter, or leave out require_iov_support. The switch was removed again."}
		if _, err := h.DeleteSwitch(ctx, out.ID, spec); err != nil {
			cause.Err = fmt.Errorf("removing the switch failed too: %w", err)
			return out, cause
		}
		return nil, cause
	}
	out.Notes = append(notes, h.reconnect(ctx, out, inv.ledger)...)
	return out, nil
}

// newSwitch runs the batch that makes the switch: the debt first, then the switch, then what it is.
func (h *Host) newSwitch(ctx context.Context, op string, spec SwitchSpec, in intent, w *ledgerWrites, before *Inventory, nics []NetAdapter) (*Switch, error) {
	c := &switchChange{host: h, batch: h.batch(op, switchAbout(spec.Name)), records: w, before: before, path: h.managementPath(before, nics), preserve: spec.PreserveHostIPConfig,
		parts: []part{partNetAdapters, partSwitches, partLedger}}
	c.begin()
	b := c.batch
	p := map[string]any{"Name": spec.Name, "NetAdapterName": spec.NetAdapterNames, "EnableIov": true, "Confirm": false}
	if spec.AllowManagementOS != nil {
		p["AllowManagementOS"] = *spec.AllowManagementOS
	}
	if spec.MinimumBandwidthMode != "" {
		p["MinimumBandwidthMode"] = spec.MinimumBandwidthMode
	}
	if spec.EnableEmbeddedTeaming != nil {
		p["EnableEmbeddedTeaming"] = *spec.EnableEmbeddedTeaming
	}
	if spec.Notes != nil {
		p["Notes"] = *spec.Notes
	}
	made := changeAndRead[VMSwitch](b, wire.Call{Cmdlet: "New-VMSwitch", Parameters: p, Save: "new"})
	b.noteMade(in, "new")
	if spec.LoadBalancingAlgorithm != "" {
		b.change(teamCall("new", spec))
	}
	c.restore(hostVNicName(spec.Name))
	inv, err := c.run(ctx, func(undo *batch) {
		find[VMSwitch](undo, wire.Call{Cmdlet: "Get-VMSwitch", Save: "made", Where: []wire.Condition{{Property: "Name", Equals: []string{spec.Name}}}})
		undo.change(wire.Call{Cmdlet: "Remove-VMSwitch", Input: "made", Parameters: map[string]any{"Force": true, "Confirm": false}}, tolerating(anyError))
	})
	if err != nil {
		return nil, err
	}
	if len(made.Items) == 0 {
		return nil, &Error{Kind: Other, Op: op, Host: h.Name, Object: switchAbout(spec.Name), Cause: "New-VMSwitch returned no switch."}
	}
	return h.switchByID(inv, made.Items[0].ID)
}

// teamCall sets the team's algorithm. Without the members, which stay as they are, two parameter sets of the cmdlet take a switch.
func teamCall(saved string, spec SwitchSpec) wire.Call {
	return wire.Call{Cmdlet: "Set-VMSwitchTeam", Parameters: map[string]any{"VMSwitch": wire.First(saved), "NetAdapterName": spec.NetAdapterNames,
		"LoadBalancingAlgorithm": spec.LoadBalancingAlgorithm, "Confirm": false}}
}

// undoNewSwitch removes what a failed New-VMSwitch left: the debt, and a switch that exists all the same
// (an orphan of a failed roll-back is possible: facts.md 14).
func (h *Host) undoNewSwitch(ctx context.Context, spec SwitchSpec, in intent, inv *Inventory, owner string, cause error) error {
	ctx, cancel := h.cleanUp(ctx)
	defer cancel()
	w := inv.ledger.writes()
	for _, d := range inv.ledger.debts() {
		if d.Owner == owner {
			w.settle(d)
		}
	}
	if !changeLost(cause) { // else it may still come, and is then taken over
		w.dropIntent(in)
	}
	for _, name := range spec.NetAdapterNames {
		if nic, ok := inv.netAdapter(name); ok {
			w.release(switchPort(nic.InterfaceGuid))
		}
	}
	b := h.batch("undo the failed switch", switchAbout(spec.Name))
	find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Save: "orphan", Where: []wire.Condition{{Property: "Name", Equals: []string{spec.Name}}}})
	b.change(wire.Call{Cmdlet: "Remove-VMSwitch", Input: "orphan", Parameters: map[string]any{"Force": true, "Confirm": false}})
	w.addRemoves(b)
	defer w.guard(h)()
	if err := b.run(ctx); err != nil {
		return fmt.Errorf("%w; and undoing it failed: %w", cause, err)
	}
	w.apply()
	return refineNewSwitch(cause)
}

// lostLooks is how often it is looked for a switch whose making nobody saw the end of: the management service goes on
// where the PowerShell process that asked it is gone.
const lostLooks = 5

// lostNewSwitch finds out what became of a New-VMSwitch whose answer was lost: a switch of this name that was not
// there before is ours. cause is returned where there is none, or not the one that is wanted, and then is undone.
func (h *Host) lostNewSwitch(ctx context.Context, op string, spec SwitchSpec, before *Inventory, cause error) (*Switch, error) {
	ctx, cancel := h.cleanUp(ctx)
	defer cancel()
	for range lostLooks {
		inv, err := h.read(ctx, op, switchAbout(spec.Name), partNetAdapters, partSwitches, partLedger)
		if err != nil {
			break
		}
		for _, s := range inv.Switches {
			if _, err := h.switchByID(before, s.ID); err == nil || !strings.EqualFold(s.Name, spec.Name) {
				continue
			}
			out := inv.describeSwitch(s)
			if !out.IovEnabled || spec.LoadBalancingAlgorithm != "" && !strings.EqualFold(out.LoadBalancingAlgorithm, spec.LoadBalancingAlgorithm) {
				return nil, cause
			}
			return out, nil
		}
		if h.wait(ctx) != nil {
			break
		}
	}
	var e *Error
	if asError(cause, &e) {
		e.Fix += fmt.Sprintf(" A switch %q that is there by then is taken over by the next apply.", spec.Name)
	}
	return nil, cause
}

// refineNewSwitch adds the rule to what Windows says about a refused switch.
func refineNewSwitch(err error) error {
	var e *Error
	if !asError(err, &e) || e.Command == nil || e.Cause != "" {
		return err
	}
	switch e.Kind {
	case InUse:
		e.Cause = "The net adapter is bound to another switch: an SR-IOV adapter has one NIC switch (facts.md 24)."
		e.Fix = "Remove or import the other switch."
	case Invalid:
		e.Cause = "Hyper-V refused the combination of settings (facts.md 10-13, 18, 21)."
		e.Fix = "SR-IOV needs an external switch, minimum_bandwidth_mode None or Default, and for several adapters a team of identical ones (enable_embedded_teaming not false)."
	}
	return err
}
