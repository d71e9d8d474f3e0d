package lab

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const classNetAdapter = "MSFT_NetAdapter"

func registerNetAdapter(r registry) {
	r.both("Get-NetAdapter", getNetAdapter)
	r.both("Enable-NetAdapter", func(c *call) { c.eachNetAdapter((*call).enable) })
	r.both("Disable-NetAdapter", func(c *call) { c.eachNetAdapter((*call).disable) })
	r.both("Restart-NetAdapter", func(c *call) {
		c.eachNetAdapter(func(c *call, a *netAdapter) { c.restart(a, "Restart-NetAdapter") })
	})
	r.both("Rename-NetAdapter", renameNetAdapter)
}

func getNetAdapter(c *call) {
	physical := c.boolean("Physical")
	for _, a := range c.find(classNetAdapter, nil) {
		if physical && a.vnic != nil {
			continue
		}
		c.emit(c.netAdapterObject(a))
	}
}

// eachNetAdapter records the adapters first: what happens to one may change what another is found by.
func (c *call) eachNetAdapter(do func(*call, *netAdapter)) {
	for _, a := range c.find(classNetAdapter, nil) {
		do(c, a)
		if c.boolean("PassThru") {
			c.emit(c.netAdapterObject(a))
		}
	}
}

func (c *call) enable(a *netAdapter) {
	switch {
	case a.port != nil:
		if a.port.up() || a.device.BusDisabled {
			return
		}
		a.port.Enabled, a.port.PnpEnabled = true, true // Windows disables a net adapter by disabling its device
		c.startPort(c.host, a.device, a.port, "Enable-NetAdapter")
	case a.vnic != nil:
		a.vnic.Enabled = true
	default:
		c.startGuestAdapter(a.guest, "Enable-NetAdapter")
	}
}

func (c *call) disable(a *netAdapter) {
	switch {
	case a.port != nil:
		if !a.port.up() {
			return
		}
		a.port.Enabled = false
		c.stopPort(c.host, a.port, "Disable-NetAdapter")
	case a.vnic != nil:
		if a.vnic.Enabled && a.vnic.IP.has(c.host.Address) {
			c.dropSession(c.host, a.name(), "Disable-NetAdapter")
		}
		a.vnic.Enabled = false
	default:
		a.guest.Enabled = false
		a.guest.RdmaChangedAt = c.clock()
	}
}

// restart is the bounce that Restart-NetAdapter and every change without -NoRestart make (facts.md 33).
func (c *call) restart(a *netAdapter, reason string) {
	switch {
	case a.port != nil:
		c.restartPort(c.host, a.device, a.port, reason)
	case a.vnic != nil:
		if a.vnic.Enabled && a.vnic.IP.has(c.host.Address) {
			c.dropSession(c.host, a.name(), reason)
		}
	case a.guest.Enabled:
		c.startGuestAdapter(a.guest, reason)
	}
}

// startGuestAdapter is the adapter's driver in the guest reading its settings.
func (c *call) startGuestAdapter(a *GuestAdapter, reason string) {
	a.load(c.clock())
	a.RoutesRdma = c.guest().NetworkDirectAcrossIPSubnets == acrossAllowed
	a.Enabled = true
	c.guest().noteRdma()
	c.event("guest_net_adapter_restart", c.vm.Name+"/"+a.Name, reason)
}

func renameNetAdapter(c *call) {
	name := c.str("NewName")
	for _, a := range c.find(classNetAdapter, nil) {
		for _, other := range c.netAdapters(true) {
			if other.guid() != a.guid() && strings.EqualFold(other.name(), name) {
				c.fail(c.cimSystemError(183, classNetAdapter, "Cannot create a file when that file already exists."))
				return
			}
		}
		switch {
		case a.port != nil:
			a.port.Name = name
		case a.vnic != nil:
			a.vnic.Alias = name
			if name == "vEthernet ("+a.vnic.Name+")" {
				a.vnic.Alias = ""
			}
		default:
			a.guest.Name = name
		}
		if c.boolean("PassThru") {
			c.emit(c.netAdapterObject(a))
		}
	}
}

