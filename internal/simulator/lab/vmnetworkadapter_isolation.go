package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVMNetworkAdapterIsolation is Get-VMNetworkAdapterIsolation, the other place where a VLAN can be (facts.md 60).
func getVMNetworkAdapterIsolation(c *call) {
	for _, o := range c.operands() {
		c.emit(c.isolationObject(o, c.parentAdapter(o)))
	}
}

func (c *call) isolationObject(o operand, parent *cmdlet.Object) *cmdlet.Object {
	i := o.isolation()
	return c.hyperVObject("VMNetworkAdapterIsolationSetting", parent.Ref, "VMNetworkAdapterIsolationSetting", []string{"VMNetworkAdapterFeatureBase"},
		prop("IsolationMode", hyperVEnum("VMNetworkAdapterIsolationMode", i.Mode)), prop("AllowUntaggedTraffic", i.AllowUntaggedTraffic),
		prop("DefaultIsolationID", int64(i.DefaultIsolationID)), prop("MultiTenantStack", onOff(i.MultiTenantStack)),
		prop("ParentAdapter", parent), prop("IsTemplate", false))
}

// setVMNetworkAdapterIsolation is Set-VMNetworkAdapterIsolation. What is not given stays.
func setVMNetworkAdapterIsolation(c *call) {
	if n := c.integer("DefaultIsolationID"); c.has("DefaultIsolationID") && (n < 0 || n > 4095) && c.enum("IsolationMode") == "Vlan" {
		c.fail(c.hyperv("InvalidParameter", "The value %d of parameter DefaultIsolationID is no VLAN.", n))
		return
	}
	for _, o := range c.operands() {
		i := o.isolation()
		if c.has("IsolationMode") {
			i.Mode = c.enum("IsolationMode")
		}
		if c.has("DefaultIsolationID") {
			i.DefaultIsolationID = c.integer("DefaultIsolationID")
		}
		if c.has("AllowUntaggedTraffic") {
			i.AllowUntaggedTraffic = c.boolean("AllowUntaggedTraffic")
		}
		if c.has("MultiTenantStack") {
			i.MultiTenantStack = c.enum("MultiTenantStack") == "On"
		}
		if c.boolean("Passthru") {
			c.emit(c.isolationObject(o, c.parentAdapter(o)))
		}
	}
}
