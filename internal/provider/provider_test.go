package provider_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

func TestSchemaDescriptions(t *testing.T) {
	h := newServer(t)
	var walk func(at string, attributes []namedAttribute)
	walk = func(at string, attributes []namedAttribute) {
		for _, a := range attributes {
			if a.description == "" && a.name != "timeouts" { // the library describes only what is inside
				t.Errorf("%s.%s has no description", at, a.name)
			}
			walk(at+"."+a.name, a.nested)
		}
	}
	walk("provider", attributesOf(h.schema.Provider.Block.Attributes))
	for name, s := range h.schema.ResourceSchemas {
		walk(name, attributesOf(s.Block.Attributes))
	}
	for name, s := range h.schema.DataSourceSchemas {
		walk("data."+name, attributesOf(s.Block.Attributes))
	}
	for name, s := range h.schema.ActionSchemas {
		walk("action."+name, attributesOf(s.Schema.Block.Attributes))
	}
}

func TestPasswordsAreSensitive(t *testing.T) {
	h := newServer(t)
	found := 0
	var walk func(at string, attributes []namedAttribute)
	walk = func(at string, attributes []namedAttribute) {
		for _, a := range attributes {
			if strings.Contains(a.name, "password") || a.name == "client_key" {
				found++
				if !a.sensitive {
					t.Errorf("%s.%s is not sensitive", at, a.name)
				}
			}
			walk(at+"."+a.name, a.nested)
		}
	}
	walk("provider", attributesOf(h.schema.Provider.Block.Attributes))
	if found != 6 {
		t.Errorf("the provider has %d secrets, not 6: password and key for all hosts and of a host, password and key of a guest", found)
	}
	for name, s := range h.schema.ResourceSchemas {
		found = 0
		if walk(name, attributesOf(s.Block.Attributes)); found > 0 {
			t.Errorf("%s has a password; credentials belong to the provider", name)
		}
	}
}

