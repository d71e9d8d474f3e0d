package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// change is one resource of a plan.
type change struct {
	Address  string
	Action   string // create, update, replace, delete
	Restarts []string
	Warnings []string
}

// readPlan takes what people want to see out of "show -json" of a saved plan.
func readPlan(text []byte) ([]change, error) {
	var plan struct {
		ResourceChanges []struct {
			Address string
			Mode    string
			Change  struct {
				Actions []string
				After   struct {
					PlannedRestarts []plannedRestart `json:"planned_restarts"`
				}
				AfterUnknown struct {
					PlannedRestarts any `json:"planned_restarts"`
				} `json:"after_unknown"`
			}
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(text, &plan); err != nil {
		return nil, fmt.Errorf("terraform show -json: %w", err)
	}
	var changes []change
	for _, rc := range plan.ResourceChanges {
		action := strings.Join(rc.Change.Actions, "+")
		if rc.Mode != "managed" || action == "no-op" {
			continue
		}
		if len(rc.Change.Actions) == 2 {
			action = "replace"
		}
		c := change{Address: rc.Address, Action: action}
		for _, p := range rc.Change.After.PlannedRestarts {
			c.Restarts = append(c.Restarts, p.lines()...)
		}
		if rc.Change.AfterUnknown.PlannedRestarts == true {
			c.Restarts = append(c.Restarts, "(known after apply)")
		}
		changes = append(changes, c)
	}
	return changes, nil
}

type plannedRestart struct{ Kind, Target, Condition, Reason string }

// lines are what restarts, and why.
func (p plannedRestart) lines() []string {
	what := p.Kind
	if p.Target != "" {
		what += " " + p.Target
	}
	if p.Condition != "" {
		what += " (" + p.Condition + ")"
	}
	if p.Reason == "" {
		return []string{what}
	}
	return []string{what, "  " + p.Reason}
}

// diagnostic is a line of "plan -json".
type diagnostic struct {
	Type       string
	Diagnostic struct{ Severity, Summary, Detail, Address string }
}

// readDiagnostics finds those of one severity; other lines are progress.
func readDiagnostics(lines []byte, severity string) []diagnostic {
	var found []diagnostic
	for line := range strings.Lines(string(lines)) {
		var d diagnostic
		if json.Unmarshal([]byte(line), &d) == nil && d.Type == "diagnostic" && d.Diagnostic.Severity == severity {
			found = append(found, d)
		}
	}
	return found
}

// addWarnings puts the provider's warnings to their resources; the CLI's own have no address.
func addWarnings(changes []change, warnings []diagnostic) {
	for _, w := range warnings {
		for i := range changes {
			if changes[i].Address == w.Diagnostic.Address && !slices.Contains(changes[i].Warnings, w.Diagnostic.Summary) {
				changes[i].Warnings = append(changes[i].Warnings, w.Diagnostic.Summary)
			}
		}
	}
}

func count(changes []change, action string) int {
	n := 0
	for _, c := range changes {
		if c.Action == action {
			n++
		}
	}
	return n
}

func printChanges(out io.Writer, changes []change) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  RESOURCE\tACTION\tPLANNED RESTARTS")
	for _, c := range changes {
		lines := slices.Clone(c.Restarts)
		if len(lines) == 0 { // where the plan has no list, as in a destroy, a warning announces them
			lines = append(lines, c.Warnings...)
		}
		if len(lines) == 0 {
			lines = []string{"none"}
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", c.Address, c.Action, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(w, "  \t\t%s\n", line)
		}
	}
	_ = w.Flush()
}
