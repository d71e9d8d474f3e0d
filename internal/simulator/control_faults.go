package simulator

import (
	"bytes"
	"net/http"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// postFaults takes one rule or a list of them; a list with a bad rule adds none.
func (s *Server) postFaults(r *http.Request) (any, error) {
	text, err := body(r)
	if err != nil {
		return nil, err
	}
	var rules []door.Rule
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err = decode(bytes.NewReader(text), &rules)
	} else {
		rules = make([]door.Rule, 1)
		err = decode(bytes.NewReader(text), &rules[0])
	}
	if err != nil {
		return nil, err
	}
	if err := s.AddFaults(rules...); err != nil {
		return nil, err
	}
	return map[string]int{"added": len(rules)}, nil
}

// AddFaults puts rules into force, all or none.
func (s *Server) AddFaults(rules ...door.Rule) error {
	for i, r := range rules {
		if err := r.Validate(); err != nil {
			return badRequestf("rule %d: %w", i+1, err)
		}
		if r.Host != "" && s.host(r.Host) == nil {
			return badRequestf("rule %d: host %q: the lab has %s", i+1, r.Host, s.hostNames())
		}
	}
	for _, r := range rules {
		if !r.AboutCmdlet() || (r.Error == nil && r.DelayMS == 0) {
			s.rules.Add(r)
			continue
		}
		if err := s.lab.AddFault(labFault(r)); err != nil {
			return badRequest{err}
		}
		if r.Effect != door.ErrorRecordEffect && r.Effect != door.Delay {
			s.rules.Add(r) // the lab waits, the doors cut
		}
	}
	return nil
}

// Faults lists the rules about requests and connections that can still hit.
func (s *Server) Faults() []door.Rule { return s.rules.Pending() }

// ClearFaults removes every rule.
func (s *Server) ClearFaults() {
	s.rules.Clear()
	s.lab.ClearFaults()
}

// labFault says a rule about a cmdlet in the lab's words: there 0 hits all, and calls to let pass are counted.
func labFault(r door.Rule) lab.Fault {
	f := lab.Fault{Host: r.Host, Cmdlet: r.Cmdlet, Object: r.Object, After: max(r.Request, 1) - 1, DelayMilliseconds: r.DelayMS}
	switch {
	case r.Count > 0:
		f.Count = r.Count
	case r.Count == 0:
		f.Count = 1
	}
	if e := r.Error; e != nil {
		f.Error = &lab.FaultError{ID: e.ID, Category: e.Category, Message: e.Message, Exception: e.Exception, Terminating: e.Terminating}
	}
	return f
}
