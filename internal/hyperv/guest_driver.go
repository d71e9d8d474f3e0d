package hyperv

import (
	"fmt"
	"strings"
)

// What is done about drivers of host and guest that do not fit each other (facts.md 99, 100).
const (
	DriverMatchStrict = "strict" // an error, before anything in the guest is changed
	DriverMatchWarn   = "warn"
	DriverMatchOff    = "off"
)

// DriverMatches lists them.
func DriverMatches() []string {
	return []string{DriverMatchStrict, DriverMatchWarn, DriverMatchOff}
}

// physicalPorts are the host's net adapters that may carry the VM adapter's virtual function: the one that it is mapped to in
// a team (facts.md 22), else all members of its switch.
func (inv *Inventory) physicalPorts(a *VMAdapter) []NetAdapter {
	var out []NetAdapter
	for _, guid := range a.MembersOfTheSwitch {
		if nic, ok := inv.netAdapterByGUID(guid); ok && (a.TeamMapping == "" || strings.EqualFold(nic.Name, a.TeamMapping)) {
			out = append(out, *nic)
		}
	}
	return out
}

// inbox says that a net adapter runs with a driver of Windows itself (facts.md 6, 100).
func (n NetAdapter) inbox() bool {
	return strings.HasPrefix(n.DriverProvider, "Microsoft") || strings.HasPrefix(n.DriverProvider, "Windows")
}

// driverText is a driver for people, with what validators of drivers compare (facts.md 100).
func (n NetAdapter) driverText() string {
	return fmt.Sprintf("%q (%s by %s) [Driver Date %s Version %s]", n.Name, n.DriverFileName, n.DriverProvider, n.DriverDate, n.DriverVersion)
}

// driverMismatch says why the driver of a virtual function does not fit that of the host's port; "" where it does. Physical and
// virtual functions of most vendors count their versions apart, so versions are compared only where the profile says so (facts.md 99).
func driverMismatch(p Profile, port, vf NetAdapter) string {
	switch {
	case port.inbox():
		return "the host's net adapter runs Windows' own driver, and in-box drivers do no guest RDMA (facts.md 6, 100)"
	case vf.inbox() && p.InboxVFDriver:
		return "" // the procedure begins with it (A9)
	case vf.inbox():
		return "the virtual function runs Windows' own driver, and in-box drivers do no guest RDMA (facts.md 6)"
	case !strings.EqualFold(port.DriverProvider, vf.DriverProvider):
		return "the drivers are of different providers (facts.md 99)"
	case p.SameDriverVersion && port.DriverVersion != vf.DriverVersion:
		return fmt.Sprintf("with the profile %s host and guest need the same driver version (facts.md 99)", p.Name)
	}
	return ""
}

// matchDrivers holds the virtual function's driver against the host's, once the guest shows it.
func (c *guestChange) matchDrivers() error {
	if c.matched || c.g.VF == nil {
		return nil
	}
	c.matched = true
	if c.spec.DriverMatch == DriverMatchOff {
		return nil
	}
	for _, port := range c.ports {
		why := driverMismatch(profileOf("", port.DriverFileName), port, c.g.VF.NetAdapter)
		if why == "" {
			continue
		}
		cause := fmt.Sprintf("The drivers of host and guest do not fit: %s. Host: %s. Guest: %s.", why, port.driverText(), c.g.VF.driverText())
		const fix = "Install the vendor's driver on both sides, of versions that belong together"
		if c.spec.DriverMatch == DriverMatchStrict {
			return &Error{Kind: Unsupported, Op: c.op, Host: c.host.Name, Object: adapterAbout(c.ref), Attribute: "driver_match", Value: c.spec.DriverMatch,
				Cause: cause, Fix: fix + `, or set driver_match to "warn" or "off" to go on without.`}
		}
		c.g.Notes = append(c.g.Notes, Note{fmt.Sprintf("The drivers of %s do not fit", adapterAbout(c.ref)), cause + "\n\n" + fix + `. driver_match = "off" silences this.`})
		return nil
	}
	return nil
}
