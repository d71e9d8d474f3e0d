package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// restartModel is embedded in the model of every resource that can need a restart.
type restartModel struct {
	RestartPolicy   types.String `tfsdk:"restart_policy"`
	PlannedRestarts types.List   `tfsdk:"planned_restarts"`
	PendingRestarts types.List   `tfsdk:"pending_restarts"`
}

type plannedRestartModel struct {
	Kind      types.String `tfsdk:"kind"`
	Target    types.String `tfsdk:"target"`
	Condition types.String `tfsdk:"condition"`
	Reason    types.String `tfsdk:"reason"`
}

type pendingRestartModel struct {
	Kind   types.String `tfsdk:"kind"`
	Target types.String `tfsdk:"target"`
	Reason types.String `tfsdk:"reason"`
	Since  types.String `tfsdk:"since"`
}

func plannedRestartType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{"kind": types.StringType, "target": types.StringType, "condition": types.StringType, "reason": types.StringType}}
}

func pendingRestartType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{"kind": types.StringType, "target": types.StringType, "reason": types.StringType, "since": types.StringType}}
}

// addRestartAttributes adds restart_policy, planned_restarts and pending_restarts to a schema.
func addRestartAttributes(attributes map[string]schema.Attribute) {
	const kinds = "What is restarted: `net_adapter` (all ports of a device are disabled and enabled), `vm`, `guest_rdma` (RDMA of the guest's adapters is disabled and enabled) or `host`."
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	attributes["restart_policy"] = schema.StringAttribute{
		Optional: true,
		Computed: true,
		Default:  stringdefault.StaticString(hyperv.RestartAuto),
		MarkdownDescription: "`auto` (default): what a change needs restarted is restarted within the same apply, as `planned_restarts` shows. " +
			"`manual`: nothing is ever restarted; what is owed stays in `pending_restarts` until you restart it or set `auto`.",
		Validators: []validator.String{stringvalidator.OneOf(hyperv.RestartAuto, hyperv.RestartManual)},
	}
	attributes["planned_restarts"] = schema.ListNestedAttribute{
		Computed:            true,
		MarkdownDescription: "Restarts that the last change of this resource was planned with, in order.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"kind":      text(kinds),
			"target":    text("Name of the device's ports, the virtual machine or the host."),
			"condition": text("`always`, `if_running` (a virtual machine that is off needs none), `if_generation_1` (only if the virtual machine runs and is of Generation 1), `if_recovery_needed` (only if verification fails without it) or `if_owed` (only if a change that is made before it waits for it)."),
			"reason":    text("The change, and the rule, that makes the restart necessary."),
		}},
	}
	attributes["pending_restarts"] = schema.ListNestedAttribute{
		Computed:            true,
		MarkdownDescription: "Restarts that are owed: a change was made that has no effect before them. With `restart_policy = \"auto\"` the next apply makes them.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"kind":   text(kinds),
			"target": text("Name of the device's ports, the virtual machine or the host."),
			"reason": text("The change, and the rule, that makes the restart necessary."),
			"since":  text("When the change was made, by the host's clock (RFC 3339)."),
		}},
	}
}

// restartNeeds is what a planned change needs restarted. It must come from configuration and state
// alone: what a host says can change between plan and apply, and Terraform then rejects the apply.
type restartNeeds struct {
	Restarts []hyperv.Restart
	// Unknown lists attributes that decide, but are known only after apply.
	Unknown []path.Path
	// Attribute is where a warning points; without it, to the resource.
	Attribute path.Path
}

