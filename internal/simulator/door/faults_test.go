package door_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/masterzen/winrm"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// Each fault hits one Send; afterwards it is asked whether the line reached the program.
func TestFaultsOnSend(t *testing.T) {
	for _, tt := range []struct {
		effect    door.Effect
		status    int // 0: no answer
		fault     uint32
		processed bool
		gone      uint32 // fault of a later Receive, where the command did not survive
	}{
		{door.DropBefore, 0, 0, false, 0},
		{door.DropAfter, 0, 0, true, 0},
		{door.DropMid, 0, 0, true, 0},
		{door.Delay, 200, 0, true, 0},
		{door.Unauthorized, 401, 0, false, 0},
		{door.UnauthorizedHTML, 401, 0, false, 0},
		{door.Unavailable, 503, 0, false, 0},
		{door.TimedOut, 500, door.CodeTimedOut, false, 0},
		{door.Busy, 500, door.CodeBusy, false, 0},
		{door.Quota, 500, door.CodeMaxShells, false, 0},
		{door.QuotaOperations, 500, door.CodeMaxOperations, false, 0},
		{door.ShellGone, 500, door.CodeInvalidSelector, false, 0},
		{door.Aborted, 500, door.CodeAborted, false, 0},
		{door.KillShell, 500, door.CodeInvalidSelector, false, door.CodeInvalidSelector},
		{door.KillProcess, 500, door.CodeAborted, false, 0},
	} {
		t.Run(string(tt.effect), func(t *testing.T) {
			b := open(t, nil)
			b.par = winrm.NewParameters("PT0.2S", "en-US", 153600)
			sh := b.shell()
			cmd := b.command(sh, "cat")
			rule := door.Rule{Host: "HV1", Operation: door.OpSend, Effect: tt.effect}
			if tt.effect == door.Delay {
				rule.DelayMS = 20
			}
			if err := rule.Validate(); err != nil {
				t.Fatal(err)
			}
			b.rules.Add(rule)
			a := b.post(b.send(sh, cmd, "line"))
			if tt.status == 0 {
				if a.err == nil {
					t.Errorf("answered: %d %s", a.status, a.body)
				}
			} else if a.status != tt.status || a.fault() != tt.fault {
				t.Errorf("status %d (%v), fault %d: %s", a.status, a.err, a.fault(), a.body)
			}
			if html := tt.effect == door.UnauthorizedHTML; html != strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
				t.Errorf("content type %q", a.header.Get("Content-Type"))
			}
			if left := b.rules.Pending(); len(left) != 0 {
				t.Errorf("rules left: %v", left)
			}
			a = b.post(b.receive(sh, cmd))
			if tt.gone != 0 {
				if a.fault() != tt.gone {
					t.Errorf("Receive afterwards: %d %s", a.status, a.body)
				}
				return
			}
			var out, errs bytes.Buffer
			_, _, _ = winrm.ParseSlurpOutputErrResponse(a.body, &out, &errs)
			if got := out.String() == "line"; got != tt.processed {
				t.Errorf("processed %v, want %v (%q)", got, tt.processed, out.String())
			}
		})
	}
}

// A lost answer to a Receive: with kept answers the same message gets the same output again; without
// them the output is lost.
func TestSameMessageAgain(t *testing.T) {
	for _, effect := range []door.Effect{door.DropAfter, door.DropMid, door.Stall} {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, answers kept %v", effect, kept), func(t *testing.T) {
				b := open(t, func(c *door.Config) {
					if !kept {
						c.Limits.Answers = -1
					}
				})
				b.par = winrm.NewParameters("PT0.3S", "en-US", 153600)
				b.client.Timeout = 0
				sh := b.shell()
				cmd := b.command(sh, "cat")
				if a := b.post(b.send(sh, cmd, "line")); a.status != 200 {
					t.Fatal(a.body)
				}
				b.rules.Add(door.Rule{Operation: door.OpReceive, Effect: effect})
				m := b.receive(sh, cmd)
				if effect == door.Stall {
					lost := make(chan answer)
					go func() { lost <- b.post(m) }()
					b.until("the Receive arrives", func() bool { return len(b.rules.Pending()) == 0 })
					// Wait until the output has been taken, then cut the connection as a client's timeout would.
					probe := b.post(b.receive(sh, cmd))
					if probe.fault() != door.CodeTimedOut {
						t.Fatalf("the stalled request did not take the output: %s", probe.body)
					}
					b.door.Disconnect()
					b.client.CloseIdleConnections() // those were cut too
					if a := <-lost; a.err == nil {
						t.Fatalf("answered: %s", a.body)
					}
				} else if a := b.post(m); a.err == nil {
					t.Fatalf("answered: %s", a.body)
				}
				a := b.post(m)
				var out, errs bytes.Buffer
				if kept {
					if _, _, err := winrm.ParseSlurpOutputErrResponse(a.body, &out, &errs); err != nil || out.String() != "line" {
						t.Errorf("second answer %q, %v", out.String(), err)
					}
				} else if a.fault() != door.CodeTimedOut {
					t.Errorf("second answer: %d %s", a.status, a.body)
				}
			})
		}
	}
}

