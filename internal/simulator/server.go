// Package simulator is a Hyper-V lab in memory behind real WinRM endpoints: one per host, with the same
// cmdlets behind either of two engines, and a control door to look inside and to make trouble.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// Engines.
const (
	EngineNative     = "native"     // cmdlets answered in Go
	EnginePowerShell = "powershell" // a real PowerShell process runs what the client sends
)

// Options says what to simulate and how.
type Options struct {
	Scenario   *lab.Scenario
	Engine     string // EngineNative by default
	PowerShell string // path of a PowerShell, for EnginePowerShell
	TLS        bool   // HTTPS listeners beside the HTTP ones
	Listen     string // address of the control door, 127.0.0.1:0 by default; hosts listen on the same IP
	Limits     door.Limits
	Log        func(door.Entry) // called once for each WinRM request
}

// Server is a running simulator.
type Server struct {
	lab    *lab.Lab
	model  *model
	rules  *door.Rules
	hosts  []*host
	guests []*guest
	engine io.Closer
	// detached are the programs that belong to no shell.
	detached *detached
	control  *http.Server
	ready    Ready
	dir      string

	closing sync.Once
	closed  chan struct{}
}

type host struct {
	name string
	door *door.Door
}

// Start starts a simulator. It runs until Close, or until ctx ends.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	if o.Scenario == nil {
		return nil, errors.New("simulator: no scenario")
	}
	ip, port, err := listenAddress(o.Listen)
	if err != nil {
		return nil, err
	}
	s := &Server{rules: &door.Rules{}, closed: make(chan struct{})}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.lab, err = lab.New(o.Scenario); err != nil {
		return nil, err
	}
	s.model = &model{Lab: s.lab, server: s}
	starter, closer, err := newEngine(o, s.model)
	if err != nil {
		return nil, err
	}
	s.engine = closer
	s.detached = newDetached(starter)
	s.lab.SetLauncher(s.detached.start)
	s.ready = Ready{PID: os.Getpid(), Hosts: []ReadyHost{}}
	if guest := o.Scenario.Credentials.Guest; guest.Username != "" {
		s.ready.GuestCredential = &Credential{Username: guest.Username, Password: guest.Password}
	}
	var authority *door.Authority
	caFile := ""
	if o.TLS {
		if authority, err = door.NewAuthority(); err != nil {
			return nil, err
		}
		if caFile, err = s.writeAuthority(authority); err != nil {
			return nil, err
		}
	}
	for _, name := range s.lab.HostNames() {
		if err := s.openHost(name, ip, starter, o, authority, caFile); err != nil {
			return nil, err
		}
	}
	if err := s.openGuests(ip, starter, o, authority); err != nil {
		return nil, err
	}
	if err := s.openControl(net.JoinHostPort(ip, port)); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, s.Close)
	return s, nil
}

// listenAddress splits and checks the address of the control door: whoever reaches it may change the lab.
func listenAddress(listen string) (ip, port string, err error) {
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	ip, port, err = net.SplitHostPort(listen)
	if err != nil {
		return "", "", fmt.Errorf("listen address %q: %w", listen, err)
	}
	if ip == "localhost" {
		ip = "127.0.0.1"
	}
	if parsed := net.ParseIP(ip); parsed == nil || !parsed.IsLoopback() {
		return "", "", fmt.Errorf("listen address %q is not on loopback: the simulator has no protection against others", listen)
	}
	return ip, port, nil
}

// writeAuthority puts the CA certificate where clients can read it.
func (s *Server) writeAuthority(a *door.Authority) (string, error) {
	dir, err := os.MkdirTemp("", "hypervsim-")
	if err != nil {
		return "", fmt.Errorf("CA file: %w", err)
	}
	s.dir = dir
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, a.PEM(), 0o600); err != nil {
		return "", fmt.Errorf("CA file: %w", err)
	}
	return file, nil
}

func (s *Server) openHost(name, ip string, starter process.Starter, o Options, authority *door.Authority, caFile string) error {
	login, listener, err := s.lab.HostLogin(name)
	if err != nil {
		return err
	}
	ready := ReadyHost{Name: name, Address: ip, Username: login.Username, Password: login.Password, CAFile: caFile}
	d, err := s.openDoor(door.Config{Host: name, IP: ip, Starter: starter, Allowed: func() bool { return s.lab.MayUseWinRM(name) }, Up: func() bool { return s.lab.Reachable(name) }}, name, login, listener, o, authority, &ready.clientFiles)
	if err != nil {
		return fmt.Errorf("host %s: %w", name, err)
	}
	s.hosts = append(s.hosts, &host{name, d})
	ready.HTTPPort, ready.HTTPSPort = d.HTTPPort(), d.HTTPSPort()
	s.ready.Hosts = append(s.ready.Hosts, ready)
	return nil
}

// openDoor opens the WinRM service of a machine: what its listener allows, and a certificate for its name.
func (s *Server) openDoor(cfg door.Config, name string, login lab.Login, listener lab.Listener, o Options, authority *door.Authority, files *clientFiles) (*door.Door, error) {
	cfg.Limits, cfg.Rules, cfg.Log = o.Limits, s.rules, o.Log
	var err error
	if cfg.Authenticators, err = authenticators(name, login, listener); err != nil {
		return nil, err
	}
	if authority != nil {
		cert, err := authority.Certificate(name, cfg.IP)
		if err != nil {
			return nil, err
		}
		cfg.Certificate = &cert
	}
	if authority != nil && listener.Certificate {
		a, err := s.clientCertificate(authority, login.Username, files)
		if err != nil {
			return nil, err
		}
		cfg.Authenticators = append(cfg.Authenticators, a)
	}
	return door.Open(cfg)
}

func (s *Server) openControl(address string) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("control door: %w", err)
	}
	s.control = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	s.ready.Control = "http://" + ln.Addr().String()
	go func() { _ = s.control.Serve(ln) }()
	return nil
}

// Ready says where everything is.
func (s *Server) Ready() Ready { return s.ready }

// Lab is the model, for tests in the same process.
func (s *Server) Lab() *lab.Lab { return s.lab }

// Done is closed when the simulator has stopped.
func (s *Server) Done() <-chan struct{} { return s.closed }

// Close stops the listeners, ends every process and removes what was written. It may be called again.
func (s *Server) Close() {
	s.closing.Do(func() {
		if s.control != nil {
			_ = s.control.Close()
		}
		for _, h := range s.hosts {
			h.door.Close()
		}
		for _, g := range s.guests {
			g.door.Close()
		}
		if s.detached != nil {
			s.detached.close()
		}
		if s.engine != nil {
			_ = s.engine.Close()
		}
		if s.dir != "" {
			_ = os.RemoveAll(s.dir)
		}
		close(s.closed)
	})
	<-s.closed
}

// Reset puts the lab back to its scenario, ends every shell, and forgets rules and counters.
func (s *Server) Reset() error {
	s.rules.Clear()
	for _, h := range s.hosts {
		h.door.Reset()
		s.detached.kill(h.name)
	}
	for _, g := range s.guests {
		g.door.Reset()
	}
	err := s.lab.Reset()
	s.model.reset() // after the lab: its journal counts from the beginning again
	return err
}

func (s *Server) host(name string) *host {
	for _, h := range s.hosts {
		if strings.EqualFold(h.name, name) {
			return h
		}
	}
	return nil
}

func (s *Server) hostNames() string {
	names := make([]string, len(s.hosts))
	for i, h := range s.hosts {
		names[i] = h.name
	}
	return strings.Join(names, ", ")
}
