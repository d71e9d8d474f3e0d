package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type managementVnicRdmaModel struct {
	ID          types.String     `tfsdk:"id"`
	Host        types.String     `tfsdk:"host"`
	SwitchName  customtypes.Name `tfsdk:"switch_name"`
	Name        customtypes.Name `tfsdk:"name"`
	Rdma        types.Bool       `tfsdk:"rdma"`
	Vlan        types.Object     `tfsdk:"vlan"`
	Isolation   types.Object     `tfsdk:"isolation"`
	TeamMapping customtypes.Name `tfsdk:"team_mapping"`
	AdapterID   types.String     `tfsdk:"adapter_id"`
	SwitchID    types.String     `tfsdk:"switch_id"`
	Actual      types.Object     `tfsdk:"actual"`
	Timeouts    timeouts.Value   `tfsdk:"timeouts"`
}

type isolationModel struct {
	VlanID   types.Int64 `tfsdk:"vlan_id"`
	Untagged types.Bool  `tfsdk:"allow_untagged_traffic"`
}

func isolationTypes() map[string]attr.Type {
	return map[string]attr.Type{"vlan_id": types.Int64Type, "allow_untagged_traffic": types.BoolType}
}

type managementVnicRdmaActual struct {
	NetAdapterName types.String `tfsdk:"net_adapter_name"`
	NameMatches    types.Bool   `tfsdk:"net_adapter_name_matches"`
	SwitchName     types.String `tfsdk:"switch_name"`
	MacAddress     types.String `tfsdk:"mac_address"`
	RdmaOffered    types.Bool   `tfsdk:"rdma_offered"`
	QueuePairs     types.Int64  `tfsdk:"max_queue_pairs"`
	VlanMode       types.String `tfsdk:"vlan_mode"`
	IsolationMode  types.String `tfsdk:"isolation_mode"`
}

func managementVnicRdmaActualTypes() map[string]attr.Type {
	return map[string]attr.Type{"net_adapter_name": types.StringType, "net_adapter_name_matches": types.BoolType, "switch_name": types.StringType, "mac_address": types.StringType,
		"rdma_offered": types.BoolType, "max_queue_pairs": types.Int64Type, "vlan_mode": types.StringType, "isolation_mode": types.StringType}
}

func (m *managementVnicRdmaModel) about() string {
	return fmt.Sprintf("network adapter %q of the management operating system", m.Name.ValueString())
}

func (m *managementVnicRdmaModel) ref() hyperv.HostVNicRef {
	return hyperv.HostVNicRef{SwitchName: m.SwitchName.ValueString(), Name: m.Name.ValueString(), ID: m.AdapterID.ValueString()}
}

func (m *managementVnicRdmaModel) spec(ctx context.Context, diags *diag.Diagnostics) hyperv.HostVNicSpec {
	s := hyperv.HostVNicSpec{SwitchName: m.SwitchName.ValueString(), Name: m.Name.ValueString(), Rdma: m.Rdma.ValueBool(), TeamMapping: m.TeamMapping.ValueStringPointer()}
	if !m.Vlan.IsNull() {
		var v vlanModel
		diags.Append(m.Vlan.As(ctx, &v, basetypes.ObjectAsOptions{})...)
		s.AccessVlanID = v.AccessVlanID.ValueInt64Pointer()
	}
	if !m.Isolation.IsNull() {
		var i isolationModel
		diags.Append(m.Isolation.As(ctx, &i, basetypes.ObjectAsOptions{})...)
		s.IsolationID, s.Untagged = i.VlanID.ValueInt64Pointer(), i.Untagged.ValueBool()
	}
	return s
}

// drift takes over what the host says of the managed settings. A VLAN that was moved to the isolation setting, or back,
// is not where it is managed (facts.md 60): it shows as removed.
func (m *managementVnicRdmaModel) drift(ctx context.Context, v *hyperv.HostVNic, diags *diag.Diagnostics) {
	m.Name, m.Rdma = customtypes.NewName(v.Name), types.BoolValue(v.RdmaEnabled)
	if !m.Vlan.IsNull() {
		m.Vlan = hostVNicVlan(v)
	}
	if !m.Isolation.IsNull() {
		m.Isolation = hostVNicIsolation(ctx, v, diags)
	}
	if !m.TeamMapping.IsNull() {
		m.TeamMapping = nameOrNull(v.TeamMapping)
	}
}

func hostVNicVlan(v *hyperv.HostVNic) types.Object {
	if v.AccessVlanID == 0 || v.Isolated() {
		return types.ObjectNull(vlanTypes())
	}
	return types.ObjectValueMust(vlanTypes(), map[string]attr.Value{"access_vlan_id": types.Int64Value(v.AccessVlanID)})
}

func hostVNicIsolation(ctx context.Context, v *hyperv.HostVNic, diags *diag.Diagnostics) types.Object {
	if !v.Isolated() {
		return types.ObjectNull(isolationTypes())
	}
	o, d := types.ObjectValueFrom(ctx, isolationTypes(), isolationModel{types.Int64Value(v.IsolationID), types.BoolValue(v.Untagged)})
	diags.Append(d...)
	return o
}

// imported takes over every setting that differs from Windows' default.
func (m *managementVnicRdmaModel) imported(ctx context.Context, v *hyperv.HostVNic, diags *diag.Diagnostics) {
	m.SwitchName, m.Name, m.Rdma = customtypes.NewName(v.SwitchName), customtypes.NewName(v.Name), types.BoolValue(v.RdmaEnabled)
	m.Vlan, m.Isolation, m.TeamMapping = hostVNicVlan(v), hostVNicIsolation(ctx, v, diags), nameOrNull(v.TeamMapping)
}

// fill takes over what only the host knows.
func (m *managementVnicRdmaModel) fill(ctx context.Context, host string, v *hyperv.HostVNic, diags *diag.Diagnostics) {
	m.ID = types.StringValue(formatID(host, v.GUID))
	m.AdapterID, m.SwitchID = types.StringValue(v.GUID), types.StringValue(v.SwitchID)
	actual, d := types.ObjectValueFrom(ctx, managementVnicRdmaActualTypes(), managementVnicRdmaActual{
		NetAdapterName: nullIfEmpty(v.NetName()), NameMatches: types.BoolValue(v.NetName() == "vEthernet ("+v.Name+")"), SwitchName: types.StringValue(v.SwitchName),
		MacAddress: types.StringValue(v.MacAddress), RdmaOffered: types.BoolValue(v.RdmaListed), QueuePairs: types.Int64Value(v.QueuePairs),
		VlanMode: types.StringValue(v.VlanMode), IsolationMode: types.StringValue(v.IsolationMode),
	})
	diags.Append(d...)
	m.Actual = actual
}
