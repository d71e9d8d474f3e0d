package powershell

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

const (
	// closeTime bounds the removal of a process and its shell.
	closeTime = 10 * time.Second
	// graceTime is how long a batch that changes something may go on after its caller gave up.
	graceTime = 10 * time.Second
	// startTries bounds how often a process is started that ends, or answers wrongly, at once.
	startTries = 2
	// lineOverhead is room for the fields of a line around its base64.
	lineOverhead = 64
	// maxRequest is what ConvertFrom-Json surely takes in old versions: 2097152 characters
	// (MaxJsonLength of JavaScriptSerializer).
	maxRequest = 2000000
)

// process is what a Runner needs of a *winrm.Process.
type process interface {
	MaxLine() int
	Send(ctx context.Context, data []byte) error
	Receive(ctx context.Context, stdout, stderr io.Writer) (done bool, code int, reposted bool, err error)
	Close(ctx context.Context) error
}

type logFunc func(ctx context.Context, message string, fields map[string]any)

// Runner is one PowerShell process with the runner script in it. One batch at a time.
type Runner struct {
	mu     sync.Mutex
	p      process
	log    logFunc
	stdout lineBuffer
	stderr tail
	hello  *wire.Hello
	id     int64
	answer *answer // of the batch that runs
	dead   error
	closed bool

	grace, closeTime time.Duration
	force            context.Context //nolint:containedctx // ends a grace; the pool's life, not a caller's
}

// Open starts a process on the host. Errors are those of package winrm, or *StartError.
func Open(ctx context.Context, cfg winrm.Config) (*Runner, error) {
	for try := 1; ; try++ {
		t, err := winrm.NewTransport(cfg)
		if err != nil {
			return nil, err
		}
		p, err := winrm.Start(ctx, t, CommandLine())
		if err != nil {
			return nil, err
		}
		r, err := newRunner(ctx, p, cfg.Log)
		if err == nil || try == startTries || ctx.Err() != nil || unreachable(err) {
			return r, err
		}
	}
}

// newRunner sends the script to a process that runs the bootstrap, and waits for its hello.
func newRunner(ctx context.Context, p process, log logFunc) (*Runner, error) {
	if log == nil {
		log = func(context.Context, string, map[string]any) {}
	}
	r := &Runner{p: p, log: log, grace: graceTime, closeTime: closeTime, force: context.Background()}
	r.stdout = lineBuffer{frame: r.frame, noise: func(line string) {
		log(ctx, "the host's PowerShell process printed something", map[string]any{"text": line})
	}}
	begun := time.Now()
	if err := r.start(ctx); err != nil {
		r.dead = err
		r.remove(ctx)
		return nil, &StartError{Err: err, Stderr: r.stderr.String()}
	}
	log(ctx, "PowerShell process started", map[string]any{"version": r.hello.Version, "edition": r.hello.Edition, "pid": r.hello.PID, "milliseconds": time.Since(begun).Milliseconds()})
	return r, nil
}

func (r *Runner) start(ctx context.Context) error {
	for _, lines := range scriptInput(r.p.MaxLine()) {
		if err := r.p.Send(ctx, []byte(lines)); err != nil {
			if fault := (*winrm.Fault)(nil); errors.As(err, &fault) {
				r.lastWords(ctx)
			}
			return err
		}
	}
	for {
		reposted, err := r.receive(ctx)
		switch {
		case r.hello != nil && r.hello.Protocol != wire.ProtocolVersion:
			return fmt.Errorf("it speaks protocol %d instead of %d", r.hello.Protocol, wire.ProtocolVersion)
		case r.hello != nil && !supported(r.hello.Version):
			return fmt.Errorf("it is version %s; 5.1 or later is needed", r.hello.Version)
		case r.hello != nil:
			return nil
		case err != nil:
			return err
		case reposted:
			if err := r.p.Send(ctx, []byte("H\n")); err != nil {
				return err
			}
		}
	}
}

// lastWords takes in why a process ended that takes no more input.
func (r *Runner) lastWords(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for {
		if _, err := r.receive(ctx); err != nil {
			return
		}
	}
}

// supported says whether the runner script runs in this version of PowerShell.
func supported(version string) bool {
	var major, minor int
	if n, err := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 || err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 1
}

// Do runs one batch. After a *LostError the runner is of no more use.
func (r *Runner) Do(ctx context.Context, calls ...Call) ([]wire.Result, error) {
	groups, err := r.doGroups(ctx, [][]Call{calls})
	if err != nil {
		if !r.alive() {
			r.remove(ctx)
		}
		return nil, err
	}
	return groups[0], nil
}

