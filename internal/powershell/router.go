package powershell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// GuestRoutes knows the guests that are reached without their host.
type GuestRoutes interface {
	// Route gives what runs the calls of a guest; nil leaves them to the host and PowerShell Direct.
	Route(wire.Guest) Executor
}

// Router is the Executor of a host some of whose guests have a way of their own. It hands each part of a
// batch to where it belongs, in order, and puts the results back in their places, so that a caller cannot
// tell by which way a guest was reached. What went wrong on the way to such a guest is in the results of
// its calls, as the runner writes it for PowerShell Direct.
//
// A part that refers to what an earlier part saved gets it by running those calls again in front of its
// own, since a process keeps no names from one batch to the next. Only calls that change nothing can be
// repeated: a batch that refers across parts to a call that changes something is refused whole.
type Router struct {
	host   Executor
	guests GuestRoutes
}

// NewRouter puts a Router in front of a host.
func NewRouter(host Executor, guests GuestRoutes) *Router { return &Router{host, guests} }

// Do implements Executor.
func (r *Router) Do(ctx context.Context, calls ...Call) ([]wire.Result, error) {
	parts, routed := r.split(calls)
	if !routed {
		return r.host.Do(ctx, calls...)
	}
	for i := range parts {
		if err := parts[i].prepare(calls); err != nil {
			return nil, err
		}
	}
	results := make([]wire.Result, 0, len(calls))
	changed := false
	for i := range parts {
		p := &parts[i]
		got, err := p.run(ctx, calls, results)
		if err != nil {
			var lost *LostError
			if changed && (!errors.As(err, &lost) || !lost.Started) {
				err = &LostError{Err: err, Started: true}
			}
			return nil, err
		}
		results = append(results, got...)
		if last := calls[len(results)-1]; len(got) < p.to-p.from || len(got[len(got)-1].Errors) > 0 && last.OnError != wire.OnErrorContinue {
			return results, nil
		}
		changed = changed || !readOnly([][]Call{calls[p.from:p.to]})
	}
	return results, nil
}

// part is calls of a batch, from and up to to, that follow one another on the same way.
type part struct {
	way      Executor
	guest    bool // way is a guest's own
	from, to int
	replay   []int // earlier calls whose saved objects the part refers to
}

func (r *Router) split(calls []Call) (parts []part, routed bool) {
	for i, call := range calls {
		way, guest := r.host, false
		if call.Guest != nil {
			if own := r.guests.Route(*call.Guest); own != nil {
				way, guest, routed = own, true, true
			}
		}
		if n := len(parts); n > 0 && parts[n-1].way == way {
			parts[n-1].to++
			continue
		}
		parts = append(parts, part{way: way, guest: guest, from: i, to: i + 1})
	}
	return parts, routed
}

// prepare finds the calls that must run again in front of the part.
func (p *part) prepare(calls []Call) error {
	needed := map[int]bool{}
	var need func(i int) error
	need = func(i int) error {
		for _, name := range references(calls[i].Call) {
			if err := p.need(calls, i, calls[i].Guest, name, needed, need); err != nil {
				return err
			}
		}
		if calls[i].Guest == nil || p.guest {
			return nil
		}
		for _, name := range references(calls[i].Guest.VMID) {
			if err := p.need(calls, i, nil, name, needed, need); err != nil {
				return err
			}
		}
		return nil
	}
	for i := p.from; i < p.to; i++ {
		if err := need(i); err != nil {
			return err
		}
	}
	for i := range p.from {
		if needed[i] {
			p.replay = append(p.replay, i)
		}
	}
	return nil
}

// need marks the call that saved a name for call i, if it stands in an earlier part.
func (p *part) need(calls []Call, i int, guest *wire.Guest, name reference, needed map[int]bool, more func(int) error) error {
	j := savedBy(calls[:i], guest, name.call)
	if j < 0 || j >= p.from || needed[j] {
		return nil
	}
	if !calls[j].ReadOnly {
		return &RunnerError{wire.CommandError{ID: wire.ErrorRunner, Category: "InvalidOperation",
			Message: "A batch of which one part runs in a guest by its own connection refers across it to the output of " + calls[j].Cmdlet + ", which cannot run twice."}}
	}
	needed[j] = true
	return more(j)
}