// netAdapterObject is an MSFT_NetAdapter with the properties that the module adds (objects.md 1).
func (c *call) netAdapterObject(a *netAdapter) *cmdlet.Object {
	d, description, status, speed := c.driver(a), c.description(a), c.status(a), c.linkSpeed(a)
	admin, adminNumber := "Up", 1
	if !a.enabled() {
		admin, adminNumber = "Down", 2
	}
	media, mediaNumber := "Connected", 1
	switch {
	case !a.enabled() || !a.present():
		media, mediaNumber = "Unknown", 0
	case !c.linked(a):
		media, mediaNumber = "Disconnected", 2
	}
	oper := map[string]int{"Up": 1, "Not Present": 6}[status]
	if oper == 0 {
		oper = 2
	}
	state := map[bool]int{true: 2, false: 3}[a.enabled()]
	vlan := 0
	if a.port != nil {
		vlan = a.port.VlanID
	}
	operNames := map[int]string{1: "Up", 2: "Down", 6: "NotPresent"}
	return standardCim(classNetAdapter, a.ref(), `MSFT_NetAdapter (CreationClassName = "MSFT_NetAdapter", DeviceID = "`+a.guid()+`")`,
		prop("ifAlias", a.name()), prop("InterfaceAlias", a.name()), prop("ifIndex", u32(a.index())), prop("ifDesc", description),
		prop("ifName", fmt.Sprintf("ethernet_%d", 32767+a.index())), prop("DriverVersion", d.Version), prop("LinkLayerAddress", dashed(a.mac())),
		prop("MacAddress", dashed(a.mac())), prop("Status", status), prop("LinkSpeed", linkSpeedText(speed)), prop("MediaType", "802.3"),
		prop("PhysicalMediaType", map[bool]string{true: "802.3", false: "Unspecified"}[a.vnic == nil]),
		prop("AdminStatus", cdxmlEnum("NetAdapter", "NET_IF_ADMIN_STATUS", admin, int64(adminNumber))), prop("MediaConnectionState", media),
		prop("DriverInformation", fmt.Sprintf("Driver Date %s Version %s NDIS 6.85", d.Date, d.Version)), prop("DriverFileName", d.FileName),
		prop("NdisVersion", "6.85"), prop("ifOperStatus", cdxmlEnum("NetAdapter", "NET_IF_OPER_STATUS", operNames[oper], int64(oper))),
		prop("Name", a.name()), prop("InterfaceDescription", description), prop("InterfaceIndex", u32(a.index())),
		prop("InterfaceName", fmt.Sprintf("ethernet_%d", 32767+a.index())), prop("InterfaceGuid", a.guid()), prop("DeviceID", a.guid()), prop("InstanceID", a.guid()),
		prop("PermanentAddress", a.mac()), prop("NetworkAddresses", list(a.mac())), prop("PnPDeviceID", c.pnpID(a)),
		prop("DriverName", `\SystemRoot\System32\drivers\`+d.FileName), prop("DriverDate", d.Date), prop("DriverProvider", d.Provider),
		prop("DriverDescription", description), prop("DriverVersionString", d.Version), prop("DriverMajorNdisVersion", u8(6)), prop("DriverMinorNdisVersion", u8(85)),
		prop("InterfaceAdminStatus", u32(adminNumber)), prop("InterfaceOperationalStatus", u32(oper)), prop("MediaConnectState", u32(mediaNumber)), prop("State", u32(state)),
		prop("Hidden", !a.present()), prop("HardwareInterface", a.vnic == nil), prop("ConnectorPresent", a.port != nil), prop("Virtual", a.vnic != nil),
		prop("TransmitLinkSpeed", u64(speed)), prop("ReceiveLinkSpeed", u64(speed)), prop("Speed", u64(speed)), prop("FullDuplex", true),
		prop("MtuSize", u32(1500)), prop("ActiveMaximumTransmissionUnit", u64(1500)), prop("VlanID", u16(vlan)), prop("NdisPhysicalMedium", u32(14)),
		prop("InterfaceType", u32(6)), prop("SystemName", c.systemName()), prop("CreationClassName", classNetAdapter),
	)
}

func linkSpeedText(bits uint64) string {
	switch {
	case bits == 0:
		return "0 bps"
	case bits%1_000_000_000 == 0:
		return fmt.Sprintf("%d Gbps", bits/1_000_000_000)
	case bits >= 1_000_000_000:
		return fmt.Sprintf("%.1f Gbps", float64(bits)/1e9)
	default:
		return fmt.Sprintf("%d Mbps", bits/1_000_000)
	}
}
