package simulator

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// guest is a virtual machine with a WinRM service of its own. Its door is named host/VM.
type guest struct {
	host, vm, target string
	door             *door.Door
}

func (g *guest) name() string { return g.host + "/" + g.vm }

// openGuests opens the doors of guests that have a listener. They take connections only while the guest runs.
func (s *Server) openGuests(ip string, engine process.Engine, o Options, authority *door.Authority) error {
	for _, found := range s.lab.GuestDoors() {
		g := &guest{host: found.Host, vm: found.VM, target: found.Target}
		cfg := door.Config{
			Host: g.name(), IP: ip, Starter: guestStarter{engine.Guest(g.target), g.host},
			Up: func() bool { return s.lab.GuestAnswers(g.host, g.target) },
		}
		ready := ReadyGuest{Host: g.host, VM: g.vm, Address: ip}
		d, err := s.openDoor(cfg, g.vm, found.Login, found.Listener, o, authority, &ready.clientFiles)
		if err != nil {
			return fmt.Errorf("guest %s: %w", g.name(), err)
		}
		g.door = d
		s.guests = append(s.guests, g)
		ready.HTTPPort, ready.HTTPSPort = d.HTTPPort(), d.HTTPSPort()
		s.ready.Guests = append(s.ready.Guests, ready)
	}
	return nil
}

// guestStarter gives the engine the host's name, by which the model knows the guest.
type guestStarter struct {
	process.Starter
	host string
}

// Start implements process.Starter.
func (g guestStarter) Start(_, commandLine string, env []string) (process.Process, error) {
	return g.Starter.Start(g.host, commandLine, env)
}

// ownGuest is the guest through whose own door a call came, nil for one that came through its host.
func (m *model) ownGuest(inv cmdlet.Invocation) *guest {
	if inv.Session == "" || !strings.HasPrefix(inv.Target, "guest:") || m.SessionOpen(inv.Host, inv.Target, inv.Session) {
		return nil
	}
	for _, g := range m.server.guests {
		if strings.EqualFold(g.host, inv.Host) && strings.EqualFold(g.target, inv.Target) {
			return g
		}
	}
	return nil
}

// guestWentDown removes what ran in a guest that stopped or started anew.
func (s *Server) guestWentDown(host, vm string) {
	for _, g := range s.guests {
		if strings.EqualFold(g.host, host) && g.vm == vm {
			g.door.Disconnect()
			g.door.KillShells()
		}
	}
}
