package lab

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// netAdapter is one look at the three things that Windows calls a net adapter: a physical port of a host, a
// virtual adapter of the management operating system, an adapter inside a guest.
type netAdapter struct {
	device *Device // of a port
	port   *Port
	vnic   *HostVNic
	guest  *GuestAdapter
	vm     *VMAdapter // what a guest's adapter belongs to; nil when it is gone
}

// netAdapters are the net adapters of the target, by interface index.
func (c *call) netAdapters(includeHidden bool) []*netAdapter {
	var all []*netAdapter
	if g := c.guest(); g != nil {
		for _, a := range g.Adapters {
			if a.Present || includeHidden { // facts.md 98: what is not present is hidden
				all = append(all, &netAdapter{guest: a, vm: c.vm.adapter(a.VMAdapterID)})
			}
		}
		return all
	}
	for _, d := range c.host.Devices {
		for _, port := range d.Ports {
			if !d.BusDisabled || includeHidden {
				all = append(all, &netAdapter{device: d, port: port})
			}
		}
	}
	for _, v := range c.host.HostVNics {
		all = append(all, &netAdapter{vnic: v})
	}
	return all
}

// netName is the net adapter's name of a host vNIC: its own name in brackets, until somebody renames it (facts.md 88).
func (v *HostVNic) netName() string {
	if v.Alias != "" {
		return v.Alias
	}
	return "vEthernet (" + v.Name + ")"
}

func (a *netAdapter) name() string {
	switch {
	case a.port != nil:
		return a.port.Name
	case a.vnic != nil:
		return a.vnic.netName()
	default:
		return a.guest.Name
	}
}

// description: the second host vNIC and so on carry a number (facts.md 84).
func (c *call) description(a *netAdapter) string {
	switch {
	case a.port != nil:
		return a.port.InterfaceDescription
	case a.guest != nil:
		return a.guest.InterfaceDescription
	}
	for i, v := range c.host.HostVNics {
		if v == a.vnic && i > 0 {
			return fmt.Sprintf("Hyper-V Virtual Ethernet Adapter #%d", i+1)
		}
	}
	return "Hyper-V Virtual Ethernet Adapter"
}

func (a *netAdapter) guid() string {
	switch {
	case a.port != nil:
		return a.port.InterfaceGuid
	case a.vnic != nil:
		return a.vnic.DeviceID
	default:
		return a.guest.InterfaceGuid
	}
}

func (a *netAdapter) index() int {
	switch {
	case a.port != nil:
		return a.port.InterfaceIndex
	case a.vnic != nil:
		return a.vnic.InterfaceIndex
	default:
		return a.guest.InterfaceIndex
	}
}

// mac: the synthetic adapter of a guest and its VF share the VM adapter's address (facts.md 63).
func (a *netAdapter) mac() string {
	switch {
	case a.port != nil:
		return a.port.MacAddress
	case a.vnic != nil:
		return a.vnic.MacAddress
	case a.vm != nil:
		return a.vm.MacAddress
	default:
		return "000000000000"
	}
}

func (a *netAdapter) enabled() bool {
	switch {
	case a.port != nil:
		return a.port.up()
	case a.vnic != nil:
		return a.vnic.Enabled
	default:
		return a.guest.Enabled
	}
}

// present: hidden adapters are those whose device is gone (facts.md 98).
func (a *netAdapter) present() bool {
	switch {
	case a.guest != nil:
		return a.guest.Present
	case a.port != nil:
		return !a.device.BusDisabled
	default:
		return true
	}
}

func (a *netAdapter) keywords() []*Keyword {
	switch {
	case a.port != nil:
		return a.port.Keywords
	case a.guest != nil:
		return a.guest.Keywords
	default:
		return nil
	}
}

func (a *netAdapter) ip() *IPConfig {
	switch {
	case a.port != nil:
		return &a.port.IP
	case a.vnic != nil:
		return &a.vnic.IP
	default:
		return &a.guest.IP
	}
}

// linked says whether the adapter has a link.
func (c *call) linked(a *netAdapter) bool {
	switch {
	case a.port != nil:
		return a.port.linked(c.clock(), c.timing)
	case a.vnic != nil:
		return a.vnic.Enabled && c.switchLinked(a.vnic.SwitchID)
	default:
		return a.guest.Present && a.guest.Enabled && a.vm != nil && c.switchLinked(a.vm.SwitchID)
	}
}

// switchLinked: an external switch has a link while one of its ports has; others always do.
func (c *call) switchLinked(id string) bool {
	s := c.host.switchByID(id)
	if s == nil {
		return false
	}
	if s.Type != "External" {
		return true
	}
	for _, guid := range s.Ports {
		if _, port := c.host.port(guid); port != nil && port.linked(c.clock(), c.timing) {
			return true
		}
	}
	return false
}

