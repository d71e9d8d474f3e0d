package winrm_test

import (
	"crypto/tls"
	"errors"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

func TestBasic(t *testing.T) {
	h := newHost(t, true, basicAuth())
	if err := h.talk(h.config(winrm.AuthBasic), tricky); err != nil {
		t.Error(err)
	}
	h.silent(doorPassword)
	cfg := h.config(winrm.AuthBasic)
	cfg.Password = "wrong"
	if e := refused(t, h.talk(cfg, "x")); !e.OffersAuth() {
		t.Errorf("%+v", e)
	}
}

func TestCertificate(t *testing.T) {
	h := &host{t: t, rules: &door.Rules{}, logs: &lines{}}
	var err error
	if h.authority, err = door.NewAuthority(); err != nil {
		t.Fatal(err)
	}
	const subject = doorUser + "@localhost"
	h.open(true, door.ClientCertificate{Issuers: h.authority.Pool(), Subject: subject, Username: doorUser}, ntlm())
	cert := func(a *door.Authority, subject string) (cert, key []byte) {
		t.Helper()
		cert, key, err := a.ClientCertificate(subject)
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	stranger, err := door.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, subject string
		authority     *door.Authority
		auth          string
		min           uint16
		ok            bool
	}{
		{"good", subject, h.authority, winrm.AuthCertificate, 0, true},
		{"good, TLS 1.3", subject, h.authority, winrm.AuthCertificate, tls.VersionTLS13, true},
		{"good, automatically", subject, h.authority, winrm.AuthAuto, 0, true},
		{"another user's", "Guest@localhost", h.authority, winrm.AuthCertificate, 0, false},
		{"another user's, and no other kind instead", "Guest@localhost", h.authority, winrm.AuthAuto, 0, false},
		{"another authority's", subject, stranger, winrm.AuthCertificate, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := h.config(c.auth)
			cfg.ClientCert, cfg.ClientKey = cert(c.authority, c.subject)
			cfg.MinTLS = c.min
			err := h.talk(cfg, tricky)
			h.silent(doorPassword)
			if c.ok != (err == nil) {
				t.Fatal(err)
			}
			if c.ok {
				return
			}
			var op *winrm.OpError
			if e := refused(t, err); e.Auth != winrm.AuthCertificate || !errors.As(err, &op) || op.Contact.TLSVersion != tls.VersionTLS12 {
				t.Errorf("%+v %+v", e, op)
			}
		})
	}
	t.Run("a host that never asks for it", func(t *testing.T) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			h := newHost(t, true, ntlm())
			cfg := h.config(winrm.AuthCertificate)
			cfg.ClientCert, cfg.ClientKey = cert(h.authority, subject)
			cfg.MinTLS = version
			var e *winrm.ClientCertificateError
			if err := h.talk(cfg, "x"); !errors.As(err, &e) || e.TLSVersion != version || e.Status != 401 {
				t.Errorf("%v: %+v", err, e)
			}
		}
	})
}
