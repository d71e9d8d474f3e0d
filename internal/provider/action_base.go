package provider

import (
	"context"
	"time"

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

// baseAction is embedded by every action. An action asks for something to be done now; what must hold afterwards is a
// resource's business, so that nothing depends on actions where Terraform has none.
type baseAction struct{ client *client }

// Configure takes the provider's client.
func (b *baseAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	b.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// ModifyPlan rejects a host that the provider does not have.
func (b *baseAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var name types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("host"), &name)...)
	if resp.Diagnostics.HasError() || name.IsUnknown() || b.client == nil || b.client.hostsUnknown {
		return
	}
	text := name.ValueString()
	if name.IsNull() {
		var err error
		if text, err = b.client.defaultHost(); err != nil {
			addError(&resp.Diagnostics, failed{"plan", "the action", ""}, err)
			return
		}
	}
	if _, err := b.client.entry(text); err != nil {
		addError(&resp.Diagnostics, failed{"plan", "the action", ""}, err)
	}
}

// start gives the host, a context that ends with the timeout, and where the steps are told. The host is nil where an error
// was added.
func (b *baseAction) start(ctx context.Context, name types.String, t timeouts.Value, resp *action.InvokeResponse) (*hyperv.Host, context.Context, context.CancelFunc, func(string)) {
	h := hostOf(b.client, name, &resp.Diagnostics)
	limit, d := t.Invoke(ctx, 10*time.Minute)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		h = nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return h, ctx, cancel, func(line string) { resp.SendProgress(action.InvokeProgressEvent{Message: line}) }
}

// notes go out as progress: an action that succeeds has no other way to say something.
func sendNotes(notes []hyperv.Note, progress func(string)) {
	for _, n := range notes {
		progress(n.Summary + ": " + n.Detail)
	}
}

func actionHostAttribute() schema.StringAttribute {
	return schema.StringAttribute{Optional: true,
		MarkdownDescription: "Key of `hosts` in the provider's configuration. Default: the only host there is.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}}
}

func actionVMNameAttribute() schema.StringAttribute {
	return schema.StringAttribute{Required: true, CustomType: customtypes.NameType{},
		MarkdownDescription: "Name of the VM.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}}
}

func actionCredentialAttribute() schema.StringAttribute {
	return schema.StringAttribute{Optional: true,
		MarkdownDescription: "Key of `guest_credentials` in the provider's configuration. Default: the VM's own in `guests`, else `default_guest_credential`.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)}}
}

func actionTimeouts(ctx context.Context) schema.Attribute {
	return timeouts.AttributesWithOpts(ctx, timeouts.Opts{InvokeDescription: "How long all of it may take, as a duration such as `10m`. Default: `10m`."})
}

// inAction is the attribute of a duration in the schema of an action.
func (x timing) inAction() schema.StringAttribute {
	a := x.plain()
	return schema.StringAttribute{Optional: true, CustomType: a.CustomType, MarkdownDescription: a.MarkdownDescription, Validators: a.Validators}
}
