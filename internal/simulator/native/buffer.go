package native

import (
	"io"
	"sync"
)

// buffer is an output stream that never blocks its writer, as a console's does not for small outputs.
type buffer struct {
	mu    sync.Mutex
	ready *sync.Cond
	data  []byte
	over  bool
}

func newBuffer() *buffer {
	b := &buffer{}
	b.ready = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) write(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.data = append(b.data, data...)
		b.ready.Broadcast()
	}
}

// end closes the stream; what was written can still be read.
func (b *buffer) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.ready.Broadcast()
}

// discard throws away what nobody has read.
func (b *buffer) discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data, b.over = nil, true
	b.ready.Broadcast()
}

// drained waits until everything has been read.
func (b *buffer) drained() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) > 0 || !b.over {
		b.ready.Wait()
	}
}

func (b *buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && !b.over {
		b.ready.Wait()
	}
	if len(b.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	if len(b.data) == 0 {
		b.data = nil
		b.ready.Broadcast()
	}
	return n, nil
}
