package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVMNetworkAdapterRdma is Get-VMNetworkAdapterRdma. An adapter whose weight was never set has no such
// setting, so nothing comes out for it (facts.md 50).
func getVMNetworkAdapterRdma(c *call) {
	for _, o := range c.operands() {
		if o.managementOS() || o.nic.RdmaWeight == nil {
			continue
		}
		c.emit(c.hyperVObject("VMNetworkAdapterRdmaSetting", o.vm.nicRef(o.nic), "VMNetworkAdapterRdmaSetting", []string{"VMNetworkAdapterFeatureBase"},
			prop("RdmaWeight", int64(*o.nic.RdmaWeight)), prop("ParentAdapter", c.parentAdapter(o)), prop("IsTemplate", false)))
	}
}

// setVMNetworkAdapterRdma is Set-VMNetworkAdapterRdma. -Passthru gives the adapter (facts.md 49).
func setVMNetworkAdapterRdma(c *call) {
	if c.boolean("ManagementOS") { // facts.md 48: it parses and always fails
		c.fail(c.hostVNicRdma())
		return
	}
	weight := c.integer("RdmaWeight")
	if c.has("RdmaWeight") && (weight < 0 || weight > 100) { // facts.md 43
		c.fail(c.hyperv("InvalidParameter", "The value %d of parameter RdmaWeight is out of range.", weight))
		return
	}
	for _, o := range c.operands() {
		if o.managementOS() {
			c.fail(c.hostVNicRdma())
			continue
		}
		if c.has("RdmaWeight") {
			if err := c.setRdmaWeight(o, weight); err != nil {
				c.fail(err)
				continue
			}
		}
		c.passAdapter(o)
	}
}

func (c *call) hostVNicRdma() *cmdlet.Error {
	return c.hyperv("InvalidParameter", "RDMA of a network adapter of the management operating system is not set by its weight.")
}

func (c *call) setRdmaWeight(o operand, weight int) *cmdlet.Error {
	a := o.nic
	if a.Legacy { // facts.md 61
		return c.hyperv("InvalidParameter", "A legacy network adapter has no RDMA.")
	}
	before := 0
	if a.RdmaWeight != nil {
		before = *a.RdmaWeight
	}
	// facts.md 44, cases.md 50: IovWeight must be 0 before RdmaWeight becomes 0.
	if weight == 0 && before > 0 && a.IovWeight > 0 && c.unknowns.RdmaWeightZeroUnderIov != "accept" {
		return c.hyperv("InvalidParameter", "The RDMA weight of network adapter '%s' cannot become 0 while its IOV weight is %d.", a.Name, a.IovWeight)
	}
	if o.vm.State != stateOff && weight != before { // facts.md 45, 47, section 7: not known
		switch c.unknowns.RdmaWeightOnRunningVM {
		case "reject":
			return c.invalidState(o.vm)
		case "defer":
			if a.rdmaUntilStart == nil {
				a.rdmaUntilStart = &before
			}
		}
	}
	a.RdmaWeight = &weight
	return nil
}
