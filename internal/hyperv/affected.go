package hyperv

import (
	"sort"
	"strings"
)

// Affected is what a restart of net adapters interrupts.
type Affected struct {
	RunningVMs     []string // whose adapters are on switches of the devices
	ManagementPath []string // interfaces of the host that carry the connection to it
}

// Affected looks into what was last read of the host, without asking it: it is for warnings, and may be older than the
// host. False says that nothing was read, or that the net adapters are not there.
func (h *Host) Affected(names []string) (Affected, bool) {
	h.mu.Lock()
	s := h.lastRead
	h.mu.Unlock()
	var out Affected
	if s == nil {
		return out, false
	}
	devices := s.devicesNamed(names)
	var ports []NetAdapter
	for _, d := range devices {
		ports = append(ports, d.Ports...)
	}
	for _, vm := range s.VMs {
		if vm.State == "Running" && s.usesPorts(vm, ports) {
			out.RunningVMs = append(out.RunningVMs, vm.Name)
		}
	}
	sort.Strings(out.RunningVMs)
	for _, ip := range h.managementPath(s, ports) {
		out.ManagementPath = append(out.ManagementPath, ip.adapter.Name)
	}
	return out, len(devices) > 0
}

func (inv *Inventory) usesPorts(vm VM, ports []NetAdapter) bool {
	for _, sw := range inv.Switches {
		on := false
		for _, guid := range sw.NetAdapterInterfaceGuid {
			on = on || hasAdapter(ports, guid)
		}
		for _, a := range inv.Adapters {
			if on && strings.EqualFold(a.VMID, vm.ID) && sameGUID(a.SwitchID, sw.ID) {
				return true
			}
		}
	}
	return false
}
