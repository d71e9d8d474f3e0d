package lab

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const classPnp = "Win32_PnPEntity"

func registerPnpDevice(r registry) {
	r.both("Get-PnpDevice", getPnpDevice)
	r.both("Enable-PnpDevice", func(c *call) { c.eachPnpDevice(true) })
	r.both("Disable-PnpDevice", func(c *call) { c.eachPnpDevice(false) })
}

// pnpDevice is a device of the target: a net adapter, the bus device that carries ports, or a VF whose
// driver is missing.
type pnpDevice struct {
	id, name, class string
	manufacturer    string
	service         string
	problem         int // 22 disabled, 28 no driver
	present         bool
	adapter         *netAdapter
	bus             *Device
}

func (c *call) pnpDevices() []pnpDevice {
	var all []pnpDevice
	if c.guest() == nil {
		for _, d := range c.host.Devices {
			if name := profileOf(d.Profile).busDevice; name != "" {
				b := pnpDevice{id: c.busID(d), name: name, class: "System", manufacturer: d.Driver.Provider, service: d.Driver.Service, present: true, bus: d}
				if d.BusDisabled {
					b.problem = 22
				}
				all = append(all, b)
			}
		}
	}
	for _, a := range c.netAdapters(true) {
		d := pnpDevice{
			id: c.pnpID(a), name: c.description(a), class: "Net", manufacturer: c.driver(a).Provider, present: a.present(), adapter: a,
			service: strings.TrimSuffix(c.driver(a).FileName, ".sys"),
		}
		if !a.enabled() {
			d.problem = 22
		}
		all = append(all, d)
	}
	return append(all, c.driverless()...)
}

// driverless are VFs that the guest has no driver for: devices with problem 28 (cases.md 35).
func (c *call) driverless() []pnpDevice {
	g := c.guest()
	if g == nil || g.VFDriver.Kind != driverNone {
		return nil
	}
	var all []pnpDevice
	for _, a := range c.vm.Adapters {
		if a.Allocated == nil {
			continue
		}
		if d, _ := c.host.deviceOf(a.Allocated); d != nil {
			all = append(all, pnpDevice{id: profileOf(d.Profile).vfVendor + `\` + a.ID, name: "Ethernet Controller", class: "", problem: 28, present: true})
		}
	}
	return all
}

func (c *call) busID(d *Device) string {
	return fmt.Sprintf(`%s&SUBSYS_000815B3&REV_00\4&%X&0&0000`, profileOf(d.Profile).vendor, d.Bus)
}

func (d pnpDevice) status() (string, int64) {
	switch {
	case !d.present:
		return "Unknown", 3
	case d.problem != 0:
		return "Error", 1
	default:
		return "OK", 0
	}
}

func (c *call) pnpObject(d pnpDevice) *cmdlet.Object {
	status, _ := d.status()
	problems := map[int]string{0: "CM_PROB_NONE", 22: "CM_PROB_DISABLED", 28: "CM_PROB_FAILED_INSTALL"}
	return cim("root/cimv2", classPnp, "pnp:"+d.id, `Win32_PnPEntity: `+d.name+` (DeviceID = "`+d.id+`")`,
		prop("Class", d.class), prop("FriendlyName", d.name), prop("InstanceId", d.id), prop("Status", status), prop("Present", d.present),
		prop("Problem", cdxmlEnum("PnpDevice", "Problem", problems[d.problem], int64(d.problem))), prop("ConfigManagerErrorCode", u32(d.problem)),
		prop("Name", d.name), prop("Caption", d.name), prop("Description", d.name), prop("DeviceID", d.id), prop("PNPDeviceID", d.id), prop("PNPClass", d.class),
		prop("Manufacturer", d.manufacturer), prop("Service", d.service), prop("SystemName", c.systemName()), prop("CreationClassName", classPnp),
	)
}

func getPnpDevice(c *call) {
	var rows []*cmdlet.Object
	for _, d := range c.pnpDevices() {
		if d.present || !c.boolean("PresentOnly") {
			rows = append(rows, c.pnpObject(d))
		}
	}
	c.emitAll(c.query(classPnp, rows, filter{"InstanceId", "DeviceID"}, filter{"FriendlyName", "Name"}, filter{"Class", "PNPClass"}, filter{"Status", "Status"}))
}

// eachPnpDevice disables or enables devices by id or object.
func (c *call) eachPnpDevice(on bool) {
	var ids []string
	for _, o := range c.objects("InputObject") {
		ids = append(ids, strings.TrimPrefix(o.Ref, "pnp:"))
	}
	ids = append(ids, c.strs("InstanceId")...)
	devices := c.pnpDevices()
	for _, id := range ids {
		found := false
		for _, d := range devices {
			if strings.EqualFold(d.id, id) {
				found = true
				c.switchPnpDevice(d, on)
			}
		}
		if !found {
			c.fail(c.cimNotFound(classPnp, "DeviceID", id))
		}
	}
}

func (c *call) switchPnpDevice(d pnpDevice, on bool) {
	switch {
	case !d.present || d.problem == 28:
		c.fail(cimHResult("0x80041001", c.inv.Cmdlet, "NotSpecified", "Generic failure")) // errors.md 5
	case d.bus != nil:
		c.switchBus(d.bus, on)
	case d.adapter.port != nil && on:
		c.enable(d.adapter)
	case d.adapter.port != nil:
		if d.adapter.port.up() {
			d.adapter.port.PnpEnabled = false
			c.stopPort(c.host, d.adapter.port, c.inv.Cmdlet)
		}
	case on:
		c.enable(d.adapter)
	default:
		c.disable(d.adapter)
	}
}

// switchBus takes the bus device with all its ports down or up. Coming up it reads EnableGuestRdma, in the
// readings of procedure A4 where a restart of the bus device is what counts.
func (c *call) switchBus(d *Device, on bool) {
	if d.BusDisabled == !on {
		return
	}
	d.BusDisabled = !on
	if !on {
		for _, port := range d.Ports {
			if port.up() {
				port.PnpEnabled = false
				c.stopPort(c.host, port, c.inv.Cmdlet)
			}
		}
		return
	}
	if c.unknowns.GuestRdmaRegistryNeeds != "host_reboot" {
		c.loadGuestRdma(c.host, d)
	}
	c.event("bus_device_restart", c.busID(d), c.inv.Cmdlet)
	for _, port := range d.Ports {
		port.PnpEnabled = true
		if port.up() {
			c.startPort(c.host, d, port, c.inv.Cmdlet)
		}
	}
}
