package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// warnDisconnect says which VM adapters a switch that goes will leave, or that they keep it from going. A switch that
// is destroyed without leave to disconnect is silent: adapters of the same configuration go before it.
func warnDisconnect(ctx context.Context, resp *resource.ModifyPlanResponse, state, plan iovSwitchModel, verb string) {
	if state.Actual.IsNull() || state.Actual.IsUnknown() {
		return
	}
	var actual iovSwitchActual
	resp.Diagnostics.Append(state.Actual.As(ctx, &actual, basetypes.ObjectAsOptions{})...)
	var adapters []connectedAdapterModel
	if !actual.ConnectedAdapters.IsNull() {
		resp.Diagnostics.Append(actual.ConnectedAdapters.ElementsAs(ctx, &adapters, false)...)
	}
	if len(adapters) == 0 {
		return
	}
	lines := make([]string, len(adapters))
	for i, a := range adapters {
		whose := "not of this provider"
		if a.Ours.ValueBool() {
			whose = "of this provider"
		}
		lines[i] = fmt.Sprintf("- network adapter %q of VM %q (%s)", a.Name.ValueString(), a.VMName.ValueString(), whose)
	}
	list := strings.Join(lines, "\n")
	may, replaced := state.DisconnectAdapters.ValueBool(), verb == "Replacing"
	thing := switchThing(state.Name)
	at := path.Root("disconnect_adapters")
	switch {
	case may && replaced:
		resp.Diagnostics.AddAttributeWarning(at, fmt.Sprintf("%s %s disconnects network adapters", verb, thing),
			fmt.Sprintf("They are without network until the new switch is there. If it is again called %q they are connected to it (facts.md 62):\n%s", state.Name.ValueString(), list))
	case may:
		resp.Diagnostics.AddWarning(fmt.Sprintf("%s %s disconnects network adapters", verb, thing),
			fmt.Sprintf("Those of these that are still connected to it then are without network until a hyperv_iov_switch called %q is made on the host (facts.md 62):\n%s", state.Name.ValueString(), list))
	case replaced:
		why := "disconnect_adapters is not true"
		if plan.DisconnectAdapters.ValueBool() {
			why = "disconnect_adapters = true is not in force yet: apply it before what replaces the switch"
		}
		resp.Diagnostics.AddAttributeWarning(at, fmt.Sprintf("%s %s needs its network adapters disconnected", verb, thing),
			fmt.Sprintf("%s, so the apply stops if these are still connected then (facts.md 62):\n%s", why, list))
	}
}

// replacesSwitch says whether a change replaces the switch: what its attributes' plan modifiers decided is not told to
// the plan of the whole resource.
func replacesSwitch(state, plan iovSwitchModel) bool {
	return !plan.Host.Equal(state.Host) || !plan.EnableEmbeddedTeaming.Equal(state.EnableEmbeddedTeaming) || !plan.MinimumBandwidthMode.Equal(state.MinimumBandwidthMode)
}

// replaceGone plans a switch anew that a destroy had removed before it was cut off: its state is there only for the
// restart that it still owes.
func replaceGone(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, state iovSwitchModel) {
	if req.State.Raw.IsNull() || !state.Actual.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	for _, name := range []string{"id", "switch_id"} {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), types.StringUnknown())...)
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("actual"), types.ObjectUnknown(iovSwitchActualTypes()))...)
	resp.RequiresReplace = append(resp.RequiresReplace, path.Root("switch_id"))
}
