package hyperv

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// DeleteSwitch removes the switch and pays the restart that its removal needs (facts.md 25). VM adapters that are
// connected make it refuse, unless it may disconnect them; the ledger then remembers them for a switch of the same
// name (facts.md 62). Host vNICs other than its own make it refuse in any case: they would go with the switch, with
// their IP configuration (facts.md 16, 28). A switch that is gone already still pays what it owes.
func (h *Host) DeleteSwitch(ctx context.Context, id string, spec SwitchSpec) ([]Note, error) {
	const op = "remove the switch"
	arrived := h.locks.want(anyDevice)
	defer arrived()
	epoch := h.currentEpoch()
	inv, now, err := h.switchToRemove(ctx, op, id, spec)
	if err != nil {
		return nil, err
	}
	if now == nil {
		arrived()
		return h.payOrphanDebts(ctx, inv, id, spec)
	}
	devices := map[string]*Device{}
	for _, name := range now.NetAdapterNames {
		if d, ok := inv.device(name, ""); ok {
			devices[d.Location] = d
		}
	}
	unlock := func() {}
	defer func() { unlock() }()
	for _, loc := range sorted(devices) {
		free, err := h.lockDevice(ctx, devices[loc])
		if err != nil {
			return nil, err
		}
		held := unlock
		unlock = sync.OnceFunc(func() { free(); held() })
	}
	arrived()
	if h.currentEpoch() != epoch { // something of ours changed the host, or paid the device's debts, while we waited
		if inv, now, err = h.switchToRemove(ctx, op, id, spec); err != nil {
			return nil, err
		}
		if now == nil { // whoever removed it may not have paid for it
			unlock()
			return h.payOrphanDebts(ctx, inv, id, spec)
		}
	}
	w := inv.ledger.writes()
	for _, loc := range sorted(devices) {
		if d := devices[loc]; d.Profile.RebindAfterSwitch {
			w.owe(Debt{Kind: RestartNetAdapter, Target: d.Title(), TargetID: d.Location, Owner: switchDeleteOwner(id), Since: inv.Now(),
				Reason: fmt.Sprintf("switch %q was removed: all ports of the device must be disabled and enabled (facts.md 25)", now.Name)})
		}
	}
	unlockVMs, err := h.lockVMs(ctx, vmNames(now.Connected))
	if err != nil {
		return nil, err
	}
	defer unlockVMs()
	w.rememberConnections(now.Connected, now)
	w.dropMade(id)
	w.dropIntent(intent{Kind: kindSwitch, Name: now.Name})
	c := &switchChange{host: h, batch: h.batch(op, switchAbout(now.Name)), records: w, before: inv, path: h.managementPath(inv, inv.members(now)), preserve: spec.PreserveHostIPConfig, keep: true}
	c.begin()
	b := c.batch
	b.disconnect(now.Connected)
	find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Id": []any{wire.GUID(id)}}, Save: "switch"})
	b.change(wire.Call{Cmdlet: "Remove-VMSwitch", Input: "switch", Parameters: map[string]any{"Force": true, "Confirm": false}})
	w.dropGone(inv, true)
	for _, nic := range inv.members(now) {
		w.release(switchPort(nic.InterfaceGuid))
	}
	w.dropGoneSwitches(inv)
	w.dropGoneIntents(h, inv, true)
	if !c.away() {
		w.addRemoves(b)
	}
	// What the host vNIC had belongs to the net adapter again; the removal itself is not taken back.
	if c.away() {
		c.parts = []part{partPath}
		if members := inv.members(now); len(members) > 0 {
			for i := range c.path {
				c.path[i].adapter = members[0]
			}
			c.restore(adapterWithGUID(members[0].InterfaceGuid))
		}
	}
	if _, err := c.run(ctx, func(back *batch) { undoRemoval(back, now) }); err != nil {
		return nil, h.undoDisconnect(ctx, now, inv.ledger, err)
	}
	unlockVMs()
	epoch = h.currentEpoch()
	unlock()
	return h.payRemoval(ctx, inv, devices, epoch, id, switchAbout(now.Name), spec)
}

