package provider_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// wrongHost is something that answers where a Hyper-V host was meant.
type wrongHost struct {
	t         *testing.T
	authority *door.Authority
	ca        string
}

func newWrongHost(t *testing.T) *wrongHost {
	authority, err := door.NewAuthority()
	must(t, err)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, authority.PEM(), 0o600))
	return &wrongHost{t, authority, ca}
}

// at is the configuration of a host at an address of this machine.
func (w *wrongHost) at(address net.Addr) object {
	port := address.(*net.TCPAddr).Port
	return object{"hosts": object{"hv1": object{"address": "127.0.0.1", "port": port, "user": "Administrator", "password": "wrong-secret", "ca_file": w.ca, "connect_timeout": "300ms"}}}
}

// listens takes connections and gives each to do.
func (w *wrongHost) listens(do func(net.Conn)) net.Addr {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(w.t, err)
	w.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go do(c)
		}
	}()
	return l.Addr()
}

func (w *wrongHost) refuses() net.Addr {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(w.t, err)
	must(w.t, l.Close())
	return l.Addr()
}

// serves answers every request, over TLS if change is not nil.
func (w *wrongHost) serves(answer http.HandlerFunc, change func(*tls.Config)) net.Addr {
	s := httptest.NewUnstartedServer(answer)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.t.Cleanup(s.Close)
	if change == nil {
		s.Start()
		return s.Listener.Addr()
	}
	cert, err := w.authority.Certificate("hv1", "127.0.0.1")
	must(w.t, err)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}} //nolint:gosec // what it is wrong with is what is tested
	change(s.TLS)
	s.StartTLS()
	return s.Listener.Addr()
}

func asIs(*tls.Config) {}

func page(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestConnectionFailures: whatever keeps a host from being reached, the error names the host, the URL, the kind of
// authentication, the state of TLS, the cause and one thing to do. What has to do with authentication alone is in
// TestAuthentication and TestKerberos.
func TestConnectionFailures(t *testing.T) {
	t.Parallel()
	hasty := func(o *provider.Options) {
		o.FirstContact, o.Connection.RetryBudget, o.Connection.OperationTimeout = 300*time.Millisecond, 300*time.Millisecond, 500*time.Millisecond
	}
	const html = "text/html; charset=utf-8"
	for _, tt := range []struct {
		name   string
		config func(*wrongHost) object
		tls    string
		says   []string
	}{
		{"no listener", func(w *wrongHost) object { return w.at(w.refuses()) }, "not established",
			[]string{"Nothing listens", "winrm quickconfig -transport:https", "firewall"}},
		{"no listener, HTTP", func(w *wrongHost) object { return with(w.at(w.refuses()), "https", false) }, "none (HTTP)",
			[]string{"Nothing listens", "winrm quickconfig"}},
		{"no such name", func(w *wrongHost) object { return with(w.at(w.refuses()), "address", "hv1.invalid") }, "not established",
			[]string{"https://hv1.invalid:", "name that does not exist", "address"}},
		{"connections are reset", func(w *wrongHost) object {
			return w.at(w.listens(func(c net.Conn) {
				_ = c.(*net.TCPConn).SetLinger(0)
				_ = c.Close()
			}))
		}, "not established", []string{"cannot be reached", "firewalls"}},
		{"nobody answers the TLS handshake", func(w *wrongHost) object {
			return w.at(w.listens(func(c net.Conn) {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c)
			}))
		}, "not established", []string{"cannot be reached", "port"}},
		{"no TLS at an HTTPS port", func(w *wrongHost) object { return w.at(w.serves(page(200, html, "hello"), nil)) }, "not established",
			[]string{"does not speak TLS", "https = false"}},
		{"only an old TLS", func(w *wrongHost) object {
			return w.at(w.serves(page(200, html, "hello"), func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }))
		}, "not established", []string{"no TLS version or cipher in common", "Enable TLS 1.2"}},
		{"TLS older than asked for", func(w *wrongHost) object {
			return with(w.at(w.serves(page(200, html, "hello"), func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })), "tls_min_version", "1.3")
		}, "not established", []string{"tls_min_version"}},
		{"certificate of another authority", func(w *wrongHost) object {
			return with(w.at(w.serves(page(200, html, "hello"), asIs)), "ca_file", newWrongHost(w.t).ca)
		}, "not established", []string{"not issued by an authority in ca_cert or ca_file"}},
		{"certificate for another name", func(w *wrongHost) object {
			return with(w.at(w.serves(page(200, html, "hello"), asIs)), "tls_server_name", "hv2.lab.example")
		}, "not established", []string{"for another name", `"hv1"`, "tls_server_name"}},
		{"expired certificate", func(w *wrongHost) object {
			return w.at(w.serves(page(200, html, "hello"), func(c *tls.Config) { c.Certificates[0] = w.expired() }))
		}, "not established", []string{"expired", "Renew"}},
		{"a web server", func(w *wrongHost) object { return w.at(w.serves(page(404, html, "<h1>Not here</h1>"), asIs)) }, "TLS 1.3, the certificate was verified",
			[]string{"not Windows Remote Management", "proxy"}},
		{"a page that says yes", func(w *wrongHost) object { return w.at(w.serves(page(200, html, "<h1>Welcome</h1>"), asIs)) }, "TLS 1.3, the certificate was verified",
			[]string{"not Windows Remote Management"}},
		{"a proxy that wants a password", func(w *wrongHost) object { return w.at(w.serves(page(407, html, "<h1>Proxy</h1>"), asIs)) }, "TLS 1.3, the certificate was verified",
			[]string{"proxy"}},
		{"a gateway without a host behind it", func(w *wrongHost) object { return w.at(w.serves(page(502, html, "<h1>Bad gateway</h1>"), asIs)) }, "TLS 1.3, the certificate was verified",
			[]string{"not Windows Remote Management", "proxy"}},
		{"refused by who offers nothing", func(w *wrongHost) object { return w.at(w.serves(page(401, html, "<h1>No</h1>"), asIs)) }, "TLS 1.3, the certificate was verified",
			[]string{"without offering any kind of authentication", "proxy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := startServer(t, quick, hasty)
			if d := h.configure(tt.config(newWrongHost(t))).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			_, d := h.data("hyperv_rdma_host", object{"host": "hv1"})
			if len(d.errors()) != 1 {
				t.Fatalf("%d errors: %s", len(d.errors()), d)
			}
			text := d.errors().String()
			says(t, text, append([]string{"Host: hv1\n", "URL: http", "/wsman\n", "Authentication: ", "TLS: " + tt.tls, "\nCause: ", "\nNext: "}, tt.says...)...)
			if strings.Contains(text, "wrong-secret") {
				t.Error("the password is in the message")
			}
		})
	}
}

