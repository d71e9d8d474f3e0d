// Package lab is the simulator's model: hosts, devices, switches, virtual machines and guests in memory, and
// the cmdlets that read and change them. Every rule that follows from a fact cites its facts.md number.
package lab

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Lab is a lab in memory. It implements cmdlet.Model and is safe for concurrent use: one mutex is held
// while a cmdlet runs, and given back only in call.wait.
type Lab struct {
	mu       sync.Mutex
	scenario *Scenario
	state    *State
	unknowns Unknowns
	timing   Timing
	commands registry
	clock    func() time.Time

	seq     int64
	journal []*JournalEntry
	faults  []*Fault
	metrics Metrics
	serial  int64 // feeds deterministic new ids

	sessions sessionTable // open PowerShell Direct sessions
	launch   Launcher
}

var _ cmdlet.Model = (*Lab)(nil)

// New builds the lab that a scenario describes.
func New(s *Scenario) (*Lab, error) {
	l := &Lab{scenario: s, clock: time.Now, commands: registry{}}
	registerHostCommands(l.commands)
	registerVMCommands(l.commands)
	if err := l.build(); err != nil {
		return nil, err
	}
	return l, nil
}

// build fills the state from the scenario.
func (l *Lab) build() error {
	state, err := l.scenario.build(l.clock())
	if err != nil {
		return err
	}
	if l.state != nil {
		l.state.stopTasks()
	}
	l.state, l.unknowns, l.timing = state, l.scenario.Unknowns, l.scenario.Timing
	l.journal, l.faults, l.seq, l.serial, l.metrics = nil, nil, 0, 0, Metrics{Cmdlets: map[string]int64{}}
	l.sessions = sessionTable{}
	for _, h := range l.state.Hosts {
		h.notePath()
		l.reallocate(h)
	}
	l.settle()
	l.journal, l.seq = nil, 0 // what happened while the lab was set up is not its history
	return nil
}

// Reset puts the lab back to its scenario: state, journal, faults and metrics.
func (l *Lab) Reset() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.build()
}

// Now is the lab's clock.
func (l *Lab) Now() time.Time { return l.clock() }

// State prints the whole lab, always in the same order.
func (l *Lab) State() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	return json.MarshalIndent(l.state, "", "  ")
}

// HostNames lists the hosts in the order of the scenario.
func (l *Lab) HostNames() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.state.Hosts))
	for _, h := range l.state.Hosts {
		names = append(names, h.Name)
	}
	return names
}

// HostLogin is the user that may log on to a host by WinRM.
func (l *Lab) HostLogin(host string) (Login, Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	if h == nil {
		return Login{}, Listener{}, fmt.Errorf("no host %q in the lab", host)
	}
	return h.Login, h.Listener, nil
}

// Available says whether the target has the cmdlet at all (facts.md 4).
func (l *Lab) Available(host, target, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	if h == nil {
		return false
	}
	c, ok := l.commands[strings.ToLower(name)]
	if !ok {
		return false
	}
	vm, ok := h.target(target)
	if !ok {
		return false
	}
	return c.availableOn(h, vm)
}

// Invoke runs one call and writes it to the journal.
func (l *Lab) Invoke(inv cmdlet.Invocation) cmdlet.Output { return l.invoke(inv, false) }

// InvokeOutOfBand runs one call as if somebody else had made it on the machine: drift.
func (l *Lab) InvokeOutOfBand(inv cmdlet.Invocation) cmdlet.Output { return l.invoke(inv, true) }

func (l *Lab) invoke(inv cmdlet.Invocation, outOfBand bool) cmdlet.Output {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &call{Lab: l, inv: inv}
	entry := l.record(inv, outOfBand)
	if !outOfBand {
		if f := l.takeFault(inv, entry.Parameters); f != nil {
			c.wait(time.Duration(f.DelayMilliseconds) * time.Millisecond)
			if f.Error != nil {
				c.fail(f.Error.record())
				l.metrics.Errors++
				entry.Error = f.Error.ID
				return c.out
			}
		}
	}
	run, err := l.lookup(c)
	if err != nil {
		c.fail(err)
	} else {
		l.settle()
		run(c)
		l.settle()
	}
	if len(c.out.Errors) > 0 {
		l.metrics.Errors++
		entry.Error = c.out.Errors[0].ID
	}
	return c.out
}

// lookup finds host, target and handler of a call.
func (l *Lab) lookup(c *call) (handler, *cmdlet.Error) {
	c.host = l.host(c.inv.Host)
	if c.host == nil {
		return nil, runtimeError("HostNotFound", "ObjectNotFound", c.inv.Host, fmt.Sprintf("There is no host %q in the lab.", c.inv.Host))
	}
	vm, ok := c.host.target(c.inv.Target)
	if !ok {
		return nil, runtimeError("InvalidVMIdNotSingle,Microsoft.PowerShell.Commands.InvokeCommandCommand", "InvalidArgument", c.inv.Target,
			fmt.Sprintf("The input VMId %s does not resolve to a single virtual machine.", strings.TrimPrefix(c.inv.Target, "guest:")))
	}
	c.vm = vm
	command, ok := l.commands[strings.ToLower(c.inv.Cmdlet)]
	if !ok || !command.availableOn(c.host, vm) || command.present != nil && !command.present(l, c.host) {
		return nil, commandNotFound(c.inv.Cmdlet)
	}
	if err := c.guestCall(); err != nil {
		return nil, err
	}
	if err := c.unprepared(command); err != nil {
		return nil, err
	}
	return command.run, nil
}

func (l *Lab) host(name string) *Host {
	for _, h := range l.state.Hosts {
		if strings.EqualFold(h.Name, name) {
			return h
		}
	}
	return nil
}

// target finds the VM of a guest target; nil with true is the host itself.
func (h *Host) target(target string) (*VM, bool) {
	id, guest := strings.CutPrefix(target, "guest:")
	if !guest {
		return nil, target == "" || target == "host"
	}
	for _, vm := range h.VMs {
		if strings.EqualFold(vm.ID, id) || strings.EqualFold(vm.Name, id) {
			return vm, vm.Guest != nil
		}
	}
	return nil, false
}
