package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type driverPackageModel struct {
	ID            types.String   `tfsdk:"id"`
	Host          types.String   `tfsdk:"host"`
	SourcePath    types.String   `tfsdk:"source_path"`
	Inf           types.String   `tfsdk:"inf"`
	Version       types.String   `tfsdk:"version"`
	SHA256        types.String   `tfsdk:"sha256"`
	Signer        types.String   `tfsdk:"signer"`
	PublishedName types.String   `tfsdk:"published_name"`
	ReplacedFrom  types.List     `tfsdk:"drivers_before"`
	Actual        types.Object   `tfsdk:"actual"`
	Timeouts      timeouts.Value `tfsdk:"timeouts"`
	targetModel
}

type driverPackageActual struct {
	Provider        types.String `tfsdk:"driver_provider"`
	Ours            types.Bool   `tfsdk:"installed_by_provider"`
	NetAdapters     types.List   `tfsdk:"net_adapter_names"`
	RestartRequired types.Bool   `tfsdk:"restart_required"`
}

func driverPackageActualTypes() map[string]attr.Type {
	return map[string]attr.Type{"driver_provider": types.StringType, "installed_by_provider": types.BoolType, "net_adapter_names": types.ListType{ElemType: types.StringType}, "restart_required": types.BoolType}
}

func (m *driverPackageModel) about() string {
	return m.thing(fmt.Sprintf("driver package %q", m.Inf.ValueString()))
}

func (m *driverPackageModel) spec() hyperv.DriverPackageSpec {
	return hyperv.DriverPackageSpec{Target: m.ref(), Source: m.SourcePath.ValueString(), Inf: m.Inf.ValueString(), Version: m.Version.ValueString(), SHA256: m.SHA256.ValueString(),
		Signer: m.Signer.ValueString(), Published: m.PublishedName.ValueString()}
}

// fill takes over what host and guest say. A guest that cannot be asked leaves the state as it is.
func (m *driverPackageModel) fill(ctx context.Context, host string, p *hyperv.DriverPackage, diags *diag.Diagnostics) {
	target := m.take(host, p.VM)
	if p.VM != nil {
		m.VMName = customtypes.NewName(p.VM.Name)
	}
	if p.Err != nil {
		return
	}
	m.PublishedName, m.Version = types.StringValue(strings.ToLower(p.Published)), types.StringValue(p.Version)
	if !strings.EqualFold(m.Inf.ValueString(), p.Inf) {
		m.Inf = types.StringValue(p.Inf)
	}
	m.ID = types.StringValue(target.ValueString() + "/" + formatID(m.PublishedName.ValueString()))
	actual, d := types.ObjectValueFrom(ctx, driverPackageActualTypes(), driverPackageActual{Provider: types.StringValue(p.Provider), Ours: types.BoolValue(p.Ours),
		NetAdapters: texts(ctx, p.NetAdapters, diags), RestartRequired: types.BoolValue(p.RestartRequired)})
	diags.Append(d...)
	m.Actual = actual
}

// infName accepts the file name of an INF. It stands in a command line of the Task Scheduler, which puts in environment
// variables and its own $(Arg…), and pnputil takes * and ? for patterns: such names are refused.
type infName struct{}

func (infName) Description(context.Context) string {
	return `a file name that ends in .inf, without a folder and without any of \ / : * ? " < > | % and $(`
}

func (v infName) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v infName) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	name := req.ConfigValue.ValueString()
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	control := strings.IndexFunc(name, func(r rune) bool { return r < ' ' }) >= 0
	if control || len(name) < len("x.inf") || !strings.HasSuffix(strings.ToLower(name), ".inf") || strings.ContainsAny(name, `\/:*?"<>|%`) || strings.Contains(name, "$(") {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid name of an INF", fmt.Sprintf("%q is not %s.", name, v.Description(ctx)))
	}
}

// targetFolder accepts an absolute path on a local disk of the target.
type targetFolder struct{}

func (targetFolder) Description(context.Context) string {
	return `an absolute path on a disk of the host or guest, such as C:\Drivers\icea`
}

func (v targetFolder) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v targetFolder) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	p := req.ConfigValue.ValueString()
	drive := len(p) > 3 && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z' && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
	if !drive || strings.ContainsAny(p[2:], `:*?"<>|`) || strings.IndexFunc(p, func(r rune) bool { return r < ' ' }) >= 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid folder", fmt.Sprintf("%q is not %s. A share cannot be read from a WinRM session, whose logon it does not pass on: copy the package to the target first.", p, v.Description(ctx)))
	}
}
