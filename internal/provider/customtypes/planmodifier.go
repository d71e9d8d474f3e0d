package customtypes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
)

// KeepName is a plan modifier that keeps the value in state where the configuration names the same
// thing in another spelling. It stands in front of RequiresReplace.
func KeepName() planmodifier.String { return keep{EqualName, "a name"} }

// KeepMAC does for MAC addresses what KeepName does for names.
func KeepMAC() planmodifier.String { return keep{EqualMAC, "a MAC address"} }

// KeepGUID does for GUIDs what KeepName does for names.
func KeepGUID() planmodifier.String { return keep{EqualGUID, "a GUID"} }

type keep struct {
	equal func(a, b string) bool
	what  string
}

func (k keep) Description(context.Context) string {
	return "Another spelling of " + k.what + " is no change."
}

func (k keep) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (k keep) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.StateValue.IsNull() || req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if k.equal(req.ConfigValue.ValueString(), req.StateValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}
