package powershell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// script is an Executor that writes down what it got. What a cmdlet is called says how it goes: Lost-…
// loses the connection, Get-None finds nothing, Fail-… gives an error record.
type script struct {
	name string
	log  *[]string
	fail func() error
}

func (s *script) Do(_ context.Context, calls ...Call) ([]wire.Result, error) {
	var names []string
	for _, c := range calls {
		if c.Guest != nil && s.name != "host" {
			return nil, fmt.Errorf("the guest gets a call for guest %v", c.Guest)
		}
		names = append(names, c.Cmdlet)
	}
	*s.log = append(*s.log, s.name+": "+strings.Join(names, " "))
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return nil, err
		}
	}
	var results []wire.Result
	for _, c := range calls {
		var r wire.Result
		verb, _, _ := strings.Cut(c.Cmdlet, "-")
		switch {
		case verb == "Fail":
			r.Errors = []wire.CommandError{{ID: "Failed", Session: true}}
		case c.Cmdlet != "Get-None":
			raw, _ := json.Marshal(s.name + " " + c.Cmdlet)
			r.Output = []json.RawMessage{raw}
		}
		results = append(results, r)
		if len(r.Errors) > 0 && c.OnError != wire.OnErrorContinue {
			break
		}
	}
	return results, nil
}

// routes sends the guest "own" its own way.
type routes struct{ own Executor }

func (r routes) Route(g wire.Guest) Executor {
	if strings.EqualFold(g.Name, "own") {
		return r.own
	}
	return nil
}

func saved(c Call, name string) Call { c.Save = name; return c }

func inNamed(name string, vm any, c Call) Call {
	c.Guest = &wire.Guest{Name: name, VMID: vm, Credential: wire.Credential{User: "u", Password: "p"}}
	return c
}

