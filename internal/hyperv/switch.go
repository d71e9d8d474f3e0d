package hyperv

import (
	"context"
	"fmt"
	"sort"
	"strings"
)

// Note is something that went well enough but that a person should know.
type Note struct{ Summary, Detail string }

// Restart policies.
const (
	RestartAuto   = "auto"   // restart within the change
	RestartManual = "manual" // leave the restart owed
)

// SwitchSpec is an external switch with SR-IOV as it is wanted. Nil fields are left to Windows.
type SwitchSpec struct {
	Name                   string
	NetAdapterNames        []string
	Known                  KnownPorts // which net adapters these are
	EnableEmbeddedTeaming  *bool
	AllowManagementOS      *bool
	MinimumBandwidthMode   string // "", Default or None: anything else keeps SR-IOV off (facts.md 10, 11)
	Notes                  *string
	LoadBalancingAlgorithm string // SET only
	RequireIovSupport      bool
	Profile                string
	RestartPolicy          string
	// PreserveHostIPConfig gives the host's static addresses, gateways and DNS servers to the adapter that takes the
	// place of the one that had them.
	PreserveHostIPConfig bool
	// DisconnectAdapters lets the switch be removed under VM adapters that are connected to it.
	DisconnectAdapters bool
	// KeepOwedOnDelete leaves the restart owed that a removal needs (restart_on_destroy = false).
	KeepOwedOnDelete bool
}

// Switch is a switch as it was read.
type Switch struct {
	VMSwitch
	NetAdapterNames        []string
	Members                []NetAdapter // the same
	LoadBalancingAlgorithm string
	ManagementAdapter      bool               // a host vNIC named like the switch exists (facts.md 16)
	Profile                string             // of the first member's driver
	Connected              []ConnectedAdapter // where the VMs were read
	Debts                  []Debt             // owed for this switch
	DeviceOwes             bool               // a restart of one of its devices is owed, whoever made the debt
	Notes                  []Note
}

func switchAbout(name string) string { return fmt.Sprintf("switch %q", name) }

// switchOwner names a switch's debts: by its first member while it is being made (known before it has an id),
// by its own id later.
func switchOwner(guid string) string {
	return "hyperv_iov_switch:" + strings.ToLower(strings.Trim(guid, "{}"))
}

// GetSwitch finds a switch in the shared inventory by id.
func (h *Host) GetSwitch(ctx context.Context, id string) (*Switch, error) {
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	s, err := h.switchByID(inv, id)
	if err == nil {
		h.noteStored(inv, intent{Kind: kindSwitch, Name: s.Name}, s.ID)
	}
	return s, err
}

func (h *Host) switchByID(inv *Inventory, id string) (*Switch, error) {
	for _, s := range inv.Switches {
		if sameGUID(s.ID, id) {
			return inv.describeSwitch(s), nil
		}
	}
	return nil, &Error{Kind: NotFound, Op: "read the switch", Host: h.Name, Object: "switch " + id, Cause: "The host has no switch of this id."}
}

// FindSwitch finds a switch by exact name, or by id. Two switches of one name are legal in Hyper-V
// (cases 8): the name is then an error that lists both.
func (h *Host) FindSwitch(ctx context.Context, nameOrID string) (*Switch, error) {
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	var hits []VMSwitch
	for _, s := range inv.Switches {
		if sameGUID(s.ID, nameOrID) {
			return inv.describeSwitch(s), nil
		}
		if strings.EqualFold(s.Name, nameOrID) {
			hits = append(hits, s)
		}
	}
	switch len(hits) {
	case 1:
		return inv.describeSwitch(hits[0]), nil
	case 0:
		return nil, &Error{Kind: NotFound, Op: "find the switch", Host: h.Name, Object: switchAbout(nameOrID), Value: nameOrID,
			Cause: "The host has no switch of this name or id.", Fix: "Switches of the host: " + quoteList(switchNames(inv.Switches)) + "."}
	}
	var ids []string
	for _, s := range hits {
		ids = append(ids, s.ID)
	}
	return nil, &Error{Kind: Ambiguous, Op: "find the switch", Host: h.Name, Object: switchAbout(nameOrID), Value: nameOrID,
		Cause: fmt.Sprintf("%d switches have this name.", len(hits)), Fix: "Use an id instead of the name: " + strings.Join(ids, " or ") + "."}
}

func switchNames(list []VMSwitch) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name)
	}
	sort.Strings(out)
	return out
}

