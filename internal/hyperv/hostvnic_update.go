package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// UpdateHostVNic changes the adapter in place. old is what was managed before.
func (h *Host) UpdateHostVNic(ctx context.Context, ref HostVNicRef, spec, old HostVNicSpec) (*HostVNic, error) {
	c, unlock, err := h.beginHostVNic(ctx, "change the network adapter of the management operating system", &spec, &ref)
	if err != nil {
		return nil, err
	}
	defer unlock()
	now, err := c.inv.findHostVNic(h, c.op, ref)
	if err != nil {
		return nil, err
	}
	b := h.batch(c.op, hostVNicAbout(now.Name))
	b.saveHostVNic(now.ManagementAdapter)
	saved := len(b.calls)
	c.addRename(b, now)
	c.addSettings(b, now, &old)
	if now.Net != nil && c.rdmaDiffers(now) {
		c.addRdma(b, now)
	}
	if len(b.calls) > saved {
		after := b.readParts(hostVNicParts()...)
		if err := b.run(ctx); err != nil {
			return nil, err
		}
		if c.inv, err = after(); err != nil {
			return nil, err
		}
	}
	ref.ID = now.ID
	if spec.Name != now.Name {
		if err := c.followRename(ctx, ref, now); err != nil {
			return nil, err
		}
	}
	return c.finish(ctx, ref)
}

// addRename gives the adapter its new name, unless another has it.
func (c *hostVNicChange) addRename(b *batch, now *HostVNic) {
	if c.spec.Name == now.Name {
		return
	}
	b.change(wire.Call{Cmdlet: "Rename-VMNetworkAdapter", Parameters: map[string]any{"VMNetworkAdapter": wire.First("vnic"), "NewName": c.spec.Name, "Confirm": false}})
}

// followRename gives the net adapter the name that belongs to the adapter's new one, if it had the one that belonged to
// the old: whether Windows does it by itself is not known (facts.md 88). A name that somebody chose stays.
func (c *hostVNicChange) followRename(ctx context.Context, ref HostVNicRef, was *HostVNic) error {
	now, err := c.inv.findHostVNic(c.host, c.op, ref)
	if err != nil {
		return err
	}
	want := hostVNicNetName(c.spec.Name)
	if now.Net == nil || now.Net.Name == want || now.Net.Name != hostVNicNetName(was.Name) {
		return nil
	}
	if _, taken := c.inv.netAdapter(want); taken {
		return nil // the note says that the names differ
	}
	b := c.host.batch(c.op, hostVNicAbout(now.Name))
	find[NetAdapter](b, wire.Call{Cmdlet: "Get-NetAdapter", Save: "net", Where: []wire.Condition{adapterWithGUID(now.Net.InterfaceGuid)}})
	b.change(wire.Call{Cmdlet: "Rename-NetAdapter", Parameters: map[string]any{"InputObject": wire.Ref{Call: "net"}, "NewName": want, "Confirm": false}})
	after := b.readParts(hostVNicParts()...)
	if err := b.run(ctx); err != nil {
		return err
	}
	c.inv, err = after()
	return err
}

// saveHostVNic saves the live adapter under "vnic": what acts on it acts on the object, never on names.
func (b *batch) saveHostVNic(m ManagementAdapter) {
	find[ManagementAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"ManagementOS": true}, Save: "vnic",
		Where: []wire.Condition{{Property: "Id", Equals: []string{m.ID}}}})
}

func (h *Host) removeHostVNic(ctx context.Context, m ManagementAdapter) error {
	b := h.batch("remove the network adapter of the management operating system", hostVNicAbout(m.Name))
	b.saveHostVNic(m)
	b.change(wire.Call{Cmdlet: "Remove-VMNetworkAdapter", Input: "vnic", Parameters: map[string]any{"Confirm": false}})
	return b.run(ctx)
}

// DeleteHostVNic removes the adapter, and only that. One that is gone, or whose switch is, is a success. The one that the
// host is reached through stays: with it the host would be out of reach for good.
func (h *Host) DeleteHostVNic(ctx context.Context, ref HostVNicRef) error {
	const op = "remove the network adapter of the management operating system"
	unlock, err := h.locks.lock(ctx, "switch:"+strings.ToLower(ref.SwitchName))
	if err != nil {
		return err
	}
	defer unlock()
	inv, err := h.read(ctx, op, hostVNicAbout(ref.Name), partPath)
	if err != nil {
		return err
	}
	v, err := inv.findHostVNic(h, op, ref)
	if IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if v.Net != nil && h.carriesSession(inv, v.Net.InterfaceIndex) {
		return &Error{Kind: InUse, Op: op, Host: h.Name, Object: hostVNicAbout(v.Name),
			Cause: fmt.Sprintf("The host is reached through this adapter (%q holds its address or its default route): removed, the host would be out of reach (facts.md 73).", v.NetName()),
			Fix:   "Move the host's address to another adapter first, or take the resource out of the state and leave the adapter: terraform state rm."}
	}
	return h.removeHostVNic(ctx, v.ManagementAdapter)
}
