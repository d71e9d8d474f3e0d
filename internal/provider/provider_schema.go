package provider

import (
	"context"
	"maps"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// maxSessions bounds max_sessions: a host takes 30 shells of one user by default, and several runs of
// Terraform share them.
const maxSessions = 10

type providerModel struct {
	Hosts                  types.Map    `tfsdk:"hosts"`
	GuestCredentials       types.Map    `tfsdk:"guest_credentials"`
	Guests                 types.Map    `tfsdk:"guests"`
	DefaultGuestCredential types.String `tfsdk:"default_guest_credential"`
	connectionModel
}

// connectionModel is how to reach a host; at the top level, how to reach those that do not say.
type connectionModel struct {
	Port               types.Int64  `tfsdk:"port"`
	HTTPS              types.Bool   `tfsdk:"https"`
	Auth               types.String `tfsdk:"auth"`
	User               types.String `tfsdk:"user"`
	Password           types.String `tfsdk:"password"`
	CACert             types.String `tfsdk:"ca_cert"`
	CAFile             types.String `tfsdk:"ca_file"`
	TLSServerName      types.String `tfsdk:"tls_server_name"`
	InsecureSkipVerify types.Bool   `tfsdk:"insecure_skip_verify"`
	TLSMinVersion      types.String `tfsdk:"tls_min_version"`
	AllowUnencrypted   types.Bool   `tfsdk:"allow_unencrypted"`
	MaxSessions        types.Int64  `tfsdk:"max_sessions"`
	Kerberos           types.Object `tfsdk:"kerberos"`
	clientCertificateModel
	timingModel
}

type hostModel struct {
	Address types.String `tfsdk:"address"`
	connectionModel
}

type guestCredentialModel struct {
	User     types.String `tfsdk:"user"`
	Password types.String `tfsdk:"password"`
}

func (p *hypervProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	host := connectionAttributes("")
	host["address"] = schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "DNS name or IP address of the host, without port. Default: the key in `hosts`.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1), noPort()},
	}
	attributes := connectionAttributes("Default for all `hosts`: ")
	attributes["hosts"] = schema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: "Hyper-V hosts, by the name that the attribute `host` of resources uses. No host is contacted before something on it is read or changed. " +
			"Without `hosts`, the environment variable `HYPERV_HOST` is the address of the only host, which is then also its name.",
		Validators: []validator.Map{mapvalidator.KeysAre(
			stringvalidator.LengthAtLeast(1),
			stringvalidator.RegexMatches(regexp.MustCompile(`^[^/]*$`), `a host's name stands in front of the first "/" of a resource id, so it must not have a "/" itself; rename the key`),
		)},
		NestedObject: schema.NestedAttributeObject{Attributes: host},
	}
	attributes["guest_credentials"] = schema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: "Credentials for the Windows inside virtual machines, by a name of your choice. They are used by PowerShell Direct, from the host, or by WinRM where `guests` says so. " +
			"Give passwords by an ephemeral variable or the environment: a literal stands in saved plans.",
		Validators: []validator.Map{mapvalidator.KeysAre(stringvalidator.LengthAtLeast(1))},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"user": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "User name inside the guest, for example `Administrator` or `DOMAIN\\user`.",
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"password": schema.StringAttribute{
				Required:            true,
				Sensitive:           true,
				MarkdownDescription: "Password of the user.",
			},
		}},
	}
	attributes["guests"] = schema.MapNestedAttribute{
		Optional:            true,
		MarkdownDescription: "How to reach and log on to single guests, by the name of the virtual machine (case does not matter).",
		Validators:          []validator.Map{mapvalidator.KeysAre(stringvalidator.LengthAtLeast(1))},
		NestedObject:        schema.NestedAttributeObject{Attributes: guestAttributes()},
	}
	attributes["default_guest_credential"] = schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "Key of `guest_credentials` for guests that are not in `guests`. Without it, the environment variables `HYPERV_GUEST_USER` and " +
			"`HYPERV_GUEST_PASSWORD`, and without these, the only entry of `guest_credentials`.",
		Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Sets up RDMA inside Hyper-V guests: on the hosts by Windows Remote Management, in the guests by PowerShell Direct through their host, or directly.",
		Attributes:          attributes,
	}
}

// connectionAttributes are the attributes that exist for each host and as defaults at the top level.
func connectionAttributes(intro string) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"port": schema.Int64Attribute{
			Optional:            true,
			MarkdownDescription: intro + "TCP port of WinRM, 1 to 65535. Default: 5986, with `https = false` 5985. Environment: `HYPERV_PORT`.",
			Validators:          []validator.Int64{int64validator.Between(1, 65535)},
		},
		"https": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: intro + "Speak HTTPS with the host. Over HTTP only `ntlm` is possible, which seals every message. Default: true. Environment: `HYPERV_HTTPS`.",
		},
		"ca_cert": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: intro + "Certificates (PEM) of the authorities to trust instead of the system's. Not together with `ca_file`.",
			Validators: []validator.String{
				stringvalidator.LengthAtLeast(1),
				stringvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("ca_file")),
			},
		},
		"ca_file": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: intro + "File with certificates (PEM) of the authorities to trust instead of the system's. Not together with `ca_cert`. Environment: `HYPERV_CA_FILE`.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"tls_server_name": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: intro + "Name that the host's certificate must carry. Default: the address. Environment: `HYPERV_TLS_SERVER_NAME`.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"tls_min_version": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: intro + "Lowest TLS version to accept, `1.2` or `1.3`. Default: `1.2`. A client certificate is shown with TLS 1.2 unless this is `1.3`, " +
				"and then the host must ask for it in the first handshake (see the guide [Connect a host](guides/connect-a-host.md)). Environment: `HYPERV_TLS_MIN_VERSION`.",
			Validators: []validator.String{stringvalidator.OneOf(tlsVersions()...)},
		},
		"insecure_skip_verify": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: intro + "Accept any certificate: whoever stands between you and the host can read and change everything, with `basic` the password too. " +
				"`auto` then never chooses `basic`. Default: false. Environment: `HYPERV_INSECURE_SKIP_VERIFY`.",
		},
		"allow_unencrypted": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: intro + "Permit `basic` with `https = false`, which shows the password and all data to the network. Default: false. Environment: `HYPERV_ALLOW_UNENCRYPTED`.",
		},
		"max_sessions": schema.Int64Attribute{
			Optional:            true,
			MarkdownDescription: intro + "Most WinRM shells, each with one PowerShell process, open on a host at the same time, 1 to 10. Default: 4. Environment: `HYPERV_MAX_SESSIONS`.",
			Validators:          []validator.Int64{int64validator.Between(1, maxSessions)},
		},
	}
	maps.Copy(attributes, authenticationAttributes(intro))
	maps.Copy(attributes, timingAttributes(intro))
	return attributes
}

// bareAddress is a DNS name or an IP address; an IPv6 address has more than one colon.
const bareAddress = `^[^:/]+$|^[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(%.*)?$`

const bareAddressRule = "it must be a DNS name or an IP address, without scheme, port or brackets; the port belongs into port"

// noPort rejects an address with a port, which belongs into its own attribute.
func noPort() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(bareAddress), bareAddressRule)
}
