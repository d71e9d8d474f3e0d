package hyperv

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// ConnectedAdapter is a VM's network adapter that is connected to a switch.
type ConnectedAdapter struct {
	ID, GUID, Name string
	VMID, VMName   string
	// Ours says that the provider made it or manages its settings, as far as the ledger says.
	Ours bool
}

func (a ConnectedAdapter) String() string {
	whose := "not of this provider"
	if a.Ours {
		whose = "of this provider"
	}
	return fmt.Sprintf("%q of VM %q (%s)", a.Name, a.VMName, whose)
}

// connectedTo lists the VM adapters on a switch; those of checkpoints are not among them.
func (inv *Inventory) connectedTo(switchID string) []ConnectedAdapter {
	var out []ConnectedAdapter
	for i := range inv.VMs {
		vm := &inv.VMs[i]
		for _, a := range inv.adaptersOfVM(vm) {
			if !sameGUID(a.SwitchID, switchID) {
				continue
			}
			c := ConnectedAdapter{ID: a.ID, GUID: adapterGUID(a.ID), Name: a.Name, VMID: vm.ID, VMName: vm.Name}
			c.Ours = inv.ledger != nil && inv.ledger.ours(vm.ID, a.ID)
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].VMName != out[j].VMName {
			return out[i].VMName < out[j].VMName
		}
		return out[i].Name+out[i].ID < out[j].Name+out[j].ID
	})
	return out
}

// ours says that the provider made the adapter, or that a resource manages its settings or its guest's.
func (l *ledger) ours(vmID, id string) bool {
	if l.isMade(id) {
		return true
	}
	for _, object := range []string{adapterObjectOf(vmID, id), guestObjectOf(vmID, id)} {
		if _, ok := l.claim(object); ok {
			return true
		}
	}
	return false
}

// disconnected is the record of an adapter that lost its switch to us. It has the adapter's object, so that it goes
// with the adapter.
type disconnected struct {
	Object    string `json:"object"`
	VMID      string `json:"vm_id"`
	AdapterID string `json:"adapter_id"`
	Switch    string `json:"switch"`
	SwitchID  string `json:"switch_id"`
	About     string `json:"about"`
}

func disconnectedName(vmID, adapterID string) string {
	return recordName("disconnected", vmID, adapterGUID(adapterID))
}

// disconnectedFrom lists the adapters that a removed switch of this name left behind, in a stable order.
func (l *ledger) disconnectedFrom(switchName string) []disconnected {
	var out []disconnected
	for _, name := range sorted(l.values) {
		var r disconnected
		if strings.HasPrefix(name, "disconnected.") && json.Unmarshal([]byte(l.values[name]), &r) == nil && strings.EqualFold(r.Switch, switchName) {
			out = append(out, r)
		}
	}
	return out
}

// partConnections reads the VMs and the adapters that they have, without what hangs on these.
func partConnections(b *batch) func(*Inventory) error {
	vms := find[VM](b, wire.Call{Cmdlet: "Get-VM", Save: "vms"})
	adapters := find[VMNetworkAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Input: "vms"})
	return func(inv *Inventory) error {
		inv.VMs, inv.Adapters = vms.Items, adapters.Items
		return nil
	}
}

// disconnect adds the calls that disconnect the adapters: Remove-VMSwitch
// refuses a switch that a running VM uses, and a removed switch leaves its adapters disconnected (facts.md 62).
func (b *batch) disconnect(adapters []ConnectedAdapter) {
	if len(adapters) == 0 {
		return
	}
	b.saveAdapters(adapters)
	b.change(wire.Call{Cmdlet: "Disconnect-VMNetworkAdapter", Parameters: map[string]any{"VMNetworkAdapter": wire.Ref{Call: "connected"}, "Confirm": false}})
}

// saveAdapters saves the live adapters under "connected": names are not unique, ids are (facts.md 49).
func (b *batch) saveAdapters(adapters []ConnectedAdapter) {
	var ids, vms []string
	for _, a := range adapters {
		ids, vms = append(ids, a.ID), append(vms, a.VMID)
	}
	find[VM](b, wire.Call{Cmdlet: "Get-VM", Save: "their vms", Where: []wire.Condition{{Property: "Id", Equals: unique(vms)}}})
	find[VMNetworkAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Input: "their vms", Save: "connected", Where: []wire.Condition{{Property: "Id", Equals: ids}}})
}

// connectAgain adds the calls that take a disconnect back.
func (b *batch) connectAgain(adapters []ConnectedAdapter, switchID string) {
	if len(adapters) == 0 {
		return
	}
	find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Id": []any{wire.GUID(switchID)}}, Save: "still there"})
	b.saveAdapters(adapters)
	b.change(wire.Call{Cmdlet: "Connect-VMNetworkAdapter", Parameters: map[string]any{"VMNetworkAdapter": wire.Ref{Call: "connected"}, "VMSwitch": wire.First("still there"), "Confirm": false}})
}

// rememberConnections writes a record for each, ahead of the disconnect.
func (w *ledgerWrites) rememberConnections(adapters []ConnectedAdapter, s *Switch) {
	for _, a := range adapters {
		w.set(disconnectedName(a.VMID, a.ID), disconnected{Object: adapterObjectOf(a.VMID, a.ID), VMID: a.VMID, AdapterID: a.ID, Switch: s.Name, SwitchID: s.ID,
			About: fmt.Sprintf("network adapter %q of VM %q was connected to switch %q", a.Name, a.VMName, s.Name)})
	}
}