// expired is a certificate of yesterday that signs itself, and is trusted.
func (w *wrongHost) expired() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(w.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hv1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(w.t, err)
	w.ca = filepath.Join(w.t.TempDir(), "own.pem")
	must(w.t, os.WriteFile(w.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestServiceFaults: what Windows Remote Management itself refuses is explained too, with what to look at on the host.
func TestServiceFaults(t *testing.T) {
	t.Parallel()
	hasty := func(o *provider.Options) {
		o.FirstContact, o.Connection.RetryBudget = 300*time.Millisecond, 300*time.Millisecond
	}
	for _, tt := range []struct {
		name  string
		lab   func(*lab.Scenario)
		fault door.Rule
		says  []string
	}{
		{"too many shells", nil, door.Rule{Effect: door.Quota, Operation: "Create", Count: -1}, []string{"too many shells", "MaxShellsPerUser"}},
		{"too many operations", nil, door.Rule{Effect: door.QuotaOperations, Operation: "Create", Count: -1}, []string{"too many shells", "max_sessions"}},
		{"no Remote Management User", func(s *lab.Scenario) { s.Hosts[0].Setup.UserRights = "none" }, door.Rule{}, []string{"may not use Windows Remote Management", "Add-LocalGroupMember"}},
		{"constrained language", func(s *lab.Scenario) { s.Hosts[0].Setup.LanguageMode = "constrained" }, door.Rule{}, []string{"constrained language mode", "Get-AppLockerPolicy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", func(s *lab.Scenario) {
				if tt.lab != nil {
					tt.lab(s)
				}
			})
			if tt.fault.Effect != "" {
				l.fault(tt.fault)
			}
			h := startServer(t, quick, hasty)
			if d := h.configure(l.config("hv1")).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			text := h.resource(switchType).apply(object{"host": "hv1", "name": "S", "net_adapter_names": list{"iWARP 1"}}).errors().String()
			says(t, text, append([]string{"Host: hv1\n", "\nCause: ", "\nNext: "}, tt.says...)...)
			if strings.Contains(text, l.ready.Hosts[0].Password) {
				t.Error("the password is in the message")
			}
		})
	}
}
