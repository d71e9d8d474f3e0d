package hyperv

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Values of NetworkDirectAcrossIPSubnets (facts.md 68).
const (
	AcrossAllowed = "Allowed"
	AcrossBlocked = "Blocked"
)

const settingAcross = "NetworkDirectAcrossIPSubnets"

// RoutingSpec is whether RDMA may cross IP subnets on a host or in a guest.
type RoutingSpec struct {
	Target        TargetRef
	Across        string     // AcrossAllowed or AcrossBlocked
	Adapters      []string   // net adapters that restart after a change; on a host all ports of their devices
	Known         KnownPorts // which net adapters these are
	RestartPolicy string
	// KeepOwedOnDelete leaves a restart that is due when the resource goes.
	KeepOwedOnDelete bool
}

// Routing is what a host or guest says of it.
type Routing struct {
	VM        *VM      // nil on the host
	Across    string   // "" where a guest could not be asked
	Restarted []string // what a change restarts, as a plan names it
	Err       error    // why the guest could not be asked
	Debts     []Debt
	Notes     []Note
	Known     KnownPorts
}

// offloadSetting is Get-NetOffloadGlobalSetting.
type offloadSetting struct {
	NetworkDirect                string `json:"NetworkDirect"`
	NetworkDirectAcrossIPSubnets string `json:"NetworkDirectAcrossIPSubnets"`
}

func routingAbout(ref TargetRef) string { return settingAcross + " of " + ref.about() }

func routingObject(vm *VM) string { return "network direct routing " + targetID(vm) }

func routingOwner(vm *VM) string { return "hyperv_network_direct_routing:" + targetID(vm) }

// routingClaimant names the resource by what its configuration says.
func routingClaimant(s *RoutingSpec) string {
	names := make([]string, 0, len(s.Adapters))
	for _, n := range s.Adapters {
		names = append(names, strings.ToLower(n))
	}
	sort.Strings(names)
	return fmt.Sprintf("hyperv_network_direct_routing of %s with net adapters %s", s.Target.about(), quoteList(names))
}

// readOffload adds the call that reads the setting.
func (t *target) readOffload(b *batch) *found[offloadSetting] {
	var opts []option
	if t.guest != nil { // what the host says counts too, and why the guest could not be asked is in the result
		opts = append(opts, tolerating(anyError))
	}
	return find[offloadSetting](b, t.in(wire.Call{Cmdlet: "Get-NetOffloadGlobalSetting"}), opts...)
}

// partOffload reads the host's setting into the inventory.
func partOffload(b *batch) func(*Inventory) error {
	s := (&target{}).readOffload(b)
	return func(inv *Inventory) error {
		if len(s.Items) > 0 {
			inv.Across = s.Items[0].NetworkDirectAcrossIPSubnets
		}
		return nil
	}
}

// ReadRouting reads the setting. A guest that cannot be reached is no error: the result says so.
func (h *Host) ReadRouting(ctx context.Context, spec RoutingSpec) (*Routing, error) {
	const op = "read " + settingAcross
	if !spec.Target.guest() {
		inv, more, err := h.inventoryWith(ctx, "offload", partOffload)
		if err != nil {
			return nil, err
		}
		out := &Routing{Across: more.Across, Restarted: inv.deviceTitles(nowCalled(inv.NetAdapters, spec.Adapters, spec.Known)),
			Known: knowPorts(inv.NetAdapters, spec.Adapters, spec.Known)}
		h.finishRoutingRead(inv, &spec, out)
		return out, nil
	}
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	t, err := h.target(op, spec.Target)
	if err != nil {
		return nil, err
	}
	out := &Routing{Restarted: []string{GuestAdapterTitle(spec.Adapters, spec.Target.VMName)}, Known: spec.Known}
	if out.VM, err = t.vm(ctx, inv, op); err != nil {
		return nil, err
	}
	h.finishRoutingRead(inv, &spec, out)
	if out.Err = t.failure(op, out.VM, nil); out.Err != nil {
		return out, nil
	}
	t.guest.VMID = out.VM.ID
	b := h.batch(op, routingAbout(spec.Target))
	s := t.readOffload(b)
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	if out.Err = t.failure(op, out.VM, s.Errors); out.Err == nil && len(s.Items) > 0 {
		out.Across = s.Items[0].NetworkDirectAcrossIPSubnets
	}
	return out, nil
}

// finishRoutingRead adds what the ledger knows.
func (h *Host) finishRoutingRead(inv *Inventory, spec *RoutingSpec, out *Routing) {
	owner := routingOwner(out.VM)
	out.Debts, _ = inv.openDebts(func(d Debt) bool { return d.Owner == owner })
	if who, ok := inv.ledger.claim(routingObject(out.VM)); ok && who == routingClaimant(spec) {
		h.claimed.add(routingObject(out.VM))
	}
}

// deviceTitles are the titles of the devices that carry the named ports.
func (inv *Inventory) deviceTitles(names []string) []string {
	var out []string
	for _, d := range inv.devicesNamed(names) {
		out = append(out, d.Title())
	}
	return out
}

// GuestAdapterTitle names net adapters inside a guest for people, as the target of a restart.
func GuestAdapterTitle(names []string, vmName string) string {
	return fmt.Sprintf("%s in the guest of VM %s", strings.Join(names, ", "), vmName)
}
