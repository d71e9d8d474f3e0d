package hyperv

import (
	"context"
	"slices"
)

// beginDcb locks DCB of the host and the devices of the net adapters at stake, and reads what there is. The net adapters
// of the specs become what they are called now.
func (h *Host) beginDcb(ctx context.Context, op string, spec, old *DcbSpec) (*dcbChange, func(), error) {
	h.alsoRead(dcbKey, partDcb)
	free, err := h.locks.lock(ctx, "dcb")
	if err != nil {
		return nil, nil, err
	}
	ports := spec.Known.lockedBy(spec.NetAdapters)
	if old != nil {
		ports = append(ports, old.Known.lockedBy(old.NetAdapters)...)
	}
	for {
		inv, unlock, err := h.readLocked(ctx, op, dcbAbout, ports, dcbParts(spec)...)
		if err != nil {
			free()
			return nil, nil, err
		}
		more := inv.recordedQosPorts(ports)
		if len(more) == 0 {
			spec.NetAdapters = nowCalled(inv.NetAdapters, spec.NetAdapters, spec.Known)
			if old != nil {
				old.NetAdapters = nowCalled(inv.NetAdapters, old.NetAdapters, old.Known)
			}
			c := &dcbChange{host: h, inv: inv, dcb: h.dcbOf(inv), op: op, spec: spec, w: inv.ledger.writes(), unlock: unlock}
			return c, func() { unlock(); free() }, nil
		}
		unlock() // devices are locked all at once, in one order
		ports = append(ports, more...)
	}
}

// dcbParts is what a change reads: the VMs only where it matters that their guests do RDMA.
func dcbParts(spec *DcbSpec) []part {
	parts := []part{refuseGuest, partHost, partDcb, partNetAdapters, partLedger}
	if slices.ContainsFunc(spec.Policies, func(p QosPolicy) bool { return p.NetDirectPort != 0 }) {
		parts = append(parts, partAllVMs)
	}
	return parts
}

// recordedQosPorts are the net adapters whose DCB the ledger remembers, without those that are known.
func (inv *Inventory) recordedQosPorts(known []string) []string {
	var out []string
	for _, nic := range inv.NetAdapters {
		_, recorded := inv.ledger.before(portObject(nic), settingAdapterQos)
		_, physical := inv.hardware(nic.Name)
		if recorded && physical && !containsFold(known, nic.Name) {
			out = append(out, nic.Name)
		}
	}
	return out
}
