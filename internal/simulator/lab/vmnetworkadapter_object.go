package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const emptyGUID = "00000000-0000-0000-0000-000000000000"

// adapterObject is a VMNetworkAdapter, or a VMInternalNetworkAdapter of the management operating system,
// which has no IOV properties: host vNICs never get virtual functions (facts.md 48).
func (c *call) adapterObject(o operand) *cmdlet.Object {
	if o.managementOS() {
		return c.hostVNicObject(o.vnic)
	}
	return c.vmNicObject(o.vm, o.nic)
}

func (c *call) vmNicObject(vm *VM, a *VMAdapter) *cmdlet.Object {
	mac := a.MacAddress
	properties := []cmdlet.Property{
		prop("ClusterMonitored", setting(a.Settings, "NotMonitoredInCluster", "False") != "True"), prop("MacAddress", mac), prop("MediaType", int64(0)),
		prop("DynamicMacAddressEnabled", a.DynamicMac), prop("InterruptModeration", setting(a.Settings, "InterruptModeration", "True") == "True"),
		prop("AllowPacketDirect", false), prop("NumaAwarePlacement", setting(a.Settings, "NumaAwarePlacement", "False") == "True"),
		prop("IsLegacy", a.Legacy), prop("IsSynthetic", !a.Legacy), prop("IPAddresses", c.guestAddresses(vm, a)), prop("DeviceNaming", onOff(a.DeviceNaming)),
		prop("IovWeight", int64(a.IovWeight)), prop("IovQueuePairsRequested", int64(max(a.IovQueuePairsRequested, 1))),
		prop("IovInterruptModeration", hyperVEnum("IovInterruptModerationValue", a.IovInterruptModeration)),
		prop("PacketDirectNumProcs", numberSetting(a.Settings, "PacketDirectNumProcs", 0)),
		prop("PacketDirectModerationCount", numberSetting(a.Settings, "PacketDirectModerationCount", 64)),
		prop("PacketDirectModerationInterval", numberSetting(a.Settings, "PacketDirectModerationInterval", 1000000)),
		prop("IovQueuePairsAssigned", int64(a.queuePairs())), prop("IovUsage", int64(a.usage())), prop("VirtualFunction", c.virtualFunction(vm, a)),
		prop("MandatoryFeatureId", list(splitList(a.Settings["MandatoryFeatureId"])...)), prop("MandatoryFeatureName", []any{}),
		prop("PoolName", setting(a.Settings, "ResourcePoolName", "")), prop("Connected", a.SwitchID != ""), prop("SwitchName", c.switchName(a.SwitchID)),
		prop("AdapterId", strings.ToUpper(a.ID)), prop("TestReplicaPoolName", setting(a.Settings, "TestReplicaPoolName", "")),
		prop("TestReplicaSwitchName", setting(a.Settings, "TestReplicaSwitchName", "")),
	}
	status, description := c.adapterStatus(vm, a)
	properties = append(properties, prop("StatusDescription", description), prop("Status", status), prop("IsManagementOs", false), prop("IsExternalAdapter", false),
		prop("Id", vm.fullID(a)), prop("SwitchId", switchGUID(a.SwitchID)))
	spoofing := onOff(a.MacAddressSpoofing)
	properties = append(properties, c.portProperties(operand{vm: vm, nic: a}, a.Settings, spoofing, onOff(a.AllowTeaming), a.VmqWeight, a.MinimumBandwidthWeight)...)
	properties = append(properties,
		prop("VmqUsage", int64(0)), prop("IPsecOffloadSAUsage", int64(0)), prop("VFDataPathActive", a.Allocated != nil && a.Allocated.DataPath),
		prop("VMQueue", nil), prop("BandwidthPercentage", int64(0)), prop("IsTemplate", false), prop("Name", a.Name),
		prop("VMId", cmdlet.GUID(strings.ToLower(vm.ID))), prop("VMName", vm.Name), prop("VMSnapshotId", cmdlet.GUID(emptyGUID)), prop("VMSnapshotName", ""),
	)
	return c.hyperVObject("VMNetworkAdapter", vm.nicRef(a), "VMNetworkAdapter (Name = '"+a.Name+"', VMName = '"+vm.Name+"') [VMId = '"+vm.ID+"']",
		[]string{"VMNetworkAdapterBase"}, properties...)
}

