package powershell

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

const (
	// gatherTime is how long a batch waits for others to join it.
	gatherTime = 5 * time.Millisecond
	// gatherCalls is with how many calls it does not wait any longer.
	gatherCalls = 50
)

// Coalescer puts batches of concurrent callers that only read into one: what a batch costs is mostly
// the way to the host and back. Each stays a group of its own, so neither names nor errors of one
// reach another. Batches that change something, or that go into a guest and so may take long, pass
// straight through.
type Coalescer struct {
	pool interface {
		doGroups(ctx context.Context, groups [][]Call) ([][]wire.Result, error)
	}

	gatherTime time.Duration

	mu      sync.Mutex
	waiting *gathering
}

// NewCoalescer puts a Coalescer in front of a pool.
func NewCoalescer(pool *Pool) *Coalescer { return &Coalescer{pool: pool, gatherTime: gatherTime} }

// gathering is one common batch.
type gathering struct {
	groups  [][]Call
	calls   int
	ctx     context.Context //nolint:containedctx // ends when the last caller has given up
	cancel  context.CancelFunc
	callers int // that still wait
	done    chan struct{}
	answers []groupAnswer // of each group, once done
}

type groupAnswer struct {
	results []wire.Result
	err     error
}

// Do runs a batch, maybe together with others. A caller that gives up does not disturb the others.
func (c *Coalescer) Do(ctx context.Context, calls ...Call) ([]wire.Result, error) {
	inGuest := slices.ContainsFunc(calls, func(call Call) bool { return call.Guest != nil })
	if inGuest || !readOnly([][]Call{calls}) {
		results, err := c.pool.doGroups(ctx, [][]Call{calls})
		if err != nil {
			return nil, err
		}
		return results[0], nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	g, index := c.join(ctx, calls)
	select {
	case <-g.done:
		return g.answers[index].results, g.answers[index].err
	case <-ctx.Done():
		c.leave(g)
		return nil, context.Cause(ctx)
	}
}

func (c *Coalescer) join(ctx context.Context, calls []Call) (*gathering, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.waiting
	if g == nil {
		g = &gathering{done: make(chan struct{})}
		g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.waiting = g
		time.AfterFunc(c.gatherTime, func() { c.send(g) })
	}
	g.groups = append(g.groups, calls)
	g.calls += len(calls)
	g.callers++
	if g.calls >= gatherCalls {
		c.waiting = nil
		go c.run(g)
	}
	return g, len(g.groups) - 1
}

// send closes a gathering to others and runs it, unless it was full or given up before.
func (c *Coalescer) send(g *gathering) {
	c.mu.Lock()
	open := c.waiting == g
	if open {
		c.waiting = nil
	}
	c.mu.Unlock()
	if open {
		c.run(g)
	}
}

func (c *Coalescer) run(g *gathering) {
	defer close(g.done)
	defer g.cancel()
	g.answers = c.answers(g.ctx, g.groups)
}

func (c *Coalescer) answers(ctx context.Context, groups [][]Call) []groupAnswer {
	answers := make([]groupAnswer, len(groups))
	results, err := c.pool.doGroups(ctx, groups)
	var runnerErr *RunnerError
	if errors.As(err, &runnerErr) && len(groups) > 1 {
		// One of them is more than the runner can take: the others must not suffer.
		for i := range groups {
			answers[i] = c.answers(ctx, groups[i:i+1])[0]
		}
		return answers
	}
	for i := range answers {
		answers[i].err = err
		if err == nil {
			answers[i].results = results[i]
		}
	}
	return answers
}

func (c *Coalescer) leave(g *gathering) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g.callers--
	if g.callers == 0 {
		// Nobody may join it any more: it would fail for them.
		if c.waiting == g {
			c.waiting = nil
		}
		g.cancel()
	}
}

var _ Executor = (*Coalescer)(nil)
