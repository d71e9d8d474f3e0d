package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What happens to a VM that does not shut down in time.
const (
	OnTimeoutFail    = "fail"     // nothing: the VM goes on, and the change with it fails
	OnTimeoutTurnOff = "turn_off" // it is turned off, as by pulling the plug
)

// VMRestartOptions say how a VM is restarted. Their zero value fails after defaultShutdown.
type VMRestartOptions struct {
	ShutdownTimeout time.Duration // for the guest to shut down
	OnTimeout       string
	GuestTimeout    time.Duration // for the guest to answer again
}

const (
	defaultShutdown = 5 * time.Minute
	defaultGuest    = 5 * time.Minute
)

func (o VMRestartOptions) withDefaults() VMRestartOptions {
	if o.ShutdownTimeout == 0 {
		o.ShutdownTimeout = defaultShutdown
	}
	if o.GuestTimeout == 0 {
		o.GuestTimeout = defaultGuest
	}
	if o.OnTimeout == "" {
		o.OnTimeout = OnTimeoutFail
	}
	return o
}

// RestartRules say whether a resource may restart something, and how a VM is.
type RestartRules struct {
	Policy string // RestartAuto, RestartManual
	VM     VMRestartOptions
}

// VMRestartSpec says which VM is restarted, and how.
type VMRestartSpec struct {
	VMID, VMName string // the id, if it is known, decides
	VMRestartOptions
	// Credential names a guest credential; with WaitForGuest the restart is over when a session into the guest opens.
	WaitForGuest bool
	Credential   string
	Progress     func(string) // told each step in a line; may be nil
}

// VMRestartReport is what became of a VM.
type VMRestartReport struct {
	VM        VM // as it was found
	Restarted bool
	TurnedOff bool // it did not shut down in time, and was turned off
	Ready     bool // the guest answers again
	Took      time.Duration
	Notes     []Note
}

