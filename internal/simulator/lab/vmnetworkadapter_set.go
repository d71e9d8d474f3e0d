package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// setVMNetworkAdapter is Set-VMNetworkAdapter. It is not atomic: connection settings are written first, then
// security, offload and bandwidth; what fails late leaves the earlier ones changed (facts.md 51).
func setVMNetworkAdapter(c *call) {
	if err := c.ranges(); err != nil {
		c.fail(err)
		return
	}
	mac, err := c.staticMac()
	if err != nil {
		c.fail(err)
		return
	}
	for _, o := range c.operands() {
		steps := []func(operand) *cmdlet.Error{
			func(o operand) *cmdlet.Error { return c.setConnection(o, mac) },
			c.setSecurity, c.setOffload, c.setBandwidth,
		}
		failed := false
		for _, step := range steps {
			if err := step(o); err != nil {
				c.fail(err)
				failed = true
				break
			}
		}
		if !failed {
			c.passAdapter(o)
		}
	}
}

// ranges are checked before anything is written (facts.md 43).
func (c *call) ranges() *cmdlet.Error {
	for _, r := range []struct {
		name      string
		low, high int
	}{
		{"IovWeight", 0, 100},
		{"VmqWeight", 0, 100},
		{"MinimumBandwidthWeight", 0, 100},
		{"IovQueuePairsRequested", 1, 1 << 31},
	} {
		if n := c.integer(r.name); c.has(r.name) && (n < r.low || n > r.high) {
			return c.hyperv("InvalidParameter", "The value %d of parameter %s is out of range.", n, r.name)
		}
	}
	return nil
}

// vnicSettings are the settings of an operand that have no field of their own.
func (o operand) settings() *map[string]string {
	if o.managementOS() {
		return &o.vnic.Settings
	}
	return &o.nic.Settings
}

// keep stores parameters without a field of their own.
func (c *call) keep(o operand, defaults map[string]string, names ...string) {
	settings := o.settings()
	*settings = c.keepSettings(*settings, defaults, names...)
}

// setConnection writes what belongs to the device: MAC address, naming, pools. The MAC address of a running
// VM cannot change.
func (c *call) setConnection(o operand, mac string) *cmdlet.Error {
	if o.managementOS() {
		c.keep(o, nil, "NotMonitoredInCluster", "MandatoryFeatureId", "ResourcePoolName", "TestReplicaPoolName", "TestReplicaSwitchName")
		return nil
	}
	a := o.nic
	dynamic := c.boolean("DynamicMacAddress")
	if (mac != "" && (mac != a.MacAddress || a.DynamicMac)) || (dynamic && !a.DynamicMac) {
		if o.vm.State != stateOff {
			return c.invalidState(o.vm)
		}
		if mac != "" {
			a.MacAddress, a.DynamicMac = mac, false
		} else {
			a.MacAddress, a.DynamicMac = vmMac(c.host.Name, o.vm.ID, a.ID), true
		}
	}
	if c.has("DeviceNaming") {
		a.DeviceNaming = c.enum("DeviceNaming") == "On"
	}
	c.keep(o, map[string]string{"NotMonitoredInCluster": "False"}, "NotMonitoredInCluster", "MandatoryFeatureId", "ResourcePoolName",
		"TestReplicaPoolName", "TestReplicaSwitchName", "InterruptModeration", "MediaType", "NumaAwarePlacement")
	return nil
}

// setSecurity writes guards, mirroring, spoofing and tagging. Some of them may cost the VF (facts.md 58).
func (c *call) setSecurity(o operand) *cmdlet.Error {
	off := map[string]string{
		"DhcpGuard": "Off", "RouterGuard": "Off", "PortMirroring": "None", "IeeePriorityTag": "Off", "VirtualSubnetId": "0",
		"StormLimit": "0", "DynamicIPAddressLimit": "0", "FixSpeed10G": "Off", "MacAddressSpoofing": "Off", "AllowTeaming": "Off",
	}
	names := []string{"DhcpGuard", "RouterGuard", "PortMirroring", "IeeePriorityTag", "VirtualSubnetId", "StormLimit", "DynamicIPAddressLimit", "FixSpeed10G"}
	if o.managementOS() {
		c.keep(o, off, append(names, "MacAddressSpoofing", "AllowTeaming")...)
		return nil
	}
	c.keep(o, off, names...)
	if c.has("MacAddressSpoofing") {
		o.nic.MacAddressSpoofing = c.enum("MacAddressSpoofing") == "On"
	}
	if c.has("AllowTeaming") {
		o.nic.AllowTeaming = c.enum("AllowTeaming") == "On"
	}
	c.reallocate(c.host)
	return nil
}

