package hyperv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Inventory is what was read of a host in one batch. Only the parts that were asked for are filled.
type Inventory struct {
	Host          *VMHost
	OS            *OSInfo
	HasRdmaWeight bool // the cmdlet Set-VMNetworkAdapterRdma exists (facts.md 4)
	NetAdapters   []NetAdapter
	Properties    []AdvancedProperty
	Rdma          []NetAdapterRdma
	Sriov         []NetAdapterSriov
	VFs           []NetAdapterVF
	Hardware      []HardwareInfo
	Registry      map[string]*int64 // by registrySetting: a DWORD below a service's Parameters key, nil when absent
	Switches      []VMSwitch
	Teams         []VMSwitchTeam
	Management    []ManagementAdapter
	VMs           []VM
	Adapters      []VMNetworkAdapter
	RdmaSettings  []RdmaSetting
	Vlans         []VlanSetting
	Isolations    []IsolationSetting
	TeamMappings  []TeamMapping
	Network       *hostNetwork
	Dcb           *Dcb
	Across        string // NetworkDirectAcrossIPSubnets of the host
	HostVNics     *hostVNicSettings
	lbfo          []lbfoMember
	ledger        *ledger
}

// part adds the calls of one kind of object to a batch; the function it gives fills the inventory in
// after the batch ran.
type part func(b *batch) func(*Inventory) error

// readTries is how often a read begins anew because something went away under it.
const readTries = 4

// read runs the parts in one batch. It lists objects and then asks for what hangs on each, so an object that goes away
// meanwhile, whoever removes it, is an error of a later call: then all is read again. Such an error is never NotFound,
// which would be taken as proof that the caller's own object is gone.
func (h *Host) read(ctx context.Context, op, about string, parts ...part) (*Inventory, error) {
	for try := 1; ; try++ {
		b := h.batch(op, about)
		after := b.readParts(parts...)
		err := b.run(ctx)
		if err == nil {
			return after()
		}
		var e *Error
		if !errors.As(err, &e) || e.Command == nil || !notFoundByName(*e.Command) {
			return nil, err
		}
		if try == readTries {
			e.Kind = Other
			e.Cause = "Something on the host went away, time and again, while it was read."
			e.Fix = "Look for what else changes the host at the moment, then plan again."
			return nil, e
		}
	}
}

// readParts adds the calls of the parts to a batch, behind what it has already: a change reads back in
// the batch that made it. The function it gives makes the inventory once the batch has run.
func (b *batch) readParts(parts ...part) func() (*Inventory, error) {
	fills := make([]func(*Inventory) error, 0, len(parts))
	for _, p := range parts {
		fills = append(fills, p(b))
	}
	return func() (*Inventory, error) {
		inv := &Inventory{}
		for _, f := range fills {
			if err := f(inv); err != nil {
				return nil, err
			}
		}
		return inv, nil
	}
}

// everything is the bulk read that plan and refresh share: how many cmdlets the host runs is what costs,
// not how much they return.
func everything() []part {
	return []part{partHost, partNetAdapters, partSwitches, partAllVMs, partHostNetwork, partLedger}
}

func one[T any](items []T) *T {
	if len(items) == 0 {
		return nil
	}
	return &items[0]
}

func partHost(b *batch) func(*Inventory) error {
	host := find[VMHost](b, wire.Call{Cmdlet: "Get-VMHost"})
	os := partOS(b)
	cmd := find[named](b, wire.Call{Cmdlet: "Get-Command", Parameters: map[string]any{"Name": []string{"Set-VMNetworkAdapterRdma"}}}, tolerating(anyError))
	return func(inv *Inventory) error {
		inv.Host, inv.HasRdmaWeight = one(host.Items), len(cmd.Items) > 0
		return os(inv)
	}
}

