package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// registerTask adds the calls that register a scheduled task of SYSTEM in a target. One that is there already is an error.
func (b *batch) registerTask(t *target, name, program, arguments string, triggers ...any) {
	object := func(cmdlet, save string, parameters map[string]any) {
		b.change(t.in(wire.Call{Cmdlet: cmdlet, Save: save, Parameters: parameters, Select: []wire.Field{{Name: "Enabled"}}}))
	}
	object("New-ScheduledTaskAction", "action", map[string]any{"Execute": program, "Argument": arguments})
	object("New-ScheduledTaskPrincipal", "principal", map[string]any{"UserId": "SYSTEM", "LogonType": "ServiceAccount", "RunLevel": "Highest"})
	object("New-ScheduledTaskSettingsSet", "settings", map[string]any{"StartWhenAvailable": true, "AllowStartIfOnBatteries": true, "DontStopIfGoingOnBatteries": true})
	parameters := map[string]any{"TaskName": name, "Action": wire.First("action"), "Principal": wire.First("principal"), "Settings": wire.First("settings")}
	if len(triggers) > 0 {
		parameters["Trigger"] = triggers
	}
	object("Register-ScheduledTask", "task", parameters)
}

// program is a native program that runs in a target as a scheduled task: it outlives the session, its exit code stays with
// the task, and a provider that comes later finds it again by the task's name (facts.md 105, cases.md 59).
type program struct {
	target *target
	op     string
	about  string
	task   string
}

// Codes that the Task Scheduler gives in place of an exit code.
const (
	codeRunning    = 0x41301
	codeNotRun     = 0x41303
	codeTerminated = 0x41306
)

type taskState struct {
	TaskName string `json:"TaskName"`
	State    string `json:"State"`
}

type taskResult struct {
	LastTaskResult uint32 `json:"LastTaskResult"`
}

// start registers the task and starts it. path and arguments become one command line by the rules of Windows.
func (p *program) start(ctx context.Context, path string, arguments ...string) error {
	quoted := make([]string, len(arguments))
	for i, a := range arguments {
		quoted[i] = quoteArgument(a)
	}
	b := p.target.host.batch(p.op, p.about)
	b.registerTask(p.target, p.task, path, strings.Join(quoted, " "))
	b.change(p.target.in(wire.Call{Cmdlet: "Start-ScheduledTask", Parameters: map[string]any{"TaskName": p.task}}))
	return b.run(ctx)
}

// await looks until the program has ended; one that was registered and never started counts as not there, unless started says
// that its start is known. The task of one that ended is removed. found is false where there is no such task. What it does may
// cut the connection: until the time is over, a target that does not answer is asked again.
func (p *program) await(ctx context.Context, started bool) (code uint32, found bool, err error) {
	for {
		state, result, err := p.look(ctx)
		switch {
		case ctx.Err() != nil:
			return 0, true, p.unfinished(ctx.Err())
		case err != nil && KindOf(err) != Unreachable && KindOf(err) != Other:
			return 0, true, err
		case err != nil: // out of reach, or half up
		case state == nil || result == nil:
			return 0, false, nil
		case !started && strings.EqualFold(state.State, "Ready") && result.LastTaskResult == codeNotRun: // registered, and cut off before its start
			return 0, false, p.forget(ctx)
		case !strings.EqualFold(state.State, "Running") && !strings.EqualFold(state.State, "Queued") && result.LastTaskResult != codeRunning && result.LastTaskResult != codeNotRun:
			return result.LastTaskResult, true, p.forget(ctx)
		}
		if err := p.target.host.wait(ctx); err != nil {
			return 0, true, p.unfinished(err)
		}
	}
}

func (p *program) look(ctx context.Context) (*taskState, *taskResult, error) {
	b := p.target.host.batch(p.op, p.about)
	named := map[string]any{"TaskName": p.task}
	states := find[taskState](b, p.target.in(wire.Call{Cmdlet: "Get-ScheduledTask", Parameters: named}), absent())
	results := find[taskResult](b, p.target.in(wire.Call{Cmdlet: "Get-ScheduledTaskInfo", Parameters: named}), absent())
	if err := b.run(ctx); err != nil {
		return nil, nil, err
	}
	if len(states.Items) == 0 || len(results.Items) == 0 {
		return nil, nil, nil
	}
	return &states.Items[0], &results.Items[0], nil
}

func (p *program) forget(ctx context.Context) error {
	b := p.target.host.batch(p.op, p.about)
	b.change(p.target.in(wire.Call{Cmdlet: "Unregister-ScheduledTask", Parameters: map[string]any{"TaskName": []string{p.task}, "Confirm": false}}), absent())
	return b.run(ctx)
}

func (p *program) unfinished(cause error) error {
	return &Error{Kind: TimedOut, Op: p.op, Host: p.target.host.Name, Object: p.about, Err: cause,
		Cause: fmt.Sprintf("The program did not end in time. It goes on as the scheduled task %s.", p.task),
		Fix:   "Apply again: the provider waits for the same run and does not start a second one. Raise the timeout of the resource if it only needs longer."}
}

// run starts the program, unless it was started before, and gives its exit code.
func (p *program) run(ctx context.Context, path string, arguments ...string) (uint32, error) {
	started := p.start(ctx, path, arguments...)
	if started != nil && !changeLost(started) {
		return 0, started
	}
	code, found, err := p.await(ctx, started == nil)
	if err == nil && !found {
		err = &Error{Kind: Other, Op: p.op, Host: p.target.host.Name, Object: p.about, Cause: fmt.Sprintf("The scheduled task %s was not made, or somebody removed it before the program ended.", p.task), Fix: "Apply again."}
	}
	return code, err
}

// quoteArgument writes one argument so that a program of Windows reads it back as it is (CommandLineToArgvW).
func quoteArgument(a string) string {
	if a != "" && !strings.ContainsAny(a, " \t\n\v\"") {
		return a
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, r := range a {
		switch r {
		case '\\':
			slashes++
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, 2*slashes+1))
		default:
			b.WriteString(strings.Repeat(`\`, slashes))
		}
		slashes = 0
		b.WriteRune(r)
	}
	b.WriteString(strings.Repeat(`\`, 2*slashes))
	b.WriteByte('"')
	return b.String()
}

// exitText is an exit code for people.
func exitText(code uint32) string {
	if code >= 0x10000 {
		return fmt.Sprintf("0x%08X", code)
	}
	return fmt.Sprint(code)
}
