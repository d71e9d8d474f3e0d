package hyperv

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// GuestReenableSpec says in which guest RDMA is turned off and on again.
type GuestReenableSpec struct {
	Adapter    AdapterRef
	Credential string       // name of a guest credential, "" for the VM's own or the default
	Wait       bool         // until SMB in the guest says RDMA capable
	Progress   func(string) // told each step in a line; may be nil
}

// ReenableGuestRdma turns RDMA off and on again on those adapters of the pair that have it on (procedure B12): what
// mends a guest whose SMB does not see RDMA (facts.md 66). Nothing else of the guest, and nothing of the host, is touched.
func (h *Host) ReenableGuestRdma(ctx context.Context, spec GuestReenableSpec) (*GuestRdma, error) {
	const op = "turn RDMA in the guest off and on"
	progress := spec.Progress
	if progress == nil {
		progress = func(string) {}
	}
	target, err := h.guestTarget(op, spec.Adapter, wire.FirstProperty("vms", "Id"), spec.Credential)
	if err != nil {
		return nil, err
	}
	b := h.batch(op, adapterAbout(spec.Adapter))
	after := b.readParts(partSwitchList, partVM(spec.Adapter.VMID, spec.Adapter.VMName), partLedger)
	guest := b.readGuest(target)
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	inv, err := after()
	if err != nil {
		return nil, err
	}
	a, err := inv.findAdapter(h, op, spec.Adapter)
	if err != nil {
		return nil, h.elaborate(ctx, spec.Adapter, err)
	}
	target.VMID = a.VM.ID
	c := &guestChange{host: h, op: op, ref: a.ByID(), target: target, ledger: inv.ledger, g: guest.join(h, op, a), lookedAt: time.Now(), began: time.Now()}
	switch {
	case a.VM.State != "Running":
		return c.g, notRunning(h, op, &a.VM)
	case !c.g.Reachable:
		return c.g, c.g.Err
	}
	on := c.rdmaOn()
	if len(on) == 0 {
		return c.g, &Error{Kind: Conflict, Op: op, Host: h.Name, Object: adapterAbout(spec.Adapter), Attribute: "vm_network_adapter_name", Value: a.Name,
			Cause: "RDMA is on on none of the guest's adapters of this VM adapter, so there is nothing to turn off and on.",
			Fix:   "Turn it on by hyperv_guest_rdma_enablement, which also waits until it works."}
	}
	progress(fmt.Sprintf("Turning RDMA off and on in the guest of VM %q: %s.", a.VM.Name, strings.Join(on, ", ")))
	if err := c.cycleGuestRdma(ctx); err != nil {
		return c.g, err
	}
	if !spec.Wait {
		return c.g, nil
	}
	progress("Waiting until SMB in the guest says RDMA capable.")
	for !c.g.Capable() {
		err := h.wait(ctx)
		if err == nil {
			err = c.look(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return c.g, err
		}
		if err != nil {
			reached, missing := c.g.Stage()
			return c.g, &Error{Kind: TimedOut, Op: op, Host: h.Name, Object: adapterAbout(spec.Adapter), Err: err,
				Cause: fmt.Sprintf("RDMA was turned off and on, and SMB in the guest does not say RDMA capable: stage %s is reached, %s is missing.", reached, missing),
				Fix:   "Look at the stage that is missing; the next steps are a restart of the host's device and of the VM (facts.md 66)."}
		}
	}
	progress("SMB in the guest says RDMA capable.")
	return c.g, nil
}