// linkSpeed in bits per second.
func (c *call) linkSpeed(a *netAdapter) uint64 {
	if !c.linked(a) {
		return 0
	}
	if a.port != nil {
		return a.port.LinkSpeed
	}
	id := ""
	if a.vnic != nil {
		id = a.vnic.SwitchID
	} else if a.vm != nil {
		id = a.vm.SwitchID
	}
	var speed uint64
	if s := c.host.switchByID(id); s != nil {
		for _, guid := range s.Ports {
			if _, port := c.host.port(guid); port != nil && port.up() {
				speed += port.LinkSpeed
			}
		}
	}
	if speed == 0 {
		speed = 10_000_000_000
	}
	return speed
}

// status is the word that Get-NetAdapter prints.
func (c *call) status(a *netAdapter) string {
	switch {
	case !a.present():
		return "Not Present"
	case !a.enabled():
		return "Disabled"
	case !c.linked(a):
		return "Disconnected"
	default:
		return "Up"
	}
}

// boundToSwitch says whether a port carries a virtual switch and therefore no TCP/IP (facts.md 27), or a
// guest's adapter is a VF, which leaves TCP/IP to the synthetic one (facts.md 63).
func (c *call) boundToSwitch(a *netAdapter) bool {
	return a.port != nil && c.host.switchOf(a.port) != nil || a.guest != nil && a.guest.VF
}

// driver is what Get-NetAdapter prints of the driver.
func (c *call) driver(a *netAdapter) Driver {
	switch {
	case a.port != nil:
		return a.device.Driver
	case a.vnic != nil:
		return Driver{FileName: "vmswitch.sys", Version: c.windowsDriverVersion(c.host.OS), Date: "2006-06-21", Provider: "Microsoft"}
	case a.guest.VF:
		return c.guest().VFDriver.Driver
	default:
		return Driver{FileName: "netvsc.sys", Version: c.windowsDriverVersion(c.guest().OS), Date: "2006-06-21", Provider: "Microsoft"}
	}
}

func (c *call) windowsDriverVersion(os OS) string { return fmt.Sprintf("10.0.%d.%d", os.Build, os.UBR) }

// pnpID is the device instance id of a net adapter.
func (c *call) pnpID(a *netAdapter) string {
	switch {
	case a.port != nil && profileOf(a.device.Profile).busDevice != "":
		return fmt.Sprintf(`MLX4\CONNECTX-3PRO_ETH&%s\5&%X&0&%d`, strings.TrimPrefix(profileOf(a.device.Profile).vendor, `PCI\`), a.device.Bus, portNumber(a.device, a.port))
	case a.port != nil:
		return fmt.Sprintf(`%s&SUBSYS_00008086&REV_02\4&%X&0&%02X`, profileOf(a.device.Profile).vendor, a.device.Bus, a.port.Function)
	case a.vnic != nil:
		return `ROOT\VMS_MP\` + fmt.Sprintf("%04d", a.vnic.InterfaceIndex)
	case a.guest.VF:
		return `PCI\VF\` + strings.Trim(a.guest.InterfaceGuid, "{}")
	default:
		return `VMBUS\{F8615163-DF3E-46C5-913F-F2D2F965ED0E}\` + strings.Trim(a.guest.InterfaceGuid, "{}")
	}
}

// portNumber counts the ports of a device from 1.
func portNumber(d *Device, port *Port) int {
	for i, p := range d.Ports {
		if p == port {
			return i + 1
		}
	}
	return 0
}

func (a *netAdapter) ref() string { return "netadapter:" + a.guid() }

// setting is one of the objects that hang on a net adapter: Rdma, Sriov, Vmq, HardwareInfo, …
func (c *call) settingData(class string, a *netAdapter, source int, properties ...cmdlet.Property) *cmdlet.Object {
	ref := strings.Replace(a.ref(), "netadapter", class, 1)
	description := c.description(a)
	all := append([]cmdlet.Property{
		prop("Name", a.name()), prop("InterfaceDescription", description), prop("ifAlias", a.name()), prop("InterfaceAlias", a.name()),
		prop("ifDesc", description), prop("InstanceID", a.guid()), prop("SystemName", c.systemName()), prop("Source", u32(source)), prop("Caption", class+" '"+description+"'"),
	}, properties...)
	return standardCim(class, ref, class+" (InstanceID = \""+a.guid()+"\")", all...)
}

func (c *call) systemName() string {
	if c.vm != nil {
		return c.vm.Name
	}
	return c.host.Name
}
