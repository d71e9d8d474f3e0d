package powershell

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// The fault matrix: each thing that the simulator can do to a request, at each operation, to a batch that reads and
// to one that changes something.

// ending is how a batch ends.
type ending string

const (
	succeeds     ending = "it succeeds"
	isRefused    ending = "the credential is refused"
	isFault      ending = "the fault is passed on"
	mayBeLost    ending = "a change may be done, a read runs again"
	mayEndBefore ending = "the same, unless it had ended by then"
	leavesAShell ending = "it succeeds, and the shell stays until its idle timeout"
)

// expected is what the retry table says; what is not in it succeeds.
func expected(op string, effect door.Effect) ending {
	type point struct {
		op     string
		effect door.Effect
	}
	if e, ok := map[point]ending{
		// Nothing says yet that the credential is right.
		{door.OpCreate, door.Unauthorized}: isRefused, {door.OpCreate, door.UnauthorizedHTML}: isRefused,
		{door.OpCommand, door.Unauthorized}: isRefused, {door.OpCommand, door.UnauthorizedHTML}: isRefused,
		{door.OpCreate, door.TimedOut}: isFault, {door.OpCreate, door.Busy}: isFault,
		{door.OpCommand, door.TimedOut}: isFault, {door.OpCommand, door.Busy}: isFault,
		// The process went away, or what it says cannot be had any more.
		{door.OpSend, door.Aborted}: mayBeLost, {door.OpSend, door.KillProcess}: mayBeLost,
		{door.OpReceive, door.Quota}: mayBeLost, {door.OpReceive, door.QuotaOperations}: mayBeLost,
		{door.OpReceive, door.ShellGone}: mayBeLost, {door.OpReceive, door.Aborted}: mayBeLost,
		{door.OpReceive, door.KeyDeleted}: mayBeLost,
		{door.OpReceive, door.KillShell}:  mayBeLost, {door.OpReceive, door.KillProcess}: mayEndBefore,
		// The host says itself that there is no such shell.
		{door.OpDelete, door.ShellGone}: leavesAShell, {door.OpDelete, door.KeyDeleted}: leavesAShell,
	}[point{op, effect}]; ok {
		return e
	}
	return succeeds
}

// manyAtOnce runs subtests side by side: they mostly wait, so more of them than there are processors.
func manyAtOnce(t *testing.T, run func(point func(name string, f func(*testing.T)))) {
	t.Helper()
	var group sync.WaitGroup
	room := make(chan struct{}, 12)
	run(func(name string, f func(*testing.T)) {
		room <- struct{}{}
		group.Go(func() {
			t.Run(name, f)
			<-room
		})
	})
	group.Wait()
}

func TestFaultMatrix(t *testing.T) { manyAtOnce(t, faultMatrix) }

func faultMatrix(point func(name string, f func(*testing.T))) {
	for _, answers := range []int{0, -1} { // whether the service keeps answers by MessageID
		for _, op := range door.Operations() {
			if answers < 0 && op != door.OpSend && op != door.OpReceive {
				continue // TestShellsThatNobodyKnows
			}
			for _, effect := range door.RequestEffects() {
				for _, write := range []bool{false, true} {
					kind := map[bool]string{false: "read", true: "write"}[write]
					point(fmt.Sprintf("%s %s %s, answers kept %v", op, effect, kind, answers == 0), func(t *testing.T) {
						faultPoint(t, answers, door.Rule{Operation: op, Effect: effect}, write)
					})
				}
			}
		}
	}
}

// faultLab has short times: no point of the matrix has to wait for a long one.
func faultLab(t *testing.T, limits door.Limits) *lab {
	l := newLab(t, limits, nil)
	l.cfg.OperationTimeout, l.cfg.AnswerGrace, l.cfg.RetryBudget = 200*time.Millisecond, 200*time.Millisecond, 5*time.Second
	return l
}

