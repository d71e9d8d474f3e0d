package lab

import (
	"strconv"
	"strings"
	"time"
)

// keyword finds an advanced property by its exact name, ignoring case.
func (p *Port) keyword(name string) *Keyword { return findKeyword(p.Keywords, name) }

func findKeyword(keywords []*Keyword, name string) *Keyword {
	for _, k := range keywords {
		if strings.EqualFold(k.Keyword, name) {
			return k
		}
	}
	return nil
}

// runs says whether the running miniport has a keyword at a value.
func (p *Port) runs(name, value string) bool {
	k := p.keyword(name)
	return k != nil && k.Running == value
}

// up says whether the adapter runs: enabled both as a net adapter and as a device.
func (p *Port) up() bool { return p.Enabled && p.PnpEnabled }

// linked says whether a running adapter has its link, which follows the start by a moment.
func (p *Port) linked(now time.Time, t Timing) bool {
	return p.up() && p.LinkUp && !now.Before(p.StartedAt.Add(t.LinkUp.Duration()))
}

// sriovOn says whether the running miniport exposes SR-IOV (facts.md 32).
func (p *Port) sriovOn() bool { return p.up() && p.runs(keywordSriov, "1") }

// rdmaOn says whether the running miniport offers Network Direct.
func (d *Device) rdmaOn(p *Port) bool { return d.Rdma && p.up() && p.runs(keywordRdma, "1") }

// port finds a physical net adapter and its device by interface GUID.
func (h *Host) port(guid string) (*Device, *Port) {
	for _, d := range h.Devices {
		for _, port := range d.Ports {
			if strings.EqualFold(port.InterfaceGuid, guid) {
				return d, port
			}
		}
	}
	return nil, nil
}

// portByName finds a physical net adapter and its device by name.
func (h *Host) portByName(name string) (*Device, *Port) {
	for _, d := range h.Devices {
		for _, port := range d.Ports {
			if strings.EqualFold(port.Name, name) {
				return d, port
			}
		}
	}
	return nil, nil
}

// switchOf finds the switch that a physical net adapter is bound to.
func (h *Host) switchOf(p *Port) *Switch {
	for _, s := range h.Switches {
		for _, guid := range s.Ports {
			if strings.EqualFold(guid, p.InterfaceGuid) {
				return s
			}
		}
	}
	return nil
}

// carriesManagement says whether the host's own address is reached through this port: it holds the address
// itself, or a host vNIC on its switch does (facts.md 28, 73).
func (h *Host) carriesManagement(p *Port) bool {
	if p.IP.has(h.Address) {
		return true
	}
	s := h.switchOf(p)
	if s == nil {
		return false
	}
	for _, v := range h.HostVNics {
		if v.SwitchID == s.ID && v.IP.has(h.Address) {
			return true
		}
	}
	return false
}

func (c IPConfig) has(address string) bool {
	for _, a := range c.Addresses {
		if a.Address == address {
			return true
		}
	}
	return false
}

// dropSession says that the path to the host was cut for a moment (facts.md 73).
func (l *Lab) dropSession(h *Host, object, reason string) {
	l.event(h.Name, "session_drop", object, reason)
}

// stopPort takes a running adapter down: its VFs go, the management path may break (facts.md 73).
func (l *Lab) stopPort(h *Host, p *Port, reason string) {
	l.event(h.Name, "net_adapter_stop", p.Name, reason)
	if h.carriesManagement(p) {
		l.dropSession(h, p.Name, reason)
	}
	l.reallocate(h)
}

// startPort brings an adapter up: the miniport reads its settings from the registry (facts.md 33, 34), and the
// device may have come through the bounce of all its PFs that it was waiting for (facts.md 25, 35).
func (l *Lab) startPort(h *Host, d *Device, p *Port, reason string) {
	p.load(d)
	p.RoutesRdma = h.NetworkDirectAcrossIPSubnets == acrossAllowed
	p.StartedAt = l.clock()
	d.settleBounce()
	if l.unknowns.GuestRdmaRegistryNeeds == "" || l.unknowns.GuestRdmaRegistryNeeds == "net_adapter" {
		l.loadGuestRdma(h, d)
	}
	l.event(h.Name, "net_adapter_restart", p.Name, reason)
	l.recoverGuests(h, d)
	l.reallocate(h)
}

