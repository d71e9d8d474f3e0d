package provider

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func fakeEnvironment(vars map[string]string) environment {
	return func(name string) string { return vars[name] }
}

func TestEnvironment(t *testing.T) {
	base := map[string]string{envHost: "hv1.example", envUser: "u", envPassword: "p"}
	plus := func(more ...string) map[string]string {
		m := map[string]string{}
		for k, v := range base {
			m[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	tests := []struct {
		name  string
		vars  map[string]string
		error string // part of the only error, "" for none
		check func(c *client) bool
	}{
		{"nothing", nil, "", func(c *client) bool { return len(c.hosts) == 0 }},
		{"one host", base, "", func(c *client) bool {
			w := c.hosts["hv1.example"].connection.winrm
			return w.Address == "hv1.example" && w.HTTPS && w.User == "u" && w.Password == "p" && w.Auth == "auto" && w.Kerberos == nil && w.MinTLS == 0
		}},
		{"all", plus(envPort, "1", envHTTPS, "false", envAuth, "basic", envTLSServerName, "n", envInsecureSkipVerify, "1", envAllowUnencrypted, "true", envMaxSessions, "3"), "", func(c *client) bool {
			x := c.hosts["hv1.example"].connection
			return x.winrm.Port == 1 && !x.winrm.HTTPS && x.winrm.ServerName == "n" && x.winrm.InsecureSkipVerify && x.winrm.AllowUnencrypted && x.maxSessions == 3
		}},
		{"bad port", plus(envPort, "x"), `HYPERV_PORT is "x"`, nil},
		{"port out of range", plus(envPort, "70000"), "from 1 to 65535", nil},
		{"bad bool", plus(envHTTPS, "maybe"), `HYPERV_HTTPS is "maybe", but must be true or false`, nil},
		{"bad auth", plus(envAuth, "telepathy"), `HYPERV_AUTH is "telepathy"`, nil},
		{"bad TLS version", plus(envTLSMinVersion, "1.1"), `HYPERV_TLS_MIN_VERSION is "1.1"`, nil},
		{"TLS version", plus(envTLSMinVersion, "1.3"), "", func(c *client) bool { return c.hosts["hv1.example"].connection.winrm.MinTLS == tls.VersionTLS13 }},
		{"Kerberos", plus(envKerberos+"REALM", "R", envKerberos+"KDC", "a, b:89", envKerberos+"SPN", "HTTP/x", envAuth, "kerberos"), "", func(c *client) bool {
			w := c.hosts["hv1.example"].connection.winrm
			return w.Auth == "kerberos" && w.Kerberos.Realm == "R" && fmt.Sprint(w.Kerberos.KDC) == "[a b:89]" && w.Kerberos.SPN == "HTTP/x"
		}},
		{"keytab that is missing", plus(envKerberos+"REALM", "R", envKerberos+"KEYTAB_FILE", "/missing.keytab"), "/missing.keytab", nil},
		{"no client key", map[string]string{envHost: "h", envAuth: "certificate", envClientCertificate: os.DevNull}, envClientKey, nil},
		{"empty client certificate", plus(envClientCertificate, os.DevNull, envClientKey, os.DevNull), "cannot be used", nil},
		{"no user", map[string]string{envHost: "h", envPassword: "p"}, "HYPERV_USER", nil},
		{"missing CA file", plus(envCAFile, "/missing.pem"), "/missing.pem", nil},
		{"Basic over HTTP", plus(envHTTPS, "false", envAuth, "basic"), "allow_unencrypted", nil},
		{"HTTP", plus(envHTTPS, "false"), "", func(c *client) bool { return !c.hosts["hv1.example"].connection.winrm.HTTPS }},
		{"host with a port", plus(envHost, "hv1:5986"), `HYPERV_HOST is "hv1:5986"`, nil},
		{"guest", plus(envGuestUser, "g", envGuestPassword, "q"), "", func(c *client) bool {
			u, p, err := c.guests.find("any", "")
			return u == "g" && p == "q" && err == nil
		}},
		{"guest without password", plus(envGuestUser, "g"), envGuestPassword, nil},
		{"guest without user", plus(envGuestPassword, "g"), envGuestUser, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d diag.Diagnostics
			m := providerModel{Hosts: types.MapNull(types.StringType), Guests: types.MapNull(types.StringType), GuestCredentials: types.MapNull(types.StringType)}
			c := newClient(t.Context(), m, fakeEnvironment(tt.vars), &d)
			errs := d.Errors()
			switch {
			case tt.error == "" && len(errs) > 0, tt.error != "" && len(errs) != 1:
				t.Fatalf("errors: %v", errs)
			case tt.error != "" && !strings.Contains(errs[0].Detail(), tt.error):
				t.Errorf("error %q has no %q", errs[0].Detail(), tt.error)
			case tt.check != nil && !tt.check(c):
				t.Errorf("client is %+v", c.hosts)
			}
		})
	}
}

func TestConfigurationBeforeEnvironment(t *testing.T) {
	types_, host := map[string]attr.Type{"address": types.StringType}, map[string]attr.Value{"address": types.StringNull()}
	for name, a := range connectionAttributes("") {
		types_[name] = a.GetType()
		null, err := a.GetType().ValueFromTerraform(t.Context(), tftypes.NewValue(a.GetType().TerraformType(t.Context()), nil))
		if err != nil {
			t.Fatal(err)
		}
		host[name] = null
	}
	host["port"] = types.Int64Value(1)
	hosts := types.MapValueMust(types.ObjectType{AttrTypes: types_}, map[string]attr.Value{"a": types.ObjectValueMust(types_, host)})
	m := providerModel{Hosts: hosts, Guests: types.MapNull(types.StringType), GuestCredentials: types.MapNull(types.StringType)}
	m.User, m.Port = types.StringValue("top"), types.Int64Value(2)
	var d diag.Diagnostics
	c := newClient(t.Context(), m, fakeEnvironment(map[string]string{envHost: "ignored", envUser: "env", envPassword: "env", envPort: "3"}), &d)
	if d.HasError() {
		t.Fatal(d)
	}
	w := c.hosts["a"].connection.winrm
	if len(c.hosts) != 1 || w.Port != 1 || w.User != "top" || w.Password != "env" || w.Address != "a" {
		t.Errorf("port %d, user %q, password from %q, address %q, hosts %q", w.Port, w.User, w.Password, w.Address, c.names())
	}
}

func TestKerberosLevels(t *testing.T) {
	object := func(values map[string]string) types.Object {
		all := map[string]attr.Value{"kdc": types.ListNull(types.StringType)}
		for name := range kerberosTypes() {
			if name != "kdc" {
				all[name] = types.StringNull()
			}
		}
		for name, v := range values {
			all[name] = types.StringValue(v)
			if name == "kdc" {
				all[name] = types.ListValueMust(types.StringType, []attr.Value{types.StringValue(v)})
			}
		}
		return types.ObjectValueMust(kerberosTypes(), all)
	}
	null := types.ObjectNull(kerberosTypes())
	for _, tt := range []struct {
		name           string
		host, top, env types.Object
		want           string
	}{
		{"nowhere", null, null, null, "<nil>"},
		{"empty", object(nil), null, null, "&{Realm: KDC:[] ConfigFile: KeytabFile: CCacheFile: SPN:}"},
		{"each from its level", object(map[string]string{"spn": "s"}), object(map[string]string{"realm": "t", "kdc": "k", "spn": "no"}), object(map[string]string{"realm": "no", "keytab_file": "e"}),
			"&{Realm:t KDC:[k] ConfigFile: KeytabFile:e CCacheFile: SPN:s}"},
		{"what excludes each other", object(map[string]string{"krb5_conf": "c", "ccache_file": "h"}), object(map[string]string{"kdc": "no", "keytab_file": "no"}), null,
			"&{Realm: KDC:[] ConfigFile:c KeytabFile: CCacheFile:h SPN:}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d diag.Diagnostics
			s := source{host: connectionModel{Kerberos: tt.host}, top: connectionModel{Kerberos: tt.top}, env: connectionModel{Kerberos: tt.env}}
			if got := fmt.Sprintf("%+v", s.kerberos(t.Context(), &d)); got != tt.want || d.HasError() {
				t.Errorf("%s, want %s; %v", got, tt.want, d)
			}
		})
	}
}

func TestGuestLogins(t *testing.T) {
	g := guestLogins{
		credentials: map[string]guestLogin{"a": {"ua", "pa"}, "b": {"ub", "pb"}},
		guests:      map[string]string{"VM 'Ä' [1]": "a"},
		fallback:    &guestLogin{"uf", "pf"},
	}
	tests := []struct {
		name, vm, credential, user, error string
	}{
		{"named", "VM 'Ä' [1]", "b", "ub", ""},
		{"the VM's own", "VM 'Ä' [1]", "", "ua", ""},
		{"the VM's own, other case", "vm 'ä' [1]", "", "ua", ""},
		{"default", "other", "", "uf", ""},
		{"no such credential", "other", "c", "", `There is no credential "c" in guest_credentials of the provider; it has "a", "b".`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user, _, err := g.find(tt.vm, tt.credential)
			if user != tt.user || (err == nil) != (tt.error == "") || (err != nil && !strings.Contains(err.Error(), tt.error)) {
				t.Errorf("user %q, error %v", user, err)
			}
		})
	}
	if _, _, err := (guestLogins{}).find("VM1", ""); err == nil || !strings.Contains(err.Error(), "HYPERV_GUEST_USER") {
		t.Errorf("without any credential: %v", err)
	}
}

