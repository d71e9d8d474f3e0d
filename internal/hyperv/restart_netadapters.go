package hyperv

import (
	"context"
	"fmt"
	"time"
)

// NetAdapterRestartSpec says which net adapters are restarted. They are restarted with their device: all of its
// ports are disabled and enabled together (facts.md 25, 35), once, however many of them are named.
type NetAdapterRestartSpec struct {
	NetAdapterNames []string      // devices are restarted in the order in which they are mentioned
	Known           KnownPorts    // which net adapters these are
	Profile         string        // overrides the profile that goes by the driver
	Timeout         time.Duration // until a port is up again and its RDMA is listed; 0: Options.RestartWait
	OnlyIfOwed      bool          // restart only devices for which the ledger owes it
	Progress        func(string)  // told each step in a line; may be nil
	// Owner, if it is set and OnlyIfOwed is not, owes each restart in the ledger before it is tried, so that one that
	// fails is not forgotten; Reason says why.
	Owner, Reason string
}

// NetAdapterRestartReport says what became of each device, in the order of the restarts. With an error it ends with
// the device that failed.
type NetAdapterRestartReport struct {
	Devices []DeviceRestart
	Known   KnownPorts
	Notes   []Note // what the switches on the devices lack now that no restart is owed
}

// DeviceRestart is what became of one device.
type DeviceRestart struct {
	Location string   // PCI segment:bus:device, in decimal
	Profile  string   // the profile's name
	Ports    []string // all ports, in the order of their functions
	Bounced  bool
	Took     time.Duration // of the restart, until every port was up again
	Owed     []Debt        // what was owed for the device before
	Debts    []Debt        // what is owed now
}

// RestartNetAdapters restarts the devices of the named net adapters and settles what is owed for them, whoever made the
// debt. Then it looks at the switches on them: one that was made with require_iov_support and lacks it is an error.
func (h *Host) RestartNetAdapters(ctx context.Context, spec NetAdapterRestartSpec) (*NetAdapterRestartReport, error) {
	const op = "restart the net adapters"
	progress := spec.Progress
	if progress == nil {
		progress = func(string) {}
	}
	inv, unlock, err := h.readLocked(ctx, op, portsAbout(spec.NetAdapterNames), spec.Known.lockedBy(spec.NetAdapterNames), partHost, partNetAdapters, partSwitches, partLedger)
	if err != nil {
		return nil, err
	}
	defer unlock()
	known := knowPorts(inv.NetAdapters, spec.NetAdapterNames, spec.Known)
	if !spec.OnlyIfOwed { // what is owed is owed for the device that is known
		if err := h.refuseSwapped(inv.NetAdapters, op, spec.NetAdapterNames, spec.Known); err != nil {
			return nil, err
		}
	}
	spec.NetAdapterNames = nowCalled(inv.NetAdapters, spec.NetAdapterNames, spec.Known)
	devices, err := h.devicesOf(inv, op, spec.NetAdapterNames, spec.Profile)
	if err != nil {
		return nil, err
	}
	options := func(o *bounceOptions) {
		o.progress = progress
		if spec.Timeout > 0 {
			o.wait = spec.Timeout
		}
	}
	report := &NetAdapterRestartReport{Known: known}
	if spec.Owner != "" && !spec.OnlyIfOwed {
		if err := h.oweRestarts(ctx, inv, devices, spec); err != nil {
			return nil, err
		}
	}
	for _, d := range devices {
		open, settled := inv.openDebts(d.owes)
		r := DeviceRestart{Location: d.Location, Profile: d.Profile.Name, Ports: d.PortNames(), Owed: open}
		switch {
		case spec.OnlyIfOwed && len(open) == 0:
			progress(fmt.Sprintf("No restart is owed for %s.", portsAbout(r.Ports)))
			if len(settled) > 0 { // by a start of the host
				err = h.settle(ctx, inv.ledger, d.owes)
			}
		default:
			progress(fmt.Sprintf("Disabling and enabling the %s (device %s).", portsAbout(r.Ports), d.Location))
			start := time.Now()
			err = h.payDevice(ctx, d, inv.ledger, options)
			r.Bounced, r.Took = err == nil, time.Since(start)
			r.Debts, _ = inv.openDebts(d.owes)
			if err == nil {
				progress(fmt.Sprintf("The %s are up again after %s.", portsAbout(r.Ports), r.Took.Round(100*time.Millisecond)))
			}
		}
		report.Devices = append(report.Devices, r)
		if err != nil {
			return report, err
		}
	}
	report.Notes, err = h.checkSwitches(ctx, inv, devices, report)
	return report, err
}

