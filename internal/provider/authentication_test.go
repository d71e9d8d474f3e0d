package provider_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/kdctest"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// listeners sets up WinRM on every host of a lab.
func listeners(listener lab.ScenarioListener) func(*lab.Scenario) {
	return func(s *lab.Scenario) {
		for i := range s.Hosts {
			s.Hosts[i].Listener = listener
		}
	}
}

// http makes a configuration reach the HTTP listener of the lab's first host.
func (l *testLab) http(config object) object {
	return with(with(with(config, "https", false), "port", l.ready.Hosts[0].HTTPPort), "ca_file", nil)
}

// reach reads from the host and says what came of it.
func reach(t *testing.T, config object) diagnostics {
	t.Helper()
	h := newHarness(t, config)
	defer h.close()
	_, d := h.data("hyperv_rdma_host", object{"host": "hv1"})
	return d.errors()
}

// TestAuthentication: each kind with what is right, and what a person gets to see who got it wrong: the host, the URL, the
// kind, the state of TLS, what the host offers, the likely cause, and the setting on Windows to look at (case 44).
func TestAuthentication(t *testing.T) {
	t.Parallel()
	no := false
	basicOnly := startLab(t, "intel-x722", listeners(lab.ScenarioListener{Basic: true, Negotiate: &no}))
	windows := startLab(t, "intel-x722", listeners(lab.ScenarioListener{CbtHardening: "Strict"}))
	certificates := startLab(t, "intel-x722", listeners(lab.ScenarioListener{Certificate: true}))
	mapped, unmapped := certificates.ready.Hosts[0], clientPair(t)
	proved := func(config object) object {
		config = with(with(config, "client_certificate_file", mapped.ClientCertificateFile), "client_key_file", mapped.ClientKeyFile)
		return with(with(config, "user", nil), "password", nil)
	}
	const negotiate = `winrm set winrm/config/service/auth '@{Negotiate="true"}'`
	for _, tt := range []struct {
		name   string
		lab    *testLab
		config func(*testLab) object
		says   []string // of the error; nil where the host is reached
	}{
		{"auto", windows, func(l *testLab) object { return l.config("hv1") }, nil},
		{"auto where there is only Basic", basicOnly, func(l *testLab) object { return l.config("hv1") }, nil},
		{"auto over HTTP", windows, func(l *testLab) object { return l.http(l.config("hv1")) }, nil},
		{"auto where there is only Basic, not verified", basicOnly, func(l *testLab) object {
			return with(with(l.config("hv1"), "ca_file", nil), "insecure_skip_verify", true)
		}, []string{"Authentication: auto, none was chosen", "TLS: TLS 1.3, the certificate was not verified", "Host offers: Basic\n", "does not send it a password", `auth = "basic"`}},
		{"auto, wrong password", windows, func(l *testLab) object { return with(l.config("hv1"), "password", "wrong-secret") },
			[]string{"Host: hv1\n", "URL: https://127.0.0.1:", "Authentication: ntlm, chosen by auto, user \"Administrator\"\n", "TLS: TLS 1.3, the certificate was verified\n", "Host offers: Negotiate\n",
				"Cause: User or password is wrong", "Next: Check user and password", "Restrict NTLM"}},
		{"ntlm", windows, func(l *testLab) object { return with(l.config("hv1"), "auth", "ntlm") }, nil},
		{"ntlm with a domain", windows, func(l *testLab) object {
			return with(with(l.config("hv1"), "auth", "ntlm"), "user", `HV1\Administrator`)
		}, nil},
		{"ntlm over HTTP", windows, func(l *testLab) object { return with(l.http(l.config("hv1")), "auth", "ntlm") }, nil},
		{"ntlm over HTTP, wrong password", windows, func(l *testLab) object {
			return with(with(l.http(l.config("hv1")), "auth", "ntlm"), "password", "wrong-secret")
		}, []string{"URL: http://127.0.0.1:", "Authentication: ntlm, user", "TLS: none (HTTP), messages are sealed by NTLM\n", "Cause: User or password is wrong"}},
		{"ntlm that is not offered", basicOnly, func(l *testLab) object { return with(l.config("hv1"), "auth", "ntlm") },
			[]string{"Host offers: Basic\n", "does not offer ntlm authentication; no password would be right", negotiate}},
		{"basic", basicOnly, func(l *testLab) object { return with(l.config("hv1"), "auth", "basic") }, nil},
		{"basic, wrong password", basicOnly, func(l *testLab) object {
			return with(with(l.config("hv1"), "auth", "basic"), "password", "wrong-secret")
		},
			[]string{"Authentication: basic, user", "Cause: User or password is wrong", "basic takes local users only"}},
		{"basic that is not offered (case 44)", windows, func(l *testLab) object { return with(l.config("hv1"), "auth", "basic") },
			[]string{"Host offers: Negotiate\n", "does not offer basic authentication; no password would be right", `winrm set winrm/config/service/auth '@{Basic="true"}'`}},
		{"basic over HTTP that is not offered", windows, func(l *testLab) object {
			return with(with(l.http(l.config("hv1")), "auth", "basic"), "allow_unencrypted", true)
		}, []string{"TLS: none (HTTP), nothing is encrypted\n", "AllowUnencrypted", `auth = "ntlm"`}},
		{"certificate", certificates, func(l *testLab) object { return proved(with(l.config("hv1"), "auth", "certificate")) }, nil},
		{"certificate by auto", certificates, func(l *testLab) object { return proved(l.config("hv1")) }, nil},
		{"certificate with TLS 1.3", certificates, func(l *testLab) object { return proved(with(l.config("hv1"), "tls_min_version", "1.3")) }, nil},
		{"certificate of another authority", certificates, func(l *testLab) object {
			return with(with(l.config("hv1"), "client_certificate", unmapped[0]), "client_key", unmapped[1])
		}, []string{"Authentication: certificate, chosen by auto", "TLS: TLS 1.2, ", "mapped to no user", `WSMan:\localhost\ClientCertificate`}},
		{"certificate where none is asked for", windows, func(l *testLab) object {
			return with(with(l.config("hv1"), "client_certificate", unmapped[0]), "client_key", unmapped[1])
		}, []string{"never asked for the client certificate", `winrm set winrm/config/service/auth '@{Certificate="true"}'`}},
		{"certificate where none is asked for, TLS 1.3", windows, func(l *testLab) object {
			return with(with(with(l.config("hv1"), "client_certificate", unmapped[0]), "client_key", unmapped[1]), "tls_min_version", "1.3")
		}, []string{"possible with this provider only in TLS 1.2", "clientcertnegotiation=enable"}},
		{"certificate of the host not trusted (case 45)", windows, func(l *testLab) object { return with(l.config("hv1"), "ca_file", nil) },
			[]string{"URL: https://", "TLS: not established\n", "self-signed or issued by an authority", "ca_cert or ca_file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := tt.config(tt.lab)
			d := reach(t, config)
			if tt.says == nil {
				expect(t, "error", d, nil)
				return
			}
			for _, want := range tt.says {
				if !strings.Contains(d.String(), want) {
					t.Errorf("%s\nhas no %q", d, want)
				}
			}
			for _, secret := range []string{"wrong-secret", tt.lab.ready.Hosts[0].Password} {
				if strings.Contains(d.String(), secret) {
					t.Errorf("a password is in the message: %s", d)
				}
			}
		})
	}
	for _, l := range []*testLab{basicOnly, windows, certificates} {
		if n := l.metrics().Shells; n != 0 {
			t.Errorf("%d shells are left", n)
		}
	}
}

