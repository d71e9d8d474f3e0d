package hyperv

import (
	"context"
	"sync"
)

// keyedLocks serialises changes per device, switch and VM; everything else runs in parallel.
type keyedLocks struct{ s *lockState }

type lockState struct {
	mu      sync.Mutex
	held    map[string]bool
	wanted  map[string]int // who waits for a key, or is about to
	changed chan struct{}  // closed at each change
}

func newKeyedLocks() keyedLocks {
	return keyedLocks{&lockState{held: map[string]bool{}, wanted: map[string]int{}, changed: make(chan struct{})}}
}

// lock waits for the key and gives the function that frees it. Callers that take several take them in
// the order switch, device, VM, so that no two wait for each other.
func (l keyedLocks) lock(ctx context.Context, key string) (func(), error) {
	defer l.want(key)()
	return l.take(ctx, key, func() bool { return true })
}

// lockLast waits for the key as lock does, and until nobody else wants it, or one of the other keys.
func (l keyedLocks) lockLast(ctx context.Context, key string, others ...string) (func(), error) {
	return l.take(ctx, key, func() bool {
		for _, k := range append(others, key) {
			if l.s.wanted[k] > 0 {
				return false
			}
		}
		return true
	})
}

// want says that the key will be locked soon, so that who takes it last waits. The function it gives takes that back.
func (l keyedLocks) want(key string) func() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.wanted[key]++
	return sync.OnceFunc(func() {
		l.s.mu.Lock()
		defer l.s.mu.Unlock()
		if l.s.wanted[key]--; l.s.wanted[key] == 0 {
			delete(l.s.wanted, key)
		}
		l.s.tell()
	})
}

func (l keyedLocks) take(ctx context.Context, key string, may func() bool) (func(), error) {
	for {
		l.s.mu.Lock()
		if !l.s.held[key] && may() {
			l.s.held[key] = true
			l.s.mu.Unlock()
			return func() {
				l.s.mu.Lock()
				defer l.s.mu.Unlock()
				delete(l.s.held, key)
				l.s.tell()
			}, nil
		}
		changed := l.s.changed
		l.s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tell wakes everybody who waits.
func (s *lockState) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}
