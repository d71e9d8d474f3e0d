package winrm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/kdctest"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

func TestKerberos(t *testing.T) {
	k := kdctest.Start(t)
	const spn = "HTTP/hv1.lab.example"
	k.AddUser("administrator", doorPassword)
	keys := k.AddService(spn)
	k.AddService("HTTP/hv2.lab.example")
	open := func(t *testing.T, https bool, hardening door.Hardening) *host {
		t.Helper()
		server, err := door.NewKerberos(keys, doorUser, false, hardening)
		if err != nil {
			t.Fatal(err)
		}
		return newHost(t, https, server, basicAuth())
	}
	config := func(h *host) winrm.Config {
		cfg := h.config(winrm.AuthKerberos)
		cfg.User = "administrator"
		cfg.Kerberos = &winrm.KerberosConfig{Realm: kdctest.Realm, KDC: []string{k.Address}, SPN: spn}
		return cfg
	}
	for _, c := range []struct {
		name   string
		change func(*winrm.Config)
	}{
		{"password", func(*winrm.Config) {}},
		{"password, realm behind the name", func(c *winrm.Config) { c.User, c.Kerberos.Realm = "administrator@lab.example", "" }},
		{"password, domain in front of the name", func(c *winrm.Config) { c.User = `LAB\administrator` }},
		{"password, krb5.conf", func(c *winrm.Config) { c.Kerberos = &winrm.KerberosConfig{ConfigFile: k.ConfigFile, SPN: spn} }},
		{"keytab", func(c *winrm.Config) { c.Password, c.Kerberos.KeytabFile = "", k.Keytab("administrator") }},
		{"credential cache", func(c *winrm.Config) {
			c.User, c.Password, c.Kerberos.CCacheFile = "", "", k.CCache("administrator", doorPassword)
		}},
		{"credential cache as kinit names it", func(c *winrm.Config) {
			c.Password, c.Kerberos.CCacheFile = "", "FILE:"+k.CCache("administrator", doorPassword)
		}},
		{"automatically", func(c *winrm.Config) { c.Auth = winrm.AuthAuto }},
	} {
		for _, hardening := range []door.Hardening{door.HardeningRelaxed, door.HardeningStrict} {
			t.Run(fmt.Sprintf("%s, hardening %s", c.name, hardening), func(t *testing.T) {
				h := open(t, true, hardening)
				cfg := config(h)
				c.change(&cfg)
				cfg = cfg.Shared()
				t.Cleanup(cfg.Release)
				for range 2 {
					if err := h.talk(cfg, tricky); err != nil {
						t.Error(err)
					}
				}
				h.silent(doorPassword)
			})
		}
	}
	t.Run("the system's krb5.conf", func(t *testing.T) {
		t.Setenv("KRB5_CONFIG", k.ConfigFile)
		h := open(t, true, "")
		cfg := config(h)
		cfg.Kerberos = &winrm.KerberosConfig{SPN: spn}
		if err := h.talk(cfg, "x"); err != nil {
			t.Error(err)
		}
	})
	k.AddUser("disabled", doorPassword)
	k.Disable("disabled")
	k.AddUser("guest", doorPassword)
	for _, c := range []struct {
		name   string
		change func(*winrm.Config)
		want   winrm.KerberosProblem // "": the host refuses
	}{
		{"wrong password", func(c *winrm.Config) { c.Password = "wrong" }, winrm.KerberosWrongPassword},
		{"unknown user", func(c *winrm.Config) { c.User = "nobody" }, winrm.KerberosUnknownUser},
		{"disabled user", func(c *winrm.Config) { c.User = "disabled" }, winrm.KerberosDisabled},
		{"unknown service", func(c *winrm.Config) { c.Kerberos.SPN = "HTTP/hv9.lab.example" }, winrm.KerberosUnknownHost},
		{"keys of another user", func(c *winrm.Config) { c.Kerberos.KeytabFile = k.Keytab("guest") }, winrm.KerberosWrongPassword},
		{"no KDC", func(c *winrm.Config) { c.Kerberos.KDC, c.ContactBudget = []string{"127.0.0.1:1"}, time.Nanosecond }, winrm.KerberosUnreachable},
		{"another host's service", func(c *winrm.Config) { c.Kerberos.SPN = "HTTP/hv2.lab.example" }, ""},
		{"another user", func(c *winrm.Config) { c.User = "guest" }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, true, "")
			cfg := config(h)
			c.change(&cfg)
			err := h.talk(cfg, "x")
			h.silent(doorPassword)
			if c.want == "" {
				if e := refused(t, err); e.Auth != winrm.AuthKerberos || !e.OffersAuth() {
					t.Errorf("%+v", e)
				}
				return
			}
			var e *winrm.KerberosError
			if !errors.As(err, &e) || e.Problem != c.want || e.Realm != kdctest.Realm || e.SPN != cfg.Kerberos.SPN {
				t.Errorf("%v: %+v", err, e)
			}
		})
	}
	t.Run("not offered", func(t *testing.T) {
		h := newHost(t, true, basicAuth())
		if e := refused(t, h.talk(config(h), "x")); e.OffersAuth() {
			t.Errorf("%+v", e)
		}
		if strings.Contains(h.wire.String(), "Negotiate") {
			t.Error("a ticket was sent")
		}
	})
	t.Run("the host gets new keys", func(t *testing.T) {
		h := open(t, true, "")
		cfg := config(h).Shared() // and with it the old ticket
		t.Cleanup(cfg.Release)
		if err := h.talk(cfg, "x"); err != nil {
			t.Fatal(err)
		}
		k.NewKeys(spn, keys)
		server, err := door.NewKerberos(keys, doorUser, false, "")
		if err != nil {
			t.Fatal(err)
		}
		h.door.Close()
		h.open(true, server)
		cfg.Port = h.wire.port
		if err := h.talk(cfg, "x"); err != nil {
			t.Error(err)
		}
		// One without a message, and one with the old ticket; then the new one is good for all.
		if m := h.door.Metrics(); m.Unauthorized > 3 {
			t.Errorf("%+v", m)
		}
	})
}