func TestHostByName(t *testing.T) {
	entry := func(unknown bool) *hostEntry { return &hostEntry{connection: connection{unknown: unknown}} }
	two := &client{hosts: map[string]*hostEntry{"hv1": entry(false), "hv2": entry(true)}}
	tests := []struct {
		name   string
		client *client
		host   types.String
		error  string
	}{
		{"known", two, types.StringValue("hv1"), ""},
		{"no such host", two, types.StringValue("HV1"), `no host "HV1". Use one of "hv1", "hv2"`},
		{"left out with two", two, types.StringNull(), `2 hosts, so host must say which is meant. Set host to one of "hv1", "hv2"`},
		{"left out with one", &client{hosts: map[string]*hostEntry{"hv1": entry(false)}}, types.StringNull(), ""},
		{"left out with none", &client{}, types.StringNull(), "HYPERV_HOST"},
		{"none with a name", &client{}, types.StringValue("hv1"), "HYPERV_HOST"},
		{"not known yet", two, types.StringValue("hv2"), "known only after apply"},
		{"names not known yet", &client{hostsUnknown: true}, types.StringValue("x"), "known only after apply"},
		{"names not known yet, left out", &client{hostsUnknown: true}, types.StringNull(), "known only after apply"},
		{"not configured", nil, types.StringValue("hv1"), "not configured"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d diag.Diagnostics
			b := baseResource{client: tt.client}
			h := b.host(tt.host, &d)
			if (h != nil) != (tt.error == "") || d.HasError() != (tt.error != "") {
				t.Fatalf("host %v, diagnostics %v", h, d)
			}
			if tt.error != "" && !strings.Contains(strings.ReplaceAll(d[0].Detail(), "\nNext:", ""), tt.error) {
				t.Errorf("%q has no %q", d[0].Detail(), tt.error)
			}
		})
	}
}
