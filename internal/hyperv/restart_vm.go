package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
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

// stop writes into the ledger that the VM is to be started again, and shuts it down.
func (r *vmRestart) stop(ctx context.Context) (Debt, error) {
	ours := Debt{Kind: RestartVM, Target: r.vm.Name, TargetID: r.vm.ID, Owner: ownerStopped, Since: r.now,
		Reason: "the VM was shut down because " + r.reason + ", and is to be started again"}
	w := r.ledger.writes()
	w.owe(ours)
	r.say("Shutting down the VM %q by its integration services.", r.vm.Name)
	limit, cancel := context.WithTimeout(ctx, r.options.ShutdownTimeout)
	defer cancel()
	var err error
	for {
		b := r.host.batch("shut down the VM", vmAbout(r.vm.Name))
		w.addPuts(b)
		find[VM](b, wire.Call{Cmdlet: "Get-VM", Save: "vm", Parameters: map[string]any{"Id": wire.GUID(r.vm.ID)}})
		// Force only skips the question whether a locked guest may be shut down; it does not turn the VM off
		b.change(wire.Call{Cmdlet: "Stop-VM", Input: "vm", Parameters: map[string]any{"Force": true, "Confirm": false}})
		release := w.guard(r.host)
		err = b.run(limit)
		release()
		w.apply()
		if !r.booting(limit, err) {
			break
		}
	}
	if err == nil || KindOf(err) == SessionLost || errors.Is(err, context.DeadlineExceeded) { // its answer does not decide: the VM does
		if awaited := r.await(limit, "Off"); awaited == nil {
			return ours, nil
		} else if err == nil {
			err = awaited
		}
	}
	if ctx.Err() != nil {
		return ours, err // the record stays, unless the VM goes on
	}
	if r.options.OnTimeout == OnTimeoutTurnOff {
		r.say("The VM %q did not shut down: turning it off.", r.vm.Name)
		if off := r.turnOff(ctx); off != nil {
			return ours, errors.Join(err, off)
		}
		return ours, nil
	}
	return ours, errors.Join(r.refusedShutdown(err), r.forget(ctx, ours))
}

// booting says whether a guest could not be asked to shut down because it is still starting, and waits a moment for it.
func (r *vmRestart) booting(ctx context.Context, err error) bool {
	var e *Error
	if !asError(err, &e) || e.Command == nil {
		return false
	}
	vm, err := r.look(ctx)
	if err != nil || vm == nil || vm.State != "Running" || strings.HasPrefix(vm.Heartbeat, "Ok") || vm.Uptime > r.options.GuestTimeout.Seconds() {
		return false
	}
	return r.host.wait(ctx) == nil
}

// refusedShutdown says what a person can do about a guest that does not shut down.
func (r *vmRestart) refusedShutdown(err error) error {
	e := &Error{Kind: TimedOut, Op: "shut down the VM", Host: r.host.Name, Object: vmAbout(r.vm.Name), Attribute: "vm_restart.shutdown_timeout", Value: r.options.ShutdownTimeout.String(), Err: err,
		Cause: fmt.Sprintf("The guest did not shut down within %s.", r.options.ShutdownTimeout),
		Fix:   `Shut the VM down in its console and apply again; raise vm_restart.shutdown_timeout; or set vm_restart.on_timeout = "turn_off", by which the guest loses what it has not written.`}
	var said *Error
	if asError(err, &said) && said.Command != nil {
		e.Command, e.Err, e.Kind = said.Command, nil, said.Kind
		e.Cause = "The guest could not be asked to shut down: its integration service for that is turned off, or the guest does not run it (yet)."
		e.Attribute, e.Value = "vm_restart.on_timeout", r.options.OnTimeout
	}
	return e
}

func (r *vmRestart) turnOff(ctx context.Context) error {
	b := r.host.batch("turn off the VM", vmAbout(r.vm.Name))
	find[VM](b, wire.Call{Cmdlet: "Get-VM", Save: "vm", Parameters: map[string]any{"Id": wire.GUID(r.vm.ID)}})
	b.change(wire.Call{Cmdlet: "Stop-VM", Input: "vm", Parameters: map[string]any{"TurnOff": true, "Force": true, "Confirm": false}})
	if err := b.run(ctx); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, r.host.opts.RestartWait)
	defer cancel()
	if err := r.await(limit, "Off"); err != nil {
		return err
	}
	r.turnedOff = true
	r.notes = append(r.notes, Note{fmt.Sprintf("The VM %q was turned off", r.vm.Name),
		fmt.Sprintf("It did not shut down within %s, and vm_restart.on_timeout is turn_off. What its guest had not written is lost.", r.options.ShutdownTimeout)})
	return nil
}

