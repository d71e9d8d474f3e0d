package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// adapterChange is a change of an adapter on its way: what prepare found to do, and addCalls adds to a batch.
type adapterChange struct {
	host *Host
	inv  *Inventory
	op   string
	vm   *VM
	spec *VMAdapterSpec

	rename     string
	connect    *VMSwitch
	disconnect bool
	isolation  bool   // take the VLAN out of the isolation setting first (facts.md 60)
	vlan       *int64 // 0: untagged
	team       string
	unmap      bool
	noWeight   bool           // the minimum bandwidth weight is taken away
	set        map[string]any // parameters of Set-VMNetworkAdapter
	notes      []Note
}

// prepare compares what is there with what is wanted and checks every rule before anything is changed. now
// is nil for an adapter that is yet to be added.
func (c *adapterChange) prepare(now *VMAdapter) error {
	c.set = map[string]any{}
	if now == nil {
		now = &VMAdapter{VMNetworkAdapter: VMNetworkAdapter{Name: c.spec.Name, DeviceNaming: "Off", DynamicMacAddress: true}, VM: *c.vm, VlanMode: "Untagged"}
	}
	if now.Name != c.spec.Name {
		c.rename = c.spec.Name
	}
	sw, err := c.wantedSwitch()
	if err != nil {
		return err
	}
	if sw != nil && !sameGUID(sw.ID, now.SwitchID) {
		c.connect = sw
	}
	if err := c.prepareSettings(now, sw); err != nil {
		return err
	}
	return c.prepareTeam(now, sw)
}

// wantedSwitch finds the switch by its exact name.
func (c *adapterChange) wantedSwitch() (*VMSwitch, error) {
	if c.spec.SwitchName == nil {
		return nil, nil
	}
	name := *c.spec.SwitchName
	var hits []*VMSwitch
	var ids []string
	for i := range c.inv.Switches {
		if s := &c.inv.Switches[i]; strings.EqualFold(s.Name, name) {
			hits, ids = append(hits, s), append(ids, s.ID)
		}
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return nil, c.invalid(NotFound, "switch_name", name, "The host has no switch of this name.", "Switches of the host: "+quoteList(switchNames(c.inv.Switches))+".")
	}
	return nil, c.invalid(Ambiguous, "switch_name", name, fmt.Sprintf("%d switches have this name: %s.", len(hits), strings.Join(ids, ", ")), "Rename one of them, so that the name says which is meant.")
}

func (c *adapterChange) invalid(kind Kind, attribute, value, cause, fix string) error {
	return &Error{Kind: kind, Op: c.op, Host: c.host.Name, Object: adapterAbout(AdapterRef{VMName: c.vm.Name, AdapterName: c.spec.Name}),
		Attribute: attribute, Value: value, Cause: cause, Fix: fix}
}

func (c *adapterChange) prepareSettings(now *VMAdapter, sw *VMSwitch) error {
	if want := c.spec.AccessVlanID; want != nil {
		c.isolation = now.VlanMoved()
		if c.isolation || now.AccessVlanID != *want {
			c.vlan = want
		}
	}
	if want := c.spec.MacAddress; want != nil && (now.DynamicMacAddress || macDigits(now.MacAddress) != macDigits(*want)) {
		c.set["StaticMacAddress"] = macDigits(*want)
	}
	if want := c.spec.DeviceNaming; want != nil && !strings.EqualFold(now.DeviceNaming, onOff(*want)) {
		c.set["DeviceNaming"] = onOff(*want)
	}
	want := c.spec.MinimumBandwidthWeight
	if want == nil || now.MinimumBandwidthWeight == *want && c.connect == nil {
		return nil
	}
	mode := now.SwitchBandwidthMode
	if sw != nil {
		mode = sw.BandwidthReservationMode
	}
	// every IOV switch has mode None unless it was made otherwise, and then its IOV does not work (facts.md 10)
	if mode != "" && !strings.EqualFold(mode, "Weight") {
		return c.invalid(Invalid, "minimum_bandwidth_weight", fmt.Sprint(*want),
			fmt.Sprintf("The switch's minimum bandwidth mode is %s, and Hyper-V takes a weight only with Weight (facts.md 52). A switch with SR-IOV has mode None (facts.md 10).", mode),
			"Leave minimum_bandwidth_weight out, or connect the adapter to a switch that was made with minimum bandwidth mode Weight.")
	}
	if now.MinimumBandwidthWeight != *want {
		c.set["MinimumBandwidthWeight"] = *want
	}
	return nil
}

