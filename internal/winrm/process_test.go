package winrm

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

const commandLine = `powershell.exe -x "a & b" <c> ]]> ä`

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		steps   map[Op][]step
		creates int
		deletes int
		err     func(error) bool
	}{
		{"nothing happens", nil, 1, 0, nil},
		{"connection lost before Create is answered", map[Op][]step{OpCreate: {drop}}, 2, 0, nil},
		{"answer to Create cut", map[Op][]step{OpCreate: {half}}, 2, 0, nil},
		{"no answer to Create", map[Op][]step{OpCreate: {stall}}, 2, 0, nil},
		{"Command unanswered", map[Op][]step{OpCommand: {drop}}, 2, 1, nil},
		{"503 twice", map[Op][]step{OpCreate: {status(503)}, OpCommand: {status(503)}}, 2, 0, nil},
		{"shell gone at once", map[Op][]step{OpCommand: {faulty(CodeInvalidSelectors)}}, 2, 1, nil},
		{"too many operations once", map[Op][]step{OpCommand: {faulty(CodeMaxOperations)}}, 2, 1, nil},
		{"too many operations twice", map[Op][]step{OpCommand: {faulty(CodeMaxOperations), faulty(CodeMaxOperations)}}, 2, 2,
			func(err error) bool { return IsFault(err, CodeMaxOperations) }},
		{"key deleted once", map[Op][]step{OpCreate: {faulty(CodeKeyDeleted)}}, 2, 0, nil},
		{"shell quota for a while", map[Op][]step{OpCreate: {faulty(CodeMaxShells), faulty(CodeMaxShells)}}, 3, 0, nil},
		{"413", map[Op][]step{OpCommand: {status(413)}}, 1, 1, func(err error) bool {
			var e *HTTPError
			return errors.As(err, &e) && e.Status == 413
		}},
		{"access denied", map[Op][]step{OpCreate: {faulty(CodeAccessDenied)}}, 1, 0, func(err error) bool { return IsFault(err, CodeAccessDenied) }},
		{"an answer without id", map[Op][]step{OpCommand: {status(200)}}, 1, 1, func(err error) bool { return err != nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, c.steps, false)
			p, err := Start(t.Context(), s.transport(t), commandLine)
			if c.err == nil && err != nil || c.err != nil && !c.err(err) {
				t.Fatalf("%v", err)
			}
			if got := len(s.requests(OpCreate)); got != c.creates {
				t.Errorf("%d Creates, want %d", got, c.creates)
			}
			if got := len(s.requests(OpDelete)); got != c.deletes {
				t.Errorf("%d Deletes, want %d", got, c.deletes)
			}
			if err == nil {
				if got := s.requests(OpCommand); got[len(got)-1].id != commandLine || !strings.Contains(got[0].body, `Name="WINRS_CONSOLEMODE_STDIN">FALSE<`) {
					t.Errorf("%+v", got)
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if got := len(s.requests(OpDelete)); got != c.deletes+1 {
					t.Errorf("%d Deletes after Close", got)
				}
			}
		})
	}

	t.Run("a repeated Create is the same message and bounds the shell's life", func(t *testing.T) {
		s := newServer(t, map[Op][]step{OpCreate: {drop, drop}}, false)
		if _, err := Start(t.Context(), s.transport(t), commandLine); err != nil {
			t.Fatal(err)
		}
		creates := s.requests(OpCreate)
		if len(creates) != 3 || creates[0].message == "" || creates[0].message != creates[1].message || creates[1].message != creates[2].message {
			t.Errorf("%+v", creates)
		}
		if creates[0].remote == creates[1].remote {
			t.Error("the connection was not dropped")
		}
		if !strings.Contains(creates[0].body, "<rsp:IdleTimeOut>PT900.000S</rsp:IdleTimeOut>") {
			t.Error(creates[0].body)
		}
	})
	t.Run("given up", func(t *testing.T) {
		s := newServer(t, map[Op][]step{OpCommand: {stall}}, false)
		tr := s.transport(t)
		tr.cfg.OperationTimeout, tr.http.ResponseHeaderTimeout = time.Minute, time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := Start(ctx, tr, commandLine); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		if got := len(s.requests(OpDelete)); got != 1 {
			t.Errorf("%d Deletes", got)
		}
	})
}