// doGroups is Do, but leaves the shell of a runner that is of no more use to Close.
func (r *Runner) doGroups(ctx context.Context, groups [][]Call) ([][]wire.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead != nil {
		return nil, &LostError{Err: r.dead}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	data, err := json.Marshal(request(groups))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRequest {
		return nil, &RunnerError{wire.CommandError{
			ID: wire.ErrorRunner, Category: "LimitsExceeded", Message: fmt.Sprintf("a batch of %d bytes; PowerShell takes %d", len(data), maxRequest),
		}}
	}
	grace := r.grace
	if readOnly(groups) {
		grace = 0
	}
	work, stop := withGrace(ctx, r.force, grace)
	defer stop()

	text, err := r.exchange(work, data)
	if err != nil {
		r.dead = err
		return nil, err
	}
	var reply wire.Reply
	if err := json.Unmarshal(text, &reply); err != nil {
		err = badReply("%v", err)
		r.dead = err
		return nil, err
	}
	if err := checkReply(groups, reply); err != nil {
		return nil, err
	}
	return reply.Groups, nil
}

// withGrace is ctx whose cancellation comes later by grace, unless force ends.
func withGrace(ctx, force context.Context, grace time.Duration) (context.Context, func()) {
	if grace == 0 {
		return ctx, func() {}
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	finished := make(chan struct{})
	stopWatch := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel(context.Cause(ctx))
		case <-force.Done():
			cancel(context.Cause(force))
		case <-finished:
		}
	})
	return work, func() {
		stopWatch()
		close(finished)
		cancel(nil)
	}
}

// exchange sends a request and collects its answer. Errors are *LostError.
func (r *Runner) exchange(ctx context.Context, data []byte) ([]byte, error) {
	r.id++
	pieces := wire.SplitPieces(r.id, data, r.p.MaxLine()-lineOverhead)
	r.answer = &answer{id: r.id}
	defer func() { r.answer = nil }()

	for i, piece := range pieces {
		if err := r.p.Send(ctx, []byte(piece.RequestLine())); err != nil {
			// Only the last piece starts a batch, and only if it arrived.
			return nil, &LostError{Err: err, Started: i == len(pieces)-1 && sent(err)}
		}
	}
	for {
		reposted, err := r.receive(ctx)
		if text, ok, badErr := r.answer.text(); badErr != nil {
			return nil, &LostError{Err: badErr, Started: true}
		} else if ok {
			return text, nil
		}
		if err != nil {
			return nil, &LostError{Err: err, Started: true}
		}
		var again []wire.Piece
		switch missing := r.answer.missing; {
		case r.answer.unknown:
			again = pieces
		case missing != nil:
			for _, i := range missing {
				if i >= 0 && i < len(pieces) {
					again = append(again, pieces[i])
				}
			}
		case reposted:
			// Output may be lost, so ask for it. While the batch runs the question waits in stdin.
			r.log(ctx, "asking the host's PowerShell process for its answer again", nil)
			if err := r.p.Send(ctx, fmt.Appendf(nil, "R %d\n", r.id)); err != nil {
				return nil, &LostError{Err: err, Started: true}
			}
		}
		r.answer.unknown, r.answer.missing = false, nil
		for _, piece := range again {
			if err := r.p.Send(ctx, []byte(piece.RequestLine())); err != nil {
				return nil, &LostError{Err: err, Started: true}
			}
		}
	}
}

// sent says whether a failed Send may have arrived after all.
func sent(err error) bool {
	var op *winrm.OpError
	return !errors.As(err, &op) || op.Sent
}

// receive waits for output once and takes in what came.
func (r *Runner) receive(ctx context.Context) (reposted bool, err error) {
	done, code, reposted, err := r.p.Receive(ctx, &r.stdout, &r.stderr)
	if err == nil && done {
		err = &exitError{code: code, stderr: r.stderr.String()}
	}
	return reposted, err
}

type exitError struct {
	code   int
	stderr string
}

func (e *exitError) Error() string {
	text := fmt.Sprintf("the PowerShell process ended with exit code %d", e.code)
	if e.stderr != "" {
		text += "; it said: " + e.stderr
	}
	return text
}

// frame takes in one record of the process; fields are what follows the prefix.
func (r *Runner) frame(fields []string) {
	switch {
	case fields[0] == "H" && len(fields) == 2:
		var hello wire.Hello
		if data, err := base64.StdEncoding.DecodeString(fields[1]); err == nil && json.Unmarshal(data, &hello) == nil {
			r.hello = &hello
		}
	case fields[0] == "A" && r.answer != nil:
		if piece, ok := wire.ParsePiece(fields[1:]); ok {
			r.answer.add(piece)
		}
	case fields[0] == "S" && len(fields) == 3 && r.answer != nil:
		r.answer.state(fields[1], fields[2])
	}
}

// Version is the version of PowerShell.
func (r *Runner) Version() string { return r.hello.Version }

func (r *Runner) alive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dead == nil
}

// Close ends the process and removes its shell. It may be called again.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.dead == nil {
		r.dead = ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, r.closeTime)
	defer cancel()
	return r.p.Close(ctx)
}

// remove is Close for a runner that is of no more use, whatever became of the caller.
func (r *Runner) remove(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if err := r.Close(ctx); err != nil {
		r.log(ctx, "the shell could not be removed; the host does it when its idle timeout is over", map[string]any{"error": err.Error()})
	}
}

var _ Executor = (*Runner)(nil)
