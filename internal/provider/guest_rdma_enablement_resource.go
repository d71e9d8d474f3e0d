package provider

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

type guestRdmaEnablementResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*guestRdmaEnablementResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*guestRdmaEnablementResource)(nil)
	_ resource.ResourceWithImportState = (*guestRdmaEnablementResource)(nil)
)

func newGuestRdmaEnablementResource() resource.Resource { return &guestRdmaEnablementResource{} }

func (r *guestRdmaEnablementResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_guest_rdma_enablement"
}

func (r *guestRdmaEnablementResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
	}
	byDefault := types.SetValueMust(types.StringType, []attr.Value{types.StringValue(hyperv.RecoverGuestRdma)})
	attributes := map[string]schema.Attribute{
		"credential": schema.StringAttribute{Optional: true,
			MarkdownDescription: "Key of `guest_credentials` in the provider's configuration. Default: the VM's own in `guests`, else `default_guest_credential`.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}},
		"enabled": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether RDMA is on: on the Hyper-V adapter and on the virtual function, and by the VF driver's keyword (Intel's `RdmaVfEnabled`) where it has one (facts.md 64, 65). Default: true. Reads false when any of them is off. Turning it on restarts the guest's adapters for a moment."},
		"verification": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(verifyRequire),
			MarkdownDescription: "`require` (default): the apply succeeds only if SMB in the guest says RDMA capable within the timeout; a create that fails puts back what it changed. `warn`: the settings are made, and what is missing is a warning.",
			Validators:          []validator.String{stringvalidator.OneOf(verifyRequire, verifyWarn)}},
		"recovery": schema.SetAttribute{Optional: true, Computed: true, ElementType: types.StringType, Default: setdefault.StaticValue(byDefault),
			MarkdownDescription: "Steps that may be taken if SMB does not say RDMA capable (facts.md 66), in this order and each only if those before did not help: `guest_rdma` (RDMA off and on on both guest adapters; disturbs nobody else), `net_adapter` (all ports of the host's device are disabled and enabled: every VM on it loses its network for seconds), `vm_restart`. Default: `guest_rdma` only. None is taken with `restart_policy = \"manual\"`.",
			Validators:          []validator.Set{setvalidator.ValueStringsAre(stringvalidator.OneOf(hyperv.RecoverySteps()...))}},
		"driver_match": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(hyperv.DriverMatchWarn),
			MarkdownDescription: "What to do when the drivers of the host's port and of the virtual function do not fit: `strict` (an error, before anything in the guest is changed), `warn` (default) or `off`. " +
				"Windows' own driver on the host does not fit (facts.md 6, 100), nor does it in the guest, except that of ConnectX-3, with which the procedure begins (A9). " +
				"Both drivers must be of one provider; with Mellanox also of one version, while others count the versions of physical and virtual functions apart (facts.md 99). It is looked at in a create or an update.",
			Validators: []validator.String{stringvalidator.OneOf(hyperv.DriverMatches()...)}},
		"on_unreachable": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(unreachableError),
			MarkdownDescription: "What a destroy does when the guest cannot be reached (the VM is off, the credential does not work): `error` (default), or `forget`, which leaves the guest as it is. A VM that is gone is no error.",
			Validators:          []validator.String{stringvalidator.OneOf(unreachableError, unreachableForget)}},
		"triggers": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Any values; a change of one turns RDMA on and verifies again. Example: the driver's version, or the ids of what the guest's RDMA depends on."},
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What host and guest say. The guest's net adapters are found by the VM adapter's MAC address at each read, so names in the guest may change.",
			Attributes: map[string]schema.Attribute{
				"stage":                    text("Last stage reached: `none`, `vf_requested`, `vf_assigned`, `vf_driver`, `guest_adapters`, `rdma_enabled` or `smb_rdma_capable`."),
				"net_adapter_name":         text("Name of the Hyper-V net adapter in the guest."),
				"vf_name":                  text("Name of the virtual function's net adapter in the guest."),
				"vf_description":           text("Its interface description."),
				"vf_driver_version":        text("Version of its driver."),
				"vf_driver_provider":       text("Provider of its driver; Microsoft for an in-box driver."),
				"vf_keyword":               text("The driver's keyword for RDMA and its value; null where the driver has none."),
				"net_adapter_rdma_enabled": flag("RDMA is on on the Hyper-V adapter."),
				"vf_rdma_enabled":          flag("RDMA is on on the virtual function."),
				"smb_rdma_capable":         flag("SMB says RDMA capable; null when the guest was not reached."),
				"recovery_steps":           schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Recovery steps that the last apply took, in order."},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addAdapterRefAttributes(attributes)
	addRestartAttributes(attributes)
	attributes["vm_restart"] = vmRestartAttribute()
	resp.Schema = schema.Schema{
		MarkdownDescription: "RDMA inside a guest, by PowerShell Direct from the host: turned on on the Hyper-V adapter and on its virtual function, then verified stage by stage until SMB says RDMA capable. " +
			"Needs a virtual function (`hyperv_vm_network_adapter_rdma`), the vendor's VF driver in the guest, and a guest credential. Destroy puts back what the guest held before.",
		Attributes: attributes,
	}
}

