// Package powershell runs batches of cmdlet calls on a Windows host. A batch is data (package wire);
// what runs on the host is one script, runner.ps1, in a PowerShell process that stays. A batch runs
// exactly once whatever the network does meanwhile, or the caller is told that this is not known.
package powershell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Call is one cmdlet call.
type Call struct {
	wire.Call
	// ReadOnly says that the call changes nothing, so that it may run again after a lost answer.
	ReadOnly bool
}

// Executor runs batches.
type Executor interface {
	// Do runs the calls in order, in one go, in one PowerShell process. There is a result for each
	// call that was reached; what a cmdlet had to complain about is in its result. An error is about
	// the way to the host or the batch as a whole, and *LostError where a change may have happened.
	Do(ctx context.Context, calls ...Call) ([]wire.Result, error)
}

// LostError is a batch whose results cannot be had any more.
type LostError struct {
	Err error
	// Started is true if the batch, or a part of it, may have run.
	Started bool
}

func (e *LostError) Error() string {
	if e.Started {
		return fmt.Sprintf("the connection to the host's PowerShell process was lost, and what it was doing may or may not be done: %v", e.Err)
	}
	return fmt.Sprintf("the connection to the host's PowerShell process was lost before it began: %v", e.Err)
}
func (e *LostError) Unwrap() error { return e.Err }

// RunnerError is a batch that the runner as such could not process.
type RunnerError struct{ wire.CommandError }

func (e *RunnerError) Error() string {
	return fmt.Sprintf("the host's PowerShell process could not run the batch: %s [%s]", e.Message, e.ID)
}

// StartError is a PowerShell process that did not come up.
type StartError struct {
	Err    error
	Stderr string
}

func (e *StartError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("PowerShell did not start on the host: %v", e.Err)
	}
	return fmt.Sprintf("PowerShell did not start on the host: %v; it said: %s", e.Err, e.Stderr)
}
func (e *StartError) Unwrap() error { return e.Err }

// Constrained says whether PowerShell did not let the script run because it is in constrained language mode, as an
// application control policy makes it. The ids of its errors end so in every language, and are printed
// with line breaks where a line is full.
func (e *StartError) Constrained() bool {
	return strings.Contains(strings.Join(strings.Fields(e.Stderr), ""), "ConstrainedLanguage")
}

// ErrClosed is the error of a Pool or Runner that was closed.
var ErrClosed = errors.New("closed")

func readOnly(groups [][]Call) bool {
	for _, calls := range groups {
		for _, call := range calls {
			if !call.ReadOnly {
				return false
			}
		}
	}
	return true
}

func request(groups [][]Call) wire.Request {
	r := wire.Request{Groups: make([][]wire.Call, len(groups))}
	for i, calls := range groups {
		r.Groups[i] = make([]wire.Call, len(calls))
		for j, call := range calls {
			r.Groups[i][j] = call.Call
		}
	}
	return r
}

// checkReply makes sure that every missing result is explained by an error in front of it.
func checkReply(groups [][]Call, reply wire.Reply) error {
	if reply.Failure != nil {
		return &RunnerError{*reply.Failure}
	}
	if len(reply.Groups) != len(groups) {
		return badReply("%d groups of results for %d groups of calls", len(reply.Groups), len(groups))
	}
	for i, results := range reply.Groups {
		switch {
		case len(results) > len(groups[i]):
			return badReply("%d results for %d calls", len(results), len(groups[i]))
		case len(results) < len(groups[i]) && (len(results) == 0 || len(results[len(results)-1].Errors) == 0):
			return badReply("%d results for %d calls, and no error", len(results), len(groups[i]))
		}
	}
	return nil
}

func badReply(format string, args ...any) error {
	return &RunnerError{wire.CommandError{
		ID: wire.ErrorRunner, Category: "InvalidData", Message: "Answer that does not fit the request: " + fmt.Sprintf(format, args...),
	}}
}