// undoDisconnect connects the adapters of a switch that could not be removed.
func (h *Host) undoDisconnect(ctx context.Context, s *Switch, l *ledger, cause error) error {
	adapters := s.Connected
	if len(adapters) == 0 || changeLost(cause) { // where nobody knows what was done, the next attempt finds out
		return cause
	}
	ctx, cancel := h.cleanUp(ctx)
	defer cancel()
	const op = "connect the adapters again"
	inv, err := h.read(ctx, op, switchAbout(s.Name), partSwitchList)
	if err != nil {
		return fmt.Errorf("%w; and connecting its adapters again failed: %w", cause, err)
	}
	if _, err := h.switchByID(inv, s.ID); err != nil { // what failed came behind the removal
		return cause
	}
	w := l.writes()
	b := h.batch(op, switchAbout(s.Name))
	b.connectAgain(adapters, s.ID)
	for _, a := range adapters {
		w.drop(disconnectedName(a.VMID, a.ID))
	}
	w.addRemoves(b)
	defer w.guard(h)()
	if err := b.run(ctx); err != nil {
		return fmt.Errorf("%w; and connecting its adapters again failed: %w", cause, err)
	}
	w.apply()
	return cause
}

// reconnect connects what a removed switch of the same name left disconnected, adapters of other tools included, and
// forgets the records. An adapter that is gone, or that was connected elsewhere meanwhile, is left alone.
func (h *Host) reconnect(ctx context.Context, s *Switch, l *ledger) []Note {
	if len(l.disconnectedFrom(s.Name)) == 0 {
		return nil
	}
	failed := func(err error) []Note {
		return []Note{{fmt.Sprintf("Network adapters were not connected to the switch %q again", s.Name),
			err.Error() + "\n\nThe switch was made. Connect them with Connect-VMNetworkAdapter, or apply another change of the switch."}}
	}
	const op = "connect the adapters again"
	inv, err := h.read(ctx, op, switchAbout(s.Name), partLedger, partConnections)
	if err != nil {
		return failed(err)
	}
	w := inv.ledger.writes()
	b := h.batch(op, switchAbout(s.Name))
	find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Id": []any{wire.GUID(s.ID)}}, Save: "switch"})
	var names []string
	answers := map[string]*answer{}
	for i, r := range inv.ledger.disconnectedFrom(s.Name) {
		a, vm := inv.adapterByID(r.VMID, r.AdapterID)
		if a == nil || a.SwitchID != "" {
			w.drop(disconnectedName(r.VMID, r.AdapterID))
			continue
		}
		names = append(names, vm.Name)
		save := fmt.Sprintf("adapter %d", i)
		find[VM](b, wire.Call{Cmdlet: "Get-VM", Parameters: map[string]any{"Id": wire.GUID(vm.ID)}, Save: "vm"})
		find[VMNetworkAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Input: "vm", Save: save, Where: []wire.Condition{{Property: "Id", Equals: []string{a.ID}}}})
		answers[disconnectedName(r.VMID, r.AdapterID)] = b.change(wire.Call{Cmdlet: "Connect-VMNetworkAdapter",
			Parameters: map[string]any{"VMNetworkAdapter": wire.First(save), "VMSwitch": wire.First("switch"), "Confirm": false}}, tolerating(anyError))
	}
	unlock, err := h.lockVMs(ctx, names)
	if err != nil {
		return failed(err)
	}
	defer unlock()
	after := b.readParts(partLedger, partConnections)
	if len(answers) > 0 {
		if err := b.run(ctx); err != nil {
			return failed(err)
		}
		if inv, err = after(); err != nil {
			return failed(err)
		}
	}
	var notes []Note
	for _, name := range sorted(answers) {
		if a := answers[name]; a.failed() {
			notes = append(notes, failed(b.commandError(wire.Call{Cmdlet: "Connect-VMNetworkAdapter"}, a.Errors[0]))...)
			continue
		}
		w.drop(name)
	}
	s.Connected = inv.connectedTo(s.ID)
	if len(w.remove) == 0 {
		return notes
	}
	drop := h.batch(op, switchAbout(s.Name))
	w.addRemoves(drop)
	defer w.guard(h)()
	if err := drop.run(ctx); err != nil {
		return append(notes, failed(err)...)
	}
	w.apply()
	return notes
}

// adapterByID finds an adapter and its VM.
func (inv *Inventory) adapterByID(vmID, id string) (*VMNetworkAdapter, *VM) {
	for i := range inv.VMs {
		if !sameGUID(inv.VMs[i].ID, vmID) {
			continue
		}
		for _, a := range inv.adaptersOfVM(&inv.VMs[i]) {
			if strings.EqualFold(a.ID, id) {
				return a, &inv.VMs[i]
			}
		}
	}
	return nil, nil
}

// lockVMs locks several VMs, always in the same order.
func (h *Host) lockVMs(ctx context.Context, names []string) (func(), error) {
	set := map[string]bool{}
	for _, n := range names {
		set[strings.ToLower(n)] = true
	}
	var unlocks []func()
	unlock := func() {
		for _, free := range unlocks {
			free()
		}
		unlocks = nil
	}
	for _, n := range sorted(set) {
		free, err := h.lockVM(ctx, n)
		if err != nil {
			unlock()
			return nil, err
		}
		unlocks = append(unlocks, free)
	}
	return unlock, nil
}
