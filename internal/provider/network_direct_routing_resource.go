package provider

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type networkDirectRoutingResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*networkDirectRoutingResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*networkDirectRoutingResource)(nil)
	_ resource.ResourceWithImportState = (*networkDirectRoutingResource)(nil)
)

func newNetworkDirectRoutingResource() resource.Resource { return &networkDirectRoutingResource{} }

func (r *networkDirectRoutingResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_network_direct_routing"
}

func (r *networkDirectRoutingResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"network_direct_across_ip_subnets": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(hyperv.AcrossAllowed),
			MarkdownDescription: "`Allowed` (default): RDMA may cross IP subnets. `Blocked`: it may not, as Windows has it without a driver's installer that was told otherwise. It is one setting for all RDMA of the host or guest (facts.md 68, 89). A change restarts the adapters in `net_adapter_names`.",
			Validators:          []validator.String{stringvalidator.OneOf(hyperv.AcrossAllowed, hyperv.AcrossBlocked)}},
		"net_adapter_names": schema.ListAttribute{Required: true, ElementType: customtypes.NameType{},
			MarkdownDescription: "Names of the net adapters that restart after a change, because an adapter reads the setting when it starts (facts.md 68): physical ones of the host, with all ports of their devices, or those of the guest. A name that is added restarts too; one that is taken away does not. " + renamedNetAdapters,
			Validators:          netAdapterNamesValidators()},
		"restart_on_destroy": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether a restart that is due when this resource is destroyed is made then. Default: true. `false` leaves it owed, with a warning; the host keeps the debt."},
		"restart_trigger": restartTriggerAttribute(),
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What host or guest say.",
			Attributes: map[string]schema.Attribute{
				"network_direct_across_ip_subnets": schema.StringAttribute{Computed: true, MarkdownDescription: "`Allowed` or `Blocked`; null when the guest was not reached."},
				"restart_targets":                  schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "What a change restarts: the ports of each device, or the adapters of the guest."},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addTargetAttributes(attributes, "the guest's setting")
	addRestartAttributes(attributes)
	resp.Schema = schema.Schema{
		MarkdownDescription: "Whether RDMA crosses IP subnets (`NetworkDirectAcrossIPSubnets`), on a host or in a guest: needed for iWARP that is routed. " +
			"The driver's installer has the same option and may have set it already; the resource then changes nothing, and restarts nothing. " +
			"Destroy puts back what was there before, and restarts the adapters again.",
		Attributes: attributes,
	}
}

// ModifyPlan shows the restarts.
func (r *networkDirectRoutingResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	var state *networkDirectRoutingModel
	if !req.State.Raw.IsNull() {
		state = &networkDirectRoutingModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if req.Plan.Raw.IsNull() {
		restarts := routingRestarts(state.targets(state, namesOf(state.NetAdapterNames)), routingSetting+" is put back")
		switch {
		case len(restarts) == 0:
		case state.VMName.IsNull():
			restarts[0].Target = strings.Join(state.targets(state, namesOf(state.NetAdapterNames)), "; ")
			warnDestroyPart(resp, state.about(), state.RestartPolicy, state.RestartOnDestroy, restarts[0], r.hit(state))
		case state.spec().KeepOwedOnDelete:
			warnDestroyPart(resp, state.about(), state.RestartPolicy, state.RestartOnDestroy, restarts[0], "")
		default:
			warnDestroy(resp, state.about(), state.RestartPolicy, restarts)
		}
		return
	}
	var plan networkDirectRoutingModel
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	planRestarts(ctx, req, resp, plan.about(), func() restartNeeds {
		n := plan.needs(state)
		planRestartTrigger(ctx, resp, n)
		return n
	}, r.hit(&plan))
}

// hit is what a restart of the host's adapters interrupts; in a guest it is the guest's own business.
func (r *networkDirectRoutingResource) hit(m *networkDirectRoutingModel) string {
	if !m.VMName.IsNull() {
		return ""
	}
	return r.interrupted(m.Host, m.NetAdapterNames)
}

func (r *networkDirectRoutingResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m networkDirectRoutingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	m.VMID = types.StringNull()
	s, err := h.ApplyRouting(ctx, m.spec(), nil)
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", m.about(), h.Name}, err)
		return
	}
	m.store(ctx, h.Name, s, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, s.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, s.Known, &resp.Diagnostics)
}

// store takes over the result of a create or an update.
func (m *networkDirectRoutingModel) store(ctx context.Context, host string, s *hyperv.Routing, diags *diag.Diagnostics) {
	m.fill(ctx, host, s, diags)
	m.restartModel = m.applied(ctx, s.Debts, diags)
	m.RestartTrigger = newRestartTrigger(m.RestartTrigger)
}

func (r *networkDirectRoutingResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m networkDirectRoutingModel
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
	spec := m.spec()
	spec.Known = knownPorts(ctx, req.Private, &resp.Diagnostics)
	s, err := h.ReadRouting(ctx, spec)
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", m.about(), h.Name}, err)
		return
	}
	if s.Err != nil {
		addWarning(&resp.Diagnostics, failed{"look into the guest for", m.about(), h.Name}, s.Err)
	}
	was := m.VMName
	m.drift(s)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	rememberVMName(ctx, was, m.VMName, req, resp)
	m.RestartTrigger = keptRestartTrigger(m.RestartTrigger)
	m.restartModel = m.read(ctx, s.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, s.Known, &resp.Diagnostics)
}

func (r *networkDirectRoutingResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state networkDirectRoutingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	old, spec := state.spec(), m.spec()
	old.Known = knownPorts(ctx, req.Private, &resp.Diagnostics)
	spec.Known = old.Known
	s, err := h.ApplyRouting(ctx, spec, &old)
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", state.about(), h.Name}, err)
		return
	}
	m.store(ctx, h.Name, s, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, s.Known, &resp.Diagnostics)
	m.addUpdateNotes(&resp.Diagnostics, s.Notes, s.Debts)
}

func (r *networkDirectRoutingResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m networkDirectRoutingModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	spec := m.spec()
	spec.Known = knownPorts(ctx, req.Private, &resp.Diagnostics)
	notes, err := h.DeleteRouting(ctx, spec, m.forget())
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", m.about(), h.Name}, err)
	}
}

// ImportState takes the host, or host/VM with the VM by name or GUID. Which adapters restart only a configuration says.
func (r *networkDirectRoutingResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	h, target, _ := r.importTarget(ctx, req.ID, targetImports(), &resp.Diagnostics)
	if target == nil {
		return
	}
	m := networkDirectRoutingModel{Host: types.StringValue(h.Name), targetModel: *target, RestartTrigger: types.StringValue(""), NetAdapterNames: types.ListNull(customtypes.NameType{}), Timeouts: noTimeouts("create", "read", "update", "delete")}
	s, err := h.ReadRouting(ctx, m.spec())
	if err == nil && s.Err != nil {
		err = s.Err
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", m.about(), h.Name}, err)
		return
	}
	m.drift(s)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.read(ctx, s.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
