package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// TargetRef says whose Windows is meant: the host's own, or that of a VM's guest.
type TargetRef struct {
	VMName     string // empty for the host itself
	VMID       string // by it where it is known: it outlives every rename
	Credential string // name of a guest credential, "" for the VM's own or the default
}

func (r TargetRef) guest() bool { return r.VMName != "" || r.VMID != "" }

// about names the target for people.
func (r TargetRef) about() string {
	if r.guest() {
		return fmt.Sprintf("the guest of VM %q", r.VMName)
	}
	return "the host"
}

// guestTargetPrefix stands in front of a VM's id where the ledger names the Windows inside it.
const guestTargetPrefix = "guest "

// targetID names a target in the ledger.
func targetID(vm *VM) string {
	if vm == nil {
		return "host"
	}
	return guestTargetPrefix + strings.ToLower(vm.ID)
}

// target is the Windows that a batch of calls goes to.
type target struct {
	host  *Host
	ref   TargetRef
	guest *wire.Guest // nil on the host
}

// target prepares a batch's way to the host or a guest. The batch must read the VM (partVM) ahead of the calls.
func (h *Host) target(op string, ref TargetRef) (*target, error) {
	t := &target{host: h, ref: ref}
	if !ref.guest() {
		return t, nil
	}
	var id any = wire.FirstProperty("vms", "Id")
	if ref.VMID != "" {
		id = ref.VMID
	}
	g, err := h.guestTarget(op, AdapterRef{VMName: ref.VMName, VMID: ref.VMID}, id, ref.Credential)
	if err != nil {
		return nil, err
	}
	t.guest = &g
	return t, nil
}

// in sends a call to the target.
func (t *target) in(c wire.Call) wire.Call {
	c.Guest = t.guest
	return c
}

// parts are the parts that find the target's VM; none on the host.
func (t *target) parts() []part {
	if t.guest == nil {
		return nil
	}
	return []part{partVMOnly(t.ref.VMID, t.ref.VMName)}
}

// vm finds the target's VM; nil on the host.
func (t *target) vm(ctx context.Context, inv *Inventory, op string) (*VM, error) {
	if !t.ref.guest() {
		return nil, nil
	}
	ref := AdapterRef{VMID: t.ref.VMID, VMName: t.ref.VMName}
	vm, err := inv.findVM(t.host, op, ref)
	if err != nil {
		return nil, t.host.elaborate(ctx, ref, err)
	}
	return vm, nil
}

// lock serialises what happens to the target: by the VM's name, or to one setting of the host.
func (t *target) lock(ctx context.Context, setting string) (func(), error) {
	if t.ref.guest() {
		return t.host.lockVM(ctx, t.ref.VMName)
	}
	return t.host.locks.lock(ctx, "host:"+setting)
}

// failure is why a guest could not be asked, by the errors of the call that was to ask it; nil if it answered.
func (t *target) failure(op string, vm *VM, errors []wire.CommandError) error {
	if vm != nil && vm.State != "Running" {
		return notRunning(t.host, op, vm)
	}
	if len(errors) == 0 {
		return nil
	}
	if unanswered(errors[0]) {
		return t.host.unreachable(op, t.ref.about(), errors[0])
	}
	return &Error{Kind: commandKind(errors[0]), Op: op, Host: t.host.Name, Object: t.ref.about(), Command: &errors[0]}
}

// renamed refuses to go on with a VM that was renamed outside of Terraform.
func (t *target) renamed(op, configured string, vm *VM) error {
	if vm == nil {
		return nil
	}
	return t.host.renamedVM(op, t.ref.about(), configured, vm)
}

// partPorts reads the host's net adapters and which PCI devices they belong to.
func partPorts(b *batch) func(*Inventory) error {
	nics := find[NetAdapter](b, wire.Call{Cmdlet: "Get-NetAdapter"})
	hw := find[HardwareInfo](b, wire.Call{Cmdlet: "Get-NetAdapterHardwareInfo"}, absent())
	return func(inv *Inventory) error { inv.NetAdapters, inv.Hardware = nics.Items, hw.Items; return nil }
}

// forgetOrFail answers for a guest that cannot be reached on the way back: an error, or a note that it stays as it is.
func (t *target) forgetOrFail(why error, forget bool, what string) (Note, error) {
	if forget {
		return Note{fmt.Sprintf("The guest of VM %q was left as it is", t.ref.VMName),
			fmt.Sprintf("It cannot be reached, and on_unreachable is \"forget\": %s stays as this resource set it. %s", what, why.Error())}, nil
	}
	var e *Error
	if asError(why, &e) {
		e.Attribute, e.Value = "on_unreachable", "error"
		e.Fix += ` Or set on_unreachable = "forget" to leave the guest as it is.`
	}
	return Note{}, why
}

// FindVM finds a VM for an import, by name or by id.
func (h *Host) FindVM(ctx context.Context, vm string) (*VM, error) {
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	ref := AdapterRef{VMName: vm}
	for _, x := range inv.VMs {
		if sameGUID(x.ID, vm) {
			ref.VMID = x.ID
		}
	}
	found, err := inv.findVM(h, "find the VM", ref)
	return found, h.elaborate(ctx, ref, err)
}
