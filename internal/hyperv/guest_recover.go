package hyperv

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// ladder is the recovery steps that may be taken, in their order (facts.md 66).
func (c *guestChange) ladder() []string {
	if c.spec.Restarts.Policy == RestartManual {
		return nil
	}
	var out []string
	for _, step := range RecoverySteps() {
		if contains(c.spec.Recovery, step) {
			out = append(out, step)
		}
	}
	return out
}

// recover takes one step of the ladder. Where RDMA is on nowhere, turning it off and on mends nothing and is left out.
func (c *guestChange) recover(ctx context.Context, step string) error {
	if step == RecoverGuestRdma && len(c.rdmaOn()) == 0 {
		return nil
	}
	c.steps = append(c.steps, step)
	switch step {
	case RecoverGuestRdma:
		return c.cycleGuestRdma(ctx)
	case RecoverNetAdapter:
		return c.bounceDevice(ctx)
	}
	unlock, err := c.host.lockVM(ctx, c.g.Adapter.VM.Name)
	if err != nil {
		return err
	}
	defer unlock()
	return c.restartVM(ctx)
}

// restartVM restarts the VM, unless somebody else did so since this change began. Callers hold the VM's lock.
func (c *guestChange) restartVM(ctx context.Context) error {
	inv, err := c.host.read(ctx, c.op, adapterAbout(c.ref), partHost, partLedger, partVM(c.ref.VMID, ""))
	if err != nil {
		return err
	}
	vm, err := inv.findVM(c.host, c.op, c.ref)
	if err != nil {
		return err
	}
	if up := time.Duration(vm.Uptime * float64(time.Second)); vm.State == "Running" && time.Now().Add(-up).After(c.began) {
		return nil // that restart serves this one too
	}
	r := &vmRestart{host: c.host, vm: *vm, options: c.spec.Restarts.VM.withDefaults(), ledger: inv.ledger, now: inv.Now(), reason: "RDMA in its guest did not come up without a restart (facts.md 66)"}
	err = r.run(ctx, nil)
	c.g.Notes = append(c.g.Notes, r.notes...)
	return err
}

// stoppedMeanwhile says that the VM went down between the look at the host and the look into the guest, which both are of
// one moment else: another resource restarts it.
func (c *guestChange) stoppedMeanwhile() bool {
	var e *Error
	return asError(c.g.Err, &e) && e.Command != nil && idHead(*e.Command) == wire.ErrorGuestNotRunning
}

// letRestart waits for a restart of the VM that another resource makes at this moment.
func (c *guestChange) letRestart(ctx context.Context) error {
	if c.g.Adapter.VM.State == "Running" {
		return nil
	}
	unlock, err := c.host.lockVM(ctx, c.g.Adapter.VM.Name)
	if err != nil {
		return err
	}
	unlock()
	return c.look(ctx)
}

// startAgain starts a VM that an earlier run shut down and never started again.
func (c *guestChange) startAgain(ctx context.Context) error {
	if a := c.g.Adapter; a.VM.State != "Off" || len(a.Debts) == 0 {
		return nil
	}
	unlock, err := c.host.lockVM(ctx, c.g.Adapter.VM.Name)
	if err != nil {
		return err
	}
	defer unlock()
	inv, err := c.host.read(ctx, c.op, adapterAbout(c.ref), partHost, partLedger, partVM(c.ref.VMID, ""))
	if err != nil {
		return err
	}
	vm, err := inv.findVM(c.host, c.op, c.ref)
	if err != nil {
		return err
	}
	started, notes, err := c.host.startStopped(ctx, inv, vm, c.spec.Restarts)
	c.g.Notes = append(c.g.Notes, notes...)
	if err != nil || !started {
		return err
	}
	return c.look(ctx)
}

// rdmaOn are the adapters of the pair that have RDMA on.
func (c *guestChange) rdmaOn() []string {
	var out []string
	for _, a := range []*GuestAdapter{c.g.Synthetic, c.g.VF} {
		if a != nil && a.RdmaListed && a.RdmaEnabled {
			out = append(out, a.InterfaceDescription)
		}
	}
	return out
}

// cycleGuestRdma turns RDMA of the pair off and on (B12). The list is taken before anything is off: what is off
// may not be listed any more (facts.md 37).
func (c *guestChange) cycleGuestRdma(ctx context.Context) error {
	unlock, err := c.host.lockVM(ctx, c.g.Adapter.VM.Name)
	if err != nil {
		return err
	}
	defer unlock()
	b := c.host.batch("turn RDMA in the guest off and on", adapterAbout(c.ref))
	c.in(b, wire.Call{Cmdlet: "Get-NetAdapterRdma", Save: "pair", Select: fieldsOf[named](),
		Where: []wire.Condition{{Property: "InterfaceDescription", Equals: c.rdmaOn()}}})
	// an error of Disable must not keep Enable from running; the look behind it tells what is on
	b.add(wire.Call{Cmdlet: "Disable-NetAdapterRdma", Input: "pair", Parameters: map[string]any{"Confirm": false}, Guest: &c.target}, false, tolerating(anyError))
	c.in(b, wire.Call{Cmdlet: "Enable-NetAdapterRdma", Input: "pair", Parameters: map[string]any{"Confirm": false}})
	return c.runAndLook(ctx, b, c.ledger.writes())
}

