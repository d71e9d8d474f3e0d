package native

import (
	"bufio"
	"encoding/base64"
	"io"
	"strings"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// running is a process in this program: its streams are pipes.
type running struct {
	stdin          *io.PipeWriter
	stdout, stderr *buffer
	done           chan struct{}
	kill           func()
	code           int
}

var _ process.Process = (*running)(nil)

func (r *running) Stdin() io.WriteCloser { return r.stdin }
func (r *running) Stdout() io.Reader     { return r.stdout }
func (r *running) Stderr() io.Reader     { return r.stderr }

func (r *running) Wait() int {
	<-r.done
	r.stdout.drained()
	r.stderr.drained()
	return r.code
}

func (r *running) Kill() { r.kill() }

// printed is a process that writes a text to stderr and ends.
func printed(text string, code int) *running {
	in, out := io.Pipe()
	in.Close()
	r := &running{stdin: out, stdout: newBuffer(), stderr: newBuffer(), done: make(chan struct{}), kill: func() {}, code: code}
	r.stderr.write([]byte(text))
	r.stdout.end()
	r.stderr.end()
	close(r.done)
	return r
}

// run starts the runner's loop.
func (e *Engine) run(host, target, id string, pid int64) *running {
	in, out := io.Pipe()
	r := &running{stdin: out, stdout: newBuffer(), stderr: newBuffer(), done: make(chan struct{})}
	var once sync.Once
	finish := func(code int) {
		once.Do(func() {
			r.code = code
			in.CloseWithError(io.ErrClosedPipe)
			r.stdout.end()
			r.stderr.end()
			close(r.done)
		})
	}
	// A killed process leaves nothing readable behind: like a terminated one it stops at once, while
	// the call that it was in goes on in the model.
	r.kill = func() { r.stdout.discard(); r.stderr.discard(); finish(-1) }
	go func() {
		lines := bufio.NewReaderSize(in, 1<<16)
		if !readScript(lines) {
			r.stderr.write([]byte("The argument is null or empty: no script came on standard input.\r\n"))
			finish(1)
			return
		}
		newRunner(e, host, target, id, pid, r.stdout).loop(lines)
		finish(0)
	}()
	return r
}

// readScript takes the bootstrap's part: base64 lines up to a single dot.
func readScript(lines *bufio.Reader) bool {
	var text strings.Builder
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if line == "." || err != nil && line == "" {
			break
		}
		text.WriteString(line)
		if err != nil {
			break
		}
	}
	script, err := base64.StdEncoding.DecodeString(text.String())
	return err == nil && len(script) > 0
}
