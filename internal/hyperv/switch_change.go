package hyperv

import (
	"context"
	"fmt"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// UpdateSwitch changes what Windows can change in place: name, notes, the host's own adapter, members and
// load balancing of a team; then it pays the restarts that are owed, and connects what waits for the switch.
func (h *Host) UpdateSwitch(ctx context.Context, id string, spec SwitchSpec) (*Switch, error) {
	const op = "change the switch"
	inv, unlock, err := h.readLocked(ctx, op, switchAbout(spec.Name), spec.Known.lockedBy(spec.NetAdapterNames), partHost, partNetAdapters, partSwitches, partLedger, partHostNetwork)
	if err != nil {
		return nil, err
	}
	defer func() { unlock() }()
	if err := h.refuseSwapped(inv.NetAdapters, op, spec.NetAdapterNames, spec.Known); err != nil {
		return nil, err
	}
	spec.NetAdapterNames = nowCalled(inv.NetAdapters, spec.NetAdapterNames, spec.Known)
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
		if !containsFold(b, x) {
			out = append(out, x)
		}
	}
	return out
}
