package hyperv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// job is a change that cuts the way that the session came by. It runs in a process of its own on the host, and a
// scheduled task takes it back unless the host was reached again and the change confirmed (facts.md 73, 105).
// Whoever has a job ends it: by confirm or by rollBack.
type job struct {
	powershell.Job
	host *Host
	op   string
	obj  string
}

const taskPrefix = "TerraformProviderHyperV-"

func (j *job) task() string { return taskPrefix + j.ID }

// away runs the batch as a job. records are written ahead of it; now is the host's clock; undo adds the calls
// that take the change back. The error is about the batch, as that of run; the job is nil where nothing is left
// to be confirmed.
func (b *batch) away(ctx context.Context, records *ledgerWrites, now time.Time, undo func(*batch)) (*job, error) {
	id, err := powershell.NewJob()
	if err != nil {
		return nil, err
	}
	j := &job{Job: id, host: b.host, op: b.op, obj: b.about}
	b.host.making.add(j.task())
	start, err := j.startBatch(b, records, now, undo)
	if err != nil {
		return nil, err
	}
	release := b.host.holdLedger()
	err = start.run(ctx)
	release()
	if err != nil && !changeLost(err) {
		return nil, errors.Join(err, j.forget(ctx))
	}
	results, err := j.await(ctx, b.calls)
	if err != nil {
		return nil, err
	}
	return j, b.take(results)
}

// startBatch writes the job down, arms the task that takes it back, and starts it: in this order, so that
// nothing changes that would not be taken back.
func (j *job) startBatch(b *batch, records *ledgerWrites, now time.Time, undo func(*batch)) (*batch, error) {
	back := b.host.batch("take the change back", b.about)
	undo(back)
	j.addForget(back)
	payload, err := powershell.JobBatch(b.calls)
	if err != nil {
		return nil, err
	}
	undoing, err := powershell.JobBatch(back.calls)
	if err != nil {
		return nil, err
	}
	start := b.host.batch(b.op, b.about)
	if records == nil {
		records = (&ledger{}).writes()
	}
	if len(records.put) == 0 && !records.from.exists {
		records.addKey(start)
	}
	records.addPuts(start)
	if len(records.remove) > 0 { // the key stays: the job is written into it
		start.change(wire.Call{Cmdlet: "Remove-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": sorted(records.remove)}}, tolerating(anyError))
	}
	for _, part := range [][2]string{{wire.JobScript, powershell.JobScript()}, {wire.JobUndo, undoing}, {wire.JobPayload, payload}} {
		start.change(wire.Call{Cmdlet: "Set-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": wire.JobValue(j.ID, part[0]), "Value": part[1], "Type": "String"}})
	}
	object := func(save string, parameters map[string]any) wire.Ref {
		start.change(wire.Call{Cmdlet: "New-ScheduledTaskTrigger", Save: save, Parameters: parameters, Select: []wire.Field{{Name: "Enabled"}}})
		return wire.First(save)
	}
	at := object("at", map[string]any{"Once": true, "At": now.Add(b.host.opts.RollbackAfter).UTC().Format(time.RFC3339Nano)})
	boot := object("boot", map[string]any{"AtStartup": true})
	start.registerTask(&target{}, j.task(), powershell.JobProgram, j.Arguments(wire.JobUndo), at, boot)
	started := changeAndRead[startedProcess](start, wire.Call{Cmdlet: "Invoke-CimMethod", Parameters: map[string]any{"ClassName": "Win32_Process", "MethodName": "Create", "Confirm": false,
		"Arguments": map[string]any{"CommandLine": powershell.JobProgram + " " + j.Arguments(wire.JobPayload)}}})
	start.check(func() error {
		if started.Reached && len(started.Items) > 0 && started.Items[0].ReturnValue != 0 {
			return &Error{Kind: Other, Op: b.op, Host: b.host.Name, Object: b.about,
				Cause: fmt.Sprintf("Windows did not start the process for a change that cuts the connection: Win32_Process.Create returned %d.", started.Items[0].ReturnValue),
				Fix:   "Look for a policy that forbids starting powershell.exe (AppLocker, WDAC) or creating processes by WMI (attack surface reduction)."}
		}
		return nil
	})
	return start, nil
}

type startedProcess struct {
	ReturnValue int `json:"ReturnValue"`
}

// await asks for the job's result until it is there. While the host is out of reach the layers below try again.
func (j *job) await(ctx context.Context, calls []powershell.Call) ([]wire.Result, error) {
	deadline := time.Now().Add(j.host.opts.RollbackAfter + j.host.opts.RestartWait)
	for {
		value, armed, err := j.look(ctx)
		switch {
		case err != nil && (ctx.Err() != nil || time.Now().After(deadline)):
			return nil, j.unfinished(err)
		case err != nil: // out of reach for long, or half up: it refuses the user for a while (facts.md 103)
		case value != "":
			return powershell.JobResults(calls, value)
		case !armed:
			return nil, j.rolledBack()
		case time.Now().After(deadline):
			return nil, j.unfinished(nil)
		}
		if err := j.host.wait(ctx); err != nil {
			return nil, j.unfinished(err)
		}
	}
}

