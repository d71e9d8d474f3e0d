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
	Profile         string        // overrides the profile that goes by the driver
	Timeout         time.Duration // until a port is up again and its RDMA is listed; 0: Options.RestartWait
	OnlyIfOwed      bool          // restart only devices for which the ledger owes it
	Progress        func(string)  // told each step in a line; may be nil
}

// NetAdapterRestartReport says what became of each device, in the order of the restarts. With an error it ends with
// the device that failed.
type NetAdapterRestartReport struct{ Devices []DeviceRestart }

// DeviceRestart is what became of one device.
type DeviceRestart struct {
	Location string   // PCI segment:bus:device, in decimal
	Profile  string   // the profile's name
	Ports    []string // all ports, in the order of their functions
	Bounced  bool
	Took     time.Duration // of the restart, until every port was up again
	Owed     []Debt        // what was owed for the device before
}

// RestartNetAdapters restarts the devices of the named net adapters and settles what is owed for them, whoever made the debt.
func (h *Host) RestartNetAdapters(ctx context.Context, spec NetAdapterRestartSpec) (*NetAdapterRestartReport, error) {
	const op = "restart the net adapters"
	progress := spec.Progress
	if progress == nil {
		progress = func(string) {}
	}
	inv, unlock, err := h.readLocked(ctx, op, portsAbout(spec.NetAdapterNames), spec.NetAdapterNames, partHost, partNetAdapters, partLedger)
	if err != nil {
		return nil, err
	}
	defer unlock()
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
	report := &NetAdapterRestartReport{}
	for _, d := range devices {
		ofDevice := func(x Debt) bool { return x.Kind == RestartNetAdapter && x.TargetID == d.Location }
		open, settled := inv.openDebts(ofDevice)
		r := DeviceRestart{Location: d.Location, Profile: d.Profile.Name, Ports: d.PortNames(), Owed: open}
		switch {
		case spec.OnlyIfOwed && len(open) == 0:
			progress(fmt.Sprintf("No restart is owed for %s.", portsAbout(r.Ports)))
			if len(settled) > 0 { // by a start of the host
				err = h.settle(ctx, inv.ledger, ofDevice)
			}
		default:
			progress(fmt.Sprintf("Disabling and enabling the %s (device %s).", portsAbout(r.Ports), d.Location))
			start := time.Now()
			err = h.payDevice(ctx, d, inv.ledger, options)
			r.Bounced, r.Took = err == nil, time.Since(start)
			if err == nil {
				progress(fmt.Sprintf("The %s are up again after %s.", portsAbout(r.Ports), r.Took.Round(100*time.Millisecond)))
			}
		}
		report.Devices = append(report.Devices, r)
		if err != nil {
			return report, err
		}
	}
	return report, nil
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
