package hyperv

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Keywords that Microsoft fixes (facts.md 31, 32, 76).
const (
	keywordSriov      = "*SRIOV"
	keywordVmq        = "*VMQ"
	keywordRdma       = "*NetworkDirect"
	keywordTechnology = "*NetworkDirectTechnology"
)

// Technologies are the values of *NetworkDirectTechnology (facts.md 76).
func Technologies() map[string]string {
	return map[string]string{"iWARP": "1", "InfiniBand": "2", "RoCE": "3", "RoCEv2": "4"}
}

// GuestRdmaRegistry is the REG_DWORD below a service's Parameters key that allows guest RDMA (facts.md 36).
// Service and ValueName are taken from the driver's profile where empty.
type GuestRdmaRegistry struct {
	Service   string
	ValueName string
	Value     int64
}

// orDefault completes what is left out by the profile; nil is a registry value of which nothing is said.
func (r *GuestRdmaRegistry) orDefault(p Profile) *GuestRdmaRegistry {
	out := GuestRdmaRegistry{}
	if r != nil {
		out = *r
	}
	if out.Service == "" {
		out.Service = p.GuestRdmaService
	}
	if out.ValueName == "" {
		out.ValueName = p.GuestRdmaValue
	}
	return &out
}

// registrySetting names a registry value, for the ledger and the inventory.
func registrySetting(r *GuestRdmaRegistry) string { return r.Service + `\Parameters\` + r.ValueName }

// NicSettingsSpec is what all ports of one device shall hold. Nil fields are not managed.
type NicSettingsSpec struct {
	Ports         []string   // one or more ports of the device
	Known         KnownPorts `json:"-"` // which net adapters these are
	Sriov         *bool
	Vmq           *bool
	Rdma          *bool
	Technology    *string // a key of Technologies
	RdmaMaxVFs    *int64
	GuestRdma     *GuestRdmaRegistry
	NumVFs        *int64
	Advanced      map[string]string // registry keyword -> registry value
	Profile       string
	RestartPolicy string
	// KeepOwedOnDelete leaves the restart owed that a removal needs (restart_on_destroy = false).
	KeepOwedOnDelete bool
}

// NicSettings is what the device's ports hold.
type NicSettings struct {
	Device     *Device
	Sriov      *bool
	Vmq        *bool
	Rdma       *bool
	Technology *string
	RdmaMaxVFs *int64
	GuestRdma  *int64
	NumVFs     *int64
	Advanced   map[string]string // every keyword of the first port; where a port differs, that port's value
	Unequal    []string          // keywords that are not the same on all ports
	Debts      []Debt
	Notes      []Note
	Known      KnownPorts
}

func nicSettingsOwner(d *Device) string { return "hyperv_nic_rdma_settings:" + d.Location }

func portsAbout(ports []string) string { return "net adapters " + quoteList(ports) }

// setting is one value that all ports of the device shall hold.
type setting struct {
	attribute string
	keyword   string // "" for NumVFs
	value     string
}

const settingNumVFs = "NumVFs"

// wanted lists the settings of the spec, in the order in which they are written.
func (s *NicSettingsSpec) wanted(p Profile) []setting {
	var out []setting
	flag := func(attribute, keyword string, v *bool) {
		if v != nil {
			out = append(out, setting{attribute, keyword, map[bool]string{true: "1", false: "0"}[*v]})
		}
	}
	flag("sriov", keywordSriov, s.Sriov)
	flag("vmq", keywordVmq, s.Vmq)
	flag("rdma", keywordRdma, s.Rdma)
	if s.Technology != nil {
		out = append(out, setting{"technology", keywordTechnology, Technologies()[*s.Technology]})
	}
	if s.RdmaMaxVFs != nil {
		out = append(out, setting{"rdma_max_vfs", p.MaxVFsKeyword, strconv.FormatInt(*s.RdmaMaxVFs, 10)})
	}
	for _, k := range sorted(s.Advanced) {
		out = append(out, setting{"advanced_properties", k, s.Advanced[k]})
	}
	if s.NumVFs != nil {
		out = append(out, setting{"num_vfs", "", strconv.FormatInt(*s.NumVFs, 10)})
	}
	return out
}

// ReadNicSettings reads the settings of the device that a port belongs to from the shared inventory.
// Where its ports differ, the value that is not the one that the spec wants is given: one port that differs is
// drift of the device (facts.md 35).
func (h *Host) ReadNicSettings(ctx context.Context, port string, spec NicSettingsSpec) (*NicSettings, error) {
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	if r := spec.GuestRdma; r != nil && r.Service != "" && r.ValueName != "" {
		if _, known := inv.Registry[registrySetting(r)]; !known { // a value that no profile names
			own, err := h.read(ctx, "read the settings of the net adapters", portsAbout(spec.Ports), partRegistry(r))
			if err != nil {
				return nil, err
			}
			shared := *inv
			shared.Registry = maps.Clone(inv.Registry)
			maps.Copy(shared.Registry, own.Registry)
			inv = &shared
		}
	}
	port = nowCalled(inv.NetAdapters, []string{port}, spec.Known)[0]
	out, err := h.nicSettings(inv, "read the settings of the net adapters", port, spec)
	if err == nil {
		out.Known = knowPorts(inv.NetAdapters, spec.Ports, spec.Known)
	}
	if err == nil && inv.ledger != nil {
		if who, ok := inv.ledger.claim(out.Device.object()); ok && who == nicClaimant(spec.Ports) {
			h.claimed.add(out.Device.object())
		}
	}
	return out, err
}

func (h *Host) nicSettings(inv *Inventory, op, port string, spec NicSettingsSpec) (*NicSettings, error) {
	d, err := h.deviceByPort(inv, op, "net_adapter_names", port, spec.Profile)
	if err != nil {
		return nil, err
	}
	registry := spec.GuestRdma
	want := map[string]string{}
	for _, s := range spec.wanted(d.Profile) {
		want[strings.ToLower(s.keyword)] = s.value
	}
	out := &NicSettings{Device: d, Advanced: map[string]string{}}
	differs := map[string]bool{}
	for i, p := range d.Ports {
		for _, prop := range inv.Properties {
			if !strings.EqualFold(prop.Name, p.Name) {
				continue
			}
			value := strings.Join(prop.RegistryValue, ",")
			if have, ok := out.Advanced[prop.RegistryKeyword]; i > 0 && ok && have != value {
				differs[prop.RegistryKeyword] = true
			}
			if have, ok := out.Advanced[prop.RegistryKeyword]; !ok || have == want[strings.ToLower(prop.RegistryKeyword)] {
				out.Advanced[prop.RegistryKeyword] = value
			}
		}
	}
	out.Unequal = sorted(differs)
	out.Sriov, out.Vmq, out.Rdma = boolOf(out.Advanced, keywordSriov), boolOf(out.Advanced, keywordVmq), boolOf(out.Advanced, keywordRdma)
	if v, ok := lookup(out.Advanced, keywordTechnology); ok {
		for name, number := range Technologies() {
			if number == v {
				out.Technology = &name
			}
		}
	}
	if v, ok := lookup(out.Advanced, d.Profile.MaxVFsKeyword); ok && d.Profile.MaxVFsKeyword != "" {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			out.RdmaMaxVFs = &n
		}
	}
	for _, s := range inv.Sriov {
		if strings.EqualFold(s.Name, d.Ports[0].Name) {
			n := int64(s.NumVFs)
			out.NumVFs = &n
		}
	}
	if r := registry.orDefault(d.Profile); r.Service != "" && r.ValueName != "" {
		out.GuestRdma = inv.Registry[registrySetting(r)]
	}
	owner := nicSettingsOwner(d)
	if inv.ledger != nil {
		out.Debts, _ = inv.openDebts(func(x Debt) bool { return x.Owner == owner })
	}
	return out, nil
}

// valueOnPorts gives the keyword's value on every port of the device, by port name.
func (inv *Inventory) valueOnPorts(d *Device, keyword string) map[string]AdvancedProperty {
	out := map[string]AdvancedProperty{}
	for _, p := range d.Ports {
		for _, prop := range inv.Properties {
			if strings.EqualFold(prop.Name, p.Name) && strings.EqualFold(prop.RegistryKeyword, keyword) {
				out[p.Name] = prop
			}
		}
	}
	return out
}

func lookup(m map[string]string, keyword string) (string, bool) {
	for k, v := range m {
		if strings.EqualFold(k, keyword) {
			return v, true
		}
	}
	return "", false
}

func boolOf(m map[string]string, keyword string) *bool {
	v, ok := lookup(m, keyword)
	if !ok {
		return nil
	}
	b := v != "0"
	return &b
}

// checkOneDevice refuses ports of two devices in one resource.
func (h *Host) checkOneDevice(inv *Inventory, op string, spec *NicSettingsSpec) (*Device, error) {
	var first *Device
	for _, name := range spec.Ports {
		d, err := h.deviceByPort(inv, op, "net_adapter_names", name, spec.Profile)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = d
		}
		if d.Location != first.Location {
			return nil, &Error{Kind: Invalid, Op: op, Host: h.Name, Object: portsAbout(spec.Ports), Attribute: "net_adapter_names", Value: name,
				Cause: fmt.Sprintf("The net adapters belong to two PCI devices: %q to %s, %q to %s. The settings are the device's: one resource per device.", spec.Ports[0], first.Location, name, d.Location),
				Fix:   fmt.Sprintf("Ports of the first device: %s; make a second resource for %s.", quoteList(first.PortNames()), quoteList(d.PortNames()))}
		}
	}
	return first, nil
}

// checkKeyword refuses a keyword that the driver lacks, or a value that it does not take, before anything is changed.
func (h *Host) checkKeyword(inv *Inventory, op string, d *Device, s setting) error {
	attribute := s.attribute
	if attribute == "advanced_properties" {
		attribute = fmt.Sprintf("advanced_properties[%q]", s.keyword)
	}
	fail := func(cause, fix string) error {
		return &Error{Kind: Invalid, Op: op, Host: h.Name, Object: portsAbout(d.PortNames()), Attribute: attribute, Value: s.value, Cause: cause, Fix: fix}
	}
	if s.keyword == "" && s.attribute == "rdma_max_vfs" {
		return fail(fmt.Sprintf("The profile %s knows no keyword for the number of RDMA virtual functions (driver %s; facts.md 82, 83).", d.Profile.Name, d.Ports[0].DriverFileName),
			"Leave rdma_max_vfs out, or choose the profile of the driver if it was guessed wrong.")
	}
	on := inv.valueOnPorts(d, s.keyword)
	for _, p := range d.Ports {
		prop, ok := on[p.Name]
		if !ok {
			return fail(fmt.Sprintf("The driver %s (%s) of net adapter %q has no keyword %s; a keyword cannot be made, only set (facts.md 38).", p.DriverFileName, p.DriverVersion, p.Name, s.keyword),
				"Keywords of this driver: "+strings.Join(keywordsOf(inv, p.Name), ", ")+".")
		}
		if len(prop.ValidRegistryValues) > 0 && !contains(prop.ValidRegistryValues, s.value) {
			return fail(fmt.Sprintf("%s of net adapter %q takes the registry values %s (facts.md 38).", s.keyword, p.Name, strings.Join(prop.ValidRegistryValues, ", ")),
				"Give the registry value, not the text that Device Manager shows.")
		}
		if why := outOfRange(prop, s.value); why != "" {
			return fail(fmt.Sprintf("%s of net adapter %q %s (facts.md 38).", s.keyword, p.Name, why), "Choose a value within the range.")
		}
	}
	return nil
}

func outOfRange(p AdvancedProperty, value string) string {
	low, errLow := strconv.Atoi(p.NumericParameterMinValue)
	high, errHigh := strconv.Atoi(p.NumericParameterMaxValue)
	if errLow != nil || errHigh != nil || len(p.ValidRegistryValues) > 0 {
		return ""
	}
	n, err := strconv.Atoi(value)
	step, errStep := strconv.Atoi(p.NumericParameterStepValue)
	switch {
	case err != nil:
		return "takes a number"
	case n < low || n > high:
		return fmt.Sprintf("takes %d to %d", low, high)
	case errStep == nil && step > 1 && (n-low)%step != 0:
		return fmt.Sprintf("takes %d to %d in steps of %d", low, high, step)
	}
	return ""
}

func keywordsOf(inv *Inventory, port string) []string {
	var out []string
	for _, p := range inv.Properties {
		if strings.EqualFold(p.Name, port) {
			out = append(out, p.RegistryKeyword)
		}
	}
	sort.Strings(out)
	return out
}

// containsFold ignores case, as Windows does with names and GUIDs.
func containsFold(list []string, v string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, v) })
}

func contains(list []string, v string) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

// registryOf completes a registry setting by the profile.
func (h *Host) registryOf(op string, d *Device, r *GuestRdmaRegistry) (*GuestRdmaRegistry, error) {
	if r == nil {
		return nil, nil
	}
	out := r.orDefault(d.Profile)
	if out.Service == "" || out.ValueName == "" {
		return nil, &Error{Kind: Invalid, Op: op, Host: h.Name, Object: portsAbout(d.PortNames()), Attribute: "guest_rdma_registry", Value: strconv.FormatInt(r.Value, 10),
			Cause: fmt.Sprintf("The profile %s knows no registry value that allows guest RDMA (driver %s; facts.md 82, 83).", d.Profile.Name, d.Ports[0].DriverFileName),
			Fix:   "Leave guest_rdma_registry out, or name service and value_name."}
	}
	return out, nil
}

// serviceCall writes a DWORD below a service's Parameters key.
func serviceCall(r *GuestRdmaRegistry, value string) wire.Call {
	n, _ := strconv.ParseInt(value, 10, 64)
	return wire.Call{Cmdlet: "Set-ItemProperty", Parameters: map[string]any{"LiteralPath": serviceKey(r.Service), "Name": r.ValueName, "Value": n, "Type": "DWord"}}
}
