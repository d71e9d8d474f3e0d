package powershell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/native"
	simprocess "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// These tests go through the simulator's WinRM service, with the network failing at chosen requests.

// countingModel is a host with one switch, which counts how often it is changed and read.
type countingModel struct {
	mu      sync.Mutex
	sets    map[string]int // by the value of -Notes
	reads   int
	delay   time.Duration
	notes   string
	entered chan struct{} // gets a token when a call begins, if not nil
}

func (m *countingModel) Now() time.Time { return time.Unix(1e9, 0) }

func (m *countingModel) Available(_, _, name string) bool {
	return name == "Set-VMSwitch" || name == "Get-VMSwitch"
}

func (m *countingModel) Invoke(i cmdlet.Invocation) cmdlet.Output {
	m.mu.Lock()
	if i.Cmdlet == "Set-VMSwitch" {
		notes, _ := i.Parameters["Notes"].(string)
		m.sets[notes]++
	} else {
		m.reads++
	}
	delay, notes, entered := m.delay, m.notes, m.entered
	m.mu.Unlock()
	if entered != nil {
		entered <- struct{}{}
	}
	time.Sleep(delay)
	if i.Cmdlet == "Set-VMSwitch" {
		return cmdlet.Output{}
	}
	return cmdlet.Output{Objects: []*cmdlet.Object{{
		Types:      []string{"Microsoft.HyperV.PowerShell.VMSwitch"},
		Properties: []cmdlet.Property{{Name: "Name", Value: "s"}, {Name: "Notes", Value: notes}},
	}}}
}

func (m *countingModel) set(notes string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sets[notes]
}

const doorPassword = `pa'ss"$(1)ä`

// lab is one host behind a WinRM service.
type lab struct {
	door  *door.Door
	rules *door.Rules
	model *countingModel
	cfg   winrm.Config
}

func newLab(t *testing.T, limits door.Limits, starter simprocess.Starter) *lab {
	t.Helper()
	l := &lab{rules: &door.Rules{}, model: &countingModel{sets: map[string]int{}}}
	if starter == nil {
		engine, err := native.New(l.model, native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		starter = engine
	}
	var err error
	l.door, err = door.Open(door.Config{
		Host: "HV1", Starter: starter, Rules: l.rules, Limits: limits,
		Authenticators: []door.Authenticator{door.Basic{Username: "user", Password: doorPassword, AllowUnencrypted: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.door.Close)
	l.cfg = winrm.Config{
		Address: "127.0.0.1", Port: l.door.HTTPPort(), AllowUnencrypted: true, User: "user", Password: doorPassword,
		OperationTimeout: 300 * time.Millisecond, AnswerGrace: 300 * time.Millisecond, RetryBudget: 20 * time.Second,
		Log: func(_ context.Context, message string, fields map[string]any) {
			if text := fmt.Sprint(message, fields); strings.Contains(text, doorPassword) {
				t.Errorf("the log holds the password: %s", text)
			}
		},
	}
	return l
}

// noShells fails the test unless every shell is gone within a time.
func (l *lab) noShells(t *testing.T, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); l.door.Metrics().Shells != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d shells are left", l.door.Metrics().Shells)
			return
		}
	}
}

func (l *lab) pool(t *testing.T) *Pool {
	t.Helper()
	p := NewPool(l.cfg, PoolOptions{})
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := l.door.Metrics().Shells; left != 0 {
			t.Errorf("%d shells are left", left)
		}
	})
	return p
}

func setNotes(notes string) Call {
	return call("Set-VMSwitch", params{"Name": "s", "Notes": notes})
}

func getSwitch() Call { return read("Get-VMSwitch") }