func (c *call) hostVNicObject(v *HostVNic) *cmdlet.Object {
	properties := []cmdlet.Property{
		prop("IsManagementOs", true), prop("MacAddress", v.MacAddress), prop("DeviceId", v.DeviceID), prop("AdapterId", strings.TrimPrefix(v.ID, "Microsoft:")),
		prop("Name", v.Name), prop("SwitchName", c.switchName(v.SwitchID)), prop("StatusDescription", list("OK")),
		prop("Status", []any{hyperVEnum("VMNetworkAdapterOperationalStatus", "Ok")}), prop("IsExternalAdapter", false), prop("Id", v.ID),
		prop("SwitchId", switchGUID(v.SwitchID)),
	}
	settings := v.Settings
	properties = append(properties, c.portProperties(operand{vnic: v}, settings, onOff(setting(settings, "MacAddressSpoofing", "Off") == "On"),
		onOff(setting(settings, "AllowTeaming", "Off") == "On"), int(numberSetting(settings, "VmqWeight", 100)), int(numberSetting(settings, "MinimumBandwidthWeight", 0)))...)
	properties = append(properties,
		prop("VmqUsage", int64(0)), prop("IPsecOffloadSAUsage", int64(0)), prop("VFDataPathActive", false), prop("VMQueue", nil), prop("BandwidthPercentage", int64(0)),
		prop("IsTemplate", false), prop("VMId", cmdlet.GUID(emptyGUID)), prop("VMName", ""), prop("VMSnapshotId", cmdlet.GUID(emptyGUID)), prop("VMSnapshotName", ""),
	)
	return c.hyperVObject("VMInternalNetworkAdapter", refHostVNic+v.ID, "VMInternalNetworkAdapter (Name = '"+v.Name+"')",
		[]string{"VMNetworkAdapterBase"}, properties...)
}

// portProperties are those of a switch port, which both kinds of adapters have.
func (c *call) portProperties(o operand, settings map[string]string, spoofing, teaming cmdlet.Enum, vmqWeight, minimumWeight int) []cmdlet.Property {
	on := func(name string) cmdlet.Enum { return onOff(setting(settings, name, "Off") == "On") }
	flag := func(name string, byDefault string) bool { return setting(settings, name, byDefault) == "True" }
	n := func(name string, byDefault int64) int64 { return numberSetting(settings, name, byDefault) }
	queue := queueScheduling(settings, "VrssQueueSchedulingMode")
	affinity := hyperVEnum("VrssVmbusChannelAffinityPolicyType", setting(settings, "VrssVmbusChannelAffinityPolicy", "Strong"))
	pairs := n("VmmqQueuePairs", n("VrssMaxQueuePairs", 16))
	parent := c.parentAdapter(o)
	return []cmdlet.Property{
		prop("AclList", []any{}), prop("ExtendedAclList", []any{}), prop("IsolationSetting", c.isolationObject(o, parent)), prop("RoutingDomainList", []any{}),
		prop("VlanSetting", c.vlanObject(o, parent)), prop("BandwidthSetting", c.bandwidthObject(settings, minimumWeight, parent)),
		prop("CurrentIsolationMode", hyperVEnum("VMNetworkAdapterIsolationMode", currentIsolation(o))),
		prop("MacAddressSpoofing", spoofing), prop("DhcpGuard", on("DhcpGuard")), prop("RouterGuard", on("RouterGuard")),
		prop("PortMirroringMode", hyperVEnum("VMNetworkAdapterPortMirroringMode", setting(settings, "PortMirroring", "None"))),
		prop("IeeePriorityTag", on("IeeePriorityTag")), prop("VirtualSubnetId", n("VirtualSubnetId", 0)), prop("DynamicIPAddressLimit", n("DynamicIPAddressLimit", 0)),
		prop("StormLimit", n("StormLimit", 0)), prop("AllowTeaming", teaming), prop("FixSpeed10G", on("FixSpeed10G")), prop("VMQWeight", int64(vmqWeight)),
		prop("IPsecOffloadMaxSA", n("IPsecOffloadMaximumSecurityAssociation", 512)),
		prop("VrssEnabled", flag("VrssEnabled", "True")), prop("VrssEnabledRequested", flag("VrssEnabled", "True")),
		prop("VmmqEnabled", flag("VmmqEnabled", "False")), prop("VmmqEnabledRequested", flag("VmmqEnabled", "False")),
		prop("VrssMaxQueuePairs", pairs), prop("VrssMaxQueuePairsRequested", pairs),
		prop("VrssMinQueuePairs", n("VrssMinQueuePairs", 1)), prop("VrssMinQueuePairsRequested", n("VrssMinQueuePairs", 1)),
		prop("VrssQueueSchedulingMode", queue), prop("VrssQueueSchedulingModeRequested", queue),
		prop("VrssExcludePrimaryProcessor", flag("VrssExcludePrimaryProcessor", "False")), prop("VrssExcludePrimaryProcessorRequested", flag("VrssExcludePrimaryProcessor", "False")),
		prop("VrssIndependentHostSpreading", flag("VrssIndependentHostSpreading", "False")), prop("VrssIndependentHostSpreadingRequested", flag("VrssIndependentHostSpreading", "False")),
		prop("VrssVmbusChannelAffinityPolicy", affinity), prop("VrssVmbusChannelAffinityPolicyRequested", affinity),
	}
}

