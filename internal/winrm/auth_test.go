package winrm_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/kdctest"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

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
				for _, op := range []string{door.OpSend, door.OpReceive, door.OpDelete} {
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

// between is somebody between client and host who changes answers.
func (h *host) between(cfg winrm.Config, change func(*http.Response)) winrm.Config {
	h.t.Helper()
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(h.door.HTTPPort())}
	transport := &http.Transport{MaxConnsPerHost: 1}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(context.Background())
		out.URL.Scheme, out.URL.Host, out.RequestURI = target.Scheme, target.Host, ""
		resp, err := transport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		change(resp)
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		_, _ = w.Write(b.Bytes())
	}))
	h.t.Cleanup(func() { s.Close(); transport.CloseIdleConnections() })
	u, err := url.Parse(s.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	if cfg.Port, err = strconv.Atoi(u.Port()); err != nil {
		h.t.Fatal(err)
	}
	return cfg
}

// Over HTTP anybody may change what the host says: nothing may come of it but an error.
func TestNTLMTampered(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*http.Response)
		is     func(error) bool
	}{
		{"flags of the challenge", func(r *http.Response) {
			for i, v := range r.Header["Www-Authenticate"] {
				if raw, ok := strings.CutPrefix(v, "Negotiate "); ok {
					b := decode(raw)
					b[20] &^= 0x20 // no sealing
					r.Header["Www-Authenticate"][i] = "Negotiate " + encode(b)
				}
			}
		}, isSecurity},
		{"values of the challenge", func(r *http.Response) {
			for i, v := range r.Header["Www-Authenticate"] {
				if raw, ok := strings.CutPrefix(v, "Negotiate "); ok {
					r.Header["Www-Authenticate"][i] = "Negotiate " + encode(append(decode(raw)[:56], 6, 0, 1, 0))
				}
			}
		}, isSecurity},
		{"an answer in clear", func(r *http.Response) {
			if r.StatusCode == http.StatusOK && r.ContentLength > 0 {
				r.Header.Set("Content-Type", "application/soap+xml;charset=UTF-8")
			}
		}, isSecurity},
		{"no answer to the sealed message", func(r *http.Response) {
			if r.ContentLength > 0 {
				r.Body = http.NoBody
				r.Header.Set("Content-Length", "0")
			}
		}, isSecurity},
		{"a byte of the answer", func(r *http.Response) {
			var b bytes.Buffer
			_, _ = b.ReadFrom(r.Body)
			if b.Len() > 0 {
				b.Bytes()[b.Len()-40] ^= 1
			}
			r.Body = readCloser{&b}
		}, isSecurity},
		{"a fault in clear", func(r *http.Response) {
			if r.ContentLength > 0 {
				r.StatusCode = http.StatusInternalServerError
				r.Header.Set("Content-Type", "application/soap+xml;charset=UTF-8")
			}
		}, func(err error) bool {
			var e *winrm.HTTPError
			return errors.As(err, &e) && e.Status == 500
		}},
		{"a handshake that needs no password", func(r *http.Response) { r.StatusCode = http.StatusOK }, isSecurity},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, false, ntlm())
			cfg := h.between(h.config(winrm.AuthNTLM), c.change)
			if err := h.talk(cfg, "x"); !c.is(err) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		h := newHost(t, false, ntlm())
		if err := h.talk(h.between(h.config(winrm.AuthNTLM), func(*http.Response) {}), "x"); err != nil {
			t.Error(err)
		}
	})
}