func faultPoint(t *testing.T, answers int, rule door.Rule, write bool) {
	l := faultLab(t, door.Limits{Answers: answers, IdleTimeout: 6 * time.Second})
	l.cfg.AnswerGrace, l.cfg.RetryBudget = time.Second, 10*time.Second // many points at once on a machine that has other things to do
	p := NewPool(l.cfg, PoolOptions{})
	switch rule.Effect {
	case door.Delay:
		rule.DelayMS = 50
	case door.Blackout:
		rule.DurationMS = 500
	}
	if rule.Operation != door.OpCreate && rule.Operation != door.OpCommand { // the session is there already
		if _, err := p.Do(t.Context(), getSwitch()); err != nil {
			t.Fatal(err)
		}
	}
	l.model.delay = 100 * time.Millisecond
	reads := l.model.reads
	if err := rule.Validate(); err != nil {
		t.Fatal(err)
	}
	l.rules.Add(rule)

	const limit = 14 * time.Second // budget, one try, and some more
	begun := time.Now()
	want := expected(rule.Operation, rule.Effect)
	var err error
	if write {
		_, err = p.Do(t.Context(), setNotes("x"))
	} else {
		_, err = p.Do(t.Context(), getSwitch())
	}
	if took := time.Since(begun); took > limit {
		t.Errorf("it took %v", took)
	}
	checkEnding(t, want, err, write)
	if n := l.model.set("x"); n > 1 || n == 0 && write && err == nil {
		t.Errorf("the change ran %d times: %v", n, err)
	}
	var lost *LostError
	if l.model.set("x") > 0 && err != nil && (!errors.As(err, &lost) || !lost.Started) {
		t.Errorf("the change ran, but the error does not say so: %v", err)
	}
	if !write && err == nil && l.model.reads == reads {
		t.Error("nothing was read")
	}

	if rule.Operation != door.OpSignal && rule.Operation != door.OpDelete {
		if left := l.rules.Pending(); len(left) != 0 {
			t.Errorf("the fault did not happen: %v", left)
		}
		if _, err := p.Do(t.Context(), getSwitch()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	begun = time.Now()
	if err := p.Close(context.Background()); err != nil {
		t.Errorf("closing: %v", err)
	}
	if took := time.Since(begun); took > limit {
		t.Errorf("closing took %v", took)
	}
	if left := l.rules.Pending(); len(left) != 0 {
		t.Errorf("the fault did not happen: %v", left)
	}
	if want == leavesAShell {
		if left := l.door.Metrics().Shells; left != 1 {
			t.Errorf("%d shells are left", left)
		}
		l.noShells(t, 10*time.Second)
	} else {
		l.noShells(t, 100*time.Millisecond)
	}
}

func checkEnding(t *testing.T, want ending, err error, write bool) {
	t.Helper()
	var auth *winrm.AuthError
	var lost *LostError
	good := err == nil
	switch want {
	case isRefused:
		good = errors.As(err, &auth)
	case isFault:
		good = winrm.IsFault(err, winrm.CodeOperationTimeout, winrm.CodeBusy)
	case mayEndBefore:
		good = err == nil || errors.As(err, &lost) && lost.Started && write
	case mayBeLost:
		good = err == nil && !write || errors.As(err, &lost) && lost.Started && write
	}
	if !good {
		t.Errorf("%v, but %s", err, want)
	}
}

// Where the service does not keep answers, a shell whose Create was answered in vain is known to nobody. It goes by
// the idle timeout that was asked for.
func TestShellsThatNobodyKnows(t *testing.T) {
	for _, effect := range []door.Effect{door.DropAfter, door.DropMid, door.Stall} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			l := faultLab(t, door.Limits{Answers: -1, IdleTimeout: time.Second})
			p := NewPool(l.cfg, PoolOptions{})
			l.rules.Add(door.Rule{Operation: door.OpCreate, Effect: effect})
			if _, err := p.Do(t.Context(), setNotes("x")); err != nil || l.model.set("x") != 1 {
				t.Errorf("%v; it ran %d times", err, l.model.set("x"))
			}
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if m := l.door.Metrics(); m.ShellsCreated != 2 {
				t.Errorf("%d shells were made", m.ShellsCreated)
			}
			l.noShells(t, 3*time.Second)
		})
	}
}
