package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// impatient is quick, and waits for the network in parts of a second where users wait for parts of a minute.
func impatient(o *provider.Options) {
	quick(o)
	c := &o.Connection
	c.OperationTimeout, c.AnswerGrace, c.RetryBudget, c.ReturnGrace = 300*time.Millisecond, 300*time.Millisecond, 6*time.Second, 2*time.Second
	o.Grace, o.CloseTime, o.FirstContact = time.Second, 2*time.Second, 2*time.Second
}

// impatientHarness is a provider for a host that does not wait for long.
func (l *testLab) impatientHarness(config object, more ...func(*provider.Options)) *harness {
	l.t.Helper()
	h := startServer(l.t, append([]func(*provider.Options){impatient}, more...)...)
	if d := h.configure(config).errors(); len(d) > 0 {
		l.t.Fatal(d)
	}
	return h
}

// calls counts the calls of a cmdlet that the provider made on the lab.
func (l *testLab) calls(cmdlet string) int {
	n := 0
	for _, e := range l.journal() {
		if e.Cmdlet == cmdlet && !e.OutOfBand {
			n++
		}
	}
	return n
}

// blackOutAt makes a host unreachable as soon as a cmdlet is called, and does more while it is.
func (l *testLab) blackOutAt(cmdlet string, length time.Duration, more ...door.Rule) {
	l.t.Helper()
	l.fault(door.Rule{Cmdlet: cmdlet, Effect: door.Blackout, DurationMS: int(length.Milliseconds())})
	if len(more) == 0 {
		return
	}
	seen, test := l.metrics().CmdletCalls[cmdlet], l.t
	go func() {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if l.metrics().CmdletCalls[cmdlet] > seen {
				if err := l.server.AddFaults(more...); err != nil {
					test.Error(err)
				}
				return
			}
		}
	}()
}

// noShells fails the test unless every shell is gone within a time.
func (l *testLab) noShells(within time.Duration) {
	l.t.Helper()
	for deadline := time.Now().Add(within); l.metrics().Shells != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Errorf("%d shells are left", l.metrics().Shells)
			return
		}
	}
}

// bouncing are settings whose change restarts the net adapters.
func bouncing(vfs int) object {
	return object{"host": "hv1", "net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": vfs}
}

func plainSwitch() object {
	return object{"host": "hv1", "name": "S", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false}
}

// Case 43: an operation that takes longer than its timeout ends with an error that says so, and the host is not lost
// sight of; one that ends soon after it counts.
func TestCase43NoSilentTimeout(t *testing.T) {
	t.Run("it ends soon after", func(t *testing.T) {
		t.Parallel()
		l := startLab(t, "intel-x722")
		h := l.impatientHarness(l.config("hv1"))
		l.fault(door.Rule{Cmdlet: "New-VMSwitch", Effect: door.Delay, DelayMS: 900})
		s := h.resource(switchType)
		config := merged(plainSwitch(), object{"timeouts": object{"create": "500ms"}})
		says(t, mustApply(t, s, config).String(), "stays owed") // the restart behind it had no time any more
		config = merged(config, object{"timeouts": object{"update": "1m"}})
		mustApply(t, s, config)
		s.settled(config)
		if n := l.calls("New-VMSwitch"); n != 1 {
			t.Errorf("%d switches were made", n)
		}
	})
	t.Run("it goes on", func(t *testing.T) {
		t.Parallel()
		l := startLab(t, "intel-x722")
		h := l.impatientHarness(l.config("hv1"))
		l.fault(door.Rule{Cmdlet: "New-VMSwitch", Effect: door.Delay, DelayMS: 4000})
		s := h.resource(switchType)
		config := merged(plainSwitch(), object{"timeouts": object{"create": "500ms"}})
		begun := time.Now()
		d := s.apply(config)
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("the error came after %v", took)
		}
		says(t, d.errors().String(), `Unable to create switch "S"`, "Host: hv1", "The host may still be at it", "timeouts", "taken over by the next apply")
		if s.state != nil {
			t.Errorf("what nobody has seen is in the state: %v", s.state)
		}
		for end := time.Now().Add(10 * time.Second); !strings.Contains(l.state(), `"S"`) && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		config = merged(config, object{"timeouts": object{"create": "1m"}})
		mustApply(t, s, config)
		s.settled(config)
		if n := l.calls("New-VMSwitch"); n != 1 {
			t.Errorf("%d switches were made", n)
		}
	})
}

