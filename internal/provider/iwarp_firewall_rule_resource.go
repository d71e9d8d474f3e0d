package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

type iwarpFirewallRuleResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*iwarpFirewallRuleResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*iwarpFirewallRuleResource)(nil)
	_ resource.ResourceWithImportState = (*iwarpFirewallRuleResource)(nil)
)

func newIwarpFirewallRuleResource() resource.Resource { return &iwarpFirewallRuleResource{} }

func iwarpFirewallRuleImports() []importForm {
	return []importForm{{Parts: []string{"host", "rule"}, Example: "hv1/Intel Ethernet iWARP port mapper"}, {Parts: []string{"host", "vm", "rule"}, Example: "hv1/vm1/Intel Ethernet iWARP port mapper"}}
}

func (r *iwarpFirewallRuleResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_iwarp_firewall_rule"
}

func (r *iwarpFirewallRuleResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	anyOnly := setdefault.StaticValue(types.SetValueMust(types.StringType, []attr.Value{types.StringValue("Any")}))
	list := func(description string) schema.ListAttribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	attributes := map[string]schema.Attribute{
		"display_name": schema.StringAttribute{Optional: true, Computed: true,
			MarkdownDescription: "Name that Windows shows. Default: `iWARP port mapper (UDP 3935)` for a rule that is made, or the one that the rule has. Changed in place.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"enabled": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether the rule counts. Default: true. Reads false too where somebody made another rule of it (another port, direction or action). Changed in place."},
		"profiles": schema.SetAttribute{Optional: true, Computed: true, ElementType: types.StringType, Default: anyOnly,
			MarkdownDescription: "Network profiles in which the rule counts: `Domain`, `Private`, `Public`, or `Any` alone (default). Changed in place.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), anyAlone{}, setvalidator.ValueStringsAre(stringvalidator.OneOf(append([]string{"Any"}, hyperv.FirewallProfiles()...)...))}},
		"remote_addresses": schema.SetAttribute{Optional: true, Computed: true, ElementType: types.StringType, Default: anyOnly,
			MarkdownDescription: "Addresses from which the port is reached: addresses, subnets (`10.0.0.0/24` or `10.0.0.0/255.255.255.0`), ranges (`10.0.0.1-10.0.0.9`), `LocalSubnet`, `DNS`, `DHCP`, `WINS`, `DefaultGateway`, `Internet`, `Intranet`, or `Any` alone (default). Changed in place.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), anyAlone{}, setvalidator.ValueStringsAre(remoteAddress{})}},
		"rule_name": schema.StringAttribute{Computed: true, MarkdownDescription: "Unique name of the rule in Windows Firewall.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What host or guest say.",
			Attributes: map[string]schema.Attribute{
				"made_by_provider": schema.BoolAttribute{Computed: true, MarkdownDescription: "The provider made the rule, and removes it on destroy. A rule that was there before stays."},
				"enforcement":      list("EnforcementStatus of the rule in the active store: `Full`, or why the rule does not count now (`InactiveProfile`, `FirewallOffInProfile`, `CategoryOff`, …)."),
				"other_rules":      list("Other rules that let the port mapper in, the installer's among them."),
				"findings":         list("Why the rule has no effect: Windows Firewall is off, another product has taken over, or a group policy lets no local rules count."),
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addTargetAttributes(attributes, "the rule in the guest")
	attributes["id"] = computedForGood("`host/name of the rule` on a host, `host/GUID of the VM/name of the rule` in a guest. Import takes the same, also with the rule's display name and the VM's name: `hv1/Intel Ethernet iWARP port mapper`. A `/` inside a part is written `%2F`, a `%` is written `%25`.")
	resp.Schema = schema.Schema{
		MarkdownDescription: "Inbound rule of Windows Firewall for the iWARP port mapper (UDP 3935; facts.md 69), on a host or in a guest. " +
			"The driver's installer makes a rule of its own: where one is equal, no second one is made, with a warning; import it to change it. " +
			"Where Windows Firewall is off or another product is the firewall, the rule is made and a warning says that it has no effect. Destroy removes the rule only if the provider made it.",
		Attributes: attributes,
	}
}

// ModifyPlan fills in the host and drops changes that are only another spelling.
func (r *iwarpFirewallRuleResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	unchanged, d := planUnchanged(ctx, req)
	resp.Diagnostics.Append(d...)
	if unchanged && !resp.Diagnostics.HasError() {
		resp.Plan.Raw = req.State.Raw
	}
}

func (r *iwarpFirewallRuleResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m iwarpFirewallRuleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	m.VMID = types.StringNull()
	rule, err := h.CreateFirewallRule(ctx, m.spec())
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", m.about(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, rule, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, rule.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *iwarpFirewallRuleResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m iwarpFirewallRuleModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || r.notYet(m.Host) {
		return
	}
	h := r.host(m.Host, &resp.Diagnostics)
	if h == nil {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Read, 2*time.Minute, &resp.Diagnostics)
	defer cancel()
	rule, err := h.ReadFirewallRule(ctx, m.ref(), m.RuleName.ValueString())
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", m.about(), h.Name}, err)
		return
	}
	if rule.Err != nil {
		addWarning(&resp.Diagnostics, failed{"look into the guest for", m.about(), h.Name}, rule.Err)
	}
	was := m.VMName
	m.drift(ctx, rule, &resp.Diagnostics)
	m.fill(ctx, h.Name, rule, &resp.Diagnostics)
	rememberVMName(ctx, was, m.VMName, req, resp)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *iwarpFirewallRuleResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state iwarpFirewallRuleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	m.RuleName = state.RuleName
	ref := state.ref()
	ref.Credential = m.Credential.ValueString()
	rule, err := h.UpdateFirewallRule(ctx, m.spec(), ref)
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", state.about(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, rule, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, rule.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *iwarpFirewallRuleResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m iwarpFirewallRuleModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	notes, err := h.DeleteFirewallRule(ctx, m.spec(), m.forget())
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", m.about(), h.Name}, err)
	}
}

// ImportState takes host/rule or host/VM/rule, the rule by its name or its display name.
func (r *iwarpFirewallRuleResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	h, target, parts := r.importTarget(ctx, req.ID, iwarpFirewallRuleImports(), &resp.Diagnostics)
	if target == nil {
		return
	}
	m := iwarpFirewallRuleModel{Host: types.StringValue(h.Name), targetModel: *target, Timeouts: noTimeouts("create", "read", "update", "delete")}
	rule, err := h.FindFirewallRule(ctx, m.ref(), parts[len(parts)-1])
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", m.about(), h.Name}, err)
		return
	}
	m.Profiles, m.RemoteAddresses = textSet(ctx, rule.Profiles, &resp.Diagnostics), textSet(ctx, rule.RemoteAddresses, &resp.Diagnostics)
	m.drift(ctx, rule, &resp.Diagnostics)
	m.fill(ctx, h.Name, rule, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
