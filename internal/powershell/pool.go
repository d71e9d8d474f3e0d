package powershell

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// poolTries bounds how often a batch is given to a new process.
const poolTries = 3

// firstContact is how long a host that never answered is tried: long enough for a listener that restarts, short
// enough for a wrong address to show within seconds. A host that did answer may have lost its net adapter to a
// restart, and gets all of winrm.Config.RetryBudget.
const firstContact = 15 * time.Second

// PoolOptions bound what a Pool uses of a host. Zero values mean the defaults.
type PoolOptions struct {
	// MaxSessions is how many processes (shells) there may be at a time. 4; a host allows a user 30
	// or less (MaxShellsPerUser), for all that runs at the same time.
	MaxSessions int
	// MaxBatches and MaxAge are after how many batches, or how long, a process is replaced, since
	// PowerShell's memory grows. 500 and 30 min.
	MaxBatches int
	MaxAge     time.Duration
	// FirstContact is how long the host is tried until it answers for the first time. 15 s. Once that
	// failed, a caller gets a single try.
	FirstContact time.Duration
	// Grace is how long a batch that changes something may go on after its caller gave up. 10 s.
	Grace time.Duration
	// CloseTime bounds the removal of a process and its shell. 10 s.
	CloseTime time.Duration
}

// Pool shares a few runners of one host between callers. Runners start when they are needed; the one
// used last is used first.
type Pool struct {
	cfg  winrm.Config
	opts PoolOptions
	// open starts a runner; tests replace it.
	open func(context.Context, winrm.Config) (*Runner, error)

	slots chan struct{} // one token for each runner in use
	// force ends batches that still run when Close can wait no longer, dead the removal of shells too.
	force, dead context.Context //nolint:containedctx // the pool's own life, not a caller's
	end, die    context.CancelCauseFunc

	mu      sync.Mutex
	idle    []*pooled // the one used last is last
	closed  bool
	reached bool // the host has answered
	missed  bool // the host was tried for all of FirstContact
}

type pooled struct {
	*Runner
	born    time.Time
	batches int
}

// NewPool does not connect.
func NewPool(cfg winrm.Config, opts PoolOptions) *Pool {
	setDefault(&opts.MaxSessions, 4)
	setDefault(&opts.MaxBatches, 500)
	setDefault(&opts.MaxAge, 30*time.Minute)
	setDefault(&opts.FirstContact, firstContact)
	setDefault(&opts.Grace, graceTime)
	setDefault(&opts.CloseTime, closeTime)
	if cfg.Log == nil {
		cfg.Log = func(context.Context, string, map[string]any) {}
	}
	p := &Pool{cfg: cfg.Shared(), opts: opts, open: Open, slots: make(chan struct{}, opts.MaxSessions)}
	p.force, p.end = context.WithCancelCause(context.Background())
	p.dead, p.die = context.WithCancelCause(context.Background())
	return p
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Do runs one batch on a runner that is free. A batch that surely did not begin, or that only reads,
// runs again on another process if its own was lost.
func (p *Pool) Do(ctx context.Context, calls ...Call) ([]wire.Result, error) {
	groups, err := p.doGroups(ctx, [][]Call{calls})
	if err != nil {
		return nil, err
	}
	return groups[0], nil
}

// take gives an idle runner or starts one. Fresh means that an idle one will not do: what took one
// process away has often taken all of them.
func (p *Pool) take(ctx context.Context, fresh bool) (*pooled, error) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		var r *pooled
		if n := len(p.idle); n > 0 {
			r, p.idle = p.idle[n-1], p.idle[:n-1]
		}
		p.mu.Unlock()
		if r == nil {
			runner, err := p.open(ctx, p.contact())
			p.noteContact(err)
			if err != nil {
				return nil, err
			}
			runner.grace, runner.closeTime, runner.force = p.opts.Grace, p.opts.CloseTime, p.force
			return &pooled{Runner: runner, born: time.Now()}, nil
		}
		if !fresh && time.Since(r.born) < p.opts.MaxAge {
			return r, nil
		}
		p.discard(ctx, r)
	}
}

// contact is the configuration for the next runner to open.
func (p *Pool) contact() winrm.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	cfg := p.cfg
	switch {
	case p.reached:
	case p.missed:
		cfg.ContactBudget = time.Nanosecond
	default:
		cfg.ContactBudget = p.opts.FirstContact
	}
	return cfg
}

// noteContact takes in how opening a runner went.
func (p *Pool) noteContact(err error) {
	var network *winrm.NetError
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.reached = true
	case errors.As(err, &network) && network.Op == winrm.OpCreate:
		p.missed = true
	}
}

func (p *Pool) put(ctx context.Context, r *pooled) {
	r.batches++
	p.mu.Lock()
	keep := !p.closed && r.alive() && r.batches < p.opts.MaxBatches
	if keep {
		p.idle = append(p.idle, r)
	}
	p.mu.Unlock()
	if !keep {
		p.discard(ctx, r)
	}
}

// discard removes a process, whatever became of the caller.
func (p *Pool) discard(ctx context.Context, r *pooled) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(p.dead, cancel)()
	if err := r.Close(ctx); err != nil {
		p.cfg.Log(ctx, "a shell could not be removed; the host does it when its idle timeout is over", map[string]any{"error": err.Error()})
	}
}

// Close removes all shells. It waits for batches that still run for two thirds of the time that ctx leaves
// and then ends them too. No batch can run afterwards.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()

	patience, cancel := ctx, context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		patience, cancel = context.WithTimeout(ctx, time.Until(deadline)*2/3)
		defer context.AfterFunc(ctx, func() { p.die(ErrClosed) })()
	}
	defer cancel()
	var group sync.WaitGroup
	failures := make([]error, len(idle))
	for i, r := range idle {
		group.Go(func() { failures[i] = r.Close(ctx) })
	}
	group.Wait()
	for range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
			continue
		case <-patience.Done():
		}
		p.end(ErrClosed)
		p.slots <- struct{}{}
	}
	p.end(ErrClosed)
	p.die(ErrClosed)
	p.cfg.Release()
	return errors.Join(failures...)
}

var _ Executor = (*Pool)(nil)