// oweRestarts writes into the ledger that the devices are to be restarted.
func (h *Host) oweRestarts(ctx context.Context, inv *Inventory, devices []*Device, spec NetAdapterRestartSpec) error {
	w := inv.ledger.writes()
	for _, d := range devices {
		w.owe(Debt{Kind: RestartNetAdapter, Target: d.Title(), TargetID: d.Location, Owner: spec.Owner, Since: inv.Now(), Reason: spec.Reason})
	}
	b := h.batch("owe the restarts", portsAbout(spec.NetAdapterNames))
	w.addPuts(b)
	defer w.guard(h)()
	if err := b.run(ctx); err != nil {
		return err
	}
	w.apply()
	return nil
}

// checkSwitches says which switches on the devices lack SR-IOV, read afresh where a device was restarted: what a switch
// says counts once its net adapters owe no restart.
func (h *Host) checkSwitches(ctx context.Context, inv *Inventory, devices []*Device, report *NetAdapterRestartReport) ([]Note, error) {
	const op = "restart the net adapters"
	for _, r := range report.Devices {
		if r.Bounced {
			now, err := h.read(ctx, op, portsAbout(r.Ports), partHost, partNetAdapters, partSwitches, partLedger)
			if err != nil {
				return []Note{{"The switches could not be read after the restart of their net adapters", err.Error() + "\n\nThe net adapters were restarted."}}, nil
			}
			inv = now
			break
		}
	}
	var notes []Note
	for _, vs := range inv.Switches {
		s := inv.describeSwitch(vs)
		for _, nic := range inv.members(s) {
			d, ok := inv.device(nic.Name, "")
			if !ok || !hasDevice(devices, d.Location) || !s.IovEnabled {
				continue
			}
			if c, ok := inv.ledger.claimRecord(switchPort(nic.InterfaceGuid)); ok && c.RequireIovSupport && !s.DeviceOwes && !s.IovSupport {
				return notes, &Error{Kind: Unsupported, Op: op, Host: h.Name, Object: switchAbout(s.Name),
					Cause: "The switch was made with require_iov_support, and now that its net adapters were restarted Windows says that SR-IOV does not work: " + iovReasons(inv, s),
					Fix:   "Enable SR-IOV (and VT-d or the IOMMU) in the BIOS and at the adapter, or leave out require_iov_support of the switch."}
			}
			notes = append(notes, iovNotes(inv, s)...)
			break
		}
	}
	return notes, nil
}

// RestartDevices reads the devices of net adapters, and what is owed for them, from the shared inventory. Net adapters
// that are gone are left out; none left is NotFound. known says which net adapters the names mean, and comes back with
// what there is.
func (h *Host) RestartDevices(ctx context.Context, names []string, known KnownPorts, profile string) ([]DeviceRestart, KnownPorts, error) {
	const op = "read the net adapters"
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, nil, err
	}
	var devices []*Device
	for _, name := range nowCalled(inv.NetAdapters, names, known) {
		d, e := h.deviceByPort(inv, op, "net_adapter_names", name, profile)
		if e != nil {
			err = e
			continue
		}
		if !hasDevice(devices, d.Location) {
			devices = append(devices, d)
		}
	}
	if len(devices) == 0 {
		return nil, nil, err
	}
	var out []DeviceRestart
	for _, d := range devices {
		open, _ := inv.openDebts(d.owes)
		out = append(out, DeviceRestart{Location: d.Location, Profile: d.Profile.Name, Ports: d.PortNames(), Debts: open})
	}
	return out, knowPorts(inv.NetAdapters, names, known), nil
}

// ForgetRestarts takes back what this owner alone wanted restarted.
func (h *Host) ForgetRestarts(ctx context.Context, names []string, known KnownPorts, owner string) error {
	inv, unlock, err := h.readLocked(ctx, "forget the restarts", portsAbout(names), known.lockedBy(names), partHost, partNetAdapters, partLedger)
	if err != nil {
		return err
	}
	defer unlock()
	return h.settle(ctx, inv.ledger, ownedBy(owner))
}

// devicesOf finds the devices of net adapters, in the order of first mention.
func (h *Host) devicesOf(inv *Inventory, op string, names []string, profile string) ([]*Device, error) {
	var out []*Device
	for _, name := range names {
		d, err := h.deviceByPort(inv, op, "net_adapter_names", name, profile)
		if err != nil {
			return nil, err
		}
		if !hasDevice(out, d.Location) {
			out = append(out, d)
		}
	}
	return out, nil
}

func hasDevice(list []*Device, location string) bool {
	for _, d := range list {
		if d.Location == location {
			return true
		}
	}
	return false
}
