package lab

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// ScheduledTask is a task of the host's Task Scheduler.
type ScheduledTask struct {
	Name      string        `json:"name"`
	Path      string        `json:"path"`
	Actions   []TaskAction  `json:"actions"`
	Triggers  []TaskTrigger `json:"triggers"`
	Principal string        `json:"principal"`
	// LastTaskResult is the exit code of the last program that ended, or one of the codes of the Task Scheduler below.
	LastTaskResult uint32 `json:"last_task_result,omitempty"`
	Running        bool   `json:"running,omitempty"`
	lastRun        time.Time
	vm             *VM // of whose guest it is; nil: of the host
	timers         []*time.Timer
}

// Codes that stand in LastTaskResult where no program has ended (Task Scheduler error and success constants,
// learn.microsoft.com/windows/win32/taskschd).
const (
	taskRunning    = 0x41301
	taskNotRun     = 0x41303
	taskTerminated = 0x41306
)

// TaskAction starts a program.
type TaskAction struct {
	Execute   string `json:"execute"`
	Arguments string `json:"arguments"`
}

// TaskTrigger is a moment, or the start of Windows.
type TaskTrigger struct {
	Startup bool      `json:"startup,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

const (
	taskNamespace = "Root/Microsoft/Windows/TaskScheduler"
	classTask     = "MSFT_ScheduledTask"
)

func registerScheduledTask(r registry) {
	r.both("New-ScheduledTaskAction", newScheduledTaskAction)
	r.both("New-ScheduledTaskTrigger", newScheduledTaskTrigger)
	r.both("New-ScheduledTaskPrincipal", newScheduledTaskPrincipal)
	r.both("New-ScheduledTaskSettingsSet", newScheduledTaskSettingsSet)
	r.both("Register-ScheduledTask", registerTask)
	r.both("Get-ScheduledTask", func(c *call) {
		for _, t := range c.findTasks() {
			c.emit(c.taskObject(t))
		}
	})
	r.both("Start-ScheduledTask", func(c *call) {
		for _, t := range c.findTasks() {
			c.runTask(c.host, t, "Start-ScheduledTask")
		}
	})
	r.both("Get-ScheduledTaskInfo", func(c *call) {
		for _, t := range c.findTasks() {
			c.emit(c.taskInfo(t))
		}
	})
	r.both("Unregister-ScheduledTask", func(c *call) {
		for _, t := range c.findTasks() {
			c.host.removeTask(t)
			c.event("task_unregistered", t.Name, "Unregister-ScheduledTask")
		}
	})
}

// taskPart is an object that Register-ScheduledTask takes. What it stands for is in its Ref.
func taskPart(class string, what any, properties ...cmdlet.Property) *cmdlet.Object {
	text, err := json.Marshal(what)
	if err != nil {
		panic(err) // plain structs
	}
	return cim(taskNamespace, class, "task:"+string(text), class, properties...)
}

// taskParts reads the objects of a parameter back.
func taskParts[T any](c *call, parameter string) []T {
	var out []T
	for _, o := range c.objects(parameter) {
		var v T
		if text, ok := strings.CutPrefix(o.Ref, "task:"); ok && json.Unmarshal([]byte(text), &v) == nil {
			out = append(out, v)
		}
	}
	return out
}

func newScheduledTaskAction(c *call) {
	a := TaskAction{Execute: c.str("Execute"), Arguments: c.str("Argument")}
	c.emit(taskPart("MSFT_TaskExecAction", a, prop("Id", c.str("Id")), prop("Execute", a.Execute), prop("Arguments", a.Arguments), prop("WorkingDirectory", c.str("WorkingDirectory"))))
}

func newScheduledTaskTrigger(c *call) {
	switch {
	case c.boolean("AtStartup"):
		c.emit(taskPart("MSFT_TaskBootTrigger", TaskTrigger{Startup: true}, prop("Enabled", true)))
	case c.boolean("Once"):
		at, _ := c.inv.Parameters["At"].(time.Time)
		at = at.Truncate(time.Second) // a start boundary has no fractions
		c.emit(taskPart("MSFT_TaskTimeTrigger", TaskTrigger{At: at}, prop("Enabled", true), prop("StartBoundary", at.Format("2006-01-02T15:04:05Z07:00"))))
	default: // daily, weekly and at log-on: nobody here waits for them
		c.emit(taskPart("MSFT_TaskTrigger", TaskTrigger{}, prop("Enabled", true)))
	}
}

func newScheduledTaskPrincipal(c *call) {
	user := c.str("UserId")
	if user == "" {
		user = c.str("GroupId")
	}
	c.emit(taskPart("MSFT_TaskPrincipal2", user, prop("Id", "Author"), prop("UserId", user), prop("RunLevel", c.inv.Parameters["RunLevel"]), prop("LogonType", c.inv.Parameters["LogonType"])))
}

func newScheduledTaskSettingsSet(c *call) {
	c.emit(taskPart("MSFT_TaskSettings3", struct{}{}, prop("Enabled", !c.boolean("Disable")), prop("StartWhenAvailable", c.boolean("StartWhenAvailable")),
		prop("DisallowStartIfOnBatteries", !c.boolean("AllowStartIfOnBatteries")), prop("StopIfGoingOnBatteries", !c.boolean("DontStopIfGoingOnBatteries"))))
}

func registerTask(c *call) {
	t := &ScheduledTask{Name: c.str("TaskName"), Path: taskPath(c.str("TaskPath")), Actions: taskParts[TaskAction](c, "Action"), Triggers: taskParts[TaskTrigger](c, "Trigger"), Principal: c.inv.Session, LastTaskResult: taskNotRun, vm: c.vm}
	if p := taskParts[string](c, "Principal"); len(p) > 0 {
		t.Principal = p[0]
	} else if user := c.str("User"); user != "" {
		t.Principal = user
	} else {
		t.Principal = c.host.Login.Username
	}
	if len(t.Actions) == 0 {
		c.fail(cimHResult("0x80070057", "Register-ScheduledTask", "InvalidArgument", "The parameter is incorrect."))
		return
	}
	tasks := c.host.tasksOf(c.vm)
	for _, old := range *tasks {
		if !strings.EqualFold(old.Name, t.Name) || !strings.EqualFold(old.Path, t.Path) {
			continue
		}
		if !c.boolean("Force") {
			c.fail(cimHResult("0x800700b7", "Register-ScheduledTask", "ResourceExists", "Cannot create a file when that file already exists."))
			return
		}
		c.host.removeTask(old)
		break
	}
	*tasks = append(*tasks, t)
	c.event("task_registered", t.Name, "Register-ScheduledTask")
	c.arm(c.host, t)
	c.emit(c.taskObject(t))
}

func taskPath(path string) string {
	if path == "" {
		return `\`
	}
	return `\` + strings.Trim(path, `\`) + `\`
}

// arm starts the clocks of a task's time triggers. A moment that has passed starts nothing.
func (l *Lab) arm(h *Host, t *ScheduledTask) {
	for _, trigger := range t.Triggers {
		wait := trigger.At.Sub(l.clock())
		if trigger.Startup || trigger.At.IsZero() || wait < 0 {
			continue
		}
		t.timers = append(t.timers, time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if h.hasTask(t) && l.host(h.Name) == h && !l.down(h) {
				l.runTask(h, t, "time trigger")
			}
		}))
	}
}

// tasksOf are the tasks of the host itself, or of a guest.
func (h *Host) tasksOf(vm *VM) *[]*ScheduledTask {
	if vm != nil && vm.Guest != nil {
		return &vm.Guest.Tasks
	}
	return &h.Tasks
}

func (h *Host) hasTask(t *ScheduledTask) bool {
	for _, x := range *h.tasksOf(t.vm) {
		if x == t {
			return true
		}
	}
	return false
}

func (h *Host) removeTask(t *ScheduledTask) {
	for _, timer := range t.timers {
		timer.Stop()
	}
	var kept []*ScheduledTask
	tasks := h.tasksOf(t.vm)
	for _, x := range *tasks {
		if x != t {
			kept = append(kept, x)
		}
	}
	*tasks = kept
}

// stopTasks ends the clocks of a lab that is put back.
func (s *State) stopTasks() {
	for _, h := range s.Hosts {
		all := append([]*ScheduledTask{}, h.Tasks...)
		for _, vm := range h.VMs {
			all = append(all, *h.tasksOf(vm)...)
		}
		for _, t := range all {
			for _, timer := range t.timers {
				timer.Stop()
			}
		}
	}
}

// runTask starts the task's programs. They run on their own: nobody waits for them.
func (l *Lab) runTask(h *Host, t *ScheduledTask, reason string) {
	l.event(h.Name, "task_started", t.Name, reason)
	t.lastRun = l.clock()
	for _, a := range t.Actions {
		if l.runProgram(h, t, a) {
			continue
		}
		t.LastTaskResult = 0
		if t.vm == nil {
			l.start(h, a.Execute+" "+a.Arguments)
		}
	}
}

// runStartupTasks starts what is to run when Windows starts.
func (l *Lab) runStartupTasks(h *Host) {
	for _, t := range append([]*ScheduledTask{}, h.Tasks...) {
		for _, trigger := range t.Triggers {
			if trigger.Startup {
				l.runTask(h, t, "startup trigger")
				break
			}
		}
	}
}

// findTasks are the tasks that a call names: by object, or by name and folder with wildcards.
func (c *call) findTasks() []*ScheduledTask {
	var out []*ScheduledTask
	if c.has("InputObject") {
		for _, o := range c.objects("InputObject") {
			for _, t := range *c.host.tasksOf(c.vm) {
				if o.Ref == t.ref() {
					out = append(out, t)
				}
			}
		}
		return out
	}
	names, paths := c.strs("TaskName"), c.strs("TaskPath")
	for _, t := range *c.host.tasksOf(c.vm) {
		if (len(names) == 0 || matchesAny(names, t.Name)) && (len(paths) == 0 || matchesAny(paths, t.Path)) {
			out = append(out, t)
		}
	}
	for _, name := range names {
		found := strings.ContainsAny(name, "*?[")
		for _, t := range out {
			found = found || strings.EqualFold(t.Name, name)
		}
		if !found {
			c.fail(c.cimNotFound(classTask, "TaskName", name))
		}
	}
	return out
}

func (t *ScheduledTask) ref() string { return "scheduledtask:" + t.Path + t.Name }

func (c *call) taskObject(t *ScheduledTask) *cmdlet.Object {
	state := cmdlet.Enum{Type: "Microsoft.PowerShell.Cmdletization.GeneratedTypes.ScheduledTasks.StateEnum", Name: "Ready", Number: 3}
	if t.Running {
		state.Name, state.Number = "Running", 4
	}
	return cim(taskNamespace, classTask, t.ref(), fmt.Sprintf(`MSFT_ScheduledTask (TaskName = %q, TaskPath = %q)`, t.Name, t.Path),
		prop("TaskName", t.Name), prop("TaskPath", t.Path), prop("State", state),
		prop("Author", ""), prop("Description", ""), prop("URI", t.Path+t.Name))
}

// taskInfo is what the Task Scheduler says of a task's runs (learn.microsoft.com, Get-ScheduledTaskInfo; MS-TSCH 3.2.5.4.17).
func (c *call) taskInfo(t *ScheduledTask) *cmdlet.Object {
	var last any
	if !t.lastRun.IsZero() {
		last = t.lastRun.Truncate(time.Second)
	}
	return cim(taskNamespace, "MSFT_TaskDynamicInfo", "taskinfo:"+t.Path+t.Name, "MSFT_TaskDynamicInfo",
		prop("TaskName", t.Name), prop("TaskPath", t.Path), prop("LastRunTime", last), prop("LastTaskResult", u32(int(t.LastTaskResult))),
		prop("NextRunTime", nil), prop("NumberOfMissedRuns", u32(0)))
}