func partNetAdapters(b *batch) func(*Inventory) error {
	none := absent()
	nics := find[NetAdapter](b, wire.Call{Cmdlet: "Get-NetAdapter", Save: "net adapters"})
	props := find[AdvancedProperty](b, wire.Call{Cmdlet: "Get-NetAdapterAdvancedProperty", Parameters: map[string]any{"AllProperties": true}}, none)
	rdma := find[NetAdapterRdma](b, wire.Call{Cmdlet: "Get-NetAdapterRdma"}, none)
	sriov := find[NetAdapterSriov](b, wire.Call{Cmdlet: "Get-NetAdapterSriov"}, none)
	vfs := find[NetAdapterVF](b, wire.Call{Cmdlet: "Get-NetAdapterSriovVf"}, none)
	hw := find[HardwareInfo](b, wire.Call{Cmdlet: "Get-NetAdapterHardwareInfo"}, none)
	var registry []func(*Inventory) error
	for _, p := range guestRdmaServices() {
		registry = append(registry, partRegistry(&GuestRdmaRegistry{Service: p.GuestRdmaService, ValueName: p.GuestRdmaValue})(b))
	}
	return func(inv *Inventory) error {
		inv.NetAdapters, inv.Properties, inv.Rdma, inv.Sriov, inv.VFs, inv.Hardware = nics.Items, props.Items, rdma.Items, sriov.Items, vfs.Items, hw.Items
		for _, fill := range registry {
			if err := fill(inv); err != nil {
				return err
			}
		}
		return nil
	}
}

// partRegistry reads a DWORD below a service's Parameters key; it may be absent, and so may the service.
func partRegistry(r *GuestRdmaRegistry) part {
	return func(b *batch) func(*Inventory) error {
		a := readServiceValue(b, r.Service, r.ValueName)
		return func(inv *Inventory) error {
			v, err := serviceValue(a)
			if inv.Registry == nil {
				inv.Registry = map[string]*int64{}
			}
			inv.Registry[registrySetting(r)] = v
			return err
		}
	}
}