func TestRouter(t *testing.T) {
	const vm = runningVM
	refer := func(c Call, to string) Call { c.Parameters = map[string]any{"X": []any{wire.First(to)}}; return c }
	piped := func(c Call, from string) Call { c.Input = from; return c }
	auth := &winrm.AuthError{URL: "u", Auth: "basic", User: "u"}
	tests := []struct {
		name      string
		calls     []Call
		hostFails func() error
		fails     func() error
		log       []string // what ran where
		want      []string // of each result: its output, or ids of its errors
		err       string
		started   bool
	}{
		{name: "host alone", calls: []Call{read("Get-A"), inNamed("other", vm, read("Get-B")), call("Set-C", nil)},
			log: []string{"host: Get-A Get-B Set-C"}, want: []string{"host Get-A", "host Get-B", "host Set-C"}},
		{name: "back in their places", calls: []Call{read("Get-A"), inNamed("OWN", vm, read("Get-B")), inNamed("own", vm, call("Set-C", nil)), call("Set-D", nil)},
			log: []string{"host: Get-A", "guest: Get-B Set-C", "host: Set-D"}, want: []string{"host Get-A", "guest Get-B", "guest Set-C", "host Set-D"}},
		{name: "the machine from a reference", calls: []Call{saved(read("Get-VM"), "vms"), inNamed("own", wire.FirstProperty("vms", "Id"), read("Get-B"))},
			log: []string{"host: Get-VM", "guest: Get-B"}, want: []string{"host Get-VM", "guest Get-B"}},
		{name: "the machine is gone", calls: []Call{saved(read("Get-None"), "vms"), onErrorContinue(inNamed("own", wire.First("vms"), read("Get-B"))), inNamed("own", wire.First("vms"), call("Set-B", nil)), call("Set-C", nil)},
			log: []string{"host: Get-None"}, want: []string{"", wire.ErrorReferenceEmpty, wire.ErrorReferenceEmpty}},
		{name: "no such name", calls: []Call{onErrorContinue(inNamed("own", wire.First("vms"), read("Get-B"))), read("Get-C")},
			log: []string{"host: Get-C"}, want: []string{wire.ErrorReferenceEmpty, "host Get-C"}},
		{name: "names across a guest's part", calls: []Call{saved(read("Get-A"), "a"), saved(refer(read("Get-B"), "a"), "b"), read("Get-Other"), inNamed("own", vm, call("Set-C", nil)), piped(call("Set-D", nil), "b")},
			log: []string{"host: Get-A Get-B Get-Other", "guest: Set-C", "host: Get-A Get-B Set-D"}, want: []string{"host Get-A", "host Get-B", "host Get-Other", "guest Set-C", "host Set-D"}},
		{name: "names in the guest", calls: []Call{saved(read("Get-H"), "a"), inNamed("own", vm, saved(read("Get-A"), "a")), call("Set-B", nil), inNamed("own", vm, refer(call("Set-C", nil), "a")), inNamed("own", vm, refer(call("Set-D", nil), "a"))},
			log: []string{"host: Get-H", "guest: Get-A", "host: Set-B", "guest: Get-A Set-C Set-D"}, want: []string{"host Get-H", "guest Get-A", "host Set-B", "guest Set-C", "guest Set-D"}},
		{name: "a name within its part runs once", calls: []Call{inNamed("own", vm, saved(call("New-A", nil), "a")), inNamed("own", vm, refer(call("Set-B", nil), "a"))},
			log: []string{"guest: New-A Set-B"}, want: []string{"guest New-A", "guest Set-B"}},
		{name: "a change cannot run again", calls: []Call{saved(call("New-A", nil), "a"), inNamed("own", vm, read("Get-B")), refer(call("Set-C", nil), "a")},
			err: "New-A, which cannot run twice"},
		{name: "an error in the guest stops the rest, and is none of the session", calls: []Call{call("Set-A", nil), inNamed("own", vm, call("Fail-B", nil)), call("Set-C", nil)},
			log: []string{"host: Set-A", "guest: Fail-B"}, want: []string{"host Set-A", "Failed"}},
		{name: "an error on the host stops the rest", calls: []Call{call("Fail-A", nil), inNamed("own", vm, read("Get-B"))},
			log: []string{"host: Fail-A"}, want: []string{"Failed session"}},
		{name: "continue", calls: []Call{onErrorContinue(call("Fail-A", nil)), inNamed("own", vm, onErrorContinue(call("Fail-B", nil))), read("Get-C")},
			log: []string{"host: Fail-A", "guest: Fail-B", "host: Get-C"}, want: []string{"Failed session", "Failed", "host Get-C"}},
		{name: "unreachable", fails: func() error { return &winrm.OpError{Op: winrm.OpCreate, Err: errors.New("refused")} },
			calls: []Call{read("Get-A"), onErrorContinue(inNamed("own", vm, read("Get-B"))), onErrorContinue(inNamed("own", vm, read("Get-C"))), read("Get-D")},
			log:   []string{"host: Get-A", "guest: Get-B Get-C", "host: Get-D"}, want: []string{"host Get-A", "GuestConnectionFailed session", "GuestConnectionFailed session", "host Get-D"}},
		{name: "unreachable stops", fails: func() error { return errors.New("refused") },
			calls: []Call{onErrorContinue(inNamed("own", vm, read("Get-B"))), inNamed("own", vm, read("Get-C")), inNamed("own", vm, read("Get-D")), read("Get-E")},
			log:   []string{"guest: Get-B Get-C Get-D"}, want: []string{"GuestConnectionFailed session", "GuestConnectionFailed session"}},
		{name: "credential refused", fails: func() error { return &winrm.OpError{Err: auth} },
			calls: []Call{inNamed("own", vm, read("Get-B"))}, log: []string{"guest: Get-B"}, want: []string{"GuestLogonRefused session"}},
		{name: "credential refused by the KDC", fails: func() error {
			return &winrm.OpError{Err: &winrm.KerberosError{Problem: winrm.KerberosWrongPassword, Err: errors.New("no")}}
		}, calls: []Call{inNamed("own", vm, read("Get-B"))}, log: []string{"guest: Get-B"}, want: []string{"GuestLogonRefused session"}},
		{name: "no KDC", fails: func() error {
			return &winrm.OpError{Err: &winrm.KerberosError{Problem: winrm.KerberosUnreachable, Err: errors.New("no")}}
		}, calls: []Call{inNamed("own", vm, read("Get-B"))}, log: []string{"guest: Get-B"}, want: []string{"GuestConnectionFailed session"}},
		{name: "no right to use WinRM", fails: func() error { return &winrm.Fault{Code: winrm.CodeAccessDenied} },
			calls: []Call{inNamed("own", vm, read("Get-B"))}, log: []string{"guest: Get-B"}, want: []string{"GuestLogonRefused session"}},
		{name: "lost", fails: func() error { return &LostError{Err: errors.New("gone"), Started: true} },
			calls: []Call{inNamed("own", vm, call("Set-B", nil)), call("Set-C", nil)}, log: []string{"guest: Set-B"}, want: []string{"GuestSessionLost session started"}},
		{name: "lost before", fails: func() error { return &LostError{Err: errors.New("gone")} },
			calls: []Call{inNamed("own", vm, call("Set-B", nil))}, log: []string{"guest: Set-B"}, want: []string{"GuestSessionLost session"}},
		{name: "out of reach before it began, on a session that was kept", fails: func() error { return &LostError{Err: &winrm.NetError{Op: winrm.OpSend, Err: errors.New("reset")}} },
			calls: []Call{inNamed("own", vm, call("Set-B", nil))}, log: []string{"guest: Set-B"}, want: []string{"GuestConnectionFailed session"}},
		{name: "out of reach in the middle", fails: func() error {
			return &LostError{Err: &winrm.NetError{Op: winrm.OpReceive, Err: errors.New("reset"), Sent: true}, Started: true}
		}, calls: []Call{inNamed("own", vm, call("Set-B", nil))}, log: []string{"guest: Set-B"}, want: []string{"GuestSessionLost session started"}},
		{name: "nonsense", fails: func() error { return badReply("nothing") },
			calls: []Call{inNamed("own", vm, call("Set-B", nil))}, log: []string{"guest: Set-B"}, want: []string{"RunnerGuestAnswer session started"}},
		{name: "the host is lost before it began, behind a change in the guest", hostFails: func() error { return &LostError{Err: errors.New("gone")} },
			calls: []Call{inNamed("own", vm, call("Set-B", nil)), call("Set-C", nil)}, log: []string{"guest: Set-B", "host: Set-C"}, err: "gone", started: true},
		{name: "the host is lost before it began, behind a look into the guest", hostFails: func() error { return &LostError{Err: errors.New("gone")} },
			calls: []Call{inNamed("own", vm, read("Get-B")), call("Set-C", nil)}, log: []string{"guest: Get-B", "host: Set-C"}, err: "gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log []string
			r := NewRouter(&script{"host", &log, tt.hostFails}, routes{&script{"guest", &log, tt.fails}})
			results, err := r.Do(t.Context(), tt.calls...)
			if !slices.Equal(log, tt.log) {
				t.Errorf("ran %q\nwant %q", log, tt.log)
			}
			if tt.err != "" {
				var lost *LostError
				if err == nil || !strings.Contains(err.Error(), tt.err) || tt.started != (errors.As(err, &lost) && lost.Started) {
					t.Errorf("error %v, want %q, started %v", err, tt.err, tt.started)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, result := range results {
				var texts []string
				for _, raw := range result.Output {
					texts = append(texts, strings.Trim(string(raw), `"`))
				}
				for _, e := range result.Errors {
					text := e.ID
					if e.Session {
						text += " session"
					}
					if e.Started {
						text += " started"
					}
					texts = append(texts, text)
				}
				got = append(got, strings.Join(texts, ","))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("a caller who gives up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log []string
		r := NewRouter(&script{name: "host", log: &log}, routes{&script{"guest", &log, func() error { cancel(); return context.Canceled }}})
		if results, err := r.Do(ctx, inNamed("own", vm, read("Get-B")), read("Get-C")); !errors.Is(err, context.Canceled) || len(log) != 1 {
			t.Errorf("%v, %v, %q", results, err, log)
		}
	})
	t.Run("the cause of a refusal is kept", func(t *testing.T) {
		var log []string
		r := NewRouter(&script{name: "host", log: &log}, routes{&script{"guest", &log, func() error { return auth }}})
		results, err := r.Do(t.Context(), inNamed("own", vm, read("Get-B")))
		var kept *winrm.AuthError
		if err != nil || !errors.As(results[0].Errors[0].Cause, &kept) {
			t.Errorf("%+v %v", results, err)
		}
	})
}

func TestGuestPools(t *testing.T) {
	host := &fakeHost{}
	var opened []winrm.Config
	g := NewGuestPools(map[string]GuestConnection{"VM ä'1": {Config: winrm.Config{Address: "192.0.2.1"}, Options: PoolOptions{MaxSessions: 1}}})
	g.open = func(cfg winrm.Config, opts PoolOptions) *Pool {
		opened = append(opened, cfg)
		return host.pool(opts)
	}
	route := func(name, user string) Executor {
		return g.Route(wire.Guest{Name: name, Credential: wire.Credential{User: user, Password: "p"}})
	}
	for _, other := range []string{"", "vm2", "VM*"} {
		if e := route(other, "u"); e != nil {
			t.Errorf("guest %q has a way of its own: %v", other, e)
		}
	}
	first := route("vm ä'1", "u")
	if first == nil || route("VM ä'1", "u") != first || route("VM ä'1", "other") == first {
		t.Error("there must be one pool for each user of a guest")
	}
	if len(opened) != 2 || opened[0].Address != "192.0.2.1" || opened[0].User != "u" || opened[0].Password != "p" || opened[1].User != "other" {
		t.Errorf("%+v", opened)
	}
	results, err := first.Do(t.Context(), read("Get-X"))
	checkOutput(t, results, err, "Get-X")
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, open := host.counts(); open != 0 {
		t.Errorf("%d processes are left", open)
	}
	for _, user := range []string{"u", "new"} {
		if _, err := route("VM ä'1", user).Do(t.Context(), read("Get-X")); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}
