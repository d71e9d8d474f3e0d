package provider

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type dcbResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure      = (*dcbResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*dcbResource)(nil)
	_ resource.ResourceWithImportState    = (*dcbResource)(nil)
	_ resource.ResourceWithValidateConfig = (*dcbResource)(nil)
)

func newDcbResource() resource.Resource { return &dcbResource{} }

func dcbImport() importForm { return importForm{Parts: []string{"host"}, Example: "hv1"} }

const dcbThing = "data center bridging"

func (r *dcbResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_dcb"
}

func (r *dcbResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	const nothing = " A change restarts nothing."
	attributes := map[string]schema.Attribute{
		"id":   idAttribute(dcbImport()),
		"host": hostAttribute(),
		"install_feature": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "`true` installs the Windows feature `Data-Center-Bridging` where it is missing; destroy removes it again, unless others have settings in it by then. " +
				"Without it a missing feature is an error. Where Windows wants a restart of the host for it, the apply stops and says so: no host is ever restarted for it."},
		"policies": schema.MapNestedAttribute{Optional: true,
			MarkdownDescription: "QoS policies of the host by name: which traffic leaves with which 802.1p priority. Any name will do. Policies of others are not touched; " +
				"one of the same name that does something else is an error, and so is another policy for the same Network Direct port (facts.md 86)." + nothing,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"net_direct_port": schema.Int64Attribute{Optional: true, MarkdownDescription: "Network Direct port, 1 to 65535: 445 is SMB Direct. Either this or `template`.", Validators: []validator.Int64{int64validator.Between(1, 65535)}},
				"template":        schema.StringAttribute{Optional: true, MarkdownDescription: "Built-in filter: " + quotedCodes(sortedNames(hyperv.QosTemplates())) + ". Either this or `net_direct_port`.", Validators: []validator.String{stringvalidator.OneOf(sortedNames(hyperv.QosTemplates())...)}},
				"priority":        schema.Int64Attribute{Required: true, MarkdownDescription: "802.1p priority, 0 to 7. Host and guests share the one of SMB Direct (facts.md 87).", Validators: []validator.Int64{int64validator.Between(0, 7)}},
			}}},
		"flow_control_priorities": schema.SetAttribute{Optional: true, ElementType: types.Int64Type,
			MarkdownDescription: "The priorities that lose no frames (PFC), 0 to 7; all others are without flow control. More than the hardware of a net adapter of `net_adapter_names` has, usually two or three, is an error (facts.md 87); " +
				"and so is, where one of them does RoCE, a policy for Network Direct whose priority is not among them (facts.md 85)." + nothing,
			Validators: []validator.Set{setvalidator.ValueInt64sAre(int64validator.Between(0, 7))}},
		"traffic_classes": schema.MapNestedAttribute{Optional: true,
			MarkdownDescription: "Traffic classes (ETS) of the host by name, 7 at most. Classes of others are not touched. The default class has the priorities and the bandwidth that are left, 1 percent at least (facts.md 85b)." + nothing,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"algorithm":            schema.StringAttribute{Optional: true, MarkdownDescription: "`ETS` (default) or `Strict`.", Validators: []validator.String{stringvalidator.OneOf(hyperv.AlgorithmETS, hyperv.AlgorithmStrict)}},
				"bandwidth_percentage": schema.Int64Attribute{Optional: true, MarkdownDescription: "Share of the bandwidth in percent, 1 to 99; all classes together 99 at most. Required with `ETS`, not allowed with `Strict`.", Validators: []validator.Int64{int64validator.Between(1, 99)}},
				"priorities": schema.SetAttribute{Required: true, ElementType: types.Int64Type, MarkdownDescription: "802.1p priorities of the class, 0 to 7. A priority is in one class only.",
					Validators: []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueInt64sAre(int64validator.Between(0, 7))}},
			}}},
		"dcbx_willing": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether the host takes its settings from the switch. While it is `true`, as Windows has it at first, no net adapter gets the settings of this resource: set `false` (facts.md 85a, 86)." + nothing},
		"net_adapter_names": schema.ListAttribute{Optional: true, ElementType: customtypes.NameType{},
			MarkdownDescription: "Net adapters with DCB on (Enable-NetAdapterQos): the physical ports, also those under a virtual switch. A net adapter that is turned on or back restarts all ports of its device once (facts.md 33, 85c). " + renamedNetAdapters + " " +
				"Their keyword `*QOS` says the same: leave it out of `advanced_properties` of `hyperv_nic_rdma_settings`.",
			Validators: netAdapterNamesValidators()},
		"restart_on_destroy": restartOnDestroyAttribute(),
		"restart_trigger":    restartTriggerAttribute(),
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What the host says.",
			Attributes: map[string]schema.Attribute{
				"feature":                      schema.StringAttribute{Computed: true, MarkdownDescription: "State of the Windows feature, as `Installed` or `Available`."},
				"dcbx_willing":                 schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the host takes its settings from the switch."},
				"default_bandwidth_percentage": schema.Int64Attribute{Computed: true, MarkdownDescription: "What is left for the default class, in percent."},
				"other_policies":               schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Names of policies that this resource does not manage."},
				"other_traffic_classes":        schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Names of traffic classes that this resource does not manage, without the default one."},
				"guests_with_rdma":             schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Virtual machines with RDMA: their SMB Direct shares priority and bandwidth with the host's (facts.md 87)."},
				"net_adapters": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "Net adapters whose driver does DCB.",
					NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
						"name":                    schema.StringAttribute{Computed: true, MarkdownDescription: "Name."},
						"enabled":                 schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether DCB is on."},
						"max_lossless_priorities": schema.Int64Attribute{Computed: true, MarkdownDescription: "How many priorities the hardware can make lossless."},
						"max_traffic_classes":     schema.Int64Attribute{Computed: true, MarkdownDescription: "How many traffic classes the hardware has, with the default one."},
					}}},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addRestartAttributes(attributes)
	resp.Schema = schema.Schema{
		MarkdownDescription: "Data center bridging (DCB) of a physical host, for RoCE, which needs it, and iWARP, where it is recommended (facts.md 85): one resource per host. " +
			"What is left out is not managed; what is removed from the configuration, and everything on destroy, is put back to what was there before the provider first changed it. " +
			"A guest has no DCB: its RDMA traffic leaves with what its host has set (facts.md 60), and `IeeePriorityTag` of its network adapter does nothing for it (facts.md 59). " +
			"Many switches drop the priority of untagged frames, so give RDMA a VLAN (facts.md 87). Settings of single net adapters (`-InterfaceAlias`), which take precedence over these, are not managed.",
		Attributes: attributes,
	}
}