// run gives one result for each call of the part that was reached.
func (p *part) run(ctx context.Context, calls []Call, before []wire.Result) ([]wire.Result, error) {
	own := calls[p.from:p.to]
	if p.guest && !machineFound(calls, p.from, before) {
		return failed(own, wire.CommandError{ID: wire.ErrorReferenceEmpty, Category: "ObjectNotFound", Message: "The virtual machine that this call refers to was not found."}), nil
	}
	if state, known := machineState(calls, p.from, before); p.guest && known && state != stateRunning {
		return failed(own, wire.CommandError{ID: wire.ErrorGuestNotRunning, Category: "InvalidArgument", Session: true,
			Message: fmt.Sprintf("The virtual machine %s is not running: its state is %s.", calls[p.from].Guest.Name, state)}), nil
	}
	batch := make([]Call, 0, len(p.replay)+len(own))
	for _, i := range p.replay {
		again := calls[i]
		again.OnError = wire.OnErrorContinue // what refers to it then finds nothing
		batch = append(batch, again)
	}
	batch = append(batch, own...)
	if p.guest {
		for i := range batch {
			batch[i].Guest = nil
		}
	}
	results, err := p.way.Do(ctx, batch...)
	switch {
	case err == nil && len(results) > len(p.replay):
		results = results[len(p.replay):]
	case err == nil:
		err = badReply("%d results for %d calls", len(results), len(batch))
	case ctx.Err() != nil:
		return nil, err
	}
	if err != nil {
		if p.guest {
			return failed(own, guestError(err)), nil
		}
		return nil, err
	}
	if p.guest {
		for _, result := range results {
			for i := range result.Errors {
				// A guest is not trusted to say that the way to it failed.
				result.Errors[i].Session, result.Errors[i].Started = false, false
			}
		}
	}
	return results, nil
}

// machineFound says whether the calls that a guest's VMID refers to found anything.
func machineFound(calls []Call, i int, before []wire.Result) bool {
	for _, name := range references(calls[i].Guest.VMID) {
		j := savedBy(calls[:i], nil, name.call)
		if j < 0 || j >= len(before) || len(before[j].Output) <= name.index {
			return false
		}
	}
	return true
}

// stateRunning is the State of a machine that has a guest to talk to.
const stateRunning = "Running"

// machineState is the machine's state as an earlier call of the batch read it. Known is false where none did.
func machineState(calls []Call, i int, before []wire.Result) (state string, known bool) {
	if calls[i].Guest == nil || calls[i].Guest.State == nil {
		return "", false
	}
	ref := calls[i].Guest.State
	j := savedBy(calls[:i], nil, ref.Call)
	if j < 0 || j >= len(before) || ref.Index == nil || len(before[j].Output) <= *ref.Index {
		return "", false
	}
	var properties map[string]any
	if json.Unmarshal(before[j].Output[*ref.Index], &properties) != nil {
		return "", false
	}
	state, known = properties[ref.Path].(string)
	return state, known
}

// failed is the same error for each call, up to one that stops the batch.
func failed(calls []Call, failure wire.CommandError) []wire.Result {
	var results []wire.Result
	for _, call := range calls {
		results = append(results, wire.Result{Errors: []wire.CommandError{failure}})
		if call.OnError != wire.OnErrorContinue {
			break
		}
	}
	return results
}

// guestError is the record for a guest that could not be reached, or was lost.
func guestError(err error) wire.CommandError {
	e := wire.CommandError{ID: wire.ErrorGuestConnection, Category: "OpenError", Message: err.Error(), Session: true, Cause: err}
	var (
		lost     *LostError
		runner   *RunnerError
		auth     *winrm.AuthError
		kerberos *winrm.KerberosError
		network  *winrm.NetError
	)
	switch {
	case errors.As(err, &runner):
		e.ID, e.Category, e.Started = wire.ErrorGuestAnswer, "InvalidData", true
	case errors.As(err, &auth), errors.As(err, &kerberos) && kerberos.OfUser(), winrm.IsFault(err, winrm.CodeAccessDenied):
		e.ID, e.Category = wire.ErrorGuestRefused, "PermissionDenied"
	case errors.As(err, &lost) && !lost.Started && errors.As(err, &network): // a kept process that is out of reach
	case errors.As(err, &lost):
		e.ID, e.Category, e.Started = wire.ErrorGuestLost, "ConnectionError", lost.Started
	}
	return e
}

var _ Executor = (*Router)(nil)
