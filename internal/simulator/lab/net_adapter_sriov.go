package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const (
	classSriov   = "MSFT_NetAdapterSriovSettingData"
	classSriovVF = "MSFT_NetAdapterSriovVfSettingData"
)

func registerNetAdapterSriov(r registry) {
	r.both("Get-NetAdapterSriov", func(c *call) {
		for _, a := range c.find(classSriov, hasSriov) {
			c.emit(c.sriovObject(a))
		}
	})
	r.both("Enable-NetAdapterSriov", func(c *call) { c.setSriov(new(true)) })
	r.both("Disable-NetAdapterSriov", func(c *call) { c.setSriov(new(false)) })
	r.both("Set-NetAdapterSriov", func(c *call) {
		var on *bool
		if c.has("Enabled") {
			on = new(c.boolean("Enabled"))
		}
		c.setSriov(on)
	})
	r.both("Get-NetAdapterSriovVf", getNetAdapterSriovVf)
}

func hasSriov(a *netAdapter) bool { return a.port != nil && a.port.keyword(keywordSriov) != nil }

// setSriov writes *SRIOV and *NumVFs; the running miniport follows with a restart (facts.md 31, 33).
func (c *call) setSriov(on *bool) {
	for _, a := range c.find(classSriov, hasSriov) {
		if on != nil {
			c.setKeyword(a, a.port.keyword(keywordSriov), map[bool]string{true: "1", false: "0"}[*on])
		}
		if c.has("NumVFs") {
			a.port.NumVFs.Registry = c.integer("NumVFs")
		}
		if !c.boolean("NoRestart") && (on != nil || c.has("NumVFs")) {
			c.restart(a, c.inv.Cmdlet)
		}
		if c.boolean("PassThru") {
			c.emit(c.sriovObject(a))
		}
	}
}

func (c *call) sriovObject(a *netAdapter) *cmdlet.Object {
	on := a.port.sriovOn()
	held := len(c.host.allocationsOn(a.port))
	name, kind, vfs, source := any(nil), 0, 0, 3
	if a.port.up() {
		source = 2
	}
	if on {
		name, kind, vfs = "Default Switch", 1, a.port.NumVFs.Running
	}
	capabilities := func(vfs int) *cmdlet.Object {
		return standardCim("MSFT_NetAdapterSriovCapabilities", "", "MSFT_NetAdapterSriovCapabilities", prop("MaxNumVFs", u32(vfs)), prop("MaxNumVPorts", u32(vfs*2)),
			prop("MaxNumQueuePairs", u32(a.device.QueuePairs)), prop("MaxNumSwitches", u32(1)), prop("SingleVportPoolSupported", false), prop("VlanSupported", true))
	}
	current := 0
	if on {
		current = a.device.MaxVFs
	}
	enabled := on
	if !a.port.up() {
		enabled = a.port.keyword(keywordSriov).Registry == "1"
	}
	return c.settingData(classSriov, a, source,
		prop("Enabled", enabled), prop("NumVFs", u32(vfs)), prop("NumAllocatedVFs", u32(held)), prop("NumVPorts", u32(vfs*2)),
		prop("NumActiveVPorts", u32(held+map[bool]int{true: 1}[on])), prop("NumQueuePairsForDefaultVPort", u32(map[bool]int{true: 8}[on])),
		prop("NumQueuePairsForNonDefaultVPorts", u32(held)), prop("NumActiveDefaultVPortMacAddresses", u32(0)), prop("NumActiveDefaultVPortVlanIds", u32(0)),
		prop("NumActiveNonDefaultVPortMacAddresses", u32(held)), prop("NumActiveNonDefaultVPortVlanIds", u32(0)),
		prop("SriovSupport", sriovSupport(a.device.SriovSupport)), prop("SwitchName", name), prop("SwitchType", u16(kind)),
		prop("HardwareCapabilities", capabilities(a.device.MaxVFs)), prop("CurrentCapabilities", capabilities(current)),
	)
}

// sriovSupport is the reason why a slot cannot do SR-IOV, by number (facts.md 41).
func sriovSupport(n int) cmdlet.Enum {
	names := []string{"Unknown", "Supported", "MissingAcs", "MissingPfDriver", "NoBusResources", "NoIoMmuSupport", "NoVfBarSpace", "NoOscSupport"}
	if n < 0 || n >= len(names) {
		n = 0
	}
	return cdxmlEnum("NetAdapter", "SriovSupport", names[n], int64(n))
}

// getNetAdapterSriovVf lists the VFs that VMs hold, by port: the evidence on the host (facts.md 53, 93).
func getNetAdapterSriovVf(c *call) {
	functions, switches := c.strs("FunctionID"), c.strs("SwitchID")
	for _, a := range c.find(classSriovVF, func(a *netAdapter) bool { return hasSriov(a) && a.port.sriovOn() }) {
		if len(switches) > 0 && !matchesExactly(switches, "0") {
			continue
		}
		for _, vm := range c.host.VMs {
			for _, nic := range vm.Adapters {
				held := nic.Allocated
				if held == nil || !strings.EqualFold(held.PortGuid, a.port.InterfaceGuid) || len(functions) > 0 && !matchesExactly(functions, text(int64(held.FunctionID))) {
					continue
				}
				c.emit(c.vfObject(a, vm, nic))
			}
		}
	}
}

func (c *call) vfObject(a *netAdapter, vm *VM, nic *VMAdapter) *cmdlet.Object {
	o := c.settingData(classSriovVF, a, 2,
		prop("FunctionID", u16(nic.Allocated.FunctionID)), prop("SwitchID", u32(0)), prop("VmFriendlyName", vm.Name), prop("VmID", strings.ToUpper(vm.ID)),
		prop("VmNicID", strings.ToUpper(vm.ID)+`\`+nic.ID), prop("CurrentMacAddress", dashed(nic.MacAddress)), prop("PermanentMacAddress", dashed(nic.MacAddress)),
		prop("VPortID", []any{u32(nic.Allocated.FunctionID + 1)}),
	)
	o.Ref += "::" + text(int64(nic.Allocated.FunctionID))
	return o
}
