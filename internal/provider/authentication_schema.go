package provider

import (
	"crypto/tls"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// authKinds are the kinds of authentication that exist.
func authKinds() []string { return winrm.AuthKinds() }

// tlsVersions are the values of tls_min_version.
func tlsVersions() []string { return []string{"1.2", "1.3"} }

func tlsVersion(s string) uint16 {
	switch s {
	case "1.2":
		return tls.VersionTLS12
	case "1.3":
		return tls.VersionTLS13
	}
	return 0
}

// clientCertificateModel is a certificate that proves the user, with its key: each as text or as a file.
type clientCertificateModel struct {
	ClientCertificate     types.String `tfsdk:"client_certificate"`
	ClientCertificateFile types.String `tfsdk:"client_certificate_file"`
	ClientKey             types.String `tfsdk:"client_key"`
	ClientKeyFile         types.String `tfsdk:"client_key_file"`
}

func (m clientCertificateModel) set() bool {
	return !m.ClientCertificate.IsNull() || !m.ClientCertificateFile.IsNull() || !m.ClientKey.IsNull() || !m.ClientKeyFile.IsNull()
}

// kerberosModel is how tickets are got.
type kerberosModel struct {
	Realm      types.String `tfsdk:"realm"`
	KDC        types.List   `tfsdk:"kdc"`
	Krb5Conf   types.String `tfsdk:"krb5_conf"`
	KeytabFile types.String `tfsdk:"keytab_file"`
	CCacheFile types.String `tfsdk:"ccache_file"`
	SPN        types.String `tfsdk:"spn"`
}

func kerberosTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"realm": types.StringType, "kdc": types.ListType{ElemType: types.StringType}, "krb5_conf": types.StringType,
		"keytab_file": types.StringType, "ccache_file": types.StringType, "spn": types.StringType,
	}
}

// authenticationAttributes are those of the user and of how he is proved.
func authenticationAttributes(intro string) map[string]schema.Attribute {
	text := func(description string, validators ...validator.String) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: append([]validator.String{stringvalidator.LengthAtLeast(1)}, validators...)}
	}
	secret := func(a schema.StringAttribute) schema.StringAttribute {
		a.Sensitive = true
		return a
	}
	not := func(name string) validator.String {
		return stringvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName(name))
	}
	return map[string]schema.Attribute{
		"auth": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: intro + "Kind of authentication. `auto`: the safest that the host offers and that there are credentials for; " +
				"a client certificate, else `kerberos` if that is set, else `ntlm`, else `basic` over HTTPS with a verified certificate. " +
				"`ntlm`: over HTTPS bound to the host's certificate, over HTTP with every message sealed. `kerberos`: over HTTPS. " +
				"`certificate`: a client certificate, over HTTPS. `basic`: the password itself, over HTTPS. Default: `auto`. Environment: `HYPERV_AUTH`.",
			Validators: []validator.String{stringvalidator.OneOf(authKinds()...)},
		},
		"user": text(intro + "User on the host, a member of its Administrators group: `name` for a local user, `DOMAIN\\name` or `name@domain` for one of a domain. " +
			"Not needed with a client certificate or a Kerberos credential cache. Environment: `HYPERV_USER`."),
		"password": schema.StringAttribute{
			Optional:  true,
			Sensitive: true,
			MarkdownDescription: intro + "Password of the user. It is never in the state; a literal or an ordinary variable stands in saved plans, an ephemeral variable does not. " +
				"Not needed with a client certificate, a keytab or a credential cache. Environment: `HYPERV_PASSWORD`.",
		},
		"client_certificate":      text(intro+"Client certificate (PEM) that the host maps to a user. Not together with `client_certificate_file`.", not("client_certificate_file")),
		"client_certificate_file": text(intro + "File with the client certificate (PEM). Not together with `client_certificate`. Environment: `HYPERV_CLIENT_CERTIFICATE_FILE`."),
		"client_key":              secret(text(intro+"Private key (PEM, not encrypted) of the client certificate. Not together with `client_key_file`.", not("client_key_file"))),
		"client_key_file":         text(intro + "File with the private key (PEM, not encrypted) of the client certificate. Not together with `client_key`. Environment: `HYPERV_CLIENT_KEY_FILE`."),
		"kerberos": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: intro + "Kerberos, for `kerberos` and `auto`. May be empty (`{}`) where the system's krb5.conf, `user` and `password` say everything. Each setting of a host goes before the one for all hosts. " +
				"Environment: `HYPERV_KERBEROS_REALM`, `HYPERV_KERBEROS_KDC` (several with commas), `HYPERV_KERBEROS_KRB5_CONF`, `HYPERV_KERBEROS_KEYTAB_FILE`, `HYPERV_KERBEROS_CCACHE_FILE`, `HYPERV_KERBEROS_SPN`.",
			Attributes: map[string]schema.Attribute{
				"realm": text("Realm of the user, in capitals. Default: what stands behind `@` in `user`, else `default_realm` of krb5.conf."),
				"kdc": schema.ListAttribute{
					Optional:            true,
					ElementType:         types.StringType,
					MarkdownDescription: "Key distribution centers (domain controllers), each `host` or `host:port`. Default: those of krb5.conf; without one, DNS is asked. Not together with `krb5_conf`.",
					Validators: []validator.List{
						listvalidator.SizeAtLeast(1), listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1)),
						listvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("krb5_conf")),
					},
				},
				"krb5_conf":   text("File to use in place of the system's krb5.conf (`KRB5_CONFIG`, `/etc/krb5.conf`)."),
				"keytab_file": text("File with the user's keys, in place of `password`. Not together with `ccache_file`.", not("ccache_file")),
				"ccache_file": text("File with tickets that `kinit` got, in place of `user` and `password`. Nobody renews them while Terraform runs."),
				"spn":         text("Service principal name of the host. Default: `HTTP/` and the address, which must then be the host's DNS name."),
			},
		},
	}
}