// bounceDevice disables and enables all ports of the device that carries the adapter's virtual function (B13).
func (c *guestChange) bounceDevice(ctx context.Context) error {
	list, err := c.host.read(ctx, c.op, adapterAbout(c.ref), partNetAdapterList)
	if err != nil {
		return err
	}
	var ports []string
	for _, guid := range c.g.Adapter.MembersOfTheSwitch {
		if nic, ok := list.netAdapterByGUID(guid); ok {
			ports = append(ports, nic.Name)
		}
	}
	inv, unlock, err := c.host.readLocked(ctx, c.op, adapterAbout(c.ref), ports, partHost, partNetAdapters, partLedger)
	if err != nil {
		return err
	}
	defer unlock()
	devices := map[string]*Device{}
	for _, name := range c.carriers(inv, ports) {
		if d, ok := inv.device(name, ""); ok {
			devices[d.Location] = d
		}
	}
	for _, location := range sorted(devices) {
		if err := c.host.payDevice(ctx, devices[location], inv.ledger); err != nil {
			return err
		}
	}
	return nil
}

// carriers are the ports that hold the adapter's virtual function; where none does, every member of the switch may.
func (c *guestChange) carriers(inv *Inventory, ports []string) []string {
	var out []string
	for _, vf := range inv.VFs {
		if sameGUID(vf.VMID, c.g.Adapter.VM.ID) && macDigits(vf.CurrentMacAddress) == macDigits(c.g.Adapter.MacAddress) {
			out = append(out, vf.Name)
		}
	}
	if len(out) == 0 {
		return ports
	}
	return out
}

// hopeless says what no waiting mends.
func (c *guestChange) hopeless(ctx context.Context) error {
	a := c.g.Adapter
	switch {
	case a.IsLegacy:
		return c.failed(StageRequested, "vm_network_adapter_name", a.Name, "It is a legacy (emulated) adapter, which never gets a virtual function (facts.md 61).",
			"Use a synthetic network adapter: hyperv_vm_network_adapter makes one.")
	case a.IovWeight == 0:
		return c.failed(StageRequested, "vm_network_adapter_name", a.Name, c.noVF()+" IovWeight of the VM's network adapter is 0, so Windows gives it no virtual function (facts.md 43).",
			"Set iov_weight = 100 in a hyperv_vm_network_adapter_rdma of this adapter, and let this resource refer to that one so that it comes after it.")
	case a.SwitchID == "", !a.SwitchIovEnabled:
		return c.failed(StageAssigned, "vm_network_adapter_name", a.Name, c.noVF()+" "+whyNoVF(a),
			"Connect the VM's network adapter to a switch that was made with SR-IOV (hyperv_iov_switch).")
	case a.VM.State != "Running" && len(c.steps) == 0:
		return c.failed(StageAdapters, "vm_name", a.VM.Name, fmt.Sprintf("The VM is %s: its guest can be reached and its virtual function assigned only while it runs.", strings.ToLower(a.VM.State)),
			"Start the VM, then apply again.")
	case c.unreachable >= 1 && !c.stoppedMeanwhile() && a.VM.Uptime > c.host.opts.RestartWait.Seconds(): // long past its start: waiting mends nothing
		var e *Error
		if asError(c.g.Err, &e) {
			return &verificationError{e}
		}
	}
	return ctx.Err()
}

// noVF says what is missing in the guest, in the words of the adapter that the guest would show.
func (c *guestChange) noVF() string {
	return "There is no VF adapter with MAC " + macDashes(c.g.Adapter.MacAddress) + " in the guest."
}

// macDashes is a MAC address as net adapters print it.
func macDashes(mac string) string {
	d := macDigits(mac)
	var parts []string
	for i := 0; i+1 < len(d); i += 2 {
		parts = append(parts, d[i:i+2])
	}
	return strings.Join(parts, "-")
}

func (c *guestChange) failed(stage, attribute, value, cause, fix string) error {
	reached, _ := c.g.Stage()
	return &verificationError{&Error{Kind: TimedOut, Op: c.op, Host: c.host.Name, Object: adapterAbout(c.ref), Attribute: attribute, Value: value,
		Cause: fmt.Sprintf("Stopped before stage %s (last stage reached: %s). %s", stage, reached, cause), Fix: fix}}
}
