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

type vmNetworkAdapterModel struct {
	ID                     types.String     `tfsdk:"id"`
	Host                   types.String     `tfsdk:"host"`
	VMName                 customtypes.Name `tfsdk:"vm_name"`
	Name                   customtypes.Name `tfsdk:"name"`
	SwitchName             customtypes.Name `tfsdk:"switch_name"`
	Vlan                   types.Object     `tfsdk:"vlan"`
	MacAddress             customtypes.MAC  `tfsdk:"mac_address"`
	DeviceNaming           types.Bool       `tfsdk:"device_naming"`
	TeamMapping            customtypes.Name `tfsdk:"team_mapping"`
	MinimumBandwidthWeight types.Int64      `tfsdk:"minimum_bandwidth_weight"`
	VMID                   types.String     `tfsdk:"vm_id"`
	AdapterID              types.String     `tfsdk:"adapter_id"`
	Actual                 types.Object     `tfsdk:"actual"`
	Timeouts               timeouts.Value   `tfsdk:"timeouts"`
	restartModel
	vmRestartModel
}

type vlanModel struct {
	AccessVlanID types.Int64 `tfsdk:"access_vlan_id"`
}

func vlanTypes() map[string]attr.Type { return map[string]attr.Type{"access_vlan_id": types.Int64Type} }

type vmNetworkAdapterActual struct {
	MacAddress        types.String `tfsdk:"mac_address"`
	Connected         types.Bool   `tfsdk:"connected"`
	SwitchID          types.String `tfsdk:"switch_id"`
	IovUsage          types.Int64  `tfsdk:"iov_usage"`
	VFDataPathActive  types.Bool   `tfsdk:"vf_data_path_active"`
	Status            types.List   `tfsdk:"status"`
	StatusDescription types.List   `tfsdk:"status_description"`
	VlanMode          types.String `tfsdk:"vlan_mode"`
	IsolationMode     types.String `tfsdk:"isolation_mode"`
	IsolationID       types.Int64  `tfsdk:"isolation_id"`
}

func vmNetworkAdapterActualTypes() map[string]attr.Type {
	texts := types.ListType{ElemType: types.StringType}
	return map[string]attr.Type{
		"mac_address": types.StringType, "connected": types.BoolType, "switch_id": types.StringType, "iov_usage": types.Int64Type, "vf_data_path_active": types.BoolType,
		"status": texts, "status_description": texts, "vlan_mode": types.StringType, "isolation_mode": types.StringType, "isolation_id": types.Int64Type,
	}
}

func (m *vmNetworkAdapterModel) thing() string {
	return fmt.Sprintf("network adapter %q of VM %q", m.Name.ValueString(), m.VMName.ValueString())
}

func (m *vmNetworkAdapterModel) ref() hyperv.AdapterRef {
	return hyperv.AdapterRef{VMID: m.VMID.ValueString(), VMName: m.VMName.ValueString(), AdapterID: m.AdapterID.ValueString(), AdapterName: m.Name.ValueString()}
}

// spec is the wanted adapter.
func (m *vmNetworkAdapterModel) spec(ctx context.Context, diags *diag.Diagnostics) hyperv.VMAdapterSpec {
	s := hyperv.VMAdapterSpec{
		VMName: m.VMName.ValueString(), Name: m.Name.ValueString(), SwitchName: m.SwitchName.ValueStringPointer(), MacAddress: m.MacAddress.ValueStringPointer(),
		DeviceNaming: m.DeviceNaming.ValueBoolPointer(), TeamMapping: m.TeamMapping.ValueStringPointer(), MinimumBandwidthWeight: m.MinimumBandwidthWeight.ValueInt64Pointer(),
	}
	s.Restarts = m.rules(ctx, m.RestartPolicy, diags)
	if !m.Vlan.IsNull() {
		var v vlanModel
		diags.Append(m.Vlan.As(ctx, &v, basetypes.ObjectAsOptions{})...)
		s.AccessVlanID = v.AccessVlanID.ValueInt64Pointer()
	}
	return s
}

