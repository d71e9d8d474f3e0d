package winrm_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// between is somebody between client and host who changes requests and answers.
func (h *host) between(cfg winrm.Config, asked func(*http.Request), change func(*http.Response)) winrm.Config {
	h.t.Helper()
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(h.door.HTTPPort())}
	transport := &http.Transport{MaxConnsPerHost: 1}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(context.Background())
		out.URL.Scheme, out.URL.Host, out.RequestURI = target.Scheme, target.Host, ""
		asked(out)
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
		{"a handshake that needs no password", func(r *http.Response) { r.StatusCode = http.StatusOK }, func(err error) bool {
			var e *winrm.HTTPError
			return errors.As(err, &e) && e.Status == 200
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, false, ntlm())
			cfg := h.between(h.config(winrm.AuthNTLM), asIs, c.change)
			if err := h.talk(cfg, "x"); !c.is(err) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("the proof", func(t *testing.T) {
		h := newHost(t, false, ntlm())
		refused(t, h.talk(h.between(h.config(winrm.AuthNTLM), func(r *http.Request) {
			if b := decode(strings.TrimPrefix(r.Header.Get("Authorization"), "Negotiate ")); len(b) > 72 && b[8] == 3 {
				b[64] ^= 1 // the version, which nothing but the integrity code of the whole handshake protects
				r.Header.Set("Authorization", "Negotiate "+encode(b))
			}
		}, func(*http.Response) {}), "x"))
	})
	t.Run("a sealed message", func(t *testing.T) {
		h := newHost(t, false, ntlm())
		err := h.talk(h.between(h.config(winrm.AuthNTLM), func(r *http.Request) {
			var b bytes.Buffer
			_, _ = b.ReadFrom(r.Body)
			if b.Len() > 0 {
				b.Bytes()[b.Len()-40] ^= 1
			}
			r.Body = readCloser{&b}
		}, func(*http.Response) {}), "x")
		var e *winrm.HTTPError
		if !errors.As(err, &e) || e.Status != http.StatusBadRequest || h.door.Metrics().ShellsCreated > 0 {
			t.Errorf("%v", err)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		h := newHost(t, false, ntlm())
		if err := h.talk(h.between(h.config(winrm.AuthNTLM), asIs, func(*http.Response) {}), "x"); err != nil {
			t.Error(err)
		}
	})
}

func asIs(*http.Request) {}

func decode(s string) []byte {
	b, _ := base64.StdEncoding.DecodeString(s)
	return b
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

// A connection that closes between challenge and proof says nothing about the password: the answer on the next
// one is about a proof without its challenge.
func TestNTLMHandshakeCut(t *testing.T) {
	h := newHost(t, false, ntlm())
	cut := 0
	cfg := h.between(h.config(winrm.AuthNTLM), asIs, func(r *http.Response) {
		if len(r.Header.Get("WWW-Authenticate")) > len("Negotiate ") {
			if cut++; cut <= 2 {
				r.Header.Set("Connection", "close")
			}
		}
	})
	if err := h.talk(cfg, "x"); err != nil || cut < 3 {
		t.Errorf("%v after %d handshakes", err, cut)
	}
	cut = -1 << 30
	cfg.RetryBudget = 300 * time.Millisecond
	err := h.talk(cfg, "x")
	var network *winrm.NetError
	if !errors.As(err, &network) || network.Sent || network.Op != winrm.OpCreate {
		t.Errorf("%v", err)
	}
}

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
