package hyperv

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// ApplyNicSettings makes all ports of the device hold the spec, and puts back what an earlier spec managed
// and this one leaves out. Values go into the registry first (-NoRestart), then one bounce makes them effective
// (facts.md 33, 34). old is what was managed before, nil on create.
func (h *Host) ApplyNicSettings(ctx context.Context, spec NicSettingsSpec, old *NicSettingsSpec) (*NicSettings, error) {
	const op = "change the settings of the net adapters"
	inv, unlock, err := h.readLocked(ctx, op, portsAbout(spec.Ports), spec.Known.lockedBy(spec.Ports), nicParts(&spec, old)...)
	if err != nil {
		return nil, err
	}
	defer unlock()
	configured := spec.Ports
	if err := h.refuseSwapped(inv.NetAdapters, op, configured, spec.Known); err != nil {
		return nil, err
	}
	spec.Ports = nowCalled(inv.NetAdapters, configured, spec.Known)
	d, err := h.checkOneDevice(inv, op, &spec)
	if err != nil {
		return nil, err
	}
	claimant := nicClaimant(configured)
	if have, ok := inv.ledger.claim(d.object()); old == nil && (ok && have != claimant || h.claimed.has(d.object())) {
		return nil, alreadyClaimed(h, op, d, have)
	}
	c := &nicChange{host: h, inv: inv, device: d, op: op, spec: &spec, w: inv.ledger.writes(), unlock: unlock}
	if err := c.prepare(old); err != nil {
		return nil, err
	}
	c.w.claim(d.object(), claimant)
	out, err := c.run(ctx, nicSettingsOwner(d))
	if err == nil {
		h.claimed.add(d.object())
		out.Known = knowPorts(inv.NetAdapters, configured, spec.Known)
	}
	return out, err
}

// nicParts is what a change of these settings reads, with registry values that no profile names.
func nicParts(specs ...*NicSettingsSpec) []part {
	parts := []part{partHost, partNetAdapters, partLedger}
	for _, s := range specs {
		if s != nil && s.GuestRdma != nil && s.GuestRdma.Service != "" && s.GuestRdma.ValueName != "" {
			parts = append(parts, partRegistry(s.GuestRdma))
		}
	}
	return parts
}

// nicClaimant names the resource by the ports that it is configured with: a create that is repeated after a
// crash is the same one, a second resource with another port of the device is not.
func nicClaimant(ports []string) string {
	names := make([]string, 0, len(ports))
	for _, p := range ports {
		names = append(names, strings.ToLower(p))
	}
	sort.Strings(names)
	return "hyperv_nic_rdma_settings for " + quoteList(names)
}

func alreadyClaimed(h *Host, op string, d *Device, have string) error {
	return &Error{Kind: Conflict, Op: op, Host: h.Name, Object: portsAbout(d.PortNames()), Attribute: "net_adapter_names", Value: d.Title(),
		Cause: "The settings of this device belong to another resource already: " + have + " (by the ledger on the host).",
		Fix:   fmt.Sprintf("Keep one resource per device. If the other one was lost with its state, import it: terraform import hyperv_nic_rdma_settings.<name> '%s/%s'.", h.Name, d.Ports[0].Name)}
}

// nicChange is one change of a device's settings on its way.
type nicChange struct {
	host     *Host
	inv      *Inventory
	device   *Device
	op       string
	spec     *NicSettingsSpec
	registry *GuestRdmaRegistry
	w        *ledgerWrites
	puts     []portValue // what to write
	reg      []registryValue
	changed  []string // attributes, for the reason of the restart
	unlock   func()   // of the device
	removal  bool     // the resource goes
	unpaid   bool     // a restart that was due failed
}

// portValue is a keyword (or NumVFs, keyword "") with the ports that shall get a value.
type portValue struct {
	keyword string
	value   string
	ports   []string
}

type registryValue struct {
	registry *GuestRdmaRegistry
	value    string // "" removes it
}

// prepare checks everything, compares with what is there, and lists the writes.
func (c *nicChange) prepare(old *NicSettingsSpec) error {
	want := c.spec.wanted(c.device.Profile)
	for _, s := range want {
		if s.attribute == "num_vfs" {
			continue
		}
		if err := c.host.checkKeyword(c.inv, c.op, c.device, s); err != nil {
			return err
		}
	}
	var err error
	if c.registry, err = c.host.registryOf(c.op, c.device, c.spec.GuestRdma); err != nil {
		return err
	}
	for _, s := range want {
		c.set(s)
	}
	if c.registry != nil {
		c.setRegistry()
	}
	if old != nil {
		c.putBackRemoved(old, want)
	}
	return nil
}

