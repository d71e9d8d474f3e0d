package powershell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// conversation speaks the line protocol by hand.
type conversation struct {
	t      *testing.T
	p      *pipeProcess
	frames []string
	lines  lineBuffer
}

func (c *conversation) send(format string, args ...any) {
	c.t.Helper()
	if err := c.p.Send(c.t.Context(), fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
}

// next is the next frame; base64 is shortened away.
func (c *conversation) next() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	for len(c.frames) == 0 {
		done, _, _, err := c.p.Receive(ctx, &c.lines, io.Discard)
		if err != nil || done {
			c.t.Fatalf("no frame: %v", err)
		}
	}
	frame := c.frames[0]
	c.frames = c.frames[1:]
	return frame
}

func (c *conversation) expect(want string) string {
	c.t.Helper()
	got := c.next()
	if !strings.HasPrefix(got, want) {
		c.t.Fatalf("got %.100s, want %s", got, want)
	}
	return got
}

func talk(t *testing.T) *conversation {
	t.Helper()
	c := &conversation{t: t, p: startPipe(t, prelude(t, "cmdlets.ps1"))}
	c.lines = lineBuffer{frame: func(fields []string) { c.frames = append(c.frames, strings.Join(fields, " ")) }, noise: func(string) {}}
	for _, lines := range scriptInput(5000) {
		c.send("%s", lines)
	}
	c.expect("H ")
	return c
}

// counter is a batch that counts how often it runs.
func counter(t *testing.T, size int) (data []byte, count func() int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's a [count]")
	data, err := json.Marshal(request([][]Call{{countCall(path, 0, size)}}))
	if err != nil {
		t.Fatal(err)
	}
	return data, func() int { return counted(t, path) }
}

func countCall(path string, milliseconds, size int) Call {
	return call("Add-Count", params{"Path": path, "Milliseconds": milliseconds, "Size": size})
}

