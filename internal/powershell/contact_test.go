package powershell

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// A host that never answered is tried for FirstContact, then once for each caller; one that did has the whole
// retry budget.
func TestPoolFirstContact(t *testing.T) {
	refused := &winrm.OpError{Op: winrm.OpCreate, Err: &winrm.NetError{Op: winrm.OpCreate, Err: syscall.ECONNREFUSED}}
	lost := &StartError{Err: &winrm.OpError{Op: winrm.OpSend, Err: &winrm.NetError{Op: winrm.OpSend, Err: syscall.ECONNRESET}}}
	h := &fakeHost{}
	p := h.pool(PoolOptions{FirstContact: time.Minute, MaxBatches: 1})
	open, fails := p.open, error(nil)
	var budget time.Duration
	p.open = func(ctx context.Context, cfg winrm.Config) (*Runner, error) {
		budget = cfg.ContactBudget
		if fails != nil {
			return nil, fails
		}
		return open(ctx, cfg)
	}
	for _, step := range []struct {
		name   string
		fails  error
		budget time.Duration
	}{
		{"first caller", lost, time.Minute},
		{"it answered, if not for long", &winrm.AuthError{}, time.Minute},
		{"first caller who does not reach it", refused, time.Minute},
		{"next caller", refused, time.Nanosecond},
		{"there it is", nil, time.Nanosecond},
		{"gone again", refused, 0},
		{"still", nil, 0},
	} {
		fails = step.fails
		_, err := p.Do(t.Context(), call("X", nil))
		if budget != step.budget {
			t.Errorf("%s: budget %v, want %v", step.name, budget, step.budget)
		}
		var network *winrm.NetError
		if (err != nil) != (step.fails != nil) || errors.Is(step.fails, refused) && !errors.As(err, &network) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if got := NewPool(winrm.Config{}, PoolOptions{}).opts.FirstContact; got != firstContact {
		t.Errorf("default %v", got)
	}
}