// restartPort is what Restart-NetAdapter and the setting of a property do to a running adapter.
func (l *Lab) restartPort(h *Host, d *Device, p *Port, reason string) {
	if !p.up() {
		return
	}
	p.Enabled = false
	l.stopPort(h, p, reason)
	p.Enabled = true
	l.startPort(h, d, p, reason)
}

// needRebind notes that a switch was made or removed on a port: on Intel's iWARP parts RDMA VFs then wait
// for a bounce of all PFs (facts.md 25).
func (d *Device) needRebind() {
	if d.Profile != profileX722 && d.Profile != profileE810 {
		return
	}
	d.RebindPending = true
	d.clearBounced()
}

// needMaxVfsBounce notes that RdmaMaxVfsEnabled was changed on a port (facts.md 35).
func (d *Device) needMaxVfsBounce() {
	d.MaxVfsPending = true
	d.clearBounced()
}

func (d *Device) clearBounced() {
	for _, p := range d.Ports {
		p.Bounced = false
	}
}

// settleBounce ends the waiting once every enabled PF was restarted.
func (d *Device) settleBounce() {
	for _, p := range d.Ports {
		if p.up() && !p.Bounced {
			return
		}
	}
	d.RebindPending, d.MaxVfsPending = false, false
}

// rdmaVFs is how many VFs of the device may be born with RDMA now.
func (d *Device) rdmaVFs() int {
	switch {
	case !d.Rdma:
		return 0
	case d.Profile == profileCX3Pro:
		if !d.GuestRdmaRunning { // facts.md 36
			return 0
		}
		return d.MaxVFs * len(d.Ports)
	}
	if d.RebindPending || d.MaxVfsPending {
		return 0
	}
	limit, first := 0, true
	for _, p := range d.Ports {
		k := p.keyword(keywordMaxVFs)
		if k == nil {
			return d.MaxVFs * len(d.Ports) // facts.md 83: vendors without such a limit
		}
		if !p.up() {
			continue
		}
		n := number(k.Running)
		if !first && n != limit { // facts.md 35: all PFs must hold the same value
			return 0
		}
		limit, first = n, false
	}
	return limit
}

// Where EnableGuestRdma lives (facts.md 36).
const (
	guestRdmaKey   = `SYSTEM\CurrentControlSet\Services\mlx4_bus\Parameters`
	guestRdmaValue = "EnableGuestRdma"
)

// loadGuestRdma is the bus driver reading EnableGuestRdma (facts.md 36).
func (l *Lab) loadGuestRdma(h *Host, d *Device) {
	if d.Driver.Service != "mlx4_bus" {
		return
	}
	v := findValue(h.Registry, guestRdmaKey, guestRdmaValue)
	d.GuestRdmaRunning = v != nil && v.Kind == "DWord" && v.Data == "1"
}

// recoverGuests counts a bounce of all PFs as the second step of the recovery ladder for the guests that
// had a VF on the device (facts.md 66).
func (l *Lab) recoverGuests(h *Host, d *Device) {
	for _, vm := range h.VMs {
		if vm.Guest == nil || vm.State != "Running" {
			continue
		}
		for _, a := range vm.Adapters {
			if d.carries(h, a) {
				vm.Guest.recovered(2)
			}
		}
	}
}

// carries says whether an adapter of a VM hangs on a switch of one of the device's ports.
func (d *Device) carries(h *Host, a *VMAdapter) bool {
	for _, p := range d.Ports {
		if s := h.switchOf(p); s != nil && s.ID == a.SwitchID && a.IovWeight > 0 {
			return true
		}
	}
	return false
}

// recovered notes that a step of the recovery ladder was taken after RDMA had been on. The steps help in
// their order: each takes in the ones before it (facts.md 66).
func (g *Guest) recovered(step int) {
	if g.RdmaCycle == 1 && step > g.RecoveryDone {
		g.RecoveryDone = step
	}
}

// number reads a whole number out of a registry text; anything else counts as 0, as it does for a driver.
func number(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0
	}
	return n
}
