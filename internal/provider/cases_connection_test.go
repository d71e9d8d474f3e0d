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
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// Case 44: "401 - invalid content type". The host is not asked twice, and the error names the kind of authentication,
// what the host offers, and what to set; with that set, the host is managed.
func TestCase44Refused(t *testing.T) {
	t.Parallel()
	no := false
	noBasic := startLab(t, "intel-x722", listeners(lab.ScenarioListener{}))
	onlyBasic := startLab(t, "intel-x722", listeners(lab.ScenarioListener{Basic: true, Negotiate: &no}))
	for _, x := range []struct {
		name     string
		lab      *testLab
		bad, fix func(object) object
		says     []string
		rules    []door.Rule
	}{
		{name: "Basic is off on the host", lab: noBasic,
			bad:  func(c object) object { return with(c, "auth", "basic") },
			says: []string{"Authentication: basic, user", "Host offers: Negotiate\n", "does not offer basic authentication; no password would be right", `'@{Basic="true"}'`},
			fix:  func(c object) object { return with(c, "auth", "ntlm") }},
		{name: "NTLM is off on the host", lab: onlyBasic,
			bad:  func(c object) object { return with(c, "auth", "ntlm") },
			says: []string{"Authentication: ntlm, user", "Host offers: Basic\n", "does not offer ntlm authentication; no password would be right", `'@{Negotiate="true"}'`},
			fix:  func(c object) object { return with(c, "auth", "auto") }},
		{name: "a local user with the domain of somebody else", lab: noBasic,
			bad:  func(c object) object { return with(c, "user", `LAB\Administrator`) },
			says: []string{`user "LAB\\Administrator"`, "User or password is wrong", "the bare name for a local one", "event 4625"},
			fix:  func(c object) object { return with(c, "user", "Administrator") }},
		{name: "HTTPS to the port of HTTP", lab: noBasic,
			bad:  func(c object) object { return with(c, "port", noBasic.ready.Hosts[0].HTTPPort) },
			says: []string{"TLS: not established", "does not speak TLS", "https = false"},
			fix:  func(c object) object { return with(with(c, "https", false), "ca_file", nil) }},
		{name: "HTTP to the port of HTTPS", lab: noBasic,
			bad:  func(c object) object { return with(with(c, "https", false), "ca_file", nil) },
			says: []string{"TLS: none (HTTP)", "not Windows Remote Management", "https"},
			fix: func(c object) object {
				return with(with(c, "https", true), "ca_file", noBasic.ready.Hosts[0].CAFile)
			}},
		{name: "a page of something in between", lab: onlyBasic, rules: []door.Rule{{Effect: door.UnauthorizedHTML}},
			bad:  func(c object) object { return with(c, "auth", "basic") },
			says: []string{"refuses without offering any kind of authentication", "a proxy may be in between"},
			fix:  func(c object) object { return c }},
	} {
		t.Run(x.name, func(t *testing.T) {
			before := x.lab.metrics()
			x.lab.fault(x.rules...)
			config := x.bad(x.lab.config("hv1"))
			d := reach(t, config)
			says(t, d.String(), append(x.says, "Host: hv1\n", "URL: http")...)
			after := x.lab.metrics()
			if n := after.Unauthorized - before.Unauthorized; n > 2 || // auto asks once without a credential
				after.ShellsCreated != before.ShellsCreated {
				t.Errorf("it was tried %d times, and %d shells were made", n, after.ShellsCreated-before.ShellsCreated)
			}
			h := newHarness(t, x.fix(config))
			defer h.close()
			if _, d := h.data("hyperv_rdma_host", object{"host": "hv1"}); len(d.errors()) > 0 {
				t.Errorf("after the fix: %s", d)
			}
		})
	}
}

// served is a TLS front with a certificate and versions of its own, before the HTTP listener of the lab's host.
func (l *testLab) served(cert tls.Certificate, newest uint16) int {
	l.t.Helper()
	to := &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(l.ready.Hosts[0].HTTPPort))}
	s := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ErrorLog: log.New(io.Discard, "", 0)})
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: newest} //nolint:gosec // the lowest is the client's business
	s.StartTLS()
	l.t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

