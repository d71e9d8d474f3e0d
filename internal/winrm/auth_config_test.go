package winrm_test

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

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
