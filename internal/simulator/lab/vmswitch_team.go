package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVMSwitchTeam is Get-VMSwitchTeam: only switches with embedded teaming have a team.
func getVMSwitchTeam(c *call) {
	all := c.host.Switches
	named := c.anyOf("Name", "VMSwitch")
	if named {
		all = c.switchesByParameter("Name")
	}
	for _, s := range all {
		if s.EmbeddedTeaming {
			c.emit(c.teamObject(s))
		} else if named && !isWildcard(c.str("Name")) {
			c.fail(c.notATeam(s))
		}
	}
}

func (c *call) notATeam(s *Switch) *cmdlet.Error {
	return c.hyperv("InvalidParameter", "Virtual switch '%s' has no embedded teaming.", s.Name)
}

func (c *call) teamObject(s *Switch) *cmdlet.Object {
	descriptions, guids := []any{}, []any{}
	for _, p := range c.switchPorts(s) {
		descriptions = append(descriptions, p.port.InterfaceDescription)
		guids = append(guids, cmdlet.GUID(strings.ToLower(strings.Trim(p.port.InterfaceGuid, "{}"))))
	}
	return &cmdlet.Object{
		Types: []string{hyperVNamespace + "VMSwitchTeam"}, Ref: refSwitch + s.ID, Text: "VMSwitchTeam (Name = '" + s.Name + "')",
		Properties: []cmdlet.Property{
			prop("Name", s.Name), prop("Id", cmdlet.GUID(strings.ToLower(s.ID))), prop("NetAdapterInterfaceDescription", descriptions),
			prop("NetAdapterInterfaceGuid", guids), prop("TeamingMode", hyperVEnum("VMSwitchTeamingMode", "SwitchIndependent")),
			prop("LoadBalancingAlgorithm", hyperVEnum("VMSwitchLoadBalancingAlgorithm", s.LoadBalancing)),
		},
	}
}

// setVMSwitchTeam is Set-VMSwitchTeam: the list of members as a whole, and the load balancing. Teaming is
// switch independent and nothing else (facts.md 21).
func setVMSwitchTeam(c *call) {
	for _, s := range c.switchesByParameter("Name") {
		if !s.EmbeddedTeaming {
			c.fail(c.notATeam(s))
			continue
		}
		if c.anyOf("NetAdapterName", "NetAdapterInterfaceDescription") {
			if err := c.setMembers(s); err != nil {
				c.fail(err)
				continue
			}
		}
		if c.has("LoadBalancingAlgorithm") {
			s.LoadBalancing = c.enum("LoadBalancingAlgorithm")
		}
		c.reallocate(c.host)
		if c.boolean("Passthru") {
			c.emit(c.switchObject(s))
		}
	}
}

func (c *call) setMembers(s *Switch) *cmdlet.Error {
	wanted, err := c.findPorts(c.strs("NetAdapterName"), c.strs("NetAdapterInterfaceDescription"))
	if err != nil {
		return err
	}
	var added []boundPort
	var ids []string
	for _, p := range wanted {
		ids = append(ids, p.port.InterfaceGuid)
		if c.host.switchOf(p.port) != s {
			added = append(added, p)
		}
	}
	if err := c.bindable(added, false); err != nil {
		return err
	}
	if err := c.teamable(wanted); err != nil {
		return err
	}
	for _, p := range c.switchPorts(s) {
		if !matchesExactly(ids, p.port.InterfaceGuid) {
			c.moveMember(p, s)
		}
	}
	for _, p := range added {
		c.moveMember(p, s)
	}
	s.Ports = ids
	return nil
}

// moveMember is a net adapter that joins or leaves a team. Its link flaps (facts.md 27); the switch itself is
// neither made nor removed, so no bounce is owed (facts.md 25).
func (c *call) moveMember(p boundPort, s *Switch) {
	c.event("link_flap", p.port.Name, "members of switch "+s.Name+" changed")
	if c.host.carriesManagement(p.port) && len(s.Ports) == 1 {
		c.dropSession(c.host, p.port.Name, "members of switch "+s.Name+" changed")
	}
	p.port.StartedAt = c.clock()
}

// addVMSwitchTeamMember is Add-VMSwitchTeamMember.
func addVMSwitchTeamMember(c *call) {
	c.changeMembers(func(s *Switch, ports []boundPort) *cmdlet.Error {
		if err := c.bindable(ports, false); err != nil {
			return err
		}
		if err := c.teamable(append(c.switchPorts(s), ports...)); err != nil {
			return err
		}
		for _, p := range ports {
			c.moveMember(p, s)
			s.Ports = append(s.Ports, p.port.InterfaceGuid)
		}
		return nil
	})
}

// removeVMSwitchTeamMember is Remove-VMSwitchTeamMember. The last member stays: a team has one to eight
// (facts.md 21).
func removeVMSwitchTeamMember(c *call) {
	c.changeMembers(func(s *Switch, ports []boundPort) *cmdlet.Error {
		var gone []string
		for _, p := range ports {
			if c.host.switchOf(p.port) != s {
				return c.hyperv("InvalidParameter", "Net adapter '%s' is no member of virtual switch '%s'.", p.port.Name, s.Name)
			}
			gone = append(gone, p.port.InterfaceGuid)
		}
		kept := []string{}
		for _, id := range s.Ports {
			if !matchesExactly(gone, id) {
				kept = append(kept, id)
			}
		}
		if len(kept) == 0 {
			return c.hyperv("InvalidParameter", "The last net adapter of virtual switch '%s' cannot leave its team.", s.Name)
		}
		for _, p := range ports {
			c.moveMember(p, s)
		}
		s.Ports = kept
		return nil
	})
}

func (c *call) changeMembers(change func(*Switch, []boundPort) *cmdlet.Error) {
	ports, err := c.findPorts(c.strs("NetAdapterName"), c.strs("NetAdapterInterfaceDescription"))
	if err != nil {
		c.fail(err)
		return
	}
	for _, s := range c.switchesByParameter("VMSwitchName") {
		if !s.EmbeddedTeaming {
			c.fail(c.notATeam(s))
			continue
		}
		if err := change(s, ports); err != nil {
			c.fail(err)
			continue
		}
		c.reallocate(c.host)
		if c.boolean("Passthru") {
			c.emit(c.switchObject(s))
		}
	}
}
