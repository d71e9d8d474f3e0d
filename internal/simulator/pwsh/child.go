package pwsh

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/commandline"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// child is a running PowerShell.
type child struct {
	host, target   string
	command        *exec.Cmd // nil for a process that only printed something
	stdin          io.WriteCloser
	stdout, stderr *output
	done           chan struct{} // closed when the process has ended
	code           int
}

var _ process.Process = (*child)(nil)

func (c *child) Stdin() io.WriteCloser { return c.stdin }
func (c *child) Stdout() io.Reader     { return c.stdout }
func (c *child) Stderr() io.Reader     { return c.stderr }

func (c *child) Wait() int {
	<-c.done
	<-c.stdout.read
	<-c.stderr.read
	return c.code
}

// Kill ends the process and everything that it started; what nobody has read is lost.
func (c *child) Kill() {
	if c.command != nil {
		killGroup(c.command)
	}
	c.stdout.close()
	c.stderr.close()
}

// output is one stream of a process, and whether it has been read to its end.
type output struct {
	io.ReadCloser
	once sync.Once
	read chan struct{}
}

func newOutput(r io.ReadCloser) *output { return &output{ReadCloser: r, read: make(chan struct{})} }

func (o *output) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if err != nil {
		o.once.Do(func() { close(o.read) })
		if err != io.EOF {
			err = io.EOF // a killed process's stream simply ends
		}
	}
	return n, err
}

func (o *output) close() {
	_ = o.Close() // a second close has nothing to say
	o.once.Do(func() { close(o.read) })
}

// start runs the wrapper that makes the process look like Windows and then runs the script. The
// standard streams are the script's own from the beginning.
func (e *Engine) start(host, target, id, modules, script string, env []string) (*child, error) {
	wrapper := fmt.Sprintf(
		"$ErrorActionPreference='Stop'; & ([IO.Path]::Combine($env:HVSIM_LIBRARY, 'start.ps1')) $env:HVSIM_MODULES; $ErrorActionPreference='Continue'; . ([scriptblock]::Create([Text.Encoding]::Unicode.GetString([Convert]::FromBase64String('%s'))))",
		commandline.Encode(script))
	cmd := exec.Command(e.powershell, "-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", commandline.Encode(wrapper))
	cmd.Dir = e.dir
	cmd.Env = append(environment(env),
		"HVSIM_DOOR="+filepath.Join(e.dir, "door"), "HVSIM_PROCESS="+id, "HVSIM_LIBRARY="+e.stubs.dir, "HVSIM_MODULES="+modules,
		"HVSIM_POWERSHELL="+e.powershell, searchPath(filepath.Join(e.dir, "bin")),
		"POWERSHELL_TELEMETRY_OPTOUT=1", "POWERSHELL_UPDATECHECK=Off", "DOTNET_CLI_TELEMETRY_OPTOUT=1", "NO_COLOR=1")
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		closeAll(outRead, outWrite)
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outWrite, errWrite
	if err := cmd.Start(); err != nil {
		closeAll(outRead, outWrite, errRead, errWrite)
		return nil, fmt.Errorf("starting %s: %w", e.powershell, err)
	}
	closeAll(outWrite, errWrite)
	c := &child{host: host, target: target, command: cmd, stdin: stdin, stdout: newOutput(outRead), stderr: newOutput(errRead), done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the exit code says the same
		c.code = cmd.ProcessState.ExitCode()
		close(c.done)
	}()
	return c, nil
}

// environment is what a PowerShell needs of this process's own, and what the shell was opened with.
func environment(shell []string) []string {
	var out []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if name != "PSModulePath" && !strings.HasPrefix(name, "HVSIM_") && !strings.HasPrefix(name, "HYPERV_") && !strings.HasPrefix(name, "TF_") {
			out = append(out, pair)
		}
	}
	return append(out, shell...)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // only ends of pipes that nothing was written to
	}
}

// printed is a process that wrote a text to stderr and ended.
func printed(text string, code int) *child {
	c := &child{
		stdin:  discard{},
		stdout: newOutput(io.NopCloser(strings.NewReader(""))),
		stderr: newOutput(io.NopCloser(strings.NewReader(text))),
		done:   make(chan struct{}), code: code,
	}
	close(c.done)
	return c
}

type discard struct{}

func (discard) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (discard) Close() error              { return nil }
