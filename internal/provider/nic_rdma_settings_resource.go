package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type nicRdmaSettingsResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure      = (*nicRdmaSettingsResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*nicRdmaSettingsResource)(nil)
	_ resource.ResourceWithImportState    = (*nicRdmaSettingsResource)(nil)
	_ resource.ResourceWithValidateConfig = (*nicRdmaSettingsResource)(nil)
)

func newNicRdmaSettingsResource() resource.Resource { return &nicRdmaSettingsResource{} }

func nicRdmaSettingsImport() importForm {
	return importForm{Parts: []string{"host", "net adapter"}, Example: "hv1/iWARP 1"}
}

func (r *nicRdmaSettingsResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_nic_rdma_settings"
}

func (r *nicRdmaSettingsResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	const restarts = " A change restarts all ports of the device."
	attributes := map[string]schema.Attribute{
		"id":   idAttribute(nicRdmaSettingsImport()),
		"host": hostAttribute(),
		"net_adapter_names": schema.ListAttribute{Required: true, ElementType: customtypes.NameType{},
			MarkdownDescription: "Names of one or more ports of the device. The settings go to all its ports, also those not named (facts.md 35); ports of two devices in one resource are an error. Ports of another device replace the resource. " + renamedNetAdapters,
			Validators:          netAdapterNamesValidators()},
		"sriov": schema.BoolAttribute{Optional: true, MarkdownDescription: "SR-IOV (`*SRIOV`)." + restarts},
		"vmq":   schema.BoolAttribute{Optional: true, MarkdownDescription: "Virtual machine queues (`*VMQ`). RDMA on host adapters needs it too (facts.md 32)." + restarts},
		"rdma":  schema.BoolAttribute{Optional: true, MarkdownDescription: "Network Direct, that is RDMA, of the physical ports (`*NetworkDirect`)." + restarts},
		"technology": schema.StringAttribute{Optional: true,
			MarkdownDescription: "RDMA technology (`*NetworkDirectTechnology`): `iWARP`, `InfiniBand`, `RoCE` or `RoCEv2`, as far as the device lists it (facts.md 76)." + restarts,
			Validators:          []validator.String{stringvalidator.OneOf("iWARP", "InfiniBand", "RoCE", "RoCEv2")}},
		"rdma_max_vfs": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "How many virtual functions may do RDMA at once on the whole device, 0 to 32 (Intel's `RdmaMaxVfsEnabled`; its own default is 0: none). All ports hold the same value; a port with another one is drift. More virtual functions leave less for the ports and for each other (facts.md 35)." + restarts,
			Validators:          []validator.Int64{int64validator.Between(0, 32)}},
		"guest_rdma_registry": schema.SingleNestedAttribute{Optional: true,
			MarkdownDescription: "Registry value (REG_DWORD) that allows guest RDMA, below `HKLM\\SYSTEM\\CurrentControlSet\\Services\\<service>\\Parameters` (ConnectX-3: `EnableGuestRdma` of `mlx4_bus`; facts.md 36). Whether the driver's bus device or the host must restart as well is not documented." + restarts,
			Attributes: map[string]schema.Attribute{
				"service":    schema.StringAttribute{Optional: true, MarkdownDescription: "Service name. Default: by the profile.", Validators: []validator.String{stringvalidator.RegexMatches(serviceName(), "must be a service name: letters, digits, - _ and .")}},
				"value_name": schema.StringAttribute{Optional: true, MarkdownDescription: "Name of the value. Default: by the profile.", Validators: []validator.String{stringvalidator.RegexMatches(serviceName(), "must be a value name: letters, digits, - _ and .")}},
				"value":      schema.Int64Attribute{Required: true, MarkdownDescription: "The value, 0 to 4294967295; 1 allows guest RDMA.", Validators: []validator.Int64{int64validator.Between(0, 4294967295)}},
			}},
		"num_vfs": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "Virtual functions per port (`*NumVFs`, Set-NetAdapterSriov -NumVFs). The driver may offer fewer (facts.md 31)." + restarts,
			Validators:          []validator.Int64{int64validator.AtLeast(0)}},
		"advanced_properties": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Further advanced properties: registry keyword to registry value (not the texts that Device Manager shows). A keyword that has an attribute of its own is refused here; one that the driver lacks is an error (facts.md 38)." + restarts},
		"profile":            profileAttribute(),
		"restart_on_destroy": restartOnDestroyAttribute(),
		"restart_trigger":    restartTriggerAttribute(),
		"ports":              schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Names of all ports of the device."},
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What Windows says of the device.",
			Attributes: map[string]schema.Attribute{
				"location":       schema.StringAttribute{Computed: true, MarkdownDescription: "PCI segment:bus:device, in decimal."},
				"driver":         schema.StringAttribute{Computed: true, MarkdownDescription: "Driver file."},
				"driver_version": schema.StringAttribute{Computed: true, MarkdownDescription: "Driver version."},
				"unequal":        schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Keywords that are not the same on all ports."},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addRestartAttributes(attributes)
	resp.Schema = schema.Schema{
		MarkdownDescription: "RDMA and SR-IOV settings of all ports of one physical network device. " +
			"What is left out is not managed; what is removed from the configuration, and everything on destroy, is put back to what was there before the provider first changed it. " +
			"Drivers read their settings when the adapters start, so a change disables and enables all ports of the device once (facts.md 33-36).",
		Attributes: attributes,
	}
}

