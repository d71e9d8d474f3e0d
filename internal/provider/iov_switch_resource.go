package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type iovSwitchResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure      = (*iovSwitchResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*iovSwitchResource)(nil)
	_ resource.ResourceWithImportState    = (*iovSwitchResource)(nil)
	_ resource.ResourceWithValidateConfig = (*iovSwitchResource)(nil)
)

func newIovSwitchResource() resource.Resource { return &iovSwitchResource{} }

func iovSwitchImport() importForm {
	return importForm{Parts: []string{"host", "switch"}, Example: "hv1/W2K16-Switch"}
}

func (r *iovSwitchResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_iov_switch"
}

func (r *iovSwitchResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"id":   idAttribute(importForm{Parts: []string{"host", "switch id"}, Example: "hv1/c08cb7b8-9b3c-408e-8e30-5e16a3aeb444"}),
		"host": hostAttribute(),
		"name": schema.StringAttribute{Required: true, CustomType: customtypes.NameType{},
			MarkdownDescription: "Name of the switch. Changed in place (Rename-VMSwitch); the switch keeps its id and its adapters.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}},
		"net_adapter_names": schema.ListAttribute{Required: true, ElementType: customtypes.NameType{},
			MarkdownDescription: "Names of the physical net adapters. Several make a team (Switch Embedded Teaming, 1 to 8 identical adapters). Changed in place: a team gains and loses members, a switch without a team gets the other adapter. " + renamedNetAdapters,
			Validators:          []validator.List{listvalidator.SizeBetween(1, 8), uniqueNames{}, listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))}},
		"enable_embedded_teaming": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether the switch is a team, also of one adapter. Default: only with several adapters. Can only be chosen when the switch is made: a change replaces it.",
			PlanModifiers:       []planmodifier.Bool{boolplanmodifier.RequiresReplace()}},
		"load_balancing_algorithm": schema.StringAttribute{Optional: true,
			MarkdownDescription: "How a team spreads its load: `HyperVPort` or `Dynamic`. Changed in place.",
			Validators:          []validator.String{stringvalidator.OneOf("HyperVPort", "Dynamic")}},
		"allow_management_os": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether the host itself uses the switch, by a virtual adapter named like the switch. Default when the switch is made: true, as Windows does. Changed in place, on that one adapter only: other host adapters of the switch stay."},
		"minimum_bandwidth_mode": schema.StringAttribute{Optional: true,
			MarkdownDescription: "`Default` or `None`; both mean none on a switch with SR-IOV. `Weight` and `Absolute` keep SR-IOV off and are refused (facts.md 10, 11). Can only be chosen when the switch is made: a change replaces it.",
			Validators:          []validator.String{bandwidthModeWithIov{}},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"notes": schema.StringAttribute{Optional: true, MarkdownDescription: "Notes of the switch. Changed in place. Left out: not managed."},
		"require_iov_support": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether it is an error, and the new switch is removed again, if Windows says that SR-IOV does not work (BIOS, IOMMU, adapter). Default: a warning. " +
				"While a restart of the net adapters is owed, what Windows says does not count: with `restart_policy = \"manual\"` the check is made by the `hyperv_net_adapter_restart` that pays it, whose error it then is; the switch stays."},
		"preserve_host_ip_config": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether the host's static IP addresses, default gateways and DNS servers are given to the adapter that takes over when the switch is made on, or removed from, the net adapter that the host is reached by. " +
				"Windows sometimes loses them (facts.md 29). Default: false; a loss is then an error that says what was lost, and a switch that was made is removed again. See `rollback_after` of the provider."},
		"disconnect_adapters": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether the switch may be removed under adapters of VMs that are connected to it. Default: false; removing it is then an error that lists them. " +
				"With true they are disconnected, whoever made them, and the next `hyperv_iov_switch` of the same name on the host connects them again, with their VLAN and other settings as they were (facts.md 62): so a switch is replaced under its adapters in one apply. " +
				"An adapter that is connected elsewhere meanwhile is left alone. What counts is the value of the last apply. " +
				"Virtual adapters of the host other than the switch's own make the removal an error in any case: they would be lost (facts.md 16)."},
		"profile":            profileAttribute(),
		"restart_on_destroy": restartOnDestroyAttribute(),
		"restart_trigger":    restartTriggerAttribute(),
		"switch_id":          schema.StringAttribute{Computed: true, MarkdownDescription: "GUID of the switch.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What Windows says of the switch.",
			Attributes: map[string]schema.Attribute{
				"switch_type":                  schema.StringAttribute{Computed: true, MarkdownDescription: "`External`."},
				"iov_enabled":                  schema.BoolAttribute{Computed: true, MarkdownDescription: "SR-IOV was asked for. No proof that it works: see iov_support."},
				"iov_support":                  schema.BoolAttribute{Computed: true, MarkdownDescription: "SR-IOV works."},
				"iov_support_reasons":          schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Why it does not, in the host's language."},
				"iov_virtual_function_count":   schema.Int64Attribute{Computed: true, MarkdownDescription: "Virtual functions that the net adapter offers."},
				"iov_virtual_functions_in_use": schema.Int64Attribute{Computed: true, MarkdownDescription: "Virtual functions in use."},
				"iov_queue_pair_count":         schema.Int64Attribute{Computed: true, MarkdownDescription: "Queue pairs that the net adapter offers."},
				"iov_queue_pairs_in_use":       schema.Int64Attribute{Computed: true, MarkdownDescription: "Queue pairs in use."},
				"embedded_teaming_enabled":     schema.BoolAttribute{Computed: true, MarkdownDescription: "The switch is a team."},
				"bandwidth_reservation_mode":   schema.StringAttribute{Computed: true, MarkdownDescription: "`None` with SR-IOV."},
				"allow_management_os":          schema.BoolAttribute{Computed: true, MarkdownDescription: "Some host adapter is on the switch (facts.md 16)."},
				"load_balancing_algorithm":     schema.StringAttribute{Computed: true, MarkdownDescription: "Of a team."},
				"connected_adapters": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "Network adapters of VMs that are connected to the switch.",
					NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
						"vm_name":          schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the VM."},
						"name":             schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the adapter."},
						"adapter_id":       schema.StringAttribute{Computed: true, MarkdownDescription: "GUID of the adapter."},
						"of_this_provider": schema.BoolAttribute{Computed: true, MarkdownDescription: "The provider made the adapter, or manages settings of it or of its guest, as far as its ledger on the host says."},
					}}},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addRestartAttributes(attributes)
	resp.Schema = schema.Schema{
		MarkdownDescription: "External virtual switch with SR-IOV, on one net adapter or a team of several. " +
			"SR-IOV can only be chosen when a switch is made (facts.md 8); to use an existing one, import it. " +
			"On Intel iWARP devices making or removing a switch restarts all ports of the device (facts.md 25). " +
			"Every port of an RDMA device should have such a switch (facts.md 26).",
		Attributes: attributes,
	}
}

