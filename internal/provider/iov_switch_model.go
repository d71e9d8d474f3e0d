package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type iovSwitchModel struct {
	ID                     types.String     `tfsdk:"id"`
	Host                   types.String     `tfsdk:"host"`
	Name                   customtypes.Name `tfsdk:"name"`
	NetAdapterNames        types.List       `tfsdk:"net_adapter_names"`
	EnableEmbeddedTeaming  types.Bool       `tfsdk:"enable_embedded_teaming"`
	LoadBalancingAlgorithm types.String     `tfsdk:"load_balancing_algorithm"`
	AllowManagementOS      types.Bool       `tfsdk:"allow_management_os"`
	MinimumBandwidthMode   types.String     `tfsdk:"minimum_bandwidth_mode"`
	Notes                  types.String     `tfsdk:"notes"`
	RequireIovSupport      types.Bool       `tfsdk:"require_iov_support"`
	PreserveHostIPConfig   types.Bool       `tfsdk:"preserve_host_ip_config"`
	DisconnectAdapters     types.Bool       `tfsdk:"disconnect_adapters"`
	Profile                types.String     `tfsdk:"profile"`
	RestartOnDestroy       types.Bool       `tfsdk:"restart_on_destroy"`
	RestartTrigger         types.String     `tfsdk:"restart_trigger"`
	SwitchID               types.String     `tfsdk:"switch_id"`
	Actual                 types.Object     `tfsdk:"actual"`
	Timeouts               timeouts.Value   `tfsdk:"timeouts"`
	restartModel
}

type iovSwitchActual struct {
	SwitchType               types.String `tfsdk:"switch_type"`
	IovEnabled               types.Bool   `tfsdk:"iov_enabled"`
	IovSupport               types.Bool   `tfsdk:"iov_support"`
	IovSupportReasons        types.List   `tfsdk:"iov_support_reasons"`
	IovVirtualFunctionCount  types.Int64  `tfsdk:"iov_virtual_function_count"`
	IovVirtualFunctionsInUse types.Int64  `tfsdk:"iov_virtual_functions_in_use"`
	IovQueuePairCount        types.Int64  `tfsdk:"iov_queue_pair_count"`
	IovQueuePairsInUse       types.Int64  `tfsdk:"iov_queue_pairs_in_use"`
	EmbeddedTeamingEnabled   types.Bool   `tfsdk:"embedded_teaming_enabled"`
	BandwidthReservationMode types.String `tfsdk:"bandwidth_reservation_mode"`
	AllowManagementOS        types.Bool   `tfsdk:"allow_management_os"`
	LoadBalancingAlgorithm   types.String `tfsdk:"load_balancing_algorithm"`
	ConnectedAdapters        types.List   `tfsdk:"connected_adapters"`
}

type connectedAdapterModel struct {
	VMName    types.String `tfsdk:"vm_name"`
	Name      types.String `tfsdk:"name"`
	AdapterID types.String `tfsdk:"adapter_id"`
	Ours      types.Bool   `tfsdk:"of_this_provider"`
}

func connectedAdapterType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{"vm_name": types.StringType, "name": types.StringType, "adapter_id": types.StringType, "of_this_provider": types.BoolType}}
}

func iovSwitchActualTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"switch_type": types.StringType, "iov_enabled": types.BoolType, "iov_support": types.BoolType,
		"iov_support_reasons": types.ListType{ElemType: types.StringType}, "iov_virtual_function_count": types.Int64Type,
		"iov_virtual_functions_in_use": types.Int64Type, "iov_queue_pair_count": types.Int64Type, "iov_queue_pairs_in_use": types.Int64Type,
		"embedded_teaming_enabled": types.BoolType, "bandwidth_reservation_mode": types.StringType, "allow_management_os": types.BoolType,
		"load_balancing_algorithm": types.StringType, "connected_adapters": types.ListType{ElemType: connectedAdapterType()},
	}
}

// spec is the wanted switch.
func (m *iovSwitchModel) spec(ctx context.Context, diags *diag.Diagnostics) hyperv.SwitchSpec {
	return hyperv.SwitchSpec{
		Name:                   m.Name.ValueString(),
		NetAdapterNames:        namesOf(m.NetAdapterNames),
		EnableEmbeddedTeaming:  m.EnableEmbeddedTeaming.ValueBoolPointer(),
		AllowManagementOS:      m.AllowManagementOS.ValueBoolPointer(),
		MinimumBandwidthMode:   m.MinimumBandwidthMode.ValueString(),
		Notes:                  m.Notes.ValueStringPointer(),
		LoadBalancingAlgorithm: m.LoadBalancingAlgorithm.ValueString(),
		RequireIovSupport:      m.RequireIovSupport.ValueBool(),
		Profile:                m.Profile.ValueString(),
		RestartPolicy:          m.RestartPolicy.ValueString(),
		PreserveHostIPConfig:   m.PreserveHostIPConfig.ValueBool(),
		DisconnectAdapters:     m.DisconnectAdapters.ValueBool(),
		KeepOwedOnDelete:       !m.RestartOnDestroy.IsNull() && !m.RestartOnDestroy.ValueBool(),
	}
}