// ValidateConfig refuses keywords that have an attribute of their own.
func (r *nicRdmaSettingsResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m nicRdmaSettingsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || m.AdvancedProperties.IsUnknown() {
		return
	}
	seen := map[string]string{}
	for _, keyword := range slices.Sorted(maps.Keys(m.AdvancedProperties.Elements())) {
		at := path.Root("advanced_properties").AtMapKey(keyword)
		for known, attribute := range ownAttributes() {
			if strings.EqualFold(known, keyword) {
				resp.Diagnostics.AddAttributeError(at, "The keyword has an attribute of its own",
					fmt.Sprintf("advanced_properties[%q]: use the attribute %s instead, so that one place says it.", keyword, attribute))
			}
		}
		if other, ok := seen[strings.ToLower(keyword)]; ok {
			resp.Diagnostics.AddAttributeError(at, "The same keyword twice",
				fmt.Sprintf("advanced_properties has %q and %q: keywords ignore case. Keep one.", other, keyword))
		}
		seen[strings.ToLower(keyword)] = keyword
	}
}

// ModifyPlan shows the restarts, and replaces the resource where it goes to another device.
func (r *nicRdmaSettingsResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	var state, plan nicRdmaSettingsModel
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		if state.managesSomething() {
			warnDestroyPart(resp, nicThing(state.NetAdapterNames), state.RestartPolicy, state.RestartOnDestroy, r.restart(state, "settings are put back"),
				r.interrupted(state.Host, state.NetAdapterNames))
		}
		return
	}
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !req.State.Raw.IsNull() && !plan.NetAdapterNames.IsUnknown() && allKnown(plan.NetAdapterNames) && !state.hasPort(plan.NetAdapterNames) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("net_adapter_names"))
	}
	planRestarts(ctx, req, resp, nicThing(plan.NetAdapterNames), func() (n restartNeeds) {
		n = restartNeeds{Attribute: path.Root("net_adapter_names")}
		defer func() { planRestartTrigger(ctx, resp, n) }()
		if !plan.NetAdapterNames.IsUnknown() && !allKnown(plan.NetAdapterNames) || plan.NetAdapterNames.IsUnknown() {
			n.Unknown = append(n.Unknown, path.Root("net_adapter_names"))
			return n
		}
		changed, unknown := plan.changedSettings(&state, req.State.Raw.IsNull())
		n.Unknown = append(n.Unknown, unknown...)
		if len(changed) > 0 {
			n.Attribute = path.Root(changed[0])
			about := plan
			if !req.State.Raw.IsNull() {
				about = state
			}
			n.Restarts = []hyperv.Restart{r.restart(about, strings.Join(changed, ", ")+" changed")}
		}
		return n
	}, r.interrupted(plan.Host, plan.NetAdapterNames))
}

