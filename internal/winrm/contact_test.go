package winrm

import (
	"errors"
	"testing"
	"time"
)

// A host that cannot be reached ends the opening of a shell after ContactBudget; one that answers, however
// unwillingly, has all of RetryBudget.
func TestContactBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		budget time.Duration
		steps  []step
		closed bool
		tries  func(n int) bool
		ok     bool
	}{
		{"nobody listens, no patience", time.Nanosecond, nil, true, func(n int) bool { return n == 1 }, false},
		{"nobody listens, some patience", 300 * time.Millisecond, nil, true, func(n int) bool { return n > 1 && n < 10 }, false},
		{"dropped, no patience", time.Nanosecond, []step{drop}, false, func(n int) bool { return n == 1 }, false},
		{"an answer is no failure to reach it", time.Nanosecond, []step{status(503), status(503)}, false, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[Op][]step{OpCreate: c.steps}, false)
			tr := s.transport(t)
			tr.cfg.ContactBudget = c.budget
			if c.closed {
				s.Close()
			}
			_, err := Start(t.Context(), tr, commandLine)
			if c.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var op *OpError
			var network *NetError
			if !errors.As(err, &network) || !errors.As(err, &op) || op.Op != OpCreate || !c.tries(op.Tries) {
				t.Errorf("%v: %+v", err, op)
			}
		})
	}
	t.Run("a shell that is open is not measured by it", func(t *testing.T) {
		_, p := started(t, map[Op][]step{OpSend: {drop, drop}})
		p.t.cfg.ContactBudget = time.Nanosecond
		if err := p.Send(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}
