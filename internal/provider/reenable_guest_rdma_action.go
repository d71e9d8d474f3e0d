package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type reenableGuestRdmaAction struct{ baseAction }

var (
	_ action.ActionWithConfigure  = (*reenableGuestRdmaAction)(nil)
	_ action.ActionWithModifyPlan = (*reenableGuestRdmaAction)(nil)
)

func newReenableGuestRdmaAction() action.Action { return &reenableGuestRdmaAction{} }

type reenableGuestRdmaModel struct {
	Host                 types.String     `tfsdk:"host"`
	VMName               customtypes.Name `tfsdk:"vm_name"`
	VMNetworkAdapterName customtypes.Name `tfsdk:"vm_network_adapter_name"`
	VMNetworkAdapterID   types.String     `tfsdk:"vm_network_adapter_id"`
	Credential           types.String     `tfsdk:"credential"`
	Wait                 types.Bool       `tfsdk:"wait_until_capable"`
	Timeouts             timeouts.Value   `tfsdk:"timeouts"`
}

func (a *reenableGuestRdmaAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_reenable_guest_rdma"
}

func (a *reenableGuestRdmaAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Turns RDMA off and on again on the adapters of a guest that have it on: the first thing to try where SMB in the guest does not see RDMA (facts.md 66). Nothing else in the guest, and nothing on the host, is touched. " +
			"RDMA that is off is turned on by `hyperv_guest_rdma_enablement`, not by this.",
		Attributes: map[string]schema.Attribute{
			"host":    actionHostAttribute(),
			"vm_name": actionVMNameAttribute(),
			"vm_network_adapter_name": schema.StringAttribute{Optional: true, CustomType: customtypes.NameType{},
				MarkdownDescription: "Name of the VM's network adapter. Exactly one of this and `vm_network_adapter_id`.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1),
					stringvalidator.ExactlyOneOf(path.MatchRoot("vm_network_adapter_name"), path.MatchRoot("vm_network_adapter_id"))}},
			"vm_network_adapter_id": schema.StringAttribute{Optional: true,
				MarkdownDescription: "GUID of the VM's network adapter (`adapter_id` of `hyperv_vm_network_adapter`).",
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}},
			"credential": actionCredentialAttribute(),
			"wait_until_capable": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether the action waits until SMB in the guest says RDMA capable, and fails where it does not within the timeout. Default: true."},
			"timeouts": actionTimeouts(ctx),
		},
	}
}

func (a *reenableGuestRdmaAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m reenableGuestRdmaModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	h, ctx, cancel, progress := a.start(ctx, m.Host, m.Timeouts, resp)
	defer cancel()
	if h == nil {
		return
	}
	_, err := h.ReenableGuestRdma(ctx, hyperv.GuestReenableSpec{
		Adapter:    hyperv.AdapterRef{VMName: m.VMName.ValueString(), AdapterName: m.VMNetworkAdapterName.ValueString(), AdapterID: m.VMNetworkAdapterID.ValueString()},
		Credential: m.Credential.ValueString(), Wait: m.Wait.IsNull() || m.Wait.ValueBool(), Progress: progress,
	})
	if err != nil {
		addError(&resp.Diagnostics, failed{"re-enable", fmt.Sprintf("RDMA in the guest of VM %q", m.VMName.ValueString()), h.Name}, err)
	}
}
