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
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

type vmNetworkAdapterRdmaResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*vmNetworkAdapterRdmaResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*vmNetworkAdapterRdmaResource)(nil)
	_ resource.ResourceWithImportState = (*vmNetworkAdapterRdmaResource)(nil)
)

func newVMNetworkAdapterRdmaResource() resource.Resource { return &vmNetworkAdapterRdmaResource{} }

func (r *vmNetworkAdapterRdmaResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm_network_adapter_rdma"
}

func (r *vmNetworkAdapterRdmaResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	attributes := map[string]schema.Attribute{
		"iov_weight": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "IovWeight, 0 to 100: above 0 the adapter gets a virtual function, at once also while the VM runs; 0 takes it away, and traffic falls back to the synthetic path (facts.md 43, 46). In practice 0 or 100. Above 0 needs a switch with SR-IOV.",
			Validators:          []validator.Int64{int64validator.Between(0, 100)}},
		"rdma_weight": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "RdmaWeight, 0 to 100: above 0 the virtual function does RDMA. Needed where the guest is Windows 10 1703 or later; hosts before that have no such setting, and it is an error there (facts.md 4, 5). " +
				"Set before `iov_weight` on the way up and after it on the way down (facts.md 44). Where Hyper-V refuses the change on a running VM, the VM is restarted, if `restart_policy` allows it (facts.md 45).",
			Validators: []validator.Int64{int64validator.Between(0, 100)}},
		"iov_queue_pairs_requested": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "Queue pairs that the virtual function asks for, 1 or more. Windows' default: 1. A change takes the virtual function away and gives a new one; the VM keeps running (facts.md 47a).",
			Validators:          []validator.Int64{int64validator.AtLeast(1)}},
		"iov_interrupt_moderation": schema.StringAttribute{Optional: true,
			MarkdownDescription: "Interrupt moderation of the virtual function: `Default`, `Adaptive`, `Off`, `Low`, `Medium` or `High`.",
			Validators:          []validator.String{stringvalidator.OneOf("Default", "Adaptive", "Off", "Low", "Medium", "High")}},
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What Windows says of the adapter.",
			Attributes: map[string]schema.Attribute{
				"iov_weight":                number("IovWeight."),
				"rdma_weight":               number("RdmaWeight; 0 also where it was never set."),
				"iov_queue_pairs_requested": number("Queue pairs asked for."),
				"iov_interrupt_moderation":  schema.StringAttribute{Computed: true, MarkdownDescription: "Interrupt moderation."},
				"iov_usage":                 number("Above 0: the adapter has a virtual function. 0 while the VM is off."),
				"iov_queue_pairs_assigned":  number("Queue pairs that the virtual function got."),
				"vf_data_path_active":       schema.BoolAttribute{Computed: true, MarkdownDescription: "The guest's driver uses the virtual function (facts.md 55)."},
				"switch_name":               schema.StringAttribute{Computed: true, MarkdownDescription: "Switch that the adapter is connected to; empty when not connected."},
				"status":                    schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Status of the adapter; empty while the VM is off."},
				"status_description":        schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The same in the host's language."},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addAdapterRefAttributes(attributes)
	addRestartAttributes(attributes)
	attributes["vm_restart"] = vmRestartAttribute()
	resp.Schema = schema.Schema{
		MarkdownDescription: "SR-IOV and RDMA settings of a VM's network adapter, made by Terraform or not. What the adapter held before is remembered on the host and put back on destroy, " +
			"and when an attribute is removed from the configuration. What is left out is not touched. One resource per adapter. " +
			"Adapters of the management operating system have no such settings (facts.md 48).",
		Attributes: attributes,
	}
}

// vmRestart is the restart that a change of RdmaWeight may need.
func (m *vmNetworkAdapterRdmaModel) vmRestart(change string) hyperv.Restart {
	return hyperv.Restart{Kind: hyperv.RestartVM, Target: m.VMName.ValueString(), Condition: hyperv.IfRecoveryNeeded,
		Reason: change + ": only if Hyper-V refuses it while the VM runs (facts.md 45)" + m.turnsOff()}
}

