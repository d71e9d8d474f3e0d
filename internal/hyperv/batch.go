package hyperv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// batch gathers cmdlet calls that run in one go on a host, and hands each its result.
type batch struct {
	host   *Host
	op     string // "create the switch": what an error says was tried
	about  string // `switch "X"`
	calls  []powershell.Call
	takes  []func(*wire.Result) error
	checks []func() error
}

func (h *Host) batch(op, about string) *batch { return &batch{host: h, op: op, about: about} }

// option changes how the batch treats one call.
type option func(*callOptions)

type callOptions struct {
	tolerate func(wire.CommandError) bool
	readOnly bool
}

// tolerating lets error records pass that f accepts: the call then counts as having found nothing.
// absent tolerates that what a call asks for is not there.
func absent() option {
	return tolerating(func(c wire.CommandError) bool { return commandKind(c) == NotFound })
}

func tolerating(f func(wire.CommandError) bool) option {
	return func(o *callOptions) { o.tolerate = f }
}

func anyError(wire.CommandError) bool { return true }

// answer is one call's result after the batch ran.
type answer struct {
	Reached  bool // false when a call before it stopped the batch
	Skipped  bool // its input was empty
	Errors   []wire.CommandError
	Warnings []string
	raw      []json.RawMessage
}

// failed says that the call gave an error record that was tolerated.
func (a *answer) failed() bool { return len(a.Errors) > 0 }

// change adds a call that may change something.
func (b *batch) change(c wire.Call, opts ...option) *answer { return b.add(c, false, opts...) }

func (b *batch) add(c wire.Call, readOnly bool, opts ...option) *answer {
	o := callOptions{readOnly: readOnly}
	for _, f := range opts {
		f(&o)
	}
	if o.tolerate != nil {
		c.OnError = wire.OnErrorContinue
	}
	a := &answer{}
	b.calls = append(b.calls, powershell.Call{Call: c, ReadOnly: o.readOnly})
	b.takes = append(b.takes, func(r *wire.Result) error {
		if r == nil {
			return nil
		}
		a.Reached, a.Skipped, a.Errors, a.Warnings, a.raw = true, r.Skipped, r.Errors, r.Warnings, r.Output
		for i := range r.Errors {
			if o.tolerate == nil || !o.tolerate(r.Errors[i]) {
				return b.commandError(c, r.Errors[i])
			}
		}
		return nil
	})
	return a
}

// found is the objects that a Get- call gave.
type found[T any] struct {
	*answer
	Items []T
}

// find adds a call that only reads, projected on T.
func find[T any](b *batch, c wire.Call, opts ...option) *found[T] {
	return projected[T](b, c, true, opts...)
}

// changeAndRead adds a changing call whose output (of -Passthru, or of New-) is wanted.
func changeAndRead[T any](b *batch, c wire.Call, opts ...option) *found[T] {
	return projected[T](b, c, false, opts...)
}

func projected[T any](b *batch, c wire.Call, readOnly bool, opts ...option) *found[T] {
	if c.Select == nil {
		c.Select = fieldsOf[T]()
	}
	f := &found[T]{answer: b.add(c, readOnly, opts...)}
	i := len(b.takes) - 1
	take := b.takes[i]
	b.takes[i] = func(r *wire.Result) error {
		if err := take(r); err != nil || r == nil {
			return err
		}
		for _, raw := range f.raw {
			var v T
			if err := json.Unmarshal(raw, &v); err != nil {
				return &Error{Kind: Other, Op: b.op, Host: b.host.Name, Object: b.about, Err: fmt.Errorf("%s answered what could not be read: %w", c.Cmdlet, err)}
			}
			f.Items = append(f.Items, v)
		}
		return nil
	}
	return f
}

// run sends the batch. The first error that no call tolerates is returned; results of calls that ran
// before it are filled in all the same.
func (b *batch) run(ctx context.Context) error {
	if len(b.calls) == 0 {
		return nil
	}
	readOnly := true
	for _, c := range b.calls {
		readOnly = readOnly && c.ReadOnly
	}
	exec := b.host.exec
	if readOnly && b.host.reads != nil {
		exec = b.host.reads
	}
	if !readOnly {
		b.host.invalidate()
		defer b.host.invalidate()
	}
	results, err := exec.Do(ctx, b.calls...)
	if err != nil {
		return b.transportError(err, readOnly)
	}
	return b.take(results)
}

// take hands every call its result.
func (b *batch) take(results []wire.Result) error {
	var first error
	for i, take := range b.takes {
		var r *wire.Result
		if i < len(results) {
			r = &results[i]
		}
		if err := take(r); err != nil && first == nil {
			first = err
		}
	}
	for _, check := range b.checks {
		if err := check(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// check adds something to look at once the batch has run.
func (b *batch) check(f func() error) { b.checks = append(b.checks, f) }

func (b *batch) commandError(c wire.Call, ce wire.CommandError) error {
	e := &Error{Kind: commandKind(ce), Op: b.op, Host: b.host.Name, Object: b.about, Command: &ce}
	switch {
	case ce.Session:
		e.Cause, e.Fix = sessionCause(ce)
		e.Err = ce.Cause
	case e.Kind == Unauthorized:
		e.Cause = "The user of the WinRM session lacks a right that " + c.Cmdlet + " needs."
		e.Fix = "Make the user a member of the host's Administrators group (Hyper-V Administrators is not enough for net adapters and the registry)."
	case e.Kind == Unsupported && idHead(ce) == "CommandNotFoundException":
		e.Cause = "This Windows build has no cmdlet " + c.Cmdlet + "."
		e.Fix = "Install the Hyper-V PowerShell module (Install-WindowsFeature Hyper-V-PowerShell), or leave out the attribute that needs the cmdlet."
	}
	return e
}

func (b *batch) transportError(err error, readOnly bool) error {
	e := &Error{Kind: Other, Op: b.op, Host: b.host.Name, Object: b.about, Err: err}
	if constrained(err) {
		finding := languageFinding()
		e.Kind, e.Cause, e.Fix = Unsupported, finding.Finding, finding.Fix
		return e
	}
	if readOnly || !changeLost(err) {
		return e
	}
	e.Kind = SessionLost
	e.Cause = "The connection was lost while the change may have been running."
	e.Fix = "Plan again: the provider reads what is there and continues from it."
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = TimedOut
		e.Cause = "The time for this was over while the change was running. The host may still be at it."
		e.Fix = "Look at the host until it is done, then plan again: the provider reads what is there and continues from it. Raise the timeout in timeouts of the resource if it only needs longer."
	case errors.Is(err, context.Canceled):
		e.Cause = "The run was cancelled while the change was running, and the change did not end in the time that it has then. The host may still be at it."
	}
	return e
}

// changeLost says that a change may have run whose results cannot be had any more.
func changeLost(err error) bool {
	var lost *powershell.LostError
	return errors.As(err, &lost) && lost.Started
}
