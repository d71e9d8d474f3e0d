package simulator

import (
	"maps"
	"strings"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// model stands between an engine and the lab. It counts calls by host, and applies the rules that cut
// connections or end processes around a call; rules that delay a call or make it fail are the lab's own.
// The lab is embedded whole: engines ask the model for more than cmdlet.Model where it can tell more.
type model struct {
	*lab.Lab
	server *Server

	mu    sync.Mutex
	calls map[string]map[string]int64 // by host, by cmdlet
	seen  int64                       // last journal entry that was looked at for cut paths
}

// Invoke implements cmdlet.Model.
func (m *model) Invoke(inv cmdlet.Invocation) cmdlet.Output {
	m.count(inv)
	rule := m.server.rules.Cmdlet(inv.Host, inv.Cmdlet, func(object string) bool { return mentions(inv.Parameters, strings.ToLower(object)) })
	before := rule != nil && (rule.Effect == door.DropBefore || rule.Effect == door.Blackout)
	if before {
		m.interrupt(inv, *rule)
	}
	out := m.Lab.Invoke(inv)
	m.follow(inv.Cmdlet)
	if rule != nil && !before {
		m.interrupt(inv, *rule)
	}
	return out
}

// interrupt applies an effect to the door that a call came through.
func (m *model) interrupt(inv cmdlet.Invocation, rule door.Rule) {
	if g := m.ownGuest(inv); g != nil {
		interrupt(g.door, rule)
		return
	}
	m.server.interrupt(inv.Host, rule)
}

// follow does to the doors what a call did to the way to its host: connections break where the management
// path was cut (facts.md 28, 73), and a restarted host has no shells any more.
func (m *model) follow(name string) {
	if strings.HasPrefix(strings.ToLower(name), "get-") {
		return
	}
	m.mu.Lock()
	var events []lab.JournalEntry
	journal := m.Journal()
	for i := len(journal) - 1; i >= 0 && journal[i].Seq > m.seen; i-- {
		events = append(events, journal[i])
	}
	if len(journal) > 0 {
		m.seen = journal[len(journal)-1].Seq
	}
	m.mu.Unlock()
	for _, e := range events {
		switch e.Event {
		case "session_drop":
			m.server.interrupt(e.Host, door.Rule{Effect: door.DropAfter})
		case "host_restart":
			m.server.interrupt(e.Host, door.Rule{Effect: door.KillShell})
			m.server.detached.kill(e.Host)
		case "vm_stop", "vm_restart", "guest_restart":
			m.server.guestWentDown(e.Host, e.Object)
		}
	}
}

// interrupt applies an effect to everything that is open to a host.
func (s *Server) interrupt(name string, rule door.Rule) {
	if h := s.host(name); h != nil {
		interrupt(h.door, rule)
	}
}

func interrupt(d *door.Door, rule door.Rule) {
	switch rule.Effect {
	case door.DropBefore, door.DropAfter:
		d.Disconnect()
	case door.KillShell:
		d.KillShells()
	case door.KillProcess:
		d.KillProcesses()
	case door.Blackout:
		d.BlackOut(rule.Duration())
	}
}

func (m *model) count(inv cmdlet.Invocation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil {
		m.calls = map[string]map[string]int64{}
	}
	if m.calls[inv.Host] == nil {
		m.calls[inv.Host] = map[string]int64{}
	}
	m.calls[inv.Host][inv.Cmdlet]++
}

func (m *model) counts(host string) map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := maps.Clone(m.calls[host])
	if counts == nil {
		counts = map[string]int64{}
	}
	return counts
}

func (m *model) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.seen = nil, 0
}

// mentions says whether a text (in lower case) occurs in a bound value; of an object its name and id count.
func mentions(v any, want string) bool {
	contains := func(s string) bool { return strings.Contains(strings.ToLower(s), want) }
	switch v := v.(type) {
	case string:
		return contains(v)
	case cmdlet.GUID:
		return contains(string(v))
	case cmdlet.Enum:
		return contains(v.Name)
	case cmdlet.Credential:
		return contains(v.User)
	case *cmdlet.Object:
		for _, name := range []string{"Name", "Id", "InstanceID"} {
			if p, ok := v.Get(name); ok && mentions(p, want) {
				return true
			}
		}
		return contains(v.Text)
	case map[string]any:
		for _, e := range v {
			if mentions(e, want) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if mentions(e, want) {
				return true
			}
		}
	}
	return false
}