// ValidateConfig says what Windows would refuse of the configuration.
func (r *dcbResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m dcbModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		m.validate(ctx, &resp.Diagnostics)
	}
}

// ModifyPlan shows the restarts: only DCB of the net adapters needs any.
func (r *dcbResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	var state, plan dcbModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		for _, restart := range dcbRestarts(namesOf(state.NetAdapterNames), "is put back to what it was") {
			warnDestroyPart(resp, dcbThing, state.RestartPolicy, state.RestartOnDestroy, restart, r.interrupted(state.Host, state.NetAdapterNames))
		}
		return
	}
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	planRestarts(ctx, req, resp, dcbThing, func() (n restartNeeds) {
		n = restartNeeds{Attribute: path.Root("net_adapter_names")}
		defer func() { planRestartTrigger(ctx, resp, n) }()
		if plan.NetAdapterNames.IsUnknown() || !allKnown(plan.NetAdapterNames) {
			n.Unknown = append(n.Unknown, path.Root("net_adapter_names"))
			return n
		}
		before, after := namesOf(state.NetAdapterNames), namesOf(plan.NetAdapterNames)
		n.Restarts = append(dcbRestarts(leftOut(after, before), "is turned on"), dcbRestarts(leftOut(before, after), "is put back to what it was")...)
		return n
	}, r.interrupted(plan.Host, plan.NetAdapterNames))
}