// ValidateConfig refuses what New-VMSwitch would refuse.
func (r *iovSwitchResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m iovSwitchModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || m.NetAdapterNames.IsUnknown() || m.EnableEmbeddedTeaming.IsUnknown() {
		return
	}
	several := len(m.NetAdapterNames.Elements()) > 1
	if several && !m.EnableEmbeddedTeaming.IsNull() && !m.EnableEmbeddedTeaming.ValueBool() {
		resp.Diagnostics.AddAttributeError(path.Root("enable_embedded_teaming"), "Several net adapters need a team",
			"enable_embedded_teaming is false, but net_adapter_names has several: Hyper-V refuses that (facts.md 13). Leave enable_embedded_teaming out, or name one net adapter.")
	}
	if !several && !m.EnableEmbeddedTeaming.ValueBool() && !m.LoadBalancingAlgorithm.IsNull() && !m.LoadBalancingAlgorithm.IsUnknown() {
		resp.Diagnostics.AddAttributeError(path.Root("load_balancing_algorithm"), "Load balancing needs a team",
			fmt.Sprintf("load_balancing_algorithm is %q, but the switch is no team. Set enable_embedded_teaming = true, or leave load_balancing_algorithm out.", m.LoadBalancingAlgorithm.ValueString()))
	}
}

// ModifyPlan shows the restarts.
func (r *iovSwitchResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	var state iovSwitchModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		warnDisconnect(ctx, resp, state, state, "Destroying")
		if rebindsAfterSwitch(state.Profile) {
			warnDestroyPart(resp, switchThing(state.Name), state.RestartPolicy, state.RestartOnDestroy, hyperv.Restart{Kind: hyperv.RestartNetAdapter, Target: joinNames(state.NetAdapterNames), Condition: hyperv.Always,
				Reason: "the switch is removed: all ports of the device must be disabled and enabled (facts.md 25)"},
				r.interrupted(state.Host, state.NetAdapterNames))
		}
		return
	}
	var plan iovSwitchModel
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !req.State.Raw.IsNull() && replacesSwitch(state, plan) {
		warnDisconnect(ctx, resp, state, plan, "Replacing")
	}
	defer replaceGone(ctx, req, resp, state)
	planRestarts(ctx, req, resp, switchThing(plan.Name), func() (n restartNeeds) {
		n = restartNeeds{Attribute: path.Root("net_adapter_names")}
		made := req.State.Raw.IsNull() || len(resp.RequiresReplace) > 0
		if !made && plan.NetAdapterNames.Equal(state.NetAdapterNames) {
			return n
		}
		defer func() { planRestartTrigger(ctx, resp, n) }()
		switch {
		case plan.Profile.IsUnknown():
			n.Unknown = append(n.Unknown, path.Root("profile"))
		case plan.NetAdapterNames.IsUnknown() || !allKnown(plan.NetAdapterNames):
			n.Unknown = append(n.Unknown, path.Root("net_adapter_names"))
		case rebindsAfterSwitch(plan.Profile):
			n.Restarts = []hyperv.Restart{{Kind: hyperv.RestartNetAdapter, Target: joinNames(plan.NetAdapterNames), Condition: hyperv.Always,
				Reason: "a switch is made on the device: all its ports must be disabled and enabled (facts.md 25)"}}
		}
		return n
	}, r.interrupted(plan.Host, plan.NetAdapterNames))
}

