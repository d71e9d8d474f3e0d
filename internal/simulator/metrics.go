package simulator

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"

// Metrics is what GET /metrics answers: sums over the lab, and the same for each host. Out-of-band calls
// are not counted.
type Metrics struct {
	HostMetrics
	Hosts map[string]HostMetrics `json:"hosts"`
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
		sum.Requests += one.Requests
		sum.Unauthorized += one.Unauthorized
		sum.Connections += one.Connections
		sum.Shells += one.Shells
		sum.ShellsCreated += one.ShellsCreated
		sum.Processes += one.Processes
		for op, n := range one.Operations {
			sum.Operations[op] += n
		}
		for name, n := range one.CmdletCalls {
			sum.CmdletCalls[name] += n
		}
	}
	m.HostMetrics = sum
	return m
}