func (c *nicChange) set(s setting) {
	key := s.keyword
	if key == "" {
		key = settingNumVFs
	}
	var ports []string
	for _, p := range c.device.Ports {
		now, ok := c.current(s.keyword, p.Name)
		if !ok {
			continue
		}
		c.w.remember(before{Object: portObject(p), Setting: key, Value: &now, About: p.Name})
		if now != s.value {
			ports = append(ports, p.Name)
		}
	}
	if len(ports) > 0 {
		c.puts = append(c.puts, portValue{s.keyword, s.value, ports})
		c.changed = append(c.changed, s.attribute)
	}
}

func portObject(p NetAdapter) string {
	return "port " + strings.ToLower(strings.Trim(p.InterfaceGuid, "{}"))
}

// current is a port's value of a keyword, or its number of VFs for "".
func (c *nicChange) current(keyword, port string) (string, bool) {
	if keyword == "" {
		for _, s := range c.inv.Sriov {
			if strings.EqualFold(s.Name, port) {
				return strconv.Itoa(s.NumVFs), true
			}
		}
		return "", false
	}
	p, ok := c.inv.valueOnPorts(c.device, keyword)[port]
	return strings.Join(p.RegistryValue, ","), ok
}

func (c *nicChange) setRegistry() {
	now := c.inv.Registry[registrySetting(c.registry)]
	var was *string
	if now != nil {
		s := strconv.FormatInt(*now, 10)
		was = &s
	}
	c.w.remember(before{Object: c.device.object(), Setting: registrySetting(c.registry), Value: was, About: c.device.Title()})
	if now != nil && *now == c.registry.Value {
		return
	}
	c.reg = append(c.reg, registryValue{c.registry, strconv.FormatInt(c.registry.Value, 10)})
	c.changed = append(c.changed, "guest_rdma_registry")
}

// putBackRemoved puts back what the old spec managed and the new one does not.
func (c *nicChange) putBackRemoved(old *NicSettingsSpec, want []setting) {
	for _, s := range old.wanted(c.device.Profile) {
		kept := false
		for _, w := range want {
			kept = kept || strings.EqualFold(w.keyword, s.keyword)
		}
		if !kept {
			c.putBack(s.keyword)
		}
	}
	if old.GuestRdma != nil && c.spec.GuestRdma == nil {
		if r, err := c.host.registryOf(c.op, c.device, old.GuestRdma); err == nil {
			c.putBackRegistry(r)
		}
	}
}

// putBack restores a keyword of every port to what the ledger remembers.
func (c *nicChange) putBack(keyword string) {
	key := keyword
	if key == "" {
		key = settingNumVFs
	}
	byValue := map[string][]string{}
	for _, p := range c.device.Ports {
		r, ok := c.w.from.before(portObject(p), key)
		if !ok || r.Value == nil {
			continue
		}
		c.w.forget(portObject(p), key)
		if now, ok := c.current(keyword, p.Name); ok && now != *r.Value {
			byValue[*r.Value] = append(byValue[*r.Value], p.Name)
		}
	}
	for _, v := range sorted(byValue) {
		c.puts = append(c.puts, portValue{keyword, v, byValue[v]})
		c.changed = append(c.changed, key)
	}
}

func (c *nicChange) putBackRegistry(r *GuestRdmaRegistry) {
	was, ok := c.w.from.before(c.device.object(), registrySetting(r))
	if !ok {
		return
	}
	c.w.forget(c.device.object(), registrySetting(r))
	now := c.inv.Registry[registrySetting(r)]
	switch {
	case was.Value == nil && now != nil:
		c.reg = append(c.reg, registryValue{r, ""})
	case was.Value != nil && (now == nil || strconv.FormatInt(*now, 10) != *was.Value):
		c.reg = append(c.reg, registryValue{r, *was.Value})
	default:
		return
	}
	c.changed = append(c.changed, "guest_rdma_registry")
}