// restart is the bounce of the device, as a plan shows it.
func (r *nicRdmaSettingsResource) restart(m nicRdmaSettingsModel, why string) hyperv.Restart {
	target := joinNames(m.NetAdapterNames)
	if len(m.Ports.Elements()) > 0 {
		target = joinNames(m.Ports)
	}
	return hyperv.Restart{Kind: hyperv.RestartNetAdapter, Target: target, Condition: hyperv.Always,
		Reason: why + ": the driver reads its settings when the adapters start (facts.md 33-36)"}
}

func (r *nicRdmaSettingsResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m nicRdmaSettingsModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	s, err := h.ApplyNicSettings(ctx, m.spec(ctx, &resp.Diagnostics), nil)
	if err != nil {
		addError(&resp.Diagnostics, failed{"create", nicThing(m.NetAdapterNames), h.Name}, err)
		return
	}
	m.RestartTrigger = newRestartTrigger(m.RestartTrigger)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.applied(ctx, s.Debts, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, s.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAsked(ctx, resp.Private, m.spec(ctx, &resp.Diagnostics), &resp.Diagnostics)
	keepPorts(ctx, resp.Private, s.Known, &resp.Diagnostics)
}

func (r *nicRdmaSettingsResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m nicRdmaSettingsModel
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
	asked, known := m.asked(ctx, req.Private, &resp.Diagnostics)
	if !known {
		keepAsked(ctx, resp.Private, asked, &resp.Diagnostics)
	}
	s, err := m.readAny(ctx, h, asked)
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", nicThing(m.NetAdapterNames), h.Name}, err)
		return
	}
	m.RestartTrigger = keptRestartTrigger(m.RestartTrigger)
	m.drift(ctx, s, &resp.Diagnostics)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.read(ctx, s.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepPorts(ctx, resp.Private, s.Known, &resp.Diagnostics)
}

func (r *nicRdmaSettingsResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state nicRdmaSettingsModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	old, _ := state.asked(ctx, req.Private, &resp.Diagnostics)
	spec := m.spec(ctx, &resp.Diagnostics)
	spec.Known = old.Known
	s, err := h.ApplyNicSettings(ctx, spec, &old)
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", nicThing(m.NetAdapterNames), h.Name}, err)
		return
	}
	m.RestartTrigger = newRestartTrigger(m.RestartTrigger)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.applied(ctx, s.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	keepAsked(ctx, resp.Private, m.spec(ctx, &resp.Diagnostics), &resp.Diagnostics)
	keepPorts(ctx, resp.Private, s.Known, &resp.Diagnostics)
	m.addUpdateNotes(&resp.Diagnostics, s.Notes, s.Debts)
}

func (r *nicRdmaSettingsResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m nicRdmaSettingsModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 10*time.Minute, &resp.Diagnostics)
	defer cancel()
	asked, _ := m.asked(ctx, req.Private, &resp.Diagnostics)
	notes, err := h.DeleteNicSettings(ctx, asked)
	if err != nil {
		addError(&resp.Diagnostics, failed{"delete", nicThing(m.NetAdapterNames), h.Name}, err)
		return
	}
	addNotes(&resp.Diagnostics, notes)
}

// ImportState takes host/any port of the device.
func (r *nicRdmaSettingsResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	parts := r.importID(ctx, req.ID, nicRdmaSettingsImport(), &resp.Diagnostics)
	if parts == nil {
		return
	}
	h := r.host(types.StringValue(parts[0]), &resp.Diagnostics)
	if h == nil {
		return
	}
	s, err := h.ReadNicSettings(ctx, parts[1], hyperv.NicSettingsSpec{})
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", fmt.Sprintf("net adapter %q", parts[1]), h.Name}, err)
		return
	}
	m := nicRdmaSettingsModel{Host: types.StringValue(h.Name), RestartTrigger: types.StringValue(""), Timeouts: noTimeouts("create", "read", "update", "delete")}
	m.imported(ctx, s, &resp.Diagnostics)
	m.fill(ctx, h.Name, s, &resp.Diagnostics)
	m.restartModel = m.read(ctx, s.Debts, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
