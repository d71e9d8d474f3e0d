package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// baseResource is embedded by every resource. A resource file then reads:
//
//	type switchResource struct{ baseResource }
//
//	Schema:      "id": idAttribute(…), "host": hostAttribute(); addRestartAttributes(attributes)
//	             names, MACs and GUIDs take CustomType customtypes.…Type and customtypes.Keep… in front of RequiresReplace
//	Model:       embeds restartModel
//	ModifyPlan:  r.planHost(ctx, req, resp) first; planRestarts last, or warnDestroy if the plan is null
//	Create:      h := r.host(m.Host, &resp.Diagnostics); if h == nil { return }
//	             v, err := h.CreateSwitch(ctx, …)
//	             if err != nil { addError(&resp.Diagnostics, failed{"create", about, h.Name}, err); return }
//	             m.restartModel = m.applied(ctx, v.Debts, &resp.Diagnostics)
//	Update:      the same; known values of the plan's restartModel stay as planned
//	Read:        if r.notYet(m.Host) { return }   // keeps the state; then as above, with m.read in place of m.applied;
//	             resp.State.RemoveResource only where hyperv.IsNotFound(err)
//	ImportState: parts := r.importID(ctx, req.ID, importForm{…}, &resp.Diagnostics); if parts == nil { return }
type baseResource struct{ client *client }

// Configure takes the provider's client.
func (b *baseResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	b.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// baseDataSource is embedded by every data source. Its Read starts with h := d.host(m.Host, &resp.Diagnostics).
type baseDataSource struct{ client *client }

// Configure takes the provider's client.
func (b *baseDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	b.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// clientOf gives nil while the provider is not configured, as during validation.
func clientOf(data any, diags *diag.Diagnostics) *client {
	if data == nil {
		return nil
	}
	c, ok := data.(*client)
	if !ok {
		diags.AddError("Unexpected provider data", fmt.Sprintf("The provider handed over %T. This is a defect of the provider; please report it.", data))
	}
	return c
}

// hostAttribute is the attribute host of a resource.
func hostAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		Computed:            true,
		MarkdownDescription: "Key of `hosts` in the provider's configuration. Default: the only host there is. A change replaces the resource.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
	}
}

// hostDataAttribute is the attribute host of a data source.
func hostDataAttribute() dataschema.StringAttribute {
	return dataschema.StringAttribute{
		Optional:            true,
		Computed:            true,
		MarkdownDescription: "Key of `hosts` in the provider's configuration. Default: the only host there is.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
	}
}

// idAttribute is the attribute id, which is also what import takes.
func idAttribute(form importForm) schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true,
		MarkdownDescription: fmt.Sprintf("`%s`, for example `%s`; also what import takes. A `/` inside a part is written `%%2F`, a `%%` is written `%%25`.",
			form.expected(), form.Example),
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// planHost fills in the only host where the configuration names none, and rejects a host that the
// provider does not have, so that both are seen in the plan.
func (b *baseResource) planHost(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || b.client == nil || b.client.hostsUnknown {
		return
	}
	var configured, planned types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("host"), &configured)...)
	resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root("host"), &planned)...)
	if resp.Diagnostics.HasError() || configured.IsUnknown() {
		return
	}
	name := planned.ValueString()
	if planned.IsUnknown() || planned.IsNull() {
		var err error
		if name, err = b.client.defaultHost(); err != nil {
			addError(&resp.Diagnostics, failed{"plan", "the resource", ""}, err)
			return
		}
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("host"), name)...)
	}
	if _, err := b.client.entry(name); err != nil {
		addError(&resp.Diagnostics, failed{"plan", "the resource", ""}, err)
	}
}

// host gives the host to work on, or nil with an error in diags. It contacts nothing.
func (b *baseResource) host(name types.String, diags *diag.Diagnostics) *hyperv.Host {
	return hostOf(b.client, name, diags)
}

// host gives the host to read, or nil with an error in diags. It contacts nothing.
func (b *baseDataSource) host(name types.String, diags *diag.Diagnostics) *hyperv.Host {
	return hostOf(b.client, name, diags)
}

func hostOf(c *client, name types.String, diags *diag.Diagnostics) *hyperv.Host {
	const verb, thing = "use", "the host"
	if c == nil {
		diags.AddError("Unable to use the host", "The provider is not configured.")
		return nil
	}
	text := name.ValueString()
	if name.IsNull() || name.IsUnknown() {
		if !c.hostsUnknown {
			var err error
			if text, err = c.defaultHost(); err != nil {
				addError(diags, failed{verb, thing, ""}, err)
				return nil
			}
		}
	}
	h, err := c.host(text)
	if err != nil {
		addError(diags, failed{verb, thing, text}, err)
		return nil
	}
	return h
}

// notYet says that the host cannot be contacted in this plan, because its configuration is known only
// after apply. Read then keeps the state as it is.
func (b *baseResource) notYet(name types.String) bool {
	return b.client == nil || b.client.unknown(name.ValueString())
}

// planUnchanged says that the plan differs from the state only in what the framework marked as unknown
// because of another spelling of a value: nothing to do.
func planUnchanged(ctx context.Context, req resource.ModifyPlanRequest) (bool, diag.Diagnostics) {
	if req.Plan.Raw.IsNull() || req.State.Raw.IsNull() {
		return false, nil
	}
	var diags diag.Diagnostics
	for name, attribute := range req.Plan.Schema.GetAttributes() {
		at := path.Root(name)
		var planned, prior, configured attr.Value
		diags.Append(req.Plan.GetAttribute(ctx, at, &planned)...)
		diags.Append(req.State.GetAttribute(ctx, at, &prior)...)
		diags.Append(req.Config.GetAttribute(ctx, at, &configured)...)
		if diags.HasError() {
			return false, diags
		}
		computed := planned.IsUnknown() && attribute.IsComputed() && configured.IsNull()
		if !computed && !planned.Equal(prior) {
			return false, diags
		}
	}
	return true, diags
}