// selfSigned is a certificate that nobody else vouches for, as New-SelfSignedCertificate makes it.
func selfSigned(t testing.TB, name string, until time.Time) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// Case 45: the host's certificate is not trusted. Nothing is sent to it, the error says which attribute helps, and
// each of them does. To skip the verification takes its own attribute, and says what it gives up.
func TestCase45Certificate(t *testing.T) {
	t.Parallel()
	const name = "hv1.lab.example"
	l := startLab(t, "intel-x722", listeners(lab.ScenarioListener{Basic: true, AllowUnencrypted: true}))
	good, goodPEM := selfSigned(t, name, time.Now().Add(time.Hour))
	old, oldPEM := selfSigned(t, name, time.Now().Add(-time.Hour))
	file := filepath.Join(t.TempDir(), "ca 'ä.pem")
	must(t, os.WriteFile(file, []byte(goodPEM), 0o600))
	port, expired := l.served(good, 0), l.served(old, 0)
	config := func(port int, more object) object {
		c := with(with(with(l.config("hv1"), "port", port), "ca_file", nil), "auth", "basic")
		for k, v := range more {
			with(c, k, v)
		}
		return c
	}
	for _, x := range []struct {
		name   string
		config object
		says   []string // nil: the host is reached
	}{
		{"self-signed", config(port, object{"tls_server_name": name}), []string{"TLS: not established\n", "self-signed", "ca_cert or ca_file", "Export-Certificate"}},
		{"by file and name", config(port, object{"ca_file": file, "tls_server_name": name}), nil},
		{"by text and name", config(port, object{"ca_cert": goodPEM, "tls_server_name": name}), nil},
		{"another authority", config(port, object{"ca_cert": certificate(t), "tls_server_name": name}), []string{"not issued by an authority in ca_cert or ca_file"}},
		{"another name than the address", config(port, object{"ca_cert": goodPEM}), []string{"for another name than the address", name, "tls_server_name"}},
		{"expired", config(expired, object{"ca_cert": oldPEM, "tls_server_name": name}), []string{"has expired", "Renew"}},
		{"skipped by name", config(port, object{"insecure_skip_verify": true}), nil},
		{"not skipped by name", config(port, object{"tls_server_name": name, "insecure_skip_verify": false}), []string{"ca_cert or ca_file"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			requests := l.metrics().Requests
			h := newServer(t)
			d := h.configure(x.config)
			if skipped := strings.Contains(d.warnings().String(), "Certificate not verified"); skipped != (x.name == "skipped by name") {
				t.Errorf("a warning: %v\n%s", skipped, d)
			}
			_, d = h.data("hyperv_rdma_host", object{"host": "hv1"})
			h.close()
			if x.says == nil {
				expect(t, "error", d.errors(), nil)
				return
			}
			says(t, d.errors().String(), append(x.says, "Host: hv1\n", "URL: https://")...)
			if n := l.metrics().Requests - requests; n != 0 {
				t.Errorf("%d requests reached a host that is not trusted", n)
			}
		})
	}
}

// TestTLSVersions: the least version is agreed on or the connection is refused.
func TestTLSVersions(t *testing.T) {
	t.Parallel()
	const name = "hv1.lab.example"
	l := startLab(t, "intel-x722", listeners(lab.ScenarioListener{Basic: true, AllowUnencrypted: true}))
	cert, ca := selfSigned(t, name, time.Now().Add(time.Hour))
	ports := map[uint16]int{}
	for _, newest := range []uint16{tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		ports[newest] = l.served(cert, newest)
	}
	for _, x := range []struct {
		newest uint16
		least  any
		ok     bool
	}{
		{tls.VersionTLS11, nil, false}, {tls.VersionTLS12, nil, true}, {tls.VersionTLS13, nil, true},
		{tls.VersionTLS12, "1.2", true}, {tls.VersionTLS12, "1.3", false}, {tls.VersionTLS13, "1.3", true},
	} {
		d := reach(t, with(with(with(with(with(with(l.config("hv1"), "auth", "basic"), "port", ports[x.newest]), "ca_file", nil), "ca_cert", ca), "tls_server_name", name), "tls_min_version", x.least))
		if x.ok != (len(d) == 0) {
			t.Errorf("a host with %s, at least %v: %s", tls.VersionName(x.newest), x.least, d)
		}
		if !x.ok {
			says(t, d.String(), "TLS: not established", "no TLS version or cipher in common", "tls_min_version")
		}
	}
}