// setOffload writes queue and IOV settings. IovWeight takes effect at once on a running VM: the VF is added or
// revoked (facts.md 46); what is requested of a VF waits for its next allocation (facts.md 47a).
func (c *call) setOffload(o operand) *cmdlet.Error {
	plain := map[string]string{
		"IPsecOffloadMaximumSecurityAssociation": "512", "PacketDirectNumProcs": "0", "PacketDirectModerationCount": "64", "PacketDirectModerationInterval": "1000000",
		"VrssEnabled": "True", "VmmqEnabled": "False", "VmmqQueuePairs": "16", "VrssMaxQueuePairs": "16", "VrssMinQueuePairs": "1", "VrssQueueSchedulingMode": "Dynamic",
		"VrssExcludePrimaryProcessor": "False", "VrssIndependentHostSpreading": "False", "VrssVmbusChannelAffinityPolicy": "Strong", "VmqWeight": "100",
	}
	names := []string{
		"IPsecOffloadMaximumSecurityAssociation", "PacketDirectNumProcs", "PacketDirectModerationCount", "PacketDirectModerationInterval", "VrssEnabled", "VmmqEnabled",
		"VmmqQueuePairs", "VrssMaxQueuePairs", "VrssMinQueuePairs", "VrssQueueSchedulingMode", "VrssExcludePrimaryProcessor", "VrssIndependentHostSpreading",
		"VrssVmbusChannelAffinityPolicy",
	}
	if o.managementOS() {
		if c.anyOf("IovWeight", "IovQueuePairsRequested", "IovInterruptModeration") { // facts.md 48: host vNICs never get virtual functions
			return c.hyperv("InvalidParameter", "A network adapter of the management operating system has no SR-IOV settings.")
		}
		c.keep(o, plain, append(names, "VmqWeight")...)
		return nil
	}
	a := o.nic
	if a.Legacy && c.anyOf("IovWeight", "IovQueuePairsRequested", "IovInterruptModeration", "VmqWeight") { // facts.md 61
		return c.hyperv("InvalidParameter", "A legacy network adapter has no hardware offloads.")
	}
	c.keep(o, plain, names...)
	if c.has("VmqWeight") {
		a.VmqWeight = c.integer("VmqWeight")
	}
	if c.has("IovQueuePairsRequested") {
		a.IovQueuePairsRequested = c.integer("IovQueuePairsRequested")
	}
	if c.has("IovInterruptModeration") {
		a.IovInterruptModeration = c.enum("IovInterruptModeration")
	}
	if c.has("IovWeight") {
		if a.IovWeight == 0 {
			a.changedAt = c.clock()
		}
		a.IovWeight = c.integer("IovWeight")
		c.reallocate(c.host)
	}
	return nil
}

// setBandwidth refuses a minimum where the switch reserves none or the other kind: every IOV switch made with
// the default mode (facts.md 52, cases.md 19). A maximum is not blocked.
func (c *call) setBandwidth(o operand) *cmdlet.Error {
	if s := c.host.switchByID(o.switchID()); s != nil {
		if (c.has("MinimumBandwidthWeight") && s.BandwidthMode != "Weight") || (c.has("MinimumBandwidthAbsolute") && s.BandwidthMode != "Absolute") {
			return c.hyperv("InvalidParameter", "The minimum bandwidth does not fit bandwidth reservation mode %s of virtual switch '%s'.", s.BandwidthMode, s.Name)
		}
	}
	c.keep(o, map[string]string{"MaximumBandwidth": "0", "MinimumBandwidthAbsolute": "0"}, "MaximumBandwidth", "MinimumBandwidthAbsolute")
	if c.has("MinimumBandwidthWeight") {
		if o.managementOS() {
			c.keep(o, map[string]string{"MinimumBandwidthWeight": "0"}, "MinimumBandwidthWeight")
		} else {
			o.nic.MinimumBandwidthWeight = c.integer("MinimumBandwidthWeight")
		}
	}
	c.reallocate(c.host)
	return nil
}
