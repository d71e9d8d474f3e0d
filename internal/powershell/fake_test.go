package powershell

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// fakeHost starts fake processes, which answer every call with its cmdlet's name.
type fakeHost struct {
	mu        sync.Mutex
	processes []*fakeProcess
	hello     wire.Hello
	// run is asked before a batch runs; its error is that of the Receive that waits for the answer.
	run func(p *fakeProcess, r wire.Request) error
	// send is asked before a line of a request is taken.
	send func(p *fakeProcess) error
	// open is asked before a process starts.
	open func() error
}

// fakeProcess is a runner process as it looks from outside.
type fakeProcess struct {
	host    *fakeHost
	number  int
	out     strings.Builder
	batches []wire.Request
	closed  bool
	err     error
}

func (h *fakeHost) pool(opts PoolOptions) *Pool {
	if h.hello == (wire.Hello{}) {
		h.hello = wire.Hello{Protocol: wire.ProtocolVersion, Version: "5.1.20348.2849"}
	}
	p := NewPool(winrm.Config{}, opts)
	p.open = func(ctx context.Context, _ winrm.Config) (*Runner, error) {
		if h.open != nil {
			if err := h.open(); err != nil {
				return nil, err
			}
		}
		h.mu.Lock()
		process := &fakeProcess{host: h, number: len(h.processes)}
		h.processes = append(h.processes, process)
		h.mu.Unlock()
		return newRunner(ctx, process, nil)
	}
	return p
}

// counts says how many batches each process has run, and how many processes are open.
func (h *fakeHost) counts() (batches []int, open int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.processes {
		batches = append(batches, len(p.batches))
		if !p.closed {
			open++
		}
	}
	return batches, open
}

func (p *fakeProcess) MaxLine() int { return 100000 }

func (p *fakeProcess) Send(ctx context.Context, data []byte) error {
	line := strings.TrimSuffix(string(data), "\n")
	fields := strings.Split(line, " ")
	if fields[0] != "C" {
		if strings.HasSuffix(line, wire.ScriptEnd) {
			hello, _ := json.Marshal(p.host.hello)
			fmt.Fprintf(&p.out, "#HV H %s\n", base64.StdEncoding.EncodeToString(hello))
		}
		return nil
	}
	if p.host.send != nil {
		if err := p.host.send(p); err != nil {
			return &winrm.OpError{Op: winrm.OpSend, Tries: 1, Err: err}
		}
	}
	piece, ok := wire.ParsePiece(fields[1:])
	if !ok || piece.Pieces != 1 {
		return errors.New("fake: bad line")
	}
	text, err := wire.JoinPieces(map[int]string{0: piece.Text})
	if err != nil {
		return err
	}
	var request wire.Request
	if err := json.Unmarshal(text, &request); err != nil {
		return err
	}
	p.host.mu.Lock()
	p.batches = append(p.batches, request)
	p.host.mu.Unlock()
	if p.host.run != nil {
		if p.err = p.host.run(p, request); p.err != nil || ctx.Err() != nil {
			return nil
		}
	}
	reply := wire.Reply{}
	for _, group := range request.Groups {
		results := []wire.Result{}
		for _, call := range group {
			raw, _ := json.Marshal(call.Cmdlet)
			results = append(results, wire.Result{Output: []json.RawMessage{raw}})
		}
		reply.Groups = append(reply.Groups, results)
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	for _, piece := range wire.SplitPieces(piece.ID, raw, wire.AnswerPiece) {
		p.out.WriteString(piece.AnswerLine())
	}
	return nil
}

func (p *fakeProcess) Receive(ctx context.Context, stdout, _ io.Writer) (bool, int, bool, error) {
	if p.err != nil {
		return false, 0, false, p.err
	}
	if ctx.Err() != nil {
		return false, 0, false, context.Cause(ctx)
	}
	_, err := io.WriteString(stdout, p.out.String())
	p.out.Reset()
	return false, 0, false, err
}

func (p *fakeProcess) Close(context.Context) error {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	p.closed = true
	return nil
}

func read(cmdlet string) Call {
	return Call{Call: wire.Call{Cmdlet: cmdlet}, ReadOnly: true}
}

func checkOutput(t *testing.T, results []wire.Result, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	var got []string
	for _, result := range results {
		got = append(got, output(result))
	}
	for i := range want {
		want[i] = `"` + want[i] + `"`
	}
	if strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("got %v, want %v", got, want)
	}
}
