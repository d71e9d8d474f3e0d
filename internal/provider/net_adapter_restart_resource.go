package provider

import (
	"context"
	"fmt"
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

type netAdapterRestartResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*netAdapterRestartResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*netAdapterRestartResource)(nil)
	_ resource.ResourceWithImportState = (*netAdapterRestartResource)(nil)
)

// restartTimeout is how long a create or an update may take unless timeouts says something else.
const restartTimeout = 10 * time.Minute

func newNetAdapterRestartResource() resource.Resource { return &netAdapterRestartResource{} }

func netAdapterRestartImport() importForm {
	return importForm{Parts: []string{"host", "net adapter"}, Example: "hv1/iWARP 1"}
}

func (r *netAdapterRestartResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_net_adapter_restart"
}

func (r *netAdapterRestartResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	restarts := map[string]schema.Attribute{}
	addRestartAttributes(restarts)
	pending := restarts["pending_restarts"].(schema.ListNestedAttribute)
	pending.MarkdownDescription = "Restarts that are owed for these devices, whichever resource made the change. The next apply makes them."
	resp.Schema = schema.Schema{
		MarkdownDescription: "One restart of net adapters at the end of a chain: its parts have `restart_policy = \"manual\"`, this resource depends on them and has their `restart_trigger` among its `triggers`. " +
			"All ports of a device are disabled and enabled together (facts.md 25, 35), each device once, in the order in which they are mentioned, whatever the number of ports and of changes. " +
			"What is owed for a device is paid also where no trigger changed: the plan shows it. " +
			"This resource is destroyed before its parts; what they put back is paid by the last of them on the device.",
		Attributes: map[string]schema.Attribute{
			"id":   idAttribute(netAdapterRestartImport()),
			"host": hostAttribute(),
			"net_adapter_names": schema.ListAttribute{Required: true, ElementType: customtypes.NameType{},
				MarkdownDescription: "Names of one or more ports of each device, in the order in which the devices are restarted. Changed in place. " + renamedNetAdapters,
				Validators:          netAdapterNamesValidators()},
			"triggers": schema.MapAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Any values; a change of one looks whether a restart is owed, or makes one, by `restart_when`. `restart_trigger` of `hyperv_nic_rdma_settings` and `hyperv_iov_switch` changes with each change that needs a restart."},
			"restart_when": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(restartWhenOwed),
				MarkdownDescription: "`owed` (default): a create, or other triggers, restart only devices for which a restart is owed. `always`: they restart every device.",
				Validators:          []validator.String{stringvalidator.OneOf(restartWhenOwed, restartWhenAlways)}},
			"restart_on_destroy": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether what is owed at the moment of a destroy is paid then. Default: false: the debt stays, and the last resource on the device pays it."},
			"profile": profileAttribute(),
			"devices": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "What became of each device at the last create or update, in order.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"location":  schema.StringAttribute{Computed: true, MarkdownDescription: "PCI segment:bus:device, in decimal."},
					"ports":     schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Names of all its ports."},
					"restarted": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it was restarted."},
					"seconds":   schema.Float64Attribute{Computed: true, MarkdownDescription: "How long the restart took, in seconds, until every port was up and its RDMA listed."},
					"owed":      schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The changes that waited for it."},
				}}},
			"planned_restarts": restarts["planned_restarts"],
			"pending_restarts": pending,
			"timeouts":         timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
		},
	}
}

func (r *netAdapterRestartResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m netAdapterRestartModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout, d := m.Timeouts.Create(ctx, restartTimeout)
	resp.Diagnostics.Append(d...)
	known, err := r.restart(ctx, h, &m, nil, timeout, m.RestartWhen.ValueString() != restartWhenAlways, &resp.Diagnostics)
	if err != nil && m.Devices.IsUnknown() { // nothing was tried, or a switch lacks what it must have: no state, so that nothing is tainted
		addError(&resp.Diagnostics, failed{"make", restartThing(m.NetAdapterNames), h.Name}, err)
		return
	}
	if err != nil { // the host owes it, and the next plan shows it
		resp.Diagnostics.AddWarning("The restart of the net adapters failed", err.Error()+"\n\nIt stays owed and is tried again by the next apply.")
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, known, &resp.Diagnostics)
}

