package provider

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

type driverPackageResource struct{ baseResource }

var (
	_ resource.ResourceWithConfigure   = (*driverPackageResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*driverPackageResource)(nil)
	_ resource.ResourceWithImportState = (*driverPackageResource)(nil)
)

func newDriverPackageResource() resource.Resource { return &driverPackageResource{} }

func driverPackageImports() []importForm {
	return []importForm{{Parts: []string{"host", "package"}, Example: "hv1/oem3.inf"}, {Parts: []string{"host", "vm", "package"}, Example: "hv1/vm1/oem3.inf"}}
}

func (r *driverPackageResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_driver_package"
}

func (r *driverPackageResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	replace := stringplanmodifier.RequiresReplace()
	attributes := map[string]schema.Attribute{
		"source_path": schema.StringAttribute{Required: true,
			MarkdownDescription: "Folder on the host or guest itself that holds the INF and every file that it names, its catalog among them. It is copied with all that is in it into a folder that only SYSTEM and Administrators can change, checked there and installed from there. A change of the path alone does nothing.",
			Validators:          []validator.String{targetFolder{}}},
		"inf": schema.StringAttribute{Required: true, MarkdownDescription: "File name of the package's INF in `source_path`, such as `icea.inf`. One INF at a time, as its exit code then tells what became of it. A change replaces the resource.",
			Validators: []validator.String{infName{}}, PlanModifiers: []planmodifier.String{replace}},
		"version": schema.StringAttribute{Required: true, MarkdownDescription: "Version of the driver, as in the INF's `DriverVer`: `1.16.0.0`. A package of another version is put back out of the driver store before anything is installed. A change replaces the resource.",
			Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^\d+(\.\d+){1,3}$`), "must be numbers joined by dots, as in 1.16.0.0")}, PlanModifiers: []planmodifier.String{replace}},
		"sha256": schema.StringAttribute{Optional: true, Computed: true,
			MarkdownDescription: "SHA-256 of the package; another one is refused. It is the SHA-256 of one line for each file, `hash`, two spaces, `path` (both in lower case, the path in the folder and with slashes), sorted by path, each line ended by a line feed. Default: any, and this attribute says which it was; null after an import. A change replaces the resource.",
			Validators:          []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[0-9a-f]{64}$`), "must be 64 hexadecimal digits in lower case")},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplaceIfConfigured()}},
		"signer": schema.StringAttribute{Optional: true, Computed: true,
			MarkdownDescription: "Subject of the certificate that every catalog of the package must be signed with; another one is refused. Default: any that the target trusts, and this attribute says which it was; null after an import. A change replaces the resource.",
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplaceIfConfigured()}},
		"published_name": schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the package in the driver store, such as `oem3.inf`.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"drivers_before": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Net adapters of the target with provider and version of the drivers that they ran with before. Empty after an import.",
			PlanModifiers: []planmodifier.List{listplanmodifier.UseStateForUnknown()}},
		"actual": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "What host or guest say.",
			Attributes: map[string]schema.Attribute{
				"driver_provider":       schema.StringAttribute{Computed: true, MarkdownDescription: "Provider that the INF names."},
				"installed_by_provider": schema.BoolAttribute{Computed: true, MarkdownDescription: "This resource put the package into the driver store, and takes it out on destroy. One that was there before stays."},
				"net_adapter_names":     schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Net adapters that run with the package: those with its driver's provider and version."},
				"restart_required":      schema.BoolAttribute{Computed: true, MarkdownDescription: "Windows must be restarted before the driver runs (exit code 3010 or 1641). The provider does not restart it."},
			}},
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
	}
	addTargetAttributes(attributes, "the package in the guest")
	attributes["id"] = computedForGood("`host/published name` on a host, `host/GUID of the VM/published name` in a guest. Import takes the same, or the VM's name: `hv1/oem3.inf`. A `/` inside a part is written `%2F`, a `%` is written `%25`.")
	resp.Schema = schema.Schema{
		MarkdownDescription: "A driver package in the driver store of a host or a guest, installed by `pnputil` on the devices that it fits (steps A10 and B9 of the procedures). " +
			"**A device whose driver is replaced stops and starts**: its ports, and the virtual functions on them, are gone for that time. " +
			"The program runs as a scheduled task, so it outlives the connection that it may cut; a provider that is killed finds it again and starts no second one. " +
			"Windows keeps the driver that it ranks highest, by date and then by version: an older package is stored and not used, with a warning. " +
			"Destroy takes the package out of the driver store, and Windows gives the devices the best driver that is left. " +
			"Packages from a share, packages that are uploaded and installers of vendors are not covered; copy the package to the target, and run an installer by hand.",
		Attributes: attributes,
	}
}