// started is a process on a server that behaves until now.
func started(t *testing.T, steps map[Op][]step) (*server, *Process) {
	t.Helper()
	s := newServer(t, steps, false)
	p, err := Start(t.Context(), s.transport(t), commandLine)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

func TestSend(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []step
		tries int
		code  uint32 // of the fault that it fails with
		sent  bool
	}{
		{"nothing happens", nil, 1, 0, false},
		{"dropped", []step{drop}, 2, 0, false},
		{"answer cut", []step{half}, 2, 0, false},
		{"no answer", []step{stall}, 2, 0, false},
		{"busy", []step{faulty(CodeBusy), faulty(CodeBusy)}, 3, 0, false},
		{"operation timeout", []step{faulty(CodeOperationTimeout)}, 2, 0, false},
		{"401 once", []step{status(401)}, 2, 0, false},
		{"shell gone", []step{faulty(CodeInvalidSelectors)}, 1, CodeInvalidSelectors, false},
		{"shell gone when asked again", []step{drop, faulty(CodeInvalidSelectors)}, 2, CodeInvalidSelectors, true},
		{"shell gone after a refused try", []step{status(503), faulty(CodeInvalidSelectors)}, 2, CodeInvalidSelectors, false},
		{"aborted", []step{faulty(CodeAborted)}, 1, CodeAborted, true},
		{"key deleted", []step{faulty(CodeKeyDeleted)}, 1, CodeKeyDeleted, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := started(t, map[Op][]step{OpSend: c.steps})
			err := p.Send(t.Context(), []byte("line\n"))
			var op *OpError
			switch {
			case c.code == 0 && err != nil:
				t.Error(err)
			case c.code != 0 && !IsFault(err, c.code):
				t.Errorf("%v", err)
			case c.code != 0 && (!errors.As(err, &op) || op.Sent != c.sent || op.Tries != c.tries || op.Op != OpSend):
				t.Errorf("%+v", op)
			}
			sends := s.requests(OpSend)
			if len(sends) != c.tries {
				t.Errorf("%d Sends", len(sends))
			}
			for _, send := range sends {
				if send.message != sends[0].message || send.stdin != base64.StdEncoding.EncodeToString([]byte("line\n")) || send.shell != "S1" {
					t.Errorf("%+v", send)
				}
			}
		})
	}
	t.Run("the largest line fits into an envelope", func(t *testing.T) {
		s, p := started(t, nil)
		if err := p.Send(t.Context(), bytes.Repeat([]byte("x"), p.MaxLine())); err != nil {
			t.Fatal(err)
		}
		if got := len(s.requests(OpSend)[0].body); got > defaultEnvelopeSize {
			t.Errorf("%d bytes", got)
		}
	})
	t.Run("401 twice", func(t *testing.T) {
		_, p := started(t, map[Op][]step{OpSend: {status(401), status(401)}})
		var auth *AuthError
		if err := p.Send(t.Context(), nil); !errors.As(err, &auth) {
			t.Errorf("%v", err)
		}
	})
	t.Run("the budget ends it", func(t *testing.T) {
		s, p := started(t, nil)
		p.t.cfg.RetryBudget = 500 * time.Millisecond
		s.Close()
		start := time.Now()
		err := p.Send(t.Context(), nil)
		var op *OpError
		var network *NetError
		if !errors.As(err, &network) || !network.Refused() || network.Sent || !errors.As(err, &op) || op.Tries < 2 {
			t.Errorf("%v", err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestReceive(t *testing.T) {
	const done = `<rsp:Stream Name="stderr">ZXJy</rsp:Stream><rsp:CommandState State="http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState/Done"><rsp:ExitCode>7</rsp:ExitCode></rsp:CommandState>`
	for _, c := range []struct {
		name     string
		steps    []step
		output   string
		out      string
		tries    int
		reposted bool
		done     bool
		code     uint32
	}{
		{name: "output", out: "out", tries: 1},
		{name: "nothing yet", steps: []step{faulty(CodeOperationTimeout)}, tries: 1},
		{name: "dropped", steps: []step{drop}, out: "out", tries: 2, reposted: true},
		{name: "answer cut", steps: []step{half}, out: "out", tries: 2, reposted: true},
		{name: "no answer", steps: []step{stall}, out: "out", tries: 2, reposted: true},
		{name: "dropped, then nothing", steps: []step{drop, faulty(CodeOperationTimeout)}, tries: 2, reposted: true},
		{name: "503", steps: []step{status(503)}, out: "out", tries: 2},
		{name: "busy", steps: []step{faulty(CodeBusy)}, out: "out", tries: 2},
		{name: "done", output: done, out: "err", tries: 1, done: true},
		{name: "shell gone", steps: []step{faulty(CodeInvalidSelectors)}, tries: 1, code: CodeInvalidSelectors},
		{name: "aborted", steps: []step{faulty(CodeAborted)}, tries: 1, code: CodeAborted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := started(t, map[Op][]step{OpReceive: c.steps})
			if c.output != "" {
				s.output = c.output
			}
			var out, errs bytes.Buffer
			done, code, reposted, err := p.Receive(t.Context(), &out, &errs)
			if c.code == 0 && err != nil || c.code != 0 && !IsFault(err, c.code) {
				t.Errorf("%v", err)
			}
			if got := out.String() + errs.String(); got != c.out {
				t.Errorf("output %q", got)
			}
			if done != c.done || done && code != 7 || reposted != c.reposted {
				t.Errorf("done %v, code %d, reposted %v", done, code, reposted)
			}
			receives := s.requests(OpReceive)
			if len(receives) != c.tries || receives[0].message != receives[len(receives)-1].message {
				t.Errorf("%+v", receives)
			}
		})
	}
	t.Run("a read is no new message until it is answered", func(t *testing.T) {
		s, p := started(t, nil)
		for range 2 {
			if _, _, _, err := p.Receive(t.Context(), &bytes.Buffer{}, &bytes.Buffer{}); err != nil {
				t.Fatal(err)
			}
		}
		if r := s.requests(OpReceive); r[0].message == r[1].message || r[0].remote != r[1].remote {
			t.Errorf("%+v", r)
		}
	})
}

func TestClose(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps map[Op][]step
		fails bool
	}{
		{"nothing happens", nil, false},
		{"gone already", map[Op][]step{OpSignal: {faulty(CodeInvalidSelectors)}, OpDelete: {faulty(CodeInvalidSelectors)}}, false},
		{"going", map[Op][]step{OpSignal: {faulty(CodeAborted)}, OpDelete: {faulty(CodeAborted)}}, false},
		{"dropped", map[Op][]step{OpSignal: {drop}, OpDelete: {drop}}, false},
		{"refused once", map[Op][]step{OpDelete: {faulty(CodeAccessDenied)}}, false},
		{"refused", map[Op][]step{OpDelete: {faulty(CodeAccessDenied), faulty(CodeAccessDenied)}}, true},
		{"Signal without answer", map[Op][]step{OpSignal: {stall}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := started(t, c.steps)
			if err := p.Close(t.Context()); err != nil != c.fails {
				t.Errorf("%v", err)
			}
			if len(s.requests(OpDelete)) == 0 {
				t.Error("no Delete")
			}
		})
	}
}

// Somebody else's shells are waited for, but not for the whole budget; then the quota is named.
func TestQuotaEnds(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[Op][]step{OpCreate: repeated(faulty(CodeMaxShells))}, false)
	tr := s.transport(t)
	if tr.quotaWait != time.Minute {
		t.Errorf("it waits for %v", tr.quotaWait)
	}
	tr.quotaWait, tr.cfg.RetryBudget = 700*time.Millisecond, time.Minute
	begun := time.Now()
	_, err := Start(t.Context(), tr, commandLine)
	var op *OpError
	if !IsFault(err, CodeMaxShells) || !strings.Contains(err.Error(), "MaxShellsPerUser") || !errors.As(err, &op) || op.Tries < 3 {
		t.Errorf("%v", err)
	}
	if took := time.Since(begun); took < 600*time.Millisecond || took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}
