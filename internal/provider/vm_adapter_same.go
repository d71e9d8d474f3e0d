package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

// presentAdapterName is the key of the private state under which the name is kept that the adapter had when it was last
// looked at. The state has what the configuration says: maybe an id, or the name from before a rename.
const presentAdapterName = "present_adapter_name"

func keepAdapterName(ctx context.Context, private privateWriter, a *hyperv.VMAdapter, diags *diag.Diagnostics) {
	raw, err := json.Marshal(a.Name)
	if err != nil {
		diags.AddError("Private state", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, presentAdapterName, raw)...)
}

func adapterNameThen(ctx context.Context, private privateData, diags *diag.Diagnostics) string {
	raw, d := private.GetKey(ctx, presentAdapterName)
	diags.Append(d...)
	var name string
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &name); err != nil {
			diags.AddError("Unreadable private state", fmt.Sprintf("The name that the adapter had is not readable: %v.", err))
		}
	}
	return name
}

// keepAdapterID keeps an id of the state that the configuration writes in another form.
type keepAdapterID struct{}

func (keepAdapterID) Description(context.Context) string {
	return "Other forms of the same id are no change."
}

func (m keepAdapterID) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (keepAdapterID) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if isText(req.StateValue) && isText(req.ConfigValue) && hyperv.SameAdapterID(req.StateValue.ValueString(), req.ConfigValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}

// replaceOtherAdapter replaces the resource where the configuration means another adapter than the one that was found. That
// one may be said by its name or by its id: an import cannot know which of the two the configuration has.
type replaceOtherAdapter struct{}

func (replaceOtherAdapter) Description(context.Context) string {
	return "Another adapter replaces the resource; the same one by name instead of id, or by its new name, does not."
}

func (m replaceOtherAdapter) MarkdownDescription(ctx context.Context) string {
	return m.Description(ctx)
}

func (replaceOtherAdapter) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || resp.PlanValue.Equal(req.StateValue) {
		return
	}
	var found, id types.String
	var was, name customtypes.Name
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("adapter_id"), &found)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("vm_network_adapter_name"), &was)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("vm_network_adapter_id"), &id)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("vm_network_adapter_name"), &name)...)
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case isText(id):
		resp.RequiresReplace = !hyperv.SameAdapterID(id.ValueString(), found.ValueString())
	case isText(name.StringValue):
		then := ""
		if req.Private != nil {
			then = adapterNameThen(ctx, req.Private, &resp.Diagnostics)
		}
		resp.RequiresReplace = !customtypes.EqualName(name.ValueString(), was.ValueString()) && !customtypes.EqualName(name.ValueString(), then)
	default: // known after apply
		resp.RequiresReplace = true
	}
}

func isText(s types.String) bool { return !s.IsNull() && !s.IsUnknown() }
