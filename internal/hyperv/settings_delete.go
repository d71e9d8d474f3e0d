package hyperv

import (
	"context"
	"strings"
)

// DeleteNicSettings puts back what the device's ports held before, gives up the claim and bounces the
// device if anything changed. What an import found has no before: it stays as it is.
func (h *Host) DeleteNicSettings(ctx context.Context, spec NicSettingsSpec) ([]Note, error) {
	const op = "restore the settings of the net adapters"
	inv, unlock, port, err := h.portToRestore(ctx, op, &spec)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if port == "" {
		w := inv.ledger.writes()
		w.forgetPorts(&spec)
		if err := h.write(ctx, op, portsAbout(spec.Ports), w); err != nil {
			return nil, err
		}
		return []Note{{"The net adapters are gone", "None of " + quoteList(spec.Ports) + " is there any more, so nothing can be put back."}}, nil
	}
	d, err := h.deviceByPort(inv, op, "net_adapter_names", port, spec.Profile)
	if err != nil {
		return nil, err
	}
	empty := NicSettingsSpec{Ports: spec.Ports, Profile: spec.Profile, RestartPolicy: spec.RestartPolicy, KeepOwedOnDelete: spec.KeepOwedOnDelete}
	c := &nicChange{host: h, inv: inv, device: d, op: op, spec: &empty, w: inv.ledger.writes(), unlock: unlock, removal: true}
	c.putBackRemoved(&spec, nil)
	var kept []string
	for _, s := range spec.wanted(d.Profile) {
		key := s.keyword
		if key == "" {
			key = settingNumVFs
		}
		if _, known := inv.ledger.before(portObject(d.Ports[0]), key); !known {
			kept = append(kept, s.attribute)
		}
	}
	c.w.release(d.object())
	c.w.dropGoneSwitches(inv)
	out, err := c.run(ctx, nicSettingsOwner(d))
	if err != nil {
		return nil, err
	}
	if c.unpaid {
		return nil, &Error{Kind: Other, Op: op, Host: h.Name, Object: portsAbout(d.PortNames()), Cause: out.Notes[0].Detail, Fix: "Apply the destroy again: the restart is still owed."}
	}
	h.claimed.remove(d.object())
	if len(kept) > 0 {
		return append(out.Notes, Note{"Settings of the net adapters stay as they are", strings.Join(unique(kept), ", ") + " of " + d.Title() + ": the resource was imported, so what was there before it is not known."}), nil
	}
	return out.Notes, nil
}

// portToRestore reads the host under the lock of the device whose settings are to be put back, and gives the present
// name of one of its ports, "" where none is there any more. It goes by what is known of the ports, by the ledger's
// claim where nothing is, and by names at last.
func (h *Host) portToRestore(ctx context.Context, op string, spec *NicSettingsSpec) (*Inventory, func(), string, error) {
	keys := spec.Known.lockedBy(spec.Ports)
	for {
		inv, unlock, err := h.readLocked(ctx, op, portsAbout(spec.Ports), keys, append(nicParts(spec), partSwitches)...)
		if err != nil {
			return nil, nil, "", err
		}
		for _, name := range nowCalled(inv.NetAdapters, spec.Ports, spec.Known) {
			if _, ok := inv.netAdapter(name); ok {
				return inv, unlock, name, nil
			}
		}
		port := inv.claimedPort(nicClaimant(spec.Ports))
		if port == "" || containsFold(keys, port) {
			return inv, unlock, port, nil
		}
		unlock()
		keys = append(keys, port)
	}
}

// claimedPort is a port of the device whose settings the ledger says to be somebody's, "" if there is none.
func (inv *Inventory) claimedPort(claimant string) string {
	for _, hw := range inv.Hardware {
		d, ok := inv.device(hw.Name, "")
		if !ok || len(d.Ports) == 0 {
			continue
		}
		if who, ok := inv.ledger.claim(d.object()); ok && who == claimant {
			return d.Ports[0].Name
		}
	}
	return ""
}

// forgetPorts takes out of the ledger what it knows of a device that is gone.
func (w *ledgerWrites) forgetPorts(spec *NicSettingsSpec) {
	for _, guid := range spec.Known {
		w.dropObject(portObject(NetAdapter{InterfaceGuid: guid}))
	}
	w.dropClaimsOf(nicClaimant(spec.Ports))
}
