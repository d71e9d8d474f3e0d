package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVMNetworkAdapterTeamMapping is Get-VMNetworkAdapterTeamMapping: one object per adapter that is mapped.
func getVMNetworkAdapterTeamMapping(c *call) {
	for _, o := range c.operands() {
		if *o.teamMapping() != "" {
			c.emit(c.teamMappingObject(o))
		}
	}
}

func (c *call) teamMappingObject(o operand) *cmdlet.Object {
	id := *o.teamMapping()
	var name any
	if _, p := c.host.port(id); p != nil {
		name = p.Name
	}
	parent := c.parentAdapter(o)
	onFailover := setting(*o.settings(), "DisableOnFailover", "None")
	return c.hyperVObject("VMNetworkAdapterTeamMappingSetting", parent.Ref, "VMNetworkAdapterTeamMappingSetting", []string{"VMNetworkAdapterFeatureBase"},
		prop("NetAdapterName", name), prop("NetAdapterDeviceId", id), prop("DisableOnFailover", hyperVEnum("DisableOnFailoverFeature", onFailover)),
		prop("ParentAdapter", parent), prop("IsTemplate", false))
}

// setVMNetworkAdapterTeamMapping is Set-VMNetworkAdapterTeamMapping: it pins an adapter to one member of its
// team (facts.md 22). A running VM's virtual function moves with it.
func setVMNetworkAdapterTeamMapping(c *call) {
	name := c.str("PhysicalNetAdapterName")
	_, p := c.host.portByName(name)
	if p == nil {
		c.fail(c.hyperv("InvalidParameter", "There is no physical net adapter %q.", name))
		return
	}
	for _, o := range c.operands() {
		if s := c.host.switchByID(o.switchID()); s != nil && c.host.switchOf(p) != s {
			c.fail(c.hyperv("InvalidParameter", "Net adapter '%s' is no member of virtual switch '%s'.", p.Name, s.Name))
			continue
		}
		*o.teamMapping() = p.InterfaceGuid
		c.keep(o, map[string]string{"DisableOnFailover": "None"}, "DisableOnFailover")
		if !o.managementOS() {
			o.nic.changedAt = c.clock()
		}
		c.reallocate(c.host)
		if c.boolean("Passthru") {
			c.emit(c.teamMappingObject(o))
		}
	}
}

// removeVMNetworkAdapterTeamMapping is Remove-VMNetworkAdapterTeamMapping.
func removeVMNetworkAdapterTeamMapping(c *call) {
	for _, o := range c.operands() {
		if *o.teamMapping() == "" {
			continue
		}
		gone := c.teamMappingObject(o)
		*o.teamMapping() = ""
		delete(*o.settings(), "DisableOnFailover")
		c.reallocate(c.host)
		if c.boolean("Passthru") {
			c.emit(gone)
		}
	}
}
