package door

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

const (
	stdout = "stdout"
	stderr = "stderr"
	// pipe is how much output a command may run ahead of its client before its writes block.
	pipe = 4 << 20
)

type chunk struct {
	stream string
	data   []byte
}

// command is a process in a shell, with the output that nobody has fetched yet.
type command struct {
	id      string
	process process.Process // nil: ended before it began
	killing sync.Once
	input   chan struct{} // holds one token while no Send is being processed

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change of the fields below
	queue   []chunk
	queued  int
	killed  bool // output is thrown away
	aborted bool // terminated, or its shell was removed
	ended   bool
	code    int
	done    bool // the client has been told
}

func newCommand(id string) *command {
	if id == "" {
		id = newID()
	}
	c := &command{id: id, changed: make(chan struct{}), input: make(chan struct{}, 1)}
	c.input <- struct{}{}
	return c
}

// run moves the output of a process until it ends.
func (c *command) run(p process.Process) {
	c.process = p
	var streams sync.WaitGroup
	streams.Go(func() { c.pump(stdout, p.Stdout()) })
	streams.Go(func() { c.pump(stderr, p.Stderr()) })
	go func() {
		streams.Wait()
		c.finish(p.Wait())
	}()
}

// refuse makes a command that ended at once with a text on stderr.
func (c *command) refuse(text string, code int) {
	c.queue, c.queued = []chunk{{stderr, []byte(text)}}, len(text)
	c.ended, c.code = true, code
}

func (c *command) pump(stream string, r io.Reader) {
	buf := make([]byte, 64*1024)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			c.append(stream, buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (c *command) append(stream string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.queued >= pipe && !c.killed {
		wait := c.changed
		c.mu.Unlock()
		<-wait
		c.mu.Lock()
	}
	if c.killed {
		return
	}
	if n := len(c.queue); n > 0 && c.queue[n-1].stream == stream {
		c.queue[n-1].data = append(c.queue[n-1].data, data...)
	} else {
		c.queue = append(c.queue, chunk{stream, append([]byte(nil), data...)})
	}
	c.queued += len(data)
	c.notify()
}

func (c *command) finish(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.code = true, code
	c.notify()
}

// notify wakes everybody who waits; c.mu is held.
func (c *command) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// kill ends the process. Output that it wrote before stays to be fetched, what comes later is lost.
func (c *command) kill() {
	c.mu.Lock()
	c.killed = true
	c.notify()
	c.mu.Unlock()
	if c.process != nil {
		c.killing.Do(c.process.Kill)
	}
}

// abort ends the process and every request that waits for it.
func (c *command) abort() {
	c.mu.Lock()
	c.aborted = true
	c.notify()
	c.mu.Unlock()
	c.kill()
}

// outcome of a wait for output.
type outcome int

const (
	outputReady outcome = iota
	outputNone          // nothing within the time
	outputAborted
	outputDone // the client had its Done before
	outputLost // nobody waits any more
)

// await blocks until take would give something. c.mu is held when it returns outputReady.
func (c *command) await(ctx context.Context, timeout time.Duration, wanted func(string) bool) outcome {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		if ctx.Err() != nil {
			c.mu.Unlock()
			return outputLost
		}
		switch {
		case c.aborted:
			c.mu.Unlock()
			return outputAborted
		case c.done:
			c.mu.Unlock()
			return outputDone
		case c.ended || c.has(wanted):
			return outputReady
		}
		wait := c.changed
		c.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return outputLost
		case <-deadline.C:
			return outputNone
		}
	}
}

// has says whether output of a wanted stream waits; c.mu is held.
func (c *command) has(wanted func(string) bool) bool {
	for _, ch := range c.queue {
		if wanted(ch.stream) {
			return true
		}
	}
	return false
}

// take removes output of wanted streams; fit says how many bytes of a stream still have room. c.mu is held.
func (c *command) take(wanted func(string) bool, fit func(stream string, available int) int) []chunk {
	var out, rest []chunk
	full := false
	for _, ch := range c.queue {
		if full || !wanted(ch.stream) {
			rest = append(rest, ch)
			continue
		}
		n := fit(ch.stream, len(ch.data))
		if n > 0 {
			out = append(out, chunk{ch.stream, ch.data[:n]})
			c.queued -= n
		}
		if n < len(ch.data) {
			full = true
			rest = append(rest, chunk{ch.stream, ch.data[n:]})
		}
	}
	c.queue = rest
	c.notify()
	return out
}

// write puts data on stdin, at most one Send at a time. It reports busy where an earlier one is still
// at work, and finished=false where the process did not read within the time; then the write goes on.
func (c *command) write(data []byte, end bool, timeout time.Duration) (busy, finished bool, err error) {
	select {
	case <-c.input:
	default:
		return true, false, nil
	}
	result := make(chan error, 1)
	go func() {
		in := c.process.Stdin()
		var err error
		if len(data) > 0 {
			_, err = in.Write(data)
		}
		if end && err == nil {
			err = in.Close()
		}
		c.input <- struct{}{}
		result <- err
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err := <-result:
		return false, true, err
	case <-timer.C:
		return false, false, nil
	}
}
