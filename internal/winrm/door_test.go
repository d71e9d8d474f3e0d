package winrm_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// These tests go through the simulator's WinRM service and its side of each kind of authentication.

const (
	doorUser     = "Administrator"
	doorPassword = `pa'ss"$(1)ä€`
)

// echo is a program that writes its input to its output.
type echo struct {
	in   *io.PipeReader
	out  *io.PipeWriter
	send *io.PipeWriter
	read *io.PipeReader
	done chan struct{}
}

type echoes struct{}

func (echoes) Start(string, string, []string) (process.Process, error) {
	p := &echo{done: make(chan struct{})}
	p.in, p.send = io.Pipe()
	p.read, p.out = io.Pipe()
	go func() {
		defer close(p.done)
		_, _ = io.Copy(p.out, p.in)
		_ = p.out.Close()
	}()
	return p, nil
}

func (p *echo) Stdin() io.WriteCloser { return p.send }
func (p *echo) Stdout() io.Reader     { return p.read }
func (p *echo) Stderr() io.Reader     { return strings.NewReader("") }
func (p *echo) Wait() int             { <-p.done; return 0 }
func (p *echo) Kill()                 { _ = p.in.Close(); _ = p.out.Close() }

// host is a door with an authority of its own.
type host struct {
	t         *testing.T
	door      *door.Door
	rules     *door.Rules
	authority *door.Authority
	wire      *tap
	logs      *lines
}

// lines is what was logged, by both sides.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(s + "\n")
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newHost(t *testing.T, https bool, authenticators ...door.Authenticator) *host {
	t.Helper()
	h := &host{t: t, rules: &door.Rules{}, logs: &lines{}}
	var err error
	if h.authority, err = door.NewAuthority(); err != nil {
		t.Fatal(err)
	}
	h.open(https, authenticators...)
	return h
}

func (h *host) open(https bool, authenticators ...door.Authenticator) {
	h.t.Helper()
	cfg := door.Config{
		Host: "HV1", Starter: echoes{}, Rules: h.rules, Authenticators: authenticators,
		Log: func(e door.Entry) { h.logs.add(fmt.Sprintf("%+v", e)) },
	}
	if https {
		cert, err := h.authority.Certificate("hv1.lab.example")
		if err != nil {
			h.t.Fatal(err)
		}
		cfg.Certificate = &cert
	}
	var err error
	if h.door, err = door.Open(cfg); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(h.door.Close)
	port := h.door.HTTPPort()
	if https {
		port = h.door.HTTPSPort()
	}
	h.wire = newTap(h.t, port)
}

// config reaches the host through the tap.
func (h *host) config(auth string) winrm.Config {
	return winrm.Config{
		Address: "127.0.0.1", Port: h.wire.port, HTTPS: h.door.HTTPSPort() != 0, CACert: h.authority.PEM(),
		Auth: auth, User: doorUser, Password: doorPassword,
		OperationTimeout: time.Second, AnswerGrace: time.Second, RetryBudget: 5 * time.Second,
		Log: func(_ context.Context, message string, fields map[string]any) {
			h.logs.add(fmt.Sprint(message, fields))
		},
	}
}

// talk opens a shell, sends a text there and back, and closes.
func (h *host) talk(cfg winrm.Config, text string) error {
	h.t.Helper()
	tr, err := winrm.NewTransport(cfg)
	if err != nil {
		return err
	}
	return talk(h.t, tr, text)
}

func talk(t *testing.T, tr *winrm.Transport, text string) error {
	t.Helper()
	p, err := winrm.Start(t.Context(), tr, "echo")
	if err != nil {
		return err
	}
	if err := p.Send(t.Context(), []byte(text)); err != nil {
		return err
	}
	var out bytes.Buffer
	for out.Len() < len(text) {
		if _, _, _, err := p.Receive(t.Context(), &out, io.Discard); err != nil {
			return err
		}
	}
	if out.String() != text {
		t.Errorf("%d bytes came back, and others", out.Len())
	}
	return p.Close(t.Context())
}

// silent fails the test where a secret is in what went over the wire or was logged, in any of the forms
// that it might take.
func (h *host) silent(secrets ...string) {
	h.t.Helper()
	for place, text := range map[string]string{"on the wire": h.wire.String(), "in a log": h.logs.String()} {
		for _, secret := range secrets {
			var wide []byte
			for _, u := range utf16.Encode([]rune(secret)) {
				wide = append(wide, byte(u), byte(u>>8))
			}
			for form, s := range map[string]string{
				"as it is": secret, "as UTF-16": string(wide), "as base64": base64.StdEncoding.EncodeToString([]byte(secret)),
				"escaped": url.QueryEscape(secret), "as a Basic header": base64.StdEncoding.EncodeToString([]byte(doorUser + ":" + secret)),
			} {
				if strings.Contains(text, s) {
					h.t.Errorf("%q is %s %s", secret, place, form)
				}
			}
		}
	}
}

// tap is a wire that remembers what went over it.
type tap struct {
	port int
	mu   sync.Mutex
	seen bytes.Buffer
}

func newTap(t *testing.T, to int) *tap {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{port: ln.Addr().(*net.TCPAddr).Port}
	var open sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); open.Wait() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			d, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(to)))
			if err != nil {
				_ = c.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{c, d}, {d, c}} {
				open.Go(func() {
					_, _ = io.Copy(io.MultiWriter(way[1], w), way[0])
					_ = way[0].Close()
					_ = way[1].Close()
				})
			}
		}
	}()
	return w
}

func (w *tap) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.Write(p)
}

func (w *tap) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.String()
}

func ntlm() door.NTLM {
	return door.NTLM{Computer: "HV1", Username: doorUser, Password: doorPassword}
}

// tricky is what goes there and back: it looks like what it travels in, and needs several messages.
const tricky = "--Encrypted Boundary\r\n\tContent-Type: application/octet-stream\r\n--Encrypted Boundary--\r\n"

func basicAuth() door.Basic { return door.Basic{Username: doorUser, Password: doorPassword} }

// refused is the AuthError in err.
func refused(t *testing.T, err error) *winrm.AuthError {
	t.Helper()
	var auth *winrm.AuthError
	if !errors.As(err, &auth) {
		t.Fatalf("no refusal: %v", err)
	}
	return auth
}
