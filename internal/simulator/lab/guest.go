package lab

import (
	"fmt"
	"strings"
	"time"
)

// Kinds of VF drivers in a guest.
const (
	driverNone     = "none"
	driverInbox    = "inbox"
	driverInboxBad = "inbox_bad"
	driverVendor   = "vendor"
)

// settle brings everything that happens by itself up to the present.
func (l *Lab) settle() {
	for _, h := range l.state.Hosts {
		l.reallocate(h)
		for _, vm := range h.VMs {
			for _, a := range vm.Adapters {
				l.settleVF(h, vm, a)
			}
		}
	}
}

// settleVF is the guest's side of a virtual function: the device appears once the guest runs, its driver
// loads, and the data path moves over a moment later (facts.md 55).
func (l *Lab) settleVF(h *Host, vm *VM, a *VMAdapter) {
	if a.Allocated == nil || a.Allocated.DataPath || vm.Guest == nil || !l.guestRuns(vm) {
		return
	}
	if vm.Guest.VFDriver.Kind == driverNone { // cases.md 35: a device without a driver is no net adapter
		return
	}
	if !vm.Guest.Linux {
		l.showVF(h, vm, a)
	}
	if vm.Guest.VFDriver.Kind == driverInboxBad { // cases.md 33: the driver loads and the data path stays
		return
	}
	appeared := latest(a.Allocated.At, l.guestReady(vm))
	if !l.clock().Before(appeared.Add(l.timing.VFDataPath.Duration())) {
		a.Allocated.DataPath = true
		if _, vf := vm.Guest.pair(a.ID); vf != nil {
			vf.RdmaChangedAt = l.clock()
			vm.Guest.noteRdma() // a VF that came back may find RDMA on
		}
	}
}

// guestReady is when the guest of a running VM answers.
func (l *Lab) guestReady(vm *VM) time.Time { return vm.StartedAt.Add(l.timing.GuestBoot.Duration()) }

// guestRuns says whether the guest has booted.
func (l *Lab) guestRuns(vm *VM) bool {
	return vm.State == stateRunning && !l.clock().Before(l.guestReady(vm))
}

// pair finds the synthetic net adapter and the present VF of a VM network adapter. They share a MAC address
// (facts.md 63).
func (g *Guest) pair(vmAdapterID string) (synthetic, vf *GuestAdapter) {
	for _, a := range g.Adapters {
		switch {
		case !strings.EqualFold(a.VMAdapterID, vmAdapterID):
		case !a.VF:
			synthetic = a
		case a.Present:
			vf = a
		}
	}
	return synthetic, vf
}

// showVF makes the VF's net adapter present. It comes back with the settings that it had (same adapter, same
// device, same instance).
func (l *Lab) showVF(h *Host, vm *VM, a *VMAdapter) {
	d, _ := h.deviceOf(a.Allocated)
	if d == nil {
		return
	}
	id := interfaceGuid(vm.ID, a.ID, "vf", d.Profile)
	for _, g := range vm.Guest.Adapters {
		if g.InterfaceGuid == id {
			g.Present, g.RoutesRdma = true, vm.Guest.NetworkDirectAcrossIPSubnets == acrossAllowed
			return
		}
	}
	vm.Guest.Adapters = append(vm.Guest.Adapters, newVFAdapter(vm.Guest, a, d, id))
}

// newVFAdapter is the net adapter that a guest makes of a virtual function. RDMA is off at first (procedures.md
// A12, B10); a keyword comes with the vendor's driver only (facts.md 65).
func newVFAdapter(g *Guest, a *VMAdapter, d *Device, id string) *GuestAdapter {
	p := profileOf(d.Profile)
	description := p.vf
	if description == "" {
		description = "Virtual Function Ethernet Adapter"
	}
	description = g.freeDescription(description)
	adapter := &GuestAdapter{
		Name: g.freeName(), InterfaceDescription: description, InterfaceGuid: id, InterfaceIndex: g.nextIndex(),
		VMAdapterID: a.ID, VF: true, Present: true, Enabled: true, RoutesRdma: g.NetworkDirectAcrossIPSubnets == acrossAllowed,
	}
	if g.VFDriver.Kind == driverVendor {
		adapter.Keywords = p.vfKeywords()
	}
	return adapter
}

// freeDescription numbers the second adapter of a kind, as Windows does: "… #2".
func (g *Guest) freeDescription(base string) string {
	taken := map[string]bool{}
	for _, a := range g.Adapters {
		taken[a.InterfaceDescription] = true
	}
	if !taken[base] {
		return base
	}
	for n := 2; ; n++ {
		if numbered := fmt.Sprintf("%s #%d", base, n); !taken[numbered] {
			return numbered
		}
	}
}

// syncGuest makes the guest's list of net adapters follow the VM's: adapters that were added appear, those of
// removed ones go, and VFs without an allocation are not present.
func (l *Lab) syncGuest(vm *VM) {
	g := vm.Guest
	if g == nil {
		return
	}
	kept := []*GuestAdapter{}
	for _, a := range g.Adapters {
		of := vm.adapter(a.VMAdapterID)
		if of == nil {
			continue
		}
		if a.VF && of.Allocated == nil {
			a.Present = false
			if a.untouched() {
				continue // nothing to remember: it will come back the same
			}
		}
		kept = append(kept, a)
	}
	g.Adapters = kept
	for _, a := range vm.Adapters {
		if synthetic, _ := g.pair(a.ID); synthetic == nil {
			g.Adapters = append(g.Adapters, syntheticAdapter(vm, a))
		}
	}
}

// untouched says whether nobody has changed anything on an adapter since it appeared.
func (a *GuestAdapter) untouched() bool {
	if !a.Enabled || a.RdmaEnabled || a.RdmaAtRestart != nil || len(a.IP.Addresses) > 0 {
		return false
	}
	for _, k := range a.Keywords {
		if k.Registry != k.Default || k.Running != k.Default {
			return false
		}
	}
	return true
}
