package lab

import "strings"

// Builds of Windows that rules speak of.
const (
	buildServer2016   = 14393
	buildCreators     = 15063 // Windows 10 1703
	buildServer1709   = 16299
	buildRdmaSettings = buildCreators // Set-VMNetworkAdapterRdma (facts.md 4)
)

// bornWithRdma decides whether a virtual function that is being allocated does RDMA. It stays as it was
// born until it is allocated again (facts.md 47a).
func (l *Lab) bornWithRdma(h *Host, vm *VM, a *VMAdapter, p boundPort) bool {
	if !p.device.rdmaOn(p.port) { // facts.md 2: without RDMA on the host there is none in the guest
		return false
	}
	if !hostDoesGuestRdma(h, p.device) || !l.rdmaAskedFor(h, vm, a, p.device) {
		return false
	}
	if p.device.Profile == profileCX3Pro && p.device.Ports[0] != p.port { // facts.md 22, 81: port 1 only
		return false
	}
	return h.rdmaVFsOn(p.device) < p.device.rdmaVFs() // facts.md 25, 35, 36, 56
}

// hostDoesGuestRdma: from Windows Server 1709 on; before it only ConnectX-3 on Windows Server 2016, an
// unsupported experiment (facts.md 3).
func hostDoesGuestRdma(h *Host, d *Device) bool {
	if d.Profile == profileCX3Pro {
		return h.OS.Build >= buildServer2016
	}
	return h.OS.Build >= buildServer1709
}

// rdmaAskedFor: RdmaWeight is what asks for RDMA where the guest is Windows 10 1703 or later; an older guest
// needs IovWeight alone (facts.md 5), off ConnectX-3 only in one reading of the sources. A host without the
// cmdlet has no weight to set (facts.md 4).
func (l *Lab) rdmaAskedFor(h *Host, vm *VM, a *VMAdapter, d *Device) bool {
	if a.rdmaWeightInForce() > 0 {
		return true
	}
	if h.OS.Build < buildRdmaSettings {
		return true
	}
	if vm.Guest == nil || vm.Guest.OS.Build >= buildCreators {
		return false
	}
	return d.Profile == profileCX3Pro || l.unknowns.DownLevelGuestRdma != "no"
}

// rdmaWeightInForce is the RdmaWeight that an allocation uses now; where it was never set it is 0 (facts.md 50).
func (a *VMAdapter) rdmaWeightInForce() int {
	switch {
	case a.rdmaUntilStart != nil:
		return *a.rdmaUntilStart
	case a.RdmaWeight != nil:
		return *a.RdmaWeight
	}
	return 0
}

// rdmaVFsOn counts the virtual functions of a whole device that do RDMA (facts.md 35).
func (h *Host) rdmaVFsOn(d *Device) int {
	n := 0
	for _, p := range d.Ports {
		for _, a := range h.allocationsOn(p) {
			if a.Rdma {
				n++
			}
		}
	}
	return n
}

// deviceOf is the device and the port that a virtual function comes from.
func (h *Host) deviceOf(a *Allocation) (*Device, *Port) { return h.port(a.PortGuid) }

// guestRdmaCapable says whether SMB in the guest calls a net adapter RDMA capable: the synthetic adapter and
// the VF of a pair say the same, because RDMA needs both (facts.md 64, 90).
func (l *Lab) guestRdmaCapable(h *Host, vm *VM, adapter *GuestAdapter) bool {
	a := vm.adapter(adapter.VMAdapterID)
	if a == nil || vm.Guest == nil || !adapter.Present {
		return false
	}
	synthetic, vf := vm.Guest.pair(a.ID)
	if synthetic == nil || vf == nil || !synthetic.Enabled || !vf.Enabled || !synthetic.RdmaEnabled || !vf.RdmaEnabled {
		return false
	}
	return l.vfOffersRdma(h, vm, vf) && vm.Guest.RecoveryNeeded <= vm.Guest.RecoveryDone // facts.md 66
}

// vfOffersRdma says whether a VF adapter in a guest has Network Direct to turn on: it was born with RDMA,
// its data path runs (facts.md 55), its driver does RDMA (6, 101), and Intel's keyword is on (65).
func (l *Lab) vfOffersRdma(h *Host, vm *VM, vf *GuestAdapter) bool {
	a := vm.adapter(vf.VMAdapterID)
	if a == nil || !vf.VF || !vf.Present || a.Allocated == nil || !a.Allocated.Rdma || !a.Allocated.DataPath {
		return false
	}
	d, _ := h.deviceOf(a.Allocated)
	if d == nil || !l.vfDriverDoesRdma(vm.Guest, d) {
		return false
	}
	k := findKeyword(vf.Keywords, keywordVFEnabled)
	return k == nil || k.Running == "1"
}

// vfDriverDoesRdma: the vendor's driver does (facts.md 6); whether the in-box one of ConnectX-3 does is a
// switch (facts.md section 7).
func (l *Lab) vfDriverDoesRdma(g *Guest, d *Device) bool {
	switch g.VFDriver.Kind {
	case driverVendor:
		return true
	case driverInbox:
		return d.Profile == profileCX3Pro && l.unknowns.InboxVFDriverRdma != "no"
	}
	return false
}

// adapter finds a VM's network adapter by the GUID part of its id.
func (vm *VM) adapter(id string) *VMAdapter {
	for _, a := range vm.Adapters {
		if strings.EqualFold(a.ID, id) {
			return a
		}
	}
	return nil
}
