package hyperv

import (
	"context"
	"maps"
	"time"
)

// sharedInventory is a bulk read that several Reads wait for.
type sharedInventory struct {
	done  chan struct{}
	at    time.Time
	epoch int
	inv   *Inventory
	err   error
}

// Inventory reads the whole host, shared between callers of the same few seconds, never across a write.
func (h *Host) Inventory(ctx context.Context) (*Inventory, error) {
	return h.shareEverything(ctx).wait(ctx)
}

// shareEverything starts, or joins, the bulk read that most resources need. What single resources of this run read besides
// is read along with a new one, so that all of it makes one request.
func (h *Host) shareEverything(ctx context.Context) *sharedInventory {
	s, started := h.share(ctx, everythingKey, everything()...)
	if started {
		for key, parts := range h.extras() {
			h.share(ctx, key, parts...)
		}
	}
	return s
}

// alsoRead says that some resource of this run reads more than most.
func (h *Host) alsoRead(key string, parts ...part) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.extra == nil {
		h.extra = map[string][]part{}
	}
	h.extra[key] = parts
}

func (h *Host) extras() map[string][]part {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.extra)
}

// inventoryWith is Inventory together with a part that few resources need and that is read for those alone, under a
// key of its own. Both are asked for at once, so that they make one request.
func (h *Host) inventoryWith(ctx context.Context, key string, extra ...part) (inv, more *Inventory, err error) {
	h.alsoRead(key, extra...)
	all := h.shareEverything(ctx)
	own, _ := h.share(ctx, key, extra...)
	if inv, err = all.wait(ctx); err != nil {
		return nil, nil, err
	}
	more, err = own.wait(ctx)
	return inv, more, err
}

// everythingKey is the key of the bulk read that most resources need.
const everythingKey = "everything"

// share starts a bulk read, or gives the one that others of the same few seconds wait for.
func (h *Host) share(ctx context.Context, key string, parts ...part) (s *sharedInventory, started bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s = h.shared[key]
	if s != nil && s.epoch == h.epoch && time.Since(s.at) <= h.opts.InventoryAge {
		return s, false
	}
	s = &sharedInventory{done: make(chan struct{}), at: time.Now(), epoch: h.epoch}
	if h.shared == nil {
		h.shared = map[string]*sharedInventory{}
	}
	h.shared[key] = s
	// the read serves others too, so it does not end with the first caller's context
	go func() {
		defer close(s.done)
		s.inv, s.err = h.read(context.WithoutCancel(ctx), "read the host", "", parts...)
		h.mu.Lock()
		defer h.mu.Unlock()
		switch {
		case s.err != nil && h.shared[key] == s:
			delete(h.shared, key)
		case s.err == nil && key == everythingKey:
			h.lastRead = s.inv
		}
	}()
	return s, true
}

func (s *sharedInventory) wait(ctx context.Context) (*Inventory, error) {
	select {
	case <-s.done:
		return s.inv, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
