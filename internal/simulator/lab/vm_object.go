package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const vmPath = `C:\ProgramData\Microsoft\Windows\Hyper-V`

// vmObject is a VirtualMachine with every property of objects.md; VMId and VMName are aliases that PowerShell
// itself reads.
func (c *call) vmObject(vm *VM) *cmdlet.Object {
	id := cmdlet.GUID(strings.ToLower(vm.ID))
	defaults := vmSettings()
	s := func(name string) string { return setting(vm.Settings, name, defaults[name]) }
	n := func(name string) int64 { return numberSetting(vm.Settings, name, int64(number(defaults[name]))) }
	enum := func(enum, name string) cmdlet.Enum { return hyperVEnum(enum, s(name)) }
	statuses, text := c.operationalStatus(vm)
	running := vm.State == stateRunning
	var assigned int64
	if running || vm.State == statePaused {
		assigned = n("MemoryStartupBytes")
	}
	adapters := []any{}
	for _, a := range vm.Adapters {
		adapters = append(adapters, c.parentAdapter(operand{vm: vm, nic: a}))
	}
	var parent any
	if len(vm.Checkpoints) > 0 {
		parent = vm.Checkpoints[len(vm.Checkpoints)-1]
	}
	return c.hyperVObject("VirtualMachine", refVM+vm.ID, "VirtualMachine (Name = '"+vm.Name+"') [Id = '"+string(id)+"']", []string{"VirtualMachineBase"},
		prop("ConfigurationLocation", vmPath), prop("SmartPagingFileInUse", false), prop("SmartPagingFilePath", s("SmartPagingFilePath")),
		prop("SnapshotFileLocation", s("SnapshotFileLocation")), prop("AutomaticStartAction", enum("StartAction", "AutomaticStartAction")),
		prop("AutomaticStartDelay", n("AutomaticStartDelay")), prop("AutomaticStopAction", enum("StopAction", "AutomaticStopAction")),
		prop("AutomaticCriticalErrorAction", enum("CriticalErrorAction", "AutomaticCriticalErrorAction")),
		prop("AutomaticCriticalErrorActionTimeout", n("AutomaticCriticalErrorActionTimeout")), prop("AutomaticCheckpointsEnabled", s("AutomaticCheckpointsEnabled") == "True"),
		prop("CPUUsage", int64(0)), prop("MemoryAssigned", assigned), prop("MemoryDemand", int64(0)), prop("MemoryStatus", ""), prop("NumaAligned", nil),
		prop("NumaNodesCount", int64(1)), prop("NumaSocketCount", int64(1)), prop("Heartbeat", c.heartbeat(vm)), prop("IntegrationServicesState", ""),
		prop("IntegrationServicesVersion", "0.0"), prop("Uptime", uptime(vm, c.clock())), prop("OperationalStatus", statuses), prop("PrimaryOperationalStatus", statuses[0]),
		prop("SecondaryOperationalStatus", second(statuses)), prop("StatusDescriptions", list(text)), prop("PrimaryStatusDescription", text),
		prop("SecondaryStatusDescription", nil), prop("Status", text), prop("ReplicationHealth", cmdlet.Enum{Type: hyperVNamespace + "VMReplicationHealthState", Name: "NotApplicable"}),
		prop("ReplicationMode", cmdlet.Enum{Type: hyperVNamespace + "VMReplicationMode", Name: "None"}),
		prop("ReplicationState", cmdlet.Enum{Type: hyperVNamespace + "VMReplicationState", Name: "Disabled"}), prop("ResourceMeteringEnabled", false),
		prop("CheckpointType", enum("CheckpointType", "CheckpointType")),
		prop("EnhancedSessionTransportType", cmdlet.Enum{Type: hyperVNamespace + "EnhancedSessionTransportType", Name: s("EnhancedSessionTransportType"), Number: transportNumber(s("EnhancedSessionTransportType"))}),
		prop("Groups", []any{}), prop("Version", vmVersion(c.host)), prop("VirtualMachineType", hyperVEnum("VirtualMachineType", "RealizedVirtualMachine")),
		prop("VirtualMachineSubType", hyperVEnum("VirtualMachineSubType", fmt.Sprint("Generation", vm.Generation))), prop("Notes", vm.Notes),
		prop("State", hyperVEnum("VMState", vm.State)), prop("ComPort1", nil), prop("ComPort2", nil), prop("DVDDrives", []any{}),
		prop("FibreChannelHostBusAdapters", []any{}), prop("FloppyDrive", nil), prop("HardDrives", []any{}), prop("RemoteFxAdapter", nil),
		prop("VMIntegrationService", []any{}), prop("DynamicMemoryEnabled", vm.Settings["DynamicMemory"] == "True"), prop("MemoryMaximum", n("MemoryMaximumBytes")),
		prop("MemoryMinimum", n("MemoryMinimumBytes")), prop("MemoryStartup", n("MemoryStartupBytes")), prop("ProcessorCount", n("ProcessorCount")),
		prop("BatteryPassthroughEnabled", s("BatteryPassthroughEnabled") == "True"), prop("Generation", int64(vm.Generation)), prop("IsClustered", vm.Clustered),
		prop("ParentSnapshotId", parentID(vm)), prop("ParentSnapshotName", parent), prop("Path", vmPath), prop("SizeOfSystemFiles", int64(0)),
		prop("GuestControlledCacheTypes", s("GuestControlledCacheTypes") == "True"), prop("LowMemoryMappedIoSpace", n("LowMemoryMappedIoSpace")),
		prop("HighMemoryMappedIoSpace", n("HighMemoryMappedIoSpace")), prop("LockOnDisconnect", onOff(s("LockOnDisconnect") == "On")),
		prop("CreationTime", time.Date(2024, 1, 15, 9, 0, 0, 0, time.UTC)), prop("Id", id), prop("Name", vm.Name), prop("NetworkAdapters", adapters),
		prop("VMId", id), prop("VMName", vm.Name),
	)
}

