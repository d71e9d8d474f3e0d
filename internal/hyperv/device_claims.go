package hyperv

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Resources that keep a device in their way hold a claim in the ledger: its settings by the device, each switch by its
// ports, and DCB by the ports that it is turned on for. The last of them that goes pays what is owed for the device, so that parts that restart nothing
// themselves (restart_policy = "manual") are taken down with one restart.

// switchPort names the claim of a switch on one of its ports.
func switchPort(interfaceGUID string) string {
	return "switch on port " + strings.ToLower(strings.Trim(interfaceGUID, "{}"))
}

// dcbPort names the claim of DCB on a port.
func dcbPort(interfaceGUID string) string {
	return "dcb on port " + strings.ToLower(strings.Trim(interfaceGUID, "{}"))
}

// claimPort claims a port for a switch. require keeps that the switch must support SR-IOV once nothing is owed any more.
func (w *ledgerWrites) claimPort(interfaceGUID, name string, require bool) {
	object := switchPort(interfaceGUID)
	c := claim{Object: object, Owner: fmt.Sprintf("hyperv_iov_switch %q", name), RequireIovSupport: require}
	if have, ok := w.from.claimRecord(object); !ok || have != c {
		w.set(claimName(object), c)
	}
}

func (l *ledger) claimRecord(object string) (claim, bool) {
	var r claim
	raw, ok := l.values[claimName(object)]
	return r, ok && json.Unmarshal([]byte(raw), &r) == nil
}

// claimPorts makes the claims of a switch those of its ports, and gives up those of ports that it left.
func (w *ledgerWrites) claimPorts(spec SwitchSpec, now, left []NetAdapter) {
	for _, nic := range left {
		w.release(switchPort(nic.InterfaceGuid))
	}
	for _, nic := range now {
		w.claimPort(nic.InterfaceGuid, spec.Name, spec.RequireIovSupport)
	}
}

// hasSwitch says that a switch is on the port.
func (inv *Inventory) hasSwitch(interfaceGUID string) bool {
	for _, s := range inv.Switches {
		for _, guid := range s.NetAdapterInterfaceGuid {
			if sameGUID(guid, interfaceGUID) {
				return true
			}
		}
	}
	return false
}

// dropGoneSwitches gives up claims of switches that somebody removed, of which Terraform knows nothing any more.
func (w *ledgerWrites) dropGoneSwitches(inv *Inventory) {
	for _, nic := range inv.NetAdapters {
		if !inv.hasSwitch(nic.InterfaceGuid) {
			w.release(switchPort(nic.InterfaceGuid))
		}
	}
}

// dropClaimsOf gives up whatever an owner has claimed, and what the ledger knows of it.
func (w *ledgerWrites) dropClaimsOf(owner string) {
	for name, raw := range w.from.values {
		var c claim
		if strings.HasPrefix(name, "claim.") && json.Unmarshal([]byte(raw), &c) == nil && c.Owner == owner {
			w.dropObject(c.Object)
		}
	}
}

// claimants are the resources that use the device, by their claims in the ledger.
func (l *ledger) claimants(d *Device) []string {
	var out []string
	if who, ok := l.claim(d.object()); ok {
		out = append(out, who)
	}
	for _, p := range d.Ports {
		for _, object := range []string{switchPort(p.InterfaceGuid), dcbPort(p.InterfaceGuid)} {
			if who, ok := l.claim(object); ok {
				out = append(out, who)
			}
		}
	}
	return unique(out)
}

// owes says that a debt of the device is open and due.
func (inv *Inventory) owes(d *Device, due func(Debt) bool) bool {
	open, _ := inv.openDebts(func(x Debt) bool { return d.owes(x) && due(x) })
	return len(open) > 0
}

// owes says that a debt of the device is due.
func (l *ledger) owes(d *Device, due func(Debt) bool) bool {
	for _, x := range l.debts() {
		if d.owes(x) && due(x) {
			return true
		}
	}
	return false
}

// dueOnDelete says which debts a resource pays that is being removed: its own under "auto", and all of them if it is the last
// on the device. Nil: none.
func dueOnDelete(l *ledger, d *Device, policy string, own func(Debt) bool) func(Debt) bool {
	switch {
	case len(l.claimants(d)) == 0:
		return anyOwner
	case policy != RestartManual:
		return own
	}
	return nil
}

// staysOwed tells that restart_on_destroy = false left a restart.
func staysOwed(about string, d *Device) Note {
	return Note{fmt.Sprintf("A restart stays owed for %s", portsAbout(d.PortNames())),
		fmt.Sprintf("restart_on_destroy of the %s is false, so its removal restarted nothing. Until all ports of the device are disabled and enabled, the change has no effect (facts.md 25, 33-36). "+
			"The host keeps the debt: any restart of the device by this provider settles it (hyperv_net_adapter_restart), and so does a restart of the host.", about)}
}
