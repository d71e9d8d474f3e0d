package lab

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"

const classRdma = "MSFT_NetAdapterRdmaSettingData"

func registerNetAdapterRdma(r registry) {
	r.both("Get-NetAdapterRdma", func(c *call) {
		for _, a := range c.find(classRdma, c.hasRdma) {
			c.emit(c.rdmaObject(a))
		}
	})
	r.both("Enable-NetAdapterRdma", func(c *call) { c.setRdma(true) })
	r.both("Disable-NetAdapterRdma", func(c *call) { c.setRdma(false) })
	r.both("Set-NetAdapterRdma", func(c *call) {
		if c.has("Enabled") {
			c.setRdma(c.boolean("Enabled"))
			return
		}
		c.find(classRdma, c.hasRdma) // what is not there is an error, even with nothing to set
	})
}

// hasRdma says whether an adapter has an RDMA setting at all. "No RDMA" and "no such adapter" give the same
// error. Whether a disabled adapter is listed is not known (facts.md 37).
func (c *call) hasRdma(a *netAdapter) bool {
	if !a.enabled() && !c.unknowns.NetAdapterRdmaListsDisabled {
		return false
	}
	switch {
	case a.port != nil:
		return a.device.Rdma && a.port.keyword(keywordRdma) != nil && c.host.lbfoTeamOf(a.port.InterfaceGuid) == nil // facts.md 21
	case a.vnic != nil:
		return c.switchHasRdma(a.vnic.SwitchID)
	case a.guest.VF:
		return c.vfHasRdma(a)
	default:
		return c.guest().OS.Build >= buildServer2016 && (a.vm == nil || !a.vm.Legacy)
	}
}

// switchHasRdma says whether a port of a switch does RDMA (facts.md 88): not on a classic team (facts.md 21), and
// not before Windows Server 2016 (procedures.md A15).
func (c *call) switchHasRdma(id string) bool {
	s := c.host.switchByID(id)
	if s == nil || c.host.OS.Build < buildServer2016 {
		return false
	}
	for _, guid := range s.Ports {
		if d, port := c.host.port(guid); port != nil && d.rdmaOn(port) && c.host.lbfoTeamOf(guid) == nil {
			return true
		}
	}
	return false
}

// vfHasRdma: a VF's driver registers with Network Direct when it does RDMA at all and Intel's RdmaVfEnabled
// is 1 in the running adapter (facts.md 65).
func (c *call) vfHasRdma(a *netAdapter) bool {
	if a.vm == nil || a.vm.Allocated == nil || !a.guest.Present {
		return false
	}
	d, _ := c.host.deviceOf(a.vm.Allocated)
	if d == nil || !c.vfDriverDoesRdma(c.guest(), d) {
		return false
	}
	k := findKeyword(a.guest.Keywords, keywordVFEnabled)
	return k == nil || k.Running == "1"
}

// rdmaEnabled: for a port it mirrors *NetworkDirect (facts.md 76), from the running miniport where it runs.
func (a *netAdapter) rdmaEnabled() bool {
	switch {
	case a.port != nil && a.port.up():
		return a.port.runs(keywordRdma, "1")
	case a.port != nil:
		return a.port.keyword(keywordRdma).Registry == "1"
	case a.vnic != nil:
		return a.vnic.RdmaEnabled
	default:
		return a.guest.RdmaEnabled
	}
}

// rdmaCapacity says whether the adapter really has queue pairs to give; zero means that the driver does not
// do RDMA, whatever Enabled says (facts.md 90).
func (c *call) rdmaCapacity(a *netAdapter) bool {
	switch {
	case a.port != nil:
		return a.device.rdmaOn(a.port)
	case a.vnic != nil:
		return c.switchHasRdma(a.vnic.SwitchID)
	case a.guest.VF:
		return c.vfOffersRdma(c.host, c.vm, a.guest)
	}
	_, vf := c.guest().pair(a.guest.VMAdapterID)
	return vf != nil && c.vfOffersRdma(c.host, c.vm, vf)
}

