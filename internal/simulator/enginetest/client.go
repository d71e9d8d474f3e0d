package enginetest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/commandline"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// Client speaks the line protocol with one process.
type Client struct {
	Process process.Process

	t   testing.TB
	out *bufio.Reader
	id  int
}

// CommandLine is how a client starts a PowerShell that runs a script.
func CommandLine(script string) string {
	return "powershell.exe -NoLogo -NoProfile -NonInteractive -EncodedCommand " + commandline.Encode(script)
}

// NewClient starts a process that runs the bootstrap, and gives it the runner's script.
func NewClient(t testing.TB, engine process.Starter, bootstrap, runner string) *Client {
	t.Helper()
	p, err := engine.Start("h1", CommandLine(bootstrap), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{t: t, Process: p, out: bufio.NewReader(p.Stdout())}
	go func() {
		text, err := io.ReadAll(p.Stderr())
		if len(text) > 0 {
			t.Logf("stderr: %s %v", text, err)
		}
	}()
	t.Cleanup(p.Kill)
	c.Send(base64.StdEncoding.EncodeToString([]byte(runner)))
	c.Send(".")
	return c
}

// Send writes a line.
func (c *Client) Send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Process.Stdin(), line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// Line is the next protocol line, without its mark.
func (c *Client) Line() []string {
	c.t.Helper()
	for {
		text, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		if f := strings.Fields(text); len(f) > 1 && f[0] == "#HV" {
			return f[1:]
		}
	}
}

// Batch sends groups of calls in two pieces, the second first, and waits for the answer.
func (c *Client) Batch(groups ...[]wire.Call) wire.Reply {
	c.t.Helper()
	c.id++
	text, err := json.Marshal(wire.Request{Groups: groups})
	if err != nil {
		c.t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString(text)
	half := len(encoded) / 2
	c.Send(fmt.Sprintf("C %d 1 2 %d %s", c.id, len(encoded)-half, encoded[half:]))
	c.Send(fmt.Sprintf("C %d 0 2 %d %s", c.id, half, encoded[:half]))
	return c.Answer()
}

// Answer reads an answer whole.
func (c *Client) Answer() wire.Reply {
	c.t.Helper()
	var text strings.Builder
	for {
		f := c.Line()
		if f[0] != "A" {
			continue
		}
		text.WriteString(f[5])
		total, err := strconv.Atoi(f[3])
		if err != nil {
			c.t.Fatal(err)
		}
		if f[2] == strconv.Itoa(total-1) {
			break
		}
	}
	raw, err := base64.StdEncoding.DecodeString(text.String())
	if err != nil {
		c.t.Fatal(err)
	}
	var reply wire.Reply
	if err := json.Unmarshal(raw, &reply); err != nil {
		c.t.Fatal(err)
	}
	return reply
}
