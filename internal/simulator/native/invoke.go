package native

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// place is where calls of a batch run: the host, or a guest through a session.
type place struct {
	target  string
	session string
}

// saved are the live objects of a group's earlier calls.
type saved map[string][]any

// streams is what one call gave before it is written as JSON.
type streams struct {
	objects  []any
	errors   []*cmdlet.Error
	warnings []string
}

// call runs one call at a place and says whether there were errors.
func (r *runner) call(c *call, at place, names saved) (wire.Result, bool) {
	start := time.Now()
	out, skipped := r.streamsOf(c, at, names)
	if c.Save != "" {
		names[c.Save] = out.objects
	}
	result := wire.Result{
		Output: []json.RawMessage{}, Errors: []wire.CommandError{}, Warnings: []string{},
		Milliseconds: time.Since(start).Milliseconds(), Skipped: skipped,
	}
	w := writer{depth: c.Depth}
	if w.depth == 0 {
		w.depth = 2
	}
	for _, o := range out.objects {
		result.Output = append(result.Output, w.value(o, 1, c.Select))
	}
	for _, e := range out.errors {
		result.Errors = append(result.Errors, *commandError(e, c.Cmdlet))
	}
	result.Warnings = append(result.Warnings, out.warnings...)
	return result, len(out.errors) > 0
}

func (r *runner) streamsOf(c *call, at place, names saved) (out streams, skipped bool) {
	var input []any
	if c.Input != "" {
		if input = names[c.Input]; len(input) == 0 {
			return streams{}, true
		}
	}
	args, err := r.arguments(c.Parameters, names)
	if err == nil {
		out, err = r.invoke(c.Cmdlet, args, input, at)
	}
	if err != nil {
		out.errors = append(out.errors, err)
	}
	kept := out.objects[:0:0]
	for _, o := range out.objects {
		if holds(o, c.Where) {
			kept = append(kept, o)
		}
	}
	out.objects = kept
	return out, false
}

// invoke finds the command, binds, and asks the model: once, or for every object of the input. The
// error is a terminating one; what came before it stays.
func (r *runner) invoke(name string, args map[string]any, input []any, at place) (streams, *cmdlet.Error) {
	var out streams
	switch strings.ToLower(name) { // PowerShell's own, not the model's
	case "get-command":
		return r.getCommand(args, at)
	case "start-sleep":
		return out, r.startSleep(args)
	}
	x := r.engine.catalog.Cmdlet(name)
	if x == nil || !r.engine.model.Available(r.host, at.target, x.Name) {
		return out, commandNotFound(escape(name))
	}
	if len(input) == 0 {
		return out, r.once(&out, x, args, nil, at)
	}
	for _, o := range input {
		if err := r.once(&out, x, args, piped(o), at); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (r *runner) once(out *streams, x *catalog.Cmdlet, args map[string]any, object *cmdlet.Object, at place) *cmdlet.Error {
	b, err := x.BindCall(args, object)
	if err != nil {
		if err.Terminating {
			return err
		}
		out.errors = append(out.errors, err)
		return nil
	}
	if what, _ := b.Common["WhatIf"].(bool); what {
		return nil
	}
	if confirm, _ := b.Common["Confirm"].(bool); confirm {
		return cannotPrompt(x)
	}
	answer := r.engine.model.Invoke(cmdlet.Invocation{
		Host: r.host, Target: at.target, Cmdlet: x.Name, Set: b.Set, Parameters: b.Parameters, Session: at.session,
	})
	for _, o := range answer.Objects {
		if v, ok := catalog.ScalarOf(o); ok {
			out.objects = append(out.objects, v)
		} else {
			out.objects = append(out.objects, o)
		}
	}
	if !silent(b.Common["WarningAction"]) {
		out.warnings = append(out.warnings, answer.Warnings...)
	}
	for _, e := range answer.Errors {
		if e.Terminating || action(b.Common["ErrorAction"]) == "Stop" {
			return e
		}
		if !silent(b.Common["ErrorAction"]) {
			out.errors = append(out.errors, e)
		}
	}
	return nil
}

func action(v any) string {
	e, _ := v.(cmdlet.Enum)
	return e.Name
}

func silent(v any) bool { return action(v) == "SilentlyContinue" || action(v) == "Ignore" }

// piped makes an object of anything in a pipeline: a plain value has no properties that bind.
func piped(v any) *cmdlet.Object {
	if o, ok := v.(*cmdlet.Object); ok {
		return o
	}
	return &cmdlet.Object{Text: catalog.Text(v)}
}

// escape is WildcardPattern.Escape, which the runner puts around every name.
func escape(name string) string {
	return strings.NewReplacer("*", "`*", "?", "`?", "[", "`[", "]", "`]").Replace(name)
}

func commandNotFound(name string) *cmdlet.Error {
	e := catalog.NotRecognized(name)
	e.ID += ",Microsoft.PowerShell.Commands.GetCommandCommand"
	return e
}

// cannotPrompt is what -Confirm gives in a process that may not ask anybody.
func cannotPrompt(x *catalog.Cmdlet) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "InvalidOperation," + x.Tail(), Category: "InvalidOperation", Terminating: true,
		Exception: "System.Management.Automation.PSInvalidOperationException", HResult: "0x80131509",
		Message: "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.",
	}
}

// startSleep pauses the process, as in the real engine.
func (r *runner) startSleep(args map[string]any) *cmdlet.Error {
	b, err := r.engine.catalog.Cmdlet("Start-Sleep").BindCall(args, nil)
	if err != nil {
		return err
	}
	for name, unit := range map[string]time.Duration{"Seconds": time.Second, "Milliseconds": time.Millisecond} {
		switch n := b.Parameters[name].(type) {
		case int64:
			time.Sleep(time.Duration(n) * unit)
		case float64:
			time.Sleep(time.Duration(n * float64(unit)))
		}
	}
	return nil
}
