package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// HostVNicSpec is a virtual adapter of the management operating system as it is wanted. Nil fields are not managed.
type HostVNicSpec struct {
	SwitchName   string
	Name         string
	AccessVlanID *int64 // VLAN in access mode
	IsolationID  *int64 // VLAN by isolation instead (facts.md 60, 87)
	Untagged     bool   // with IsolationID: untagged frames pass too
	Rdma         bool
	TeamMapping  *string // name of a physical net adapter
}

// HostVNic is such an adapter as it was read, with its net adapter.
type HostVNic struct {
	ManagementAdapter
	GUID          string      // of the adapter
	Net           *NetAdapter // "vEthernet (name)"; nil while Windows has not made it
	RdmaListed    bool        // Get-NetAdapterRdma knows it: a member of the switch does RDMA
	RdmaEnabled   bool
	QueuePairs    int64
	VlanMode      string
	AccessVlanID  int64
	IsolationMode string
	IsolationID   int64
	Untagged      bool
	TeamMapping   string
	Notes         []Note
}

// HostVNicRef says which is meant: by id where it is known, else by switch and name.
type HostVNicRef struct{ SwitchName, Name, ID string }

func hostVNicAbout(name string) string {
	return fmt.Sprintf("network adapter %q of the management operating system", name)
}

// hostVNicNetName is the name that Windows gives the net adapter (facts.md 88).
func hostVNicNetName(name string) string { return "vEthernet (" + name + ")" }

// hostVNicSettings is what hangs on the adapters of the management operating system.
type hostVNicSettings struct {
	vlans      []VlanSetting
	isolations []IsolationSetting
	mappings   []TeamMapping
}

// partHostVNics reads the settings of the host's own virtual adapters; the adapters are in partSwitches.
func partHostVNics(b *batch) func(*Inventory) error {
	find[ManagementAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"ManagementOS": true}, Save: "management"}, tolerating(notFoundByName))
	vlan := find[VlanSetting](b, wire.Call{Cmdlet: "Get-VMNetworkAdapterVlan", Input: "management"})
	iso := find[IsolationSetting](b, wire.Call{Cmdlet: "Get-VMNetworkAdapterIsolation", Input: "management"})
	team := find[TeamMapping](b, wire.Call{Cmdlet: "Get-VMNetworkAdapterTeamMapping", Input: "management"}, tolerating(anyError)) // most have none
	return func(inv *Inventory) error {
		inv.HostVNics = &hostVNicSettings{vlan.Items, iso.Items, team.Items}
		return nil
	}
}

// partHostRdma reads the host's net adapters with their RDMA, what teams them, and the Windows that they run on.
func partHostRdma(b *batch) func(*Inventory) error {
	none := absent()
	nics := find[NetAdapter](b, wire.Call{Cmdlet: "Get-NetAdapter"})
	rdma := find[NetAdapterRdma](b, wire.Call{Cmdlet: "Get-NetAdapterRdma"}, none)
	members := find[lbfoMember](b, wire.Call{Cmdlet: "Get-NetLbfoTeamMember"}, tolerating(anyError)) // gone from some releases
	os := partOS(b)
	return func(inv *Inventory) error {
		inv.NetAdapters, inv.Rdma, inv.lbfo = nics.Items, rdma.Items, members.Items
		return os(inv)
	}
}

// lbfoMember is Get-NetLbfoTeamMember: a member of a classic team.
type lbfoMember struct {
	Name string `json:"Name"`
	Team string `json:"Team"`
}

// hostVNicParts is what a change of a host vNIC looks at.
func hostVNicParts() []part { return []part{partSwitches, partHostVNics, partHostRdma} }

