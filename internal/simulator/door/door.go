// Package door is a WS-Management server for remote command shells, as a Windows host's WinRM service
// offers them: one Door serves one host of the lab, over HTTP and HTTPS on loopback, and hands command
// lines to a process.Starter. It knows nothing about PowerShell or about the lab.
package door

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// Limits are the quotas of the WinRM service. A zero value takes the default of Windows.
type Limits struct {
	MaxEnvelope       int           // bytes; a larger request gets HTTP 413 (MaxEnvelopeSizekb, 500)
	MaxShells         int           // shells per user (MaxShellsPerUser, 30)
	MaxOperations     int           // commands over the life of one shell (MaxConcurrentOperationsPerUser, 1500)
	MaxTimeout        time.Duration // longest long poll (MaxTimeoutms, 60 s)
	IdleTimeout       time.Duration // of a shell nobody talks to (two hours on real hosts)
	CommandLine       int           // characters that cmd.exe takes (8191)
	DirectCommandLine int           // characters that CreateProcess takes (32767)
	// Answers is how many answers are kept by MessageID, so that a repeated request is answered
	// again and not run again; negative keeps none.
	Answers int
}

func (l Limits) withDefaults() Limits {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.MaxEnvelope, 500*1024)
	def(&l.MaxShells, 30)
	def(&l.MaxOperations, 1500)
	def(&l.CommandLine, 8191)
	def(&l.DirectCommandLine, 32767)
	def(&l.Answers, 64)
	if l.MaxTimeout == 0 {
		l.MaxTimeout = time.Minute
	}
	if l.IdleTimeout == 0 {
		l.IdleTimeout = 2 * time.Hour
	}
	return l
}

// Config says what a Door serves.
type Config struct {
	Host           string           // the host's name in the lab
	IP             string           // loopback address to listen on; 127.0.0.1 by default
	HTTPPort       int              // 0 takes a free port
	HTTPSPort      int              // 0 takes a free port
	Certificate    *tls.Certificate // nil: no HTTPS listener
	Authenticators []Authenticator
	Starter        process.Starter
	Allowed        func() bool // false: the user may log on and may not open shells (access denied); nil is always allowed
	Up             func() bool // false: the machine takes no connections; nil is always up
	Limits         Limits
	Rules          *Rules      // faults to inject; nil injects none
	Log            func(Entry) // called once for each request; nil logs nothing
}

// Door is a running server.
type Door struct {
	cfg      Config
	limits   Limits
	answers  *answers
	counters counters
	servers  []*http.Server
	http     int
	https    int

	mu     sync.Mutex
	shells map[string]*shell
	conns  map[net.Conn]struct{}
	dark   time.Time // until when the host cannot be reached
}

// Open starts the listeners of a host.
func Open(cfg Config) (*Door, error) {
	if cfg.Starter == nil {
		return nil, errors.New("door: no process starter")
	}
	if cfg.IP == "" {
		cfg.IP = "127.0.0.1"
	}
	if ip := net.ParseIP(cfg.IP); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("door: %q is no loopback address", cfg.IP)
	}
	d := &Door{cfg: cfg, limits: cfg.Limits.withDefaults(), shells: map[string]*shell{}, conns: map[net.Conn]struct{}{}}
	d.answers = newAnswers(d.limits.Answers)
	var err error
	if d.http, err = d.listen(cfg.HTTPPort, nil); err != nil {
		return nil, err
	}
	if cfg.Certificate != nil {
		if d.https, err = d.listen(cfg.HTTPSPort, cfg.Certificate); err != nil {
			d.Close()
			return nil, err
		}
	}
	return d, nil
}

// listen starts one http.Server. WinRM speaks HTTP/1.1 only, so TLS is put under the listener and no
// other protocol is offered.
func (d *Door) listen(port int, cert *tls.Certificate) (int, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(d.cfg.IP, fmt.Sprint(port)))
	if err != nil {
		return 0, fmt.Errorf("door of %s: %w", d.cfg.Host, err)
	}
	port = ln.Addr().(*net.TCPAddr).Port
	ln = &darkListener{ln, d}
	if d.cfg.Up != nil {
		ln = gate{ln, d.cfg.Up}
	}
	var binding []byte
	if cert != nil {
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			return 0, fmt.Errorf("door of %s: %w", d.cfg.Host, err)
		}
		binding = endPointBinding(leaf)
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12, ClientAuth: d.clientAuth()})
	}
	srv := &http.Server{
		Handler:           http.HandlerFunc(d.serve),
		ReadHeaderTimeout: 30 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, &Connection{Secure: cert != nil, Remote: c.RemoteAddr().String(), binding: binding})
		},
		ConnState: d.connState,
		ErrorLog:  discardLog(),
	}
	d.servers = append(d.servers, srv)
	go func() { _ = srv.Serve(ln) }()
	return port, nil
}

func (d *Door) connState(c net.Conn, state http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch state {
	case http.StateNew:
		d.counters.connections.Add(1)
		d.conns[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(d.conns, c)
	}
}

// HTTPPort is the port of the HTTP listener.
func (d *Door) HTTPPort() int { return d.http }

// HTTPSPort is the port of the HTTPS listener, 0 where there is none.
func (d *Door) HTTPSPort() int { return d.https }

// Disconnect closes every TCP connection, as a bounced adapter would. Shells live on.
func (d *Door) Disconnect() {
	d.mu.Lock()
	open := make([]net.Conn, 0, len(d.conns))
	for c := range d.conns {
		open = append(open, c)
	}
	d.mu.Unlock()
	for _, c := range open {
		_ = rawConn(c).Close()
	}
}

// KillShells removes every shell with all that runs in it.
func (d *Door) KillShells() {
	for _, sh := range d.allShells() {
		d.removeShell(sh)
	}
}

// KillProcesses ends the process of every command; the shells stay.
func (d *Door) KillProcesses() {
	for _, sh := range d.allShells() {
		sh.killProcesses()
	}
}

// Reset removes every shell, forgets kept answers and sets the counters to zero.
func (d *Door) Reset() {
	d.KillShells()
	d.answers.clear()
	d.counters.reset()
}

// Close stops the listeners and ends every process.
func (d *Door) Close() {
	for _, s := range d.servers {
		_ = s.Close()
	}
	d.KillShells()
}

// rawConn is the TCP connection below TLS: closing that one says no goodbye.
func rawConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}