// leftOut gives the names that are not among the others.
func leftOut(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.ContainsFunc(others, func(o string) bool { return customtypes.EqualName(n, o) })
	})
}

func dcbRestarts(names []string, what string) []hyperv.Restart {
	if len(names) == 0 {
		return nil
	}
	return []hyperv.Restart{{Kind: hyperv.RestartNetAdapter, Target: strings.Join(names, ", "), Condition: hyperv.Always,
		Reason: "DCB " + what + ": the driver reads its settings when the adapters start, all ports of a device at once (facts.md 33, 85c)"}}
}

func (r *dcbResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m dcbModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 20*time.Minute, &resp.Diagnostics)
	defer cancel()
	d, err := h.ApplyDcb(ctx, m.spec(ctx, &resp.Diagnostics), nil)
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", dcbThing, h.Name}, err)
		return
	}
	m.RestartTrigger = newRestartTrigger(m.RestartTrigger)
	m.fill(ctx, h.Name, d, &resp.Diagnostics)
	m.restartModel = m.applied(ctx, d.Debts, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, d.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, d.Known, &resp.Diagnostics)
}

func (r *dcbResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m dcbModel
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
	d, err := h.ReadDcb(ctx, namesOf(m.NetAdapterNames), knownPorts(ctx, req.Private, &resp.Diagnostics))
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", dcbThing, h.Name}, err)
		return
	}
	m.RestartTrigger = keptRestartTrigger(m.RestartTrigger)
	m.fill(ctx, h.Name, d, &resp.Diagnostics)
	m.drift(ctx, d, &resp.Diagnostics)
	m.restartModel = m.read(ctx, d.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, d.Known, &resp.Diagnostics)
}

func (r *dcbResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state dcbModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 20*time.Minute, &resp.Diagnostics)
	defer cancel()
	old, spec := state.spec(ctx, &resp.Diagnostics), m.spec(ctx, &resp.Diagnostics)
	old.Known = knownPorts(ctx, req.Private, &resp.Diagnostics)
	spec.Known = old.Known
	d, err := h.ApplyDcb(ctx, spec, &old)
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", dcbThing, h.Name}, err)
		return
	}
	m.RestartTrigger = newRestartTrigger(m.RestartTrigger)
	m.fill(ctx, h.Name, d, &resp.Diagnostics)
	m.restartModel = m.applied(ctx, d.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, d.Known, &resp.Diagnostics)
	m.addUpdateNotes(&resp.Diagnostics, d.Notes, d.Debts)
}

func (r *dcbResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m dcbModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 20*time.Minute, &resp.Diagnostics)
	defer cancel()
	spec := m.spec(ctx, &resp.Diagnostics)
	spec.Known = knownPorts(ctx, req.Private, &resp.Diagnostics)
	notes, err := h.DeleteDcb(ctx, spec)
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", dcbThing, h.Name}, err)
		return
	}
	addNotes(&resp.Diagnostics, notes)
}

// ImportState takes the host.
func (r *dcbResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	parts := r.importID(ctx, req.ID, dcbImport(), &resp.Diagnostics)
	if parts == nil {
		return
	}
	h := r.host(types.StringValue(parts[0]), &resp.Diagnostics)
	if h == nil {
		return
	}
	d, err := h.ReadDcb(ctx, nil, nil)
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", dcbThing, h.Name}, err)
		return
	}
	m := dcbModel{Host: types.StringValue(h.Name), RestartTrigger: types.StringValue(""), Timeouts: noTimeouts("create", "read", "update", "delete")}
	m.imported(ctx, d, &resp.Diagnostics)
	m.fill(ctx, h.Name, d, &resp.Diagnostics)
	m.restartModel = m.read(ctx, d.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
