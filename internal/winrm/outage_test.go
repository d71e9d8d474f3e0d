package winrm

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"
)

// page is an answer of something that is no WinRM service.
func page(code int) step {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "<html><body>something else</body></html>")
	}
}

func isAuth(err error) bool   { var e *AuthError; return errors.As(err, &e) }
func isHTTP(err error) bool   { var e *HTTPError; return errors.As(err, &e) }
func repeated(s step) []step  { return slices.Repeat([]step{s}, 1000) }
func after(s ...step) []step  { return append([]step{drop}, s...) }
func accepted(err error) bool { return err == nil }

// After the network was lost, and only then, a refused credential or a page of somebody else does not count for a
// while, if the credential was good before.
func TestComingBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []step
		idle  bool // the connection is closed while nothing is asked
		want  func(error) bool
		most  int // tries
	}{
		{"401 after a loss", after(status(401), status(401), status(401)), false, accepted, 5},
		{"401 page after a loss", after(page(401), page(401), page(401)), false, accepted, 5},
		{"pages after a loss", after(page(404), page(200), page(500), page(302)), false, accepted, 6},
		{"401 for good after a loss", after(repeated(status(401))...), false, isAuth, 9},
		{"pages for good after a loss", after(repeated(page(404))...), false, isHTTP, 16},
		{"413 after a loss", after(status(413)), false, isHTTP, 2},
		{"401 after an idle connection was closed", []step{status(401), status(401), status(401)}, true, accepted, 4},
		{"401 without a loss", repeated(status(401)), false, isAuth, 2},
		{"a page without a loss", repeated(page(404)), false, isHTTP, 1},
		{"a page with 200 without a loss", repeated(page(200)), false, isHTTP, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := started(t, nil)
			p.t.cfg.ReturnGrace = 900 * time.Millisecond
			s.mu.Lock()
			s.steps = map[Op][]step{OpSend: c.steps}
			s.mu.Unlock()
			if c.idle {
				s.CloseClientConnections()
				time.Sleep(20 * time.Millisecond)
			}
			begun := time.Now()
			err := p.Send(t.Context(), []byte("line\n"))
			if !c.want(err) {
				t.Errorf("%v", err)
			}
			if took := time.Since(begun); took > p.t.cfg.ReturnGrace+time.Second {
				t.Errorf("it took %v", took)
			}
			if n := len(s.requests(OpSend)); n > c.most {
				t.Errorf("%d tries", n)
			}
		})
	}
}

// What one connection saw of the network counts for the next shell on the host, but not before the credentials were
// good once: a wrong password is told at once.
func TestComingBackToOpen(t *testing.T) {
	for _, c := range []struct {
		name   string
		before bool // there was a shell
		want   func(error) bool
	}{
		{"a host that was there", true, accepted},
		{"a host that never took the password", false, isAuth},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil, false)
			cfg := s.config(t).Shared()
			cfg.ReturnGrace = 2 * time.Second
			open := func() error {
				tr, err := NewTransport(cfg)
				if err != nil {
					t.Fatal(err)
				}
				p, err := Start(t.Context(), tr, commandLine)
				if err != nil {
					return err
				}
				_, _, _, err = p.Receive(t.Context(), &bytes.Buffer{}, &bytes.Buffer{})
				return err
			}
			if c.before {
				if err := open(); err != nil {
					t.Fatal(err)
				}
			}
			s.mu.Lock()
			s.steps = map[Op][]step{OpCreate: after(status(401), page(401)), OpCommand: {status(401), page(200)}}
			s.mu.Unlock()
			if err := open(); !c.want(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// All that opening a shell tries again ends with the budget, also where each part of it begins anew.
func TestStartEndsWithTheBudget(t *testing.T) {
	s := newServer(t, map[Op][]step{OpCommand: repeated(drop)}, false)
	tr := s.transport(t)
	tr.cfg.RetryBudget = 1500 * time.Millisecond
	begun := time.Now()
	var network *NetError
	if _, err := Start(t.Context(), tr, commandLine); !errors.As(err, &network) {
		t.Errorf("%v", err)
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
	if creates, deletes := len(s.requests(OpCreate)), len(s.requests(OpDelete)); creates != deletes {
		t.Errorf("%d shells, %d removed", creates, deletes)
	}
}

// Behind a loss as without one, the first refusal is asked about again at once: where there is little time, waiting for
// the host to come back whole would use it up.
func TestComingBackWithLittleTime(t *testing.T) {
	t.Parallel()
	s, p := started(t, nil)
	p.t.cfg.RetryBudget = time.Second // and the grace is 30 s, with 5 s between refusals
	s.mu.Lock()
	s.steps = map[Op][]step{OpSend: after(status(401))}
	s.mu.Unlock()
	if err := p.Send(t.Context(), []byte("line\n")); err != nil {
		t.Error(err)
	}
}