func counted(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(text)
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	c := talk(t)
	data, count := counter(t, 10)
	once := func(t *testing.T, want int) {
		t.Helper()
		if got := count(); got != want {
			t.Errorf("it ran %d times, not %d", got, want)
		}
	}

	t.Run("hello again", func(t *testing.T) {
		c.send("H\n")
		c.expect("H ")
	})
	t.Run("unknown request", func(t *testing.T) {
		c.send("R 1\n")
		c.expect("S 1 unknown")
	})
	t.Run("damaged lines mean nothing", func(t *testing.T) {
		c.send("C\nC 1 0 1\nC x 0 1 4 AAAA\nC 1 0 1 5 AAAA\nC 1 1 1 4 AAAA\nC 1 -1 1 4 AAAA\nC 1 0 0 0 \nR\nR x\n\nfoo bar\nc 1 0 1 4 AAAA\nR 1\n")
		c.expect("S 1 unknown")
	})

	pieces := wire.SplitPieces(1, data, len(data)/4+1)
	if len(pieces) < 4 {
		t.Fatalf("%d pieces", len(pieces))
	}
	var answer string
	t.Run("pieces in any order, twice, with a question between", func(t *testing.T) {
		c.send("%s%s", pieces[2].RequestLine(), pieces[2].RequestLine())
		c.send("R 1\n")
		var missing []string
		for i := range pieces {
			if i != 2 {
				missing = append(missing, strconv.Itoa(i))
			}
		}
		c.expect("S 1 partial:" + strings.Join(missing, ","))
		once(t, 0)
		for i := len(pieces) - 1; i >= 0; i-- {
			if i != 2 {
				c.send("%s", pieces[i].RequestLine())
			}
		}
		answer = c.expect("A 1 0 1 ")
		once(t, 1)
	})
	t.Run("again after it ran", func(t *testing.T) {
		for _, piece := range pieces {
			c.send("%s", piece.RequestLine())
		}
		c.expect(answer) // for the last piece only
		c.send("R 1\n")
		c.expect(answer)
		c.send("R 2\n")
		c.expect("S 2 unknown")
		once(t, 1)
	})
	t.Run("a late copy after another ran", func(t *testing.T) {
		c.send("%s", wire.SplitPieces(5, []byte(`{"groups":[]}`), 1000)[0].RequestLine())
		c.expect("A 5 0 1 ")
		for _, piece := range pieces {
			c.send("%s", piece.RequestLine())
		}
		c.send("R 1\n")
		c.expect("S 1 unknown")
		once(t, 1)
	})
	t.Run("a request that was given up half way", func(t *testing.T) {
		half := wire.SplitPieces(6, data, len(data))
		if len(half) < 2 {
			t.Fatal("one piece")
		}
		c.send("%s", half[0].RequestLine())
		c.send("%s", wire.SplitPieces(7, []byte(`{"groups":[]}`), 1000)[0].RequestLine())
		c.expect("A 7 0 1 ")
		c.send("%s", half[1].RequestLine())
		c.send("R 6\n")
		c.expect("S 6 unknown")
		once(t, 1)
	})
	t.Run("a request that is no JSON", func(t *testing.T) {
		c.send("%s", wire.SplitPieces(8, []byte("{"), 1000)[0].RequestLine())
		fields := strings.Fields(c.expect("A 8 0 1 "))
		piece, ok := wire.ParsePiece(fields[1:])
		if !ok {
			t.Fatal(fields)
		}
		text, err := wire.JoinPieces(map[int]string{0: piece.Text})
		if err != nil {
			t.Fatal(err)
		}
		var reply wire.Reply
		if err := json.Unmarshal(text, &reply); err != nil || reply.Failure == nil {
			t.Errorf("%s: %v", text, err)
		}
	})
	t.Run("leave", func(t *testing.T) {
		c.send("X\n")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for {
			done, code, _, err := c.p.Receive(ctx, io.Discard, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if done {
				if code != 0 {
					t.Errorf("exit code %d", code)
				}
				return
			}
		}
	})
}

// unreliable is a process on a network that loses and doubles things, as a WinRM service without a
// memory for MessageIDs makes of dropped connections.
type unreliable struct {
	*pipeProcess
	double bool // every line arrives twice
	lose   int  // so many more outputs are lost
}

func (u *unreliable) Send(ctx context.Context, data []byte) error {
	if u.double {
		if err := u.pipeProcess.Send(ctx, data); err != nil {
			return err
		}
	}
	return u.pipeProcess.Send(ctx, data)
}

func (u *unreliable) Receive(ctx context.Context, stdout, stderr io.Writer) (bool, int, bool, error) {
	if u.lose > 0 {
		u.lose--
		done, code, _, err := u.pipeProcess.Receive(ctx, io.Discard, stderr)
		return done, code, true, err
	}
	return u.pipeProcess.Receive(ctx, stdout, stderr)
}

func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	u := &unreliable{pipeProcess: startPipe(t, prelude(t, "cmdlets.ps1")), lose: 1}
	u.size = 100000
	// The first hello is lost.
	r, err := newRunner(t.Context(), u, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.size = 200 // many pieces
	for _, c := range []struct {
		name   string
		double bool
		lose   int
		size   int
	}{
		{"nothing happens", false, 0, 10},
		{"lines arrive twice", true, 0, 10},
		{"an output is lost", false, 1, 10},
		{"three outputs are lost", false, 3, 10},
		{"everything at once, large", true, 2, 300000},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "count")
			u.double, u.lose = c.double, c.lose
			for range 3 {
				results, err := r.Do(t.Context(), countCall(path, 0, c.size))
				if err != nil {
					t.Fatal(err)
				}
				var got struct{ Text string }
				if err := json.Unmarshal(results[0].Output[0], &got); err != nil || len(got.Text) != c.size {
					t.Fatalf("%d characters, %v", len(got.Text), err)
				}
				u.lose = c.lose
			}
			u.double, u.lose = false, 0
			if n := counted(t, path); n != 3 {
				t.Errorf("3 batches ran %d times", n)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := startRunner(t)
	path := filepath.Join(t.TempDir(), "count")

	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Do(ctx, countCall(path, 0, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if n := counted(t, path); n != 0 {
			t.Errorf("it ran %d times", n)
		}
	})
	t.Run("a change may finish", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		results, err := r.Do(ctx, countCall(path, 500, 1))
		if err != nil || len(results) != 1 {
			t.Errorf("%v, %v", results, err)
		}
	})
	t.Run("a read ends at once", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		read := countCall(path, 20000, 1)
		read.ReadOnly = true
		start := time.Now()
		_, err := r.Do(ctx, read)
		checkLost(t, err, true)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
