// Package native is the simulator's engine in Go: it behaves as powershell.exe that runs the project's
// runner, without a PowerShell. Calls are bound by package catalog and answered by the model.
package native

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/commandline"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// Options of an engine. The zero value is what tests want.
type Options struct {
	// Version is what $PSVersionTable.PSVersion says in the hello; 5.1.17763.1 when empty.
	Version string
}

// Engine starts processes of the hosts of one model.
type Engine struct {
	model    cmdlet.Model
	catalog  *catalog.Catalog
	version  string
	lastPID  atomic.Int64
	jobs     sync.Map     // *sync.Mutex by host and job
	sessions SessionModel // nil when the model does not say
}

// SessionModel is implemented by models that can say whether a PowerShell Direct session is still
// open, which a script sees as PSSession.State without running anything in the guest.
type SessionModel interface {
	SessionOpen(host, target, session string) bool
}

// LanguageModel is implemented by models that can say whether PowerShell runs in constrained language mode on a host.
type LanguageModel interface {
	Constrained(host string) bool
}

var _ process.Engine = (*Engine)(nil)

// New makes an engine that asks the model.
func New(model cmdlet.Model, options Options) (*Engine, error) {
	c, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	e := &Engine{model: model, catalog: c, version: options.Version}
	if e.version == "" {
		e.version = "5.1.17763.1"
	}
	e.sessions, _ = model.(SessionModel)
	return e, nil
}

// Start runs a command line as cmd.exe does.
func (e *Engine) Start(host, commandLine string, _ []string) (process.Process, error) {
	return e.startAt(host, "host", commandLine)
}

// Guest starts command lines inside a guest, which its own WinRM service does.
func (e *Engine) Guest(target string) process.Starter { return guestStarter{e, target} }

type guestStarter struct {
	engine *Engine
	target string
}

// Start runs a command line in the guest.
func (g guestStarter) Start(host, commandLine string, _ []string) (process.Process, error) {
	return g.engine.startAt(host, g.target, commandLine)
}

func (e *Engine) startAt(host, target, commandLine string) (process.Process, error) {
	program, args := commandline.Split(commandLine)
	if !commandline.IsPowerShell(program) {
		return printed(commandline.NotRecognized(program), 1), nil
	}
	if m, ok := e.model.(LanguageModel); ok && target == "host" && m.Constrained(host) {
		return printed(commandline.ConstrainedText, 1), nil
	}
	script, err := commandline.Script(args)
	if err != nil {
		return printed(err.Error()+"\r\n", 1), nil
	}
	pid := e.lastPID.Add(1) + 1000
	id := "powershell:" + strconv.FormatInt(pid, 10)
	if job, ok := wire.ParseJobBootstrap(script); ok {
		return e.runJob(host, target, id, pid, job), nil
	}
	if err := check(script); err != nil {
		return printed(err.Error()+"\r\n", 1), nil
	}
	return e.run(host, target, id, pid), nil
}

// check refuses what this engine cannot run as a PowerShell would.
func check(script string) error {
	if !strings.Contains(script, "OpenStandardInput()") {
		return commandline.Refusal("The native engine of the simulator runs only the runner's bootstrap, which reads its script from standard input, and that of a job. Use the powershell engine for other scripts.")
	}
	return nil
}
