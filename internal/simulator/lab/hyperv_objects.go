package lab

import (
	"strconv"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const hyperVNamespace = "Microsoft.HyperV.PowerShell."

// hyperVObject is an object of the Hyper-V module; bases are the classes behind the first. Every such
// object ends with the same three properties (objects.md A).
func (c *call) hyperVObject(class, ref, text string, bases []string, properties ...cmdlet.Property) *cmdlet.Object {
	types := []string{hyperVNamespace + class}
	for _, base := range bases {
		types = append(types, hyperVNamespace+base)
	}
	properties = append(properties, prop("CimSession", nil), prop("ComputerName", c.host.Name), prop("IsDeleted", false))
	return &cmdlet.Object{Types: types, Ref: ref, Text: text, Properties: properties}
}

// hyperVEnum is a value of an enumeration of the Hyper-V module (objects.md A, last section).
func hyperVEnum(enum, name string) cmdlet.Enum {
	namespace := hyperVNamespace
	if enum == "DisableOnFailoverFeature" {
		namespace = "Microsoft.Virtualization.Client.Management."
	}
	return cmdlet.Enum{Type: namespace + enum, Name: name, Number: hyperVEnumNumber(enum, name)}
}

// onOff is an OnOffState: On is 0.
func onOff(on bool) cmdlet.Enum {
	if on {
		return hyperVEnum("OnOffState", "On")
	}
	return hyperVEnum("OnOffState", "Off")
}

func hyperVEnumNumber(enum, name string) int64 {
	var numbers map[string]int64
	switch enum {
	case "OnOffState":
		numbers = map[string]int64{"On": 0, "Off": 1}
	case "VMState":
		numbers = map[string]int64{"Running": 2, "Off": 3, "Stopping": 4, "Saved": 6, "Paused": 9, "Starting": 10, "Saving": 32773}
	case "VMSwitchType":
		numbers = map[string]int64{"Private": 0, "Internal": 1, "External": 2}
	case "VMSwitchBandwidthMode":
		numbers = map[string]int64{"Default": 0, "Weight": 1, "Absolute": 2, "None": 3}
	case "VMSwitchTeamingMode":
		numbers = map[string]int64{"SwitchIndependent": 1}
	case "VMSwitchLoadBalancingAlgorithm":
		numbers = map[string]int64{"HyperVPort": 4, "Dynamic": 5}
	case "IovInterruptModerationValue":
		numbers = map[string]int64{"Default": 0, "Adaptive": 1, "Off": 2, "Low": 100, "Medium": 200, "High": 300}
	case "VMNetworkAdapterVlanMode":
		numbers = map[string]int64{"Untagged": 0, "Access": 1, "Trunk": 2, "Private": 3}
	case "VMNetworkAdapterPrivateVlanMode":
		numbers = map[string]int64{"Isolated": 1, "Community": 2, "Promiscuous": 3}
	case "VMNetworkAdapterIsolationMode":
		numbers = map[string]int64{"None": 0, "NativeVirtualSubnet": 1, "ExternalVirtualSubnet": 2, "Vlan": 3}
	case "VMNetworkAdapterPortMirroringMode":
		numbers = map[string]int64{"None": 0, "Destination": 1, "Source": 2}
	case "VMNetworkAdapterOperationalStatus", "VMIntegrationComponentOperationalStatus":
		numbers = map[string]int64{"Ok": 2, "Degraded": 3, "NoContact": 12, "Disabled": 32896}
	case "VMOperationalStatus":
		numbers = map[string]int64{
			"Ok": 2, "NoIommu": 32785, "NoIovSupportInNic": 32786, "SwitchNotInIovMode": 32787,
			"IovBlockedByPolicy": 32788, "IovNoAvailResources": 32789, "IovGuestDriversNeeded": 32790,
		}
	case "VMHeartbeatStatus":
		numbers = map[string]int64{"NoContact": 2, "OkApplicationsUnknown": 5, "Paused": 8}
	case "VirtualMachineType":
		numbers = map[string]int64{"RealizedVirtualMachine": 3}
	case "VirtualMachineSubType":
		numbers = map[string]int64{"Unknown": 0, "Generation1": 1, "Generation2": 2}
	case "CheckpointType":
		numbers = map[string]int64{"Disabled": 2, "Production": 3, "ProductionOnly": 4, "Standard": 5}
	case "StartAction":
		numbers = map[string]int64{"Nothing": 2, "StartIfRunning": 3, "Start": 4}
	case "StopAction":
		numbers = map[string]int64{"TurnOff": 2, "Save": 3, "ShutDown": 4}
	case "CriticalErrorAction":
		numbers = map[string]int64{"None": 0, "Pause": 1}
	case "VrssQueueSchedulingModeType":
		numbers = map[string]int64{"Dynamic": 0, "StaticVmq": 1, "StaticVrss": 2}
	case "VrssVmbusChannelAffinityPolicyType":
		numbers = map[string]int64{"None": 1, "Weak": 2, "Strong": 3, "Strict": 4}
	case "DisableOnFailoverFeature":
		numbers = map[string]int64{"None": 0, "RDMA": 1}
	case "SnapshotType":
		numbers = map[string]int64{"Standard": 0}
	}
	return numbers[name]
}

// setting reads a value that was set by parameter name, or its default.
func setting(settings map[string]string, name, byDefault string) string {
	if v, ok := settings[name]; ok {
		return v
	}
	return byDefault
}

func numberSetting(settings map[string]string, name string, byDefault int64) int64 {
	n, err := strconv.ParseInt(setting(settings, name, ""), 10, 64)
	if err != nil {
		return byDefault
	}
	return n
}

// keepSettings stores the parameters that were given; one that is set back to its default leaves no trace.
func (c *call) keepSettings(settings map[string]string, defaults map[string]string, names ...string) map[string]string {
	for _, name := range names {
		if !c.has(name) {
			continue
		}
		if settings == nil {
			settings = map[string]string{}
		}
		value := c.str(name)
		if value == defaults[name] {
			delete(settings, name)
			continue
		}
		settings[name] = value
	}
	if len(settings) == 0 {
		return nil
	}
	return settings
}

// anyOf says whether one of the parameters was given.
func (c *call) anyOf(names ...string) bool {
	for _, name := range names {
		if c.has(name) {
			return true
		}
	}
	return false
}
