package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type vmNetworkAdapterResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*vmNetworkAdapterResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*vmNetworkAdapterResource)(nil)
	_ resource.ResourceWithImportState = (*vmNetworkAdapterResource)(nil)
)

func newVMNetworkAdapterResource() resource.Resource { return &vmNetworkAdapterResource{} }

func (r *vmNetworkAdapterResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm_network_adapter"
}

func (r *vmNetworkAdapterResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	attributes := map[string]schema.Attribute{
		"id":      computedForGood(vmAdapterIDDescription),
		"host":    hostAttribute(),
		"vm_name": vmNameAttribute(),
		"name": schema.StringAttribute{Required: true, CustomType: customtypes.NameType{},
			MarkdownDescription: "Name of the adapter, unique in the VM. Changed in place (Rename-VMNetworkAdapter).",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}},
		"switch_name": schema.StringAttribute{Optional: true, CustomType: customtypes.NameType{},
			MarkdownDescription: "Name of the virtual switch that the adapter is connected to. Connected and disconnected in place, also while the VM runs. Removed from the configuration: disconnected.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			PlanModifiers:       []planmodifier.String{customtypes.KeepName()}},
		"vlan": schema.SingleNestedAttribute{Optional: true,
			MarkdownDescription: "VLAN of the adapter's traffic, guest RDMA included: it is set on the host, never in the guest (facts.md 60). Changed in place. Removed from the configuration: untagged. A VLAN that somebody moved to the adapter's isolation setting shows as a change, and is moved back.",
			Attributes: map[string]schema.Attribute{
				"access_vlan_id": schema.Int64Attribute{Required: true, MarkdownDescription: "VLAN id in access mode, 1 to 4094.",
					Validators: []validator.Int64{int64validator.Between(1, 4094)}},
			}},
		"mac_address": schema.StringAttribute{Optional: true, CustomType: customtypes.MACType{},
			MarkdownDescription: "Static MAC address, in any usual form. Left out: Hyper-V chooses. A later change needs the VM to be off.",
			PlanModifiers:       []planmodifier.String{customtypes.KeepMAC()}},
		"device_naming": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether the guest is told the adapter's name (DeviceNaming). Windows' default: false."},
		"team_mapping": schema.StringAttribute{Optional: true, CustomType: customtypes.NameType{},
			MarkdownDescription: "Name of the physical net adapter of the switch's team that carries this adapter. Without it Windows chooses anew at each start of the VM (facts.md 22). With a ConnectX-3 team only the first port does guest RDMA. Changed in place.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			PlanModifiers:       []planmodifier.String{customtypes.KeepName()}},
		"minimum_bandwidth_weight": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "Weight of the minimum bandwidth, 0 to 100. Only on a switch with minimum bandwidth mode Weight; a switch with SR-IOV has None (facts.md 52). Changed in place.",
			Validators:          []validator.Int64{int64validator.Between(0, 100)}},
		"vm_id":      computedForGood("GUID of the VM. The VM is found by it, also after a rename."),
		"adapter_id": computedForGood("GUID of the adapter, for `vm_network_adapter_id` of other resources."),
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What Windows says of the adapter.",
			Attributes: map[string]schema.Attribute{
				"mac_address":         text("MAC address in use, as Hyper-V writes it."),
				"connected":           schema.BoolAttribute{Computed: true, MarkdownDescription: "The adapter is connected to a switch."},
				"switch_id":           text("GUID of the switch; empty when not connected."),
				"iov_usage":           schema.Int64Attribute{Computed: true, MarkdownDescription: "Above 0: the adapter has a virtual function. 0 while the VM is off."},
				"vf_data_path_active": schema.BoolAttribute{Computed: true, MarkdownDescription: "The guest's driver uses the virtual function (facts.md 55)."},
				"status":              schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Status of the adapter; empty while the VM is off."},
				"status_description":  schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The same in the host's language."},
				"vlan_mode":           text("`Untagged`, `Access`, `Trunk` or `Private`."),
				"isolation_mode":      text("`None`, `Vlan`, `NativeVirtualSubnet` or `ExternalVirtualSubnet`: the other place where a VLAN can be set (facts.md 60)."),
				"isolation_id":        schema.Int64Attribute{Computed: true, MarkdownDescription: "Default isolation id; the VLAN where isolation_mode is `Vlan`."},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addRestartAttributes(attributes)
	attributes["restart_policy"] = schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(hyperv.RestartManual),
		MarkdownDescription: "`manual` (default): a running VM of Generation 1, which must be off for adapters to come and go (facts.md 61a), is an error. `auto`: it is restarted for that, as `planned_restarts` shows; " +
			"a VM of Generation 2 never is.",
		Validators: []validator.String{stringvalidator.OneOf(hyperv.RestartAuto, hyperv.RestartManual)}}
	attributes["vm_restart"] = vmRestartAttribute()
	resp.Schema = schema.Schema{
		MarkdownDescription: "Network adapter of a virtual machine. The provider adds it, changes it in place and removes it; other adapters of the VM are never touched. " +
			"Added to and removed from a running VM only in Generation 2; a Generation 1 VM must be off, and is restarted with `restart_policy = \"auto\"` (facts.md 61a). " +
			"What is left out of the configuration is left to Windows; what is removed from it goes back to Windows' default.",
		Attributes: attributes,
	}
}

// vmRestart is the restart that the VM may need for its adapter to come or go.
func (m *vmNetworkAdapterModel) vmRestart(change string) hyperv.Restart {
	return hyperv.Restart{Kind: hyperv.RestartVM, Target: m.VMName.ValueString(), Condition: hyperv.IfGeneration1,
		Reason: change + ": a VM of Generation 1 must be off for it (facts.md 61a)" + m.turnsOff()}
}

// ModifyPlan fills in the host, drops changes that are only another spelling, and shows the restart that a VM of Generation 1
// needs.
func (r *vmNetworkAdapterResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	var state, plan vmNetworkAdapterModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		if state.RestartPolicy.ValueString() == hyperv.RestartAuto {
			warnDestroy(resp, state.thing(), state.RestartPolicy, []hyperv.Restart{state.vmRestart("the adapter is removed")})
		}
		return
	}
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	planRestarts(ctx, req, resp, plan.thing(), func() restartNeeds {
		n := restartNeeds{Attribute: path.Root("restart_policy")}
		switch {
		case plan.RestartPolicy.ValueString() == hyperv.RestartManual: // nothing is owed: what Hyper-V refuses is an error
		case !req.State.Raw.IsNull() && plan.VMName.Equal(state.VMName):
		case plan.VMName.IsUnknown():
			n.Unknown = append(n.Unknown, path.Root("vm_name"))
		default:
			n.Restarts = []hyperv.Restart{plan.vmRestart("the adapter is added")}
		}
		return n
	})
}

