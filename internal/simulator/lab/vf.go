package lab

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// States of a VM.
const (
	stateRunning  = "Running"
	stateOff      = "Off"
	stateSaved    = "Saved"
	statePaused   = "Paused"
	stateStopping = "Stopping"
)

// iovCapable says whether the hardware and its slot can do SR-IOV (facts.md 41).
func (d *Device) iovCapable() bool { return d.SriovSupport == 1 && d.MaxVFs > 0 }

// iovWorks says whether a switch gives virtual functions at all: the flag is only a preference (facts.md 15),
// and a minimum bandwidth mode keeps IOV off (facts.md 10, 11, cases.md 18).
func (h *Host) iovWorks(s *Switch) bool {
	return h.Iov.Support && s.IovEnabled && s.Type == "External" && s.BandwidthMode == "None"
}

// reallocate gives and takes virtual functions so that they follow the state of the host: it is called after
// every change, and again when time has passed, because a virtual function comes a moment after its cause.
func (l *Lab) reallocate(h *Host) {
	for _, vm := range h.VMs {
		for _, a := range vm.Adapters {
			if a.Allocated != nil && !l.mayKeepVF(h, vm, a) {
				l.releaseVF(h, vm, a)
			}
		}
		l.syncGuest(vm)
	}
	for _, vm := range h.VMs {
		for _, a := range vm.Adapters {
			if a.Allocated == nil {
				l.assignVF(h, vm, a)
			}
		}
	}
}

// iovBlocker explains why an adapter gets no virtual function for reasons of its own; "" when it may have one.
type iovBlocker string

const (
	iovAllowed       iovBlocker = ""
	iovNotAsked      iovBlocker = "not asked for"
	iovNoIommu       iovBlocker = "NoIommu"
	iovSwitchMode    iovBlocker = "SwitchNotInIovMode"
	iovPolicy        iovBlocker = "IovBlockedByPolicy"
	iovNoSupportNic  iovBlocker = "NoIovSupportInNic"
	iovNoResources   iovBlocker = "IovNoAvailResources"
	iovDriversNeeded iovBlocker = "IovGuestDriversNeeded"
)

// iovBlockerOf judges an adapter of a running VM, in the words of VMOperationalStatus (objects.md 1).
// Legacy adapters never get a virtual function (facts.md 61).
func (l *Lab) iovBlockerOf(h *Host, a *VMAdapter) iovBlocker {
	s := h.switchByID(a.SwitchID)
	switch {
	case a.IovWeight == 0 || a.Legacy || s == nil:
		return iovNotAsked
	case !h.Iov.Support:
		return iovNoIommu
	case !h.iovWorks(s):
		return iovSwitchMode
	case l.blockedByPolicy(a):
		return iovPolicy
	case len(h.vfPorts(s)) == 0:
		return iovNoSupportNic
	}
	return iovAllowed
}

// blockedByPolicy says whether the adapter has a policy that makes the platform drop the virtual function;
// which ones do is not known, so the scenario lists them (facts.md 58).
func (l *Lab) blockedByPolicy(a *VMAdapter) bool {
	blockers := l.unknowns.IovBlockers
	if blockers == nil {
		blockers = []string{"port_acl", "extended_acl", "port_mirroring"}
	}
	for _, p := range a.policies() {
		if matchesExactly(blockers, p) {
			return true
		}
	}
	return false
}

// policies are the port policies of an adapter, those that a cmdlet set and those that the scenario names.
func (a *VMAdapter) policies() []string {
	all := append([]string{}, a.Policies...)
	add := func(on bool, name string) {
		if on {
			all = append(all, name)
		}
	}
	add(setting(a.Settings, "PortMirroring", "None") != "None", "port_mirroring")
	add(a.MacAddressSpoofing, "mac_address_spoofing")
	add(setting(a.Settings, "RouterGuard", "Off") == "On", "router_guard")
	add(setting(a.Settings, "DhcpGuard", "Off") == "On", "dhcp_guard")
	add(setting(a.Settings, "MaximumBandwidth", "0") != "0", "bandwidth_limit")
	add(a.Vlan.Mode == "Trunk", "vlan_trunk")
	return all
}

// vfPorts are the members of a switch that can give virtual functions: SR-IOV runs in the miniport (facts.md
// 31, 32), the device can do it (41), and no classic team hides it (21).
func (h *Host) vfPorts(s *Switch) []boundPort {
	var ports []boundPort
	for _, p := range h.switchPorts(s) {
		if p.device.iovCapable() && p.port.sriovOn() && p.port.NumVFs.Running > 0 && h.lbfoTeamOf(p.port.InterfaceGuid) == nil {
			ports = append(ports, p)
		}
	}
	return ports
}

