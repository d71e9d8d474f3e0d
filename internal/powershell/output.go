package powershell

import (
	"bytes"
	"regexp"
	"strings"
)

const (
	framePrefix = "#HV "
	// keptStderr is how much of stderr is kept for an error message: the end counts.
	keptStderr = 4096
	keptNoise  = 200
	// maxUnfinished bounds a line that does not end; a frame is far shorter.
	maxUnfinished = 1 << 20
)

// lineBuffer cuts stdout into lines and hands on the frames.
type lineBuffer struct {
	rest  []byte
	frame func(fields []string)
	noise func(line string)
}

func (b *lineBuffer) Write(data []byte) (int, error) {
	b.rest = append(b.rest, data...)
	for {
		end := bytes.IndexByte(b.rest, '\n')
		if end < 0 {
			break
		}
		b.line(strings.TrimRight(string(b.rest[:end]), "\r"))
		b.rest = b.rest[end+1:]
	}
	if len(b.rest) > maxUnfinished {
		b.rest = nil
	}
	return len(data), nil
}

func (b *lineBuffer) line(line string) {
	if fields, ok := strings.CutPrefix(line, framePrefix); ok {
		b.frame(strings.Split(fields, " "))
	} else if strings.TrimSpace(line) != "" {
		b.noise(printable(line, keptNoise))
	}
}

// tail keeps the end of what is written to it.
type tail struct{ data []byte }

func (t *tail) Write(data []byte) (int, error) {
	t.data = append(t.data, data...)
	if over := len(t.data) - keptStderr; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(data), nil
}

func (t *tail) String() string { return strings.TrimSpace(printable(string(t.data), keptStderr)) }

// encoded finds what may be a piece of a request that something echoed: it could hold a password.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/=]{60,}`)

func printable(text string, limit int) string {
	text = encoded.ReplaceAllString(strings.ToValidUTF8(text, "?"), "(encoded)")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
