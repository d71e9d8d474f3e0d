package door

import (
	"container/list"
	"context"
	"sync"
)

// reply is an answer before it goes on the wire.
type reply struct {
	status int
	body   string
	fault  uint32
}

// answers keeps successful answers by MessageID, so that a request sent again after a lost answer is
// answered again and not run again. A request that comes again while its first copy is still at work
// waits for that copy. Faults are not kept: a client that repeats after a fault wants another try.
type answers struct {
	limit int
	mu    sync.Mutex
	byID  map[string]*answer
	order *list.List // of ids whose answers are kept, oldest first
}

type answer struct {
	done    chan struct{}
	reply   reply
	lost    bool // the work stopped because nobody waited; its result is void
	waiters int
	cancel  context.CancelFunc
}

func newAnswers(limit int) *answers {
	return &answers{limit: limit, byID: map[string]*answer{}, order: list.New()}
}

func (a *answers) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for e := a.order.Front(); e != nil; e = e.Next() {
		delete(a.byID, e.Value.(string))
	}
	a.order.Init()
}

// do runs work once for each id and returns its reply; false where ctx ended first. The context that
// work gets ends when nobody waits any more; work reports whether it stopped for that.
func (a *answers) do(ctx context.Context, id string, work func(context.Context) (r reply, lost bool)) (reply, bool) {
	if a.limit < 0 || id == "" {
		r, lost := work(ctx)
		return r, !lost
	}
	for {
		got := a.join(ctx, id, work)
		select {
		case <-got.done:
			if got.lost {
				if ctx.Err() != nil {
					return reply{}, false
				}
				continue // the first copy gave up just as this one came
			}
			return got.reply, true
		case <-ctx.Done():
			a.mu.Lock()
			if got.waiters--; got.waiters == 0 {
				got.cancel()
			}
			a.mu.Unlock()
			return reply{}, false
		}
	}
}

func (a *answers) join(ctx context.Context, id string, work func(context.Context) (reply, bool)) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got, ok := a.byID[id]; ok {
		got.waiters++
		return got
	}
	workCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	got := &answer{done: make(chan struct{}), waiters: 1, cancel: cancel}
	a.byID[id] = got
	go func() {
		defer cancel()
		r, lost := work(workCtx)
		a.mu.Lock()
		defer a.mu.Unlock()
		got.reply, got.lost = r, lost
		if lost || r.status != 200 {
			delete(a.byID, id)
		} else {
			a.order.PushBack(id)
			for a.order.Len() > a.limit {
				delete(a.byID, a.order.Remove(a.order.Front()).(string))
			}
		}
		close(got.done)
	}()
	return got
}