// Case 57: while the net adapters restart the host is away, and then something else answers for a while. Without a
// restart the same answer is an error at once.
func TestCase57RefusedAfterARestart(t *testing.T) {
	for _, auth := range []string{"basic", "ntlm", "auto"} {
		for _, effect := range []door.Effect{door.UnauthorizedHTML, door.Unauthorized} {
			t.Run(fmt.Sprintf("%s %s", auth, effect), func(t *testing.T) {
				t.Parallel()
				l := startLab(t, "intel-x722")
				h := l.impatientHarness(with(l.config("hv1"), "auth", auth), func(o *provider.Options) {
					o.MaxSessions = 1 // an idle session would notice the blackout only later
					o.Connection.ReturnGrace = 3 * time.Second
				})
				i := h.resource(nicType)
				mustApply(t, i, bouncing(8))

				once := l.calls("Disable-NetAdapter") // for each port
				l.blackOutAt("Disable-NetAdapter", time.Second, door.Rule{Effect: effect, DurationMS: 500})
				refused := l.metrics().Unauthorized
				begun := time.Now()
				mustApply(t, i, bouncing(4))
				i.settled(bouncing(4))
				if n := l.calls("Disable-NetAdapter"); once == 0 || n != 2*once {
					t.Errorf("%d calls instead of %d restarted the net adapters", n-once, once)
				}
				if l.metrics().Unauthorized == refused {
					t.Error("nothing was refused")
				}
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}

				time.Sleep(3100 * time.Millisecond)                       // the grace is over
				for _, op := range []string{door.OpCreate, door.OpSend} { // the shell can be deleted
					l.fault(door.Rule{Operation: op, Effect: effect, DurationMS: 5000})
				}
				begun = time.Now()
				says(t, i.refresh().errors().String(), "hv1", "401")
				if took := time.Since(begun); took > 2500*time.Millisecond {
					t.Errorf("the refusal was told after %v", took)
				}
				l.server.ClearFaults()
				h.close()
				l.noShells(time.Second)
			})
		}
	}
}

// Case 59: a change that takes its time is waited for, over many requests, and its result is the host's.
func TestCase59WaitedFor(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722")
	h := l.impatientHarness(l.config("hv1"))
	l.fault(door.Rule{Cmdlet: "New-VMSwitch", Effect: door.Delay, DelayMS: 3000})
	s := h.resource(switchType)
	begun := time.Now()
	mustApply(t, s, plainSwitch())
	if took := time.Since(begun); took < 3*time.Second {
		t.Errorf("it was told to be done after %v", took)
	}
	if n := l.metrics().Operations[door.OpReceive]; n < 8 {
		t.Errorf("%d Receives: it was not waited for over several requests", n)
	}
	s.settled(plainSwitch())

	// What fails in the end is an error, not a success by default.
	l.fault(door.Rule{Cmdlet: "Remove-VMSwitch", Effect: door.ErrorRecordEffect, DelayMS: 1000,
		Error: &door.ErrorRecord{ID: "OperationFailed", Category: "InvalidOperation", Message: "no"}})
	says(t, s.apply(nil).errors().String(), `Unable to delete switch "S"`, "OperationFailed")
	if s.state == nil {
		t.Error("a switch that is still there has left the state")
	}
}

// Case 60: a restart of the network does not hang until something expires: the way is found again, or the
// resource's timeout or the provider's budget ends it with an error that says what to look at.
func TestCase60Reconnects(t *testing.T) {
	t.Run("within the budget", func(t *testing.T) {
		t.Parallel()
		l := startLab(t, "intel-x722")
		h := l.impatientHarness(l.config("hv1"))
		i := h.resource(nicType)
		mustApply(t, i, bouncing(8))
		l.blackOutAt("Enable-NetAdapter", 2*time.Second)
		config := merged(bouncing(4), object{"timeouts": object{"update": "1m"}})
		mustApply(t, i, config)
		i.settled(config)
	})
	for name, x := range map[string]struct {
		timeout string
		budget  time.Duration
		says    string
	}{
		"the timeout is over": {"1s", time.Minute, "timeout"},
		"the budget is over":  {"1m", 1500 * time.Millisecond, "was tried"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722")
			h := l.impatientHarness(l.config("hv1"), func(o *provider.Options) { o.Connection.RetryBudget = x.budget })
			s := h.resource(switchType)
			mustApply(t, s, plainSwitch())
			config := merged(plainSwitch(), object{"notes": "n", "timeouts": object{"update": x.timeout}})
			l.blackOutAt("Set-VMSwitch", 6*time.Second)
			begun := time.Now()
			d := s.apply(config)
			if took := time.Since(begun); took > 4500*time.Millisecond {
				t.Errorf("the error came after %v", took)
			}
			says(t, d.errors().String(), `Unable to update switch "S"`, "Host: hv1", "lan again", x.says)
			time.Sleep(time.Until(begun.Add(6500 * time.Millisecond)))
			mustApply(t, s, config)
			s.settled(config)
			if n := l.calls("Set-VMSwitch"); n != 1 {
				t.Errorf("the change ran %d times", n)
			}
		})
	}
}

