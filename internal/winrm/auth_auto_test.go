package winrm_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

func TestAuto(t *testing.T) {
	for _, c := range []struct {
		name   string
		https  bool
		server []door.Authenticator
		change func(*winrm.Config)
		kind   string // "" where nothing will do
	}{
		{"NTLM before Basic", true, []door.Authenticator{basicAuth(), ntlm()}, nil, winrm.AuthNTLM},
		{"Basic where there is nothing else", true, []door.Authenticator{basicAuth()}, nil, winrm.AuthBasic},
		{"no password for a certificate that is not verified", true, []door.Authenticator{basicAuth()}, func(c *winrm.Config) { c.InsecureSkipVerify = true }, ""},
		{"a proof for a certificate that is not verified", true, []door.Authenticator{basicAuth(), ntlm()}, func(c *winrm.Config) { c.InsecureSkipVerify = true }, winrm.AuthNTLM},
		{"sealed over HTTP", false, []door.Authenticator{door.Basic{Username: doorUser, Password: doorPassword, AllowUnencrypted: true}, ntlm()}, nil, winrm.AuthNTLM},
		{"never in clear over HTTP", false, []door.Authenticator{door.Basic{Username: doorUser, Password: doorPassword, AllowUnencrypted: true}},
			func(c *winrm.Config) { c.AllowUnencrypted = true }, ""},
		{"no Kerberos where it is configured: nothing less", true, []door.Authenticator{basicAuth()},
			func(c *winrm.Config) {
				c.Kerberos = &winrm.KerberosConfig{Realm: "LAB.EXAMPLE", KDC: []string{"127.0.0.1:1"}, SPN: "HTTP/hv1.lab.example"}
			}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.https, c.server...)
			cfg := h.config(winrm.AuthAuto)
			if c.change != nil {
				c.change(&cfg)
			}
			cfg = cfg.Shared()
			err := h.talk(cfg, tricky)
			h.silent(doorPassword)
			if c.kind == "" {
				var op *winrm.OpError
				if e := refused(t, err); e.OffersAuth() || !errors.As(err, &op) || !op.Contact.Auto || op.Contact.Auth != winrm.AuthAuto {
					t.Errorf("%v: %+v", err, op)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(h.logs.String(), "chosen:"+c.kind) {
				t.Errorf("not said which was chosen: %s", h.logs)
			}
			// The next transport does not ask again, and stays with what has worked when less is offered.
			probed := h.door.Metrics().Unauthorized
			if err := h.talk(cfg, "x"); err != nil || h.door.Metrics().Unauthorized != probed {
				t.Errorf("%v, %+v", err, h.door.Metrics())
			}
		})
	}
	t.Run("no less than what has worked", func(t *testing.T) {
		h := newHost(t, true, basicAuth(), ntlm())
		cfg := h.config(winrm.AuthAuto).Shared()
		if err := h.talk(cfg, "x"); err != nil {
			t.Fatal(err)
		}
		h.door.Close()
		h.open(true, basicAuth())
		cfg.Port = h.wire.port
		if e := refused(t, h.talk(cfg, "x")); e.Auth != winrm.AuthNTLM {
			t.Errorf("%+v", e)
		}
	})
	t.Run("something that asks nobody for anything", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
		t.Cleanup(s.Close)
		h := newHost(t, false, ntlm())
		for _, kind := range []string{winrm.AuthAuto, winrm.AuthNTLM} {
			cfg := h.config(kind)
			cfg.Port = s.Listener.Addr().(*net.TCPAddr).Port
			var e *winrm.HTTPError
			if err := h.talk(cfg, "x"); !errors.As(err, &e) || e.Status != 200 {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
	t.Run("a wrong password", func(t *testing.T) {
		h := newHost(t, true, basicAuth(), ntlm())
		cfg := h.config(winrm.AuthAuto)
		cfg.Password = "wrong"
		err := h.talk(cfg, "x")
		var op *winrm.OpError
		if e := refused(t, err); e.Auth != winrm.AuthNTLM || !errors.As(err, &op) || !op.Contact.Auto {
			t.Errorf("%+v", e)
		}
	})
}
