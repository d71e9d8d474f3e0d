package door

import (
	"net"
	"time"
)

// BlackOut makes the host unreachable for a while: every connection is reset, and each new one as soon as it
// is there. Shells and what runs in them live on.
func (d *Door) BlackOut(duration time.Duration) {
	d.mu.Lock()
	if until := time.Now().Add(duration); until.After(d.dark) {
		d.dark = until
	}
	d.mu.Unlock()
	d.Disconnect()
}

func (d *Door) isDark() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Before(d.dark)
}

// darkListener takes no connection while its host is blacked out. It stays open meanwhile, or its port
// could be taken by somebody else.
type darkListener struct {
	net.Listener
	door *Door
}

func (l *darkListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || !l.door.isDark() {
			return c, err
		}
		reset(c)
	}
}

// reset closes a connection without the goodbye of TCP.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
