package provider

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// failed says what could not be done: "Unable to <verb> <thing>".
type failed struct {
	verb  string // create, read, update, delete, import
	thing string // `switch "X"`
	host  string // the host's name in the provider configuration
}

// addError is the one place where an error becomes a diagnostic.
func addError(diags *diag.Diagnostics, what failed, err error) {
	diags.Append(toDiagnostic(what, err, true))
}

// addWarning says the same as a warning, for what went wrong without harm to the rest.
func addWarning(diags *diag.Diagnostics, what failed, err error) {
	diags.Append(toDiagnostic(what, err, false))
}

// addNotes shows what went well enough but a person should know, as warnings.
func addNotes(diags *diag.Diagnostics, notes []hyperv.Note) {
	for _, n := range notes {
		diags.AddWarning(n.Summary, n.Detail)
	}
}

func toDiagnostic(what failed, err error, isError bool) diag.Diagnostic {
	summary := fmt.Sprintf("Unable to %s %s", what.verb, what.thing)
	detail, attribute := explain(what, err)
	at, ok := attributePath(attribute)
	switch {
	case ok && isError:
		return diag.NewAttributeErrorDiagnostic(at, summary, detail)
	case ok:
		return diag.NewAttributeWarningDiagnostic(at, summary, detail)
	case isError:
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewWarningDiagnostic(summary, detail)
}

// explain writes the lines of a detail, and the attribute at fault where it is known.
func explain(what failed, err error) (detail, attribute string) {
	var e *hyperv.Error
	if !errors.As(err, &e) {
		e = &hyperv.Error{Err: err}
	}
	host := e.Host
	if host == "" {
		host = what.host
	}
	cause, fix := e.Cause, e.Fix
	if cause == "" || fix == "" {
		below := err
		if e.Err != nil {
			below = e.Err
		}
		likely, next := transportAdvice(below)
		if cause == "" {
			cause = likely
		}
		if fix == "" {
			fix = next
		}
	}
	if fix == "" {
		fix = kindAdvice(e.Kind)
	}
	var lines []string
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	add("Host: ", host)
	add("Object: ", e.Object)
	add("Tried to: ", e.Op)
	if e.Attribute != "" {
		add("Attribute: ", strings.TrimSuffix(e.Attribute+" = "+e.Value, " = "))
	}
	add("Host said: ", saidByHost(e.Command))
	if e.Err != nil {
		add("Error: ", e.Err.Error())
	}
	for _, line := range contactLines(err) {
		add(line[0], line[1])
	}
	if e.Command != nil && e.Command.Cause != nil {
		likely, next := transportAdvice(e.Command.Cause)
		add("Connection to the guest: ", strings.TrimSpace(likely+" "+next))
	}
	add("Cause: ", cause)
	add("Next: ", fix)
	return strings.Join(lines, "\n"), e.Attribute
}

// causeAndFix is an error's explanation in one line.
func causeAndFix(err error) string {
	var e *hyperv.Error
	if errors.As(err, &e) {
		return strings.TrimSpace(e.Cause + " " + e.Fix)
	}
	return err.Error()
}

// saidByHost quotes an error record with its FullyQualifiedErrorId, which can be searched for in any language.
func saidByHost(c *wire.CommandError) string {
	if c == nil {
		return ""
	}
	message := strings.TrimSpace(c.Message)
	if c.Details != "" && c.Details != c.Message {
		message += " " + strings.TrimSpace(c.Details)
	}
	var notes []string
	for _, note := range []struct{ label, text string }{{"FullyQualifiedErrorId ", c.ID}, {"category ", c.Category}, {"in ", c.Activity}, {"", c.HResult}} {
		if note.text != "" {
			notes = append(notes, note.label+note.text)
		}
	}
	return fmt.Sprintf("%s (%s)", message, strings.Join(notes, ", "))
}

// kindAdvice is what to do where the layer below had no better idea.
func kindAdvice(k hyperv.Kind) string {
	switch k {
	case hyperv.NotFound:
		return "Check the name for its spelling, and that the object is on this host."
	case hyperv.Ambiguous:
		return "Rename one of the objects, or name it by its id."
	case hyperv.Unauthorized:
		return "Use a user who is a member of the Administrators group."
	case hyperv.SessionLost:
		return "Plan again: the provider reads what is there and continues from it."
	case hyperv.InUse:
		return "Free the object from what uses it, then apply again."
	case hyperv.TimedOut:
		return "Look at the host for what it is still doing, then apply again; raise the timeout if it only needs longer."
	}
	return ""
}

// attributePath reads the path that an error names: a.b, a["key"], a[0].
func attributePath(s string) (path.Path, bool) {
	name, rest := cutName(s)
	if name == "" {
		return path.Empty(), false
	}
	p := path.Root(name)
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "."):
			name, rest = cutName(rest[1:])
			if name == "" {
				return path.Empty(), false
			}
			p = p.AtName(name)
		case strings.HasPrefix(rest, "["):
			var key any
			var ok bool
			if key, rest, ok = cutKey(rest); !ok {
				return path.Empty(), false
			}
			switch key := key.(type) {
			case string:
				p = p.AtMapKey(key)
			case int:
				p = p.AtListIndex(key)
			}
		default:
			return path.Empty(), false
		}
	}
	return p, true
}

func cutName(s string) (name, rest string) {
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		return s, ""
	}
	return s[:end], s[end:]
}

// cutKey takes ["key"] or [0] off the front.
func cutKey(s string) (key any, rest string, ok bool) {
	if quoted, err := strconv.QuotedPrefix(s[1:]); err == nil {
		text, err := strconv.Unquote(quoted)
		rest, ok = strings.CutPrefix(s[1+len(quoted):], "]")
		return text, rest, ok && err == nil
	}
	inside, rest, ok := strings.Cut(s[1:], "]")
	n, err := strconv.Atoi(inside)
	return n, rest, ok && err == nil && n >= 0
}
