package hyperv

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// UpdateSwitch changes what Windows can change in place: name, notes, the host's own adapter, members and
// load balancing of a team; then it pays the restarts that are owed, and connects what waits for the switch.
func (h *Host) UpdateSwitch(ctx context.Context, id string, spec SwitchSpec) (*Switch, error) {
	const op = "change the switch"
	inv, unlock, err := h.readLocked(ctx, op, switchAbout(spec.Name), spec.NetAdapterNames, partHost, partNetAdapters, partSwitches, partLedger, partHostNetwork)
	if err != nil {
		return nil, err
	}
	defer func() { unlock() }()
	now, err := h.switchByID(inv, id)
	if err != nil {
		return nil, err
	}
	out, change, err := h.changeSwitch(ctx, op, inv, now, spec)
	epoch := h.currentEpoch()
	change.unlock()
	unlock()
	if err != nil {
		return nil, err
	}
	if spec.RestartPolicy != RestartManual {
		for _, d := range change.devices {
			if !owes(out.Debts, d.Location) {
				continue
			}
			if _, err := h.payOwed(ctx, d, change.read, epoch, ownedBy(owners(out.Debts)...)); err != nil {
				return out, err
			}
			if out, err = h.readSwitch(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	out.Notes = append(iovNotes(inv, out), h.reconnect(ctx, out, change.read.ledger)...)
	return out, nil
}

// changedSwitch is what a change in place leaves for what comes next.
type changedSwitch struct {
	read    *Inventory
	devices []*Device // that the switch has, leaves or comes to
	unlocks []func()
}

func (c *changedSwitch) unlock() {
	for _, f := range c.unlocks {
		f()
	}
	c.unlocks = nil
}

// changeSwitch makes the change in place. Callers hold the lock of the devices that the switch is to have.
func (h *Host) changeSwitch(ctx context.Context, op string, inv *Inventory, now *Switch, spec SwitchSpec) (*Switch, *changedSwitch, error) {
	change := &changedSwitch{}
	nics, devices, err := h.switchMembers(inv, op, spec, now.ID)
	if err != nil {
		return nil, change, err
	}
	change.devices = devices
	w := inv.ledger.writes()
	moved := h.oweForMembers(inv, w, spec, now)
	for loc, d := range moved {
		if !hasDevice(change.devices, loc) {
			unlockOld, err := h.lockDevice(ctx, d)
			if err != nil {
				return nil, change, err
			}
			change.unlocks = append(change.unlocks, unlockOld)
			change.devices = append(change.devices, d)
		}
	}
	w.claimPorts(spec, nics, leavers(nics, inv.members(now)))
	c := &switchChange{host: h, batch: h.batch(op, switchAbout(spec.Name)), records: w, before: inv, preserve: spec.PreserveHostIPConfig,
		parts: []part{partHost, partNetAdapters, partSwitches, partConnections, partLedger}}
	removed := spec.AllowManagementOS != nil && !*spec.AllowManagementOS && now.ManagementAdapter
	if removed || len(without(spec.NetAdapterNames, now.NetAdapterNames))+len(without(now.NetAdapterNames, spec.NetAdapterNames)) > 0 {
		c.path = h.managementPath(inv, append(nics, inv.members(now)...))
	}
	c.begin()
	b := c.batch
	find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Id": []any{wire.GUID(now.ID)}}, Save: "switch"})
	if now.Name != spec.Name {
		b.change(wire.Call{Cmdlet: "Rename-VMSwitch", Input: "switch", Parameters: map[string]any{"NewName": spec.Name, "Confirm": false}})
		find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Id": []any{wire.GUID(now.ID)}}, Save: "switch"})
	}
	if spec.Notes != nil && *spec.Notes != now.VMSwitch.Notes {
		b.change(wire.Call{Cmdlet: "Set-VMSwitch", Parameters: map[string]any{"VMSwitch": wire.Ref{Call: "switch"}, "Notes": *spec.Notes, "Confirm": false}})
	}
	changeManagementAdapter(b, spec, now)
	changeMembers(b, spec, now)
	if spec.LoadBalancingAlgorithm != "" && spec.LoadBalancingAlgorithm != now.LoadBalancingAlgorithm {
		b.change(teamCall("switch", spec))
	}
	if !c.away() {
		w.addRemoves(b)
	}
	if change.read, err = c.run(ctx, func(undo *batch) { undoSwitchChange(undo, now.ID, spec, now, removed) }); err != nil {
		return nil, change, err
	}
	out, err := h.switchByID(change.read, now.ID)
	return out, change, err
}

// undoSwitchChange gives the switch its host vNIC and its net adapters back.
func undoSwitchChange(undo *batch, id string, spec SwitchSpec, now *Switch, removed bool) {
	find[VMSwitch](undo, wire.Call{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Id": []any{wire.GUID(id)}}, Save: "switch"}, tolerating(anyError))
	was := *now
	was.NetAdapterNames = spec.NetAdapterNames
	first := len(undo.calls)
	changeMembers(undo, SwitchSpec{NetAdapterNames: now.NetAdapterNames}, &was)
	if removed {
		undo.change(wire.Call{Cmdlet: "Add-VMNetworkAdapter", Parameters: map[string]any{"ManagementOS": true, "SwitchName": spec.Name, "Name": now.Name, "Confirm": false}})
	}
	for i := first; i < len(undo.calls); i++ { // one that has nothing to take back stops nothing
		undo.calls[i].OnError = wire.OnErrorContinue
	}
}

// members are a switch's physical net adapters.
func (inv *Inventory) members(s *Switch) []NetAdapter {
	var out []NetAdapter
	for _, guid := range s.NetAdapterInterfaceGuid {
		if nic, ok := inv.netAdapterByGUID(guid); ok {
			out = append(out, *nic)
		}
	}
	return out
}

// leavers are the net adapters of was that now lacks.
func leavers(now, was []NetAdapter) []NetAdapter {
	var out []NetAdapter
	for _, nic := range was {
		if !hasAdapter(now, nic.InterfaceGuid) {
			out = append(out, nic)
		}
	}
	return out
}

func owners(debts []Debt) []string {
	var out []string
	for _, d := range debts {
		out = append(out, d.Owner)
	}
	return out
}

func owes(debts []Debt, target string) bool {
	for _, d := range debts {
		if d.TargetID == target {
			return true
		}
	}
	return false
}

// changeManagementAdapter adds or removes the one host vNIC that is named like the switch, and renames it with the
// switch. Set-VMSwitch -AllowManagementOS would remove all of the switch's host vNICs (facts.md 16).
func changeManagementAdapter(b *batch, spec SwitchSpec, now *Switch) {
	want := now.ManagementAdapter
	if spec.AllowManagementOS != nil {
		want = *spec.AllowManagementOS
	}
	if now.ManagementAdapter && (!want || now.Name != spec.Name) {
		find[ManagementAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"ManagementOS": true}, Save: "own vnic",
			Where: []wire.Condition{{Property: "Name", Equals: []string{now.Name}}, {Property: "SwitchId", Equals: []string{now.ID}}}})
	}
	switch {
	case want && !now.ManagementAdapter:
		b.change(wire.Call{Cmdlet: "Add-VMNetworkAdapter", Parameters: map[string]any{"ManagementOS": true, "SwitchName": spec.Name, "Name": spec.Name, "Confirm": false}})
	case !want && now.ManagementAdapter:
		b.change(wire.Call{Cmdlet: "Remove-VMNetworkAdapter", Input: "own vnic", Parameters: map[string]any{"Confirm": false}})
	case want && now.Name != spec.Name:
		b.change(wire.Call{Cmdlet: "Rename-VMNetworkAdapter", Parameters: map[string]any{"VMNetworkAdapter": wire.Ref{Call: "own vnic"}, "NewName": spec.Name, "Confirm": false}})
	}
}

// changeMembers gives the switch other net adapters in place. A team's members come and go one by one; a
// switch without a team takes one other adapter: Set-VMSwitch -NetAdapterName is one text (facts.md 19).
func changeMembers(b *batch, spec SwitchSpec, now *Switch) {
	add, remove := without(spec.NetAdapterNames, now.NetAdapterNames), without(now.NetAdapterNames, spec.NetAdapterNames)
	if !now.EmbeddedTeamingEnabled {
		if len(add) > 0 {
			b.change(wire.Call{Cmdlet: "Set-VMSwitch", Parameters: map[string]any{"VMSwitch": wire.Ref{Call: "switch"}, "NetAdapterName": add[0], "Confirm": false}})
		}
		return
	}
	if len(add) > 0 {
		b.change(wire.Call{Cmdlet: "Add-VMSwitchTeamMember", Input: "switch", Parameters: map[string]any{"NetAdapterName": add, "Confirm": false}})
	}
	if len(remove) > 0 {
		b.change(wire.Call{Cmdlet: "Remove-VMSwitchTeamMember", Input: "switch", Parameters: map[string]any{"NetAdapterName": remove, "Confirm": false}})
	}
}

// oweForMembers owes the restart of every device that the switch leaves or comes to (facts.md 25), and gives these devices.
func (h *Host) oweForMembers(inv *Inventory, w *ledgerWrites, spec SwitchSpec, now *Switch) map[string]*Device {
	out := map[string]*Device{}
	moved := append(without(spec.NetAdapterNames, now.NetAdapterNames), without(now.NetAdapterNames, spec.NetAdapterNames)...)
	for _, name := range moved {
		d, ok := inv.device(name, spec.Profile)
		if !ok || !d.Profile.RebindAfterSwitch || len(now.NetAdapterInterfaceGuid) == 0 {
			continue
		}
		out[d.Location] = d
		w.owe(Debt{Kind: RestartNetAdapter, Target: d.Title(), TargetID: d.Location, Owner: switchOwner(now.ID), Since: inv.Now(),
			Reason: fmt.Sprintf("net adapter %q moved to or from switch %q: all ports of the device must be disabled and enabled (facts.md 25)", name, spec.Name)})
	}
	return out
}

// without lists the names of a that b lacks, ignoring case.
func without(a, b []string) []string {
	var out []string
	for _, x := range a {
		found := false
		for _, y := range b {
			found = found || strings.EqualFold(x, y)
		}
		if !found {
			out = append(out, x)
		}
	}
	return out
}

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
		if inv, now, err = h.switchToRemove(ctx, op, id, spec); err != nil || now == nil {
			return nil, err
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
	for _, loc := range sorted(devices) {
		d := devices[loc]
		due := dueOnDelete(inv.ledger, d, spec.RestartPolicy, ownedBy(switchDeleteOwner(id)))
		switch {
		case due == nil || !inv.ledger.owes(d, due):
		case spec.KeepOwedOnDelete && inv.owes(d, due):
			notes = append(notes, staysOwed(about, d))
		default:
			if _, err := h.payOwed(ctx, d, inv, epoch, due); err != nil {
				return notes, err
			}
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
