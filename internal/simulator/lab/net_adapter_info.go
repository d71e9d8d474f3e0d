package lab

import (
	"fmt"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerNetAdapterInfo(r registry) {
	r.both("Get-NetAdapterHardwareInfo", getNetAdapterHardwareInfo)
	r.both("Get-NetAdapterBinding", getNetAdapterBinding)
	r.both("Get-NetAdapterStatistics", getNetAdapterStatistics)
	r.onHost("Get-NetLbfoTeam", getNetLbfoTeam)
	r.onHost("Get-NetLbfoTeamMember", getNetLbfoTeamMember)
}

// getNetAdapterHardwareInfo has what groups the ports of one device: segment, bus and device number.
func getNetAdapterHardwareInfo(c *call) {
	const class = "MSFT_NetAdapterHardwareInfoSettingData"
	for _, a := range c.find(class, func(a *netAdapter) bool { return a.port != nil || a.guest != nil && a.guest.VF }) {
		segment, bus, device, function, support := 0, 2, 0, 0, 0
		if a.port != nil {
			segment, bus, device, function, support = a.device.Segment, a.device.Bus, a.device.Number, a.port.Function, a.device.SriovSupport
		}
		location := fmt.Sprintf("PCI bus %d, device %d, function %d", bus, device, function)
		c.emit(c.settingData(class, a, 2,
			prop("SegmentNumber", u32(segment)), prop("BusNumber", u32(bus)), prop("DeviceNumber", u32(device)), prop("FunctionNumber", u32(function)),
			prop("Segment", u32(segment)), prop("Bus", u32(bus)), prop("Device", u32(device)), prop("Function", u32(function)), prop("Slot", u32(bus)),
			prop("SlotNumber", u32(bus)), prop("NumaNode", u16(0)), prop("LocationInformationString", location),
			prop("PciDeviceType", u32(2)), prop("PciExpressVersion", u32(2)), prop("PciExpressCurrentLinkWidth", u32(8)), prop("MsiXEnabled", true),
			prop("MsiXSupported", true), prop("NumMsixTableEntries", u32(128)), prop("SriovSupport", sriovSupport(support)), prop("S0WakeupSupported", false),
		))
	}
}

// binding is a protocol or filter that may be bound to an adapter.
type binding struct {
	id, name string
	on       func(*call, *netAdapter) bool
}

func bindings() []binding {
	ip := func(c *call, a *netAdapter) bool { return !c.boundToSwitch(a) }
	return []binding{
		{"ms_msclient", "Client for Microsoft Networks", ip},
		{"ms_server", "File and Printer Sharing for Microsoft Networks", ip},
		{"ms_pacer", "QoS Packet Scheduler", ip},
		{"vms_pp", "Hyper-V Extensible Virtual Switch", func(c *call, a *netAdapter) bool { return a.port != nil && c.host.switchOf(a.port) != nil }},
		{"ms_lbfo", "Microsoft Network Adapter Multiplexor Protocol", func(c *call, a *netAdapter) bool {
			return a.port != nil && c.host.lbfoTeamOf(a.port.InterfaceGuid) != nil
		}},
		{"ms_tcpip", "Internet Protocol Version 4 (TCP/IPv4)", ip},
		{"ms_tcpip6", "Internet Protocol Version 6 (TCP/IPv6)", ip},
	}
}

// getNetAdapterBinding shows what an adapter carries: a virtual switch takes TCP/IP off the port (facts.md 27).
func getNetAdapterBinding(c *call) {
	const class = "MSFT_NetAdapterBindingSettingData"
	for _, a := range c.find(class, nil) {
		for _, b := range bindings() {
			if ids := c.strs("ComponentID"); len(ids) > 0 && !matchesAny(ids, b.id) {
				continue
			}
			if names := c.strs("DisplayName"); len(names) > 0 && !matchesAny(names, b.name) {
				continue
			}
			o := c.settingData(class, a, 3, prop("ComponentID", b.id), prop("DisplayName", b.name), prop("Enabled", b.on(c, a)), prop("BindName", b.id))
			o.Ref += "::" + b.id
			c.emit(o)
		}
	}
}

// getNetAdapterStatistics: no traffic runs in the lab by itself, so the counters stand still.
func getNetAdapterStatistics(c *call) {
	const class = "MSFT_NetAdapterStatisticsSettingData"
	zero := u64(0)
	for _, a := range c.find(class, (*netAdapter).enabled) {
		var rdma any
		if c.hasRdma(a) {
			rdma = standardCim("MSFT_NetAdapter_RdmaStatistics", "", "MSFT_NetAdapter_RdmaStatistics", prop("AcceptedConnections", zero), prop("ActiveConnections", zero),
				prop("CompletionQueueErrors", zero), prop("ConnectionErrors", zero), prop("FailedConnectionAttempts", zero), prop("InboundBytes", zero),
				prop("InboundFrames", zero), prop("InitiatedConnections", zero), prop("OutboundBytes", zero), prop("OutboundFrames", zero))
		}
		var counters []cmdlet.Property
		for _, name := range []string{
			"ReceivedBytes", "ReceivedUnicastPackets", "ReceivedMulticastPackets", "ReceivedBroadcastPackets", "ReceivedDiscardedPackets", "ReceivedPacketErrors",
			"SentBytes", "SentUnicastPackets", "SentMulticastPackets", "SentBroadcastPackets", "OutboundDiscardedPackets", "OutboundPacketErrors",
		} {
			counters = append(counters, prop(name, zero))
		}
		c.emit(c.settingData(class, a, 2, append(counters, prop("RdmaStatistics", rdma))...))
	}
}

func getNetLbfoTeam(c *call) {
	var rows []*cmdlet.Object
	for _, t := range c.host.LbfoTeams {
		members := []any{}
		for _, guid := range t.Members {
			if _, port := c.host.port(guid); port != nil {
				members = append(members, port.Name)
			}
		}
		rows = append(rows, standardCim("MSFT_NetLbfoTeam", "lbfoteam:"+t.Name, t.Name, prop("Name", t.Name), prop("Members", members), prop("TeamNics", t.Name),
			prop("TeamingMode", cdxmlEnum("NetLbfo", "TeamingMode", "SwitchIndependent", 0)),
			prop("LoadBalancingAlgorithm", cdxmlEnum("NetLbfo", "LBAlgos", "Dynamic", 5)), prop("Status", cdxmlEnum("NetLbfo", "TeamStatus", "Up", 0))))
	}
	c.emitAll(c.query("MSFT_NetLbfoTeam", rows, filter{"Name", "Name"}))
}

func getNetLbfoTeamMember(c *call) {
	var rows []*cmdlet.Object
	for _, t := range c.host.LbfoTeams {
		for _, guid := range t.Members {
			if _, port := c.host.port(guid); port != nil {
				rows = append(rows, standardCim("MSFT_NetLbfoTeamMember", "lbfomember:"+guid, port.Name, prop("Name", port.Name), prop("Team", t.Name),
					prop("InterfaceDescription", port.InterfaceDescription), prop("AdministrativeMode", cdxmlEnum("NetLbfo", "AdminMode", "Active", 0))))
			}
		}
	}
	c.emitAll(c.query("MSFT_NetLbfoTeamMember", rows, filter{"Name", "Name"}, filter{"Team", "Team"}))
}
