package lab

import "strings"

// handler answers one cmdlet.
type handler func(*call)

// registry holds the cmdlets by lower-case name.
type registry map[string]*command

// command is a cmdlet and where it exists.
type command struct {
	name  string
	run   handler
	host  bool
	guest bool
	since int // lowest build of Windows that has it
	// present is for what a host can get while it runs: nil, or whether it is there now. Available says yes all the while,
	// as the powershell engine asks only when a process starts; a call before that gets PowerShell's own error.
	present func(*Lab, *Host) bool
}

// both registers a cmdlet that hosts and guests have.
func (r registry) both(name string, run handler) {
	r[strings.ToLower(name)] = &command{name: name, run: run, host: true, guest: true}
}

// onHost registers a cmdlet that only hosts have: everything of the Hyper-V module.
func (r registry) onHost(name string, run handler) {
	r[strings.ToLower(name)] = &command{name: name, run: run, host: true}
}

// onHostSince is onHost for a cmdlet that came with a build of Windows (facts.md 4).
func (r registry) onHostSince(build int, name string, run handler) {
	r[strings.ToLower(name)] = &command{name: name, run: run, host: true, since: build}
}

func (c *command) availableOn(h *Host, vm *VM) bool {
	if vm == nil {
		return c.host && h.OS.Build >= c.since && (h.Setup.HyperVModule != moduleMissing || !c.ofHyperV())
	}
	return c.guest && vm.Guest != nil && !vm.Guest.Linux && vm.Guest.OS.Build >= c.since
}
