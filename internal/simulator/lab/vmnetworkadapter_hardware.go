package lab

import (
	"regexp"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// hardwareChange says why adapters cannot be added to or removed from a VM now: only Generation 2 on Windows
// Server 2016 or later while it runs; what a saved VM allows is not known (facts.md 61a).
func (c *call) hardwareChange(vm *VM, legacy bool) *cmdlet.Error {
	switch vm.State {
	case stateOff:
		return nil
	case stateSaved:
		if c.unknowns.SavedVMHardware == "accept" {
			return nil
		}
	default:
		if vm.Generation == 2 && c.host.OS.Build >= buildServer2016 && !legacy {
			return nil
		}
	}
	return c.invalidState(vm)
}

// addVMNetworkAdapter is Add-VMNetworkAdapter. A new adapter has IovWeight 0 whatever its siblings have
// (facts.md 43, cases.md 31).
func addVMNetworkAdapter(c *call) {
	mac, err := c.staticMac()
	if err != nil {
		c.fail(err)
		return
	}
	if c.boolean("ManagementOS") || (!c.has("VM") && !c.has("VMName")) {
		c.addManagementAdapter(mac)
		return
	}
	vms := c.vmsByParameter("VMName")
	switchID := ""
	if c.has("SwitchName") {
		s := c.switchNamed(c.str("SwitchName"))
		if s == nil {
			return
		}
		switchID = s.ID
	}
	for _, vm := range vms {
		legacy := c.boolean("IsLegacy")
		if legacy && vm.Generation == 2 { // facts.md 61: an emulated device of Generation 1
			c.fail(c.hyperv("InvalidParameter", "Virtual machine '%s' of generation 2 takes no legacy network adapter.", vm.Name))
			continue
		}
		if err := c.hardwareChange(vm, legacy); err != nil {
			c.fail(err)
			continue
		}
		a := c.newAdapter(vm, legacy, mac)
		a.SwitchID = switchID
		vm.Adapters = append(vm.Adapters, a)
		c.reallocate(c.host)
		c.passAdapter(operand{vm: vm, nic: a})
	}
}

func (c *call) newAdapter(vm *VM, legacy bool, mac string) *VMAdapter {
	name := c.str("Name")
	if name == "" {
		name = "Network Adapter" // facts.md 49: not unique
		if legacy {
			name = "Legacy Network Adapter"
		}
	}
	id := strings.ToUpper(c.newGUID(c.host.Name, vm.ID, "adapter"))
	a := &VMAdapter{
		ID: id, Name: name, MacAddress: mac, DynamicMac: mac == "", Legacy: legacy, DeviceNaming: c.enum("DeviceNaming") == "On",
		IovQueuePairsRequested: 1, IovInterruptModeration: "Default", VmqWeight: 100, Vlan: Vlan{Mode: "Untagged"}, Isolation: Isolation{Mode: "None"},
		changedAt: c.clock(),
	}
	if a.DynamicMac {
		a.MacAddress = vmMac(c.host.Name, vm.ID, id)
	}
	a.Settings = c.keepSettings(nil, map[string]string{"ResourcePoolName": ""}, "ResourcePoolName")
	return a
}

// addManagementAdapter makes a host vNIC, which makes AllowManagementOS true (facts.md 16).
func (c *call) addManagementAdapter(mac string) {
	var s *Switch
	switch {
	case c.has("SwitchName"):
		s = c.switchNamed(c.str("SwitchName"))
	case len(c.host.Switches) == 1:
		s = c.host.Switches[0]
	default:
		c.fail(c.hyperv("InvalidParameter", "The virtual switch of the new network adapter has to be named."))
	}
	if s == nil {
		return
	}
	if s.Type == "Private" {
		c.fail(c.hyperv("InvalidParameter", "The management operating system has no network adapter on private virtual switch '%s'.", s.Name))
		return
	}
	name := c.str("Name")
	if name == "" {
		name = s.Name
	}
	v := c.addHostVNic(s, name)
	if mac != "" {
		v.MacAddress = mac
	}
	c.passAdapter(operand{vnic: v})
}

// staticMac reads -StaticMacAddress: 12 hex digits, with or without separators. The refusal of a bad one is
// errors.md 4 (its id was not published).
func (c *call) staticMac() (string, *cmdlet.Error) {
	given := c.str("StaticMacAddress")
	if given == "" {
		return "", nil
	}
	mac := strings.ToUpper(strings.NewReplacer("-", "", ":", "", ".", "").Replace(given))
	if ok, _ := regexp.MatchString(`^[0-9A-F]{12}$`, mac); !ok {
		return "", c.hypervTask("OperationFailed", "Failed to modify device 'Synthetic Ethernet Port'.\n'%s' is no MAC address.", given)
	}
	if mac == "000000000000" {
		return "", nil
	}
	return mac, nil
}

// removeVMNetworkAdapter is Remove-VMNetworkAdapter. Without a name all adapters of the VM go (facts.md 49).
func removeVMNetworkAdapter(c *call) {
	for _, o := range c.operands() {
		if o.managementOS() {
			gone := c.adapterObject(o)
			c.removeHostVNic(o.vnic)
			if c.boolean("Passthru") {
				c.emit(gone)
			}
			continue
		}
		if err := c.hardwareChange(o.vm, o.nic.Legacy); err != nil {
			c.fail(err)
			continue
		}
		gone := c.adapterObject(o)
		o.nic.SwitchID = ""
		c.reallocate(c.host) // gives the virtual function back first
		kept := []*VMAdapter{}
		for _, a := range o.vm.Adapters {
			if a != o.nic {
				kept = append(kept, a)
			}
		}
		o.vm.Adapters = kept
		c.reallocate(c.host)
		if c.boolean("Passthru") {
			c.emit(gone)
		}
	}
}

// connectVMNetworkAdapter is Connect-VMNetworkAdapter.
func connectVMNetworkAdapter(c *call) {
	if c.boolean("UseAutomaticConnection") {
		c.fail(c.hyperv("OperationFailed", "There is no resource pool of virtual switches in this lab."))
		return
	}
	var s *Switch
	if c.has("VMSwitch") {
		if found := c.switchesByParameter("SwitchName"); len(found) == 1 {
			s = found[0]
		}
	} else {
		s = c.switchNamed(c.str("SwitchName"))
	}
	if s == nil {
		return
	}
	for _, o := range c.operands() {
		if o.managementOS() {
			c.fail(c.objectGone())
			continue
		}
		if o.nic.SwitchID != s.ID {
			o.nic.SwitchID = s.ID
			o.nic.changedAt = c.clock()
			c.reallocate(c.host)
		}
		c.passAdapter(o)
	}
}

// disconnectVMNetworkAdapter is Disconnect-VMNetworkAdapter.
func disconnectVMNetworkAdapter(c *call) {
	for _, o := range c.operands() {
		if o.managementOS() {
			c.fail(c.objectGone())
			continue
		}
		o.nic.SwitchID = ""
		c.reallocate(c.host)
		c.passAdapter(o)
	}
}
