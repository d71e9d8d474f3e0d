package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

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
	answered := strings.HasPrefix(r.vm.Heartbeat, "Ok") // before it was asked
	if err != nil || vm == nil || vm.State != "Running" || answered || vm.Uptime > r.options.GuestTimeout.Seconds() {
		return false
	}
	r.vm.Heartbeat = vm.Heartbeat
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