// setRdma turns Network Direct on or off. A port restarts unless -NoRestart is given (facts.md 33).
func (c *call) setRdma(on bool) {
	noRestart := c.boolean("NoRestart")
	for _, a := range c.find(classRdma, c.hasRdma) {
		switch {
		case a.port != nil:
			c.setKeyword(a, a.port.keyword(keywordRdma), map[bool]string{true: "1", false: "0"}[on])
		case a.vnic != nil:
			a.vnic.RdmaEnabled = on
		default:
			c.setGuestRdma(a.guest, on, noRestart)
		}
		if !noRestart {
			c.restart(a, c.inv.Cmdlet)
		}
		if c.boolean("PassThru") {
			c.emit(c.rdmaObject(a))
		}
	}
}

func (c *call) setGuestRdma(a *GuestAdapter, on, noRestart bool) {
	if noRestart {
		a.RdmaAtRestart = &on
		return
	}
	a.RdmaEnabled, a.RdmaAtRestart = on, nil
	a.RdmaChangedAt = c.clock()
	c.guest().noteRdma()
}

// noteRdma follows RDMA being turned on, off and on again, the first step of the recovery ladder (facts.md 66).
func (g *Guest) noteRdma() {
	anyOn, pairOn := false, false
	for _, a := range g.Adapters {
		anyOn = anyOn || a.RdmaEnabled
		if synthetic, vf := g.pair(a.VMAdapterID); a.VF && vf != nil && synthetic != nil {
			pairOn = pairOn || synthetic.RdmaEnabled && vf.RdmaEnabled
		}
	}
	switch {
	case g.RdmaCycle == 0 && pairOn:
		g.RdmaCycle = 1
	case g.RdmaCycle == 1 && !anyOn:
		g.RdmaCycle = 2
	case g.RdmaCycle == 2 && pairOn:
		g.RdmaCycle = 1
		g.recovered(1)
	}
}

// rdmaObject: PFC and ETS came with Windows Server 2019, Operational with later builds; they are facts apart
// from Enabled (facts.md 91).
func (c *call) rdmaObject(a *netAdapter) *cmdlet.Object {
	build := c.host.OS.Build
	if c.guest() != nil {
		build = c.guest().OS.Build
	}
	pairs, queues, regions, reads := 0, 0, 0, 0
	if c.rdmaCapacity(a) {
		pairs, queues, regions, reads = 65536, 131072, 262144, 32
	}
	properties := []cmdlet.Property{
		prop("Enabled", a.rdmaEnabled()), prop("MaxQueuePairCount", u32(pairs)), prop("MaxCompletionQueueCount", u32(queues)),
		prop("MaxMemoryRegionCount", u32(regions)), prop("MaxMemoryWindowCount", u32(regions)), prop("MaxProtectionDomainCount", u32(queues/2)),
		prop("MaxInboundReadLimit", u32(reads)), prop("MaxOutboundReadLimit", u32(reads)), prop("MaxSharedReceiveQueueCount", u32(0)),
		prop("RdmaAdapterInfo", c.rdmaAdapterInfo(a)), prop("RdmaMissingCounterInfo", nil),
	}
	if build >= 17763 {
		properties = append(properties, prop("PFC", u32(0)), prop("ETS", u32(0)))
	}
	if build >= 20348 {
		properties = append(properties, prop("OperationalState", c.linked(a) && pairs > 0))
	}
	source := 2
	if !a.enabled() {
		source = 3
	}
	return c.settingData(classRdma, a, source, properties...)
}

func (c *call) rdmaAdapterInfo(a *netAdapter) any {
	if !c.rdmaCapacity(a) {
		return nil
	}
	technology := 0
	if a.port != nil {
		if k := a.port.keyword("*NetworkDirectTechnology"); k != nil {
			technology = number(k.Running)
		}
	}
	return standardCim("MSFT_NetAdapter_RdmaAdapterInfo", "", "MSFT_NetAdapter_RdmaAdapterInfo", prop("RdmaTechnology", u32(technology)),
		prop("MaxInboundReadLimit", u32(32)), prop("MaxOutboundReadLimit", u32(32)), prop("MajorVersionNumber", u16(1)), prop("MinorVersionNumber", u16(2)))
}
