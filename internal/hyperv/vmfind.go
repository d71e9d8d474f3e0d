package hyperv

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// AdapterRef says which VM network adapter is meant: by ids where they are known, which outlive every
// rename, else by names, which need not be unique (facts.md 49).
type AdapterRef struct {
	VMID        string
	VMName      string
	AdapterID   string // GUID, or a text that ends in it: Microsoft:<VM>\<adapter>, host/<VM>/<adapter>
	AdapterName string
}

// ByID is the ref of an adapter that was found.
func (a *VMAdapter) ByID() AdapterRef {
	return AdapterRef{VMID: a.VM.ID, VMName: a.VM.Name, AdapterID: a.GUID, AdapterName: a.Name}
}

func vmAbout(name string) string { return fmt.Sprintf("VM %q", name) }

func adapterAbout(ref AdapterRef) string {
	name := ref.AdapterName
	if name == "" {
		name = ref.AdapterID
	}
	return fmt.Sprintf("network adapter %q of VM %q", name, ref.VMName)
}

// adapterGUID is the part of an adapter's id that names the adapter.
func adapterGUID(id string) string {
	if i := strings.LastIndexAny(id, `\/`); i >= 0 {
		id = id[i+1:]
	}
	return strings.ToLower(strings.Trim(id, "{}"))
}

// SameAdapterID says whether two ids of VM network adapters name the same one: as a GUID, or as a text that ends in it.
func SameAdapterID(a, b string) bool { return adapterGUID(a) == adapterGUID(b) }

// macDigits is a MAC address as Hyper-V writes it: twelve hexadecimal digits in upper case.
func macDigits(s string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", ":", "", ".", "").Replace(s))
}

// VMAdapter is a VM network adapter with all that hangs on it.
type VMAdapter struct {
	VMNetworkAdapter
	VM                   VM
	GUID                 string // of the adapter
	RdmaWeight           int64
	VlanMode             string // Untagged, Access, Trunk, Private
	AccessVlanID         int64
	IsolationMode        string // None, Vlan, … (facts.md 60)
	IsolationID          int64
	TeamMapping          string // the physical net adapter's name, "" for none
	SwitchBandwidthMode  string // of the switch that it is connected to, "" when it is not
	SwitchIovEnabled     bool
	SwitchVFs            int64 // virtual functions of that switch
	SwitchVFsInUse       int64
	MembersOfTheSwitch   []string // InterfaceGuids
	RdmaWeightCmdletHere bool
	Debts                []Debt // restarts that the VM owes
}

// VlanMoved says that the VLAN is set through isolation, where Get-VMNetworkAdapterVlan does not show it (facts.md 60).
func (a *VMAdapter) VlanMoved() bool { return strings.EqualFold(a.IsolationMode, "Vlan") }

// describeAdapter joins an adapter with its settings in the inventory.
func (inv *Inventory) describeAdapter(vm *VM, a *VMNetworkAdapter) *VMAdapter {
	out := &VMAdapter{VMNetworkAdapter: *a, VM: *vm, GUID: adapterGUID(a.ID), RdmaWeightCmdletHere: inv.HasRdmaWeight}
	if inv.ledger != nil {
		out.Debts, _ = inv.openDebts(func(d Debt) bool { return d.Kind == RestartVM && sameGUID(d.TargetID, vm.ID) })
	}
	same := func(id string) bool { return strings.EqualFold(id, a.ID) }
	for _, r := range inv.RdmaSettings {
		if same(r.AdapterID) {
			out.RdmaWeight = r.RdmaWeight
		}
	}
	for _, v := range inv.Vlans {
		if same(v.AdapterID) {
			out.VlanMode = v.OperationMode
			if v.OperationMode == "Access" {
				out.AccessVlanID = int64(v.AccessVlanID)
			}
		}
	}
	for _, i := range inv.Isolations {
		if same(i.AdapterID) {
			out.IsolationMode, out.IsolationID = i.IsolationMode, int64(i.DefaultIsolationID)
		}
	}
	for _, t := range inv.TeamMappings {
		if same(t.AdapterID) {
			out.TeamMapping = t.NetAdapterName
		}
	}
	for _, s := range inv.Switches {
		if a.SwitchID != "" && sameGUID(s.ID, a.SwitchID) {
			out.SwitchBandwidthMode, out.SwitchIovEnabled, out.MembersOfTheSwitch = s.BandwidthReservationMode, s.IovEnabled, s.NetAdapterInterfaceGuid
			out.SwitchVFs, out.SwitchVFsInUse = s.IovVirtualFunctionCount, s.IovVirtualFunctionsInUse
		}
	}
	return out
}

