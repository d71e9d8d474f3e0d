package lab

import (
	"strings"
)

// operand is what an adapter cmdlet acts on: an adapter of a VM, or a virtual adapter of the management
// operating system.
type operand struct {
	vm   *VM
	nic  *VMAdapter
	vnic *HostVNic
}

func (o operand) managementOS() bool { return o.vnic != nil }

func (o operand) name() string {
	if o.vnic != nil {
		return o.vnic.Name
	}
	return o.nic.Name
}

func (o operand) switchID() string {
	if o.vnic != nil {
		return o.vnic.SwitchID
	}
	return o.nic.SwitchID
}

func (o operand) vlan() *Vlan {
	if o.vnic != nil {
		return &o.vnic.Vlan
	}
	return &o.nic.Vlan
}

func (o operand) isolation() *Isolation {
	if o.vnic != nil {
		return &o.vnic.Isolation
	}
	return &o.nic.Isolation
}

func (o operand) teamMapping() *string {
	if o.vnic != nil {
		return &o.vnic.TeamMapping
	}
	return &o.nic.TeamMapping
}

// fullID is Microsoft:<VM>\<adapter>: names are not unique, this is (facts.md 49).
func (vm *VM) fullID(a *VMAdapter) string {
	return `Microsoft:` + strings.ToUpper(vm.ID) + `\` + strings.ToUpper(a.ID)
}

func (vm *VM) nicRef(a *VMAdapter) string { return refVMNic + vm.ID + "/" + a.ID }

// operands finds the adapters that a call means, by whatever of its parameter sets it uses. Without a name
// every adapter of the VM is meant (facts.md 49).
func (c *call) operands() []operand {
	names := c.strs("Name")
	if names == nil {
		names = c.strs("VMNetworkAdapterName")
	}
	switch {
	case c.has("VMNetworkAdapter"):
		return c.operandsOfObjects()
	case c.has("VMSnapshot"):
		c.fail(c.hyperv("OperationFailed", "The network adapters of checkpoints are not kept in this lab."))
		return nil
	case c.boolean("ManagementOS"):
		return c.named(c.hostVNics(), names)
	case c.boolean("All"):
		return c.named(append(c.hostVNics(), c.adaptersOf(c.host.VMs)...), names)
	case !c.has("VM") && !c.has("VMName"): // Get-VMNetworkAdapterVlan and -Isolation take nothing for all VMs
		return c.named(c.adaptersOf(c.host.VMs), names)
	}
	vms := c.vmsByParameter("VMName")
	if len(vms) == 0 {
		return nil
	}
	return c.named(c.adaptersOf(vms), names)
}

func (c *call) operandsOfObjects() []operand {
	var found []operand
	for _, o := range c.objects("VMNetworkAdapter") {
		op, ok := c.host.operand(o.Ref)
		if !ok {
			c.fail(c.objectGone())
			continue
		}
		found = append(found, op)
	}
	return found
}

// operand finds the thing behind an adapter object.
func (h *Host) operand(ref string) (operand, bool) {
	if id, ok := strings.CutPrefix(ref, refHostVNic); ok {
		for _, v := range h.HostVNics {
			if v.ID == id {
				return operand{vnic: v}, true
			}
		}
	}
	if ids, ok := strings.CutPrefix(ref, refVMNic); ok {
		vmID, nicID, _ := strings.Cut(ids, "/")
		if vm := h.vmByID(vmID); vm != nil {
			if a := vm.adapter(nicID); a != nil {
				return operand{vm: vm, nic: a}, true
			}
		}
	}
	return operand{}, false
}

func (c *call) adaptersOf(vms []*VM) []operand {
	var all []operand
	for _, vm := range vms {
		for _, a := range vm.Adapters {
			if c.has("IsLegacy") && c.boolean("IsLegacy") != a.Legacy {
				continue
			}
			all = append(all, operand{vm: vm, nic: a})
		}
	}
	return all
}

// hostVNics are the virtual adapters of the management operating system, of one switch where one is named.
func (c *call) hostVNics() []operand {
	var all []operand
	name := ""
	if c.has("SwitchName") {
		name = c.str("SwitchName")
		found := false
		for _, s := range c.host.Switches {
			found = found || matchesAny([]string{name}, s.Name)
		}
		if !found && !isWildcard(name) {
			c.fail(c.noSuchSwitch(name))
			return nil
		}
	}
	for _, v := range c.host.HostVNics {
		s := c.host.switchByID(v.SwitchID)
		if name != "" && (s == nil || !matchesAny([]string{name}, s.Name)) {
			continue
		}
		all = append(all, operand{vnic: v})
	}
	return all
}

// named keeps the adapters of the given names; an exact name that nothing has is an error (errors.md 1, 4).
func (c *call) named(all []operand, names []string) []operand {
	if names == nil || c.failed() {
		return all
	}
	var found []operand
	for _, o := range all {
		if matchesAny(names, o.name()) {
			found = append(found, o)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, name := range names {
		if !isWildcard(name) {
			c.fail(c.hyperv("ObjectNotFound", "No network adapter was found with the given criteria."))
			return nil
		}
	}
	return nil
}

// getVMNetworkAdapter is Get-VMNetworkAdapter.
func getVMNetworkAdapter(c *call) {
	for _, o := range c.operands() {
		c.emit(c.adapterObject(o))
	}
}

// renameVMNetworkAdapter is Rename-VMNetworkAdapter. Duplicate names are legal (facts.md 49).
func renameVMNetworkAdapter(c *call) {
	for _, o := range c.operands() {
		if o.managementOS() {
			if c.unknowns.HostVNicRename == "stays" { // whether the net adapter's name follows is not documented (facts.md 88)
				o.vnic.Alias = o.vnic.netName()
			}
			o.vnic.Name = c.str("NewName")
		} else {
			o.nic.Name = c.str("NewName")
		}
		c.passAdapter(o)
	}
}

// passAdapter prints the adapter where -Passthru asks for it.
func (c *call) passAdapter(o operand) {
	if c.boolean("Passthru") {
		c.emit(c.adapterObject(o))
	}
}
