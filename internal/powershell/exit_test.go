package powershell

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// endingProcess ends as soon as it has a batch, without an answer.
type endingProcess struct{ *fakeProcess }

func (p endingProcess) Receive(ctx context.Context, stdout, stderr io.Writer) (bool, int, bool, error) {
	if len(p.batches) == 0 {
		return p.fakeProcess.Receive(ctx, stdout, stderr)
	}
	_, _ = io.WriteString(stderr, "out of memory")
	return true, 7, false, nil
}

// A process that ends ahead of its answer: a change may be done, and the error says how the process ended; what only
// reads runs again.
func TestProcessEndsBeforeTheAnswer(t *testing.T) {
	h := &fakeHost{hello: wire.Hello{Protocol: wire.ProtocolVersion, Version: "5.1.20348.2849"}}
	started := 0
	p := NewPool(winrm.Config{}, PoolOptions{})
	p.open = func(ctx context.Context, _ winrm.Config) (*Runner, error) {
		started++
		process := &fakeProcess{host: h}
		if started%2 == 1 {
			return newRunner(ctx, endingProcess{process}, nil)
		}
		return newRunner(ctx, process, nil)
	}
	_, err := p.Do(t.Context(), call("Set-X", nil))
	if checkLost(t, err, true); !strings.Contains(err.Error(), "exit code 7") || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("%v", err)
	}
	if started != 1 {
		t.Errorf("a change was given to %d processes", started)
	}
	started = 0
	results, err := p.Do(t.Context(), read("Get-X"))
	checkOutput(t, results, err, "Get-X")
	if started != 2 {
		t.Errorf("a read was given to %d processes", started)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
