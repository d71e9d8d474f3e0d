package hyperv

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Who locks last comes behind everybody who waits already, and behind who said that he will.
func TestLockLast(t *testing.T) {
	l := newKeyedLocks()
	held, err := l.lock(t.Context(), "device:1")
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 4)
	var all sync.WaitGroup
	run := func(name string, lock func() (func(), error)) {
		all.Go(func() {
			free, err := lock()
			if err != nil {
				order <- err.Error()
				return
			}
			order <- name
			free()
		})
	}
	soon := l.want(anyDevice)
	run("last", func() (func(), error) { return l.lockLast(t.Context(), "device:1", anyDevice) })
	time.Sleep(5 * time.Millisecond)
	run("change", func() (func(), error) { return l.lock(t.Context(), "device:1") })
	time.Sleep(5 * time.Millisecond)
	held()
	if got := <-order; got != "change" {
		t.Fatalf("%s came first", got)
	}
	select {
	case got := <-order:
		t.Fatalf("%s did not wait for what was announced", got)
	case <-time.After(20 * time.Millisecond):
	}
	run("another device", func() (func(), error) { return l.lockLast(t.Context(), "device:2") })
	if got := <-order; got != "another device" {
		t.Fatalf("%s came before another device", got)
	}
	soon()
	soon() // twice is once
	if got := <-order; got != "last" {
		t.Fatalf("%s came, not the last", got)
	}
	all.Wait()
	if n := len(l.s.wanted) + len(l.s.held); n > 0 {
		t.Errorf("%d locks are left", n)
	}
}

func TestLockGivesUp(t *testing.T) {
	l := newKeyedLocks()
	if _, err := l.lock(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := l.lock(ctx, "k"); err == nil {
		t.Error("a lock was given twice")
	}
	if len(l.s.wanted) > 0 {
		t.Error("who gave up still waits")
	}
}
