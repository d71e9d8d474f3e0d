package winrm_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

func TestNTLM(t *testing.T) {
	for _, https := range []bool{false, true} {
		for _, hardening := range []door.Hardening{door.HardeningNone, door.HardeningRelaxed, door.HardeningStrict} {
			t.Run(fmt.Sprintf("HTTPS %v, hardening %s", https, hardening), func(t *testing.T) {
				t.Parallel()
				server := ntlm()
				server.Hardening = hardening
				h := newHost(t, https, server)
				text := strings.Repeat(tricky, 300)
				if err := h.talk(h.config(winrm.AuthNTLM), text); err != nil {
					t.Error(err)
				}
				h.silent(doorPassword)
				if m := h.door.Metrics(); m.Unauthorized != 0 || m.Challenges != 1 || m.Connections != 1 || m.Shells != 0 {
					t.Errorf("%+v", m)
				}
				// Not even a part of a message.
				for _, plain := range []string{"Envelope", "CommandLine", "Encrypted Boundary\r\n\tContent-Type: application/octet-stream\r\n--"} {
					if strings.Contains(h.wire.String(), plain) {
						t.Errorf("%q went over the wire", plain)
					}
				}
				if strings.Contains(h.wire.String(), "Authorization: Negotiate") != !https {
					t.Error("the wire was not looked at")
				}
			})
		}
	}
	for _, c := range []struct {
		name   string
		server func(*door.NTLM)
		client func(*winrm.Config)
		ok     bool
	}{
		{"wrong password", nil, func(c *winrm.Config) { c.Password = "wrong" }, false},
		{"no password", nil, func(c *winrm.Config) { c.Password = "" }, false},
		{"wrong user", nil, func(c *winrm.Config) { c.User = "Administrato" }, false},
		{"nobody", nil, func(c *winrm.Config) { c.User, c.Password = "", "" }, false},
		{"other case", nil, func(c *winrm.Config) { c.User = "ADMINISTRATOR" }, true},
		{"computer's own name as domain", nil, func(c *winrm.Config) { c.User = `hv1\administrator` }, true},
		{"a dot as domain", nil, func(c *winrm.Config) { c.User = `.\administrator` }, true},
		{"wrong domain", nil, func(c *winrm.Config) { c.User = `lab\administrator` }, false},
		{"domain user", func(n *door.NTLM) { n.Username = `LAB\Jürgen` }, func(c *winrm.Config) { c.User = `lab\jürgen` }, true},
		{"domain user without domain", func(n *door.NTLM) { n.Username = `LAB\Jürgen` }, func(c *winrm.Config) { c.User = "jürgen" }, false},
	} {
		for _, https := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTPS %v", c.name, https), func(t *testing.T) {
				t.Parallel()
				server := ntlm()
				if c.server != nil {
					c.server(&server)
				}
				h := newHost(t, https, server)
				cfg := h.config(winrm.AuthNTLM)
				c.client(&cfg)
				err := h.talk(cfg, "x")
				h.silent(doorPassword)
				if c.ok {
					if err != nil {
						t.Error(err)
					}
					return
				}
				e := refused(t, err)
				if e.Auth != winrm.AuthNTLM || e.TLS != https || !e.OffersAuth() || e.User != cfg.User {
					t.Errorf("%+v", e)
				}
				if m := h.door.Metrics(); m.Unauthorized != 1 || m.Challenges != 1 {
					t.Errorf("tried more than once: %+v", m)
				}
				var op *winrm.OpError
				if !errors.As(err, &op) || op.Contact.Auth != winrm.AuthNTLM || op.Contact.HTTPS != https || (op.Contact.TLSVersion == tls.VersionTLS13) != https ||
					fmt.Sprint(op.Contact.Offered) != "[Negotiate]" {
					t.Errorf("%+v", op)
				}
			})
		}
	}
	t.Run("not offered", func(t *testing.T) {
		h := newHost(t, true, basicAuth())
		if e := refused(t, h.talk(h.config(winrm.AuthNTLM), "x")); e.OffersAuth() || fmt.Sprint(e.Offered) != "[Basic]" {
			t.Errorf("%+v", e)
		}
	})
}

// An authenticated connection that goes away, or forgets who it belongs to, is one handshake away from another.
func TestNTLMConnectionLost(t *testing.T) {
	for _, https := range []bool{false, true} {
		for _, effect := range []door.Effect{door.DropBefore, door.DropAfter, door.DropMid, door.Unauthorized, door.Unavailable, door.Stall} {
			t.Run(fmt.Sprintf("HTTPS %v, %s", https, effect), func(t *testing.T) {
				t.Parallel()
				h := newHost(t, https, ntlm())
				operations := []string{door.OpSend, door.OpReceive, door.OpDelete}
				if effect == door.Unauthorized { // elsewhere this is the end of it; here it only says that the connection is another
					operations = append(operations, door.OpCommand)
				}
				for _, op := range operations {
					h.rules.Add(door.Rule{Operation: op, Effect: effect})
				}
				cfg := h.config(winrm.AuthNTLM)
				cfg.OperationTimeout, cfg.AnswerGrace = 300*time.Millisecond, 300*time.Millisecond
				tr, err := winrm.NewTransport(cfg)
				if err != nil {
					t.Fatal(err)
				}
				p, err := winrm.Start(t.Context(), tr, "echo")
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Send(t.Context(), []byte("line\n")); err != nil {
					t.Error(err)
				}
				// The door keeps its answers, so nothing is lost.
				var out bytes.Buffer
				for out.Len() < 5 {
					if _, _, _, err := p.Receive(t.Context(), &out, &out); err != nil {
						t.Fatal(err)
					}
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if out.String() != "line\n" || len(h.rules.Pending()) > 0 || h.door.Metrics().Shells > 0 {
					t.Errorf("%q, %v, %+v", out.String(), h.rules.Pending(), h.door.Metrics())
				}
				h.silent(doorPassword)
			})
		}
	}
}
