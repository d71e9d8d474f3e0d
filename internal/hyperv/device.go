package hyperv

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Device is one PCI device with its ports: the physical functions that a bounce takes together.
type Device struct {
	Location string // segment:bus:device, in decimal
	Profile  Profile
	Ports    []NetAdapter // ordered by function, then name
}

// PortNames lists the ports' names.
func (d *Device) PortNames() []string {
	var out []string
	for _, p := range d.Ports {
		out = append(out, p.Name)
	}
	return out
}

// Title names the device for people: its ports' names.
func (d *Device) Title() string { return strings.Join(d.PortNames(), ", ") }

func (d *Device) lockKey() string { return "device:" + d.Location }

func (d *Device) object() string { return "device " + d.Location }

// netAdapter finds a net adapter by its exact name, ignoring case as Windows does.
func (inv *Inventory) netAdapter(name string) (*NetAdapter, bool) {
	for i := range inv.NetAdapters {
		if strings.EqualFold(inv.NetAdapters[i].Name, name) {
			return &inv.NetAdapters[i], true
		}
	}
	return nil, false
}

func (inv *Inventory) netAdapterByGUID(guid string) (*NetAdapter, bool) {
	for i := range inv.NetAdapters {
		if sameGUID(inv.NetAdapters[i].InterfaceGuid, guid) {
			return &inv.NetAdapters[i], true
		}
	}
	return nil, false
}

// device finds the PCI device of a net adapter: same segment, bus and device number. Function numbers are
// not compared: the ports of a ConnectX-3 may share one (architecture: [I]).
func (inv *Inventory) device(name, profile string) (*Device, bool) {
	own, ok := inv.hardware(name)
	if !ok {
		return nil, false
	}
	d := &Device{Location: own.location()}
	function := map[string]int{}
	for _, hw := range inv.Hardware {
		if nic, ok := inv.netAdapter(hw.Name); ok && hw.location() == d.Location {
			d.Ports = append(d.Ports, *nic)
			function[nic.Name] = hw.FunctionNumber
		}
	}
	sort.Slice(d.Ports, func(i, j int) bool {
		a, b := d.Ports[i], d.Ports[j]
		if function[a.Name] != function[b.Name] {
			return function[a.Name] < function[b.Name]
		}
		return a.Name < b.Name
	})
	if nic, ok := inv.netAdapter(name); ok {
		d.Profile = profileOf(profile, nic.DriverFileName)
	}
	return d, true
}

// devicesNamed are the devices that carry the named ports, each once, in the order of first mention; what is not there is left out.
func (inv *Inventory) devicesNamed(names []string) []*Device {
	var out []*Device
	for _, name := range names {
		if d, ok := inv.device(name, ""); ok && !hasDevice(out, d.Location) {
			out = append(out, d)
		}
	}
	return out
}

func (inv *Inventory) hardware(name string) (HardwareInfo, bool) {
	for _, hw := range inv.Hardware {
		if strings.EqualFold(hw.Name, name) {
			return hw, true
		}
	}
	return HardwareInfo{}, false
}

func (hw HardwareInfo) location() string {
	return fmt.Sprintf("%d:%d:%d", hw.SegmentNumber, hw.BusNumber, hw.DeviceNumber)
}

// sameGUID compares GUID texts without braces and case: NetAdapter prints braces, Hyper-V none (objects.md 1).
func sameGUID(a, b string) bool {
	return strings.EqualFold(strings.Trim(a, "{}"), strings.Trim(b, "{}"))
}

// deviceByPort reads the net adapters afresh and finds the device of one of them, or says what is there instead.
func (h *Host) deviceByPort(inv *Inventory, op, attribute, name, profile string) (*Device, error) {
	if _, ok := inv.netAdapter(name); !ok {
		return nil, &Error{Kind: NotFound, Op: op, Host: h.Name, Object: fmt.Sprintf("net adapter %q", name), Attribute: attribute, Value: name,
			Cause: "The host has no net adapter of this name.",
			Fix:   "Use one of: " + quoteList(physicalNames(inv)) + "."}
	}
	d, ok := inv.device(name, profile)
	if !ok {
		return nil, &Error{Kind: Unsupported, Op: op, Host: h.Name, Object: fmt.Sprintf("net adapter %q", name), Attribute: attribute, Value: name,
			Cause: "Windows gives no PCI location for this net adapter (Get-NetAdapterHardwareInfo), so it is no physical adapter.",
			Fix:   "Use one of: " + quoteList(physicalNames(inv)) + "."}
	}
	return d, nil
}

func physicalNames(inv *Inventory) []string {
	var out []string
	for _, hw := range inv.Hardware {
		out = append(out, hw.Name)
	}
	sort.Strings(out)
	return out
}

// quoteList prints names for people.
func quoteList(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}

// portsCall gets the live objects of a device's ports by InterfaceGuid: names are wildcards to the cmdlets (facts.md 39).
func (d *Device) portsCall(save string) wire.Call {
	var guids []string
	for _, p := range d.Ports {
		guids = append(guids, p.InterfaceGuid)
	}
	return wire.Call{Cmdlet: "Get-NetAdapter", Save: save, Select: fieldsOf[NetAdapter](),
		Where: []wire.Condition{{Property: "InterfaceGuid", Equals: guids}}}
}

// lockDevice serialises what happens to a device.
func (h *Host) lockDevice(ctx context.Context, d *Device) (func(), error) {
	return h.locks.lock(ctx, d.lockKey())
}
