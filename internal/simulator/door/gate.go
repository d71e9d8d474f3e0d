package door

import "net"

// gate resets connections to a machine that is off or still starting, before a byte is read.
type gate struct {
	net.Listener
	up func() bool
}

// Accept implements net.Listener.
func (g gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil || g.up() {
			return c, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset instead of a goodbye
		}
		_ = c.Close()
	}
}

// down says whether the machine went away under a connection that it had taken.
func (d *Door) down() bool { return d.cfg.Up != nil && !d.cfg.Up() }
