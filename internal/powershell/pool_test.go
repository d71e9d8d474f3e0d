package powershell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

func TestPool(t *testing.T) {
	errGone := errors.New("gone")
	once := func() func(*fakeProcess) bool {
		done := false
		return func(*fakeProcess) bool { defer func() { done = true }(); return !done }
	}
	t.Run("one process is enough for one caller", func(t *testing.T) {
		h := &fakeHost{}
		p := h.pool(PoolOptions{})
		for range 5 {
			results, err := p.Do(t.Context(), call("Set-X", nil), call("Set-Y", nil))
			checkOutput(t, results, err, "Set-X", "Set-Y")
		}
		if batches, open := h.counts(); !cmp.Equal(batches, []int{5}) || open != 1 {
			t.Errorf("%v, %d open", batches, open)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, open := h.counts(); open != 0 {
			t.Errorf("%d open", open)
		}
		if _, err := p.Do(t.Context(), call("Set-X", nil)); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
	t.Run("never more than MaxSessions", func(t *testing.T) {
		h := &fakeHost{}
		var most, now int
		h.run = func(*fakeProcess, wire.Request) error {
			h.mu.Lock()
			now++
			most = max(most, now)
			h.mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			h.mu.Lock()
			now--
			h.mu.Unlock()
			return nil
		}
		p := h.pool(PoolOptions{MaxSessions: 3})
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				results, err := p.Do(t.Context(), call(fmt.Sprint("C", i), nil))
				checkOutput(t, results, err, fmt.Sprint("C", i))
			})
		}
		group.Wait()
		if batches, _ := h.counts(); most != 3 || len(batches) != 3 {
			t.Errorf("%d at a time, %d processes", most, len(batches))
		}
	})
	t.Run("replaced after MaxBatches", func(t *testing.T) {
		h := &fakeHost{}
		p := h.pool(PoolOptions{MaxBatches: 2})
		for range 5 {
			if _, err := p.Do(t.Context(), call("X", nil)); err != nil {
				t.Fatal(err)
			}
		}
		if batches, open := h.counts(); !cmp.Equal(batches, []int{2, 2, 1}) || open != 1 {
			t.Errorf("%v, %d open", batches, open)
		}
	})
	t.Run("replaced after MaxAge", func(t *testing.T) {
		h := &fakeHost{}
		p := h.pool(PoolOptions{MaxAge: time.Millisecond})
		for range 2 {
			if _, err := p.Do(t.Context(), call("X", nil)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if batches, open := h.counts(); !cmp.Equal(batches, []int{1, 1}) || open != 1 {
			t.Errorf("%v, %d open", batches, open)
		}
	})

	for _, c := range []struct {
		name     string
		call     Call
		send     bool // the process is gone when the batch is sent
		run      bool // it goes while the batch runs
		always   bool
		batches  []int
		lost     bool
		started  bool
		openFail bool
	}{
		{name: "a change that did not begin runs again", call: call("X", nil), send: true, batches: []int{0, 1}},
		{name: "a change that began does not", call: call("X", nil), run: true, batches: []int{1}, lost: true, started: true},
		{name: "a read that began runs again", call: read("X"), run: true, batches: []int{1, 1}},
		{name: "but not for ever", call: read("X"), run: true, always: true, batches: []int{1, 1, 1}, lost: true, started: true},
		{name: "nor what cannot begin", call: call("X", nil), send: true, always: true, batches: []int{0, 0, 0}, lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &fakeHost{}
			first := once()
			if c.send {
				h.send = func(p *fakeProcess) error {
					if c.always || first(p) {
						return errGone
					}
					return nil
				}
			}
			if c.run {
				h.run = func(p *fakeProcess, _ wire.Request) error {
					if c.always || first(p) {
						return errGone
					}
					return nil
				}
			}
			p := h.pool(PoolOptions{})
			results, err := p.Do(t.Context(), c.call)
			if c.lost {
				checkLost(t, err, c.started)
				if !errors.Is(err, errGone) {
					t.Errorf("%v hides its cause", err)
				}
			} else {
				checkOutput(t, results, err, "X")
			}
			batches, open := h.counts()
			if !cmp.Equal(batches, c.batches) {
				t.Errorf("%v", batches)
			}
			if want := map[bool]int{true: 0, false: 1}[c.lost]; open != want {
				t.Errorf("%d processes are open", open)
			}
		})
	}
	t.Run("what took one process away took the idle ones too", func(t *testing.T) {
		h := &fakeHost{}
		release := make(chan struct{})
		h.run = func(*fakeProcess, wire.Request) error { <-release; return nil }
		p := h.pool(PoolOptions{})
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { _, _ = p.Do(t.Context(), call("X", nil)) })
		}
		for {
			if batches, _ := h.counts(); len(batches) == 3 && batches[0]+batches[1]+batches[2] == 3 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		close(release)
		group.Wait()
		h.send = func(p *fakeProcess) error {
			if p.number < 3 {
				return errGone
			}
			return nil
		}
		results, err := p.Do(t.Context(), call("X", nil))
		checkOutput(t, results, err, "X")
		if batches, open := h.counts(); !cmp.Equal(batches, []int{1, 1, 1, 1}) || open != 1 {
			t.Errorf("%v, %d open", batches, open)
		}
	})
	t.Run("a batch that is too large for PowerShell", func(t *testing.T) {
		h := &fakeHost{}
		var runnerErr *RunnerError
		_, err := h.pool(PoolOptions{}).Do(t.Context(), call("X", params{"Text": strings.Repeat("x", maxRequest)}))
		if !errors.As(err, &runnerErr) || runnerErr.Category != "LimitsExceeded" {
			t.Errorf("%v", err)
		}
		if batches, open := h.counts(); !cmp.Equal(batches, []int{0}) || open != 1 {
			t.Errorf("%v, %d open", batches, open)
		}
	})
	for _, c := range []struct {
		name  string
		hello wire.Hello
		good  bool
	}{
		{"5.1", wire.Hello{Protocol: 1, Version: "5.1.14393.0"}, true},
		{"7", wire.Hello{Protocol: 1, Version: "7.6.9"}, true},
		{"5.0", wire.Hello{Protocol: 1, Version: "5.0.10586.117"}, false},
		{"4", wire.Hello{Protocol: 1, Version: "4.0"}, false},
		{"none", wire.Hello{Protocol: 1}, false},
		{"another protocol", wire.Hello{Protocol: 2, Version: "5.1.14393.0"}, false},
	} {
		t.Run("PowerShell "+c.name, func(t *testing.T) {
			h := &fakeHost{hello: c.hello}
			_, err := h.pool(PoolOptions{}).Do(t.Context(), call("X", nil))
			var start *StartError
			if c.good && err != nil || !c.good && !errors.As(err, &start) {
				t.Errorf("%v", err)
			}
			if _, open := h.counts(); open != map[bool]int{true: 1}[c.good] {
				t.Errorf("%d open", open)
			}
		})
	}
	t.Run("a host that cannot be reached", func(t *testing.T) {
		h := &fakeHost{open: func() error { return errGone }}
		if _, err := h.pool(PoolOptions{}).Do(t.Context(), call("X", nil)); !errors.Is(err, errGone) {
			t.Errorf("%v", err)
		}
	})
	t.Run("giving up in the queue", func(t *testing.T) {
		h := &fakeHost{}
		release := make(chan struct{})
		h.run = func(*fakeProcess, wire.Request) error { <-release; return nil }
		p := h.pool(PoolOptions{MaxSessions: 1})
		var group sync.WaitGroup
		group.Go(func() { _, _ = p.Do(t.Context(), call("X", nil)) })
		for len(p.slots) == 0 {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p.Do(ctx, call("X", nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		// Close waits for what runs.
		closed := make(chan error)
		go func() { closed <- p.Close(context.Background()) }()
		select {
		case <-closed:
			t.Error("closed while a batch ran")
		case <-time.After(20 * time.Millisecond):
		}
		close(release)
		group.Wait()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, open := h.counts(); open != 0 {
			t.Errorf("%d open", open)
		}
	})
	t.Run("closing at last ends what runs", func(t *testing.T) {
		h := &fakeHost{}
		var cancelled error
		p := h.pool(PoolOptions{MaxSessions: 1})
		wait := make(chan struct{})
		h.run = func(*fakeProcess, wire.Request) error {
			close(wait)
			<-p.force.Done()
			return context.Canceled
		}
		var group sync.WaitGroup
		group.Go(func() { _, cancelled = p.Do(t.Context(), read("X")) })
		<-wait
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
		group.Wait()
		if cancelled == nil {
			t.Error("the batch went on")
		}
		if _, open := h.counts(); open != 0 {
			t.Errorf("%d open", open)
		}
	})
}
