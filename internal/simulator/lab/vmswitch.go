package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVMSwitch is Get-VMSwitch. Nothing is ever found wanting when no name and no id was given.
func getVMSwitch(c *call) {
	types := c.strs("SwitchType")
	wanted := func(s *Switch) bool { return len(types) == 0 || matchesExactly(types, s.Type) }
	switch {
	case c.has("Id"):
		for _, id := range c.strs("Id") {
			s := c.host.switchByID(id)
			if s == nil { // errors.md 1: another id than -Name gives
				c.fail(c.hyperv("ObjectNotFound", "No Ethernet switch could be found matching the specified criteria."))
				continue
			}
			if wanted(s) {
				c.emit(c.switchObject(s))
			}
		}
	case c.has("Name"):
		for _, s := range c.switchesByParameter("Name") {
			if wanted(s) {
				c.emit(c.switchObject(s))
			}
		}
	default:
		for _, s := range c.host.Switches {
			if wanted(s) {
				c.emit(c.switchObject(s))
			}
		}
	}
}

// renameVMSwitch is Rename-VMSwitch. Names are not unique; host vNICs keep theirs.
func renameVMSwitch(c *call) {
	for _, s := range c.switchesByParameter("Name") {
		s.Name = c.str("NewName")
		if c.boolean("Passthru") {
			c.emit(c.switchObject(s))
		}
	}
}

// removeVMSwitch is Remove-VMSwitch. A switch that a running VM uses stays (errors.md 3); adapters of VMs
// that are off become disconnected (facts.md 62); host vNICs go with it and their IP goes back (facts.md 28).
func removeVMSwitch(c *call) {
	for _, s := range c.switchesByParameter("Name") {
		if c.host.usedByRunningVM(s) {
			c.fail(c.hypervTask("ObjectInUse", "Failed while removing virtual Ethernet switch.\nThe virtual switch '%s' cannot be deleted because it is being used "+
				"by running virtual machines or assigned to child pools.\nThe operation cannot be performed while the object is in use.", s.Name))
			continue
		}
		reason := "switch " + s.Name + " removed"
		for _, p := range c.switchPorts(s) {
			c.unbindPort(p, reason)
		}
		c.removeHostVNics(s)
		for _, vm := range c.host.VMs {
			for _, a := range vm.Adapters {
				if a.SwitchID == s.ID {
					a.SwitchID = "" // its port settings stay with it
				}
			}
		}
		var kept []*Switch
		for _, other := range c.host.Switches {
			if other != s {
				kept = append(kept, other)
			}
		}
		c.host.Switches = append([]*Switch{}, kept...)
		c.reallocate(c.host)
	}
}

func (h *Host) usedByRunningVM(s *Switch) bool {
	for _, vm := range h.VMs {
		if vm.State == stateOff || vm.State == stateSaved {
			continue
		}
		for _, a := range vm.Adapters {
			if a.SwitchID == s.ID {
				return true
			}
		}
	}
	return false
}

// boundPort is a physical net adapter with the device that it belongs to.
type boundPort struct {
	device *Device
	port   *Port
}

// switchPorts are the physical members of a switch, in order.
func (c *call) switchPorts(s *Switch) []boundPort { return c.host.switchPorts(s) }

func (h *Host) switchPorts(s *Switch) []boundPort {
	var ports []boundPort
	for _, id := range s.Ports {
		if d, p := h.port(id); p != nil {
			ports = append(ports, boundPort{d, p})
		}
	}
	return ports
}

// bindPort is what happens to a net adapter that moves under a switch: the link flaps (facts.md 27), the
// path to the host may break (facts.md 73), and Intel's iWARP parts want a bounce of all PFs (facts.md 25).
func (c *call) bindPort(p boundPort, reason string) {
	c.event("link_flap", p.port.Name, reason)
	if c.host.carriesManagement(p.port) {
		c.host.pathBack = c.clock().Add(c.timing.SwitchPath.Duration())
		c.dropSession(c.host, p.port.Name, reason)
	}
	p.device.needRebind()
	p.port.StartedAt = c.clock()
}