// describeSwitch joins a switch with its members, team and debts.
func (inv *Inventory) describeSwitch(s VMSwitch) *Switch {
	out := &Switch{VMSwitch: s, Connected: inv.connectedTo(s.ID)}
	for _, guid := range s.NetAdapterInterfaceGuid {
		if nic, ok := inv.netAdapterByGUID(guid); ok {
			out.NetAdapterNames, out.Members = append(out.NetAdapterNames, nic.Name), append(out.Members, *nic)
			if out.Profile == "" {
				out.Profile = profileOf("", nic.DriverFileName).Name
			}
		}
	}
	for _, t := range inv.Teams {
		if sameGUID(t.ID, s.ID) || (t.ID == "" && strings.EqualFold(t.Name, s.Name)) {
			out.LoadBalancingAlgorithm = t.LoadBalancingAlgorithm
		}
	}
	for _, m := range inv.Management {
		if strings.EqualFold(m.Name, s.Name) && sameGUID(m.SwitchID, s.ID) {
			out.ManagementAdapter = true
		}
	}
	if inv.ledger != nil {
		owners := map[string]bool{switchOwner(s.ID): true}
		if len(s.NetAdapterInterfaceGuid) > 0 {
			owners[switchOwner(s.NetAdapterInterfaceGuid[0])] = true
		}
		out.Debts, _ = inv.openDebts(func(d Debt) bool { return owners[d.Owner] })
		out.DeviceOwes = len(out.Debts) > 0
		for _, name := range out.NetAdapterNames {
			if d, ok := inv.device(name, ""); ok {
				out.DeviceOwes = out.DeviceOwes || inv.owes(d, anyOwner)
			}
		}
	}
	return out
}

// switchMembers checks the members that are asked for and finds their devices.
func (h *Host) switchMembers(inv *Inventory, op string, spec SwitchSpec, own string) ([]NetAdapter, []*Device, error) {
	const attribute = "net_adapter_names"
	var nics []NetAdapter
	devices := map[string]*Device{}
	for _, name := range spec.NetAdapterNames {
		d, err := h.deviceByPort(inv, op, attribute, name, spec.Profile)
		if err != nil {
			return nil, nil, err
		}
		nic, _ := inv.netAdapter(name)
		for _, s := range inv.Switches {
			if sameGUID(s.ID, own) {
				continue
			}
			for _, guid := range s.NetAdapterInterfaceGuid {
				if sameGUID(guid, nic.InterfaceGuid) {
					return nil, nil, &Error{Kind: InUse, Op: op, Host: h.Name, Object: switchAbout(spec.Name), Attribute: attribute, Value: name,
						Cause: fmt.Sprintf("The net adapter is bound to the switch %q already; an SR-IOV adapter has one NIC switch (facts.md 24).", s.Name),
						Fix:   fmt.Sprintf("Import that switch (id %s), remove it, or name another net adapter.", s.ID)}
				}
			}
		}
		nics = append(nics, *nic)
		devices[d.Location] = d
	}
	var out []*Device
	for _, loc := range sorted(devices) {
		out = append(out, devices[loc])
	}
	return nics, out, nil
}

// readSwitch reads one switch afresh.
func (h *Host) readSwitch(ctx context.Context, id string) (*Switch, error) {
	inv, err := h.read(ctx, "read the switch", "switch "+id, partNetAdapters, partSwitches, partLedger)
	if err != nil {
		return nil, err
	}
	return h.switchByID(inv, id)
}

func iovReasons(inv *Inventory, s *Switch) string {
	reasons := append([]string{}, s.IovSupportReasons...)
	if len(reasons) == 0 && inv.Host != nil {
		reasons = inv.Host.IovSupportReasons
	}
	if len(reasons) == 0 {
		return "no reason given."
	}
	return strings.Join(reasons, " ")
}

// iovNotes warns where a switch says IovEnabled and yet no VF can come from it: the flag only mirrors the request (facts.md 15).
func iovNotes(inv *Inventory, s *Switch) []Note {
	if s.DeviceOwes {
		return nil // what the switch says counts once the adapter has been restarted
	}
	switch {
	case !s.IovSupport:
		return []Note{{fmt.Sprintf("SR-IOV does not work on the switch %q", s.Name),
			"The switch was made with SR-IOV, but Windows says that it is not supported: " + iovReasons(inv, s) + " VMs on it get no virtual function. Set require_iov_support = true to make this an error."}}
	case s.IovVirtualFunctionCount == 0:
		return []Note{{fmt.Sprintf("The switch %q has no virtual functions", s.Name),
			"Windows says that SR-IOV is supported, but the net adapter offers no virtual function (IovVirtualFunctionCount 0). Turn SR-IOV on at the adapter (sriov of hyperv_nic_rdma_settings) before the switch is made."}}
	}
	return nil
}