// operationalStatus names what keeps SR-IOV from working (objects.md 1, VirtualMachine). The text is localised.
func (c *call) operationalStatus(vm *VM) ([]any, string) {
	for _, a := range vm.Adapters {
		if trouble := c.iovTrouble(c.host, vm, a); trouble != iovAllowed {
			return []any{hyperVEnum("VMOperationalStatus", "Ok"), hyperVEnum("VMOperationalStatus", string(trouble))}, "Operating normally"
		}
	}
	return []any{hyperVEnum("VMOperationalStatus", "Ok")}, "Operating normally"
}

func second(statuses []any) any {
	if len(statuses) > 1 {
		return statuses[1]
	}
	return nil
}

func (c *call) heartbeat(vm *VM) any {
	switch {
	case vm.State == statePaused:
		return hyperVEnum("VMHeartbeatStatus", "Paused")
	case vm.State != stateRunning:
		return nil
	case vm.Guest == nil || !c.guestRuns(vm):
		return hyperVEnum("VMHeartbeatStatus", "NoContact")
	}
	return hyperVEnum("VMHeartbeatStatus", "OkApplicationsUnknown")
}

func uptime(vm *VM, now time.Time) time.Duration {
	if vm.State != stateRunning && vm.State != statePaused {
		return 0
	}
	return now.Sub(vm.StartedAt).Truncate(time.Second)
}

func parentID(vm *VM) any {
	if len(vm.Checkpoints) == 0 {
		return nil
	}
	return cmdlet.GUID(guid(vm.ID, "checkpoint", vm.Checkpoints[len(vm.Checkpoints)-1]))
}

func transportNumber(name string) int64 {
	if name == "HvSocket" {
		return 1
	}
	return 0
}

// vmVersion is the newest configuration version of a host.
func vmVersion(h *Host) string {
	switch {
	case h.OS.Build >= 26100:
		return "12.0"
	case h.OS.Build >= 20348:
		return "10.0"
	case h.OS.Build >= 17763:
		return "9.0"
	}
	return "8.0"
}

// integrationService is one of the six services of a VM; their names are localised, their ids are not.
type integrationService struct{ name, id string }

func integrationServices() []integrationService {
	return []integrationService{
		{"Guest Service Interface", "6C09BB55-D683-4DA0-8931-C9BF705F6480"},
		{"Heartbeat", "84EAAE65-2F2E-45F5-9BB5-0E857DC8EB47"},
		{"Key-Value Pair Exchange", "2A34B1C2-FD73-4043-8A5B-DD2159BC743F"},
		{shutdownService, "9F8233AC-BE49-4C79-8EE3-E7E1985B2077"},
		{"Time Synchronization", "2497F4DE-E9FA-4204-80E4-4B75C46419C0"},
		{"VSS", "5CED1297-4598-4915-A5FC-AD21BB4D02A4"},
	}
}

const shutdownService = "Shutdown"

// getVMIntegrationService is Get-VMIntegrationService.
func getVMIntegrationService(c *call) {
	if c.has("VMSnapshot") {
		c.fail(c.hyperv("OperationFailed", "The integration services of checkpoints are not kept in this lab."))
		return
	}
	names := c.strs("Name")
	for _, vm := range c.vmsByParameter("VMName") {
		for _, s := range integrationServices() {
			if names == nil || matchesAny(names, s.name) {
				c.emit(c.integrationObject(vm, s))
			}
		}
	}
}

func (c *call) integrationObject(vm *VM, s integrationService) *cmdlet.Object {
	enabled := s.name != "Guest Service Interface" && (s.name != shutdownService || vm.ShutdownIntegration)
	status, text := "Ok", "OK"
	switch {
	case !enabled:
		status, text = "Disabled", "Disabled"
	case vm.Guest == nil || !c.guestRuns(vm):
		status, text = "NoContact", "No Contact"
	}
	value := hyperVEnum("VMIntegrationComponentOperationalStatus", status)
	return c.hyperVObject("VMIntegrationComponent", "integration:"+vm.ID+"/"+s.id, s.name, nil,
		prop("Enabled", enabled), prop("OperationalStatus", []any{value}), prop("PrimaryOperationalStatus", value), prop("PrimaryStatusDescription", text),
		prop("SecondaryOperationalStatus", nil), prop("SecondaryStatusDescription", ""), prop("StatusDescription", list(text)), prop("Name", s.name),
		prop("Id", `Microsoft:`+strings.ToUpper(vm.ID)+`\`+s.id), prop("VMId", cmdlet.GUID(strings.ToLower(vm.ID))), prop("VMName", vm.Name),
		prop("VMSnapshotId", cmdlet.GUID(emptyGUID)), prop("VMSnapshotName", ""))
}
