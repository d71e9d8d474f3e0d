package simulator

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"

// Metrics is what GET /metrics answers: sums over the lab, and the same for each host. Out-of-band calls
// are not counted.
type Metrics struct {
	HostMetrics
	Hosts map[string]HostMetrics `json:"hosts"`
	// Guests are the doors of guests with a listener of their own, by host/VM. Their cmdlet calls are among
	// those of the host.
	Guests map[string]door.Metrics `json:"guests,omitempty"`
}

// HostMetrics are the counters of one host.
type HostMetrics struct {
	door.Metrics
	CmdletCalls map[string]int64 `json:"cmdlet_calls"` // by name, on the host and in its guests
}

// Metrics reads the counters.
func (s *Server) Metrics() Metrics {
	sum := HostMetrics{Metrics: door.Metrics{Operations: map[string]int64{}}, CmdletCalls: map[string]int64{}}
	m := Metrics{Hosts: map[string]HostMetrics{}}
	for _, h := range s.hosts {
		one := HostMetrics{Metrics: h.door.Metrics(), CmdletCalls: s.model.counts(h.name)}
		m.Hosts[h.name] = one
		sum.add(one.Metrics)
		for name, n := range one.CmdletCalls {
			sum.CmdletCalls[name] += n
		}
	}
	for _, g := range s.guests {
		if m.Guests == nil {
			m.Guests = map[string]door.Metrics{}
		}
		m.Guests[g.name()] = g.door.Metrics()
		sum.add(m.Guests[g.name()])
	}
	m.HostMetrics = sum
	return m
}

// add counts another door in.
func (h *HostMetrics) add(one door.Metrics) {
	h.Requests += one.Requests
	h.Unauthorized += one.Unauthorized
	h.Challenges += one.Challenges
	h.Connections += one.Connections
	h.Shells += one.Shells
	h.ShellsCreated += one.ShellsCreated
	h.Processes += one.Processes
	for op, n := range one.Operations {
		h.Operations[op] += n
	}
}
