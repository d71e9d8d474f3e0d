package lab

import "time"

func registerRestartComputer(r registry) {
	r.both("Restart-Computer", restartComputer)
	r.both("Start-Sleep", func(c *call) {
		c.wait(time.Duration(c.integer("Seconds"))*time.Second + time.Duration(c.integer("Milliseconds"))*time.Millisecond)
	})
}

// restartComputer restarts the host or the guest that it runs on.
func restartComputer(c *call) {
	if c.vm != nil {
		c.boot(c.vm)
		c.vm.Guest.OS.LastBoot = c.clock()
		c.vm.Guest.loadSettings(c.clock())
		c.vm.Guest.recovered(3)
		c.event("guest_restart", c.vm.Name, "Restart-Computer")
		return
	}
	h := c.host
	c.event("host_restart", h.Name, "Restart-Computer")
	c.dropSession(h, h.Name, "Restart-Computer")
	h.OS.LastBoot = c.clock()
	h.Dcb.restarted()
	for _, d := range h.Devices {
		if d.NewDriver != nil { // it waited for this start (exit code 3010)
			d.Driver, d.NewDriver = *d.NewDriver, nil
		}
		c.loadGuestRdma(h, d)
		for _, port := range d.Ports {
			port.load(d)
			port.RoutesRdma = h.NetworkDirectAcrossIPSubnets == acrossAllowed
			port.StartedAt = c.clock()
		}
		d.settleBounce()
	}
	for _, vm := range h.VMs { // by default running VMs are saved when the host goes down and go on when it is back
		if vm.State == stateRunning || vm.State == statePaused {
			vm.State = stateSaved
			c.boot(vm)
			vm.StartedAt = c.clock().Add(-c.timing.GuestBoot.Duration())
			c.event("vm_start", vm.Name, "host restarted")
		}
	}
	c.reallocate(h)
	c.bootHost(h)
}

// load is the miniport reading its settings from the registry (facts.md 33, 34).
func (p *Port) load(d *Device) {
	for _, k := range p.Keywords {
		k.Running = k.Registry
	}
	p.NumVFs.Running = min(p.NumVFs.Registry, d.MaxVFs) // facts.md 31: the driver may advertise fewer
	if k := p.keyword(keywordVlan); k != nil {
		p.VlanID = number(k.Running)
	}
	p.Bounced = true
}

// loadSettings is the drivers of a starting guest reading their settings.
func (g *Guest) loadSettings(now time.Time) {
	for _, a := range g.Adapters {
		a.load(now)
		a.RoutesRdma = g.NetworkDirectAcrossIPSubnets == acrossAllowed
	}
	g.noteRdma()
}

// load is the driver of a guest's adapter reading its settings, those that were set with -NoRestart among them.
func (a *GuestAdapter) load(now time.Time) {
	for _, k := range a.Keywords {
		k.Running = k.Registry
	}
	if a.RdmaAtRestart != nil {
		a.RdmaEnabled, a.RdmaAtRestart = *a.RdmaAtRestart, nil
	}
	a.RdmaChangedAt = now
}