func TestConfigure(t *testing.T) {
	ca, noCA := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "no.pem")
	must(t, os.WriteFile(ca, []byte(certificate(t)), 0o600))
	must(t, os.WriteFile(noCA, []byte("no certificate"), 0o600))
	host := func(more object) object {
		h := object{"address": "192.0.2.1", "user": "u", "password": "p"}
		for k, v := range more {
			h[k] = v
		}
		return object{"hosts": object{"hv1": h}}
	}
	pair := clientPair(t)
	tests := []struct {
		name     string
		config   object
		errors   []string // one for each error: regular expression on attribute, summary and detail
		warnings []string
	}{
		{"minimal", host(nil), nil, nil},
		{"no host at all", object{}, nil, nil},
		{"address from the key", object{"hosts": object{"hv1.lab.example": object{"user": "u", "password": "p"}}}, nil, nil},
		{"defaults at the top level", object{"hosts": object{"a": object{}, "b": object{"user": "v"}}, "user": "u", "password": "p", "ca_file": ca, "max_sessions": 2}, nil, nil},
		{"IPv6", host(object{"address": "fe80::1%eth0"}), nil, nil},
		{"key with a slash", object{"hosts": object{"a/b": object{"user": "u", "password": "p"}}}, []string{`hosts(.|\n)*a/b(.|\n)*rename the key`}, nil},
		{"address with a port", host(object{"address": "hv1:5986"}), []string{`address(.|\n)*without scheme, port(.|\n)*hv1:5986`}, nil},
		{"address as URL", host(object{"address": "https://hv1"}), []string{`address(.|\n)*without scheme`}, nil},
		{"port too large", host(object{"port": 65536}), []string{`port(.|\n)*between 1 and 65535(.|\n)*65536`}, nil},
		{"port zero", object{"port": 0}, []string{`port(.|\n)*between 1 and 65535`}, nil},
		{"too many sessions", host(object{"max_sessions": 11}), []string{`max_sessions(.|\n)*between 1 and 10(.|\n)*11`}, nil},
		{"patience", merged(host(object{"retry_budget": "5m", "connect_timeout": "1500ms", "operation_timeout": "1m"}), object{"retry_budget": "1m"}), nil, nil},
		{"patience that is no duration", host(object{"retry_budget": "3"}), []string{`retry_budget(.|\n)*duration(.|\n)*"3"`}, nil},
		{"patience without end", object{"retry_budget": "24h"}, []string{`retry_budget must be a duration of 1s to 1h, but is 24h`}, nil},
		{"operation timeout above what a host takes", host(object{"operation_timeout": "61s"}), []string{`operation_timeout must be a duration of 100ms to 1m, but is 61s`}, nil},
		{"authentication that does not exist", host(object{"auth": "telepathy"}), []string{`auth(.|\n)*one of: \["basic" "ntlm" "kerberos" "certificate" "auto"\](.|\n)*telepathy`}, nil},
		{"both kinds of CA", host(object{"ca_file": ca, "ca_cert": certificate(t)}), []string{`ca_cert(.|\n)*ca_file`}, nil},
		{"CA certificate", host(object{"ca_cert": certificate(t)}), nil, nil},
		{"CA certificate that is none", host(object{"ca_cert": "x"}), []string{`"ca_cert"(.|\n)*Invalid certificates(.|\n)*PEM`}, nil},
		{"CA file that is none", host(object{"ca_file": noCA}), []string{`"ca_file"(.|\n)*Invalid certificates(.|\n)*no.pem(.|\n)*PEM`}, nil},
		{"CA file that is missing", host(object{"ca_file": "/missing/ca.pem"}), []string{`"ca_file"(.|\n)*/missing/ca.pem(.|\n)*Correct the path`}, nil},
		{"bad CA file as default, not used", object{"ca_file": "/missing/ca.pem", "hosts": object{"hv1": object{"user": "u", "password": "p", "ca_cert": certificate(t)}}}, nil, nil},
		{"Basic over HTTP without opt-in", host(object{"https": false, "auth": "basic"}), []string{`"https"(.|\n)*"hv1"(.|\n)*allow_unencrypted = true`}, nil},
		{"Basic over HTTP by default without opt-in", object{"https": false, "auth": "basic", "hosts": object{"hv1": object{"user": "u", "password": "p"}}}, []string{`^ERROR at AttributeName\("https"\)`}, nil},
		{"Basic over HTTP with opt-in", host(object{"https": false, "auth": "basic", "allow_unencrypted": true}), nil, nil},
		{"HTTP, sealed", host(object{"https": false}), nil, nil},
		{"NTLM over HTTP", host(object{"https": false, "auth": "ntlm"}), nil, nil},
		{"Kerberos over HTTP", host(object{"https": false, "auth": "kerberos", "kerberos": object{"realm": "R"}}), []string{`"https"(.|\n)*Kerberos over HTTP(.|\n)*auth = "ntlm"`}, nil},
		{"Kerberos over HTTP, by auto", host(object{"https": false, "kerberos": object{"realm": "R"}}), []string{`"https"(.|\n)*Kerberos over HTTP`}, nil},
		{"client certificate over HTTP", host(object{"https": false, "auth": "certificate", "client_certificate": pair[0], "client_key": pair[1]}), []string{`"https"(.|\n)*Client certificate over HTTP`}, nil},
		{"TLS version", host(object{"tls_min_version": "1.3"}), nil, nil},
		{"TLS version that is too old", host(object{"tls_min_version": "1.1"}), []string{`tls_min_version(.|\n)*one of: \["1.2" "1.3"\]`}, nil},
		{"Kerberos with a password", host(object{"address": "hv1.lab.example", "auth": "kerberos", "kerberos": object{"realm": "R", "kdc": list{"dc1", "dc2:89"}}}), nil, nil},
		{"Kerberos to an IP address", host(object{"auth": "kerberos", "kerberos": object{"realm": "R"}}), []string{`"kerberos"(.|\n)*DNS name`}, nil},
		{"Kerberos to an IP address by another name", host(object{"auth": "kerberos", "kerberos": object{"realm": "R", "spn": "HTTP/hv1"}}), nil, nil},
		{"Kerberos without password", object{"hosts": object{"hv1": object{"auth": "kerberos", "user": "u"}}}, []string{`"password"(.|\n)*keytab or credential cache`}, nil},
		{"Kerberos with a keytab that is missing", object{"hosts": object{"hv1": object{"user": "u", "kerberos": object{"realm": "R", "keytab_file": "/missing"}}}}, []string{`"hv1"(.|\n)*"kerberos"(.|\n)*/missing`}, nil},
		{"Kerberos with a bad keytab by default", object{"user": "u", "kerberos": object{"realm": "R", "keytab_file": noCA}, "hosts": object{"hv1": object{}}}, []string{`^ERROR at AttributeName\("kerberos"\)`}, nil},
		{"Kerberos with two configurations", host(object{"kerberos": object{"kdc": list{"a"}, "krb5_conf": "b"}}), []string{`kdc(.|\n)*krb5_conf`}, nil},
		{"Kerberos with two credentials", host(object{"kerberos": object{"keytab_file": "a", "ccache_file": "b"}}), []string{`keytab_file(.|\n)*ccache_file`}, nil},
		{"client certificate", object{"hosts": object{"hv1": object{"client_certificate": pair[0], "client_key": pair[1]}}}, nil, nil},
		{"client certificate and no key", object{"hosts": object{"hv1": object{"auth": "certificate", "client_certificate": pair[0]}}}, []string{`"client_key_file"(.|\n)*HYPERV_CLIENT_KEY_FILE`}, nil},
		{"key and no client certificate", object{"hosts": object{"hv1": object{"auth": "certificate", "client_key": pair[1]}}}, []string{`"client_certificate_file"(.|\n)*HYPERV_CLIENT_CERTIFICATE_FILE`}, nil},
		{"client certificate that is none", host(object{"client_certificate": "x", "client_key": pair[1]}), []string{`"client_certificate"(.|\n)*Invalid client certificate(.|\n)*PEM`}, nil},
		{"client certificate that is missing", host(object{"client_certificate_file": "/missing.pem", "client_key": pair[1]}), []string{`"client_certificate_file"(.|\n)*/missing.pem`}, nil},
		{"client certificate twice", host(object{"client_certificate": "x", "client_certificate_file": "y"}), []string{`client_certificate(.|\n)*client_certificate_file`}, nil},
		{"a Kerberos realm unknown", host(object{"kerberos": object{"realm": unknown}}), nil, []string{`not known yet`}},
		{"no verification", host(object{"insecure_skip_verify": true}), nil, []string{`"insecure_skip_verify"(.|\n)*"hv1"(.|\n)*ca_cert`}},
		{"no user", object{"hosts": object{"hv1": object{"password": "p"}}}, []string{`"user"(.|\n)*"hv1"(.|\n)*HYPERV_USER`}, nil},
		{"no password", object{"hosts": object{"hv1": object{"user": "u"}}}, []string{`"password"(.|\n)*"hv1"(.|\n)*HYPERV_PASSWORD`}, nil},
		{"guest with an unknown credential", merged(host(nil), object{"guest_credentials": object{"lab": object{"user": "u", "password": "p"}}, "guests": object{"VM1": object{"credential": "Lab"}}}),
			[]string{`"VM1"(.|\n)*"Lab"(.|\n)*it has "lab"`}, nil},
		{"unknown default credential", merged(host(nil), object{"default_guest_credential": "lab"}), []string{`default_guest_credential(.|\n)*"lab"(.|\n)*empty`}, nil},
		{"everything unknown", object{"hosts": unknown}, nil, []string{`not known yet`}},
		{"an address unknown", host(object{"address": unknown}), nil, []string{`not known yet`}},
		{"a host unknown", object{"hosts": object{"hv1": unknown}}, nil, []string{`not known yet`}},
		{"a guest's password unknown", merged(host(nil), object{"guest_credentials": object{"lab": object{"user": "u", "password": unknown}}}), nil, []string{`not known yet`}},
		{"an unknown default that no host uses", merged(host(nil), object{"user": unknown}), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newServer(t)
			d := h.configure(tt.config)
			expect(t, "error", d.errors(), tt.errors)
			expect(t, "warning", d.warnings(), tt.warnings)
			for _, x := range d {
				if strings.Contains(x.Detail, `"p"`) {
					t.Errorf("the password is in a message: %s", x.Detail)
				}
			}
		})
	}
}

// expect compares diagnostics, in order, with regular expressions.
func expect(t testing.TB, what string, got diagnostics, want []string) {
	t.Helper()
	for i, re := range want {
		if i < len(got) && !regexp.MustCompile(re).MatchString(got[i:i+1].String()) {
			t.Errorf("%s %d does not match %q:\n%s", what, i, re, got[i:i+1])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d %ss, want %d:\n%s", len(got), what, len(want), got)
	}
}

func merged(config, more object) object {
	for k, v := range more {
		config[k] = v
	}
	return config
}

// certificate is a CA certificate in PEM form.
func certificate(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// clientPair is a client certificate and its key in PEM form.
func clientPair(t testing.TB) [2]string {
	t.Helper()
	authority, err := door.NewAuthority()
	must(t, err)
	cert, key, err := authority.ClientCertificate("user@localhost")
	must(t, err)
	return [2]string{string(cert), string(key)}
}

func TestAccProviderStarts(t *testing.T) {
	acceptance(t, resource.TestStep{Config: `
provider "hyperv" {
  hosts = { "hv 'one' $${x}" = { address = "192.0.2.1", user = "u", password = "p" } }
}
output "done" { value = true }
`})
}
