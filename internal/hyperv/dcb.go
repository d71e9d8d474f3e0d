package hyperv

import (
	"context"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// The ledger's records of DCB: what is set for the whole host hangs on one object, DCB of a net adapter on its port.
const (
	dcbObject          = "dcb"
	dcbOwner           = "hyperv_dcb"
	dcbAbout           = "data center bridging"
	settingFeature     = "feature"
	settingWilling     = "willing"
	settingFlowControl = "flow control "
	settingPolicy      = "policy "
	settingClass       = "traffic class "
	settingAdapterQos  = "QoS"
	keywordQos         = "*QOS"
)

// DcbSpec is how data center bridging of a host shall be. What is nil, or not among the policies and classes, is not managed.
type DcbSpec struct {
	InstallFeature bool
	Policies       []QosPolicy
	FlowControl    []int64 // exactly these priorities are lossless; nil: not managed
	TrafficClasses []TrafficClass
	Willing        *bool
	NetAdapters    []string   // names of net adapters with DCB on
	Known          KnownPorts // which net adapters these are
	RestartPolicy  string
	// KeepOwedOnDelete leaves the restart owed that a removal needs (restart_on_destroy = false).
	KeepOwedOnDelete bool
}

// needsFeature says whether the spec has something that only the feature brings: policies and DCB of the net
// adapters are there without it (facts.md 85c).
func (s *DcbSpec) needsFeature() bool {
	return s.InstallFeature || s.FlowControl != nil || len(s.TrafficClasses) > 0 || s.Willing != nil
}

// claimant names the resource by what it is configured with: a create that is repeated after a crash is the same one.
func (s *DcbSpec) claimant() string {
	var names []string
	for _, p := range s.Policies {
		names = append(names, "policy "+strings.ToLower(p.Name))
	}
	for _, c := range s.TrafficClasses {
		names = append(names, "traffic class "+strings.ToLower(c.Name))
	}
	for _, a := range s.NetAdapters {
		names = append(names, "net adapter "+strings.ToLower(a))
	}
	sort.Strings(names)
	return "hyperv_dcb with " + quoteList(names)
}

// Dcb is what the host has.
type Dcb struct {
	Feature        string // InstallState; "" where Windows cannot say it
	Willing        *bool  // nil without the feature
	FlowControl    []int64
	Default        *TrafficClass
	TrafficClasses []TrafficClass // without the default one
	Policies       []QosPolicy
	Adapters       []AdapterQos
	Guests         []string // VMs with RDMA: their SMB Direct and the host's share one priority (facts.md 87)
	Debts          []Debt
	Notes          []Note
	Known          KnownPorts
	cmdlets        bool
	nics           []NetAdapter
}

func (d *Dcb) policy(name string) (QosPolicy, bool) {
	for _, p := range d.Policies {
		if strings.EqualFold(p.Name, name) {
			return p, true
		}
	}
	return QosPolicy{}, false
}

func (d *Dcb) class(name string) (TrafficClass, bool) {
	for _, c := range d.TrafficClasses {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return TrafficClass{}, false
}

// On says whether DCB of a net adapter of the configuration is on, whatever its name is now.
func (d *Dcb) On(name string) bool {
	a, ok := d.adapter(nowCalled(d.nics, []string{name}, d.Known)[0])
	return ok && a.Enabled
}

func (d *Dcb) adapter(name string) (AdapterQos, bool) {
	for _, a := range d.Adapters {
		if strings.EqualFold(a.Name, name) {
			return a, true
		}
	}
	return AdapterQos{}, false
}

// partDcb reads what the host has. The cmdlets of the feature may be absent.
func partDcb(b *batch) func(*Inventory) error {
	absent := tolerating(func(c wire.CommandError) bool { return commandKind(c) == Unsupported })
	none := tolerating(func(c wire.CommandError) bool {
		return commandKind(c) == NotFound || commandKind(c) == Unsupported
	})
	feature := find[windowsFeature](b, wire.Call{Cmdlet: "Get-WindowsFeature", Parameters: map[string]any{"Name": []string{DcbFeature}}}, absent)
	policies := find[netQosPolicy](b, wire.Call{Cmdlet: "Get-NetQosPolicy"}, none)
	dcbx := find[netQosDcbx](b, wire.Call{Cmdlet: "Get-NetQosDcbxSetting"}, absent)
	flow := find[netQosFlowControl](b, wire.Call{Cmdlet: "Get-NetQosFlowControl"}, absent)
	classes := find[netQosTrafficClass](b, wire.Call{Cmdlet: "Get-NetQosTrafficClass"}, absent)
	adapters := find[netAdapterQos](b, wire.Call{Cmdlet: "Get-NetAdapterQos"}, none)
	return func(inv *Inventory) error {
		d := &Dcb{cmdlets: len(dcbx.Items) > 0}
		for _, f := range feature.Items {
			d.Feature = f.InstallState
		}
		for _, p := range policies.Items {
			d.Policies = append(d.Policies, p.policy())
		}
		for _, x := range dcbx.Items {
			d.Willing = &x.Willing
		}
		if d.cmdlets {
			d.FlowControl = []int64{}
		}
		for _, f := range flow.Items {
			if f.Enabled {
				d.FlowControl = append(d.FlowControl, f.Priority)
			}
		}
		slices.Sort(d.FlowControl)
		for _, c := range classes.Items {
			class := TrafficClass{Name: c.Name, Algorithm: string(c.Algorithm), Bandwidth: c.Bandwidth, Priorities: c.Priorities}
			if c.Name == defaultClass {
				d.Default = &class
				continue
			}
			d.TrafficClasses = append(d.TrafficClasses, class)
		}
		for _, a := range adapters.Items {
			d.Adapters = append(d.Adapters, AdapterQos(a))
		}
		inv.Dcb = d
		return nil
	}
}

// ReadDcb reads data center bridging from the shared inventory. names are the net adapters of the configuration, known
// says which they are.
func (h *Host) ReadDcb(ctx context.Context, names []string, known KnownPorts) (*Dcb, error) {
	inv, err := h.inventoryWithDcb(ctx)
	if err != nil {
		return nil, err
	}
	if inv.ledger != nil {
		if _, ok := inv.ledger.claim(dcbObject); ok {
			h.claimed.add(dcbObject)
		}
	}
	d := h.dcbOf(inv)
	d.Known = knowPorts(inv.NetAdapters, names, known)
	return d, nil
}

// dcbOf completes what was read by what else the inventory knows.
func (h *Host) dcbOf(inv *Inventory) *Dcb {
	d := *inv.Dcb
	d.Adapters, d.nics = slices.Clone(inv.Dcb.Adapters), inv.NetAdapters
	for i, a := range d.Adapters {
		if v, ok := inv.qosWritten(a.Name); ok {
			d.Adapters[i].Enabled = v
		}
	}
	d.Guests = inv.rdmaGuests()
	if inv.ledger != nil {
		d.Debts, _ = inv.openDebts(func(x Debt) bool { return x.Owner == dcbOwner })
	}
	return &d
}

// qosWritten is DCB of a net adapter by its keyword: what is written, and in force when the adapter starts again.
func (inv *Inventory) qosWritten(name string) (on, ok bool) {
	for _, p := range inv.Properties {
		if strings.EqualFold(p.Name, name) && strings.EqualFold(p.RegistryKeyword, keywordQos) && len(p.RegistryValue) == 1 {
			n, err := strconv.Atoi(p.RegistryValue[0])
			return n != 0, err == nil
		}
	}
	return false, false
}

// rdmaGuests are the VMs with an adapter that asks for RDMA: by its weight, or by a virtual function on a host that has
// no such weight (facts.md 4, 5).
func (inv *Inventory) rdmaGuests() []string {
	weights := map[string]int64{}
	for _, r := range inv.RdmaSettings {
		weights[strings.ToLower(r.AdapterID)] = r.RdmaWeight
	}
	var out []string
	for i := range inv.VMs {
		for _, a := range inv.adaptersOfVM(&inv.VMs[i]) {
			weight, known := weights[strings.ToLower(a.ID)]
			if a.IovWeight > 0 && (weight > 0 || !known && !inv.HasRdmaWeight) {
				out = append(out, inv.VMs[i].Name)
				break
			}
		}
	}
	sort.Strings(out)
	return out
}

// refuseGuest is the first part of whatever changes DCB: a machine that is a VM itself has none to change. It comes ahead of
// the cmdlets that a guest lacks, so that the reason is the one that is said.
func refuseGuest(b *batch) func(*Inventory) error {
	machine := find[computerSystem](b, wire.Call{Cmdlet: "Get-CimInstance", Parameters: map[string]any{"ClassName": "Win32_ComputerSystem"}})
	i := len(b.takes) - 1
	take := b.takes[i]
	b.takes[i] = func(r *wire.Result) error {
		if err := take(r); err != nil {
			return err
		}
		if m := one(machine.Items); m != nil && m.Model == "Virtual Machine" && strings.HasPrefix(m.Manufacturer, "Microsoft") {
			return &Error{Kind: Unsupported, Op: b.op, Host: b.host.Name, Object: b.about, Attribute: "host", Value: b.host.Name,
				Cause: "This machine is a guest: a virtual machine has no DCB and no NetQos; its RDMA traffic leaves by the virtual function with what the physical host has set (facts.md 60).",
				Fix:   "Set up data center bridging on the physical host of this guest."}
		}
		return nil
	}
	return func(*Inventory) error { return nil }
}