// recoveryRestarts are the restarts that verification may take.
func (m *guestRdmaEnablementModel) recoveryRestarts() []hyperv.Restart {
	kinds := map[string]hyperv.Restart{
		hyperv.RecoverGuestRdma:  {Kind: hyperv.RestartGuestRdma, Target: m.VMName.ValueString(), Reason: "recovery step 1 (B12): RDMA off and on on both guest adapters"},
		hyperv.RecoverNetAdapter: {Kind: hyperv.RestartNetAdapter, Target: "the device of VM " + m.VMName.ValueString() + "'s switch", Reason: "recovery step 2 (B13): all ports of the host's device off and on"},
		hyperv.RecoverVM:         {Kind: hyperv.RestartVM, Target: m.VMName.ValueString(), Reason: "recovery step 3: restart of the VM" + m.turnsOff()},
	}
	var out []hyperv.Restart
	for _, step := range hyperv.RecoverySteps() {
		if slices.Contains(setTexts(m.Recovery), step) {
			x := kinds[step]
			x.Condition, x.Reason = hyperv.IfRecoveryNeeded, x.Reason+", if SMB does not say RDMA capable (facts.md 66)"
			out = append(out, x)
		}
	}
	return out
}

// ModifyPlan shows the recovery steps that verification may take.
func (r *guestRdmaEnablementResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan guestRdmaEnablementModel
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	planRestarts(ctx, req, resp, plan.thing("guest RDMA"), func() restartNeeds {
		n := restartNeeds{Attribute: path.Root("recovery")}
		switch {
		case plan.Recovery.IsUnknown():
			n.Unknown = append(n.Unknown, path.Root("recovery"))
		case plan.VMName.IsUnknown():
			n.Unknown = append(n.Unknown, path.Root("vm_name"))
		case plan.Enabled.IsUnknown():
			n.Unknown = append(n.Unknown, path.Root("enabled"))
		case plan.Enabled.ValueBool() && plan.RestartPolicy.ValueString() != hyperv.RestartManual: // no step is taken, and none owed
			n.Restarts = plan.recoveryRestarts()
		}
		return n
	})
}

func (r *guestRdmaEnablementResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m guestRdmaEnablementModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	g, err := h.ApplyGuestRdma(ctx, m.configured(), m.configured(), m.spec(ctx, &resp.Diagnostics), true)
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", m.thing("guest RDMA"), h.Name}, err)
		return
	}
	m.store(ctx, h.Name, g, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, g.Adapter, &resp.Diagnostics)
}

// store takes over the result of a create or an update.
func (m *guestRdmaEnablementModel) store(ctx context.Context, host string, g *hyperv.GuestRdma, diags *diag.Diagnostics) {
	name := m.VMName
	m.fill(ctx, host, g, g.Steps, diags)
	m.VMName = name
	m.restartModel = m.applied(ctx, g.Adapter.Debts, diags)
	addNotes(diags, g.Notes)
}

func (r *guestRdmaEnablementResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m guestRdmaEnablementModel
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
	g, err := h.ReadGuestRdma(ctx, m.found(), m.Credential.ValueString())
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", m.thing("guest RDMA"), h.Name}, err)
		return
	}
	if !g.Reachable {
		addWarning(&resp.Diagnostics, failed{"look into the guest for", m.thing("guest RDMA"), h.Name}, g.Err)
	}
	was := m.VMName
	m.drift(g)
	m.fill(ctx, h.Name, g, m.stepsOf(), &resp.Diagnostics)
	rememberVMName(ctx, was, m.VMName, req, resp)
	m.restartModel = m.read(ctx, g.Adapter.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, g.Adapter, &resp.Diagnostics)
}

func (r *guestRdmaEnablementResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state guestRdmaEnablementModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	g, err := h.ApplyGuestRdma(ctx, state.found(), m.configured(), m.spec(ctx, &resp.Diagnostics), false)
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", state.thing("guest RDMA"), h.Name}, err)
		return
	}
	m.store(ctx, h.Name, g, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, g.Adapter, &resp.Diagnostics)
}

func (r *guestRdmaEnablementResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m guestRdmaEnablementModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	notes, err := h.RestoreGuestRdma(ctx, m.found(), m.Credential.ValueString(), m.OnUnreachable.ValueString() == unreachableForget)
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", m.thing("guest RDMA"), h.Name}, err)
	}
}

// ImportState takes host/VM/adapter, VM and adapter each by name or by GUID. The guest is looked into with the VM's
// own or the default credential.
func (r *guestRdmaEnablementResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	h, a := r.importAdapter(ctx, req.ID, &resp.Diagnostics)
	if a == nil {
		return
	}
	g, err := h.ReadGuestRdma(ctx, a.ByID(), "")
	if err == nil && !g.Reachable {
		err = g.Err
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", "guest RDMA of VM " + a.VM.Name, h.Name}, err)
		return
	}
	m := guestRdmaEnablementModel{Host: types.StringValue(h.Name), Timeouts: noTimeouts("create", "read", "update", "delete"), vmRestartModel: vmRestartNull()}
	m.imported(ctx, a, &resp.Diagnostics)
	m.Enabled = types.BoolValue(g.Enabled())
	m.fill(ctx, h.Name, g, nil, &resp.Diagnostics)
	m.restartModel = m.read(ctx, g.Adapter.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, g.Adapter, &resp.Diagnostics)
}