// planRestarts fills planned_restarts and pending_restarts in the plan of a create or an update, and
// warns once where something will, or may, restart. needs is asked only if there is a change. It says
// whether there is one; where only another spelling was planned, the plan becomes the state.
// about names the resource, as in `switch "X"`; interrupted says what a restart of net adapters hits. Call it last in ModifyPlan.
func planRestarts(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, about string, needs func() restartNeeds, interrupted ...string) bool {
	if req.Plan.Raw.IsNull() || resp.Diagnostics.HasError() {
		return false
	}
	unchanged, d := planUnchanged(ctx, req)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return false
	}
	var owed []hyperv.Restart
	var kept types.List // pending_restarts of the state
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("pending_restarts"), &kept)...)
		owed = owedRestarts(ctx, kept, &resp.Diagnostics)
	}
	var policy types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("restart_policy"), &policy)...)
	if resp.Diagnostics.HasError() {
		return false
	}
	var n restartNeeds
	if unchanged {
		resp.Plan.Raw = req.State.Raw
		if policy.ValueString() != hyperv.RestartAuto || len(owed) == 0 {
			return false
		}
	} else {
		n = needs()
	}

	planned, pending := types.ListUnknown(plannedRestartType()), types.ListUnknown(pendingRestartType())
	switch {
	case policy.IsUnknown() || len(n.Unknown) > 0:
		warnRestarts(resp, n.Attribute, about+" may need restarts", unknownRestarts(n, policy))
	case policy.ValueString() == hyperv.RestartManual:
		planned = plannedList(ctx, nil, &resp.Diagnostics)
		if len(n.Restarts) == 0 && isKnownList(kept) {
			pending = kept
		} else if len(n.Restarts) > 0 {
			warnRestarts(resp, n.Attribute, about+" will owe restarts",
				"With restart_policy = \"manual\" nothing is restarted. The change has no effect before:\n"+restartLines(n.Restarts)+interruptedBy(n.Restarts, interrupted))
		}
	default:
		all := joinRestarts(n.Restarts, owed)
		planned = plannedList(ctx, all, &resp.Diagnostics)
		if len(all) > 0 {
			warnRestarts(resp, n.Attribute, about+causes(all), "The apply restarts:\n"+restartLines(all)+interruptedBy(all, interrupted))
		} else if isKnownList(kept) {
			pending = kept
		}
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("planned_restarts"), planned)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("pending_restarts"), pending)...)
	return true
}

// warnDestroy announces what a destroy restarts, or leaves owed. Call it in ModifyPlan when the plan is null.
func warnDestroy(resp *resource.ModifyPlanResponse, about string, policy types.String, restarts []hyperv.Restart, interrupted ...string) {
	switch {
	case len(restarts) == 0:
	case policy.ValueString() == hyperv.RestartManual:
		warnRestarts(resp, path.Empty(), "Destroying "+about+" will owe restarts",
			"With restart_policy = \"manual\" nothing is restarted. What is put back has no effect before:\n"+restartLines(restarts)+interruptedBy(restarts, interrupted))
	default:
		warnRestarts(resp, path.Empty(), "Destroying "+about+causes(restarts), "The destroy restarts:\n"+restartLines(restarts)+interruptedBy(restarts, interrupted))
	}
}

// applied gives the values to store after a create or an update: what was planned stays as planned,
// what was unknown becomes what the ledger owes.
func (m restartModel) applied(ctx context.Context, debts []hyperv.Debt, diags *diag.Diagnostics) restartModel {
	if m.PlannedRestarts.IsUnknown() {
		m.PlannedRestarts = plannedList(ctx, nil, diags)
	}
	if m.PendingRestarts.IsUnknown() {
		m.PendingRestarts = pendingList(ctx, debts, diags)
	}
	return m
}

// read gives the values to store after a read: planned_restarts stays as it is, so that the next plan is empty.
func (m restartModel) read(ctx context.Context, debts []hyperv.Debt, diags *diag.Diagnostics) restartModel {
	if m.RestartPolicy.IsNull() { // after an import
		m.RestartPolicy = types.StringValue(hyperv.RestartAuto)
	}
	if m.PlannedRestarts.IsNull() {
		m.PlannedRestarts = plannedList(ctx, nil, diags)
	}
	m.PendingRestarts = pendingList(ctx, debts, diags)
	return m
}

// auto says whether restarts may be made within this apply.
func (m restartModel) auto() bool { return m.RestartPolicy.ValueString() != hyperv.RestartManual }

func plannedList(ctx context.Context, restarts []hyperv.Restart, diags *diag.Diagnostics) types.List {
	models := make([]plannedRestartModel, len(restarts))
	for i, r := range restarts {
		models[i] = plannedRestartModel{
			types.StringValue(string(r.Kind)), types.StringValue(r.Target), types.StringValue(r.Condition), types.StringValue(r.Reason),
		}
	}
	l, d := types.ListValueFrom(ctx, plannedRestartType(), models)
	diags.Append(d...)
	return l
}