func currentIsolation(o operand) string {
	if o.isolation().Mode != "None" {
		return o.isolation().Mode
	}
	return "Vlan"
}

// bandwidthObject is what Set-VMNetworkAdapter's bandwidth parameters made; null where none was set.
func (c *call) bandwidthObject(settings map[string]string, minimumWeight int, parent *cmdlet.Object) any {
	maximum, absolute := numberSetting(settings, "MaximumBandwidth", 0), numberSetting(settings, "MinimumBandwidthAbsolute", 0)
	if maximum == 0 && absolute == 0 && minimumWeight == 0 {
		return nil
	}
	return c.hyperVObject("VMNetworkAdapterBandwidthSetting", parent.Ref, "VMNetworkAdapterBandwidthSetting", []string{"VMNetworkAdapterFeatureBase"},
		prop("MinimumBandwidthAbsolute", absolute), prop("MinimumBandwidthWeight", int64(minimumWeight)), prop("MaximumBandwidth", maximum),
		prop("ParentAdapter", parent), prop("IsTemplate", false))
}

// parentAdapter is the short form of an adapter that its settings carry as ParentAdapter: enough to tell
// which one it is, without the settings again.
func (c *call) parentAdapter(o operand) *cmdlet.Object {
	if o.managementOS() {
		v := o.vnic
		return c.hyperVObject("VMInternalNetworkAdapter", refHostVNic+v.ID, "VMInternalNetworkAdapter (Name = '"+v.Name+"')", []string{"VMNetworkAdapterBase"},
			prop("IsManagementOs", true), prop("MacAddress", v.MacAddress), prop("DeviceId", v.DeviceID), prop("AdapterId", strings.TrimPrefix(v.ID, "Microsoft:")),
			prop("Name", v.Name), prop("SwitchName", c.switchName(v.SwitchID)), prop("Id", v.ID), prop("SwitchId", switchGUID(v.SwitchID)))
	}
	vm, a := o.vm, o.nic
	return c.hyperVObject("VMNetworkAdapter", vm.nicRef(a), "VMNetworkAdapter (Name = '"+a.Name+"', VMName = '"+vm.Name+"') [VMId = '"+vm.ID+"']",
		[]string{"VMNetworkAdapterBase"},
		prop("IsManagementOs", false), prop("MacAddress", a.MacAddress), prop("AdapterId", strings.ToUpper(a.ID)), prop("Name", a.Name),
		prop("IovWeight", int64(a.IovWeight)), prop("Connected", a.SwitchID != ""), prop("SwitchName", c.switchName(a.SwitchID)), prop("Id", vm.fullID(a)),
		prop("SwitchId", switchGUID(a.SwitchID)), prop("VMId", cmdlet.GUID(strings.ToLower(vm.ID))), prop("VMName", vm.Name))
}