func (r *iovSwitchResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m iovSwitchModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	s, err := h.CreateSwitch(ctx, m.spec(ctx, &resp.Diagnostics))
	m.RestartTrigger = newRestartTrigger(m.RestartTrigger)
	if s != nil {
		m.fill(ctx, h.Name, s, &resp.Diagnostics)
		m.restartModel = m.applied(ctx, s.Debts, &resp.Diagnostics)
		addNotes(&resp.Diagnostics, s.Notes)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		keepPorts(ctx, resp.Private, s.KnownMembers(namesOf(m.NetAdapterNames), nil), &resp.Diagnostics)
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", switchThing(m.Name), h.Name}, err)
	}
}

func (r *iovSwitchResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m iovSwitchModel
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
	s, err := h.GetSwitch(ctx, m.SwitchID.ValueString())
	if hyperv.IsNotFound(err) {
		r.gone(ctx, h, m, resp)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", switchThing(m.Name), h.Name}, err)
		return
	}
	m.RestartTrigger = keptRestartTrigger(m.RestartTrigger)
	known := knownPorts(ctx, req.Private, &resp.Diagnostics)
	m.drift(ctx, s, known, &resp.Diagnostics)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.read(ctx, s.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, s.KnownMembers(namesOf(m.NetAdapterNames), known), &resp.Diagnostics)
}

// gone takes a switch that is not there any more out of the state, unless a destroy that was cut off still owes
// its restart: the state is what the next destroy pays it by. It then has no actual, and a plan that keeps the switch
// replaces it.
func (r *iovSwitchResource) gone(ctx context.Context, h *hyperv.Host, m iovSwitchModel, resp *resource.ReadResponse) {
	owed, err := h.OwedAfterRemoval(ctx, m.SwitchID.ValueString())
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", switchThing(m.Name), h.Name}, err)
		return
	}
	if len(owed) == 0 {
		resp.State.RemoveResource(ctx)
		return
	}
	m.restartModel = m.read(ctx, owed, &resp.Diagnostics)
	m.Actual = types.ObjectNull(iovSwitchActualTypes())
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *iovSwitchResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state iovSwitchModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	spec := m.spec(ctx, &resp.Diagnostics)
	spec.Known = knownPorts(ctx, req.Private, &resp.Diagnostics)
	s, err := h.UpdateSwitch(ctx, state.SwitchID.ValueString(), spec)
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", switchThing(m.Name), h.Name}, err)
		return
	}
	m.RestartTrigger = newRestartTrigger(m.RestartTrigger)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.applied(ctx, s.Debts, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, s.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, s.KnownMembers(namesOf(m.NetAdapterNames), spec.Known), &resp.Diagnostics)
}

func (r *iovSwitchResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m iovSwitchModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	notes, err := h.DeleteSwitch(ctx, m.SwitchID.ValueString(), m.spec(ctx, &resp.Diagnostics))
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", switchThing(m.Name), h.Name}, err)
		return
	}
	addNotes(&resp.Diagnostics, notes)
}

// ImportState takes host/name or host/GUID.
func (r *iovSwitchResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	parts := r.importID(ctx, req.ID, iovSwitchImport(), &resp.Diagnostics)
	if parts == nil {
		return
	}
	h := r.host(types.StringValue(parts[0]), &resp.Diagnostics)
	if h == nil {
		return
	}
	s, err := h.FindSwitch(ctx, parts[1])
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", fmt.Sprintf("switch %q", parts[1]), h.Name}, err)
		return
	}
	if s.SwitchType != "External" || !s.IovEnabled {
		resp.Diagnostics.AddError(fmt.Sprintf("Unable to import switch %q", s.Name), fmt.Sprintf(
			"Host: %s\nThe switch is of type %s with IovEnabled %t. hyperv_iov_switch manages external switches with SR-IOV; SR-IOV cannot be turned on later (facts.md 8). Remove the switch and let Terraform make it, or leave it to another tool.", h.Name, s.SwitchType, s.IovEnabled))
		return
	}
	m := iovSwitchModel{Host: types.StringValue(h.Name), RestartTrigger: types.StringValue(""), Timeouts: noTimeouts("create", "read", "update", "delete")}
	m.imported(ctx, s, &resp.Diagnostics)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.read(ctx, s.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