// ModifyPlan fills in the host and warns of what an install interrupts.
func (r *driverPackageResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.planHost(ctx, req, resp)
	if resp.Diagnostics.HasError() {
		return
	}
	var m driverPackageModel
	const detail = "A device whose driver is replaced stops and starts: net adapters that run with it, and the virtual functions on them, are gone for that time. If one of them carries the connection to the host, it breaks and is made again."
	switch {
	case req.Plan.Raw.IsNull():
		resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.AddWarning(strings.ToUpper(m.about()[:1])+m.about()[1:]+" is removed", detail)
		}
	case req.State.Raw.IsNull() || len(resp.RequiresReplace) > 0:
		resp.Diagnostics.Append(resp.Plan.Get(ctx, &m)...)
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.AddWarning(strings.ToUpper(m.about()[:1])+m.about()[1:]+" is installed", detail)
		}
	default:
		unchanged, d := planUnchanged(ctx, req)
		resp.Diagnostics.Append(d...)
		if unchanged && !resp.Diagnostics.HasError() {
			resp.Plan.Raw = req.State.Raw
		}
	}
}

func (r *driverPackageResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m driverPackageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Create, 30*time.Minute, &resp.Diagnostics)
	defer cancel()
	m.VMID = types.StringNull()
	p, err := h.InstallDriverPackage(ctx, m.spec())
	if err != nil {
		addError(&resp.Diagnostics, failed{"install", m.about(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, p, &resp.Diagnostics)
	m.SHA256, m.Signer, m.ReplacedFrom = types.StringValue(p.SHA256), types.StringValue(p.Signer), texts(ctx, p.Before, &resp.Diagnostics)
	addNotes(&resp.Diagnostics, p.Notes)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *driverPackageResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m driverPackageModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || r.notYet(m.Host) {
		return
	}
	h := r.host(m.Host, &resp.Diagnostics)
	if h == nil {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Read, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	p, err := h.ReadDriverPackage(ctx, m.spec())
	if hyperv.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", m.about(), h.Name}, err)
		return
	}
	if p.Err != nil {
		addWarning(&resp.Diagnostics, failed{"look into the guest for", m.about(), h.Name}, p.Err)
	}
	was := m.VMName
	m.fill(ctx, h.Name, p, &resp.Diagnostics)
	rememberVMName(ctx, was, m.VMName, req, resp)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update has nothing to change on the target: what would, replaces the resource.
func (r *driverPackageResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state driverPackageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Update, 5*time.Minute, &resp.Diagnostics)
	defer cancel()
	m.PublishedName, m.VMID = state.PublishedName, state.VMID
	p, err := h.ReadDriverPackage(ctx, m.spec())
	if err == nil && p.Err != nil {
		err = p.Err
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"update", m.about(), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, p, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (r *driverPackageResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m driverPackageModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	h := r.host(m.Host, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, m.Timeouts.Delete, 30*time.Minute, &resp.Diagnostics)
	defer cancel()
	notes, err := h.RemoveDriverPackage(ctx, m.spec(), m.forget())
	addNotes(&resp.Diagnostics, notes)
	if err != nil {
		addError(&resp.Diagnostics, failed{"remove", m.about(), h.Name}, err)
	}
}

// ImportState takes host/published name or host/VM/published name.
func (r *driverPackageResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	h, target, parts := r.importTarget(ctx, req.ID, driverPackageImports(), &resp.Diagnostics)
	if target == nil {
		return
	}
	m := driverPackageModel{Host: types.StringValue(h.Name), targetModel: *target, PublishedName: types.StringValue(parts[len(parts)-1]), ReplacedFrom: types.ListValueMust(types.StringType, nil),
		Timeouts: noTimeouts("create", "read", "update", "delete")}
	p, err := h.ReadDriverPackage(ctx, m.spec())
	if err == nil && p.Err != nil {
		err = p.Err
	}
	if err != nil {
		addError(&resp.Diagnostics, failed{"import", m.thing(fmt.Sprintf("driver package %q", parts[len(parts)-1])), h.Name}, err)
		return
	}
	m.fill(ctx, h.Name, p, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
