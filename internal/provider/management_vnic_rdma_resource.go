package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type managementVnicRdmaResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*managementVnicRdmaResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*managementVnicRdmaResource)(nil)
	_ resource.ResourceWithImportState = (*managementVnicRdmaResource)(nil)
)

func newManagementVnicRdmaResource() resource.Resource { return &managementVnicRdmaResource{} }

func (r *managementVnicRdmaResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_management_vnic_rdma"
}

func (r *managementVnicRdmaResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	vlanID := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Required: true, MarkdownDescription: description, Validators: []validator.Int64{int64validator.Between(1, 4094)}}
	}
	attributes := map[string]schema.Attribute{
		"id":   computedForGood("`host/GUID of the adapter`. Import takes the same, or `host/switch/adapter` with the adapter's name: `hv1/RDMA/SMB_1`. A `/` inside a part is written `%2F`, a `%` is written `%25`."),
		"host": hostAttribute(),
		"switch_name": schema.StringAttribute{Required: true, CustomType: customtypes.NameType{},
			MarkdownDescription: "Name of the virtual switch, with or without Switch Embedded Teaming. A switch on a classic team (LBFO) is refused: RDMA does not pass it (facts.md 21). Another name replaces the adapter; a switch that is renamed outside of Terraform is followed by its id, and its new name replaces nothing.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			PlanModifiers:       []planmodifier.String{customtypes.KeepName(), replaceOtherSwitch()}},
		"name": schema.StringAttribute{Required: true, CustomType: customtypes.NameType{},
			MarkdownDescription: "Name of the adapter, unique on the switch and not the switch's own (that one is `allow_management_os` of `hyperv_iov_switch`). Changed in place; the net adapter `vEthernet (name)` is renamed with it unless somebody gave it a name of its own (facts.md 88).",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}},
		"rdma": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "RDMA of the adapter (Enable-NetAdapterRdma; there is no RdmaWeight for host adapters, facts.md 48). Default: true. Needs Windows Server 2016 or later, and a switch on adapters whose RDMA is on. A change restarts this adapter for a moment."},
		"vlan": schema.SingleNestedAttribute{Optional: true,
			MarkdownDescription: "VLAN by access mode. Many physical switches drop the priority of untagged frames, so an RDMA adapter needs a VLAN (facts.md 87). Changed in place. Removed from the configuration: untagged.",
			Attributes:          map[string]schema.Attribute{"access_vlan_id": vlanID("VLAN id, 1 to 4094.")}},
		"isolation": schema.SingleNestedAttribute{Optional: true,
			MarkdownDescription: "VLAN by the adapter's isolation setting instead (Set-VMNetworkAdapterIsolation, mode Vlan; facts.md 60, 87). Not together with `vlan`. Changed in place. Removed from the configuration: none.",
			Validators:          []validator.Object{objectvalidator.ConflictsWith(path.MatchRoot("vlan"))},
			Attributes: map[string]schema.Attribute{
				"vlan_id": vlanID("VLAN id, 1 to 4094."),
				"allow_untagged_traffic": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false),
					MarkdownDescription: "Whether untagged frames pass too. Default: false."},
			}},
		"team_mapping": schema.StringAttribute{Optional: true, CustomType: customtypes.NameType{},
			MarkdownDescription: "Name of the physical net adapter of the switch that carries this adapter (Set-VMNetworkAdapterTeamMapping -ManagementOS). Without it Windows chooses (facts.md 22, 88). Changed in place.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			PlanModifiers:       []planmodifier.String{customtypes.KeepName()}},
		"adapter_id": computedForGood("GUID of the adapter."),
		"switch_id":  computedForGood("GUID of the switch."),
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What Windows says of the adapter.",
			Attributes: map[string]schema.Attribute{
				"net_adapter_name":         text("Name of its net adapter. It is found by its device, so a rename outside of Terraform does no harm."),
				"net_adapter_name_matches": schema.BoolAttribute{Computed: true, MarkdownDescription: "The net adapter is named `vEthernet (name)` (facts.md 88)."},
				"switch_name":              text("Name of its switch now."),
				"mac_address":              text("MAC address, as Hyper-V writes it."),
				"rdma_offered":             schema.BoolAttribute{Computed: true, MarkdownDescription: "Windows offers RDMA on the adapter: a member of the switch does it."},
				"max_queue_pairs":          schema.Int64Attribute{Computed: true, MarkdownDescription: "MaxQueuePairCount; 0 means that the driver does no RDMA really (facts.md 90)."},
				"vlan_mode":                text("`Untagged`, `Access`, `Trunk` or `Private`."),
				"isolation_mode":           text("`None`, `Vlan`, `NativeVirtualSubnet` or `ExternalVirtualSubnet`."),
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Virtual adapter of the management operating system (host vNIC) on a virtual switch, with RDMA: the host's own RDMA beside that of its guests. " +
			"Its IP configuration is left to you. Destroy removes the adapter, unless the host is reached through it.",
		Attributes: attributes,
	}
}