// TestKerberos: tickets of a real KDC.
func TestKerberos(t *testing.T) {
	t.Parallel()
	k := kdctest.Start(t)
	const password, spn = `pa'ss"$(1)ä€`, "HTTP/hv1.lab.example"
	k.AddUser("administrator", password)
	keys := k.AddService(spn)
	l := startLab(t, "intel-x722", listeners(lab.ScenarioListener{Kerberos: &lab.ScenarioKerberos{KeytabFile: keys}, CbtHardening: "Strict"}))
	config := func(kerberos object) object {
		c := with(with(l.config("hv1"), "user", "administrator"), "password", password)
		return with(c, "kerberos", merged(object{"realm": kdctest.Realm, "kdc": list{k.Address}, "spn": spn}, kerberos))
	}
	for _, tt := range []struct {
		name   string
		config object
		says   []string
	}{
		{"password", with(config(nil), "auth", "kerberos"), nil},
		{"password by auto", config(nil), nil},
		{"krb5.conf", with(config(nil), "kerberos", object{"krb5_conf": k.ConfigFile, "spn": spn}), nil},
		{"keytab", with(config(object{"keytab_file": k.Keytab("administrator")}), "password", nil), nil},
		{"credential cache", with(with(config(object{"ccache_file": k.CCache("administrator", password)}), "password", nil), "user", nil), nil},
		{"wrong password", with(config(nil), "password", "wrong-secret"),
			[]string{"Host: hv1\n", "URL: https://", "Authentication: kerberos, chosen by auto, user", "TLS: TLS 1.3, the certificate was verified", "Host offers: Negotiate, Kerberos", "wrong in the realm LAB.EXAMPLE"}},
		{"unknown service", config(object{"spn": "HTTP/hv9.lab.example"}), []string{"no service HTTP/hv9.lab.example", "setspn -Q HTTP/hv9.lab.example"}},
		{"no KDC", config(object{"kdc": list{fmt.Sprintf("127.0.0.1:%d", closedPort(t))}}), []string{"No key distribution center of the realm LAB.EXAMPLE answers", "TCP port 88"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := reach(t, tt.config)
			if tt.says == nil {
				expect(t, "error", d, nil)
			}
			for _, want := range tt.says {
				if !strings.Contains(d.String(), want) {
					t.Errorf("%s\nhas no %q", d, want)
				}
			}
			if strings.Contains(d.String(), password) || strings.Contains(d.String(), "wrong-secret") {
				t.Errorf("a password is in the message: %s", d)
			}
		})
	}
}

// TestAuthenticationByEnvironment: everything that the configuration leaves out.
func TestAuthenticationByEnvironment(t *testing.T) {
	l := startLab(t, "intel-x722", listeners(lab.ScenarioListener{Certificate: true}))
	host := l.ready.Hosts[0]
	for name, value := range map[string]string{
		"HYPERV_AUTH": "certificate", "HYPERV_PORT": fmt.Sprint(host.HTTPSPort), "HYPERV_CA_FILE": host.CAFile, "HYPERV_TLS_MIN_VERSION": "1.2",
		"HYPERV_CLIENT_CERTIFICATE_FILE": host.ClientCertificateFile, "HYPERV_CLIENT_KEY_FILE": host.ClientKeyFile,
	} {
		t.Setenv(name, value)
	}
	expect(t, "error", reach(t, object{"hosts": object{"hv1": object{"address": "127.0.0.1"}}}), nil)
	info, err := os.Stat(host.ClientKeyFile)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key can be read by others: %v", info.Mode())
	}
}