// run writes, ledger first, and bounces the device if anything changed or is owed.
func (c *nicChange) run(ctx context.Context, owner string) (*NicSettings, error) {
	if len(c.changed) > 0 {
		c.w.owe(Debt{Kind: RestartNetAdapter, Target: c.device.Title(), TargetID: c.device.Location, Owner: owner, Since: c.inv.Now(),
			Reason: strings.Join(unique(c.changed), ", ") + " changed: the driver reads its settings when the adapters start (facts.md 33-36)"})
	}
	b := c.host.batch(c.op, portsAbout(c.device.PortNames()))
	c.w.addPuts(b)
	c.addWrites(b)
	c.w.addRemoves(b)
	after := b.readParts(nicParts(c.spec)...)
	release := c.w.guard(c.host)
	err := b.run(ctx)
	release()
	if err != nil {
		return nil, err
	}
	inv, err := after()
	if err != nil {
		return nil, err
	}
	if err := c.verify(inv); err != nil {
		return nil, err
	}
	notes := c.pay(ctx, inv, owner)
	out, err := c.host.nicSettings(inv, c.op, c.device.Ports[0].Name, *c.spec)
	if err != nil {
		return nil, err
	}
	out.Notes = append(out.Notes, notes...)
	return out, nil
}

// pay restarts the device if it owes a restart for these settings, or, where the last of our resources goes, for any.
func (c *nicChange) pay(ctx context.Context, inv *Inventory, owner string) []Note {
	epoch := c.host.currentEpoch()
	c.unlock() // others that change the device come first: one restart serves all
	notes, err := c.host.payFor(ctx, c.device, inv, epoch, payment{own: ownedBy(owner), policy: c.spec.RestartPolicy, removal: c.removal, keep: c.spec.KeepOwedOnDelete, about: "settings"})
	if err != nil {
		c.unpaid = true
		return []Note{{"The restart of the net adapters failed", err.Error() + "\n\nThe settings are written. The restart stays owed and is tried again by the next apply."}}
	}
	return notes
}

// addWrites adds the calls that write: one per keyword and value, on all ports at once, each port found by exact
// name and keyword (facts.md 39). The objects are an argument, not piped in: their old DisplayValue would bind too.
func (c *nicChange) addWrites(b *batch) {
	for i, p := range c.puts {
		save := fmt.Sprintf("setting %d", i)
		if p.keyword == "" {
			find[named](b, wire.Call{Cmdlet: "Get-NetAdapterSriov", Save: save, Where: []wire.Condition{{Property: "Name", Equals: p.ports}}})
			n, _ := strconv.Atoi(p.value)
			b.change(wire.Call{Cmdlet: "Set-NetAdapterSriov", Parameters: map[string]any{"InputObject": wire.Ref{Call: save}, "NumVFs": n, "NoRestart": true, "Confirm": false}})
			continue
		}
		find[named](b, wire.Call{Cmdlet: "Get-NetAdapterAdvancedProperty", Parameters: map[string]any{"AllProperties": true}, Save: save,
			Where: []wire.Condition{{Property: "Name", Equals: p.ports}, {Property: "RegistryKeyword", Equals: []string{p.keyword}}}})
		b.change(wire.Call{Cmdlet: "Set-NetAdapterAdvancedProperty", Parameters: map[string]any{"InputObject": wire.Ref{Call: save}, "RegistryValue": []string{p.value}, "NoRestart": true, "Confirm": false}})
	}
	for _, r := range c.reg {
		if r.value == "" {
			b.change(wire.Call{Cmdlet: "Remove-ItemProperty", Parameters: map[string]any{"LiteralPath": serviceKey(r.registry.Service), "Name": []string{r.registry.ValueName}, "Confirm": false}})
			continue
		}
		b.change(serviceCall(r.registry, r.value))
	}
}

// verify reads back: what Windows took and did not keep is an error, not a success.
func (c *nicChange) verify(inv *Inventory) error {
	for _, p := range c.puts {
		if p.keyword == "" {
			continue
		}
		for port, prop := range inv.valueOnPorts(c.device, p.keyword) {
			if got := strings.Join(prop.RegistryValue, ","); contains(p.ports, port) && got != p.value {
				return &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: portsAbout(p.ports), Attribute: "advanced_properties", Value: p.value,
					Cause: fmt.Sprintf("%s of net adapter %q was set to %s and reads %s.", p.keyword, port, p.value, got),
					Fix:   "Something else sets this keyword (Network ATC, a vendor service): stop it or leave the setting out."}
			}
		}
	}
	return nil
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, x := range list {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}