// readRestarts takes over what the VM owes.
func (m *vmNetworkAdapterModel) readRestarts(ctx context.Context, a *hyperv.VMAdapter, diags *diag.Diagnostics) {
	if m.RestartPolicy.IsNull() { // after an import
		m.RestartPolicy = types.StringValue(hyperv.RestartManual)
	}
	m.restartModel = m.read(ctx, a.Debts, diags)
}

// oursKey is the key of the private state that says that the provider made the adapter.
const oursKey = "ours"

func (r *vmNetworkAdapterResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m vmNetworkAdapterModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	a, notes, err := h.CreateVMNetworkAdapter(ctx, m.spec(ctx, &resp.Diagnostics))
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", m.thing(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, a, &resp.Diagnostics)
	m.restartModel = m.applied(ctx, a.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, oursKey, []byte("true"))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *vmNetworkAdapterResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m vmNetworkAdapterModel
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
	a, err := h.ReadVMNetworkAdapter(ctx, m.ref())
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", m.thing(), h.Name}, err)
		return
	}
	was := m.VMName
	m.drift(a)
	rememberVMName(ctx, was, m.VMName, req, resp)
	m.fill(ctx, h.Name, a, &resp.Diagnostics)
	m.readRestarts(ctx, a, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *vmNetworkAdapterResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state vmNetworkAdapterModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ours, d := req.Private.GetKey(ctx, oursKey)
	resp.Diagnostics.Append(d...)
	ctx, cancel := within(ctx, m.Timeouts.Update, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	a, notes, err := h.UpdateVMNetworkAdapter(ctx, state.ref(), m.spec(ctx, &resp.Diagnostics), state.spec(ctx, &resp.Diagnostics), len(ours) > 0)
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", state.thing(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, a, &resp.Diagnostics)
	m.restartModel = m.applied(ctx, a.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *vmNetworkAdapterResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m vmNetworkAdapterModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	notes, err := h.DeleteVMNetworkAdapter(ctx, m.ref(), m.rules(ctx, m.RestartPolicy, &resp.Diagnostics))
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", m.thing(), h.Name}, err)
	}
}

// ImportState takes host/VM/adapter, VM and adapter each by name or by GUID.
func (r *vmNetworkAdapterResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	h, a := r.importAdapter(ctx, req.ID, &resp.Diagnostics)
	if a == nil {
		return
	}
	m := vmNetworkAdapterModel{Host: types.StringValue(h.Name), Timeouts: noTimeouts("create", "read", "update", "delete"), vmRestartModel: vmRestartNull()}
	m.imported(a)
	m.fill(ctx, h.Name, a, &resp.Diagnostics)
	m.readRestarts(ctx, a, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