// unbindPort is the same on the way back (facts.md 25, 27, 73).
func (c *call) unbindPort(p boundPort, reason string) { c.bindPort(p, reason) }

// findPorts turns the adapter names of a call into ports. By name the match is exact.
func (c *call) findPorts(names, descriptions []string) ([]boundPort, *cmdlet.Error) {
	var found []boundPort
	for _, name := range names {
		if team := c.host.lbfoTeamNamed(name); team != nil {
			ports, err := c.teamPorts(team)
			if err != nil {
				return nil, err
			}
			found = append(found, ports...)
			continue
		}
		d, p := c.host.portByName(name)
		if p == nil || !p.PnpEnabled { // errors.md 3 has the bare text, its id was never published
			return nil, c.hyperv("ObjectNotFound", "Sequence contains no matching element")
		}
		found = append(found, boundPort{d, p})
	}
	for _, description := range descriptions {
		port := boundPort{}
		for _, d := range c.host.Devices {
			for _, p := range d.Ports {
				if p.PnpEnabled && strings.EqualFold(p.InterfaceDescription, description) {
					port = boundPort{d, p}
				}
			}
		}
		if port.port == nil {
			return nil, c.hyperv("ObjectNotFound", "Sequence contains no matching element")
		}
		found = append(found, port)
	}
	return found, nil
}

func (h *Host) lbfoTeamNamed(name string) *LbfoTeam {
	for _, t := range h.LbfoTeams {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

// teamPorts are the members of a classic team; a switch on one is blocked from Windows Server 2022 on (facts.md 21).
func (c *call) teamPorts(team *LbfoTeam) ([]boundPort, *cmdlet.Error) {
	if c.host.OS.Build >= 20348 {
		return nil, c.hyperv("OperationFailed", "Attaching a virtual switch to an LBFO team is deprecated. Switch Embedded Teaming (SET) is an inbox replacement for this functionality.")
	}
	var ports []boundPort
	for _, id := range team.Members {
		if d, p := c.host.port(id); p != nil {
			ports = append(ports, boundPort{d, p})
		}
	}
	return ports, nil
}

// bindable says why ports cannot go under a switch: one NIC switch per adapter (facts.md 24), and an adapter
// that is down or belongs to a classic team has no port to bind to (facts.md 30).
func (c *call) bindable(ports []boundPort, lbfo bool) *cmdlet.Error {
	for i, p := range ports {
		for _, other := range ports[:i] {
			if other.port == p.port {
				return c.hyperv("InvalidParameter", "Net adapter '%s' was given twice.", p.port.Name)
			}
		}
		if owner := c.host.switchOf(p.port); owner != nil {
			return c.hyperv("ObjectInUse", "Failed while adding virtual Ethernet switch connections.\nEthernet port '%s' is bound to virtual switch '%s'.", p.port.InterfaceGuid, owner.Name)
		}
		if !p.port.Enabled || (!lbfo && c.host.lbfoTeamOf(p.port.InterfaceGuid) != nil) {
			return c.hyperv("ObjectNotFound", "Failed while adding virtual Ethernet switch connections.\nEthernet port '%s' bind failed: Element not found. (0x80070490).", p.port.InterfaceGuid)
		}
	}
	return nil
}

// teamable says why ports cannot be members of one embedded team: one to eight identical adapters (facts.md 21).
func (c *call) teamable(ports []boundPort) *cmdlet.Error {
	if len(ports) > 8 {
		return c.hyperv("InvalidParameter", "A switch with embedded teaming takes at most 8 net adapters.")
	}
	for _, p := range ports {
		first := ports[0]
		if p.device.Profile != first.device.Profile || p.device.Driver != first.device.Driver || p.port.LinkSpeed != first.port.LinkSpeed {
			return c.hyperv("OperationFailed", "Failed while adding virtual Ethernet switch connections.\nNet adapters '%s' and '%s' are not identical.", first.port.Name, p.port.Name)
		}
	}
	return nil
}
