package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type restartNetAdapterAction struct{ baseAction }

var (
	_ action.ActionWithConfigure  = (*restartNetAdapterAction)(nil)
	_ action.ActionWithModifyPlan = (*restartNetAdapterAction)(nil)
)

func newRestartNetAdapterAction() action.Action { return &restartNetAdapterAction{} }

type restartNetAdapterModel struct {
	Host            types.String   `tfsdk:"host"`
	NetAdapterNames types.List     `tfsdk:"net_adapter_names"`
	Profile         types.String   `tfsdk:"profile"`
	RestartWhen     types.String   `tfsdk:"restart_when"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
}

func (a *restartNetAdapterAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_restart_net_adapter"
}

func (a *restartNetAdapterAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Restarts net adapters of a host: all ports of a device are disabled and enabled together (facts.md 25, 35), each device once, in the order in which they are mentioned, and waits until they are up and list RDMA again. " +
			"Every virtual machine on them loses its network for seconds. What resources owe for the device (`pending_restarts`) is settled. A device that carries the connection to its host is restarted by the host itself.",
		Attributes: map[string]schema.Attribute{
			"host": actionHostAttribute(),
			"net_adapter_names": schema.ListAttribute{Required: true, ElementType: customtypes.NameType{},
				MarkdownDescription: "Names of one or more ports of each device, in the order in which the devices are restarted.",
				Validators:          netAdapterNamesValidators()},
			"profile": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Vendor profile: one of " + quotedCodes(hyperv.ProfileNames()) + ". Default: by the net adapter's driver.",
				Validators:          []validator.String{stringvalidator.OneOf(hyperv.ProfileNames()...)}},
			"restart_when": schema.StringAttribute{Optional: true,
				MarkdownDescription: "`always` (default): every device is restarted. `owed`: only devices for which a restart is owed.",
				Validators:          []validator.String{stringvalidator.OneOf(restartWhenAlways, restartWhenOwed)}},
			"timeouts": actionTimeouts(ctx),
		},
	}
}

func (a *restartNetAdapterAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m restartNetAdapterModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	h, ctx, cancel, progress := a.start(ctx, m.Host, m.Timeouts, resp)
	defer cancel()
	if h == nil {
		return
	}
	report, err := h.RestartNetAdapters(ctx, hyperv.NetAdapterRestartSpec{
		NetAdapterNames: namesOf(m.NetAdapterNames), Profile: m.Profile.ValueString(), OnlyIfOwed: m.RestartWhen.ValueString() == restartWhenOwed, Progress: progress,
	})
	if report != nil {
		sendNotes(report.Notes, progress)
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"restart", "the net adapters " + joinNames(m.NetAdapterNames), h.Name}, err)
	}
}