// mayKeepVF says whether what a virtual function hangs on is still there. A restarted VM or a restarted
// PF had to give it up (facts.md 47a).
func (l *Lab) mayKeepVF(h *Host, vm *VM, a *VMAdapter) bool {
	if (vm.State != stateRunning && vm.State != statePaused) || l.iovBlockerOf(h, a) != iovAllowed || a.Allocated.At.Before(vm.StartedAt) {
		return false
	}
	if a.TeamMapping != "" && !strings.EqualFold(a.TeamMapping, a.Allocated.PortGuid) {
		return false
	}
	for _, p := range h.vfPorts(h.switchByID(a.SwitchID)) {
		if strings.EqualFold(p.port.InterfaceGuid, a.Allocated.PortGuid) {
			return a.Allocated.FunctionID < p.port.NumVFs.Running
		}
	}
	return false
}

// releaseVF takes the virtual function away; traffic falls back to the synthetic path (facts.md 46).
func (l *Lab) releaseVF(h *Host, vm *VM, a *VMAdapter) {
	a.Allocated = nil
	l.event(h.Name, "vf_removed", vm.Name+"/"+a.Name, l.whyNoVF(h, vm, a))
	if vm.Guest != nil && (a.IovWeight == 0 || a.SwitchID == "") {
		// Given up on purpose: what was learnt about the recovery ladder is void (facts.md 66).
		vm.Guest.RdmaCycle, vm.Guest.RecoveryDone = 0, 0
	}
}

func (l *Lab) whyNoVF(h *Host, vm *VM, a *VMAdapter) string {
	switch blocker := l.iovBlockerOf(h, a); {
	case vm.State != stateRunning && vm.State != statePaused:
		return "virtual machine is " + vm.State
	case a.IovWeight == 0:
		return "IovWeight is 0"
	case a.SwitchID == "":
		return "adapter is not connected"
	case blocker != iovAllowed:
		return string(blocker)
	default:
		return "virtual machine or net adapter restarted"
	}
}

// assignVF gives an adapter a virtual function if one is due and free. A VM without one runs on the
// synthetic path and says nothing (facts.md 56).
func (l *Lab) assignVF(h *Host, vm *VM, a *VMAdapter) {
	if vm.State != stateRunning || l.iovBlockerOf(h, a) != iovAllowed {
		return
	}
	p, ok := h.affinity(vm, a)
	if !ok {
		return
	}
	now := l.clock()
	due := latest(vm.StartedAt, a.changedAt, p.port.StartedAt).Add(l.timing.VFAllocation.Duration())
	if now.Before(due) { // facts.md 55: the VM starts on the synthetic path
		return
	}
	pairs := min(max(a.IovQueuePairsRequested, 1), h.freeQueuePairs(p))
	function, ok := h.freeFunction(p.port)
	if !ok || pairs == 0 { // facts.md 56
		return
	}
	a.Allocated = &Allocation{
		PortGuid: p.port.InterfaceGuid, FunctionID: function, QueuePairs: pairs, At: now,
		Rdma: l.bornWithRdma(h, vm, a, p),
	}
	detail := fmt.Sprintf("VF %d of %s", function, p.port.Name)
	if a.Allocated.Rdma {
		detail += " with RDMA"
	}
	l.event(h.Name, "vf_assigned", vm.Name+"/"+a.Name, detail)
}

// affinity is the member of the switch that carries an adapter: the mapped one (facts.md 22), else one of
// those with a free virtual function, at random for each boot; here the dice are the adapter's id and the
// number of the boot, so that a lab can be repeated (cases.md 51).
func (h *Host) affinity(vm *VM, a *VMAdapter) (boundPort, bool) {
	var free []boundPort
	for _, p := range h.vfPorts(h.switchByID(a.SwitchID)) {
		if a.TeamMapping != "" && !strings.EqualFold(a.TeamMapping, p.port.InterfaceGuid) {
			continue
		}
		if _, ok := h.freeFunction(p.port); ok {
			free = append(free, p)
		}
	}
	if len(free) == 0 {
		return boundPort{}, false
	}
	dice := fnv.New32a()
	_, _ = fmt.Fprintf(dice, "%s %d", a.ID, vm.Boot)
	return free[int(dice.Sum32()>>8)%len(free)], true
}

// allocationsOn are the virtual functions of a PF that VMs hold.
func (h *Host) allocationsOn(p *Port) []*Allocation {
	var held []*Allocation
	for _, vm := range h.VMs {
		for _, a := range vm.Adapters {
			if a.Allocated != nil && strings.EqualFold(a.Allocated.PortGuid, p.InterfaceGuid) {
				held = append(held, a.Allocated)
			}
		}
	}
	return held
}

func (h *Host) freeFunction(p *Port) (int, bool) {
	used := map[int]bool{}
	for _, a := range h.allocationsOn(p) {
		used[a.FunctionID] = true
	}
	for n := 0; n < p.NumVFs.Running; n++ {
		if !used[n] {
			return n, true
		}
	}
	return 0, false
}

func (h *Host) freeQueuePairs(p boundPort) int {
	free := p.device.QueuePairs
	for _, a := range h.allocationsOn(p.port) {
		free -= a.QueuePairs
	}
	return max(free, 0)
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