// replaceOtherSwitch replaces the adapter where the configuration names another switch, but not where it follows a rename
// of the switch that the adapter is on.
func replaceOtherSwitch() planmodifier.String {
	const what = "The name of another switch replaces the adapter; the new name of its own does not."
	return stringplanmodifier.RequiresReplaceIf(func(ctx context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
		var now types.String
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("actual").AtName("switch_name"), &now)...)
		resp.RequiresReplace = req.PlanValue.IsUnknown() || !customtypes.EqualName(req.PlanValue.ValueString(), now.ValueString())
	}, what, what)
}

// ModifyPlan fills in the host, drops changes that are only another spelling, and says that RDMA restarts the adapter.
func (r *managementVnicRdmaResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	unchanged, d := planUnchanged(ctx, req)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() || req.Plan.Raw.IsNull() || req.State.Raw.IsNull() {
		return
	}
	if unchanged {
		resp.Plan.Raw = req.State.Raw
		return
	}
	var plan, state managementVnicRdmaModel
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if !plan.Rdma.Equal(state.Rdma) && !resp.Diagnostics.HasError() {
		resp.Diagnostics.AddAttributeWarning(path.Root("rdma"), "A change of RDMA restarts the adapter",
			fmt.Sprintf("The %s restarts for a moment when its RDMA is turned on or off (facts.md 33): what the host does over it is interrupted.", state.about()))
	}
}

func (r *managementVnicRdmaResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m managementVnicRdmaModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	v, err := h.CreateHostVNic(ctx, m.spec(ctx, &resp.Diagnostics))
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", m.about(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, v, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, v.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *managementVnicRdmaResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m managementVnicRdmaModel
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
	v, err := h.ReadHostVNic(ctx, m.ref())
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", m.about(), h.Name}, err)
		return
	}
	m.drift(ctx, v, &resp.Diagnostics)
	m.fill(ctx, h.Name, v, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *managementVnicRdmaResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state managementVnicRdmaModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	v, err := h.UpdateHostVNic(ctx, state.ref(), m.spec(ctx, &resp.Diagnostics), state.spec(ctx, &resp.Diagnostics))
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", state.about(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, v, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, v.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *managementVnicRdmaResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m managementVnicRdmaModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	if err := h.DeleteHostVNic(ctx, m.ref()); err != nil {
		addError(&resp.Diagnostics, failed{"delete", m.about(), h.Name}, err)
	}
}

// ImportState takes host/GUID of the adapter, or host/switch/adapter.
func (r *managementVnicRdmaResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	form := importForm{Parts: []string{"host", "switch", "adapter"}, Example: "hv1/RDMA/SMB_1"}
	if strings.Count(req.ID, "/") == 1 {
		form = importForm{Parts: []string{"host", "adapter id"}, Example: "hv1/d02d7c29-9a4c-4a1c-9d2c-0c0f3f3f7f10"}
	}
	parts := r.importID(ctx, req.ID, form, &resp.Diagnostics)
	if parts == nil {
		return
	}
	h := r.host(types.StringValue(parts[0]), &resp.Diagnostics)
	if h == nil {
		return
	}
	sw := ""
	if len(parts) == 3 {
		sw = parts[1]
	}
	v, err := h.FindHostVNic(ctx, sw, parts[len(parts)-1])
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", fmt.Sprintf("network adapter %q of the management operating system", parts[len(parts)-1]), h.Name}, err)
		return
	}
	m := managementVnicRdmaModel{Host: types.StringValue(h.Name), Timeouts: noTimeouts("create", "read", "update", "delete")}
	m.imported(ctx, v, &resp.Diagnostics)
	m.fill(ctx, h.Name, v, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