func decode(s string) []byte {
	b, _ := base64.StdEncoding.DecodeString(s)
	return b
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

func isSecurity(err error) bool {
	var e *winrm.SecurityError
	return errors.As(err, &e)
}

// Somebody in between who has a certificate of his own gets a proof that is good for that certificate only.
func TestChannelBinding(t *testing.T) {
	h := newHost(t, true, ntlm())
	front, err := h.authority.Certificate("hv1.lab.example")
	if err != nil {
		t.Fatal(err)
	}
	inner := &http.Transport{MaxConnsPerHost: 1, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // he does not care
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(context.Background())
		out.URL.Scheme, out.URL.Host, out.RequestURI = "https", "127.0.0.1:"+strconv.Itoa(h.door.HTTPSPort()), ""
		resp, err := inner.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{front}} //nolint:gosec // a test
	s.StartTLS()
	t.Cleanup(func() { s.Close(); inner.CloseIdleConnections() })
	cfg := h.config(winrm.AuthNTLM)
	cfg.Port = s.Listener.Addr().(*net.TCPAddr).Port
	refused(t, h.talk(cfg, "x"))
	if m := h.door.Metrics(); m.Challenges != 1 || m.Unauthorized != 1 || m.ShellsCreated != 0 {
		t.Errorf("%+v", m)
	}
}

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
		cfg := config(h)
		tr, err := winrm.NewTransport(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := talk(t, tr, "x"); err != nil {
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
		// The old ticket is in the cache of a transport that talks to another port now.
		again, err := winrm.NewTransport(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := talk(t, again, "x"); err != nil {
			t.Error(err)
		}
	})
}

func TestAuthConfig(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("no such thing"), 0o600); err != nil {
		t.Fatal(err)
	}
	authority, err := door.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.ClientCertificate("a@b")
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := authority.ClientCertificate("a@b")
	if err != nil {
		t.Fatal(err)
	}
	kerberos := func(k winrm.KerberosConfig) winrm.Config {
		return winrm.Config{Address: "hv1", HTTPS: true, Auth: winrm.AuthKerberos, User: "u", Password: "p", Kerberos: &k}
	}
	for _, c := range []struct {
		name  string
		cfg   winrm.Config
		field string
		is    error
	}{
		{"NTLM over HTTP needs nothing", winrm.Config{Address: "h", Auth: winrm.AuthNTLM}, "", nil},
		{"automatic over HTTP needs nothing", winrm.Config{Address: "h", Auth: winrm.AuthAuto}, "", nil},
		{"Kerberos over HTTP", winrm.Config{Address: "h", Auth: winrm.AuthKerberos}, winrm.FieldAuth, winrm.ErrKerberosHTTP},
		{"Kerberos over HTTP, automatic", winrm.Config{Address: "h", Auth: winrm.AuthAuto, Kerberos: &winrm.KerberosConfig{}}, winrm.FieldAuth, winrm.ErrKerberosHTTP},
		{"certificate over HTTP", winrm.Config{Address: "h", Auth: winrm.AuthCertificate}, winrm.FieldAuth, winrm.ErrCertificateHTTP},
		{"certificate over HTTP, automatic", winrm.Config{Address: "h", Auth: winrm.AuthAuto, ClientCert: cert}, winrm.FieldAuth, winrm.ErrCertificateHTTP},
		{"certificate", winrm.Config{Address: "h", HTTPS: true, Auth: winrm.AuthCertificate, ClientCert: cert, ClientKey: key}, "", nil},
		{"no certificate", winrm.Config{Address: "h", HTTPS: true, Auth: winrm.AuthCertificate}, winrm.FieldClientCertificate, nil},
		{"certificate without key", winrm.Config{Address: "h", HTTPS: true, Auth: winrm.AuthAuto, ClientCert: cert}, winrm.FieldClientCertificate, nil},
		{"key of another", winrm.Config{Address: "h", HTTPS: true, Auth: winrm.AuthCertificate, ClientCert: cert, ClientKey: other}, winrm.FieldClientCertificate, nil},
		{"TLS 1.1", winrm.Config{Address: "h", HTTPS: true, MinTLS: tls.VersionTLS11}, "minimum TLS version", nil},
		{"Kerberos", kerberos(winrm.KerberosConfig{Realm: "R"}), "", nil},
		{"Kerberos to an address", func() winrm.Config {
			c := kerberos(winrm.KerberosConfig{Realm: "R"})
			c.Address = "192.0.2.1"
			return c
		}(), winrm.FieldKerberos, nil},
		{"Kerberos without user", func() winrm.Config { c := kerberos(winrm.KerberosConfig{Realm: "R"}); c.User = ""; return c }(), winrm.FieldKerberos, nil},
		{"Kerberos without realm", kerberos(winrm.KerberosConfig{KDC: []string{"kdc"}}), winrm.FieldKerberos, nil},
		{"keytab that is missing", kerberos(winrm.KerberosConfig{Realm: "R", KeytabFile: filepath.Join(dir, "none")}), winrm.FieldKerberos, nil},
		{"keytab that is none", kerberos(winrm.KerberosConfig{Realm: "R", KeytabFile: bad}), winrm.FieldKerberos, nil},
		{"credential cache that is none", kerberos(winrm.KerberosConfig{Realm: "R", CCacheFile: bad}), winrm.FieldKerberos, nil},
		{"krb5.conf that is missing", kerberos(winrm.KerberosConfig{ConfigFile: filepath.Join(dir, "none")}), winrm.FieldKerberos, nil},
		{"keytab, automatic", func() winrm.Config {
			c := kerberos(winrm.KerberosConfig{Realm: "R", KeytabFile: bad})
			c.Auth = winrm.AuthAuto
			return c
		}(), winrm.FieldKerberos, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.cfg.Check()
			var e *winrm.ConfigError
			if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &e) || e.Field != c.field) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v", err)
			}
		})
	}
}
