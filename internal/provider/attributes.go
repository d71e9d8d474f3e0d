package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

// profileAttribute chooses the vendor's rules.
func profileAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: fmt.Sprintf("Vendor profile that decides keywords and restarts: one of %s. Default: by the net adapter's driver, which is known only after apply; "+
			"give it (for example from `hyperv_rdma_host`) to see restarts in the first plan.", quotedCodes(hyperv.ProfileNames())),
		Validators:    []validator.String{stringvalidator.OneOf(hyperv.ProfileNames()...)},
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

func quotedCodes(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// rebindsAfterSwitch says whether making or removing a switch restarts the device.
func rebindsAfterSwitch(profile types.String) bool {
	return hyperv.Profiles()[profile.ValueString()].RebindAfterSwitch
}

// bandwidthModeWithIov accepts the modes that leave SR-IOV on.
type bandwidthModeWithIov struct{}

func (bandwidthModeWithIov) Description(context.Context) string { return "must be Default or None" }

func (v bandwidthModeWithIov) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (bandwidthModeWithIov) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if v := req.ConfigValue.ValueString(); v != "Default" && v != "None" {
		resp.Diagnostics.AddAttributeError(req.Path, "Bandwidth mode that keeps SR-IOV off",
			fmt.Sprintf("%s is %q. A switch with SR-IOV has no minimum bandwidth: with Weight or Absolute SR-IOV stays off (facts.md 10, 11). Leave the attribute out, or set None.", req.Path, v))
	}
}

// within bounds a context by the configured timeout.
func within(ctx context.Context, configured func(context.Context, time.Duration) (time.Duration, diag.Diagnostics), fallback time.Duration, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	t, d := configured(ctx, fallback)
	diags.Append(d...)
	return context.WithTimeout(ctx, t)
}

// noTimeouts is the value of the attribute timeouts after an import.
func noTimeouts(operations ...string) timeouts.Value {
	kinds := map[string]attr.Type{}
	for _, o := range operations {
		kinds[o] = types.StringType
	}
	return timeouts.Value{Object: types.ObjectNull(kinds)}
}

// namesOf gives the texts of a list of names.
func namesOf(l types.List) []string {
	var out []string
	for _, e := range l.Elements() {
		if s, ok := e.(interface{ ValueString() string }); ok && !e.IsUnknown() {
			out = append(out, s.ValueString())
		}
	}
	return out
}

func joinNames(l types.List) string { return strings.Join(namesOf(l), ", ") }

func allKnown(l types.List) bool {
	for _, e := range l.Elements() {
		if e.IsUnknown() {
			return false
		}
	}
	return true
}

// keepOrder gives the names that the host says, in the order and spelling of the prior list where they are the same.
func keepOrder(ctx context.Context, prior types.List, names []string, diags *diag.Diagnostics) types.List {
	var out []customtypes.Name
	rest := append([]string{}, names...)
	for _, p := range namesOf(prior) {
		for i, n := range rest {
			if customtypes.EqualName(p, n) {
				out = append(out, customtypes.NewName(p))
				rest = append(rest[:i], rest[i+1:]...)
				break
			}
		}
	}
	for _, n := range rest {
		out = append(out, customtypes.NewName(n))
	}
	l, d := types.ListValueFrom(ctx, customtypes.NameType{}, out)
	diags.Append(d...)
	return l
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