// restart makes the restart and fills the model, also where it failed and left a debt. Where an error leaves none, devices
// stays unknown. known says which net adapters are meant, and comes back with what there is.
func (r *netAdapterRestartResource) restart(ctx context.Context, h *hyperv.Host, m *netAdapterRestartModel, known hyperv.KnownPorts, timeout time.Duration, onlyIfOwed bool, diags *diag.Diagnostics) (hyperv.KnownPorts, error) {
	spec := m.spec(onlyIfOwed)
	spec.Known = known
	if timeout != restartTimeout {
		spec.Timeout = timeout * 9 / 10 // so that it is the net adapters that are said to be late
	}
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(ctx, timeout)
	defer cancel()
	report, err := h.RestartNetAdapters(ctx, spec)
	if report == nil || len(report.Devices) == 0 {
		return known, err
	}
	debts := debtsOf(report.Devices)
	if err != nil && len(debts) == 0 {
		return known, err
	}
	m.fillNew(h.Name, report.Devices)
	m.fillDevices(ctx, report.Devices, diags)
	m.PendingRestarts = pendingList(ctx, debts, diags)
	if m.PlannedRestarts.IsUnknown() {
		m.PlannedRestarts = plannedList(ctx, nil, diags)
	}
	addNotes(diags, report.Notes)
	return report.Known, err
}

func (r *netAdapterRestartResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m netAdapterRestartModel
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
	devices, known, err := h.RestartDevices(ctx, namesOf(m.NetAdapterNames), knownPorts(ctx, req.Private, &resp.Diagnostics), m.Profile.ValueString())
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", restartThing(m.NetAdapterNames), h.Name}, err)
		return
	}
	m.PendingRestarts = pendingList(ctx, debtsOf(devices), &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, known, &resp.Diagnostics)
}

func (r *netAdapterRestartResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state netAdapterRestartModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout, d := m.Timeouts.Update(ctx, restartTimeout)
	resp.Diagnostics.Append(d...)
	known := knownPorts(ctx, req.Private, &resp.Diagnostics)
	if len(m.PlannedRestarts.Elements()) == 0 { // what was not announced is not restarted
		known = r.look(ctx, h, &m, state, known, &resp.Diagnostics)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		keepPorts(ctx, resp.Private, known, &resp.Diagnostics)
		return
	}
	always := m.RestartWhen.ValueString() == restartWhenAlways && asksForRestart(m, &state)
	known, err := r.restart(ctx, h, &m, known, timeout, !always, &resp.Diagnostics)
	if err != nil {
		addError(&resp.Diagnostics, failed{"make", restartThing(m.NetAdapterNames), h.Name}, err)
		return // with the state as it was, the next plan makes it again
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, known, &resp.Diagnostics)
}

// look fills the model without a restart.
func (r *netAdapterRestartResource) look(ctx context.Context, h *hyperv.Host, m *netAdapterRestartModel, state netAdapterRestartModel, known hyperv.KnownPorts, diags *diag.Diagnostics) hyperv.KnownPorts {
	devices, now, err := h.RestartDevices(ctx, namesOf(m.NetAdapterNames), known, m.Profile.ValueString())
	if err != nil {
		addError(diags, failed{"read", restartThing(m.NetAdapterNames), h.Name}, err)
		return known
	}
	m.fillNew(h.Name, devices)
	m.Devices = state.Devices
	m.PendingRestarts = pendingList(ctx, debtsOf(devices), diags)
	return now
}

// Delete restarts nothing unless it was asked for: the parts are still there, and the last of them pays.
func (r *netAdapterRestartResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m netAdapterRestartModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !m.RestartOnDestroy.ValueBool() && len(m.PendingRestarts.Elements()) == 0 {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	var err error
	spec := m.spec(true)
	spec.Known = knownPorts(ctx, req.Private, &resp.Diagnostics)
	if m.RestartOnDestroy.ValueBool() {
		_, err = h.RestartNetAdapters(ctx, spec)
	} else { // what only this resource wanted nobody else would pay
		err = h.ForgetRestarts(ctx, spec.NetAdapterNames, spec.Known, m.owner())
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", restartThing(m.NetAdapterNames), h.Name}, err)
	}
}

// ImportState takes host/any port of a device.
func (r *netAdapterRestartResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	parts := r.importID(ctx, req.ID, netAdapterRestartImport(), &resp.Diagnostics)
	if parts == nil {
		return
	}
	h := r.host(types.StringValue(parts[0]), &resp.Diagnostics)
	if h == nil {
		return
	}
	devices, _, err := h.RestartDevices(ctx, []string{parts[1]}, nil, "")
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", fmt.Sprintf("net adapter %q", parts[1]), h.Name}, err)
		return
	}
	m := netAdapterRestartModel{
		Host: types.StringValue(h.Name), RestartWhen: types.StringValue(restartWhenOwed),
		Triggers: types.MapNull(types.StringType), Timeouts: noTimeouts("create", "read", "update", "delete"),
	}
	m.fillNew(h.Name, devices)
	m.NetAdapterNames = keepOrder(ctx, types.ListNull(customtypes.NameType{}), []string{parts[1]}, &resp.Diagnostics)
	m.fillDevices(ctx, devices, &resp.Diagnostics)
	m.PlannedRestarts = plannedList(ctx, nil, &resp.Diagnostics)
	m.PendingRestarts = pendingList(ctx, debtsOf(devices), &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