// findHostVNic finds the one adapter that is meant.
func (inv *Inventory) findHostVNic(h *Host, op string, ref HostVNicRef) (*HostVNic, error) {
	var hits []ManagementAdapter
	var all []string
	for _, m := range inv.Management {
		all = append(all, fmt.Sprintf("%q of switch %q (%s)", m.Name, m.SwitchName, hostVNicGUID(m.ID)))
		byName := ref.ID == "" && strings.EqualFold(m.Name, ref.Name) && strings.EqualFold(m.SwitchName, ref.SwitchName)
		if byName || ref.ID != "" && hostVNicGUID(m.ID) == hostVNicGUID(ref.ID) {
			hits = append(hits, m)
		}
	}
	switch {
	case len(hits) == 1:
		return inv.describeHostVNic(hits[0]), nil
	case len(hits) > 1:
		var ids []string
		for _, m := range hits {
			ids = append(ids, hostVNicGUID(m.ID))
		}
		return nil, &Error{Kind: Ambiguous, Op: op, Host: h.Name, Object: hostVNicAbout(ref.Name), Attribute: "name", Value: ref.Name,
			Cause: fmt.Sprintf("%d adapters of the switch %q have this name (facts.md 49).", len(hits), ref.SwitchName), Fix: "Rename one of them, or import by id: " + strings.Join(ids, ", ") + "."}
	}
	if len(all) == 0 {
		all = []string{"none"}
	}
	return nil, &Error{Kind: NotFound, Op: op, Host: h.Name, Object: hostVNicAbout(ref.Name), Attribute: "name", Value: ref.Name,
		Cause: fmt.Sprintf("The management operating system has no such adapter on the switch %q.", ref.SwitchName), Fix: "Its adapters: " + strings.Join(all, ", ") + "."}
}

// hostVNicGUID is the part of an id that names the adapter: Microsoft:<guid>.
func hostVNicGUID(id string) string {
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		id = id[i+1:]
	}
	return adapterGUID(id)
}

// describeHostVNic joins the adapter with its settings and its net adapter. That one is found by the device, never by
// name: somebody may have renamed it (facts.md 88).
func (inv *Inventory) describeHostVNic(m ManagementAdapter) *HostVNic {
	out := &HostVNic{ManagementAdapter: m, GUID: hostVNicGUID(m.ID), VlanMode: "Untagged", IsolationMode: "None"}
	if nic, ok := inv.netAdapterByGUID(m.DeviceID); ok && m.DeviceID != "" {
		out.Net = nic
		for _, r := range inv.Rdma {
			if r.InterfaceDescription == nic.InterfaceDescription {
				out.RdmaListed, out.RdmaEnabled, out.QueuePairs = true, r.Enabled, r.MaxQueuePairCount
			}
		}
	}
	if inv.HostVNics == nil {
		return out
	}
	for _, v := range inv.HostVNics.vlans {
		if strings.EqualFold(v.AdapterID, m.ID) {
			out.VlanMode = v.OperationMode
			if v.OperationMode == "Access" {
				out.AccessVlanID = int64(v.AccessVlanID)
			}
		}
	}
	for _, i := range inv.HostVNics.isolations {
		if strings.EqualFold(i.AdapterID, m.ID) {
			out.IsolationMode, out.IsolationID, out.Untagged = i.IsolationMode, int64(i.DefaultIsolationID), i.AllowUntaggedTraffic
		}
	}
	for _, t := range inv.HostVNics.mappings {
		if strings.EqualFold(t.AdapterID, m.ID) {
			out.TeamMapping = t.NetAdapterName
		}
	}
	return out
}

// Isolated says that the VLAN is set by isolation (facts.md 60).
func (v *HostVNic) Isolated() bool { return strings.EqualFold(v.IsolationMode, "Vlan") }

// NetName is the net adapter's name, "" while there is none.
func (v *HostVNic) NetName() string {
	if v.Net == nil {
		return ""
	}
	return v.Net.Name
}

// ReadHostVNic reads the adapter from the shared inventory and a read of what hangs on such adapters.
func (h *Host) ReadHostVNic(ctx context.Context, ref HostVNicRef) (*HostVNic, error) {
	inv, more, err := h.inventoryWith(ctx, "host vnics", partHostVNics)
	if err != nil {
		return nil, err
	}
	all := *inv
	all.HostVNics = more.HostVNics
	return all.findHostVNic(h, "read the network adapter of the management operating system", ref)
}

// FindHostVNic finds an adapter for an import: by id, or by switch and name.
func (h *Host) FindHostVNic(ctx context.Context, sw, nameOrID string) (*HostVNic, error) {
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	ref := HostVNicRef{SwitchName: sw, Name: nameOrID}
	for _, m := range inv.Management {
		if hostVNicGUID(m.ID) == hostVNicGUID(nameOrID) && (sw == "" || strings.EqualFold(m.SwitchName, sw)) {
			ref.ID = m.ID
		}
	}
	return h.ReadHostVNic(ctx, ref)
}
