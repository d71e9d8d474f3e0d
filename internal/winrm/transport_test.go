package winrm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	good := Config{Address: "host", HTTPS: true, User: "u", Password: "p"}
	for _, c := range []struct {
		name   string
		change func(*Config)
		field  string // "" where it is good
	}{
		{"good", func(*Config) {}, ""},
		{"no address", func(c *Config) { c.Address = "" }, "address"},
		{"port", func(c *Config) { c.Port = 70000 }, "port"},
		{"operation timeout above the service's limit", func(c *Config) { c.OperationTimeout = 61 * time.Second }, "operation timeout"},
		{"negative budget", func(c *Config) { c.RetryBudget = -1 }, "retry budget"},
		{"negative contact budget", func(c *Config) { c.ContactBudget = -1 }, "contact budget"},
		{"small envelope", func(c *Config) { c.EnvelopeSize = 100 }, "envelope size"},
		{"CA that is no certificate", func(c *Config) { c.CACert = []byte("x") }, "CA certificate"},
		{"unknown authentication", func(c *Config) { c.Auth = "telepathy" }, "authentication"},
		{"Basic over HTTP", func(c *Config) { c.HTTPS = false }, "authentication"},
		{"Basic over HTTP, allowed", func(c *Config) { c.HTTPS, c.AllowUnencrypted = false, true }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := good
			c.change(&cfg)
			_, err := NewTransport(cfg)
			var ce *ConfigError
			if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &ce) || ce.Field != c.field) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("Basic over HTTP is a value", func(t *testing.T) {
		if _, err := NewTransport(Config{Address: "h"}); !errors.Is(err, ErrUnencrypted) {
			t.Errorf("%v", err)
		}
	})
	for want, cfg := range map[string]Config{
		"https://host:5986/wsman":           good,
		"http://host:5985/wsman":            {Address: "host", AllowUnencrypted: true},
		"https://[2001:db8::1]:5986/wsman":  {Address: "2001:db8::1", HTTPS: true},
		"https://[fe80::1%25eth0]:99/wsman": {Address: "fe80::1%eth0", Port: 99, HTTPS: true},
	} {
		tr, err := NewTransport(cfg)
		if err != nil || tr.url != want {
			t.Errorf("%v, %v; want %s", tr, err, want)
		}
	}
}

func (s *server) create(t *testing.T, change func(*Config)) error {
	t.Helper()
	cfg := s.config(t)
	if change != nil {
		change(&cfg)
	}
	tr, err := NewTransport(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tr.Do(t.Context(), OpCreate, newCreateRequest(tr.url, parameters(tr.cfg)))
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Errorf("the error holds the password: %v", err)
	}
	return err
}

func TestAuthError(t *testing.T) {
	s := newServer(t, nil, true)
	err := s.create(t, func(c *Config) { c.Password, c.InsecureSkipVerify = "wrong", true })
	var auth *AuthError
	if !errors.As(err, &auth) {
		t.Fatalf("%v", err)
	}
	if auth.URL != s.URL+"/wsman" || auth.Auth != AuthBasic || auth.User != "user" || !auth.TLS || fmt.Sprint(auth.Offered) != "[Negotiate Basic]" || !auth.OffersAuth() {
		t.Errorf("%+v", auth)
	}
	if (&AuthError{Auth: AuthBasic, Offered: []string{"Negotiate"}}).OffersAuth() {
		t.Error("Basic is not offered")
	}
}

func TestHTTPAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		step  step
		check func(error) bool
	}{
		{"no SOAP", status(404), func(err error) bool {
			var e *HTTPError
			return errors.As(err, &e) && e.Status == 404 && strings.HasSuffix(e.URL, "/wsman")
		}},
		{"a redirect is not followed", status(302, "Location: http://127.0.0.1:1/"), func(err error) bool {
			var e *HTTPError
			return errors.As(err, &e) && e.Status == 302
		}},
		{"a page instead of a fault", func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "<html><body>bad gateway<br></body></html>")
		}, func(err error) bool {
			var e *HTTPError
			return errors.As(err, &e) && e.Status == 500
		}},
		{"an answer without end", func(w http.ResponseWriter, _ *http.Request, _ string) {
			chunk := make([]byte, 1<<20)
			for range maxBody/len(chunk) + 2 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, func(err error) bool {
			var e *NetError
			return errors.As(err, &e) && e.Sent
		}},
		{"fault", faulty(CodeAborted), func(err error) bool {
			var f *Fault
			return errors.As(err, &f) && *f == Fault{Code: CodeAborted, Subcode: "w:X", Reason: "text", Status: 500}
		}},
		{"dropped", drop, func(err error) bool {
			var e *NetError
			return errors.As(err, &e) && e.Sent && e.Op == OpCreate && !e.Refused()
		}},
		{"stalled", stall, func(err error) bool {
			var e *NetError
			return errors.As(err, &e) && e.Sent
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := newServer(t, map[Op][]step{OpCreate: {c.step}}, false).create(t, nil); !c.check(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestNotReached(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		s := newServer(t, nil, false)
		s.Close()
		var e *NetError
		if err := s.create(t, nil); !errors.As(err, &e) || e.Sent || !e.Refused() || e.NotTLS() || e.NoSuchName() {
			t.Errorf("%v", err)
		}
	})
	t.Run("HTTPS to an HTTP port", func(t *testing.T) {
		var e *NetError
		if err := newServer(t, nil, false).create(t, func(c *Config) { c.HTTPS = true }); !errors.As(err, &e) || !e.NotTLS() || e.Sent {
			t.Errorf("%v", err)
		}
	})
	t.Run("TLS too old", func(t *testing.T) {
		s := newServer(t, nil, true)
		s.TLS.MaxVersion = tls.VersionTLS11
		s.TLS.MinVersion = tls.VersionTLS10
		var e *NetError
		if err := s.create(t, func(c *Config) { c.InsecureSkipVerify = true }); !errors.As(err, &e) || !e.TLSRefused() || e.Sent {
			t.Errorf("%v", err)
		}
	})
	t.Run("the proxy of the environment is not used", func(t *testing.T) {
		t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
		t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
		t.Setenv("NO_PROXY", "")
		tr, err := NewTransport(Config{Address: "host.example", HTTPS: true})
		if err != nil || tr.http.Proxy != nil {
			t.Errorf("%v", err)
		}
	})
}

// certificate makes a server certificate that signs itself.
func certificate(t *testing.T, name string, until time.Time) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCertificates(t *testing.T) {
	good, goodPEM := certificate(t, "host.example", time.Now().Add(time.Hour))
	old, oldPEM := certificate(t, "host.example", time.Now().Add(-time.Hour))
	_, otherPEM := certificate(t, "other.example", time.Now().Add(time.Hour))
	for _, c := range []struct {
		name   string
		served tls.Certificate
		change func(*Config)
		want   CertificateProblem // "" where it is accepted
		custom bool
	}{
		{"trusted, with its name", good, func(c *Config) { c.CACert, c.ServerName = goodPEM, "host.example" }, "", false},
		{"anything goes", good, func(c *Config) { c.InsecureSkipVerify = true }, "", false},
		{"self-signed", good, func(c *Config) { c.ServerName = "host.example" }, CertificateUnknownAuthority, false},
		{"wrong CA", good, func(c *Config) { c.CACert, c.ServerName = otherPEM, "host.example" }, CertificateUnknownAuthority, true},
		{"wrong name", good, func(c *Config) { c.CACert = goodPEM }, CertificateWrongName, true},
		{"expired", old, func(c *Config) { c.CACert, c.ServerName = oldPEM, "host.example" }, CertificateInvalid, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, nil, true)
			s.TLS.Certificates = []tls.Certificate{c.served}
			err := s.create(t, c.change)
			var e *CertificateError
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &e) || e.Problem != c.want || e.CustomCA != c.custom || e.Certificate == nil || e.URL != s.URL+"/wsman"):
				t.Errorf("%v: %+v", err, e)
			}
		})
	}
}

func TestParseFault(t *testing.T) {
	const wsman = `<f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="%s"><f:Message>%s</f:Message></f:WSManFault>`
	for _, c := range []struct {
		name, body string
		want       *Fault
	}{
		{"WSManFault", faultXML(fmt.Sprintf(wsman, "2150858843", " m ")), &Fault{2150858843, "w:X", "m", 500}},
		{"nested provider fault", faultXML(fmt.Sprintf(wsman, "5", `<f:ProviderFault><f:WSManFault Code="6"><f:Message>inner</f:Message></f:WSManFault></f:ProviderFault>`)), &Fault{5, "w:X", "reason", 500}},
		{"WMI error without WSManFault", faultXML(`<p:MSFT_WmiError xmlns:p="urn:x"><p:error_Code>2150859174</p:error_Code></p:MSFT_WmiError>`), &Fault{2150859174, "w:X", "reason", 500}},
		{"signed code", faultXML(fmt.Sprintf(wsman, "-2144108453", "m")), &Fault{2150858843, "w:X", "m", 500}},
		{"hexadecimal code", faultXML(fmt.Sprintf(wsman, "0x8033805B", "m")), &Fault{2150858843, "w:X", "m", 500}},
		{"no code", faultXML(""), &Fault{0, "w:X", "reason", 500}},
		{"no fault", `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body/></s:Envelope>`, nil},
		{"no XML", "busy", nil},
		{"empty", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parseFault(500, []byte(c.body))
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// One connection at a time, since authentication may belong to it.
func TestOneConnection(t *testing.T) {
	s := newServer(t, nil, false)
	p, err := Start(t.Context(), s.transport(t), commandLine)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := p.Send(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	remotes := map[string]bool{}
	for _, r := range s.seen {
		remotes[r.remote] = true
	}
	if len(remotes) != 1 {
		t.Errorf("%d connections", len(remotes))
	}
}
