package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A resource on a device can be a part of a chain with one restart at its end: hyperv_net_adapter_restart.

func restartTriggerAttribute() schema.StringAttribute {
	return schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		MarkdownDescription: "Another value after each change of this resource that needs a restart of the device, and after no other. It is for `triggers` of `hyperv_net_adapter_restart`."}
}

func restartOnDestroyAttribute() schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true,
		MarkdownDescription: "Whether a restart of the device that is due when this resource is destroyed is made then. It is due with `restart_policy = \"auto\"`, and with either policy for the last resource of this provider on the device, which pays all that is owed for it in one restart. " +
			"Default: true. `false` leaves it owed, with a warning; the host keeps the debt."}
}

// planRestartTrigger lets restart_trigger change with a change that needs a restart, or may.
func planRestartTrigger(ctx context.Context, resp *resource.ModifyPlanResponse, n restartNeeds) {
	if len(n.Restarts)+len(n.Unknown) > 0 {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("restart_trigger"), types.StringUnknown())...)
	}
}

// newRestartTrigger is the value to store where another one was planned.
func newRestartTrigger(planned types.String) types.String {
	if planned.IsUnknown() {
		return types.StringValue(time.Now().UTC().Format(time.RFC3339Nano))
	}
	return planned
}

// keptRestartTrigger is the value after a read: a resource that was imported has made no change yet.
func keptRestartTrigger(prior types.String) types.String {
	if prior.IsNull() {
		return types.StringValue("")
	}
	return prior
}
