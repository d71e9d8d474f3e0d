package provider

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Environment variables that stand in where the configuration says nothing.
const (
	envHost               = "HYPERV_HOST"
	envPort               = "HYPERV_PORT"
	envHTTPS              = "HYPERV_HTTPS"
	envAuth               = "HYPERV_AUTH"
	envUser               = "HYPERV_USER"
	envPassword           = "HYPERV_PASSWORD"
	envCAFile             = "HYPERV_CA_FILE"
	envTLSServerName      = "HYPERV_TLS_SERVER_NAME"
	envInsecureSkipVerify = "HYPERV_INSECURE_SKIP_VERIFY"
	envAllowUnencrypted   = "HYPERV_ALLOW_UNENCRYPTED"
	envMaxSessions        = "HYPERV_MAX_SESSIONS"
	envTLSMinVersion      = "HYPERV_TLS_MIN_VERSION"
	envClientCertificate  = "HYPERV_CLIENT_CERTIFICATE_FILE"
	envClientKey          = "HYPERV_CLIENT_KEY_FILE"
	envKerberos           = "HYPERV_KERBEROS_" // and REALM, KDC, KRB5_CONF, KEYTAB_FILE, CCACHE_FILE, SPN
	envGuestUser          = "HYPERV_GUEST_USER"
	envGuestPassword      = "HYPERV_GUEST_PASSWORD"
)

// environment looks up a variable; an empty one counts as not set.
type environment func(name string) string

func newEnvironment() environment { return os.Getenv }

func (e environment) text(name string) types.String {
	if v := e(name); v != "" {
		return types.StringValue(v)
	}
	return types.StringNull()
}

func (e environment) number(name string, from, to int64, diags *diag.Diagnostics) types.Int64 {
	v := e(name)
	if v == "" {
		return types.Int64Null()
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < from || n > to {
		diags.AddError("Invalid environment variable "+name, fmt.Sprintf("%s is %q, but must be a whole number from %d to %d. Correct or unset it.", name, v, from, to))
		return types.Int64Null()
	}
	return types.Int64Value(n)
}

func (e environment) truth(name string, diags *diag.Diagnostics) types.Bool {
	v := e(name)
	if v == "" {
		return types.BoolNull()
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		diags.AddError("Invalid environment variable "+name, fmt.Sprintf("%s is %q, but must be true or false. Correct or unset it.", name, v))
		return types.BoolNull()
	}
	return types.BoolValue(b)
}

// connection is what the environment says about hosts.
func (e environment) connection(diags *diag.Diagnostics) connectionModel {
	m := connectionModel{
		Port:               e.number(envPort, 1, 65535, diags),
		HTTPS:              e.truth(envHTTPS, diags),
		Auth:               e.oneOf(envAuth, authKinds(), diags),
		User:               e.text(envUser),
		Password:           e.text(envPassword),
		CAFile:             e.text(envCAFile),
		TLSServerName:      e.text(envTLSServerName),
		InsecureSkipVerify: e.truth(envInsecureSkipVerify, diags),
		AllowUnencrypted:   e.truth(envAllowUnencrypted, diags),
		MaxSessions:        e.number(envMaxSessions, 1, maxSessions, diags),
	}
	m.TLSMinVersion = e.oneOf(envTLSMinVersion, tlsVersions(), diags)
	m.ClientCertificateFile, m.ClientKeyFile = e.text(envClientCertificate), e.text(envClientKey)
	m.Kerberos = e.kerberos()
	m.timingModel = e.timing(diags)
	return m
}

func (e environment) oneOf(name string, allowed []string, diags *diag.Diagnostics) types.String {
	v := e.text(name)
	if !v.IsNull() && !slices.Contains(allowed, v.ValueString()) {
		diags.AddError("Invalid environment variable "+name, fmt.Sprintf("%s is %q, but must be one of %q. Correct or unset it.", name, v.ValueString(), allowed))
		return types.StringNull()
	}
	return v
}

// kerberos is set where any of its variables is.
func (e environment) kerberos() types.Object {
	values, set := map[string]attr.Value{}, false
	for name, typ := range kerberosTypes() {
		v := e.text(envKerberos + strings.ToUpper(name))
		set = set || !v.IsNull()
		values[name] = v
		if typ.Equal(types.StringType) {
			continue
		}
		list := types.ListNull(types.StringType)
		if !v.IsNull() {
			var parts []attr.Value
			for _, part := range strings.Split(v.ValueString(), ",") {
				parts = append(parts, types.StringValue(strings.TrimSpace(part)))
			}
			list = types.ListValueMust(types.StringType, parts)
		}
		values[name] = list
	}
	if !set {
		return types.ObjectNull(kerberosTypes())
	}
	return types.ObjectValueMust(kerberosTypes(), values)
}
