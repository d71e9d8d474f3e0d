package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

type netAdapterRestartModel struct {
	ID               types.String   `tfsdk:"id"`
	Host             types.String   `tfsdk:"host"`
	NetAdapterNames  types.List     `tfsdk:"net_adapter_names"`
	Triggers         types.Map      `tfsdk:"triggers"`
	RestartWhen      types.String   `tfsdk:"restart_when"`
	RestartOnDestroy types.Bool     `tfsdk:"restart_on_destroy"`
	Profile          types.String   `tfsdk:"profile"`
	Devices          types.List     `tfsdk:"devices"`
	PlannedRestarts  types.List     `tfsdk:"planned_restarts"`
	PendingRestarts  types.List     `tfsdk:"pending_restarts"`
	Timeouts         timeouts.Value `tfsdk:"timeouts"`
}

type restartedDeviceModel struct {
	Location types.String  `tfsdk:"location"`
	Ports    types.List    `tfsdk:"ports"`
	Bounced  types.Bool    `tfsdk:"restarted"`
	Seconds  types.Float64 `tfsdk:"seconds"`
	Owed     types.List    `tfsdk:"owed"`
}

func restartedDeviceType() types.ObjectType {
	texts := types.ListType{ElemType: types.StringType}
	return types.ObjectType{AttrTypes: map[string]attr.Type{"location": types.StringType, "ports": texts, "restarted": types.BoolType, "seconds": types.Float64Type, "owed": texts}}
}

// When a net adapter is restarted.
const (
	restartWhenOwed   = "owed"
	restartWhenAlways = "always"
)

// owner names the resource's own debts in the ledger.
func (m *netAdapterRestartModel) owner() string {
	return "hyperv_net_adapter_restart:" + strings.ToLower(namesOf(m.NetAdapterNames)[0])
}

func (m *netAdapterRestartModel) spec(owed bool) hyperv.NetAdapterRestartSpec {
	return hyperv.NetAdapterRestartSpec{
		NetAdapterNames: namesOf(m.NetAdapterNames), Profile: m.Profile.ValueString(), OnlyIfOwed: owed,
		Owner: m.owner(), Reason: "triggers of hyperv_net_adapter_restart changed, and restart_when is always",
	}
}

// fillNew stores what a create, or a change of net adapters, leaves open: id and profile go by the first device.
func (m *netAdapterRestartModel) fillNew(host string, devices []hyperv.DeviceRestart) {
	if m.ID.IsUnknown() || m.ID.IsNull() {
		m.ID = types.StringValue(formatID(host, devices[0].Ports[0]))
	}
	if m.Profile.IsUnknown() || m.Profile.IsNull() {
		m.Profile = types.StringValue(devices[0].Profile)
	}
}

// fillDevices stores what became of the devices.
func (m *netAdapterRestartModel) fillDevices(ctx context.Context, devices []hyperv.DeviceRestart, diags *diag.Diagnostics) {
	models := make([]restartedDeviceModel, 0, len(devices))
	for _, r := range devices {
		var owed []string
		for _, d := range r.Owed {
			owed = append(owed, d.Reason)
		}
		ports, d := types.ListValueFrom(ctx, types.StringType, nonNil(r.Ports))
		diags.Append(d...)
		reasons, d := types.ListValueFrom(ctx, types.StringType, nonNil(owed))
		diags.Append(d...)
		models = append(models, restartedDeviceModel{types.StringValue(r.Location), ports, types.BoolValue(r.Bounced), types.Float64Value(float64(r.Took.Milliseconds()) / 1000), reasons})
	}
	l, d := types.ListValueFrom(ctx, restartedDeviceType(), models)
	diags.Append(d...)
	m.Devices = l
}

// targets name what is restarted as a plan shows it: each device by its ports where they are known, else the adapters as configured.
func (m *netAdapterRestartModel) targets(ctx context.Context, state *netAdapterRestartModel, diags *diag.Diagnostics) []string {
	if state == nil || !state.NetAdapterNames.Equal(m.NetAdapterNames) || !isKnownList(state.Devices) || len(state.Devices.Elements()) == 0 {
		return []string{joinNames(m.NetAdapterNames)}
	}
	var models []restartedDeviceModel
	diags.Append(state.Devices.ElementsAs(ctx, &models, false)...)
	var out []string
	for _, d := range models {
		out = append(out, joinNames(d.Ports))
	}
	return out
}

func restartThing(names types.List) string {
	return fmt.Sprintf("restart of the net adapters %s", joinNames(names))
}

// debtsOf are all debts of the devices.
func debtsOf(devices []hyperv.DeviceRestart) []hyperv.Debt {
	var out []hyperv.Debt
	for _, d := range devices {
		out = append(out, d.Debts...)
	}
	return out
}
