package lab

import (
	"strings"

	"github.com/google/uuid"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// newVMSwitch is New-VMSwitch.
func newVMSwitch(c *call) {
	s, ports, err := c.plannedSwitch()
	if err != nil {
		c.fail(err)
		return
	}
	for _, p := range ports {
		s.Ports = append(s.Ports, p.port.InterfaceGuid)
	}
	reason := "switch " + s.Name + " created"
	for _, p := range ports { // before the switch exists, so that the management path is judged as it was
		c.bindPort(p, reason)
	}
	c.host.Switches = append(c.host.Switches, s)
	// facts.md 13: AllowManagementOS is true when it was left out.
	if s.Type == "Internal" || (s.Type == "External" && (!c.has("AllowManagementOS") || c.boolean("AllowManagementOS"))) {
		c.addHostVNic(s, s.Name)
	}
	c.reallocate(c.host)
	c.emit(c.switchObject(s))
}

// plannedSwitch is the switch that a call asks for, or why it cannot be.
func (c *call) plannedSwitch() (*Switch, []boundPort, *cmdlet.Error) {
	s := &Switch{
		ID: c.newGUID(c.host.Name, "switch"), Name: c.str("Name"), Notes: c.str("Notes"), Type: "External",
		IovEnabled: c.boolean("EnableIov"), PacketDirect: c.boolean("EnablePacketDirect"), EmbeddedTeaming: c.boolean("EnableEmbeddedTeaming"), Ports: []string{},
	}
	if c.has("Id") {
		id, err := uuid.Parse(c.str("Id"))
		if err != nil || c.host.switchByID(id.String()) != nil {
			return nil, nil, c.hyperv("InvalidParameter", "'%s' is no id for a new virtual switch.", c.str("Id"))
		}
		s.ID = id.String()
	}
	if c.has("SwitchType") {
		s.Type = c.enum("SwitchType")
		if s.Type == "External" {
			return nil, nil, c.hyperv("InvalidParameter", "An external virtual switch needs a net adapter.")
		}
	}
	names, descriptions := c.strs("NetAdapterName"), c.strs("NetAdapterInterfaceDescription")
	ports, err := c.findPorts(names, descriptions)
	if err != nil {
		return nil, nil, err
	}
	lbfo := len(ports) > 1 && len(names)+len(descriptions) == 1
	if err := c.teaming(s, ports, lbfo); err != nil {
		return nil, nil, err
	}
	if err := c.offloads(s); err != nil {
		return nil, nil, err
	}
	return s, ports, c.bindable(ports, lbfo)
}

// teaming decides on embedded teaming: two adapters make it true, an explicit false refuses them (facts.md 13);
// one adapter is a legal team (facts.md 9).
func (c *call) teaming(s *Switch, ports []boundPort, lbfo bool) *cmdlet.Error {
	if lbfo {
		s.EmbeddedTeaming = false
		return nil
	}
	if len(ports) > 1 {
		if c.has("EnableEmbeddedTeaming") && !s.EmbeddedTeaming {
			return c.hyperv("InvalidParameter", "Several net adapters need embedded teaming.")
		}
		s.EmbeddedTeaming = true
	}
	if !s.EmbeddedTeaming {
		return nil
	}
	if len(ports) == 0 {
		return c.hyperv("InvalidParameter", "Embedded teaming needs an external virtual switch.")
	}
	s.LoadBalancing = "HyperVPort"
	if c.host.OS.Build < 17763 { // facts.md 13: Dynamic on Windows Server 2016
		s.LoadBalancing = "Dynamic"
	}
	return c.teamable(ports)
}

// offloads decides on the bandwidth mode and judges the offloads that exclude each other.
func (c *call) offloads(s *Switch) *cmdlet.Error {
	if s.PacketDirect && (s.IovEnabled || s.EmbeddedTeaming) { // facts.md 18
		return c.hyperv("InvalidParameter", "Packet direct cannot be combined with SR-IOV or embedded teaming.")
	}
	s.BandwidthMode = c.enum("MinimumBandwidthMode")
	if s.BandwidthMode == "" || s.BandwidthMode == "Default" { // facts.md 10
		s.BandwidthMode = "Weight"
		if s.IovEnabled {
			s.BandwidthMode = "None"
		}
	}
	// facts.md 11: the cmdlet forwards it; what the management service then says is not known.
	if s.IovEnabled && (s.BandwidthMode != "None" || s.Type != "External") && c.unknowns.IovWithBandwidthMode == "reject" {
		return c.hyperv("InvalidParameter", "SR-IOV needs an external virtual switch without minimum bandwidth.")
	}
	return nil
}

// addHostVNic makes a virtual adapter of the management operating system. The first of an external switch
// takes over the port's MAC and IP configuration (facts.md 16, 28).
func (c *call) addHostVNic(s *Switch, name string) *HostVNic {
	id := strings.ToUpper(c.newGUID(c.host.Name, "vnic"))
	v := &HostVNic{
		ID: "Microsoft:" + id, Name: name, DeviceID: "{" + strings.ToUpper(c.newGUID(c.host.Name, "vnic device")) + "}", InterfaceIndex: c.host.nextIndex(),
		SwitchID: s.ID, MacAddress: vmMac(id), Enabled: true, Vlan: Vlan{Mode: "Untagged"}, Isolation: Isolation{Mode: "None"},
	}
	if ports := c.switchPorts(s); len(ports) > 0 && !c.host.hasHostVNic(s) {
		first := ports[0]
		v.MacAddress = first.port.MacAddress
		v.IP, first.port.IP = c.takenOver(first.port.IP), IPConfig{}
		if first.port.VlanID != 0 && c.host.OS.Build >= 16299 { // facts.md 23: from 1709 on the VLAN is copied
			v.Vlan = Vlan{Mode: "Access", AccessID: first.port.VlanID}
		}
	}
	c.host.HostVNics = append(c.host.HostVNics, v)
	return v
}

// hasHostVNic is what AllowManagementOS means: any internal port exists (facts.md 16).
func (h *Host) hasHostVNic(s *Switch) bool {
	for _, v := range h.HostVNics {
		if v.SwitchID == s.ID {
			return true
		}
	}
	return false
}

// removeHostVNics takes every host vNIC off a switch (facts.md 16).
func (c *call) removeHostVNics(s *Switch) {
	for _, v := range append([]*HostVNic{}, c.host.HostVNics...) {
		if v.SwitchID == s.ID {
			c.removeHostVNic(v)
		}
	}
}

// removeHostVNic takes one host vNIC away. The one that took over a port's address gives it back (facts.md 28).
func (c *call) removeHostVNic(v *HostVNic) {
	kept := []*HostVNic{}
	for _, other := range c.host.HostVNics {
		if other != v {
			kept = append(kept, other)
		}
	}
	c.host.HostVNics = kept
	s := c.host.switchByID(v.SwitchID)
	if s == nil {
		return
	}
	for _, p := range c.switchPorts(s) {
		if p.port.MacAddress == v.MacAddress && len(p.port.IP.Addresses) == 0 {
			p.port.IP = v.IP
			if v.IP.automatic() {
				p.port.IP = IPConfig{Dhcp: true}
			}
			return
		}
	}
}