func pendingList(ctx context.Context, debts []hyperv.Debt, diags *diag.Diagnostics) types.List {
	models := make([]pendingRestartModel, len(debts))
	for i, x := range debts {
		models[i] = pendingRestartModel{
			types.StringValue(string(x.Kind)), types.StringValue(x.Target), types.StringValue(x.Reason), types.StringValue(x.Since.UTC().Format(time.RFC3339)),
		}
	}
	l, d := types.ListValueFrom(ctx, pendingRestartType(), models)
	diags.Append(d...)
	return l
}

// owedRestarts turns what the state says is pending into restarts to plan.
func owedRestarts(ctx context.Context, pending types.List, diags *diag.Diagnostics) []hyperv.Restart {
	if !isKnownList(pending) {
		return nil
	}
	var models []pendingRestartModel
	diags.Append(pending.ElementsAs(ctx, &models, false)...)
	restarts := make([]hyperv.Restart, len(models))
	for i, m := range models {
		kind := hyperv.RestartKind(m.Kind.ValueString())
		condition := hyperv.Always
		if kind == hyperv.RestartVM || kind == hyperv.RestartGuestRdma {
			condition = hyperv.IfRunning
		}
		restarts[i] = hyperv.Restart{Kind: kind, Target: m.Target.ValueString(), Condition: condition,
			Reason: fmt.Sprintf("owed since %s: %s", m.Since.ValueString(), m.Reason.ValueString())}
	}
	return restarts
}

// joinRestarts adds what is owed to what a change needs; one restart of a target serves both.
func joinRestarts(needed, owed []hyperv.Restart) []hyperv.Restart {
	all := append([]hyperv.Restart(nil), needed...)
	for _, o := range owed {
		served := false
		for _, n := range all {
			served = served || (n.Kind == o.Kind && n.Target == o.Target && n.Condition != hyperv.IfRecoveryNeeded)
		}
		if !served {
			all = append(all, o)
		}
	}
	return all
}

func isKnownList(l types.List) bool { return !l.IsNull() && !l.IsUnknown() }

func unknownRestarts(n restartNeeds, policy types.String) string {
	names := make([]string, 0, len(n.Unknown)+1)
	for _, p := range n.Unknown {
		names = append(names, p.String())
	}
	if policy.IsUnknown() {
		names = append(names, "restart_policy")
	}
	text := fmt.Sprintf("Whether something restarts depends on values that are known only after apply: %s.", strings.Join(names, ", "))
	if len(n.Restarts) > 0 {
		text += " Needed in any case:\n" + restartLines(n.Restarts)
	}
	return text
}

func restartLines(restarts []hyperv.Restart) string {
	lines := make([]string, len(restarts))
	for i, r := range restarts {
		lines[i] = fmt.Sprintf("- %s %q, %s: %s", r.Kind, r.Target, strings.ReplaceAll(r.Condition, "_", " "), r.Reason)
	}
	return strings.Join(lines, "\n")
}

// addUpdateNotes adds what an update has to say. A restart that it should have made and that failed is an error; the change
// is stored.
func (m restartModel) addUpdateNotes(diags *diag.Diagnostics, notes []hyperv.Note, debts []hyperv.Debt) {
	if len(notes) > 0 && len(debts) > 0 && m.auto() {
		diags.AddError(notes[0].Summary, notes[0].Detail)
		return
	}
	addNotes(diags, notes)
}

// causes says whether restarts are certain.
func causes(restarts []hyperv.Restart) string {
	for _, r := range restarts {
		if r.Condition == hyperv.Always || r.Condition == hyperv.IfRunning {
			return " will cause restarts"
		}
	}
	return " may cause restarts"
}

func warnRestarts(resp *resource.ModifyPlanResponse, at path.Path, summary, detail string) {
	summary = strings.ToUpper(summary[:1]) + summary[1:]
	if at.Equal(path.Empty()) {
		resp.Diagnostics.AddWarning(summary, detail)
		return
	}
	resp.Diagnostics.AddAttributeWarning(at, summary, detail)
}
