package door

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Effect is what an injected fault does.
type Effect string

// Effects on a WS-Management request.
const (
	DropBefore       Effect = "drop_before"      // close the connection; the request is not processed
	DropAfter        Effect = "drop_after"       // process it, close the connection instead of answering
	DropMid          Effect = "drop_mid"         // process it, close the connection in the middle of the answer
	Stall            Effect = "stall"            // process it, never answer, keep the connection open
	Delay            Effect = "delay"            // wait before processing
	Unauthorized     Effect = "401"              // refuse the credential, though it is right
	UnauthorizedHTML Effect = "401_html"         // the same from something in between: a body of text/html
	Unavailable      Effect = "503"              // no body
	TooMany          Effect = "429"              // no body
	TimedOut         Effect = "timeout"          // fault 2150858793 without processing
	Busy             Effect = "busy"             // fault 170 without processing
	Quota            Effect = "quota"            // fault 2150859173, too many shells, without processing
	QuotaOperations  Effect = "quota_operations" // fault 2150859174, too many operations, without processing
	ShellGone        Effect = "shell_gone"       // fault 2150858843 without processing; the shell lives on
	Aborted          Effect = "aborted"          // fault 995 without processing
	KeyDeleted       Effect = "key_deleted"      // fault 2147943418, the user's registry hive is gone, without processing; the shell lives on
	KillShell        Effect = "kill_shell"       // remove the shell, then process the request
	KillProcess      Effect = "kill_process"     // end the processes of the shell, then process the request
	Blackout         Effect = "blackout"         // close every connection to the host, and each new one, for duration_ms
)

// ErrorRecordEffect is the effect of a rule about a cmdlet: the call fails with Rule.Error.
const ErrorRecordEffect Effect = "error"

// ErrorRecord is the error that a cmdlet call is made to fail with.
type ErrorRecord struct {
	ID          string `json:"id"`
	Category    string `json:"category"`
	Exception   string `json:"exception,omitempty"`
	Message     string `json:"message,omitempty"`
	Terminating bool   `json:"terminating,omitempty"`
}

// Rule injects a fault. With Cmdlet or Object it is about cmdlet calls, else about WS-Management requests.
type Rule struct {
	Host      string `json:"host,omitempty"`      // "" is every host
	Operation string `json:"operation,omitempty"` // "" is every operation
	// Request is the ordinal of the first matching request (or call) that is hit, counted from when the rule
	// was added, from 1; 0 is the same as 1.
	Request int    `json:"request,omitempty"`
	Cmdlet  string `json:"cmdlet,omitempty"`
	Object  string `json:"object,omitempty"` // text that occurs in the call's parameters: a name or an id
	Count   int    `json:"count,omitempty"`  // how many are hit: 0 is one, -1 is all
	Effect  Effect `json:"effect"`
	DelayMS int    `json:"delay_ms,omitempty"`
	// DurationMS is how long a blackout lasts. With other effects on requests it takes the place of Count: from
	// the first hit on, every matching request is hit for that long.
	DurationMS int          `json:"duration_ms,omitempty"`
	Error      *ErrorRecord `json:"error,omitempty"`
}

// AboutCmdlet says whether the rule is about cmdlet calls.
func (r Rule) AboutCmdlet() bool { return r.Cmdlet != "" || r.Object != "" }

// Delay is the wait before the effect.
func (r Rule) Delay() time.Duration { return time.Duration(r.DelayMS) * time.Millisecond }

// Duration is how long the effect lasts.
func (r Rule) Duration() time.Duration { return time.Duration(r.DurationMS) * time.Millisecond }

// RequestEffects lists what a rule about requests can do.
func RequestEffects() []Effect {
	return []Effect{
		DropBefore, DropAfter, DropMid, Stall, Delay, Unauthorized, UnauthorizedHTML, Unavailable, TooMany, TimedOut, Busy, Quota, QuotaOperations,
		ShellGone, Aborted, KeyDeleted, KillShell, KillProcess, Blackout,
	}
}

func cmdletEffects() []Effect {
	return []Effect{ErrorRecordEffect, Delay, DropBefore, DropAfter, KillShell, KillProcess, Blackout}
}