// RestartVM shuts a running VM down through its integration services and starts it again. A VM that is off is left off:
// whatever waits for its next start is served by that. One that a killed run of this provider left off is started.
func (h *Host) RestartVM(ctx context.Context, spec VMRestartSpec) (*VMRestartReport, error) {
	const op = "restart the VM"
	unlock, err := h.lockVM(ctx, spec.VMName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	inv, err := h.read(ctx, op, vmAbout(spec.VMName), partHost, partLedger, partVM(spec.VMID, spec.VMName))
	if err != nil {
		return nil, err
	}
	ref := AdapterRef{VMID: spec.VMID, VMName: spec.VMName}
	vm, err := inv.findVM(h, op, ref)
	if err != nil {
		return nil, h.elaborate(ctx, ref, err)
	}
	r := &vmRestart{host: h, vm: *vm, options: spec.withDefaults(), progress: spec.Progress, ledger: inv.ledger, now: inv.Now(), reason: "it was asked to be restarted"}
	report := &VMRestartReport{VM: *vm}
	start := time.Now()
	if err := r.run(ctx, nil); err != nil {
		return report, err
	}
	report.Restarted, report.TurnedOff, report.Took = r.started, r.turnedOff, time.Since(start)
	if r.started && spec.WaitForGuest {
		if err := r.awaitSession(ctx, spec.Credential); err != nil {
			return report, err
		}
	}
	report.Ready, report.Notes = r.ready, r.notes
	return report, nil
}

// whileOff makes a change for which a running VM of Generation 1 must be off, and is restarted around it (facts.md 61a).
func (h *Host) whileOff(ctx context.Context, inv *Inventory, vm *VM, rules RestartRules, change func(context.Context) error) ([]Note, error) {
	if rules.Policy != RestartAuto || vm.Generation >= 2 {
		return nil, change(ctx)
	}
	r := &vmRestart{host: h, vm: *vm, options: rules.VM.withDefaults(), ledger: inv.ledger, now: inv.Now(), reason: "a network adapter of a VM of Generation 1 is added or removed only while it is off"}
	err := r.run(ctx, change)
	if r.started {
		r.notes = append(r.notes, Note{fmt.Sprintf("The VM %q was restarted", vm.Name), "It is of Generation 1, in which network adapters are added and removed only while the VM is off (facts.md 61a)."})
	}
	return r.notes, err
}

// startStopped starts a VM that an earlier run of the provider shut down and never started again, if the rules let it.
// Callers hold the VM's lock.
func (h *Host) startStopped(ctx context.Context, inv *Inventory, vm *VM, rules RestartRules) (bool, []Note, error) {
	if _, unfinished := inv.ledger.stoppedVM(vm.ID); !unfinished || vm.State != "Off" || rules.Policy == RestartManual {
		return false, nil, nil
	}
	r := &vmRestart{host: h, vm: *vm, options: rules.VM.withDefaults(), ledger: inv.ledger, now: inv.Now()}
	if err := r.run(ctx, nil); err != nil {
		return false, r.notes, err
	}
	return true, append(r.notes, Note{fmt.Sprintf("The VM %q was started again", vm.Name), "An earlier run shut it down for a restart and ended before it could start it."}), nil
}

// vmRestart is a restart on its way. Callers hold the VM's lock.
type vmRestart struct {
	host     *Host
	vm       VM
	options  VMRestartOptions
	progress func(string)
	ledger   *ledger
	now      time.Time // the host's
	reason   string    // why it is restarted, for the ledger

	started, turnedOff, ready bool
	notes                     []Note
}

// ownerStopped owns the debt for a VM that this provider shut down and has yet to start again.
const ownerStopped = "a shut down VM"

// stoppedVM says that the provider shut the VM down and never started it again.
func (l *ledger) stoppedVM(id string) (Debt, bool) {
	for _, d := range l.debts() {
		if d.Owner == ownerStopped && d.Kind == RestartVM && sameGUID(d.TargetID, id) {
			return d, true
		}
	}
	return Debt{}, false
}

// run restarts the VM; between runs while it is off. What fails there does not keep the VM from being started again.
func (r *vmRestart) run(ctx context.Context, between func(context.Context) error) error {
	ours, unfinished := r.ledger.stoppedVM(r.vm.ID)
	switch {
	case r.vm.State == "Off" && unfinished:
	case r.vm.State == "Off":
		r.say("The VM %q is off: it needs no restart.", r.vm.Name)
		if between != nil {
			return between(ctx)
		}
		return nil
	default:
		if err := r.refuse(); err != nil {
			return err
		}
		var err error
		if ours, err = r.stop(ctx); err != nil {
			return err
		}
	}
	var failed error
	if between != nil {
		failed = between(ctx)
	}
	// Also for somebody who cancelled or has no time left: a VM that was running must not be left off.
	up, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(r.options.GuestTimeout, r.host.opts.RestartWait))
	defer cancel()
	if err := r.start(up, ours); err != nil {
		return errors.Join(failed, err)
	}
	if failed == nil {
		r.awaitHeartbeat(ctx)
	}
	return failed
}

// refuse names what is not restarted.
func (r *vmRestart) refuse() error {
	e := &Error{Kind: Conflict, Op: "restart the VM", Host: r.host.Name, Object: vmAbout(r.vm.Name), Attribute: "vm_name", Value: r.vm.Name}
	switch {
	case r.vm.IsClustered:
		e.Cause = "The VM belongs to a failover cluster, which takes a VM that somebody else shuts down for failed."
		e.Fix = "Restart it by the cluster (Stop-ClusterGroup, Start-ClusterGroup), then apply again."
	case r.vm.State != "Running":
		// resuming would not load a new configuration, and a saved state is not ours to discard
		e.Cause = fmt.Sprintf("The VM is %s; only a running VM can be restarted.", strings.ToLower(r.vm.State))
		e.Fix = "Resume or shut down the VM, then apply again."
	default:
		return nil
	}
	return e
}

func (r *vmRestart) say(format string, args ...any) {
	if r.progress != nil {
		r.progress(fmt.Sprintf(format, args...))
	}
}
