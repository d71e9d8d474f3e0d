package lab

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Fault makes cmdlet calls slow or fail. An empty field matches everything.
type Fault struct {
	Host   string `json:"host,omitempty"`
	Target string `json:"target,omitempty"` // host, or guest:<VM name>
	Cmdlet string `json:"cmdlet,omitempty"`
	Object string `json:"object,omitempty"` // text that must occur in the call's parameters, as the journal prints them
	After  int    `json:"after,omitempty"`  // matching calls to let pass first
	Count  int    `json:"count,omitempty"`  // matching calls to hit; 0: all of them
	// DelayMilliseconds is waited before the cmdlet runs or fails.
	DelayMilliseconds int         `json:"delay_milliseconds,omitempty"`
	Error             *FaultError `json:"error,omitempty"`
}

// FaultError is the error record that a fault writes instead of running the cmdlet.
type FaultError struct {
	ID          string `json:"id"` // FullyQualifiedErrorId with its tail
	Category    string `json:"category"`
	Message     string `json:"message"`
	Exception   string `json:"exception,omitempty"`
	Terminating bool   `json:"terminating,omitempty"`
}

func (e *FaultError) record() *cmdlet.Error {
	return &cmdlet.Error{ID: e.ID, Category: e.Category, Message: e.Message, Exception: e.Exception, Terminating: e.Terminating}
}

// AddFault adds a rule; rules are tried in the order in which they came.
func (l *Lab) AddFault(f Fault) error {
	if f.Error == nil && f.DelayMilliseconds <= 0 {
		return errors.New("a fault needs an error or a delay")
	}
	if f.Error != nil && (f.Error.ID == "" || f.Error.Category == "") {
		return errors.New("the error of a fault needs an id and a category")
	}
	if f.Count < 0 || f.After < 0 {
		return errors.New("count and after of a fault cannot be negative")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, &f)
	return nil
}

// ClearFaults removes all rules.
func (l *Lab) ClearFaults() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
}

// takeFault finds the first rule that hits a call and counts it.
func (l *Lab) takeFault(inv cmdlet.Invocation, parameters map[string]any) *Fault {
	for i, f := range l.faults {
		if !f.matches(inv, l.targetName(inv), parameters) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		if f.Count > 0 {
			if f.Count--; f.Count == 0 {
				l.faults = append(l.faults[:i:i], l.faults[i+1:]...)
			}
		}
		return f
	}
	return nil
}

func (f *Fault) matches(inv cmdlet.Invocation, target string, parameters map[string]any) bool {
	if f.Host != "" && !strings.EqualFold(f.Host, inv.Host) {
		return false
	}
	if f.Target != "" && !strings.EqualFold(f.Target, target) {
		return false
	}
	if f.Cmdlet != "" && !strings.EqualFold(f.Cmdlet, inv.Cmdlet) {
		return false
	}
	return f.Object == "" || mentions(parameters, strings.ToLower(f.Object))
}

// mentions looks for a text in journal values.
func mentions(v any, want string) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if mentions(e, want) {
				return true
			}
		}
		return false
	case []any:
		for _, e := range v {
			if mentions(e, want) {
				return true
			}
		}
		return false
	case string:
		return strings.Contains(strings.ToLower(v), want)
	default:
		text, err := json.Marshal(v)
		return err == nil && strings.Contains(strings.ToLower(string(text)), want)
	}
}
