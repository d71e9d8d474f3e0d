package lab

import "time"

// Reachable says whether the host answers at its management address: some adapter of TCP/IP that is enabled and
// has a link holds it (facts.md 28, 73), and Windows is up. A host whose address no adapter held when the lab
// was built is always reached: its path is not part of the lab.
func (l *Lab) Reachable(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	return h == nil || l.reachable(h)
}

func (l *Lab) reachable(h *Host) bool {
	if l.down(h) {
		return false
	}
	if !h.pathModelled {
		return true
	}
	c := &call{Lab: l, host: h}
	for _, a := range c.tcpipAdapters() {
		if a.ip().has(h.Address) && c.linked(a) && !l.clock().Before(h.pathBack) {
			return true
		}
	}
	return false
}

// down says that Windows is still starting after a restart.
func (l *Lab) down(h *Host) bool {
	return !h.bootUntil.IsZero() && l.clock().Before(h.bootUntil)
}

// notePath looks whether some adapter holds the management address at all.
func (h *Host) notePath() {
	for _, d := range h.Devices {
		for _, p := range d.Ports {
			h.pathModelled = h.pathModelled || p.IP.has(h.Address)
		}
	}
	for _, v := range h.HostVNics {
		h.pathModelled = h.pathModelled || v.IP.has(h.Address)
	}
}

// boot lets the host be down for a while and then runs what is to run when Windows starts.
func (l *Lab) bootHost(h *Host) {
	wait := l.timing.HostBoot.Duration()
	h.bootUntil = l.clock().Add(wait)
	time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.host(h.Name) == h {
			l.event(h.Name, "host_up", h.Name, "")
			l.runStartupTasks(h)
		}
	})
}
