package door

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Operations of WS-Management that a shell client uses.
const (
	OpCreate  = "Create"
	OpCommand = "Command"
	OpSend    = "Send"
	OpReceive = "Receive"
	OpSignal  = "Signal"
	OpDelete  = "Delete"
)

// Operations lists them.
func Operations() []string {
	return []string{OpCreate, OpCommand, OpSend, OpReceive, OpSignal, OpDelete}
}

// Entry is one request in the log. It holds no header and no body, so no secret.
type Entry struct {
	Time      time.Time
	Host      string
	Remote    string
	Operation string // "" where the request was no WS-Management request, or not authenticated
	MessageID string
	Status    int // 0: the connection was closed instead of answering
	Fault     uint32
	Effect    Effect // injected fault
	Bytes     int    // of the request
	Duration  time.Duration
}

// Metrics count since the start, or the last Reset.
type Metrics struct {
	Requests      int64            `json:"requests"`     // HTTP requests, also those that were refused
	Operations    map[string]int64 `json:"operations"`   // authenticated WS-Management requests by operation
	Unauthorized  int64            `json:"unauthorized"` // refused with 401
	Challenges    int64            `json:"challenges"`   // 401 that carries on a handshake of a connection
	Connections   int64            `json:"connections"`
	Shells        int64            `json:"shells"` // open now
	ShellsCreated int64            `json:"shells_created"`
	Processes     int64            `json:"processes"` // started
}

type counters struct {
	requests, unauthorized, challenges, connections, shellsCreated, processes atomic.Int64

	mu         sync.Mutex
	operations map[string]int64
}

func (c *counters) operation(op string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operations == nil {
		c.operations = map[string]int64{}
	}
	c.operations[op]++
}

func (c *counters) reset() {
	for _, n := range []*atomic.Int64{&c.requests, &c.unauthorized, &c.challenges, &c.connections, &c.shellsCreated, &c.processes} {
		n.Store(0)
	}
	c.mu.Lock()
	c.operations = nil
	c.mu.Unlock()
}

// Metrics reads the counters.
func (d *Door) Metrics() Metrics {
	d.mu.Lock()
	open := len(d.shells)
	d.mu.Unlock()
	c := &d.counters
	c.mu.Lock()
	operations := maps.Clone(c.operations)
	c.mu.Unlock()
	if operations == nil {
		operations = map[string]int64{}
	}
	return Metrics{
		Requests: c.requests.Load(), Operations: operations, Unauthorized: c.unauthorized.Load(), Challenges: c.challenges.Load(), Connections: c.connections.Load(),
		Shells: int64(open), ShellsCreated: c.shellsCreated.Load(), Processes: c.processes.Load(),
	}
}