// payRemoval pays what the removal of a switch owes, or all that is owed for its devices if nothing of ours is left on them.
func (h *Host) payRemoval(ctx context.Context, inv *Inventory, devices map[string]*Device, epoch int, id, about string, spec SwitchSpec) ([]Note, error) {
	var notes []Note
	p := payment{own: ownedBy(switchDeleteOwner(id)), policy: spec.RestartPolicy, removal: true, keep: spec.KeepOwedOnDelete, about: about}
	for _, loc := range sorted(devices) {
		more, err := h.payFor(ctx, devices[loc], inv, epoch, p)
		if notes = append(notes, more...); err != nil {
			return notes, err
		}
	}
	return notes, nil
}

// undoRemoval connects the adapters of a switch that is still there; the removal itself is not taken back.
func undoRemoval(back *batch, s *Switch) {
	first := len(back.calls)
	back.connectAgain(s.Connected, s.ID)
	for i := first; i < len(back.calls); i++ { // where the switch is gone that stops nothing
		back.calls[i].OnError = wire.OnErrorContinue
	}
}

// switchToRemove reads the switch and what hangs on it, and refuses while it is in use. A switch that is gone is nil.
func (h *Host) switchToRemove(ctx context.Context, op, id string, spec SwitchSpec) (*Inventory, *Switch, error) {
	inv, err := h.read(ctx, op, "switch "+id, partHost, partNetAdapters, partSwitches, partLedger, partAllVMs, partHostNetwork)
	if err != nil {
		return nil, nil, err
	}
	now, err := h.switchByID(inv, id)
	if IsNotFound(err) {
		return inv, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return inv, now, h.refuseConnected(inv, op, now, spec)
}

func switchDeleteOwner(id string) string { return "hyperv_iov_switch:removed:" + strings.ToLower(id) }

// OwedAfterRemoval lists the restarts that a removed switch still owes.
func (h *Host) OwedAfterRemoval(ctx context.Context, id string) ([]Debt, error) {
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	open, _ := inv.openDebts(func(d Debt) bool { return d.Owner == switchDeleteOwner(id) })
	return open, nil
}

// payOrphanDebts pays what a removed switch still owes: its Delete was cut off before the restart.
func (h *Host) payOrphanDebts(ctx context.Context, inv *Inventory, id string, spec SwitchSpec) ([]Note, error) {
	epoch := h.currentEpoch()
	open, _ := inv.openDebts(func(d Debt) bool { return d.Owner == switchDeleteOwner(id) })
	devices := map[string]*Device{}
	for _, debt := range open {
		for _, hw := range inv.Hardware {
			if d, ok := inv.device(hw.Name, ""); ok && hw.location() == debt.TargetID {
				devices[d.Location] = d
			}
		}
	}
	return h.payRemoval(ctx, inv, devices, epoch, id, "switch "+id, spec)
}

// refuseConnected lists what would lose its network with the switch.
func (h *Host) refuseConnected(inv *Inventory, op string, s *Switch, spec SwitchSpec) error {
	refusal := func(cause string, users []string, fix string) error {
		return &Error{Kind: InUse, Op: op, Host: h.Name, Object: switchAbout(s.Name), Value: s.Name, Cause: cause + strings.Join(users, ", ") + ".", Fix: fix}
	}
	var vnics, users []string
	for _, m := range inv.Management {
		if sameGUID(m.SwitchID, s.ID) && !strings.EqualFold(m.Name, s.Name) {
			vnics = append(vnics, fmt.Sprintf("host vNIC %q", m.Name))
		}
	}
	for _, a := range s.Connected {
		users = append(users, a.String())
	}
	switch {
	case len(vnics) > 0:
		return refusal("Virtual adapters of the host that are not the switch's own would go with it, and their IP configuration too (facts.md 16, 28): ", append(vnics, users...),
			"Remove them first (Remove-VMNetworkAdapter -ManagementOS -Name …), or move what uses them. disconnect_adapters is about adapters of VMs only: a host vNIC cannot be disconnected.")
	case len(users) > 0 && !spec.DisconnectAdapters:
		return refusal("Adapters are connected to it and would lose their network (facts.md 62): ", users,
			"Remove or disconnect them first (Disconnect-VMNetworkAdapter), or set disconnect_adapters = true and apply that before the switch goes: they are then connected to the next switch of this name again. "+
				"Adapters of this configuration go first if they refer to the switch resource.")
	}
	return nil
}

func vmNames(adapters []ConnectedAdapter) []string {
	var out []string
	for _, a := range adapters {
		out = append(out, a.VMName)
	}
	return out
}
