package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type guestRdmaEnablementModel struct {
	ID            types.String   `tfsdk:"id"`
	Host          types.String   `tfsdk:"host"`
	Credential    types.String   `tfsdk:"credential"`
	Enabled       types.Bool     `tfsdk:"enabled"`
	Verification  types.String   `tfsdk:"verification"`
	Recovery      types.Set      `tfsdk:"recovery"`
	DriverMatch   types.String   `tfsdk:"driver_match"`
	OnUnreachable types.String   `tfsdk:"on_unreachable"`
	Triggers      types.Map      `tfsdk:"triggers"`
	Actual        types.Object   `tfsdk:"actual"`
	Timeouts      timeouts.Value `tfsdk:"timeouts"`
	adapterRefModel
	restartModel
	vmRestartModel
}

type guestRdmaActual struct {
	Stage            types.String `tfsdk:"stage"`
	NetAdapterName   types.String `tfsdk:"net_adapter_name"`
	VFName           types.String `tfsdk:"vf_name"`
	VFDescription    types.String `tfsdk:"vf_description"`
	VFDriverVersion  types.String `tfsdk:"vf_driver_version"`
	VFDriverProvider types.String `tfsdk:"vf_driver_provider"`
	VFKeyword        types.String `tfsdk:"vf_keyword"`
	NetAdapterRdma   types.Bool   `tfsdk:"net_adapter_rdma_enabled"`
	VFRdma           types.Bool   `tfsdk:"vf_rdma_enabled"`
	SMBRdmaCapable   types.Bool   `tfsdk:"smb_rdma_capable"`
	RecoverySteps    types.List   `tfsdk:"recovery_steps"`
}

func guestRdmaActualTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"stage": types.StringType, "net_adapter_name": types.StringType, "vf_name": types.StringType, "vf_description": types.StringType,
		"vf_driver_version": types.StringType, "vf_driver_provider": types.StringType, "vf_keyword": types.StringType, "net_adapter_rdma_enabled": types.BoolType,
		"vf_rdma_enabled": types.BoolType, "smb_rdma_capable": types.BoolType, "recovery_steps": types.ListType{ElemType: types.StringType},
	}
}

// Values of verification and on_unreachable.
const (
	verifyRequire = "require"
	verifyWarn    = "warn"

	unreachableError  = "error"
	unreachableForget = "forget"
)

// spec is how RDMA in the guest shall be.
func (m *guestRdmaEnablementModel) spec(ctx context.Context, diags *diag.Diagnostics) hyperv.GuestRdmaSpec {
	return hyperv.GuestRdmaSpec{Credential: m.Credential.ValueString(), Enabled: m.Enabled.ValueBool(), Require: m.Verification.ValueString() != verifyWarn,
		Recovery: setTexts(m.Recovery), DriverMatch: m.DriverMatch.ValueString(), Restarts: m.rules(ctx, m.RestartPolicy, diags)}
}

func setTexts(s types.Set) []string {
	var out []string
	for _, e := range s.Elements() {
		if t, ok := e.(types.String); ok {
			out = append(out, t.ValueString())
		}
	}
	return out
}

// drift takes over whether RDMA is on. A guest that cannot be asked, or shows no adapter of this VM adapter, says
// nothing: the state stays.
func (m *guestRdmaEnablementModel) drift(g *hyperv.GuestRdma) {
	if !g.Reachable || g.Synthetic == nil {
		return
	}
	m.Enabled = types.BoolValue(g.Enabled())
}

// imported gives what a configuration would have by default.
func (m *guestRdmaEnablementModel) imported(ctx context.Context, a *hyperv.VMAdapter, diags *diag.Diagnostics) {
	m.VMNetworkAdapterName = customtypes.NewName(a.Name)
	m.Verification, m.OnUnreachable = types.StringValue(verifyRequire), types.StringValue(unreachableError)
	recovery, d := types.SetValueFrom(ctx, types.StringType, []string{hyperv.RecoverGuestRdma})
	diags.Append(d...)
	m.Recovery, m.DriverMatch = recovery, types.StringValue(hyperv.DriverMatchWarn)
	m.Triggers = types.MapNull(types.StringType)
}

// fill takes over what only host and guest know. steps are the recovery steps of the last apply.
func (m *guestRdmaEnablementModel) fill(ctx context.Context, host string, g *hyperv.GuestRdma, steps []string, diags *diag.Diagnostics) {
	m.ID = adapterRefID(host, g.Adapter)
	m.take(g.Adapter)
	stage, _ := g.Stage()
	actual := guestRdmaActual{
		Stage: types.StringValue(stage), NetAdapterName: types.StringNull(), VFName: types.StringNull(), VFDescription: types.StringNull(), VFDriverVersion: types.StringNull(),
		VFDriverProvider: types.StringNull(), VFKeyword: types.StringNull(), NetAdapterRdma: types.BoolNull(), VFRdma: types.BoolNull(),
		SMBRdmaCapable: types.BoolNull(), RecoverySteps: texts(ctx, steps, diags),
	}
	if g.Reachable {
		actual.SMBRdmaCapable = types.BoolValue(g.Capable())
	}
	if s := g.Synthetic; s != nil {
		actual.NetAdapterName, actual.NetAdapterRdma = types.StringValue(s.Name), types.BoolValue(s.RdmaEnabled)
	}
	if vf := g.VF; vf != nil {
		actual.VFName, actual.VFDescription, actual.VFRdma = types.StringValue(vf.Name), types.StringValue(vf.InterfaceDescription), types.BoolValue(vf.RdmaEnabled)
		actual.VFDriverVersion, actual.VFDriverProvider = types.StringValue(vf.DriverVersion), types.StringValue(vf.DriverProvider)
		if vf.Keyword != "" {
			actual.VFKeyword = types.StringValue(vf.Keyword + " = " + vf.KeywordText)
		}
	}
	object, d := types.ObjectValueFrom(ctx, guestRdmaActualTypes(), actual)
	diags.Append(d...)
	m.Actual = object
}

// stepsOf are the recovery steps that the state knows.
func (m *guestRdmaEnablementModel) stepsOf() []string {
	var out []string
	if l, ok := m.Actual.Attributes()["recovery_steps"].(types.List); ok {
		for _, e := range l.Elements() {
			if t, ok := e.(types.String); ok {
				out = append(out, t.ValueString())
			}
		}
	}
	return out
}
