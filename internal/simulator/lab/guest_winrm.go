package lab

import "strings"

// GuestDoor is a guest that has a WinRM listener of its own.
type GuestDoor struct {
	Host, VM string
	Target   string // how engines address the guest
	Login    Login
	Listener Listener
}

// GuestDoors lists the guests with a listener in the order of the scenario.
func (l *Lab) GuestDoors() []GuestDoor {
	l.mu.Lock()
	defer l.mu.Unlock()
	var doors []GuestDoor
	for _, h := range l.state.Hosts {
		for _, vm := range h.VMs {
			if g := vm.Guest; g != nil && g.Listener != nil {
				doors = append(doors, GuestDoor{h.Name, vm.Name, "guest:" + vm.ID, g.Login, *g.Listener})
			}
		}
	}
	return doors
}

// GuestAnswers says whether a guest is up, so that its WinRM service takes connections.
func (l *Lab) GuestAnswers(host, target string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	if h == nil {
		return false
	}
	vm, ok := h.target(target)
	return ok && vm != nil && strings.HasPrefix(target, "guest:") && l.guestRuns(vm)
}