func TestDoorExactlyOnce(t *testing.T) {
	effects := []door.Effect{door.DropBefore, door.DropAfter, door.DropMid, door.Stall, door.TimedOut, door.Busy, door.Unavailable, door.Unauthorized}
	for _, answers := range []int{0, -1} {
		for _, op := range []string{door.OpSend, door.OpReceive} {
			for _, effect := range effects {
				for _, request := range []int{1, 2} {
					t.Run(fmt.Sprintf("%s at %s %d, answers kept %v", effect, op, request, answers == 0), func(t *testing.T) {
						t.Parallel()
						l := newLab(t, door.Limits{Answers: answers}, nil)
						l.cfg.EnvelopeSize = 8192 // several pieces
						p := l.pool(t)
						if _, err := p.Do(t.Context(), getSwitch()); err != nil {
							t.Fatal(err)
						}
						l.model.delay = 20 * time.Millisecond
						l.rules.Add(door.Rule{Operation: op, Effect: effect, Request: request})
						text := strings.Repeat("it's $(1) ä ", 1000)
						l.model.notes = text
						for i := range 3 {
							notes := fmt.Sprint(i, text)
							results, err := p.Do(t.Context(), setNotes(notes), getSwitch())
							if err != nil {
								t.Fatal(err)
							}
							var got struct{ Notes string }
							if len(results) != 2 || json.Unmarshal(results[1].Output[0], &got) != nil || got.Notes != text {
								t.Errorf("%.500s", asJSON(t, results))
							}
							if n := l.model.set(notes); n != 1 {
								t.Errorf("it ran %d times", n)
							}
						}
						if left := l.rules.Pending(); len(left) != 0 {
							t.Errorf("the fault did not happen: %v", left)
						}
					})
				}
			}
		}
	}
}

// A process or shell that goes away: a change must not run twice, and must run once unless the caller
// is told that this is not known.
func TestDoorLost(t *testing.T) {
	for _, op := range []string{door.OpSend, door.OpReceive} {
		for _, effect := range []door.Effect{door.KillShell, door.KillProcess, door.ShellGone, door.Aborted} {
			t.Run(fmt.Sprintf("%s at %s", effect, op), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, door.Limits{}, nil)
				p := l.pool(t)
				if _, err := p.Do(t.Context(), getSwitch()); err != nil {
					t.Fatal(err)
				}
				l.model.delay = 100 * time.Millisecond
				fault := door.Rule{Operation: op, Effect: effect}

				l.rules.Add(fault)
				_, err := p.Do(t.Context(), setNotes("x"))
				var lost *LostError
				switch {
				case err == nil:
					if n := l.model.set("x"); n != 1 {
						t.Errorf("no error, and it ran %d times", n)
					}
				case !errors.As(err, &lost) || !lost.Started:
					t.Errorf("%v", err)
				case l.model.set("x") > 1:
					t.Errorf("it ran %d times", l.model.set("x"))
				}
				// Only a Send that was refused says that nothing can have begun.
				refused := op == door.OpSend && (effect == door.KillShell || effect == door.ShellGone)
				if refused != (err == nil) {
					t.Errorf("%v", err)
				}

				l.rules.Add(fault)
				results, err := p.Do(t.Context(), getSwitch())
				if err != nil || len(results) != 1 || len(results[0].Output) != 1 {
					t.Errorf("a read did not come back: %v, %v", results, err)
				}
				if left := l.rules.Pending(); len(left) != 0 {
					t.Errorf("the fault did not happen: %v", left)
				}
			})
		}
	}
}