// start starts the VM, waits until it runs, and settles what its start settles.
func (r *vmRestart) start(ctx context.Context, ours Debt) error {
	r.say("Starting the VM %q.", r.vm.Name)
	b := r.host.batch("start the VM", vmAbout(r.vm.Name))
	find[VM](b, wire.Call{Cmdlet: "Get-VM", Save: "vm", Parameters: map[string]any{"Id": wire.GUID(r.vm.ID)}})
	b.change(wire.Call{Cmdlet: "Start-VM", Input: "vm", Parameters: map[string]any{"Confirm": false}})
	if err := b.run(ctx); err != nil && KindOf(err) != SessionLost {
		var e *Error
		if asError(err, &e) {
			e.Cause = "The VM was shut down for a restart and did not start again."
			e.Fix = "Start the VM, or apply again: that it is owed a start is written down on the host (pending_restarts), and the next apply tries it again."
		}
		return err
	}
	if err := r.await(ctx, "Running"); err != nil {
		return err
	}
	r.started = true
	return r.forget(ctx, ours)
}

// forget takes out of the ledger what a start of the VM settles.
func (r *vmRestart) forget(ctx context.Context, ours Debt) error {
	return r.host.settle(ctx, r.ledger, func(d Debt) bool {
		return d.Kind == RestartVM && sameGUID(d.TargetID, r.vm.ID) && (r.started || d.Owner == ours.Owner)
	})
}

func (r *vmRestart) await(ctx context.Context, state string) error {
	for {
		vm, err := r.look(ctx)
		if err != nil {
			return err
		}
		if vm != nil && vm.State == state {
			return nil
		}
		if err := r.host.wait(ctx); err != nil {
			return &Error{Kind: TimedOut, Op: "wait for the VM", Host: r.host.Name, Object: vmAbout(r.vm.Name), Err: err,
				Cause: "The VM did not become " + strings.ToLower(state) + " in time.",
				Fix:   "Look at the VM's console; raise the timeouts of the resource if the guest needs longer."}
		}
	}
}

func (r *vmRestart) look(ctx context.Context) (*VM, error) {
	b := r.host.batch("wait for the VM", vmAbout(r.vm.Name))
	now := find[VM](b, wire.Call{Cmdlet: "Get-VM", Parameters: map[string]any{"Id": wire.GUID(r.vm.ID)}})
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return one(now.Items), nil
}

// awaitHeartbeat waits until the guest answers its integration services, where it did so before: whoever comes next
// wants to look into it. A guest that does not is no failure of the restart.
func (r *vmRestart) awaitHeartbeat(ctx context.Context) {
	if !strings.HasPrefix(r.vm.Heartbeat, "Ok") {
		return
	}
	r.say("Waiting for the guest of the VM %q.", r.vm.Name)
	limit, cancel := context.WithTimeout(ctx, r.options.GuestTimeout)
	defer cancel()
	for {
		vm, err := r.look(limit)
		if err == nil && vm != nil && strings.HasPrefix(vm.Heartbeat, "Ok") {
			r.ready = true
			return
		}
		if err == nil {
			err = r.host.wait(limit)
		}
		if err != nil {
			r.notes = append(r.notes, Note{fmt.Sprintf("The guest of the VM %q does not answer yet", r.vm.Name),
				fmt.Sprintf("The VM was restarted and runs, and its integration services gave no heartbeat within %s (vm_restart.guest_timeout).", r.options.GuestTimeout)})
			return
		}
	}
}

// awaitSession waits until a session into the guest opens.
func (r *vmRestart) awaitSession(ctx context.Context, credential string) error {
	const op = "wait for the guest"
	target, err := r.host.guestTarget(op, AdapterRef{VMName: r.vm.Name}, r.vm.ID, credential)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, r.options.GuestTimeout)
	defer cancel()
	for {
		b := r.host.batch(op, vmAbout(r.vm.Name))
		os := find[OSInfo](b, wire.Call{Cmdlet: "Get-CimInstance", Parameters: map[string]any{"ClassName": "Win32_OperatingSystem"}, Guest: &target}, tolerating(anyError))
		err := b.run(limit)
		if err == nil && one(os.Items) != nil {
			r.ready = true
			return nil
		}
		if err == nil {
			err = r.host.wait(limit)
		}
		if err != nil {
			e := &Error{Kind: TimedOut, Op: op, Host: r.host.Name, Object: vmAbout(r.vm.Name), Err: err,
				Cause: fmt.Sprintf("The VM was restarted and runs, and no session into its guest opened within %s.", r.options.GuestTimeout),
				Fix:   "Look at the VM's console; raise the timeout if the guest needs longer; check the guest credential."}
			if len(os.Errors) > 0 {
				e.Command = &os.Errors[0]
			}
			return e
		}
	}
}
