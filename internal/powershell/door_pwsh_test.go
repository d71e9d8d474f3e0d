package powershell

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	simprocess "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// realStarter runs the runner's command line in a real PowerShell, with cmdlets for tests.
type realStarter struct {
	t       *testing.T
	path    string
	prelude string
}

func (s realStarter) Start(_, commandLine string, _ []string) (simprocess.Process, error) {
	if commandLine != CommandLine() {
		s.t.Errorf("the command line arrived as %s", commandLine)
	}
	fields := strings.Fields(commandLine)
	arguments := append([]string{}, fields[1:len(fields)-1]...)
	arguments = append(arguments, encodeCommand(s.prelude+"\n"+bootstrap))
	p := &realProcess{cmd: exec.Command(s.path, arguments...)} //nolint:gosec // a test
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if p.stderr, err = p.cmd.StderrPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

type realProcess struct {
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr io.Reader
}

func (p *realProcess) Stdin() io.WriteCloser { return p.stdin }
func (p *realProcess) Stdout() io.Reader     { return p.stdout }
func (p *realProcess) Stderr() io.Reader     { return p.stderr }
func (p *realProcess) Kill()                 { _ = p.cmd.Process.Kill() }

func (p *realProcess) Wait() int {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func TestDoorRealPowerShell(t *testing.T) {
	t.Parallel()
	l := newLab(t, door.Limits{Answers: -1}, realStarter{t, powershellPath(t), prelude(t, "cmdlets.ps1")})
	l.cfg.OperationTimeout, l.cfg.AnswerGrace, l.cfg.EnvelopeSize = time.Second, time.Second, 30000
	r, err := Open(t.Context(), l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(t.TempDir(), "count")
	for i, rule := range []door.Rule{
		{Operation: door.OpReceive, Effect: door.DropAfter},
		{Operation: door.OpReceive, Effect: door.DropMid, Request: 2},
		{Operation: door.OpSend, Effect: door.DropAfter, Request: 2},
	} {
		l.rules.Add(rule)
		results, err := r.Do(t.Context(), call("Get-Value", params{"Value": hostile, "Other": strings.Repeat("ä", 20000)}), countCall(path, 300, 100000))
		if err != nil {
			t.Fatal(err)
		}
		var value struct{ Value []string }
		var count struct{ Text string }
		if json.Unmarshal(results[0].Output[0], &value) != nil || json.Unmarshal(results[1].Output[0], &count) != nil ||
			strings.Join(value.Value, "|") != strings.Join(hostile, "|") || len(count.Text) != 100000 {
			t.Errorf("%.300s", asJSON(t, results))
		}
		if n := counted(t, path); n != i+1 {
			t.Errorf("%d batches ran %d times", i+1, n)
		}
		if left := l.rules.Pending(); len(left) != 0 {
			t.Errorf("the fault did not happen: %v", left)
		}
	}
}
