package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type iwarpFirewallRuleModel struct {
	ID              types.String   `tfsdk:"id"`
	Host            types.String   `tfsdk:"host"`
	DisplayName     types.String   `tfsdk:"display_name"`
	Enabled         types.Bool     `tfsdk:"enabled"`
	Profiles        types.Set      `tfsdk:"profiles"`
	RemoteAddresses types.Set      `tfsdk:"remote_addresses"`
	RuleName        types.String   `tfsdk:"rule_name"`
	Actual          types.Object   `tfsdk:"actual"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
	targetModel
}

type iwarpFirewallRuleActual struct {
	Ours        types.Bool `tfsdk:"made_by_provider"`
	Enforcement types.List `tfsdk:"enforcement"`
	OtherRules  types.List `tfsdk:"other_rules"`
	Findings    types.List `tfsdk:"findings"`
}

func iwarpFirewallRuleActualTypes() map[string]attr.Type {
	list := types.ListType{ElemType: types.StringType}
	return map[string]attr.Type{"made_by_provider": types.BoolType, "enforcement": list, "other_rules": list, "findings": list}
}

func (m *iwarpFirewallRuleModel) about() string {
	return m.thing("firewall rule for the iWARP port mapper")
}

func (m *iwarpFirewallRuleModel) spec() hyperv.FirewallRuleSpec {
	return hyperv.FirewallRuleSpec{Target: m.ref(), RuleName: m.RuleName.ValueString(), DisplayName: m.DisplayName.ValueString(), Enabled: m.Enabled.ValueBool(),
		Profiles: setTexts(m.Profiles), RemoteAddresses: setTexts(m.RemoteAddresses)}
}

// drift takes over what host or guest say; what means the same stays as it is written.
func (m *iwarpFirewallRuleModel) drift(ctx context.Context, r *hyperv.FirewallRule, diags *diag.Diagnostics) {
	if r.VM != nil {
		m.VMName = customtypes.NewName(r.VM.Name)
	}
	if r.Err != nil {
		return
	}
	m.DisplayName, m.Enabled = types.StringValue(r.DisplayName), types.BoolValue(r.Enabled)
	if !hyperv.SameProfiles(setTexts(m.Profiles), r.Profiles) {
		m.Profiles = textSet(ctx, r.Profiles, diags)
	}
	if !hyperv.SameAddresses(setTexts(m.RemoteAddresses), r.RemoteAddresses) {
		m.RemoteAddresses = textSet(ctx, r.RemoteAddresses, diags)
	}
}

func textSet(ctx context.Context, list []string, diags *diag.Diagnostics) types.Set {
	s, d := types.SetValueFrom(ctx, types.StringType, nonNil(list))
	diags.Append(d...)
	return s
}

// fill takes over what only host and guest know. A guest that cannot be asked leaves the state as it is.
func (m *iwarpFirewallRuleModel) fill(ctx context.Context, host string, r *hyperv.FirewallRule, diags *diag.Diagnostics) {
	target := m.take(host, r.VM)
	if r.Err != nil {
		return
	}
	m.RuleName = types.StringValue(r.Name)
	if m.DisplayName.IsUnknown() || m.DisplayName.IsNull() {
		m.DisplayName = types.StringValue(r.DisplayName)
	}
	m.ID = types.StringValue(target.ValueString() + "/" + formatID(r.Name))
	actual, d := types.ObjectValueFrom(ctx, iwarpFirewallRuleActualTypes(), iwarpFirewallRuleActual{Ours: types.BoolValue(r.Ours),
		Enforcement: texts(ctx, r.Enforcement, diags), OtherRules: texts(ctx, r.Others, diags), Findings: texts(ctx, r.Findings, diags)})
	diags.Append(d...)
	m.Actual = actual
}

// remoteAddress accepts what a firewall rule takes as addresses.
type remoteAddress struct{}

func (remoteAddress) Description(context.Context) string {
	return "an address, a subnet (10.0.0.0/24 or 10.0.0.0/255.255.255.0), a range (10.0.0.1-10.0.0.9), Any, LocalSubnet, DNS, DHCP, WINS, DefaultGateway, Internet or Intranet"
}

func (v remoteAddress) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v remoteAddress) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || hyperv.ValidRemoteAddress(req.ConfigValue.ValueString()) {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Invalid remote address", fmt.Sprintf("%q is none of: %s.", req.ConfigValue.ValueString(), v.Description(ctx)))
}

// anyAlone refuses a set that has Any beside something else.
type anyAlone struct{}

func (anyAlone) Description(context.Context) string { return "Any stands alone" }

func (v anyAlone) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (anyAlone) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	list := setTexts(req.ConfigValue)
	for _, x := range list {
		if x == "Any" && len(list) > 1 {
			resp.Diagnostics.AddAttributeError(req.Path, "Any beside something else", fmt.Sprintf("%s has Any and more: Any takes in everything. Keep Any alone, or leave it out.", req.Path))
		}
	}
}