// drift takes over what the host says of the managed settings.
func (m *iovSwitchModel) drift(ctx context.Context, s *hyperv.Switch, known hyperv.KnownPorts, diags *diag.Diagnostics) {
	m.Name = customtypes.NewName(s.Name)
	m.NetAdapterNames = keepOrder(ctx, m.NetAdapterNames, s.MembersAs(namesOf(m.NetAdapterNames), known), diags)
	if !m.EnableEmbeddedTeaming.IsNull() {
		m.EnableEmbeddedTeaming = types.BoolValue(s.EmbeddedTeamingEnabled)
	}
	if !m.LoadBalancingAlgorithm.IsNull() {
		m.LoadBalancingAlgorithm = types.StringValue(s.LoadBalancingAlgorithm)
	}
	if !m.AllowManagementOS.IsNull() {
		m.AllowManagementOS = types.BoolValue(s.ManagementAdapter)
	}
	if !m.Notes.IsNull() {
		m.Notes = types.StringValue(s.VMSwitch.Notes)
	}
}

// imported takes over every setting that the resource can manage.
func (m *iovSwitchModel) imported(ctx context.Context, s *hyperv.Switch, diags *diag.Diagnostics) {
	m.NetAdapterNames = keepOrder(ctx, types.ListNull(customtypes.NameType{}), s.NetAdapterNames, diags)
	m.Name = customtypes.NewName(s.Name)
	m.AllowManagementOS = types.BoolValue(s.ManagementAdapter)
	if s.EmbeddedTeamingEnabled {
		m.EnableEmbeddedTeaming = types.BoolValue(true)
		m.LoadBalancingAlgorithm = types.StringValue(s.LoadBalancingAlgorithm)
	}
	if s.VMSwitch.Notes != "" {
		m.Notes = types.StringValue(s.VMSwitch.Notes)
	}
}

// fill takes over what only the host knows.
func (m *iovSwitchModel) fill(ctx context.Context, host string, s *hyperv.Switch, diags *diag.Diagnostics) {
	m.ID = types.StringValue(formatID(host, s.ID))
	m.SwitchID = types.StringValue(s.ID)
	if m.Profile.IsNull() || m.Profile.IsUnknown() {
		m.Profile = types.StringValue(s.Profile)
	}
	reasons, d := types.ListValueFrom(ctx, types.StringType, nonNil(s.IovSupportReasons))
	diags.Append(d...)
	models := make([]connectedAdapterModel, len(s.Connected))
	for i, a := range s.Connected {
		models[i] = connectedAdapterModel{types.StringValue(a.VMName), types.StringValue(a.Name), types.StringValue(a.GUID), types.BoolValue(a.Ours)}
	}
	connected, d := types.ListValueFrom(ctx, connectedAdapterType(), models)
	diags.Append(d...)
	actual, d := types.ObjectValueFrom(ctx, iovSwitchActualTypes(), iovSwitchActual{
		SwitchType: types.StringValue(s.SwitchType), IovEnabled: types.BoolValue(s.IovEnabled), IovSupport: types.BoolValue(s.IovSupport), IovSupportReasons: reasons,
		IovVirtualFunctionCount: types.Int64Value(s.IovVirtualFunctionCount), IovVirtualFunctionsInUse: types.Int64Value(s.IovVirtualFunctionsInUse),
		IovQueuePairCount: types.Int64Value(s.IovQueuePairCount), IovQueuePairsInUse: types.Int64Value(s.IovQueuePairsInUse),
		EmbeddedTeamingEnabled: types.BoolValue(s.EmbeddedTeamingEnabled), BandwidthReservationMode: types.StringValue(s.BandwidthReservationMode),
		AllowManagementOS: types.BoolValue(s.AllowManagementOS), LoadBalancingAlgorithm: types.StringValue(s.LoadBalancingAlgorithm),
		ConnectedAdapters: connected,
	})
	diags.Append(d...)
	m.Actual = actual
}

func switchThing(name customtypes.Name) string { return fmt.Sprintf("switch %q", name.ValueString()) }
