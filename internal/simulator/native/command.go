package native

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getCommand answers Get-Command from what the model says the target has. It runs in PowerShell
// itself, so that it never reaches the journal.
func (r *runner) getCommand(args map[string]any, at place) (streams, *cmdlet.Error) {
	var out streams
	x := r.engine.catalog.Cmdlet("Get-Command")
	if x == nil {
		return out, commandNotFound("Get-Command")
	}
	b, err := x.BindCall(args, nil)
	if err != nil {
		return out, err
	}
	for _, v := range listOf(b.Parameters["Name"]) {
		name := catalog.Text(v)
		found := r.commands(name, b.Parameters, at)
		out.objects = append(out.objects, found...)
		if len(found) > 0 || strings.ContainsAny(name, "*?[") {
			continue
		}
		e := commandNotFound(name)
		switch {
		case action(b.Common["ErrorAction"]) == "Stop":
			return out, e
		case !silent(b.Common["ErrorAction"]):
			e.Terminating = false
			out.errors = append(out.errors, e)
		}
	}
	return out, nil
}

// commands lists the commands that a name, which may be a wildcard pattern, stands for.
func (r *runner) commands(name string, parameters map[string]any, at place) []any {
	var found []any
	for _, x := range r.engine.catalog.Cmdlets {
		if !wildcard(name).matches(x.Name) || !among(parameters["Module"], x.Module) || !r.engine.model.Available(r.host, at.target, x.Name) {
			continue
		}
		kind, number, class := "Cmdlet", int64(8), "System.Management.Automation.CmdletInfo"
		if x.Kind == catalog.KindFunction {
			kind, number, class = "Function", 2, "System.Management.Automation.FunctionInfo"
		}
		if wanted := parameters["CommandType"]; wanted != nil && !strings.Contains(strings.ToLower(catalog.Text(wanted)), strings.ToLower(kind)) {
			continue
		}
		found = append(found, &cmdlet.Object{
			Types: []string{class, "System.Management.Automation.CommandInfo"},
			Text:  x.Name,
			Properties: []cmdlet.Property{
				{Name: "Name", Value: x.Name},
				{Name: "CommandType", Value: cmdlet.Enum{Type: "System.Management.Automation.CommandTypes", Name: kind, Number: number}},
				{Name: "Source", Value: x.Module},
				{Name: "ModuleName", Value: x.Module},
			},
		})
	}
	return found
}

// among says whether a name matches one of the patterns; no patterns match everything.
func among(patterns any, name string) bool {
	list := listOf(patterns)
	for _, p := range list {
		if wildcard(catalog.Text(p)).matches(name) {
			return true
		}
	}
	return len(list) == 0
}

func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// wildcard is a PowerShell pattern: *, ?, [set] and the backtick that takes their meaning away.
type wildcard string

func (w wildcard) matches(text string) bool {
	return match([]rune(strings.ToLower(string(w))), []rune(strings.ToLower(text)))
}

func match(pattern, text []rune) bool {
	for len(pattern) > 0 {
		switch pattern[0] {
		case '*':
			for i := 0; i <= len(text); i++ {
				if match(pattern[1:], text[i:]) {
					return true
				}
			}
			return false
		case '?':
			if len(text) == 0 {
				return false
			}
			pattern, text = pattern[1:], text[1:]
		case '[':
			end := 1
			for end < len(pattern) && pattern[end] != ']' {
				end++
			}
			if end == len(pattern) || len(text) == 0 || !inSet(pattern[1:end], text[0]) {
				return false
			}
			pattern, text = pattern[end+1:], text[1:]
		case '`':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			fallthrough
		default:
			if len(text) == 0 || text[0] != pattern[0] {
				return false
			}
			pattern, text = pattern[1:], text[1:]
		}
	}
	return len(text) == 0
}

func inSet(set []rune, r rune) bool {
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= r && r <= set[i+2] {
				return true
			}
			i += 2
			continue
		}
		if set[i] == r {
			return true
		}
	}
	return false
}
