package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type restartVMAction struct{ baseAction }

var (
	_ action.ActionWithConfigure  = (*restartVMAction)(nil)
	_ action.ActionWithModifyPlan = (*restartVMAction)(nil)
)

func newRestartVMAction() action.Action { return &restartVMAction{} }

type restartVMModel struct {
	Host            types.String         `tfsdk:"host"`
	VMName          customtypes.Name     `tfsdk:"vm_name"`
	ShutdownTimeout timetypes.GoDuration `tfsdk:"shutdown_timeout"`
	OnTimeout       types.String         `tfsdk:"on_timeout"`
	GuestTimeout    timetypes.GoDuration `tfsdk:"guest_timeout"`
	WaitForGuest    types.Bool           `tfsdk:"wait_for_guest"`
	Credential      types.String         `tfsdk:"credential"`
	Timeouts        timeouts.Value       `tfsdk:"timeouts"`
}

func (a *restartVMAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_restart_vm"
}

func (a *restartVMAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	options := vmRestartAttribute().Attributes
	resp.Schema = schema.Schema{
		MarkdownDescription: "Restarts a virtual machine: shut down by its integration services, started again, and its guest waited for. A VM that is off is left off; one that is saved or paused, or belongs to a failover cluster, is an error. " +
			"What resources owe for the VM (`pending_restarts`) is settled.",
		Attributes: map[string]schema.Attribute{
			"host":             actionHostAttribute(),
			"vm_name":          actionVMNameAttribute(),
			"shutdown_timeout": shutdownTimeout().inAction(),
			"on_timeout": schema.StringAttribute{Optional: true,
				MarkdownDescription: options["on_timeout"].GetMarkdownDescription(),
				Validators:          []validator.String{stringvalidator.OneOf(hyperv.OnTimeoutFail, hyperv.OnTimeoutTurnOff)}},
			"guest_timeout": guestTimeout().inAction(),
			"wait_for_guest": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether the action waits until a session into the guest opens, with a guest credential, and fails without one in time. Default: false, which waits for a heartbeat."},
			"credential": actionCredentialAttribute(),
			"timeouts":   actionTimeouts(ctx),
		},
	}
}

func (a *restartVMAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m restartVMModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	h, ctx, cancel, progress := a.start(ctx, m.Host, m.Timeouts, resp)
	defer cancel()
	if h == nil {
		return
	}
	options := vmRestartOptions{m.ShutdownTimeout, m.OnTimeout, m.GuestTimeout}.domain(&resp.Diagnostics)
	report, err := h.RestartVM(ctx, hyperv.VMRestartSpec{
		VMName: m.VMName.ValueString(), VMRestartOptions: options, WaitForGuest: m.WaitForGuest.ValueBool(), Credential: m.Credential.ValueString(), Progress: progress,
	})
	if err != nil {
		addError(&resp.Diagnostics, failed{"restart", fmt.Sprintf("VM %q", m.VMName.ValueString()), h.Name}, err)
		return
	}
	sendNotes(report.Notes, progress)
	if report.Restarted {
		progress(fmt.Sprintf("The VM %q runs again after %s.", m.VMName.ValueString(), report.Took.Round(100*time.Millisecond)))
	}
}
