package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// setVMSwitch is Set-VMSwitch. IOV, teaming, bandwidth mode and packet direct have no parameter here: they are
// chosen at creation (facts.md 8, 9).
func setVMSwitch(c *call) {
	var port []boundPort
	if c.anyOf("NetAdapterName", "NetAdapterInterfaceDescription") { // facts.md 19: one adapter
		var err *cmdlet.Error
		if port, err = c.findPorts(c.strs("NetAdapterName"), c.strs("NetAdapterInterfaceDescription")); err != nil {
			c.fail(err)
			return
		}
	}
	for _, s := range c.switchesByParameter("Name") {
		if err := c.changeSwitch(s, port); err != nil {
			c.fail(err)
			continue
		}
		c.reallocate(c.host)
		if c.boolean("Passthru") {
			c.emit(c.switchObject(s))
		}
	}
}

func (c *call) changeSwitch(s *Switch, port []boundPort) *cmdlet.Error {
	for _, step := range []func(*Switch) *cmdlet.Error{
		c.setSwitchType,
		func(s *Switch) *cmdlet.Error { return c.setSwitchPort(s, port) },
		c.setManagementOS, c.setFlows, c.setQueues,
	} {
		if err := step(s); err != nil {
			return err
		}
	}
	if c.has("Notes") {
		s.Notes = c.str("Notes")
	}
	return nil
}

// setSwitchType: an external switch with IOV keeps its type; an internal or private one becomes external only
// together with a net adapter (facts.md 12).
func (c *call) setSwitchType(s *Switch) *cmdlet.Error {
	to := c.enum("SwitchType")
	if to == "" || to == s.Type {
		return nil
	}
	if s.Type == "External" && s.IovEnabled {
		return c.hyperv("InvalidParameter", "The type of external virtual switch '%s' with SR-IOV cannot change.", s.Name)
	}
	if to == "External" {
		return c.hyperv("InvalidParameter", "An external virtual switch needs a net adapter.")
	}
	for _, p := range c.switchPorts(s) {
		c.unbindPort(p, "switch "+s.Name+" changed")
	}
	if to == "Private" {
		c.removeHostVNics(s)
	}
	s.Ports, s.Type, s.EmbeddedTeaming, s.LoadBalancing = []string{}, to, false, ""
	if to == "Internal" && !c.host.hasHostVNic(s) {
		c.addHostVNic(s, s.Name)
	}
	return nil
}

// setSwitchPort binds the switch to another net adapter. Members of a team change by the team cmdlets only
// (facts.md 19).
func (c *call) setSwitchPort(s *Switch, ports []boundPort) *cmdlet.Error {
	if len(ports) == 0 || (len(s.Ports) == 1 && len(ports) == 1 && s.Ports[0] == ports[0].port.InterfaceGuid) {
		return nil
	}
	if s.EmbeddedTeaming || len(ports) > 1 {
		return c.hyperv("InvalidParameter", "The net adapters of virtual switch '%s' are a team.", s.Name)
	}
	if err := c.bindable(ports, false); err != nil {
		return err
	}
	reason := "switch " + s.Name + " changed"
	for _, p := range c.switchPorts(s) {
		c.unbindPort(p, reason)
	}
	c.bindPort(ports[0], reason)
	s.Ports, s.Type = []string{ports[0].port.InterfaceGuid}, "External"
	return nil
}

// setManagementOS: false removes every host vNIC, true adds exactly one where there is none (facts.md 16).
func (c *call) setManagementOS(s *Switch) *cmdlet.Error {
	if !c.has("AllowManagementOS") {
		return nil
	}
	if s.Type != "External" {
		return c.hyperv("InvalidParameter", "Virtual switch '%s' is not external.", s.Name)
	}
	switch want := c.boolean("AllowManagementOS"); {
	case want && !c.host.hasHostVNic(s):
		c.addHostVNic(s, s.Name)
	case !want:
		for _, p := range c.switchPorts(s) {
			if c.host.hasHostVNic(s) && c.host.carriesManagement(p.port) {
				c.dropSession(c.host, p.port.Name, "host vNICs of switch "+s.Name+" removed")
			}
		}
		c.removeHostVNics(s)
	}
	return nil
}

// setFlows: a default flow needs the bandwidth mode that it is measured in (facts.md 52).
func (c *call) setFlows(s *Switch) *cmdlet.Error {
	if (c.has("DefaultFlowMinimumBandwidthWeight") && s.BandwidthMode != "Weight") || (c.has("DefaultFlowMinimumBandwidthAbsolute") && s.BandwidthMode != "Absolute") {
		return c.hyperv("InvalidParameter", "The minimum bandwidth does not fit bandwidth reservation mode %s of virtual switch '%s'.", s.BandwidthMode, s.Name)
	}
	s.Settings = c.keepSettings(s.Settings, map[string]string{"DefaultFlowMinimumBandwidthWeight": "0", "DefaultFlowMinimumBandwidthAbsolute": "0"},
		"DefaultFlowMinimumBandwidthWeight", "DefaultFlowMinimumBandwidthAbsolute")
	return nil
}

// setQueues: queue options fail on net adapters that do not spread host queues (facts.md 20).
func (c *call) setQueues(s *Switch) *cmdlet.Error {
	names := []string{
		"DefaultQueueVrssEnabled", "DefaultQueueVmmqEnabled", "DefaultQueueVmmqQueuePairs", "DefaultQueueVrssMaxQueuePairs", "DefaultQueueVrssMinQueuePairs",
		"DefaultQueueVrssQueueSchedulingMode", "DefaultQueueVrssExcludePrimaryProcessor",
	}
	s.Settings = c.keepSettings(s.Settings, map[string]string{"EnableSoftwareRsc": "True"}, "EnableSoftwareRsc")
	if !c.anyOf(names...) {
		return nil
	}
	ports := c.switchPorts(s)
	for _, p := range ports {
		if !p.port.runs("*RssOnHostVPorts", "1") {
			return c.hyperv("OperationFailed", "Failed while modifying virtual Ethernet switch connection settings.")
		}
	}
	if len(ports) == 0 {
		return c.hyperv("OperationFailed", "Failed while modifying virtual Ethernet switch connection settings.")
	}
	s.Settings = c.keepSettings(s.Settings, map[string]string{
		"DefaultQueueVrssEnabled": "False", "DefaultQueueVmmqEnabled": "False", "DefaultQueueVmmqQueuePairs": "16", "DefaultQueueVrssMaxQueuePairs": "16",
		"DefaultQueueVrssMinQueuePairs": "1", "DefaultQueueVrssQueueSchedulingMode": "Dynamic", "DefaultQueueVrssExcludePrimaryProcessor": "False",
	}, names...)
	return nil
}
