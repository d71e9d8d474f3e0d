package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// clientCertificate takes certificate and key from the same level.
func (s source) clientCertificate() (clientCertificateModel, int) {
	for i, m := range []clientCertificateModel{s.host.clientCertificateModel, s.top.clientCertificateModel, s.env.clientCertificateModel} {
		if m.set() {
			return m, i
		}
	}
	return clientCertificateModel{}, 0
}

// clientAttribute is the attribute that a client certificate was given by.
func clientAttribute(m clientCertificateModel) string {
	if m.ClientCertificate.IsNull() && !m.ClientCertificateFile.IsNull() {
		return "client_certificate_file"
	}
	return "client_certificate"
}

func (s source) readClientCertificate(c *winrm.Config, m clientCertificateModel, level int, diags *diag.Diagnostics) {
	read := func(text, file types.String, attribute, env string) []byte {
		if !text.IsNull() {
			return []byte(text.ValueString())
		}
		if file.IsNull() {
			return nil
		}
		data, err := os.ReadFile(file.ValueString())
		if err != nil {
			diags.AddAttributeError(s.place(level, attribute), "Unable to read "+attribute,
				fmt.Sprintf("The client certificate for the host %s could not be read: %v. Correct the path in %s (or %s).", s.named, err, attribute, env))
		}
		if err != nil || len(data) == 0 {
			return []byte("(nothing)") // or it would seem that there was none to use
		}
		return data
	}
	if !m.set() || c.Auth != winrm.AuthCertificate && c.Auth != winrm.AuthAuto {
		return
	}
	c.ClientCert = read(m.ClientCertificate, m.ClientCertificateFile, "client_certificate_file", envClientCertificate)
	c.ClientKey = read(m.ClientKey, m.ClientKeyFile, "client_key_file", envClientKey)
}

// kerberos takes each setting from the first level that has it; of two that exclude each other, from the first
// level that has either.
func (s source) kerberos(ctx context.Context, diags *diag.Diagnostics) *winrm.KerberosConfig {
	var k *winrm.KerberosConfig
	for _, o := range []types.Object{s.host.Kerberos, s.top.Kerberos, s.env.Kerberos} {
		if o.IsNull() {
			continue
		}
		if k == nil {
			k = &winrm.KerberosConfig{}
		}
		var m kerberosModel
		var kdc []string
		diags.Append(o.As(ctx, &m, basetypes.ObjectAsOptions{})...)
		diags.Append(m.KDC.ElementsAs(ctx, &kdc, false)...)
		k.Realm, k.SPN = cmp.Or(k.Realm, m.Realm.ValueString()), cmp.Or(k.SPN, m.SPN.ValueString())
		if len(k.KDC) == 0 && k.ConfigFile == "" {
			k.KDC, k.ConfigFile = kdc, m.Krb5Conf.ValueString()
		}
		if k.KeytabFile == "" && k.CCacheFile == "" {
			k.KeytabFile, k.CCacheFile = m.KeytabFile.ValueString(), m.CCacheFile.ValueString()
		}
	}
	return k
}

// needs says which part of a credential is missing.
func (s source) needs(c winrm.Config, diags *diag.Diagnostics) {
	user, password := true, true
	instead := ""
	switch c.Auth {
	case winrm.AuthCertificate:
		user, password = false, false
		if len(c.ClientCert) == 0 {
			s.missing(diags, "client_certificate_file", "client certificate", envClientCertificate, "")
		}
		if len(c.ClientKey) == 0 {
			s.missing(diags, "client_key_file", "key of a client certificate", envClientKey, "")
		}
	case winrm.AuthAuto:
		instead = ", or a client certificate"
		if len(c.ClientCert) > 0 || len(c.ClientKey) > 0 {
			user, password = false, false
		}
	}
	if k := c.Kerberos; k != nil && (c.Auth == winrm.AuthKerberos || c.Auth == winrm.AuthAuto) {
		user = user && k.CCacheFile == ""
		password = password && k.CCacheFile == "" && k.KeytabFile == ""
		instead = ", or a keytab or credential cache in kerberos"
	} else if c.Auth == winrm.AuthKerberos {
		instead = ", or a keytab or credential cache in kerberos"
	}
	user, password = user && !s.loginElsewhere, password && !s.loginElsewhere
	if user && c.User == "" {
		s.missing(diags, "user", "user", envUser, instead)
	}
	if password && c.Password == "" {
		s.missing(diags, "password", "password", envPassword, instead)
	}
}

func (s source) missing(diags *diag.Diagnostics, attribute, what, env, instead string) {
	diags.AddAttributeError(s.at.AtName(attribute), "Missing "+what,
		fmt.Sprintf("The host %s has no %s. Set %s for the host or for the whole provider, or the environment variable %s%s.", s.named, what, attribute, env, instead))
}

// check reports what the layer below finds wrong, at the attribute that says it.
func (s source) check(c winrm.Config, at map[string]path.Path, diags *diag.Diagnostics) {
	if s.loginElsewhere && (c.Kerberos == nil || c.Kerberos.CCacheFile == "") {
		c.User = "user@REALM" // who it is, and of which realm, is known when it is used
	}
	err := c.Check()
	var e *winrm.ConfigError
	switch {
	case err == nil:
	case errors.Is(err, winrm.ErrUnencrypted):
		diags.AddAttributeError(at[""], "Unencrypted connection",
			fmt.Sprintf("https is false for the host %s, and basic authentication over HTTP shows the password and all data to the network. "+
				"Use auth = \"ntlm\", which seals every message, or leave out https and give the host an HTTPS listener, or, in a lab, permit it with allow_unencrypted = true.", s.named))
	case errors.Is(err, winrm.ErrKerberosHTTP):
		diags.AddAttributeError(at[""], "Kerberos over HTTP",
			fmt.Sprintf("https is false for the host %s, and over HTTP messages would have to be sealed with Kerberos keys, which this provider cannot do yet; it never sends them unsealed. "+
				"Leave out https and give the host an HTTPS listener, or use auth = \"ntlm\", which seals over HTTP.", s.named))
	case errors.Is(err, winrm.ErrCertificateHTTP):
		diags.AddAttributeError(at[""], "Client certificate over HTTP",
			fmt.Sprintf("https is false for the host %s, and a client certificate is part of TLS. Leave out https and give the host an HTTPS listener, or choose another auth.", s.named))
	case errors.As(err, &e) && e.Field == winrm.FieldKerberos:
		diags.AddAttributeError(at[e.Field], "Invalid Kerberos settings", fmt.Sprintf("Kerberos cannot be used for the host %s: %v.", s.named, e.Err))
	case errors.As(err, &e) && e.Field == winrm.FieldClientCertificate:
		diags.AddAttributeError(at[e.Field], "Invalid client certificate",
			fmt.Sprintf("The client certificate for the host %s cannot be used: %v. Give certificate and key as Base64 (PEM), the key without a password.", s.named, e.Err))
	default:
		diags.AddAttributeError(at[winrm.FieldAuth], "Invalid connection settings", fmt.Sprintf("The settings for the host %s cannot work: %v.", s.named, err))
	}
}