// A long poll whose client went away takes nothing: the next one gets the output, whatever its MessageID.
func TestAbandonedLongPollTakesNothing(t *testing.T) {
	b := open(t, nil)
	sh := b.shell()
	cmd := b.command(sh, "cat")
	lost := make(chan answer)
	go func() { lost <- b.post(b.receive(sh, cmd)) }()
	b.until("the Receive arrives", func() bool { return b.door.Metrics().Operations[door.OpReceive] == 1 })
	b.door.Disconnect()
	b.client.CloseIdleConnections() // those were cut too
	if a := <-lost; a.err == nil {
		t.Fatalf("answered: %s", a.body)
	}
	if a := b.post(b.send(sh, cmd, "line")); a.status != 200 {
		t.Fatal(a.body)
	}
	var out, errs bytes.Buffer
	if _, _, err := winrm.ParseSlurpOutputErrResponse(b.post(b.receive(sh, cmd)).body, &out, &errs); err != nil || out.String() != "line" {
		t.Errorf("received %q, %v", out.String(), err)
	}
}

// Kept answers are bounded.
func TestKeptAnswersAreBounded(t *testing.T) {
	b := open(t, func(c *door.Config) { c.Limits.Answers = 2 })
	first := winrm.NewOpenShellRequest(b.url, b.par)
	one := b.post(first).body
	if again := b.post(first).body; again != one {
		t.Errorf("the same message was answered differently")
	}
	b.shell()
	b.shell()
	if again := b.post(first).body; again == one {
		t.Errorf("three answers are kept, the limit is two")
	}
}

func TestRuleOrdinals(t *testing.T) {
	const none = ""
	for _, tt := range []struct {
		name  string
		rules []door.Rule
		want  []string // effect of each Send and Receive in turn
	}{
		{"next request", []door.Rule{{Effect: "503"}}, []string{"503", none, none, none}},
		{"third request", []door.Rule{{Request: 3, Effect: "503"}}, []string{none, none, "503", none}},
		{"second Receive", []door.Rule{{Operation: "Receive", Request: 2, Effect: "busy"}}, []string{none, none, none, "busy"}},
		{"two from the second", []door.Rule{{Request: 2, Count: 2, Effect: "503"}}, []string{none, "503", "503", none}},
		{"all", []door.Rule{{Count: -1, Effect: "503"}}, []string{"503", "503", "503", "503"}},
		{"two rules", []door.Rule{{Request: 2, Effect: "503"}, {Request: 2, Effect: "busy"}}, []string{none, "503", "busy", none}},
		{"other host", []door.Rule{{Host: "hv2", Count: -1, Effect: "503"}}, []string{none, none, none, none}},
		{"about a cmdlet", []door.Rule{{Cmdlet: "Get-VM", Count: -1, Effect: "drop_before"}}, []string{none, none, none, none}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rules door.Rules
			for _, r := range tt.rules {
				if err := r.Validate(); err != nil {
					t.Fatal(err)
				}
				rules.Add(r)
			}
			for i, want := range tt.want {
				op := door.OpSend
				if i%2 == 1 {
					op = door.OpReceive
				}
				got := none
				if r := rules.Request("HV1", op); r != nil {
					got = string(r.Effect)
				}
				if got != want {
					t.Errorf("request %d: %q, want %q", i+1, got, want)
				}
			}
		})
	}
}

func TestRuleAboutCmdlet(t *testing.T) {
	var rules door.Rules
	rules.Add(door.Rule{Cmdlet: "set-vm", Object: "vm [1]", Request: 2, Effect: "kill_process"})
	about := func(names ...string) func(string) bool {
		return func(o string) bool { return len(names) > 0 && names[0] == o }
	}
	for i, tt := range []struct {
		cmdlet string
		object string
		hit    bool
	}{{"Set-VM", "vm [1]", false}, {"Set-VM", "vm1", false}, {"Get-VM", "vm [1]", false}, {"Set-VM", "vm [1]", true}, {"Set-VM", "vm [1]", false}} {
		if hit := rules.Cmdlet("hv1", tt.cmdlet, about(tt.object)) != nil; hit != tt.hit {
			t.Errorf("call %d: hit %v", i+1, hit)
		}
	}
}

func TestInvalidRules(t *testing.T) {
	record := &door.ErrorRecord{ID: "X", Category: "InvalidOperation"}
	for _, tt := range []struct {
		name string
		rule door.Rule
		text string
	}{
		{"no effect", door.Rule{}, `effect ""`},
		{"unknown effect", door.Rule{Effect: "explode"}, "explode"},
		{"operation", door.Rule{Effect: "503", Operation: "Pull"}, "Pull"},
		{"operation and cmdlet", door.Rule{Effect: "delay", DelayMS: 1, Operation: "Send", Cmdlet: "Get-VM"}, "no operation"},
		{"delay without time", door.Rule{Effect: "delay"}, "delay_ms"},
		{"negative delay", door.Rule{Effect: "503", DelayMS: -1}, "delay_ms"},
		{"request", door.Rule{Effect: "503", Request: -1}, "request"},
		{"count", door.Rule{Effect: "503", Count: -2}, "count"},
		{"error about a request", door.Rule{Effect: "error", Error: record}, `effect "error"`},
		{"error without record", door.Rule{Effect: "error", Cmdlet: "Get-VM"}, "needs error"},
		{"record without error", door.Rule{Effect: "503", Error: record}, "takes no error"},
		{"blackout without time", door.Rule{Effect: "blackout"}, "duration_ms"},
		{"negative duration", door.Rule{Effect: "503", DurationMS: -1}, "duration_ms"},
		{"duration and count", door.Rule{Effect: "503", DurationMS: 1, Count: 2}, "exclude"},
		{"duration of an effect on a cmdlet", door.Rule{Effect: "kill_shell", Cmdlet: "Get-VM", DurationMS: 1}, "duration_ms"},
		{"request effect on a cmdlet", door.Rule{Effect: "401", Object: "vm1"}, "cmdlet calls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.rule.Validate(); err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want one with %q", err, tt.text)
			}
		})
	}
}