// drift takes over what the host says of the managed settings. A VLAN that was moved to the isolation setting is
// not where it is managed (facts.md 60): it shows as removed.
func (m *vmNetworkAdapterModel) drift(a *hyperv.VMAdapter) {
	m.VMName, m.Name = customtypes.NewName(a.VM.Name), customtypes.NewName(a.Name)
	if !m.SwitchName.IsNull() {
		m.SwitchName = nameOrNull(a.SwitchName)
	}
	if !m.Vlan.IsNull() {
		m.Vlan = vlanValue(a)
	}
	if !m.MacAddress.IsNull() {
		m.MacAddress = macValue(a)
	}
	if !m.DeviceNaming.IsNull() {
		m.DeviceNaming = types.BoolValue(a.DeviceNaming == "On")
	}
	if !m.TeamMapping.IsNull() {
		m.TeamMapping = nameOrNull(a.TeamMapping)
	}
	if !m.MinimumBandwidthWeight.IsNull() {
		m.MinimumBandwidthWeight = types.Int64Value(a.MinimumBandwidthWeight)
	}
}

// imported takes over every setting that differs from Windows' default.
func (m *vmNetworkAdapterModel) imported(a *hyperv.VMAdapter) {
	m.VMName, m.Name = customtypes.NewName(a.VM.Name), customtypes.NewName(a.Name)
	m.SwitchName, m.Vlan, m.MacAddress, m.TeamMapping = nameOrNull(a.SwitchName), vlanValue(a), macValue(a), nameOrNull(a.TeamMapping)
	if a.DeviceNaming == "On" {
		m.DeviceNaming = types.BoolValue(true)
	}
	if a.MinimumBandwidthWeight != 0 {
		m.MinimumBandwidthWeight = types.Int64Value(a.MinimumBandwidthWeight)
	}
}

func nameOrNull(s string) customtypes.Name {
	if s == "" {
		return customtypes.NewNameNull()
	}
	return customtypes.NewName(s)
}

func macValue(a *hyperv.VMAdapter) customtypes.MAC {
	if a.DynamicMacAddress {
		return customtypes.NewMACNull()
	}
	return customtypes.NewMAC(a.MacAddress)
}

func vlanValue(a *hyperv.VMAdapter) types.Object {
	if a.AccessVlanID == 0 || a.VlanMoved() {
		return types.ObjectNull(vlanTypes())
	}
	return types.ObjectValueMust(vlanTypes(), map[string]attr.Value{"access_vlan_id": types.Int64Value(a.AccessVlanID)})
}

// fill takes over what only the host knows.
func (m *vmNetworkAdapterModel) fill(ctx context.Context, host string, a *hyperv.VMAdapter, diags *diag.Diagnostics) {
	m.ID = adapterRefID(host, a)
	m.VMID, m.AdapterID = types.StringValue(a.VM.ID), types.StringValue(a.GUID)
	actual, d := types.ObjectValueFrom(ctx, vmNetworkAdapterActualTypes(), vmNetworkAdapterActual{
		MacAddress: types.StringValue(a.MacAddress), Connected: types.BoolValue(a.SwitchID != ""), SwitchID: types.StringValue(a.SwitchID),
		IovUsage: types.Int64Value(a.IovUsage), VFDataPathActive: types.BoolValue(a.VFDataPathActive),
		Status: texts(ctx, a.Status, diags), StatusDescription: texts(ctx, a.StatusDescription, diags),
		VlanMode: types.StringValue(a.VlanMode), IsolationMode: types.StringValue(a.IsolationMode), IsolationID: types.Int64Value(a.IsolationID),
	})
	diags.Append(d...)
	m.Actual = actual
}

// texts is a list of texts; none is an empty list.
func texts(ctx context.Context, s []string, diags *diag.Diagnostics) types.List {
	l, d := types.ListValueFrom(ctx, types.StringType, nonNil(s))
	diags.Append(d...)
	return l
}
