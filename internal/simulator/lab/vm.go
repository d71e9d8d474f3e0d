package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVM is Get-VM.
func getVM(c *call) {
	switch {
	case c.has("ClusterObject"):
		c.fail(c.hyperv("OperationFailed", "There is no cluster in this lab."))
	case c.has("Id"):
		vm := c.host.vmByID(c.str("Id"))
		if vm == nil {
			e := c.hyperv("InvalidParameter", "Hyper-V was unable to find a virtual machine with id %q.", c.str("Id"))
			e.Target, e.TargetType = c.str("Id"), "Guid"
			c.fail(e)
			return
		}
		c.emit(c.vmObject(vm))
	case c.has("Name"):
		for _, vm := range c.vmsByName(c.strs("Name")) {
			c.emit(c.vmObject(vm))
		}
	default:
		for _, vm := range c.host.VMs {
			c.emit(c.vmObject(vm))
		}
	}
}

// vmSettings are the parameters of Set-VM that have no field of their own, with their defaults.
func vmSettings() map[string]string {
	return map[string]string{
		"GuestControlledCacheTypes": "False", "LowMemoryMappedIoSpace": "134217728", "HighMemoryMappedIoSpace": "536870912", "ProcessorCount": "2",
		"MemoryMinimumBytes": "536870912", "MemoryMaximumBytes": "1099511627776", "MemoryStartupBytes": "4294967296", "AutomaticStartAction": "StartIfRunning",
		"AutomaticStopAction": "Save", "AutomaticStartDelay": "0", "AutomaticCriticalErrorAction": "Pause", "AutomaticCriticalErrorActionTimeout": "30",
		"AutomaticCheckpointsEnabled": "False", "LockOnDisconnect": "Off", "SnapshotFileLocation": vmPath, "SmartPagingFilePath": vmPath, "CheckpointType": "Production",
		"BatteryPassthroughEnabled": "True", "EnhancedSessionTransportType": "VMBus",
	}
}

// setVM is Set-VM. Processors and memory layout change only while the VM is off.
func setVM(c *call) {
	hardware := []string{"ProcessorCount", "DynamicMemory", "StaticMemory", "MemoryStartupBytes", "GuestControlledCacheTypes", "LowMemoryMappedIoSpace", "HighMemoryMappedIoSpace"}
	for _, vm := range c.vmsByParameter("Name") {
		if c.anyOf(hardware...) && vm.State != stateOff {
			c.fail(c.invalidState(vm))
			continue
		}
		if c.has("Notes") {
			vm.Notes = c.str("Notes")
		}
		defaults := vmSettings()
		for name := range defaults {
			vm.Settings = c.keepSettings(vm.Settings, defaults, name)
		}
		if c.boolean("DynamicMemory") {
			vm.Settings = c.keepSettings(vm.Settings, nil, "DynamicMemory")
		}
		if c.boolean("StaticMemory") {
			delete(vm.Settings, "DynamicMemory")
		}
		if c.has("NewVMName") {
			vm.Name = c.str("NewVMName")
		}
		c.passVM(vm)
	}
}

// newVM is New-VM: a VM that is off, with one network adapter and nothing installed.
func newVM(c *call) {
	vm := &VM{
		ID: c.newGUID(c.host.Name, "new vm"), Name: c.str("Name"), State: stateOff, Generation: c.integer("Generation"), ShutdownIntegration: true, Adapters: []*VMAdapter{},
	}
	if vm.Name == "" {
		vm.Name = "New Virtual Machine"
	}
	if vm.Generation == 0 {
		vm.Generation = 1
	}
	switchID := ""
	if c.has("SwitchName") {
		s := c.switchNamed(c.str("SwitchName"))
		if s == nil {
			return
		}
		switchID = s.ID
	}
	id := strings.ToUpper(c.newGUID(c.host.Name, vm.ID, "adapter"))
	vm.Adapters = append(vm.Adapters, &VMAdapter{
		ID: id, Name: "Network Adapter", SwitchID: switchID, MacAddress: vmMac(c.host.Name, vm.ID, id), DynamicMac: true, IovQueuePairsRequested: 1,
		IovInterruptModeration: "Default", VmqWeight: 100, Vlan: Vlan{Mode: "Untagged"}, Isolation: Isolation{Mode: "None"},
	})
	vm.Settings = c.keepSettings(nil, vmSettings(), "MemoryStartupBytes")
	c.host.VMs = append(c.host.VMs, vm)
	c.emit(c.vmObject(vm))
}

// removeVM is Remove-VM: only a VM that does not run.
func removeVM(c *call) {
	for _, vm := range c.vmsByParameter("Name") {
		if vm.State != stateOff && vm.State != stateSaved {
			c.fail(c.invalidState(vm))
			continue
		}
		c.passVM(vm)
		kept := []*VM{}
		for _, other := range c.host.VMs {
			if other != vm {
				kept = append(kept, other)
			}
		}
		c.host.VMs = kept
	}
}

func (c *call) passVM(vm *VM) {
	if c.boolean("Passthru") {
		c.emit(c.vmObject(vm))
	}
}

// checkpointVM is Checkpoint-VM.
func checkpointVM(c *call) {
	for _, vm := range c.vmsByParameter("Name") {
		name := c.str("SnapshotName")
		if name == "" {
			name = vm.Name + " - (" + c.clock().UTC().Format("1/2/2006 - 3:04:05 PM") + ")"
		}
		vm.Checkpoints = append(vm.Checkpoints, name)
		if c.boolean("Passthru") {
			c.emit(c.checkpointObject(vm, len(vm.Checkpoints)-1))
		}
	}
}

// getVMSnapshot is Get-VMSnapshot of one or more VMs.
func getVMSnapshot(c *call) {
	if c.anyOf("ParentOf", "ChildOf", "Id") {
		c.fail(c.hyperv("OperationFailed", "The tree of checkpoints is not kept in this lab."))
		return
	}
	names := c.strs("Name")
	for _, vm := range c.vmsByParameter("VMName") {
		for i, name := range vm.Checkpoints {
			if names == nil || matchesAny(names, name) {
				c.emit(c.checkpointObject(vm, i))
			}
		}
	}
}

func (c *call) checkpointObject(vm *VM, i int) *cmdlet.Object {
	name := vm.Checkpoints[i]
	return c.hyperVObject("VMSnapshot", "checkpoint:"+vm.ID+"/"+name, name, []string{"VirtualMachineBase"},
		prop("Name", name), prop("Id", cmdlet.GUID(guid(vm.ID, "checkpoint", name))), prop("SnapshotType", hyperVEnum("SnapshotType", "Standard")),
		prop("VMId", cmdlet.GUID(strings.ToLower(vm.ID))), prop("VMName", vm.Name), prop("Generation", int64(vm.Generation)))
}
