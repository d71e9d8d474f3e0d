package lab

import (
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// alreadySo is a warning, no error (errors.md 4).
const alreadySo = "The virtual machine is already in the specified state."

// power runs a change of state for every VM that a call names; a VM that is there already gives a warning.
func (c *call) power(target string, change func(*VM) *cmdlet.Error) {
	for _, vm := range c.vmsByParameter("Name") {
		if vm.State == target {
			c.warn(alreadySo)
		} else if err := change(vm); err != nil {
			c.fail(err)
			continue
		}
		c.reallocate(c.host)
		c.passVM(vm)
	}
}

// startVM is Start-VM.
func startVM(c *call) {
	c.power(stateRunning, func(vm *VM) *cmdlet.Error {
		switch vm.State {
		case statePaused:
			vm.State = stateRunning
			c.event("vm_resume", vm.Name, "Start-VM")
		case stateSaved: // the guest goes on where it was; its virtual functions are new
			c.boot(vm)
			vm.StartedAt = c.clock().Add(-c.timing.GuestBoot.Duration())
			c.event("vm_start", vm.Name, "from the saved state")
		case stateOff:
			c.boot(vm)
			c.event("vm_start", vm.Name, "Start-VM")
			if vm.stopped {
				vm.stopped = false
				c.event("vm_restart", vm.Name, "Stop-VM, Start-VM")
			}
		default:
			return c.invalidState(vm)
		}
		return nil
	})
}

// boot starts a VM anew: sessions to it are gone, weights that waited for a start are in force (facts.md
// section 7), and the guest has come through the third step of the recovery ladder (facts.md 66).
func (c *call) boot(vm *VM) {
	fromOff := vm.State == stateOff
	vm.State, vm.StartedAt = stateRunning, c.clock()
	vm.Boot++
	for _, a := range vm.Adapters {
		if fromOff {
			a.rdmaUntilStart = nil
		}
	}
	if vm.Guest != nil && fromOff {
		vm.Guest.OS.LastBoot = c.clock()
		vm.Guest.loadSettings(c.clock())
		vm.Guest.recovered(3)
	}
}

// stopVM is Stop-VM: by the guest's integration services, or at once with -TurnOff, or saved with -Save.
func stopVM(c *call) {
	if c.boolean("Save") {
		saveVM(c)
		return
	}
	c.power(stateOff, func(vm *VM) *cmdlet.Error {
		switch {
		case vm.State == stateSaved && !c.boolean("TurnOff"):
			return c.invalidState(vm)
		case c.boolean("TurnOff"):
			c.turnOff(vm, "Stop-VM -TurnOff")
			return nil
		case vm.State != stateRunning:
			return c.invalidState(vm)
		case !vm.ShutdownIntegration || vm.Guest == nil || !c.guestRuns(vm):
			// Without a guest that answers there is nobody to ask.
			return c.hypervTask("OperationFailed", "Failed to shut down virtual machine '%s'.\nThe shutdown integration service does not answer. The device is not ready for use.", vm.Name)
		}
		vm.State = stateStopping
		if vm.HangsOnShutdown {
			return c.hung(vm)
		}
		c.wait(c.timing.VMShutdown.Duration())
		if vm.State == stateStopping {
			c.turnOff(vm, "Stop-VM")
		}
		return nil
	})
}

// hung waits for a guest that never shuts down, until somebody turns the VM off or the cmdlet gives up.
func (c *call) hung(vm *VM) *cmdlet.Error {
	const look = 20 * time.Millisecond
	for left := c.timing.VMShutdownLimit.Duration(); left > 0 && vm.State == stateStopping; left -= look {
		c.wait(look)
	}
	if vm.State != stateStopping {
		return nil
	}
	vm.State = stateRunning
	return c.hypervTask("OperationFailed", "Failed to shut down virtual machine '%s'.\nThe guest operating system did not shut down in time.", vm.Name)
}

func (c *call) turnOff(vm *VM, reason string) {
	vm.State = stateOff
	vm.stopped = true
	c.event("vm_stop", vm.Name, reason)
}

// restartVM is Restart-VM: a reset of a running VM. It is no start anew for what waits for one.
func restartVM(c *call) {
	for _, vm := range c.vmsByParameter("Name") {
		if vm.State != stateRunning {
			c.fail(c.invalidState(vm))
			continue
		}
		c.boot(vm)
		if vm.Guest != nil {
			vm.Guest.OS.LastBoot = c.clock()
			vm.Guest.loadSettings(c.clock())
			vm.Guest.recovered(3)
		}
		c.event("vm_restart", vm.Name, "Restart-VM")
		c.reallocate(c.host)
		if c.boolean("Wait") {
			c.waitForGuest(vm)
		}
		c.passVM(vm)
	}
}

// waitForGuest waits until the guest answers, at most as long as -Timeout says; -1 waits for ever.
func (c *call) waitForGuest(vm *VM) {
	left := c.guestReady(vm).Sub(c.clock())
	if limit := time.Duration(c.integer("Timeout")) * time.Second; c.has("Timeout") && limit >= 0 && limit < left {
		left = limit
	}
	c.wait(left)
}

// saveVM is Save-VM: the memory goes to disk, virtual functions are given back.
func saveVM(c *call) {
	c.power(stateSaved, func(vm *VM) *cmdlet.Error {
		if vm.State != stateRunning && vm.State != statePaused {
			return c.invalidState(vm)
		}
		vm.State = stateSaved
		c.event("vm_save", vm.Name, c.inv.Cmdlet)
		return nil
	})
}

// suspendVM is Suspend-VM.
func suspendVM(c *call) {
	c.power(statePaused, func(vm *VM) *cmdlet.Error {
		if vm.State != stateRunning {
			return c.invalidState(vm)
		}
		vm.State = statePaused
		c.event("vm_pause", vm.Name, "Suspend-VM")
		return nil
	})
}

// resumeVM is Resume-VM.
func resumeVM(c *call) {
	c.power(stateRunning, func(vm *VM) *cmdlet.Error {
		if vm.State != statePaused {
			return c.invalidState(vm)
		}
		vm.State = stateRunning
		c.event("vm_resume", vm.Name, "Resume-VM")
		return nil
	})
}
