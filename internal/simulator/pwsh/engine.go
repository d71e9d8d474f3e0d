// Package pwsh is the simulator's engine with a real PowerShell: command lines run as they were sent,
// in a process whose Windows cmdlets are stubs. PowerShell's own binder judges every call; what passes
// goes through a socket, the door, to the same model that the native engine asks.
package pwsh

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/commandline"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// Options of an engine.
type Options struct {
	// PowerShell is the path of a PowerShell 7.
	PowerShell string
	// CacheDir keeps the compiled stubs between runs; empty: hypervsim below the user's cache folder.
	CacheDir string
}

// Engine starts processes of the hosts of one model. Close ends them all.
type Engine struct {
	model      cmdlet.Model
	sessions   SessionModel // nil when the model does not say
	catalog    *catalog.Catalog
	powershell string
	stubs      *stubs
	dir        string // of the door's socket
	listener   net.Listener

	mu        sync.Mutex
	processes map[string]*child
	serial    int64
	closed    bool
	serving   sync.WaitGroup
}

// SessionModel is implemented by models that can say whether a PowerShell Direct session is still
// open, which a script sees as PSSession.State without running anything in the guest.
type SessionModel interface {
	SessionOpen(host, target, session string) bool
}

// LanguageModel is implemented by models that can say whether PowerShell runs in constrained language mode on a
// host. Only PowerShell on Windows knows that mode, so a process that would be in it is not started at all.
type LanguageModel interface {
	Constrained(host string) bool
}

var _ process.Engine = (*Engine)(nil)

// New prepares the stubs, compiling them where the cache has none for this PowerShell (a few seconds),
// and opens the door.
func New(model cmdlet.Model, options Options) (*Engine, error) {
	if options.PowerShell == "" {
		return nil, errors.New("the powershell engine needs the path of a PowerShell 7")
	}
	c, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	s, err := prepare(context.Background(), c, options)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hypervsim")
	if err != nil {
		return nil, err
	}
	if err := writePrograms(filepath.Join(dir, "bin")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "door"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	e := &Engine{
		model: model, catalog: c, powershell: options.PowerShell, stubs: s, dir: dir, listener: listener, processes: map[string]*child{},
	}
	e.sessions, _ = model.(SessionModel)
	e.serving.Add(1)
	go e.accept()
	return e, nil
}

// Close ends every process and the door.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	running := make([]*child, 0, len(e.processes))
	for _, p := range e.processes {
		running = append(running, p)
	}
	e.mu.Unlock()
	for _, p := range running {
		p.Kill()
		<-p.done
	}
	err := e.listener.Close()
	e.serving.Wait()
	return errors.Join(err, os.RemoveAll(e.dir))
}

// Start runs a command line as cmd.exe does. powershell.exe becomes the real PowerShell.
func (e *Engine) Start(host, commandLine string, env []string) (process.Process, error) {
	return e.startAt(host, "host", commandLine, env)
}

// Guest starts command lines inside a guest, which its own WinRM service does.
func (e *Engine) Guest(target string) process.Starter { return guestStarter{e, target} }

type guestStarter struct {
	engine *Engine
	target string
}

// Start runs a command line in the guest.
func (g guestStarter) Start(host, commandLine string, env []string) (process.Process, error) {
	return g.engine.startAt(host, g.target, commandLine, env)
}

func (e *Engine) startAt(host, target, commandLine string, env []string) (process.Process, error) {
	program, args := commandline.Split(commandLine)
	if !commandline.IsPowerShell(program) {
		return printed(commandline.NotRecognized(program), 1), nil
	}
	script, err := commandline.Script(args)
	if err != nil {
		return printed(err.Error()+"\r\n", 1), nil
	}
	if m, ok := e.model.(LanguageModel); ok && target == "host" && m.Constrained(host) {
		return printed(commandline.ConstrainedText, 1), nil
	}
	modules, err := e.stubs.modules(e.available(host, target))
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("the powershell engine is closed")
	}
	e.serial++
	id := "powershell:" + strconv.FormatInt(e.serial, 10)
	p, err := e.start(host, target, id, modules, script, env)
	if err != nil {
		return nil, err
	}
	e.processes[id] = p
	go func() {
		<-p.done
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.processes, id)
	}()
	return p, nil
}

// available lists the cmdlets that a machine has, in the catalogue's order.
func (e *Engine) available(host, target string) []*catalog.Cmdlet {
	var list []*catalog.Cmdlet
	for _, x := range e.catalog.Cmdlets {
		// Invoke-Command is the engine's own affair: the model knows sessions, not what runs in them
		if generated(x) && (x.Name == "Invoke-Command" || e.model.Available(host, target, x.Name)) {
			list = append(list, x)
		}
	}
	return list
}

// placeOf is where a process runs that called through the door.
func (e *Engine) placeOf(id string) (host, target string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, ok := e.processes[id]
	if !ok {
		return "", "", false
	}
	return p.host, p.target, true
}
