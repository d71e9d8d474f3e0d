package powershell

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// powershellPath finds a PowerShell: tests of the runner run the real script in a real one.
func powershellPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("HYPERVSIM_POWERSHELL"), "pwsh", "powershell"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("HYPERVSIM_REQUIRE_POWERSHELL") == "1" {
		t.Fatal("HYPERVSIM_REQUIRE_POWERSHELL is 1 and no PowerShell was found; set HYPERVSIM_POWERSHELL to its path")
	}
	t.Skip("no PowerShell found; set HYPERVSIM_POWERSHELL to its path, or put pwsh on the PATH")
	return ""
}

// pipeProcess is a process on this machine, with the interface of one in a WinRM shell.
type pipeProcess struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	size  int

	mu     sync.Mutex
	out    bytes.Buffer
	err    bytes.Buffer
	more   chan struct{} // has a token when there is output or an end
	ended  bool
	code   int
	closed bool
}

// startPipe runs a PowerShell with the bootstrap, after a prelude of cmdlets for tests.
func startPipe(t *testing.T, prelude string) *pipeProcess {
	t.Helper()
	path := powershellPath(t)
	cmd := exec.Command(path, "-NoLogo", "-NoProfile", "-NonInteractive", "-OutputFormat", "Text", //nolint:gosec // a test
		"-EncodedCommand", encodeCommand(prelude+"\n"+bootstrap))
	cmd.Env = append(os.Environ(), "DOTNET_TieredPGO=0", "POWERSHELL_TELEMETRY_OPTOUT=1", "POWERSHELL_UPDATECHECK=Off")
	p := &pipeProcess{cmd: cmd, more: make(chan struct{}, 1), size: 100000}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	pump := func(from io.Reader, to *bytes.Buffer) {
		buffer := make([]byte, 65536)
		for {
			n, err := from.Read(buffer)
			p.mu.Lock()
			to.Write(buffer[:n])
			p.mu.Unlock()
			p.wake()
			if err != nil {
				return
			}
		}
	}
	readers.Go(func() { pump(stdout, &p.out) })
	readers.Go(func() { pump(stderr, &p.err) })
	go func() {
		readers.Wait()
		_ = cmd.Wait()
		p.mu.Lock()
		p.ended, p.code = true, cmd.ProcessState.ExitCode()
		p.mu.Unlock()
		p.wake()
	}()
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func (p *pipeProcess) wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

func (p *pipeProcess) MaxLine() int { return p.size }

func (p *pipeProcess) Send(_ context.Context, data []byte) error {
	_, err := p.stdin.Write(data)
	return err
}

func (p *pipeProcess) Receive(ctx context.Context, stdout, stderr io.Writer) (bool, int, bool, error) {
	for {
		p.mu.Lock()
		n := p.out.Len() + p.err.Len()
		_, _ = p.out.WriteTo(stdout)
		_, _ = p.err.WriteTo(stderr)
		ended, code := p.ended, p.code
		p.mu.Unlock()
		if n > 0 || ended {
			return ended, code, false, nil
		}
		select {
		case <-p.more:
		case <-time.After(30 * time.Second):
			return false, 0, false, nil
		case <-ctx.Done():
			return false, 0, false, ctx.Err()
		}
	}
}

func (p *pipeProcess) Close(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		_ = p.stdin.Close()
		_ = p.cmd.Process.Kill()
	}
	return nil
}

// prelude defines the cmdlets of testdata.
func prelude(t *testing.T, files ...string) string {
	t.Helper()
	var text strings.Builder
	cmdlets, err := filepath.Abs("testdata/cmdlets.ps1")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&text, "$global:HvTestCmdlets = '%s'\n", strings.ReplaceAll(cmdlets, "'", "''"))
	for _, file := range files {
		path, err := filepath.Abs(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, ". '%s'\n", strings.ReplaceAll(path, "'", "''"))
	}
	return text.String()
}

// startRunner is a runner on this machine.
func startRunner(t *testing.T, files ...string) *Runner {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	r, err := newRunner(ctx, startPipe(t, prelude(t, append([]string{"cmdlets.ps1"}, files...)...)), func(_ context.Context, message string, fields map[string]any) {
		t.Log(message, fields)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
