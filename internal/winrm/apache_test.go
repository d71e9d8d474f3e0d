package winrm_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// Windows asks for a client certificate only when it has seen the request: by renegotiation in TLS 1.2. A server in Go
// cannot do that, Apache can. It stands in front of a door here, and lets through who shows a certificate.

const requireApache = "HYPERVSIM_REQUIRE_APACHE"

// apache starts Apache with TLS of the given versions in front of the door, and gives its port.
func (h *host) apache(versions string) int {
	h.t.Helper()
	const modules = "/usr/lib/apache2/modules"
	program := ""
	for _, candidate := range []string{"apache2", "/usr/sbin/apache2"} {
		if path, err := exec.LookPath(candidate); err == nil {
			program = path
			break
		}
	}
	if _, err := os.Stat(filepath.Join(modules, "mod_ssl.so")); program == "" || err != nil {
		const text = "no apache2 with mod_ssl (Debian: apache2): client certificates were not tested with a host that renegotiates"
		if os.Getenv(requireApache) != "" {
			h.t.Fatal(text)
		}
		h.t.Skip(text)
	}
	dir := h.t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
		return file
	}
	cert, err := h.authority.Certificate("hv1.lab.example")
	if err != nil {
		h.t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		h.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if err := ln.Close(); err != nil {
		h.t.Fatal(err)
	}
	var load strings.Builder
	for _, m := range []string{"mpm_event", "authz_core", "unixd", "socache_shmcb", "ssl", "headers", "proxy", "proxy_http"} {
		if _, err := os.Stat(filepath.Join(modules, "mod_"+m+".so")); err == nil { // what is missing is built in
			fmt.Fprintf(&load, "LoadModule %s_module %s/mod_%s.so\n", m, modules, m)
		}
	}
	config := write("httpd.conf", fmt.Sprintf(`ServerRoot %[1]s
%[2]sDefaultRuntimeDir %[1]s
PidFile %[1]s/pid
ErrorLog %[1]s/error.log
ServerName hv1.lab.example
Listen 127.0.0.1:%[3]d
StartServers 1
SSLEngine on
SSLProtocol %[4]s
SSLCertificateFile %[5]s
SSLCertificateKeyFile %[6]s
SSLCACertificateFile %[7]s
SSLVerifyDepth 2
<Location "/wsman">
 SSLVerifyClient require
 SSLOptions +StrictRequire
 RequestHeader set Authorization "Basic %[8]s"
 ProxyPass http://127.0.0.1:%[9]d/wsman
</Location>
`, dir, load.String(), port, versions,
		write("server.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))),
		write("server.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))),
		write("ca.pem", string(h.authority.PEM())),
		base64.StdEncoding.EncodeToString([]byte(doorUser+":"+doorPassword)), h.door.HTTPPort()))
	cmd := exec.Command(program, "-f", config, "-DFOREGROUND")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	h.t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); <-ended })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			_ = c.Close()
			return port
		}
		select {
		case <-ended:
			h.t.Fatalf("apache2 ended: %s", out.String())
		default:
		}
		if time.Now().After(deadline) {
			h.t.Fatal("apache2 does not answer")
		}
	}
}

func TestCertificateByRenegotiation(t *testing.T) {
	h := newHost(t, false, door.Basic{Username: doorUser, Password: doorPassword, AllowUnencrypted: true})
	both, only13 := h.apache("-all +TLSv1.2 +TLSv1.3"), h.apache("-all +TLSv1.3")
	good, goodKey, err := h.authority.ClientCertificate(doorUser + "@localhost")
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := door.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	bad, badKey, err := stranger.ClientCertificate(doorUser + "@localhost")
	if err != nil {
		t.Fatal(err)
	}
	config := func(port int, cert, key []byte) winrm.Config {
		cfg := h.config(winrm.AuthCertificate)
		cfg.HTTPS, cfg.Port, cfg.ClientCert, cfg.ClientKey = true, port, cert, key
		return cfg
	}
	for _, kind := range []string{winrm.AuthCertificate, winrm.AuthAuto} {
		t.Run(kind, func(t *testing.T) {
			cfg := config(both, good, goodKey)
			cfg.Auth = kind
			if err := h.talk(cfg, strings.Repeat(tricky, 1000)); err != nil {
				t.Error(err)
			}
		})
	}
	// After an outage the first message on the new connection may be the largest there is, and it waits in the host's
	// memory for the renegotiation: Apache takes 128 kB there.
	t.Run("a large message on a new connection", func(t *testing.T) {
		tr, err := winrm.NewTransport(config(both, good, goodKey))
		if err != nil {
			t.Fatal(err)
		}
		p, err := winrm.Start(t.Context(), tr, "echo")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tr.Reset()
			line := bytes.Repeat([]byte("x"), p.MaxLine())
			if err := p.Send(t.Context(), line); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for out.Len() < len(line) {
				if _, _, _, err := p.Receive(t.Context(), &out, &out); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(out.Bytes(), line) {
				t.Errorf("%d bytes came back", out.Len())
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("certificate of another authority", func(t *testing.T) {
		err := h.talk(config(both, bad, badKey), "x")
		var network *winrm.NetError
		if !errors.As(err, &network) || !network.TLSRefused() {
			t.Errorf("%v", err)
		}
	})
	for name, port := range map[string]int{"both versions": both, "TLS 1.3 alone": only13} {
		t.Run("asked after the first handshake of TLS 1.3, "+name, func(t *testing.T) {
			cfg := config(port, good, goodKey)
			cfg.MinTLS = tls.VersionTLS13
			var e *winrm.ClientCertificateError
			if err := h.talk(cfg, "x"); !errors.As(err, &e) || e.TLSVersion != tls.VersionTLS13 || !strings.Contains(e.Error(), "only in the first handshake") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a host without TLS 1.2", func(t *testing.T) {
		err := h.talk(config(only13, good, goodKey), "x")
		var network *winrm.NetError
		if !errors.As(err, &network) || !network.TLSRefused() || network.Sent {
			t.Errorf("%v", err)
		}
	})
	if m := h.door.Metrics(); m.ShellsCreated != 3 || m.Shells != 0 {
		t.Errorf("%+v", m)
	}
}