func (c *call) switchName(id string) any {
	if s := c.host.switchByID(id); s != nil {
		return s.Name
	}
	return nil
}

func switchGUID(id string) any {
	if id == "" {
		return nil
	}
	return cmdlet.GUID(strings.ToLower(id))
}

func splitList(text string) []string {
	return strings.Fields(text)
}

func (a *VMAdapter) usage() int {
	if a.Allocated == nil {
		return 0
	}
	return 1
}

func (a *VMAdapter) queuePairs() int {
	if a.Allocated == nil {
		return 0
	}
	return a.Allocated.QueuePairs
}

// guestAddresses are the addresses that a running guest reports.
func (c *call) guestAddresses(vm *VM, a *VMAdapter) []any {
	out := []any{}
	if vm.Guest == nil || !c.guestRuns(vm) {
		return out
	}
	if synthetic, _ := vm.Guest.pair(a.ID); synthetic != nil {
		for _, ip := range synthetic.IP.Addresses {
			out = append(out, ip.Address)
		}
	}
	return out
}

// virtualFunction is null unless the VF is found on the first member of the switch: on a team with the VF
// elsewhere it is null although there is one (facts.md 53).
func (c *call) virtualFunction(vm *VM, a *VMAdapter) any {
	s := c.host.switchByID(a.SwitchID)
	if a.Allocated == nil || s == nil || len(s.Ports) == 0 || !strings.EqualFold(s.Ports[0], a.Allocated.PortGuid) {
		return nil
	}
	_, p := c.host.port(a.Allocated.PortGuid)
	return standardCim("MSFT_NetAdapterSriovVfSettingData", vm.nicRef(a), "MSFT_NetAdapterSriovVfSettingData",
		prop("CurrentMacAddress", dashed(a.MacAddress)), prop("PermanentMacAddress", dashed(a.MacAddress)), prop("FunctionID", u16(a.Allocated.FunctionID)),
		prop("SwitchID", u32(0)), prop("VmFriendlyName", vm.Name), prop("VmID", strings.ToUpper(vm.ID)), prop("VmNicID", strings.ToUpper(a.ID)),
		prop("InterfaceDescription", p.InterfaceDescription), prop("Name", p.Name))
}

// adapterStatus comes from the guest's side: null while the VM is off, Degraded where SR-IOV was asked for and
// does not work (facts.md 54, 58, cases.md 33).
func (c *call) adapterStatus(vm *VM, a *VMAdapter) (status, description any) {
	if vm.State == stateOff || vm.State == stateSaved {
		return nil, nil
	}
	say := func(name, text string) (any, any) {
		return []any{hyperVEnum("VMNetworkAdapterOperationalStatus", name)}, list(text)
	}
	if vm.Guest == nil || !c.guestRuns(vm) {
		return say("NoContact", "No contact")
	}
	if c.iovTrouble(c.host, vm, a) != iovAllowed {
		return say("Degraded", "SR-IOV not operational")
	}
	return say("Ok", "OK")
}

// iovTrouble says why SR-IOV that was asked for does not work in a running VM; nothing while it is on its way.
func (l *Lab) iovTrouble(h *Host, vm *VM, a *VMAdapter) iovBlocker {
	blocker := l.iovBlockerOf(h, a)
	switch {
	case a.IovWeight == 0 || blocker == iovNotAsked || vm.State != stateRunning:
		return iovAllowed
	case blocker != iovAllowed:
		return blocker
	case a.Allocated == nil:
		if p, ok := h.affinity(vm, a); !ok || h.freeQueuePairs(p) == 0 {
			return iovNoResources
		}
	case vm.Guest != nil && (vm.Guest.VFDriver.Kind == driverNone || vm.Guest.VFDriver.Kind == driverInboxBad):
		return iovDriversNeeded
	}
	return iovAllowed
}
