package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

// targetModel is embedded in the model of every resource that is about the host itself or about a guest.
type targetModel struct {
	VMName        customtypes.Name `tfsdk:"vm_name"`
	VMID          types.String     `tfsdk:"vm_id"`
	Credential    types.String     `tfsdk:"credential"`
	OnUnreachable types.String     `tfsdk:"on_unreachable"`
}

func targetImports() []importForm {
	return []importForm{{Parts: []string{"host"}, Example: "hv1"}, {Parts: []string{"host", "vm"}, Example: "hv1/vm1"}}
}

// addTargetAttributes adds id, host, and what says whose Windows is meant. what is what a destroy puts back.
func addTargetAttributes(attributes map[string]schema.Attribute, what string) {
	attributes["id"] = computedForGood("`host` for the host itself, `host/GUID of the VM` for a guest. Import takes the same, or the VM's name: `hv1`, `hv1/vm1`. A `/` inside a part is written `%2F`, a `%` is written `%25`.")
	attributes["host"] = hostAttribute()
	attributes["vm_name"] = schema.StringAttribute{Optional: true, CustomType: customtypes.NameType{},
		MarkdownDescription: "Name of a VM: its guest is meant, which must run to be changed. Left out: the host itself. The name of another VM replaces the resource; a VM that was renamed is followed by its id.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		PlanModifiers:       []planmodifier.String{customtypes.KeepName(), replaceOtherVM{}}}
	attributes["vm_id"] = computedForGood("GUID of the VM; null for the host itself.")
	attributes["credential"] = schema.StringAttribute{Optional: true,
		MarkdownDescription: "Key of `guest_credentials` in the provider's configuration. Default: the VM's own in `guests`, else `default_guest_credential`.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1), stringvalidator.AlsoRequires(path.MatchRoot("vm_name"))}}
	attributes["on_unreachable"] = schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(unreachableError),
		MarkdownDescription: fmt.Sprintf("What a destroy does when the guest cannot be reached (the VM is off, the credential does not work): `error` (default), or `forget`, which leaves %s as it is. A VM that is gone is no error.", what),
		Validators:          []validator.String{stringvalidator.OneOf(unreachableError, unreachableForget)}}
}

// ref is the target as the configuration names it.
func (m targetModel) ref() hyperv.TargetRef {
	return hyperv.TargetRef{VMName: m.VMName.ValueString(), VMID: m.VMID.ValueString(), Credential: m.Credential.ValueString()}
}

func (m targetModel) forget() bool { return m.OnUnreachable.ValueString() == unreachableForget }

func (m targetModel) thing(what string) string {
	if m.VMName.ValueString() == "" {
		return what + " of the host"
	}
	return fmt.Sprintf("%s of the guest of VM %q", what, m.VMName.ValueString())
}

// take stores which VM was found; nil for the host itself. It gives the id.
func (m *targetModel) take(host string, vm *hyperv.VM) types.String {
	if vm == nil {
		m.VMID = types.StringNull()
		return types.StringValue(formatID(host))
	}
	m.VMID = types.StringValue(strings.ToLower(vm.ID))
	return types.StringValue(formatID(host, strings.ToLower(vm.ID)))
}

// importTarget finds the host or guest that an import names, or gives nil with an error in diags.
func (b *baseResource) importTarget(ctx context.Context, id string, forms []importForm, diags *diag.Diagnostics) (*hyperv.Host, *targetModel, []string) {
	form := forms[len(forms)-1]
	for _, f := range forms {
		if len(f.Parts) == strings.Count(id, "/")+1 {
			form = f
		}
	}
	parts := b.importID(ctx, id, form, diags)
	if parts == nil {
		return nil, nil, nil
	}
	h := b.host(types.StringValue(parts[0]), diags)
	if h == nil {
		return nil, nil, nil
	}
	m := &targetModel{VMName: customtypes.NewNameNull(), VMID: types.StringNull(), Credential: types.StringNull(), OnUnreachable: types.StringValue(unreachableError)}
	for i, part := range form.Parts {
		if part != "vm" {
			continue
		}
		vm, err := h.FindVM(ctx, parts[i])
		if err != nil {
			addError(diags, failed{"import", fmt.Sprintf("VM %q", parts[i]), h.Name}, err)
			return nil, nil, nil
		}
		m.VMName, m.VMID = customtypes.NewName(vm.Name), types.StringValue(strings.ToLower(vm.ID))
	}
	return h, m, parts
}
