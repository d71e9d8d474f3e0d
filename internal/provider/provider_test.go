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
}

func TestPasswordsAreSensitive(t *testing.T) {
	h := newServer(t)
	found := 0
	var walk func(at string, attributes []namedAttribute)
	walk = func(at string, attributes []namedAttribute) {
		for _, a := range attributes {
			if strings.Contains(a.name, "password") {
				found++
				if !a.sensitive {
					t.Errorf("%s.%s is not sensitive", at, a.name)
				}
			}
			walk(at+"."+a.name, a.nested)
		}
	}
	walk("provider", attributesOf(h.schema.Provider.Block.Attributes))
	if found != 3 {
		t.Errorf("the provider has %d passwords, not 3: for all hosts, of a host, of a guest", found)
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
		{"authentication that does not exist", host(object{"auth": "ntlm"}), []string{`auth(.|\n)*one of: \["basic"\](.|\n)*ntlm`}, nil},
		{"both kinds of CA", host(object{"ca_file": ca, "ca_cert": certificate(t)}), []string{`ca_cert(.|\n)*ca_file`}, nil},
		{"CA certificate", host(object{"ca_cert": certificate(t)}), nil, nil},
		{"CA certificate that is none", host(object{"ca_cert": "x"}), []string{`"ca_cert"(.|\n)*Invalid certificates(.|\n)*PEM`}, nil},
		{"CA file that is none", host(object{"ca_file": noCA}), []string{`"ca_file"(.|\n)*Invalid certificates(.|\n)*no.pem(.|\n)*PEM`}, nil},
		{"CA file that is missing", host(object{"ca_file": "/missing/ca.pem"}), []string{`"ca_file"(.|\n)*/missing/ca.pem(.|\n)*Correct the path`}, nil},
		{"bad CA file as default, not used", object{"ca_file": "/missing/ca.pem", "hosts": object{"hv1": object{"user": "u", "password": "p", "ca_cert": certificate(t)}}}, nil, nil},
		{"HTTP without opt-in", host(object{"https": false}), []string{`"https"(.|\n)*"hv1"(.|\n)*allow_unencrypted = true`}, nil},
		{"HTTP by default without opt-in", object{"https": false, "hosts": object{"hv1": object{"user": "u", "password": "p"}}}, []string{`^ERROR at AttributeName\("https"\)`}, nil},
		{"HTTP with opt-in", host(object{"https": false, "allow_unencrypted": true}), nil, nil},
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

func TestAccProviderStarts(t *testing.T) {
	acceptance(t, resource.TestStep{Config: `
provider "hyperv" {
  hosts = { "hv 'one' $${x}" = { address = "192.0.2.1", user = "u", password = "p" } }
}
output "done" { value = true }
`})
}