func TestDoorOutage(t *testing.T) {
	t.Run("the network is away for a while, in the middle of a change", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{Answers: -1}, nil)
		p := l.pool(t)
		if _, err := p.Do(t.Context(), getSwitch()); err != nil {
			t.Fatal(err)
		}
		l.model.entered = make(chan struct{}, 1)
		l.model.delay = 500 * time.Millisecond
		go func() {
			<-l.model.entered
			l.rules.Add(door.Rule{Effect: door.DropBefore, Count: -1})
			l.door.Disconnect()
			time.Sleep(1500 * time.Millisecond)
			l.rules.Clear()
		}()
		if _, err := p.Do(t.Context(), setNotes("x")); err != nil {
			t.Error(err)
		}
		if n := l.model.set("x"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
	t.Run("every third answer of a large output is lost", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{}, nil)
		p := l.pool(t)
		l.model.notes = strings.Repeat("0123456789", 100000)
		if _, err := p.Do(t.Context(), getSwitch()); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			l.rules.Add(door.Rule{Operation: door.OpReceive, Effect: door.DropAfter, Request: 3*i + 2})
		}
		results, err := p.Do(t.Context(), getSwitch())
		if err != nil || !strings.Contains(output(results[0]), l.model.notes) {
			t.Errorf("%v", err)
		}
		l.rules.Clear()
	})
	t.Run("the budget is over", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{}, nil)
		l.cfg.RetryBudget = time.Second
		p := NewPool(l.cfg, PoolOptions{})
		if _, err := p.Do(t.Context(), getSwitch()); err != nil {
			t.Fatal(err)
		}
		l.door.Close()
		_, err := p.Do(t.Context(), setNotes("x"))
		var network *winrm.NetError
		if !errors.As(err, &network) || !network.Refused() {
			t.Errorf("%v", err)
		}
	})
}

func TestDoorShells(t *testing.T) {
	t.Run("waiting for the shell quota", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{MaxShells: 1}, nil)
		first := l.pool(t)
		if _, err := first.Do(t.Context(), getSwitch()); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(300 * time.Millisecond)
			l.door.KillShells()
		}()
		second := l.pool(t)
		if _, err := second.Do(t.Context(), getSwitch()); err != nil {
			t.Error(err)
		}
	})
	t.Run("an idle shell that went away is not noticed", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{}, nil)
		p := l.pool(t)
		for i := range 3 {
			if _, err := p.Do(t.Context(), setNotes(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			l.door.KillShells()
		}
		if l.model.set("0") != 1 || l.model.set("1") != 1 || l.model.set("2") != 1 {
			t.Errorf("%v", l.model.sets)
		}
	})
	t.Run("giving up deletes the shell", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{}, nil)
		p := l.pool(t)
		if _, err := p.Do(t.Context(), getSwitch()); err != nil {
			t.Fatal(err)
		}
		l.model.delay = 3 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := p.Do(ctx, getSwitch()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		l.noShells(t, 2*time.Second)
	})
	t.Run("a batch costs two requests, and readers share it", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{}, nil)
		l.cfg.OperationTimeout = 5 * time.Second
		p := l.pool(t)
		c := NewCoalescer(p)
		c.gatherTime = 200 * time.Millisecond
		if _, err := p.Do(t.Context(), getSwitch()); err != nil {
			t.Fatal(err)
		}
		before := l.door.Metrics()
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				results, err := c.Do(t.Context(),
					Call{Call: wire.Call{Cmdlet: "Get-VMSwitch", Save: "s"}, ReadOnly: true},
					Call{Call: wire.Call{Cmdlet: "Get-NoSuchThing"}, ReadOnly: true},
					getSwitch())
				if err != nil || len(results) != 2 {
					t.Errorf("%v, %v", results, err)
				}
			})
		}
		group.Wait()
		after := l.door.Metrics()
		sends, receives := after.Operations[door.OpSend]-before.Operations[door.OpSend], after.Operations[door.OpReceive]-before.Operations[door.OpReceive]
		// 60 calls are more than one batch takes.
		if after.ShellsCreated > 2 || sends > 2 || receives > 4 {
			t.Errorf("%d shells, %d Sends, %d Receives", after.ShellsCreated, sends, receives)
		}
	})
	t.Run("a wrong password", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, door.Limits{}, nil)
		l.cfg.Password = "wrong"
		var auth *winrm.AuthError
		if _, err := NewPool(l.cfg, PoolOptions{}).Do(t.Context(), getSwitch()); !errors.As(err, &auth) || auth.TLS || !auth.OffersAuth() {
			t.Errorf("%v", err)
		}
	})
}
