package powershell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// groupsFunc is a pool of which only the groups are looked at.
type groupsFunc func(ctx context.Context, groups [][]Call) ([][]wire.Result, error)

func (f groupsFunc) doGroups(ctx context.Context, groups [][]Call) ([][]wire.Result, error) {
	return f(ctx, groups)
}

// echo answers each call with its cmdlet's name.
func echo(groups [][]Call) [][]wire.Result {
	results := make([][]wire.Result, len(groups))
	for i, calls := range groups {
		for _, c := range calls {
			results[i] = append(results[i], wire.Result{Output: []json.RawMessage{json.RawMessage(`"` + c.Cmdlet + `"`)}})
		}
	}
	return results
}

func TestCoalescer(t *testing.T) {
	var mu sync.Mutex
	var sizes []int
	record := func(_ context.Context, groups [][]Call) ([][]wire.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, len(groups))
		return echo(groups), nil
	}
	// A window that only ends when it is full, unless a test waits for it.
	const longWindow = time.Minute
	start := func(pool groupsFunc, window time.Duration) *Coalescer {
		sizes = nil
		return &Coalescer{pool: pool, gatherTime: window}
	}

	t.Run("readers share a batch until it is full", func(t *testing.T) {
		c := start(record, longWindow)
		var group sync.WaitGroup
		for i := range 2 * gatherCalls / 10 {
			group.Go(func() {
				calls := make([]Call, 10)
				want := make([]string, 10)
				for j := range calls {
					calls[j], want[j] = read(fmt.Sprint("C", i, "-", j)), fmt.Sprint("C", i, "-", j)
				}
				results, err := c.Do(t.Context(), calls...)
				checkOutput(t, results, err, want...)
			})
		}
		group.Wait()
		if fmt.Sprint(sizes) != "[5 5]" {
			t.Errorf("batches of %v groups", sizes)
		}
	})
	t.Run("or the time is up", func(t *testing.T) {
		c := start(record, 50*time.Millisecond)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				results, err := c.Do(t.Context(), read("X"))
				checkOutput(t, results, err, "X")
			})
		}
		group.Wait()
		if fmt.Sprint(sizes) != "[3]" {
			t.Errorf("batches of %v groups", sizes)
		}
	})
	t.Run("changes and guests do not wait", func(t *testing.T) {
		c := start(record, longWindow)
		results, err := c.Do(t.Context(), read("X"), call("Y", nil))
		checkOutput(t, results, err, "X", "Y")
		results, err = c.Do(t.Context(), in(runningVM, read("Z")))
		checkOutput(t, results, err, "Z")
	})
	t.Run("who gives up does not disturb the others", func(t *testing.T) {
		joined, release := make(chan struct{}), make(chan struct{})
		c := start(func(ctx context.Context, groups [][]Call) ([][]wire.Result, error) {
			close(joined)
			<-release
			return echo(groups), ctx.Err()
		}, 50*time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := c.Do(ctx, read("X")); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
		group.Go(func() {
			results, err := c.Do(t.Context(), read("Y"))
			checkOutput(t, results, err, "Y")
		})
		<-joined
		cancel()
		time.Sleep(10 * time.Millisecond)
		close(release)
		group.Wait()
	})
	t.Run("when all give up the batch ends", func(t *testing.T) {
		ended := make(chan struct{})
		c := start(func(ctx context.Context, _ [][]Call) ([][]wire.Result, error) {
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}, time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := c.Do(ctx, read("X")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the batch goes on")
		}
	})
	t.Run("nobody joins what was given up", func(t *testing.T) {
		c := start(record, 50*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _ = c.Do(ctx, read("X"))
		results, err := c.Do(t.Context(), read("Y"))
		checkOutput(t, results, err, "Y")
	})
	t.Run("a lost process is everybody's error", func(t *testing.T) {
		lost := &LostError{Err: errors.New("gone"), Started: true}
		c := start(func(context.Context, [][]Call) ([][]wire.Result, error) { return nil, lost }, 50*time.Millisecond)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				_, err := c.Do(t.Context(), read("X"))
				checkLost(t, err, true)
			})
		}
		group.Wait()
	})
	t.Run("a batch that the runner cannot take is its own caller's error", func(t *testing.T) {
		c := start(func(_ context.Context, groups [][]Call) ([][]wire.Result, error) {
			for _, calls := range groups {
				if calls[0].Cmdlet == "bad" {
					return nil, &RunnerError{}
				}
			}
			return echo(groups), nil
		}, 50*time.Millisecond)
		var group sync.WaitGroup
		for _, name := range []string{"a", "bad", "b"} {
			group.Go(func() {
				results, err := c.Do(t.Context(), read(name))
				if name != "bad" {
					checkOutput(t, results, err, name)
				} else if err == nil {
					t.Error("no error")
				}
			})
		}
		group.Wait()
	})
}