// Validate says what is wrong with a rule.
func (r Rule) Validate() error {
	allowed, about := RequestEffects(), "requests"
	if r.AboutCmdlet() {
		allowed, about = cmdletEffects(), "cmdlet calls"
	}
	switch {
	case !slices.Contains(allowed, r.Effect):
		return fmt.Errorf("effect %q: a rule about %s takes one of %s", r.Effect, about, join(allowed))
	case r.Operation != "" && r.AboutCmdlet():
		return fmt.Errorf("operation %q: a rule about cmdlet calls has no operation", r.Operation)
	case r.Operation != "" && !slices.Contains(Operations(), r.Operation):
		return fmt.Errorf("operation %q is none of %s", r.Operation, strings.Join(Operations(), ", "))
	case r.Request < 0:
		return fmt.Errorf("request %d is below 0", r.Request)
	case r.Count < -1:
		return fmt.Errorf("count %d is below -1", r.Count)
	case r.DelayMS < 0:
		return fmt.Errorf("delay_ms %d is below 0", r.DelayMS)
	case r.DurationMS < 0:
		return fmt.Errorf("duration_ms %d is below 0", r.DurationMS)
	case r.Effect == Blackout && r.DurationMS == 0:
		return fmt.Errorf("effect %q needs duration_ms", Blackout)
	case r.DurationMS > 0 && r.Effect != Blackout && r.AboutCmdlet():
		return fmt.Errorf("duration_ms: of a rule about cmdlet calls only the effect %q lasts", Blackout)
	case r.DurationMS > 0 && r.Effect != Blackout && r.Count != 0:
		return fmt.Errorf("count %d and duration_ms exclude each other", r.Count)
	case r.Effect == Delay && r.DelayMS == 0:
		return fmt.Errorf("effect %q needs delay_ms", Delay)
	case r.Effect == ErrorRecordEffect && (r.Error == nil || r.Error.ID == "" || r.Error.Category == ""):
		return fmt.Errorf("effect %q needs error with id and category", ErrorRecordEffect)
	case r.Effect != ErrorRecordEffect && r.Error != nil:
		return fmt.Errorf("effect %q takes no error", r.Effect)
	}
	return nil
}

func join(effects []Effect) string {
	texts := make([]string, len(effects))
	for i, e := range effects {
		texts[i] = string(e)
	}
	return strings.Join(texts, ", ")
}

// Rules is the set of rules in force, shared by the doors of a lab.
type Rules struct {
	mu    sync.Mutex
	rules []*armed
}

type armed struct {
	Rule
	seen, hits int
	until      time.Time // of a rule that lasts, from its first hit on
}

func (a *armed) lasts() bool { return a.DurationMS > 0 && a.Effect != Blackout }

func (a *armed) spent() bool {
	if a.lasts() {
		return a.hits > 0 && time.Now().After(a.until)
	}
	return a.Count >= 0 && a.hits >= max(a.Count, 1)
}

// Add puts a rule into force.
func (s *Rules) Add(r Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &armed{Rule: r})
}

// Clear removes every rule.
func (s *Rules) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Pending lists the rules that can still hit.
func (s *Rules) Pending() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := []Rule{}
	s.rules = slices.DeleteFunc(s.rules, (*armed).spent)
	for _, a := range s.rules {
		pending = append(pending, a.Rule)
	}
	return pending
}

// Request finds the rule that hits a request, or nil.
func (s *Rules) Request(host, operation string) *Rule {
	return s.hit(func(r Rule) bool {
		return !r.AboutCmdlet() && (r.Operation == "" || r.Operation == operation) && sameHost(r, host)
	})
}

// Cmdlet finds the rule that hits a cmdlet call, or nil; about says whether the call is about an object.
func (s *Rules) Cmdlet(host, cmdlet string, about func(object string) bool) *Rule {
	return s.hit(func(r Rule) bool {
		return r.AboutCmdlet() && (r.Cmdlet == "" || strings.EqualFold(r.Cmdlet, cmdlet)) && (r.Object == "" || about(r.Object)) && sameHost(r, host)
	})
}

func sameHost(r Rule, host string) bool { return r.Host == "" || strings.EqualFold(r.Host, host) }

// hit counts a match on every rule and gives the first that is due.
func (s *Rules) hit(matches func(Rule) bool) *Rule {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = slices.DeleteFunc(s.rules, (*armed).spent)
	var due *armed
	for _, a := range s.rules {
		if !matches(a.Rule) {
			continue
		}
		a.seen++
		if due == nil && a.seen >= max(a.Request, 1) {
			due = a
		}
	}
	if due == nil {
		return nil
	}
	if due.hits++; due.hits == 1 {
		due.until = time.Now().Add(due.Delay() + due.Duration())
	}
	s.rules = slices.DeleteFunc(s.rules, (*armed).spent)
	rule := due.Rule
	return &rule
}
