package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

// adapterRefModel is embedded in the model of every resource that is about a VM network adapter which it does
// not own.
type adapterRefModel struct {
	VMName               customtypes.Name `tfsdk:"vm_name"`
	VMNetworkAdapterName customtypes.Name `tfsdk:"vm_network_adapter_name"`
	VMNetworkAdapterID   types.String     `tfsdk:"vm_network_adapter_id"`
	VMID                 types.String     `tfsdk:"vm_id"`
	AdapterID            types.String     `tfsdk:"adapter_id"`
}

// configured is the adapter as the configuration names it.
func (m adapterRefModel) configured() hyperv.AdapterRef {
	return hyperv.AdapterRef{VMName: m.VMName.ValueString(), AdapterName: m.VMNetworkAdapterName.ValueString(), AdapterID: m.VMNetworkAdapterID.ValueString()}
}

// found is the adapter as it was found, by its ids.
func (m adapterRefModel) found() hyperv.AdapterRef {
	return hyperv.AdapterRef{VMName: m.VMName.ValueString(), VMID: m.VMID.ValueString(), AdapterName: m.VMNetworkAdapterName.ValueString(), AdapterID: m.AdapterID.ValueString()}
}

func (m adapterRefModel) thing(what string) string {
	name := m.VMNetworkAdapterName.ValueString()
	if name == "" {
		name = m.VMNetworkAdapterID.ValueString()
	}
	if name == "" { // the id of an adapter that is yet to be added
		return fmt.Sprintf("%s of a network adapter of VM %q", what, m.VMName.ValueString())
	}
	return fmt.Sprintf("%s of network adapter %q of VM %q", what, name, m.VMName.ValueString())
}

// take stores which adapter was found. A VM that was renamed shows its new name.
func (m *adapterRefModel) take(a *hyperv.VMAdapter) {
	m.VMID, m.AdapterID = types.StringValue(a.VM.ID), types.StringValue(a.GUID)
	m.VMName = customtypes.NewName(a.VM.Name)
}

// adapterRefID is the id of such a resource.
func adapterRefID(host string, a *hyperv.VMAdapter) types.String {
	return types.StringValue(formatID(host, a.VM.ID, a.GUID))
}

func vmAdapterIDForm() importForm {
	return importForm{Parts: []string{"host", "vm", "adapter"}, Example: "hv1/vm1/RDMA"}
}

const vmAdapterIDDescription = "The host, the GUID of the VM and the GUID of the adapter. Import takes this, or names instead of the GUIDs: `host/VM/adapter`, for example `hv1/vm1/RDMA`. A `/` inside a part is written `%2F`, a `%` is written `%25`."

// addAdapterRefAttributes adds id, host, vm_name, the name or id of the adapter, and what was found.
func addAdapterRefAttributes(attributes map[string]schema.Attribute) {
	attributes["id"] = computedForGood(vmAdapterIDDescription)
	attributes["host"] = hostAttribute()
	attributes["vm_name"] = vmNameAttribute()
	attributes["vm_network_adapter_name"] = schema.StringAttribute{Optional: true, CustomType: customtypes.NameType{},
		MarkdownDescription: "Name of the VM's network adapter, of any origin. Exactly one of this and `vm_network_adapter_id`; where two adapters have the name, only the id says which. The name of another adapter replaces the resource; the same one by its id does not, nor does its new name after a rename.",
		Validators: []validator.String{stringvalidator.LengthAtLeast(1),
			stringvalidator.ExactlyOneOf(path.MatchRoot("vm_network_adapter_name"), path.MatchRoot("vm_network_adapter_id"))},
		PlanModifiers: []planmodifier.String{customtypes.KeepName(), replaceOtherAdapter{}}}
	attributes["vm_network_adapter_id"] = schema.StringAttribute{Optional: true,
		MarkdownDescription: "GUID of the VM's network adapter (`adapter_id` of `hyperv_vm_network_adapter`). The id of another adapter replaces the resource; the same one by its name does not.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		PlanModifiers:       []planmodifier.String{keepAdapterID{}, replaceOtherAdapter{}}}
	attributes["vm_id"] = computedForGood("GUID of the VM. The VM is found by it, also after a rename.")
	attributes["adapter_id"] = computedForGood("GUID of the network adapter.")
}

func computedForGood(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

func vmNameAttribute() schema.StringAttribute {
	return schema.StringAttribute{Required: true, CustomType: customtypes.NameType{},
		MarkdownDescription: "Name of the VM. The name of another VM replaces the resource. A VM that is renamed outside of Terraform is followed by its id: its new name shows as a change of this attribute, and the apply asks for the configuration to follow.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		PlanModifiers:       []planmodifier.String{customtypes.KeepName(), replaceOtherVM{}}}
}

// formerNames is the key of the private state under which the names are kept that a resource's VM had before
// somebody renamed it.
const formerNames = "former_vm_names"

// privateData is what requests and responses offer of the private state.
type privateData interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func formerVMNames(ctx context.Context, private privateData, diags *diag.Diagnostics) []string {
	raw, d := private.GetKey(ctx, formerNames)
	diags.Append(d...)
	var names []string
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &names); err != nil {
			diags.AddError("Unreadable private state", fmt.Sprintf("The names that the VM had before are not readable: %v.", err))
		}
	}
	return names
}

// rememberVMName keeps the name that a VM had in the state when a read finds another one: the configuration still
// says it, and that must not look like another VM.
func rememberVMName(ctx context.Context, was, is customtypes.Name, req resource.ReadRequest, resp *resource.ReadResponse) {
	if was.IsNull() || customtypes.EqualName(was.ValueString(), is.ValueString()) {
		return
	}
	names := formerVMNames(ctx, req.Private, &resp.Diagnostics)
	for _, n := range names {
		if customtypes.EqualName(n, was.ValueString()) {
			return
		}
	}
	raw, err := json.Marshal(append(names, was.ValueString()))
	if err != nil {
		resp.Diagnostics.AddError("Private state", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, formerNames, raw)...)
}

// replaceOtherVM replaces the resource where the configuration names another VM, but not where the VM has another
// name now than the configuration says.
type replaceOtherVM struct{}

func (replaceOtherVM) Description(context.Context) string {
	return "The name of another VM replaces the resource; a VM that was renamed does not."
}

func (m replaceOtherVM) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (replaceOtherVM) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || resp.PlanValue.Equal(req.StateValue) {
		return
	}
	if !resp.PlanValue.IsUnknown() && req.Private != nil {
		for _, n := range formerVMNames(ctx, req.Private, &resp.Diagnostics) {
			if customtypes.EqualName(n, resp.PlanValue.ValueString()) {
				return
			}
		}
	}
	resp.RequiresReplace = true
}

// importAdapter finds the adapter that an import names, or gives nil with an error in diags.
func (b *baseResource) importAdapter(ctx context.Context, id string, diags *diag.Diagnostics) (*hyperv.Host, *hyperv.VMAdapter) {
	parts := b.importID(ctx, id, vmAdapterIDForm(), diags)
	if parts == nil {
		return nil, nil
	}
	h := b.host(types.StringValue(parts[0]), diags)
	if h == nil {
		return nil, nil
	}
	a, err := h.FindVMNetworkAdapter(ctx, parts[1], parts[2])
	if err != nil {
		addError(diags, failed{"import", fmt.Sprintf("network adapter %q of VM %q", parts[2], parts[1]), h.Name}, err)
		return nil, nil
	}
	return h, a
}