// findVM finds the one VM that is meant.
func (inv *Inventory) findVM(h *Host, op string, ref AdapterRef) (*VM, error) {
	var hits []*VM
	for i := range inv.VMs {
		vm := &inv.VMs[i]
		if ref.VMID != "" && sameGUID(vm.ID, ref.VMID) || ref.VMID == "" && strings.EqualFold(vm.Name, ref.VMName) {
			hits = append(hits, vm)
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		var ids []string
		for _, vm := range hits {
			ids = append(ids, vm.ID)
		}
		sort.Strings(ids)
		return nil, &Error{Kind: Ambiguous, Op: op, Host: h.Name, Object: vmAbout(ref.VMName), Attribute: "vm_name", Value: ref.VMName,
			Cause: fmt.Sprintf("%d VMs have this name: %s.", len(hits), strings.Join(ids, ", ")),
			Fix:   "Rename one of them (Get-VM -Id … | Rename-VM -NewName …), so that the name says which is meant."}
	}
	return nil, &Error{Kind: NotFound, Op: op, Host: h.Name, Object: vmAbout(ref.VMName), Attribute: "vm_name", Value: ref.VMName,
		Cause: "The host has no VM of this name or id.", Fix: "Check the name for its spelling, and that the VM is on this host."}
}

// adaptersOfVM lists a VM's adapters; those of its checkpoints are not among them.
func (inv *Inventory) adaptersOfVM(vm *VM) []*VMNetworkAdapter {
	var out []*VMNetworkAdapter
	for i := range inv.Adapters {
		if a := &inv.Adapters[i]; sameGUID(a.VMID, vm.ID) && a.VMSnapshotName == "" {
			out = append(out, a)
		}
	}
	return out
}

// findAdapter finds the one adapter that is meant, and its VM.
func (inv *Inventory) findAdapter(h *Host, op string, ref AdapterRef) (*VMAdapter, error) {
	vm, err := inv.findVM(h, op, ref)
	if err != nil {
		return nil, err
	}
	attribute, value := "vm_network_adapter_name", ref.AdapterName
	if ref.AdapterID != "" {
		attribute, value = "vm_network_adapter_id", ref.AdapterID
	}
	var hits []*VMNetworkAdapter
	var all []string
	for _, a := range inv.adaptersOfVM(vm) {
		all = append(all, fmt.Sprintf("%q (%s)", a.Name, adapterGUID(a.ID)))
		if ref.AdapterID != "" && adapterGUID(a.ID) == adapterGUID(ref.AdapterID) || ref.AdapterID == "" && strings.EqualFold(a.Name, ref.AdapterName) {
			hits = append(hits, a)
		}
	}
	sort.Strings(all)
	switch {
	case len(hits) == 1:
		return inv.describeAdapter(vm, hits[0]), nil
	case len(hits) > 1:
		var ids []string
		for _, a := range hits {
			ids = append(ids, adapterGUID(a.ID))
		}
		sort.Strings(ids)
		return nil, &Error{Kind: Ambiguous, Op: op, Host: h.Name, Object: adapterAbout(ref), Attribute: attribute, Value: value,
			Cause: fmt.Sprintf("%d network adapters of the VM have this name (facts.md 49).", len(hits)),
			Fix:   "Name one by its id: " + strings.Join(ids, ", ") + "."}
	}
	if len(all) == 0 {
		all = []string{"none"}
	}
	return nil, &Error{Kind: NotFound, Op: op, Host: h.Name, Object: adapterAbout(ref), Attribute: attribute, Value: value,
		Cause: fmt.Sprintf("The VM %q has no such network adapter.", vm.Name), Fix: "Its network adapters: " + strings.Join(all, ", ") + "."}
}

// elaborate adds to a not-found error what only a look at the whole host can tell: which VMs there are, and
// whether an adapter of the management operating system was meant, which never gets a VF (facts.md 48).
func (h *Host) elaborate(ctx context.Context, ref AdapterRef, err error) error {
	var e *Error
	if !asError(err, &e) || e.Kind != NotFound {
		return err
	}
	inv, failed := h.Inventory(ctx)
	if failed != nil {
		return err
	}
	if e.Attribute == "vm_name" {
		var names []string
		for _, vm := range inv.VMs {
			names = append(names, vm.Name)
		}
		sort.Strings(names)
		e.Fix = "VMs of the host: " + quoteList(names) + "."
	}
	for _, m := range inv.Management {
		if strings.EqualFold(m.Name, ref.AdapterName) && ref.AdapterName != "" {
			e.Kind = Unsupported
			e.Cause += fmt.Sprintf(" An adapter %q belongs to the management operating system; such an adapter never gets a virtual function, and Set-VMNetworkAdapterRdma refuses it (facts.md 48).", m.Name)
			e.Fix = fmt.Sprintf("RDMA of a host adapter is turned on with Enable-NetAdapterRdma on %q. Name a VM and its network adapter here.", "vEthernet ("+m.Name+")")
		}
	}
	return err
}

// FindVMNetworkAdapter finds an adapter for an import: VM and adapter each by name or by id.
func (h *Host) FindVMNetworkAdapter(ctx context.Context, vm, adapter string) (*VMAdapter, error) {
	const op = "find the network adapter"
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	ref := AdapterRef{VMName: vm, AdapterName: adapter}
	for _, x := range inv.VMs {
		if sameGUID(x.ID, vm) {
			ref.VMID, ref.VMName = x.ID, x.Name
		}
	}
	for _, x := range inv.Adapters {
		if adapterGUID(x.ID) == adapterGUID(adapter) {
			ref.AdapterID = adapter
		}
	}
	out, err := inv.findAdapter(h, op, ref)
	return out, h.elaborate(ctx, ref, err)
}

// ReadVMNetworkAdapter reads an adapter from the shared inventory.
func (h *Host) ReadVMNetworkAdapter(ctx context.Context, ref AdapterRef) (*VMAdapter, error) {
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	a, err := inv.findAdapter(h, "read the network adapter", ref)
	if err == nil {
		h.noteStored(inv, intent{Kind: kindAdapter, VMID: strings.ToLower(a.VM.ID), Name: a.Name}, a.ID)
	}
	return a, err
}

// lockVM serialises what happens to a VM. The name is the key: every caller has it before it reads anything.
func (h *Host) lockVM(ctx context.Context, name string) (func(), error) {
	return h.locks.lock(ctx, "vm:"+strings.ToLower(name))
}

// partSwitchList reads the switches alone.
func partSwitchList(b *batch) func(*Inventory) error {
	sw := find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch"})
	return func(inv *Inventory) error { inv.Switches = sw.Items; return nil }
}

// partNetAdapterList reads the host's net adapters alone.
func partNetAdapterList(b *batch) func(*Inventory) error {
	nics := find[NetAdapter](b, wire.Call{Cmdlet: "Get-NetAdapter"})
	return func(inv *Inventory) error { inv.NetAdapters = nics.Items; return nil }
}

// saveAdapter saves the live VM and adapter of a batch under "vm" and "adapter": what acts on them behind this
// acts on the objects, never on names.
func (b *batch) saveAdapter(a *VMAdapter) {
	find[VM](b, wire.Call{Cmdlet: "Get-VM", Parameters: map[string]any{"Id": wire.GUID(a.VM.ID)}, Save: "vm"})
	find[VMNetworkAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"VM": wire.First("vm")}, Save: "adapter",
		Where: []wire.Condition{{Property: "Id", Equals: []string{a.ID}}}})
}

// invalidState says that VMMS refused a change because of the state that the VM is in (errors.md 4).
func invalidState(err error) bool {
	var e *Error
	return asError(err, &e) && e.Command != nil && idHead(*e.Command) == "InvalidState"
}

// refineState explains a refusal by the state of the VM.
func refineState(err error, vm *VM, rule string) error {
	var e *Error
	if invalidState(err) && asError(err, &e) {
		e.Cause = fmt.Sprintf("Hyper-V refuses the change while the VM %q is %s: %s", vm.Name, strings.ToLower(vm.State), rule)
		e.Fix = "Shut down the VM, then apply again."
	}
	return err
}
