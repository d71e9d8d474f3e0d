package provider

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// connection is a host's connection after all defaults. unknown says that a part of it is known only
// after apply; the rest is then not checked.
type connection struct {
	winrm       winrm.Config
	maxSessions int
	// rollbackAfter is the host's patience before it takes back what cut it off.
	rollbackAfter time.Duration
	unknown       bool
}

// first gives the first value that is set, and which one it was; unknown counts as set.
func first[T attr.Value](values ...T) (T, int) {
	for i, v := range values {
		if !v.IsNull() {
			return v, i
		}
	}
	return values[len(values)-1], len(values) - 1
}

// source is where a connection's values come from: a host's own attributes before the top level's
// before the environment.
type source struct {
	host, top, env connectionModel
	at             path.Path // of the host's own attributes
	named          string    // the host, for messages
	loginElsewhere bool      // user and password come with each call: a guest's
}

// place is the path of an attribute at the level that a value was taken from.
func (s source) place(level int, attribute string) path.Path {
	if level == 1 {
		return path.Root(attribute)
	}
	return s.at.AtName(attribute)
}

func (s source) connection(ctx context.Context, address types.String, diags *diag.Diagnostics) connection {
	port, _ := first(s.host.Port, s.top.Port, s.env.Port)
	https, httpsFrom := first(s.host.HTTPS, s.top.HTTPS, s.env.HTTPS, types.BoolValue(true))
	auth, authFrom := first(s.host.Auth, s.top.Auth, s.env.Auth, types.StringValue(winrm.AuthAuto))
	user, _ := first(s.host.User, s.top.User, s.env.User)
	password, _ := first(s.host.Password, s.top.Password, s.env.Password)
	serverName, _ := first(s.host.TLSServerName, s.top.TLSServerName, s.env.TLSServerName)
	minTLS, _ := first(s.host.TLSMinVersion, s.top.TLSMinVersion, s.env.TLSMinVersion)
	insecure, insecureFrom := first(s.host.InsecureSkipVerify, s.top.InsecureSkipVerify, s.env.InsecureSkipVerify)
	unencrypted, _ := first(s.host.AllowUnencrypted, s.top.AllowUnencrypted, s.env.AllowUnencrypted)
	sessions, _ := first(s.host.MaxSessions, s.top.MaxSessions, s.env.MaxSessions)
	_, kerberosFrom := first(s.host.Kerberos, s.top.Kerberos, s.env.Kerberos)
	caCert, caFile, caFrom := s.authorities()
	client, clientFrom := s.clientCertificate()

	values := []attr.Value{address, port, https, auth, user, password, serverName, minTLS, insecure, unencrypted, sessions, s.host.Kerberos, s.top.Kerberos, s.env.Kerberos, caCert, caFile}
	values = append(values, client.ClientCertificate, client.ClientCertificateFile, client.ClientKey, client.ClientKeyFile)
	timing := s.timing()
	for _, v := range append(values, timing.values()...) {
		if t, err := v.ToTerraformValue(ctx); err != nil || !t.IsFullyKnown() {
			return connection{unknown: true}
		}
	}
	c := connection{
		maxSessions: int(sessions.ValueInt64()),
		winrm: winrm.Config{
			Address:            address.ValueString(),
			Port:               int(port.ValueInt64()),
			HTTPS:              https.ValueBool(),
			InsecureSkipVerify: insecure.ValueBool(),
			ServerName:         serverName.ValueString(),
			MinTLS:             tlsVersion(minTLS.ValueString()),
			Auth:               auth.ValueString(),
			User:               user.ValueString(),
			Password:           password.ValueString(),
			AllowUnencrypted:   unencrypted.ValueBool(),
			Log:                logDebug,
		},
	}
	before := diags.ErrorsCount()
	timing.fill(&c, diags)
	c.winrm.Kerberos = s.kerberos(ctx, diags)
	s.readClientCertificate(&c.winrm, client, clientFrom, diags)
	s.needs(c.winrm, diags)
	if c.winrm.InsecureSkipVerify && c.winrm.HTTPS {
		diags.AddAttributeWarning(s.place(insecureFrom, "insecure_skip_verify"), "Certificate not verified",
			fmt.Sprintf("The certificate of the host %s is not verified: whoever stands between can read and change everything that is sent, with basic authentication the password too. "+
				"Trust its authority with ca_cert or ca_file instead.", s.named))
	}
	c.winrm.CACert = s.pem(caCert, caFile, caFrom, diags)
	if diags.ErrorsCount() == before {
		s.check(c.winrm, map[string]path.Path{
			winrm.FieldAuth: s.place(authFrom, "auth"), winrm.FieldKerberos: s.place(kerberosFrom, "kerberos"),
			winrm.FieldClientCertificate: s.place(clientFrom, clientAttribute(client)), "": s.place(httpsFrom, "https"),
		}, diags)
	}
	return c
}

func (m timingModel) fill(c *connection, diags *diag.Diagnostics) {
	for _, x := range []struct {
		value timetypes.GoDuration
		to    *time.Duration
	}{
		{m.RetryBudget, &c.winrm.RetryBudget},
		{m.ConnectTimeout, &c.winrm.ConnectTimeout},
		{m.OperationTimeout, &c.winrm.OperationTimeout},
		{m.RollbackAfter, &c.rollbackAfter},
	} {
		d, problems := x.value.ValueGoDuration()
		diags.Append(problems...)
		*x.to = d
	}
}

// authorities takes both attributes from the same level: a host with ca_file does not want the
// default's ca_cert.
func (s source) authorities() (cert, file types.String, level int) {
	for i, m := range []connectionModel{s.host, s.top, s.env} {
		if !m.CACert.IsNull() || !m.CAFile.IsNull() {
			return m.CACert, m.CAFile, i
		}
	}
	return types.StringNull(), types.StringNull(), 0
}

func (s source) pem(cert, file types.String, level int, diags *diag.Diagnostics) []byte {
	var data []byte
	at, what := s.place(level, "ca_cert"), "ca_cert"
	switch {
	case !cert.IsNull():
		data = []byte(cert.ValueString())
	case !file.IsNull():
		at, what = s.place(level, "ca_file"), fmt.Sprintf("The file %q", file.ValueString())
		var err error
		if data, err = os.ReadFile(file.ValueString()); err != nil {
			diags.AddAttributeError(at, "Unable to read ca_file", fmt.Sprintf("The certificates of authorities for the host %s could not be read: %v. Correct the path in ca_file (or %s).", s.named, err, envCAFile))
			return nil
		}
	default:
		return nil
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		diags.AddAttributeError(at, "Invalid certificates", fmt.Sprintf("%s for the host %s has no certificate in PEM form (-----BEGIN CERTIFICATE-----). Export the authority's certificate as Base64 (PEM).", what, s.named))
		return nil
	}
	return data
}

// logDebug is where the layers below tell what somebody who looks for a cause wants to know.
func logDebug(ctx context.Context, message string, fields map[string]any) {
	tflog.Debug(ctx, message, fields)
}
