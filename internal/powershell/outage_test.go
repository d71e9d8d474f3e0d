package powershell

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// longTests is set where there is time for blackouts as long as real ones.
const longTests = "HYPERV_ACC_LONG"

// blackOutDuring cuts the network for a time as soon as a cmdlet runs.
func (l *lab) blackOutDuring(length time.Duration) {
	l.model.entered = make(chan struct{}, 10)
	go func() {
		<-l.model.entered
		l.door.BlackOut(length)
	}()
}

// A change that runs while the network is away is found done when it is back.
func TestBlackoutDuringAChange(t *testing.T) {
	for _, c := range []struct {
		name             string
		blackout, cmdlet time.Duration
		answers          int
		real             bool // with the times of real life
	}{
		{"the change ends during the blackout", 2 * time.Second, 300 * time.Millisecond, 0, false},
		{"the same, answers are not kept", 2 * time.Second, 300 * time.Millisecond, -1, false},
		{"the change outlives the blackout", time.Second, 2 * time.Second, 0, false},
		{"the same, answers are not kept ", time.Second, 2 * time.Second, -1, false},
		{"a minute, with the times that users have", time.Minute, 20 * time.Second, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := faultLab(t, door.Limits{Answers: c.answers})
			if c.real {
				if os.Getenv(longTests) == "" {
					t.Skip("takes more than a minute; set " + longTests + " to run it")
				}
				l.cfg.OperationTimeout, l.cfg.AnswerGrace, l.cfg.RetryBudget = 0, 0, 0
			}
			p := l.pool(t)
			if _, err := p.Do(t.Context(), getSwitch()); err != nil {
				t.Fatal(err)
			}
			l.model.delay = c.cmdlet
			l.blackOutDuring(c.blackout)
			begun := time.Now()
			if _, err := p.Do(t.Context(), setNotes("x")); err != nil {
				t.Error(err)
			}
			if n := l.model.set("x"); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			least := max(c.blackout, c.cmdlet)
			if took := time.Since(begun); took < least || took > least+10*time.Second {
				t.Errorf("it took %v", took)
			}
			if m := l.door.Metrics(); m.ShellsCreated != 1 {
				t.Errorf("%d shells were made", m.ShellsCreated)
			}
		})
	}
}

// A blackout that is longer than the budget ends with it, a change with an error that says that it may be done. Later
// the host is found again, and what the lost process left is gone.
func TestBlackoutBeyondTheBudget(t *testing.T) {
	for _, write := range []bool{false, true} {
		t.Run(map[bool]string{false: "read", true: "write"}[write], func(t *testing.T) {
			t.Parallel()
			l := faultLab(t, door.Limits{IdleTimeout: 5 * time.Second})
			l.cfg.RetryBudget = time.Second
			p := NewPool(l.cfg, PoolOptions{MaxSessions: 1, CloseTime: 500 * time.Millisecond})
			if _, err := p.Do(t.Context(), getSwitch()); err != nil {
				t.Fatal(err)
			}
			l.blackOutDuring(3 * time.Second)
			l.model.delay = 100 * time.Millisecond
			call := getSwitch()
			if write {
				call = setNotes("x")
			}
			begun := time.Now()
			_, err := p.Do(t.Context(), call)
			var network *winrm.NetError
			if checkLost(t, err, true); !errors.As(err, &network) {
				t.Errorf("%v", err)
			}
			if took := time.Since(begun); took > 2500*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			if n := l.model.set("x"); write && n != 1 {
				t.Errorf("it ran %d times", n)
			}
			time.Sleep(time.Until(begun.Add(3500 * time.Millisecond)))
			if _, err := p.Do(t.Context(), getSwitch()); err != nil {
				t.Errorf("when the network is back: %v", err)
			}
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
			l.noShells(t, 8*time.Second)
		})
	}
}

// Case 57: when the network is back, somebody else answers for a while, or the host refuses what it took before.
func TestStrangeAnswersAfterABlackout(t *testing.T) {
	for _, c := range []struct {
		name     string
		blackout bool
		effect   door.Effect
		length   time.Duration
		refused  bool
	}{
		{"401 page for a while", true, door.UnauthorizedHTML, time.Second, false},
		{"401 for a while", true, door.Unauthorized, time.Second, false},
		{"401 for good", true, door.Unauthorized, time.Hour, true},
		{"401 page without a blackout", false, door.UnauthorizedHTML, time.Second, true},
		{"401 without a blackout", false, door.Unauthorized, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := faultLab(t, door.Limits{})
			l.cfg.ReturnGrace = 2 * time.Second
			p := NewPool(l.cfg, PoolOptions{})
			if _, err := p.Do(t.Context(), getSwitch()); err != nil {
				t.Fatal(err)
			}
			then := door.Rule{Effect: c.effect, DurationMS: int(c.length.Milliseconds())}
			if c.blackout {
				l.rules.Add(door.Rule{Effect: door.Blackout, DurationMS: 1000})
				then.Request = 2 // the first that arrives again
			}
			l.rules.Add(then)
			begun := time.Now()
			_, err := p.Do(t.Context(), setNotes("x"))
			took := time.Since(begun)
			var auth *winrm.AuthError
			switch {
			case c.refused && !errors.As(err, &auth):
				t.Errorf("%v", err)
			case !c.refused && (err != nil || l.model.set("x") != 1):
				t.Errorf("%v; it ran %d times", err, l.model.set("x"))
			case !c.blackout && took > 900*time.Millisecond:
				t.Errorf("a refusal was told after %v", took)
			case took > 8*time.Second:
				t.Errorf("it took %v", took)
			}
			if n := l.door.Metrics().Unauthorized; n > 20 {
				t.Errorf("%d refused requests could lock out the user", n)
			}
			l.rules.Clear()
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A shell that the host removed because nobody used it is opened again, and nobody is told.
func TestIdleShellIsReopened(t *testing.T) {
	l := faultLab(t, door.Limits{IdleTimeout: 100 * time.Millisecond})
	var mu sync.Mutex
	var said []string
	l.cfg.Log = func(_ context.Context, message string, _ map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, message)
	}
	p := l.pool(t)
	for _, notes := range []string{"a", "b", "c"} {
		if _, err := p.Do(t.Context(), setNotes(notes)); err != nil {
			t.Fatal(err)
		}
		if n := l.model.set(notes); n != 1 {
			t.Errorf("%s ran %d times", notes, n)
		}
		l.noShells(t, 2*time.Second)
	}
	if m := l.door.Metrics(); m.ShellsCreated != 3 {
		t.Errorf("%d shells were made", m.ShellsCreated)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(strings.Join(said, "\n"), "running the batch on a new one") {
		t.Errorf("the log does not tell: %q", said)
	}
}