// prepareTeam checks that the physical net adapter is a member of the switch: the mapping pins the adapter to it (facts.md 22).
func (c *adapterChange) prepareTeam(now *VMAdapter, sw *VMSwitch) error {
	want := c.spec.TeamMapping
	if want == nil {
		return nil
	}
	nic, ok := c.inv.netAdapter(*want)
	if !ok {
		var names []string
		for _, n := range c.inv.NetAdapters {
			names = append(names, n.Name)
		}
		return c.invalid(NotFound, "team_mapping", *want, "The host has no net adapter of this name.", "Net adapters of the host: "+quoteList(names)+".")
	}
	members := now.MembersOfTheSwitch
	if sw != nil {
		members = sw.NetAdapterInterfaceGuid
	}
	var names []string
	member := len(members) == 0 // not connected: Windows keeps the mapping for later
	for _, guid := range members {
		if m, ok := c.inv.netAdapterByGUID(guid); ok {
			names = append(names, m.Name)
		}
		member = member || sameGUID(guid, nic.InterfaceGuid)
	}
	if !member {
		return c.invalid(Invalid, "team_mapping", *want, "The net adapter is no member of the adapter's switch, so nothing can be mapped to it (facts.md 22).",
			"Members of the switch: "+quoteList(names)+".")
	}
	if !strings.EqualFold(now.TeamMapping, nic.Name) {
		c.team = nic.Name
	}
	return nil
}

// reset puts back what an earlier spec managed and this one leaves out: Windows' default for an adapter that
// the provider made. Of an imported one nobody knows what was there before, so it keeps its value.
func (c *adapterChange) reset(old *VMAdapterSpec, now *VMAdapter, ours bool) {
	keep := func(attribute, value string) {
		c.notes = append(c.notes, Note{fmt.Sprintf("%s of %s stays as it is", attribute, adapterAbout(now.ByID())),
			fmt.Sprintf("The attribute was removed from the configuration. The adapter was imported, so what it was before is not known: it keeps %q.", value)})
	}
	put := func(attribute, value string, removed, differs bool, back func()) {
		switch {
		case !removed || !differs:
		case ours:
			back()
		default:
			keep(attribute, value)
		}
	}
	s := c.spec
	put("switch_name", now.SwitchName, old.SwitchName != nil && s.SwitchName == nil, now.SwitchID != "", func() { c.disconnect = true })
	put("vlan", fmt.Sprint(now.AccessVlanID), old.AccessVlanID != nil && s.AccessVlanID == nil, now.AccessVlanID != 0 || now.VlanMoved(), func() {
		untagged := int64(0)
		c.vlan, c.isolation = &untagged, now.VlanMoved()
	})
	put("mac_address", now.MacAddress, old.MacAddress != nil && s.MacAddress == nil, !now.DynamicMacAddress, func() { c.set["DynamicMacAddress"] = true })
	put("device_naming", now.DeviceNaming, old.DeviceNaming != nil && s.DeviceNaming == nil, strings.EqualFold(now.DeviceNaming, "On"), func() { c.set["DeviceNaming"] = onOff(false) })
	put("team_mapping", now.TeamMapping, old.TeamMapping != nil && s.TeamMapping == nil, now.TeamMapping != "", func() { c.unmap = true })
	put("minimum_bandwidth_weight", fmt.Sprint(now.MinimumBandwidthWeight), old.MinimumBandwidthWeight != nil && s.MinimumBandwidthWeight == nil,
		now.MinimumBandwidthWeight != 0, func() { c.set["MinimumBandwidthWeight"], c.noWeight = 0, true })
}

