package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Prefixes of Object.Ref.
const (
	refVM       = "vm:"
	refSwitch   = "switch:"
	refVMNic    = "vmnic:" // <VM id>/<adapter id>
	refHostVNic = "hostvnic:"
	refSession  = "pssession:"
)

// vmByID finds a VM; GUIDs are compared without case or braces.
func (h *Host) vmByID(id string) *VM {
	id = strings.Trim(id, "{}")
	for _, vm := range h.VMs {
		if strings.EqualFold(vm.ID, id) {
			return vm
		}
	}
	return nil
}

// switchByID finds a switch.
func (h *Host) switchByID(id string) *Switch {
	if id == "" {
		return nil
	}
	id = strings.Trim(id, "{}")
	for _, s := range h.Switches {
		if strings.EqualFold(s.ID, id) {
			return s
		}
	}
	return nil
}

// lbfoTeamOf finds the classic team that a physical net adapter is a member of.
func (h *Host) lbfoTeamOf(id string) *LbfoTeam {
	for _, t := range h.LbfoTeams {
		for _, m := range t.Members {
			if strings.EqualFold(m, id) {
				return t
			}
		}
	}
	return nil
}

// vmsByParameter finds the VMs that a cmdlet names: by objects (VM) or by names, which take wildcards.
// A name that is not there is one error each (errors.md 1); a pattern without a match is none.
func (c *call) vmsByParameter(names string) []*VM {
	if c.has("VM") {
		var found []*VM
		for _, o := range c.objects("VM") {
			vm := c.host.vmByID(strings.TrimPrefix(o.Ref, refVM))
			if vm == nil || !strings.HasPrefix(o.Ref, refVM) {
				c.fail(c.objectGone())
				continue
			}
			found = append(found, vm)
		}
		return found
	}
	return c.vmsByName(c.strs(names))
}

func (c *call) vmsByName(names []string) []*VM {
	var found []*VM
	for _, name := range names {
		matched := false
		for _, vm := range c.host.VMs {
			if matchesAny([]string{name}, vm.Name) {
				found, matched = append(found, vm), true
			}
		}
		if !matched && !isWildcard(name) {
			c.fail(c.noSuchVM(name))
		}
	}
	return found
}

// noSuchVM: Get-VM says InvalidParameter with the name as target, the others ObjectNotFound (errors.md 1).
func (c *call) noSuchVM(name string) *cmdlet.Error {
	if strings.EqualFold(c.inv.Cmdlet, "Get-VM") {
		e := c.hyperv("InvalidParameter", "Hyper-V was unable to find a virtual machine with name %q.", name)
		e.Target, e.TargetType = name, "String"
		return e
	}
	return c.hyperv("ObjectNotFound", "Hyper-V was unable to find a virtual machine with name %q.", name)
}

// objectGone is the error for an object whose thing no longer exists.
func (c *call) objectGone() *cmdlet.Error {
	return c.hyperv("ObjectNotFound", "Hyper-V encountered an error trying to access an object on computer '%s' because the object was not found. "+
		"The object might have been deleted, or you might not have permission to perform the task.", c.host.Name)
}

// invalidState is the error for a change that the VM's state does not allow (errors.md 4).
func (c *call) invalidState(vm *VM) *cmdlet.Error {
	return c.hyperv("InvalidState", "'%s' failed to change. (Virtual machine ID %s)\nThe operation cannot be performed while the virtual machine is in its current state.", vm.Name, strings.ToUpper(vm.ID))
}

func (c *call) noSuchSwitch(name string) *cmdlet.Error {
	e := c.hyperv("InvalidParameter", "Hyper-V was unable to find a virtual switch with name %q.", name)
	if strings.EqualFold(c.inv.Cmdlet, "Get-VMSwitch") {
		e.Target, e.TargetType = name, "String"
	}
	return e
}

// switchesByParameter finds the switches that a cmdlet names: by objects (VMSwitch) or by names, which
// take wildcards; duplicate names are legal, and all of them are meant (cases.md 8).
func (c *call) switchesByParameter(names string) []*Switch {
	if c.has("VMSwitch") {
		var found []*Switch
		for _, o := range c.objects("VMSwitch") {
			s := c.host.switchByID(strings.TrimPrefix(o.Ref, refSwitch))
			if s == nil || !strings.HasPrefix(o.Ref, refSwitch) {
				c.fail(c.objectGone())
				continue
			}
			found = append(found, s)
		}
		return found
	}
	var found []*Switch
	for _, name := range c.strs(names) {
		matched := false
		for _, s := range c.host.Switches {
			if matchesAny([]string{name}, s.Name) {
				found, matched = append(found, s), true
			}
		}
		if !matched && !isWildcard(name) {
			c.fail(c.noSuchSwitch(name))
		}
	}
	return found
}

// switchNamed finds the one switch that -SwitchName of an adapter cmdlet means: exact, and two of one
// name cannot be told apart.
func (c *call) switchNamed(name string) *Switch {
	var found []*Switch
	for _, s := range c.host.Switches {
		if strings.EqualFold(s.Name, name) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0]
	case 0:
		c.fail(c.noSuchSwitch(name))
	default:
		c.fail(c.hyperv("InvalidParameter", "There is more than one virtual switch with name %q.", name))
	}
	return nil
}