// Case 61: a shell that vanished is opened anew. What only reads runs again; a change is looked for before anything
// is done twice.
func TestCase61ShellVanished(t *testing.T) {
	t.Run("reads", func(t *testing.T) {
		t.Parallel()
		l := startLab(t, "intel-x722")
		h := l.impatientHarness(l.config("hv1"))
		s := h.resource(switchType)
		mustApply(t, s, plainSwitch())
		for _, rule := range []door.Rule{
			{Operation: door.OpSend, Effect: door.KillShell}, {Operation: door.OpReceive, Effect: door.KillShell},
			{Operation: door.OpSend, Effect: door.ShellGone}, {Cmdlet: "Get-VMSwitch", Effect: door.KillShell},
		} {
			was := l.metrics().ShellsCreated
			l.fault(rule)
			if d := s.refresh(); len(d) > 0 || s.state == nil {
				t.Errorf("%v: %s", rule, d)
			}
			if n := l.metrics().ShellsCreated - was; n != 1 {
				t.Errorf("%v: %d shells were opened", rule, n)
			}
		}
	})
	for name, rule := range map[string]door.Rule{
		"before the change":  {Operation: door.OpSend, Effect: door.KillShell, Request: 2},
		"behind the change":  {Cmdlet: "New-VMSwitch", Effect: door.KillShell},
		"process behind it":  {Cmdlet: "New-VMSwitch", Effect: door.KillProcess},
		"while it is waited": {Cmdlet: "New-VMSwitch", Effect: door.KillShell, DelayMS: 700},
	} {
		t.Run("create, "+name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722")
			h := l.impatientHarness(l.config("hv1"))
			if d := h.resource(switchType).importID("hv1/none"); len(d.errors()) == 0 {
				t.Fatal("there is a switch")
			}
			l.fault(rule)
			s := h.resource(switchType)
			mustApply(t, s, plainSwitch())
			s.settled(plainSwitch())
			if n := l.calls("New-VMSwitch"); n != 1 {
				t.Errorf("%d switches were made", n)
			}
			if n := l.metrics().ShellsCreated; n != 2 {
				t.Errorf("%d shells were opened", n)
			}
			h.close()
			l.noShells(time.Second)
		})
	}
	t.Run("a change of what is there", func(t *testing.T) {
		t.Parallel()
		l := startLab(t, "intel-x722")
		h := l.impatientHarness(l.config("hv1"))
		s := h.resource(switchType)
		mustApply(t, s, plainSwitch())
		config := merged(plainSwitch(), object{"notes": "n"})
		l.fault(door.Rule{Cmdlet: "Set-VMSwitch", Effect: door.KillShell})
		d := s.apply(config)
		says(t, d.errors().String(), "may or may not be done", "Plan again")
		mustApply(t, s, config)
		s.settled(config)
		if n := l.calls("Set-VMSwitch"); n != 1 {
			t.Errorf("the change ran %d times", n)
		}
	})
	t.Run("an adapter of a VM", func(t *testing.T) {
		t.Parallel()
		l := startLab(t, "intel-x722")
		h := l.impatientHarness(l.config("hv1"))
		mustApply(t, h.resource(switchType), plainSwitch())
		l.fault(door.Rule{Cmdlet: "Add-VMNetworkAdapter", Effect: door.KillShell})
		i := h.resource(adapterType)
		config := object{"host": "hv1", "vm_name": "vm2", "name": "A", "switch_name": "S"}
		before := strings.Count(l.state(), `"A"`)
		if d := i.apply(config); len(d.errors()) == 0 || i.state != nil {
			t.Errorf("%s %v", d, i.state)
		}
		if strings.Count(l.state(), `"A"`) != before {
			t.Error("the unfinished adapter is still there")
		}
		mustApply(t, i, config)
		i.settled(config)
	})
}
