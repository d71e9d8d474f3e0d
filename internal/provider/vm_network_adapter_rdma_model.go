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

type vmNetworkAdapterRdmaModel struct {
	ID                     types.String   `tfsdk:"id"`
	Host                   types.String   `tfsdk:"host"`
	IovWeight              types.Int64    `tfsdk:"iov_weight"`
	RdmaWeight             types.Int64    `tfsdk:"rdma_weight"`
	IovQueuePairsRequested types.Int64    `tfsdk:"iov_queue_pairs_requested"`
	IovInterruptModeration types.String   `tfsdk:"iov_interrupt_moderation"`
	Actual                 types.Object   `tfsdk:"actual"`
	Timeouts               timeouts.Value `tfsdk:"timeouts"`
	adapterRefModel
	restartModel
	vmRestartModel
}

type vmNetworkAdapterRdmaActual struct {
	IovWeight              types.Int64  `tfsdk:"iov_weight"`
	RdmaWeight             types.Int64  `tfsdk:"rdma_weight"`
	IovQueuePairsRequested types.Int64  `tfsdk:"iov_queue_pairs_requested"`
	IovInterruptModeration types.String `tfsdk:"iov_interrupt_moderation"`
	IovUsage               types.Int64  `tfsdk:"iov_usage"`
	IovQueuePairsAssigned  types.Int64  `tfsdk:"iov_queue_pairs_assigned"`
	VFDataPathActive       types.Bool   `tfsdk:"vf_data_path_active"`
	SwitchName             types.String `tfsdk:"switch_name"`
	Status                 types.List   `tfsdk:"status"`
	StatusDescription      types.List   `tfsdk:"status_description"`
}

func vmNetworkAdapterRdmaActualTypes() map[string]attr.Type {
	texts := types.ListType{ElemType: types.StringType}
	return map[string]attr.Type{
		"iov_weight": types.Int64Type, "rdma_weight": types.Int64Type, "iov_queue_pairs_requested": types.Int64Type, "iov_interrupt_moderation": types.StringType,
		"iov_usage": types.Int64Type, "iov_queue_pairs_assigned": types.Int64Type, "vf_data_path_active": types.BoolType, "switch_name": types.StringType,
		"status": texts, "status_description": texts,
	}
}

// spec is what the adapter shall hold.
func (m *vmNetworkAdapterRdmaModel) spec() hyperv.AdapterRdmaSpec {
	return hyperv.AdapterRdmaSpec{
		IovWeight: m.IovWeight.ValueInt64Pointer(), RdmaWeight: m.RdmaWeight.ValueInt64Pointer(),
		IovQueuePairsRequested: m.IovQueuePairsRequested.ValueInt64Pointer(), IovInterruptModeration: m.IovInterruptModeration.ValueStringPointer(),
	}
}

// drift takes over what the host says of the managed settings.
func (m *vmNetworkAdapterRdmaModel) drift(a *hyperv.VMAdapter) {
	for _, x := range []struct {
		value *types.Int64
		host  int64
	}{{&m.IovWeight, a.IovWeight}, {&m.RdmaWeight, a.RdmaWeight}, {&m.IovQueuePairsRequested, a.IovQueuePairsRequested}} {
		if !x.value.IsNull() {
			*x.value = types.Int64Value(x.host)
		}
	}
	if !m.IovInterruptModeration.IsNull() {
		m.IovInterruptModeration = types.StringValue(a.IovInterruptModeration)
	}
}

// imported takes over every setting that differs from Windows' default, and the weights always.
func (m *vmNetworkAdapterRdmaModel) imported(a *hyperv.VMAdapter) {
	m.VMNetworkAdapterName = customtypes.NewName(a.Name)
	m.IovWeight = types.Int64Value(a.IovWeight)
	if a.RdmaWeight != 0 {
		m.RdmaWeight = types.Int64Value(a.RdmaWeight)
	}
	if a.IovQueuePairsRequested != 1 {
		m.IovQueuePairsRequested = types.Int64Value(a.IovQueuePairsRequested)
	}
	if a.IovInterruptModeration != "Default" {
		m.IovInterruptModeration = types.StringValue(a.IovInterruptModeration)
	}
}

// fill takes over what only the host knows.
func (m *vmNetworkAdapterRdmaModel) fill(ctx context.Context, host string, a *hyperv.VMAdapter, diags *diag.Diagnostics) {
	m.ID = adapterRefID(host, a)
	m.take(a)
	actual, d := types.ObjectValueFrom(ctx, vmNetworkAdapterRdmaActualTypes(), vmNetworkAdapterRdmaActual{
		IovWeight: types.Int64Value(a.IovWeight), RdmaWeight: types.Int64Value(a.RdmaWeight), IovQueuePairsRequested: types.Int64Value(a.IovQueuePairsRequested),
		IovInterruptModeration: types.StringValue(a.IovInterruptModeration), IovUsage: types.Int64Value(a.IovUsage), IovQueuePairsAssigned: types.Int64Value(a.IovQueuePairsAssigned),
		VFDataPathActive: types.BoolValue(a.VFDataPathActive), SwitchName: types.StringValue(a.SwitchName),
		Status: texts(ctx, a.Status, diags), StatusDescription: texts(ctx, a.StatusDescription, diags),
	})
	diags.Append(d...)
	m.Actual = actual
}
