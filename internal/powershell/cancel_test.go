package powershell

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// atOnce is how long somebody who gives up waits at most for the answer.
const atOnce = 300 * time.Millisecond

// giveUp runs a batch, cancels it after a while, and gives how long it took from then on, and the error.
func giveUp(t *testing.T, p *Pool, after time.Duration, call Call) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cancelled time.Time
	time.AfterFunc(after, func() {
		cancelled = time.Now()
		cancel()
	})
	_, err := p.Do(ctx, call)
	if ctx.Err() == nil {
		t.Fatalf("it ended before anybody gave up: %v", err)
	}
	return time.Since(cancelled), err
}

// Who gives up while nothing that changes the host has begun is answered at once, whatever is going on, and no shell
// stays.
func TestGiveUp(t *testing.T) {
	stall := func(op string) func(*lab) {
		return func(l *lab) { l.rules.Add(door.Rule{Operation: op, Effect: door.Stall, Count: -1}) }
	}
	blackout := func(l *lab) { l.door.BlackOut(time.Second) }
	for _, c := range []struct {
		name    string
		warm    bool // there is a session
		trouble func(*lab)
		call    Call
	}{
		{"opening a shell", false, stall(door.OpCreate), getSwitch()},
		{"opening a shell for a change", false, stall(door.OpCreate), setNotes("x")},
		{"starting the process", false, stall(door.OpCommand), getSwitch()},
		{"starting the process for a change", false, stall(door.OpCommand), setNotes("x")},
		{"sending the script", false, stall(door.OpSend), getSwitch()},
		{"waiting for the process", false, stall(door.OpReceive), setNotes("x")},
		{"the host is away", false, blackout, getSwitch()},
		{"the host is away, for a change", false, blackout, setNotes("x")},
		{"sending a read", true, stall(door.OpSend), getSwitch()},
		{"waiting for a read", true, stall(door.OpReceive), getSwitch()},
		{"a cmdlet that reads runs", true, func(l *lab) { l.model.delay = 2 * time.Second }, getSwitch()},
		{"the host is away when something is read", true, blackout, getSwitch()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := faultLab(t, door.Limits{})
			l.cfg.OperationTimeout = 2 * time.Second
			p := NewPool(l.cfg, PoolOptions{})
			if c.warm {
				if _, err := p.Do(t.Context(), getSwitch()); err != nil {
					t.Fatal(err)
				}
			}
			c.trouble(l)
			took, err := giveUp(t, p, 200*time.Millisecond, c.call)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if took > atOnce {
				t.Errorf("the answer came after %v", took)
			}
			var lost *LostError
			if !c.call.ReadOnly && errors.As(err, &lost) && lost.Started || l.model.set("x") != 0 {
				t.Errorf("something began: %v", err)
			}
			l.rules.Clear()
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
			l.noShells(t, 100*time.Millisecond)
		})
	}
}

// A change that runs has its grace: what ends within it counts, what does not is lost, and no shell stays.
func TestGiveUpAChange(t *testing.T) {
	const grace = time.Second
	for _, c := range []struct {
		name    string
		cmdlet  time.Duration
		trouble func(*lab)
		done    bool
	}{
		{"it ends within the grace", 600 * time.Millisecond, nil, true},
		{"an answer is lost meanwhile", 600 * time.Millisecond, func(l *lab) { l.rules.Add(door.Rule{Operation: door.OpReceive, Effect: door.DropAfter}) }, true},
		{"it does not end within the grace", 4 * time.Second, nil, false},
		{"the host is away", 100 * time.Millisecond, func(l *lab) { l.blackOutDuring(3 * time.Second) }, false},
		{"nobody answers any more", 100 * time.Millisecond, func(l *lab) {
			l.rules.Add(door.Rule{Operation: door.OpReceive, Effect: door.Stall, Count: -1})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := faultLab(t, door.Limits{})
			p := NewPool(l.cfg, PoolOptions{Grace: grace})
			if _, err := p.Do(t.Context(), getSwitch()); err != nil {
				t.Fatal(err)
			}
			l.model.delay = c.cmdlet
			if c.trouble != nil {
				c.trouble(l)
			}
			took, err := giveUp(t, p, 300*time.Millisecond, setNotes("x"))
			switch {
			case c.done && err != nil:
				t.Error(err)
			case !c.done:
				if checkLost(t, err, true); !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				if took < grace/2 {
					t.Errorf("it had only %v", took)
				}
			}
			if took > grace+atOnce {
				t.Errorf("the answer came after %v", took)
			}
			if n := l.model.set("x"); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
			l.noShells(t, 100*time.Millisecond)
		})
	}
}

// Who waits for a session that others use, and gives up, is answered at once.
func TestGiveUpInTheQueue(t *testing.T) {
	l := faultLab(t, door.Limits{})
	p := NewPool(l.cfg, PoolOptions{MaxSessions: 1})
	l.model.delay = time.Second
	l.model.entered = make(chan struct{}, 1)
	busy := make(chan error, 1)
	go func() {
		_, err := p.Do(context.Background(), setNotes("busy"))
		busy <- err
	}()
	<-l.model.entered
	if took, err := giveUp(t, p, 50*time.Millisecond, setNotes("x")); !errors.Is(err, context.Canceled) || took > atOnce || l.model.set("x") != 0 {
		t.Errorf("%v after %v", err, took)
	}
	if err := <-busy; err != nil || l.model.set("busy") != 1 {
		t.Errorf("the other one: %v", err)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	l.noShells(t, 100*time.Millisecond)
}

// Terraform gives a provider two seconds to end: closing keeps to its time also where the host does not answer.
func TestCloseKeepsItsTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		running bool
		trouble func(*lab)
	}{
		{"the host is away", false, func(l *lab) { l.door.BlackOut(3 * time.Second) }},
		{"nobody answers", false, func(l *lab) { l.rules.Add(door.Rule{Effect: door.Stall, Count: -1}) }},
		{"a change runs", true, nil},
		{"a change runs and the host is away", true, func(l *lab) { l.door.BlackOut(3 * time.Second) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := faultLab(t, door.Limits{IdleTimeout: 5 * time.Second})
			l.cfg.OperationTimeout = 5 * time.Second
			p := NewPool(l.cfg, PoolOptions{})
			if _, err := p.Do(t.Context(), getSwitch()); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			if c.running {
				l.model.delay = 5 * time.Second
				l.model.entered = make(chan struct{}, 1)
				go func() {
					_, err := p.Do(context.Background(), setNotes("x"))
					ended <- err
				}()
				<-l.model.entered
			}
			if c.trouble != nil {
				c.trouble(l)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			_ = p.Close(ctx) // it cannot succeed everywhere
			if took := time.Since(begun); took > time.Second+atOnce {
				t.Errorf("closing took %v", took)
			}
			if c.running {
				if err := <-ended; !errors.Is(err, ErrClosed) {
					t.Errorf("the change: %v", err)
				}
			}
			if c.running && c.trouble == nil {
				l.noShells(t, 100*time.Millisecond)
			}
			l.rules.Clear()
			l.noShells(t, 10*time.Second)
		})
	}
}
