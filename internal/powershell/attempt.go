package powershell

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// outcome is what became of a batch.
type outcome struct {
	results [][]wire.Result
	err     error
}

// doGroups runs a batch on a runner that is free. A caller who gives up has its answer at once, unless something that
// changes the host has begun: that has its grace. What is left to clean up is cleaned up behind the caller's back,
// with the session still in use until then.
func (p *Pool) doGroups(ctx context.Context, groups [][]Call) ([][]wire.Result, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.force.Done():
		return nil, ErrClosed
	}
	work, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.force, func() { cancel(ErrClosed) })
	var begun atomic.Bool
	answered := make(chan outcome, 1)
	go func() {
		defer func() { <-p.slots }()
		defer cancel(nil)
		defer stop()
		p.attempt(work, groups, &begun, answered)
	}()
	select {
	case o := <-answered:
		return o.results, o.err
	case <-work.Done():
		// A batch that has not begun by now does not begin any more.
		if !begun.Load() || readOnly(groups) {
			select {
			case o := <-answered: // in the same moment
				return o.results, o.err
			default:
				return nil, context.Cause(work)
			}
		}
	}
	o := <-answered
	return o.results, o.err
}

// attempt gives a batch to one runner after the other until there is an answer that counts.
func (p *Pool) attempt(ctx context.Context, groups [][]Call, begun *atomic.Bool, answered chan<- outcome) {
	for try := 1; ; try++ {
		r, err := p.take(ctx, try > 1)
		if err != nil {
			answered <- outcome{err: err}
			return
		}
		begun.Store(true)
		start := time.Now()
		results, err := r.doGroups(ctx, groups)
		p.logBatch(ctx, groups, results, err, time.Since(start))
		o := outcome{results, err}
		if err != nil && (ctx.Err() != nil || unreachable(err)) {
			answered <- o // to remove the shell may take long
			p.put(ctx, r)
			return
		}
		p.put(ctx, r)
		var lost *LostError
		again := errors.As(err, &lost) && (!lost.Started || readOnly(groups))
		if !again || try == poolTries || ctx.Err() != nil {
			answered <- o
			return
		}
		p.cfg.Log(ctx, "the host's PowerShell process was lost, running the batch on a new one", map[string]any{"error": err.Error()})
	}
}

// unreachable says that a host was tried for the whole retry budget: to begin anew would only wait for as long again.
func unreachable(err error) bool {
	var network *winrm.NetError
	return errors.As(err, &network)
}