func serviceKey(service string) string {
	return `HKLM:\SYSTEM\CurrentControlSet\Services\` + service + `\Parameters`
}

func readServiceValue(b *batch, service, value string) *answer {
	return b.add(wire.Call{Cmdlet: "Get-ItemProperty", Parameters: map[string]any{"LiteralPath": serviceKey(service), "Name": value},
		Select: []wire.Field{{Name: "Value", Path: value}}}, true,
		tolerating(func(c wire.CommandError) bool {
			return commandKind(c) == NotFound || strings.HasPrefix(idHead(c), "System.Management.Automation.PSArgumentException")
		}))
}

func serviceValue(a *answer) (*int64, error) {
	if len(a.raw) == 0 {
		return nil, nil
	}
	var v struct{ Value any }
	if err := json.Unmarshal(a.raw[0], &v); err != nil {
		return nil, err
	}
	switch x := v.Value.(type) {
	case float64:
		n := int64(x)
		return &n, nil
	case string:
		n, err := strconv.ParseInt(x, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("registry value %q is no number: %w", x, err)
		}
		return &n, nil
	}
	return nil, nil
}

func partOS(b *batch) func(*Inventory) error {
	os := find[OSInfo](b, wire.Call{Cmdlet: "Get-CimInstance", Parameters: map[string]any{"ClassName": "Win32_OperatingSystem"}})
	return func(inv *Inventory) error { inv.OS = one(os.Items); return nil }
}

func partSwitches(b *batch) func(*Inventory) error {
	sw := find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Save: "switches"})
	teams := find[VMSwitchTeam](b, wire.Call{Cmdlet: "Get-VMSwitchTeam", Input: "switches"}, tolerating(anyError)) // switches without a team have none
	mgmt := find[ManagementAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"ManagementOS": true}}, tolerating(notFoundByName))
	return func(inv *Inventory) error {
		inv.Switches, inv.Teams, inv.Management = sw.Items, teams.Items, mgmt.Items
		return nil
	}
}

func partAllVMs(b *batch) func(*Inventory) error {
	vms := find[VM](b, wire.Call{Cmdlet: "Get-VM", Save: "vms"})
	fill := adaptersOf(b, "vms")
	return func(inv *Inventory) error { inv.VMs = vms.Items; return fill(inv) }
}

// partVM reads one VM and its adapters.
func partVM(id, name string) part {
	return func(b *batch) func(*Inventory) error {
		vm, adapters := partVMOnly(id, name)(b), adaptersOf(b, "vms")
		return func(inv *Inventory) error { return errors.Join(vm(inv), adapters(inv)) }
	}
}

// partVMOnly reads one VM without its adapters: by id if there is one, else by exact name.
func partVMOnly(id, name string) part {
	return func(b *batch) func(*Inventory) error {
		c := wire.Call{Cmdlet: "Get-VM", Save: "vms", Where: []wire.Condition{{Property: "Name", Equals: []string{name}}}}
		var opts []option
		if id != "" {
			c = wire.Call{Cmdlet: "Get-VM", Save: "vms", Parameters: map[string]any{"Id": wire.GUID(id)}}
			opts = append(opts, tolerating(notFoundByName))
		}
		vms := find[VM](b, c, opts...)
		return func(inv *Inventory) error { inv.VMs = vms.Items; return nil }
	}
}

// adaptersOf reads the adapters of saved VM objects, and what hangs on each.
func adaptersOf(b *batch, vms string) func(*Inventory) error {
	ad := find[VMNetworkAdapter](b, wire.Call{Cmdlet: "Get-VMNetworkAdapter", Input: vms, Save: "adapters"})
	rdma := find[RdmaSetting](b, wire.Call{Cmdlet: "Get-VMNetworkAdapterRdma", Input: "adapters"}, tolerating(anyError)) // absent on older hosts (facts.md 4)
	vlan := find[VlanSetting](b, wire.Call{Cmdlet: "Get-VMNetworkAdapterVlan", Input: "adapters"})
	iso := find[IsolationSetting](b, wire.Call{Cmdlet: "Get-VMNetworkAdapterIsolation", Input: "adapters"})
	team := find[TeamMapping](b, wire.Call{Cmdlet: "Get-VMNetworkAdapterTeamMapping", Input: "adapters"}, tolerating(anyError)) // most have none
	return func(inv *Inventory) error {
		inv.Adapters, inv.RdmaSettings, inv.Vlans, inv.Isolations, inv.TeamMappings = ad.Items, rdma.Items, vlan.Items, iso.Items, team.Items
		return nil
	}
}

func partLedger(b *batch) func(*Inventory) error {
	q := b.readLedger()
	return func(inv *Inventory) (err error) {
		inv.ledger, err = q.result()
		return err
	}
}

// Now is the host's own clock.
func (inv *Inventory) Now() time.Time {
	return parseTime(inv.OS, func(o *OSInfo) string { return o.LocalDateTime })
}

// BootedAt is when the host last started.
func (inv *Inventory) BootedAt() time.Time {
	return parseTime(inv.OS, func(o *OSInfo) string { return o.LastBootUpTime })
}

func parseTime(os *OSInfo, f func(*OSInfo) string) time.Time {
	if os == nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, f(os))
	if err != nil {
		return time.Time{}
	}
	return t
}

// openDebts are the debts that nothing has settled since: a boot of the host settles those of net adapters
// and of the host, a start of the VM those of the VM and of net adapters in its guest, and a VM that is off or gone owes
// nothing. Where it is not known since when a restart is owed, no start is known to have come after it.
func (inv *Inventory) openDebts(keep func(Debt) bool) (open, settled []Debt) {
	for _, d := range inv.ledger.debts() {
		if keep != nil && !keep(d) {
			continue
		}
		if inv.isSettled(d) {
			settled = append(settled, d)
		} else {
			open = append(open, d)
		}
	}
	return open, settled
}

func (inv *Inventory) isSettled(d Debt) bool {
	if d.Kind == RestartVM && d.Owner == ownerStopped { // only a start is what it waits for
		for _, vm := range inv.VMs {
			if strings.EqualFold(vm.ID, d.TargetID) {
				return vm.State != "Off"
			}
		}
		return inv.VMs != nil
	}
	vmID, inGuest := strings.CutPrefix(d.TargetID, guestTargetPrefix)
	if !inGuest && inv.OS != nil && !d.Since.IsZero() && inv.BootedAt().After(d.Since) {
		return true
	}
	if !inGuest && d.Kind != RestartVM || inv.VMs == nil {
		return false
	}
	for _, vm := range inv.VMs {
		if strings.EqualFold(vm.ID, vmID) {
			if vm.State == "Off" {
				return true
			}
			started := inv.Now().Add(-time.Duration(vm.Uptime * float64(time.Second)))
			// the two clocks are read a moment apart, so a start within the same second does not count
			return !d.Since.IsZero() && started.After(d.Since.Add(time.Second))
		}
	}
	return true
}
