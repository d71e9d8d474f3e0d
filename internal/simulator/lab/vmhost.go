package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVMHost is Get-VMHost. IovSupportReasons is empty where SR-IOV is supported (facts.md 42).
func getVMHost(c *call) {
	h := c.host
	internal := []any{}
	for _, v := range h.HostVNics {
		internal = append(internal, c.parentAdapter(operand{vnic: v}))
	}
	c.emit(c.hyperVObject("VMHost", "vmhost:"+h.Name, h.Name, nil,
		prop("LogicalProcessorCount", int64(16)), prop("ResourceMeteringSaveInterval", "01:00:00"), prop("HostNumaStatus", []any{}), prop("NumaStatus", []any{}),
		prop("IovSupport", h.Iov.Support), prop("IovSupportReasons", list(h.Iov.Reasons...)), prop("InternalNetworkAdapters", internal),
		prop("ExternalNetworkAdapters", []any{}), prop("SupportedVmVersions", list(vmVersion(h))), prop("SecureBootTemplates", []any{}),
		prop("EnableEnhancedSessionMode", false), prop("FibreChannelWwnn", "C003FF0000FFFF00"), prop("FibreChannelWwpnMaximum", "C003FF000000FFFF"),
		prop("FibreChannelWwpnMinimum", "C003FF0000000000"), prop("MacAddressMaximum", "00155DFFFFFF"), prop("MacAddressMinimum", "00155D000000"),
		prop("NumaSpanningEnabled", true), prop("VirtualHardDiskPath", `C:\Users\Public\Documents\Hyper-V\Virtual Hard Disks`), prop("VirtualMachinePath", vmPath),
		prop("FullyQualifiedDomainName", h.Name), prop("MemoryCapacity", int64(137438953472)), prop("Name", h.Name), prop("MaximumStorageMigrations", int64(2)),
		prop("MaximumVirtualMachineMigrations", int64(2)), prop("UseAnyNetworkForMigration", false),
		prop("VirtualMachineMigrationAuthenticationType", cmdlet.Enum{Type: hyperVNamespace + "MigrationAuthenticationType", Name: "CredSSP"}),
		prop("VirtualMachineMigrationEnabled", false),
		prop("VirtualMachineMigrationPerformanceOption", cmdlet.Enum{Type: hyperVNamespace + "VMMigrationPerformance", Name: "Compression", Number: 1})))
}