// ModifyPlan shows the restart of the VM that a change of RdmaWeight may need.
func (r *vmNetworkAdapterRdmaResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	var state, plan vmNetworkAdapterRdmaModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		if state.RdmaWeight.ValueInt64() > 0 && state.auto() {
			warnDestroy(resp, state.thing("RDMA settings"), state.RestartPolicy, []hyperv.Restart{state.vmRestart("RdmaWeight is put back")})
		}
		return
	}
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	planRestarts(ctx, req, resp, plan.thing("RDMA settings"), func() restartNeeds {
		n := restartNeeds{Attribute: path.Root("rdma_weight")}
		made := req.State.Raw.IsNull() || len(resp.RequiresReplace) > 0
		switch {
		case plan.RdmaWeight.IsUnknown():
			n.Unknown = append(n.Unknown, path.Root("rdma_weight"))
		case made && plan.RdmaWeight.ValueInt64() == 0, !made && plan.RdmaWeight.Equal(state.RdmaWeight):
		case plan.VMName.IsUnknown():
			n.Unknown = append(n.Unknown, path.Root("vm_name"))
		default:
			n.Restarts = []hyperv.Restart{plan.vmRestart("RdmaWeight changes")}
		}
		if plan.RestartPolicy.ValueString() == hyperv.RestartManual {
			n.Restarts = nil // a change that Hyper-V refuses is an error then, nothing is owed
		}
		return n
	})
}

func (r *vmNetworkAdapterRdmaResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m vmNetworkAdapterRdmaModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	a, notes, err := h.ApplyAdapterRdma(ctx, m.configured(), m.configured(), m.spec(), nil, m.rules(ctx, m.RestartPolicy, &resp.Diagnostics))
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", m.thing("RDMA settings"), h.Name}, err)
		return
	}
	m.store(ctx, h.Name, a, notes, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, a, &resp.Diagnostics)
}

// store takes over the result of a create or an update.
func (m *vmNetworkAdapterRdmaModel) store(ctx context.Context, host string, a *hyperv.VMAdapter, notes []hyperv.Note, diags *diag.Diagnostics) {
	name := m.VMName
	m.fill(ctx, host, a, diags)
	m.VMName = name
	m.restartModel = m.applied(ctx, a.Debts, diags)
	addNotes(diags, notes)
}

func (r *vmNetworkAdapterRdmaResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m vmNetworkAdapterRdmaModel
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
	a, err := h.ReadVMNetworkAdapter(ctx, m.found())
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", m.thing("RDMA settings"), h.Name}, err)
		return
	}
	was := m.VMName
	m.drift(a)
	m.fill(ctx, h.Name, a, &resp.Diagnostics)
	rememberVMName(ctx, was, m.VMName, req, resp)
	m.restartModel = m.read(ctx, a.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, a, &resp.Diagnostics)
}

func (r *vmNetworkAdapterRdmaResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state vmNetworkAdapterRdmaModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	old := state.spec()
	a, notes, err := h.ApplyAdapterRdma(ctx, state.found(), m.configured(), m.spec(), &old, m.rules(ctx, m.RestartPolicy, &resp.Diagnostics))
	if err != nil {
		addNotes(&resp.Diagnostics, notes)
		addError(&resp.Diagnostics, failed{"update", state.thing("RDMA settings"), h.Name}, err)
		return
	}
	m.store(ctx, h.Name, a, notes, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, a, &resp.Diagnostics)
}

func (r *vmNetworkAdapterRdmaResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m vmNetworkAdapterRdmaModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	notes, err := h.RestoreAdapterRdma(ctx, m.found(), m.spec(), m.rules(ctx, m.RestartPolicy, &resp.Diagnostics))
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", m.thing("RDMA settings"), h.Name}, err)
	}
}

// ImportState takes host/VM/adapter, VM and adapter each by name or by GUID.
func (r *vmNetworkAdapterRdmaResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	h, a := r.importAdapter(ctx, req.ID, &resp.Diagnostics)
	if a == nil {
		return
	}
	m := vmNetworkAdapterRdmaModel{Host: types.StringValue(h.Name), Timeouts: noTimeouts("create", "read", "update", "delete"), vmRestartModel: vmRestartNull()}
	m.imported(a)
	m.fill(ctx, h.Name, a, &resp.Diagnostics)
	m.restartModel = m.read(ctx, a.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAdapterName(ctx, resp.Private, a, &resp.Diagnostics)
}
