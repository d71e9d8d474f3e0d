package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// ModifyPlan shows the restarts: what is owed already, and what the triggers ask for.
func (r *netAdapterRestartResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	var state *netAdapterRestartModel
	var owed []hyperv.Restart
	if !req.State.Raw.IsNull() {
		state = &netAdapterRestartModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
		owed = joinRestarts(nil, owedRestarts(ctx, state.PendingRestarts, &resp.Diagnostics)) // one for each device
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if req.Plan.Raw.IsNull() {
		if state.RestartOnDestroy.ValueBool() {
			warnDestroy(resp, restartThing(state.NetAdapterNames), types.StringValue(hyperv.RestartAuto), owed, r.interrupted(state.Host, state.NetAdapterNames))
		}
		return
	}
	unchanged, d := planUnchanged(ctx, req)
	resp.Diagnostics.Append(d...)
	var plan netAdapterRestartModel
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	about := restartThing(plan.NetAdapterNames)
	if unchanged {
		resp.Plan.Raw = req.State.Raw
		if len(owed) == 0 {
			return
		}
		r.planned(ctx, resp, about, owed, plan)
		return
	}
	if state != nil && !sameNames(plan.NetAdapterNames, state.NetAdapterNames) { // maybe another first device
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), types.StringUnknown())...)
	}
	if at := undecided(plan, state); len(at) > 0 {
		n := restartNeeds{Unknown: at}
		warnRestarts(resp, at[0], about+" may be made", unknownRestarts(n, types.StringValue(hyperv.RestartAuto)))
		r.set(ctx, resp, types.ListUnknown(plannedRestartType()))
		return
	}
	var asked []hyperv.Restart
	if asksForRestart(plan, state) {
		restart := hyperv.Restart{Kind: hyperv.RestartNetAdapter, Condition: hyperv.IfOwed,
			Reason: "the end of a chain: what its parts changed has no effect before all ports of the device are disabled and enabled (facts.md 25, 33-36)"}
		if plan.RestartWhen.ValueString() == restartWhenAlways {
			restart.Condition, restart.Reason = hyperv.Always, "triggers changed, and restart_when is always (facts.md 33-36)"
		}
		for _, target := range plan.targets(ctx, state, &resp.Diagnostics) {
			restart.Target = target
			asked = append(asked, restart)
		}
	}
	r.planned(ctx, resp, about, joinRestarts(owed, asked), plan)
}

// planned stores the restarts, and warns once of them.
func (r *netAdapterRestartResource) planned(ctx context.Context, resp *resource.ModifyPlanResponse, about string, restarts []hyperv.Restart, plan netAdapterRestartModel) {
	if len(restarts) > 0 {
		warnRestarts(resp, path.Root("net_adapter_names"), about+" will be made",
			"The apply restarts:\n"+restartLines(restarts)+interruptedBy(restarts, []string{r.interrupted(plan.Host, plan.NetAdapterNames)}))
	}
	r.set(ctx, resp, plannedList(ctx, restarts, &resp.Diagnostics))
}

// set plans the computed attributes of an apply that looks at the devices.
func (r *netAdapterRestartResource) set(ctx context.Context, resp *resource.ModifyPlanResponse, planned types.List) {
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("planned_restarts"), planned)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("pending_restarts"), types.ListUnknown(pendingRestartType()))...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("devices"), types.ListUnknown(restartedDeviceType()))...)
}

// undecided lists what decides about a restart and is known only after apply.
func undecided(plan netAdapterRestartModel, state *netAdapterRestartModel) []path.Path {
	var out []path.Path
	if plan.NetAdapterNames.IsUnknown() || !allKnown(plan.NetAdapterNames) {
		out = append(out, path.Root("net_adapter_names"))
	}
	if plan.RestartWhen.IsUnknown() {
		out = append(out, path.Root("restart_when"))
	}
	if state != nil && triggersUnknown(plan.Triggers) && !asksForRestart(plan, state) { // a create restarts whatever they are
		out = append(out, path.Root("triggers"))
	}
	return out
}

func triggersUnknown(triggers types.Map) bool {
	if triggers.IsUnknown() {
		return true
	}
	for _, v := range triggers.Elements() {
		if v.IsUnknown() {
			return true
		}
	}
	return false
}

// asksForRestart says that the change is one that a restart follows: a create, other triggers or other net adapters. An
// unknown trigger does not count.
func asksForRestart(plan netAdapterRestartModel, state *netAdapterRestartModel) bool {
	if state == nil || !sameNames(plan.NetAdapterNames, state.NetAdapterNames) {
		return true
	}
	if plan.Triggers.IsUnknown() {
		return false
	}
	now, was := plan.Triggers.Elements(), state.Triggers.Elements()
	if len(now) != len(was) {
		return true
	}
	for key, v := range now {
		if old, ok := was[key]; !ok || !v.IsUnknown() && !v.Equal(old) {
			return true
		}
	}
	return false
}

// sameNames says whether two lists name the same, in the same order.
func sameNames(a, b types.List) bool {
	x, y := namesOf(a), namesOf(b)
	for i := range x {
		if i >= len(y) || !strings.EqualFold(x[i], y[i]) {
			return false
		}
	}
	return len(x) == len(y)
}
