package hyperv

import (
	"context"
	"sync"
)

// keyedLocks serialises changes per device, switch and VM; everything else runs in parallel.
type keyedLocks struct {
	mu   *sync.Mutex
	held map[string]chan struct{}
}

func newKeyedLocks() keyedLocks {
	return keyedLocks{mu: &sync.Mutex{}, held: map[string]chan struct{}{}}
}

// lock waits for the key and gives the function that frees it. Callers that take several take them in
// the order switch, device, VM, so that no two wait for each other.
func (l keyedLocks) lock(ctx context.Context, key string) (func(), error) {
	for {
		l.mu.Lock()
		busy, taken := l.held[key]
		if !taken {
			free := make(chan struct{})
			l.held[key] = free
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, key)
				l.mu.Unlock()
				close(free)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
