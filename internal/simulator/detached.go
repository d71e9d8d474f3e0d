package simulator

import (
	"io"
	"strings"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// detached are the processes of hosts that belong to no WinRM shell: what WMI or the Task Scheduler started.
// They end by themselves, with their host, or with the simulator.
type detached struct {
	starter process.Starter

	mu      sync.Mutex
	serial  int
	running map[int]hostProcess
	closed  bool
	all     sync.WaitGroup
}

type hostProcess struct {
	host string
	process.Process
}

func newDetached(starter process.Starter) *detached {
	return &detached{starter: starter, running: map[int]hostProcess{}}
}

// start implements lab.Launcher: the lab is asked again only after it has returned.
func (d *detached) start(host, commandLine string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.all.Add(1)
	go func() {
		defer d.all.Done()
		p, err := d.starter.Start(host, commandLine, nil)
		if err != nil {
			return // as on Windows, nobody is there to be told
		}
		d.mu.Lock()
		d.serial++
		id := d.serial
		d.running[id] = hostProcess{host, p}
		closed := d.closed
		d.mu.Unlock()
		if closed {
			p.Kill()
		}
		go func() { _, _ = io.Copy(io.Discard, p.Stderr()) }()
		_ = p.Stdin().Close()
		_, _ = io.Copy(io.Discard, p.Stdout())
		p.Wait()
		d.mu.Lock()
		delete(d.running, id)
		d.mu.Unlock()
	}()
}

// kill ends the processes of a host, as its restart does.
func (d *detached) kill(host string) {
	for _, p := range d.of(host) {
		p.Kill()
	}
}

func (d *detached) of(host string) []process.Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []process.Process
	for _, p := range d.running {
		if host == "" || strings.EqualFold(p.host, host) {
			list = append(list, p.Process)
		}
	}
	return list
}

// close ends them all and waits for them.
func (d *detached) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.kill("")
	d.all.Wait()
}