// addCalls adds the calls that change the adapter saved as "adapter".
func (c *adapterChange) addCalls(b *batch) {
	on := func(cmdlet string, more map[string]any) {
		p := map[string]any{"VMNetworkAdapter": wire.First("adapter"), "Confirm": false}
		for k, v := range more {
			p[k] = v
		}
		b.change(wire.Call{Cmdlet: cmdlet, Parameters: p})
	}
	if c.rename != "" {
		on("Rename-VMNetworkAdapter", map[string]any{"NewName": c.rename})
	}
	if c.unmap { // before the adapter leaves the switch that the mapping is about
		on("Remove-VMNetworkAdapterTeamMapping", nil)
	}
	if c.disconnect {
		on("Disconnect-VMNetworkAdapter", nil)
	}
	if c.noWeight && c.connect != nil { // while the old switch takes it: the new one may reserve no bandwidth (facts.md 52)
		on("Set-VMNetworkAdapter", map[string]any{"MinimumBandwidthWeight": 0})
		delete(c.set, "MinimumBandwidthWeight")
	}
	if c.connect != nil {
		find[VMSwitch](b, wire.Call{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Id": []any{wire.GUID(c.connect.ID)}}, Save: "switch"})
		on("Connect-VMNetworkAdapter", map[string]any{"VMSwitch": wire.First("switch")})
	}
	if c.isolation {
		on("Set-VMNetworkAdapterIsolation", map[string]any{"IsolationMode": "None"})
	}
	if c.vlan != nil {
		if *c.vlan == 0 {
			on("Set-VMNetworkAdapterVlan", map[string]any{"Untagged": true})
		} else {
			on("Set-VMNetworkAdapterVlan", map[string]any{"Access": true, "VlanId": *c.vlan})
		}
	}
	if c.team != "" {
		on("Set-VMNetworkAdapterTeamMapping", map[string]any{"PhysicalNetAdapterName": c.team})
	}
	if len(c.set) > 0 {
		on("Set-VMNetworkAdapter", c.set)
	}
}

func (c *adapterChange) nothing() bool {
	return c.rename == "" && c.connect == nil && !c.disconnect && !c.isolation && c.vlan == nil && c.team == "" && !c.unmap && len(c.set) == 0
}

// verify holds what was read back against what is wanted: what Windows took and did not keep is an error.
func (c *adapterChange) verify(a *VMAdapter) error {
	s := c.spec
	check := func(attribute, want, got string) error {
		if strings.EqualFold(want, got) {
			return nil
		}
		return c.invalid(Other, attribute, want, fmt.Sprintf("%s was set to %q and reads %q.", attribute, want, got), "Something else changes the adapter: find out what, or leave the attribute out.")
	}
	var all []error
	if s.SwitchName != nil {
		all = append(all, check("switch_name", *s.SwitchName, a.SwitchName))
	}
	if s.AccessVlanID != nil {
		all = append(all, check("vlan.access_vlan_id", fmt.Sprint(*s.AccessVlanID), fmt.Sprint(a.AccessVlanID)))
	}
	if s.MacAddress != nil {
		all = append(all, check("mac_address", macDigits(*s.MacAddress), macDigits(a.MacAddress)))
	}
	if s.DeviceNaming != nil {
		all = append(all, check("device_naming", onOff(*s.DeviceNaming), a.DeviceNaming))
	}
	if s.TeamMapping != nil {
		all = append(all, check("team_mapping", *s.TeamMapping, a.TeamMapping))
	}
	if s.MinimumBandwidthWeight != nil {
		all = append(all, check("minimum_bandwidth_weight", fmt.Sprint(*s.MinimumBandwidthWeight), fmt.Sprint(a.MinimumBandwidthWeight)))
	}
	for _, err := range append(all, check("name", s.Name, a.Name)) {
		if err != nil {
			return err
		}
	}
	return nil
}

// UpdateVMNetworkAdapter changes an adapter in place. old is what was managed before; ours says that the
// provider made the adapter. A VM that somebody renamed is an error that says so: the adapter is still the same
// one, but the configuration names a VM that is not there.
func (h *Host) UpdateVMNetworkAdapter(ctx context.Context, ref AdapterRef, spec, old VMAdapterSpec, ours bool) (*VMAdapter, []Note, error) {
	const op = "change the network adapter"
	unlock, err := h.lockVM(ctx, ref.VMName)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	parts := append(adapterParts(&spec, partVM(ref.VMID, ref.VMName)), partHost, partLedger)
	inv, err := h.read(ctx, op, adapterAbout(ref), parts...)
	if err != nil {
		return nil, nil, err
	}
	now, err := inv.findAdapter(h, op, ref)
	if err != nil {
		return nil, nil, err
	}
	if err := h.checkVMName(op, spec.VMName, now); err != nil {
		return nil, nil, err
	}
	c := &adapterChange{host: h, inv: inv, op: op, vm: &now.VM, spec: &spec}
	if err := c.prepare(now); err != nil {
		return nil, nil, err
	}
	c.reset(&old, now, ours)
	started, notes, err := h.startStopped(ctx, inv, &now.VM, spec.Restarts)
	c.notes = append(c.notes, notes...)
	if err != nil {
		return nil, c.notes, err
	}
	if c.nothing() && !started {
		return now, c.notes, nil
	}
	w := inv.ledger.writes()
	w.dropStored(intent{Kind: kindAdapter, VMID: now.VM.ID, Name: now.Name}, now.ID)
	if c.connect != nil || c.disconnect { // by its own configuration: no removed switch has a say in it any more
		w.drop(disconnectedName(now.VM.ID, now.ID))
	}
	b := h.batch(op, adapterAbout(ref))
	b.saveAdapter(now)
	c.addCalls(b)
	w.addRemoves(b)
	after := b.readParts(parts...)
	release := w.guard(h)
	err = b.run(ctx)
	release()
	if err != nil {
		return nil, c.notes, refineState(err, &now.VM, "some settings of an adapter are changed only while its VM is off.")
	}
	read, err := after()
	if err != nil {
		return nil, c.notes, err
	}
	out, err := read.findAdapter(h, op, ref)
	if err != nil {
		return nil, c.notes, err
	}
	return out, c.notes, c.verify(out)
}

// checkVMName refuses to go on with a VM that was renamed outside of Terraform.
func (h *Host) checkVMName(op, configured string, a *VMAdapter) error {
	return h.renamedVM(op, adapterAbout(a.ByID()), configured, &a.VM)
}

// renamedVM is the error about a VM whose name is not the configured one; nil where it is.
func (h *Host) renamedVM(op, about, configured string, vm *VM) error {
	if strings.EqualFold(vm.Name, configured) {
		return nil
	}
	return &Error{Kind: Conflict, Op: op, Host: h.Name, Object: about, Attribute: "vm_name", Value: configured,
		Cause: fmt.Sprintf("The VM was renamed to %q outside of Terraform.", vm.Name),
		Fix:   fmt.Sprintf("Set vm_name = %q, or rename the VM back to %q.", vm.Name, configured)}
}