// look reads the result, "" where there is none yet, and whether the task that takes the change back is there.
func (j *job) look(ctx context.Context) (value string, armed bool, err error) {
	name := wire.JobValue(j.ID, wire.JobResult)
	b := j.host.batch("ask for the result of the change", j.obj)
	// Only the one value: its name has dots, which a projection would take for a path.
	result := b.add(wire.Call{Cmdlet: "Get-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": name}, Depth: 1}, true, tolerating(noSuchValue))
	task := find[taskName](b, wire.Call{Cmdlet: "Get-ScheduledTask", Parameters: map[string]any{"TaskName": j.task()}}, absent())
	if err := b.run(ctx); err != nil {
		return "", false, err
	}
	if len(result.raw) > 0 {
		var all map[string]any
		if err := json.Unmarshal(result.raw[0], &all); err != nil {
			return "", false, err
		}
		value, _ = all[name].(string)
	}
	return value, len(task.Items) > 0, nil
}

// noSuchValue is what the registry cmdlets say of a value, or a key, that is not there.
func noSuchValue(c wire.CommandError) bool {
	return commandKind(c) == NotFound || strings.HasPrefix(idHead(c), "System.Management.Automation.PSArgumentException")
}

type taskName struct {
	TaskName string `json:"TaskName"`
}

func (j *job) unfinished(cause error) error {
	return &Error{Kind: SessionLost, Op: j.op, Host: j.host.Name, Object: j.obj, Err: cause,
		Cause: fmt.Sprintf("The change cuts the connection, so it runs apart from it, and its result did not come in time: still running on the host as job %s.", j.ID),
		Fix: fmt.Sprintf("Wait: unless it is confirmed the scheduled task %s takes it back %s after its start, or when the host starts. Then plan again. Raise rollback_after of the provider, or the resource's timeout, if the host needs longer.",
			j.task(), j.host.opts.RollbackAfter)}
}

func (j *job) rolledBack() error {
	return &Error{Kind: TimedOut, Op: j.op, Host: j.host.Name, Object: j.obj,
		Cause: fmt.Sprintf("The host could not be reached within %s after the change, or it restarted: it has taken the change back by itself (job %s).", j.host.opts.RollbackAfter, j.ID),
		Fix: "The net adapter carries the connection to the host. Check that the host gets its IP configuration on the other side of the change (allow_management_os = true and preserve_host_ip_config = true for a switch), " +
			"raise rollback_after if it only needs longer, or use another net adapter."}
}

// confirm keeps the change: nothing of the job is left on the host. Where what takes the change back is gone already,
// the host was faster.
func (j *job) confirm(ctx context.Context) error {
	undo := &answer{}
	err := j.end(ctx, func(b *batch) {
		undo = b.change(wire.Call{Cmdlet: "Remove-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": []string{wire.JobValue(j.ID, wire.JobUndo)}, "Confirm": false}},
			tolerating(noSuchValue))
	})
	if err != nil {
		return fmt.Errorf("the change was made, but could not be confirmed, so the host takes it back: %w", err)
	}
	if undo.failed() {
		return j.rolledBack()
	}
	return nil
}

// forget removes what is left of the job, whatever became of it.
func (j *job) forget(ctx context.Context) error { return j.end(ctx, func(*batch) {}) }

func (j *job) end(ctx context.Context, first func(*batch)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.host.opts.RestartWait)
	defer cancel()
	b := j.host.batch("confirm the change", j.obj)
	first(b)
	j.addForget(b)
	j.host.ledgerEmptying.Lock()
	defer j.host.ledgerEmptying.Unlock()
	return b.run(ctx)
}

// addForget adds the calls that remove the job: its records first, without which its task does nothing.
func (j *job) addForget(b *batch) {
	var names []string
	for _, part := range []string{wire.JobUndo, wire.JobPayload, wire.JobScript, wire.JobResult} {
		names = append(names, wire.JobValue(j.ID, part))
	}
	b.change(wire.Call{Cmdlet: "Remove-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": names, "Confirm": false}}, tolerating(anyError))
	b.change(wire.Call{Cmdlet: "Unregister-ScheduledTask", Parameters: map[string]any{"TaskName": []string{j.task()}, "Confirm": false}},
		absent())
	addRemoveEmptyLedger(b)
}

// rollBack lets the host take the change back now, and waits until it has.
func (j *job) rollBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.host.opts.RollbackAfter+j.host.opts.RestartWait)
	defer cancel()
	b := j.host.batch("take the change back", j.obj)
	b.change(wire.Call{Cmdlet: "Start-ScheduledTask", Parameters: map[string]any{"TaskName": j.task()}}, absent())
	var lost *powershell.LostError
	if err := b.run(ctx); err != nil && !errors.As(err, &lost) {
		return err
	}
	for {
		_, armed, err := j.look(ctx)
		if err == nil && !armed || ctx.Err() != nil {
			return err
		}
		if err := j.host.wait(ctx); err != nil {
			return err
		}
	}
}

// endJobs lets the host take back, now, what providers that were killed did not confirm: what it is about to take back
// is nothing to build on.
func (h *Host) endJobs(ctx context.Context, op, about string, l *ledger) error {
	for _, id := range sorted(l.jobs) {
		j := &job{Job: powershell.Job{ID: id}, host: h, op: op, obj: about}
		for !h.making.has(j.task()) {
			result, armed, err := j.look(ctx)
			if err != nil {
				return err
			}
			if !armed {
				break
			}
			if result != "" { // before that it is still at it
				if err := j.rollBack(ctx); err != nil {
					return err
				}
				break
			}
			if err := h.wait(ctx); err != nil {
				return j.unfinished(err)
			}
		}
	}
	return nil
}

// holdLedger keeps the ledger's key from being removed while records are written.
func (h *Host) holdLedger() func() {
	h.ledgerEmptying.RLock()
	return h.ledgerEmptying.RUnlock
}
