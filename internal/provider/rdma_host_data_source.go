package provider

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

type rdmaHostDataSource struct{ baseDataSource }

var _ datasource.DataSourceWithConfigure = (*rdmaHostDataSource)(nil)

func newRdmaHostDataSource() datasource.DataSource { return &rdmaHostDataSource{} }

type rdmaHostModel struct {
	Host                types.String      `tfsdk:"host"`
	IovSupport          types.Bool        `tfsdk:"iov_support"`
	IovSupportReasons   []types.String    `tfsdk:"iov_support_reasons"`
	OSCaption           types.String      `tfsdk:"os_caption"`
	OSBuild             types.String      `tfsdk:"os_build"`
	OSEdition           types.String      `tfsdk:"os_edition"`
	OSArchitecture      types.String      `tfsdk:"os_architecture"`
	RdmaWeightSupported types.Bool        `tfsdk:"rdma_weight_supported"`
	Devices             []rdmaDeviceModel `tfsdk:"devices"`
	ProfileByNetAdapter map[string]string `tfsdk:"profile_by_net_adapter"`
	Findings            []findingModel    `tfsdk:"findings"`
}

type findingModel struct {
	Severity types.String `tfsdk:"severity"`
	Check    types.String `tfsdk:"check"`
	Finding  types.String `tfsdk:"finding"`
	Fix      types.String `tfsdk:"fix"`
}

type rdmaDeviceModel struct {
	Location       types.String    `tfsdk:"location"`
	Profile        types.String    `tfsdk:"profile"`
	Driver         types.String    `tfsdk:"driver"`
	DriverVersion  types.String    `tfsdk:"driver_version"`
	DriverDate     types.String    `tfsdk:"driver_date"`
	DriverProvider types.String    `tfsdk:"driver_provider"`
	Technology     types.String    `tfsdk:"technology"`
	RdmaMaxVFs     types.Int64     `tfsdk:"rdma_max_vfs"`
	RdmaVFsAsked   types.Int64     `tfsdk:"rdma_vfs_requested"`
	NumVFs         types.Int64     `tfsdk:"num_vfs"`
	VFsInUse       types.Int64     `tfsdk:"vfs_in_use"`
	Ports          []rdmaPortModel `tfsdk:"ports"`
}

type rdmaPortModel struct {
	Name                 types.String      `tfsdk:"name"`
	InterfaceDescription types.String      `tfsdk:"interface_description"`
	InterfaceGuid        types.String      `tfsdk:"interface_guid"`
	MacAddress           types.String      `tfsdk:"mac_address"`
	Status               types.String      `tfsdk:"status"`
	LinkSpeed            types.String      `tfsdk:"link_speed"`
	Function             types.Int64       `tfsdk:"function"`
	RdmaEnabled          types.Bool        `tfsdk:"rdma_enabled"`
	SriovEnabled         types.Bool        `tfsdk:"sriov_enabled"`
	SriovSupport         types.String      `tfsdk:"sriov_support"`
	NumVFs               types.Int64       `tfsdk:"num_vfs"`
	VFsInUse             types.Int64       `tfsdk:"vfs_in_use"`
	SwitchName           types.String      `tfsdk:"switch_name"`
	Keywords             map[string]string `tfsdk:"keywords"`
}

func (d *rdmaHostDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_rdma_host"
}

func (d *rdmaHostDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(s string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: s}
	}
	number := func(s string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: s}
	}
	truth := func(s string) schema.BoolAttribute {
		return schema.BoolAttribute{Computed: true, MarkdownDescription: s}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "What a Hyper-V host can do for RDMA: SR-IOV support with the reasons against it (the BIOS cannot be changed from here, but it can be read), the Windows build, and the devices whose driver offers Network Direct.",
		Attributes: map[string]schema.Attribute{
			"host":                  hostDataAttribute(),
			"iov_support":           truth("The host supports SR-IOV (Get-VMHost)."),
			"iov_support_reasons":   schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Why not, in the host's language; most are BIOS settings: virtualisation of I/O (VT-d, AMD-Vi), SR-IOV, ACS, PCI Express control (facts.md 42)."},
			"os_caption":            text("Name of the operating system, in its language."),
			"os_build":              text("Build number, for example `17763`."),
			"os_edition":            text("Edition, from its SKU number."),
			"os_architecture":       text("Architecture, in the host's language."),
			"rdma_weight_supported": truth("The cmdlet Set-VMNetworkAdapterRdma exists, so `rdma_weight` can be set (facts.md 4)."),
			"profile_by_net_adapter": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Vendor profile of each RDMA port, for the attribute `profile` of other resources: with it the first plan knows which restarts will be needed."},
			"findings": schema.ListNestedAttribute{Computed: true,
				MarkdownDescription: "What is not as RDMA in guests needs it. Reading a host that answers and is set up in part only does not fail: what could not be read is null or empty, and this says why.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"severity": text("`error`: nothing can be managed so; `warning`: RDMA in guests does not work so."),
					"check":    text("What was checked: `" + strings.Join(hyperv.Checks(), "`, `") + "`."),
					"finding":  text("What is wrong."),
					"fix":      text("The command for PowerShell on the host that mends it, or where to look."),
				}}},
			"devices": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "Devices with Network Direct.", NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"location":           text("PCI segment:bus:device, in decimal."),
				"profile":            text("Vendor profile chosen by the driver."),
				"driver":             text("Driver file."),
				"driver_version":     text("Driver version."),
				"driver_date":        text("Driver date."),
				"driver_provider":    text("Driver provider; `Microsoft` means an in-box driver, which does no guest RDMA (facts.md 6)."),
				"technology":         text("`iWARP`, `InfiniBand`, `RoCE` or `RoCEv2`; empty where the driver has no keyword for it."),
				"rdma_max_vfs":       number("Virtual functions that may do RDMA on the whole device; null where the driver has no keyword for it (facts.md 35)."),
				"rdma_vfs_requested": number("VM adapters on this device's switches that ask for RDMA."),
				"num_vfs":            number("Virtual functions that all ports offer together."),
				"vfs_in_use":         number("Virtual functions in use on all ports."),
				"ports": schema.ListNestedAttribute{Computed: true, MarkdownDescription: "Ports, by PCI function.", NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name":                  text("Name of the net adapter."),
					"interface_description": text("Interface description."),
					"interface_guid":        text("Interface GUID, in braces."),
					"mac_address":           text("MAC address."),
					"status":                text("`Up`, `Disconnected`, `Disabled` or `Not Present`."),
					"link_speed":            text("Link speed, as Windows prints it."),
					"function":              number("PCI function number."),
					"rdma_enabled":          truth("Network Direct is on."),
					"sriov_enabled":         truth("SR-IOV is on."),
					"sriov_support":         text("`Supported`, or what is missing (facts.md 41)."),
					"num_vfs":               number("Virtual functions offered."),
					"vfs_in_use":            number("Virtual functions in use."),
					"switch_name":           text("The virtual switch that the port is bound to; empty if none."),
					"keywords":              schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Registry keywords of the driver with their values."},
				}}},
			}}},
		},
	}
}

func (d *rdmaHostDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m rdmaHostModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	h := d.host(m.Host, &resp.Diagnostics)
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	host, err := h.ReadRdmaHost(ctx)
	if err != nil {
		addError(&resp.Diagnostics, failed{"read", "the host", h.Name}, err)
		return
	}
	m.fill(h.Name, host)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (m *rdmaHostModel) fill(name string, h *hyperv.RdmaHost) {
	m.Host = types.StringValue(name)
	m.IovSupport, m.RdmaWeightSupported = types.BoolValue(h.IovSupport), types.BoolValue(h.HasRdmaWeight)
	m.IovSupportReasons = []types.String{}
	m.Findings = []findingModel{}
	for _, f := range h.Findings {
		m.Findings = append(m.Findings, findingModel{types.StringValue(f.Severity), types.StringValue(f.Check), types.StringValue(f.Finding), types.StringValue(f.Fix)})
	}
	if !h.Read {
		m.IovSupport, m.RdmaWeightSupported = types.BoolNull(), types.BoolNull()
	}
	for _, r := range h.IovReasons {
		m.IovSupportReasons = append(m.IovSupportReasons, types.StringValue(r))
	}
	m.OSCaption, m.OSBuild = types.StringValue(h.OS.Caption), types.StringValue(h.OS.BuildNumber)
	m.OSEdition, m.OSArchitecture = types.StringValue(h.Edition), types.StringValue(h.OS.OSArchitecture)
	m.Devices, m.ProfileByNetAdapter = []rdmaDeviceModel{}, map[string]string{}
	for _, d := range h.Devices {
		first := d.Ports[0]
		device := rdmaDeviceModel{
			Location: types.StringValue(d.Location), Profile: types.StringValue(d.Profile.Name), Driver: types.StringValue(first.DriverFileName),
			DriverVersion: types.StringValue(first.DriverVersion), DriverDate: types.StringValue(first.DriverDate), DriverProvider: types.StringValue(first.DriverProvider),
			Technology: types.StringValue(d.Technology), RdmaMaxVFs: types.Int64PointerValue(d.RdmaMaxVFs), RdmaVFsAsked: types.Int64Value(d.RdmaVFs),
		}
		var offered, used int64
		for _, p := range d.PortInfo {
			offered, used = offered+p.NumVFs, used+p.VFsInUse
			m.ProfileByNetAdapter[p.NetAdapter.Name] = d.Profile.Name
			device.Ports = append(device.Ports, rdmaPortModel{
				Name: types.StringValue(p.NetAdapter.Name), InterfaceDescription: types.StringValue(p.NetAdapter.InterfaceDescription), InterfaceGuid: types.StringValue(p.NetAdapter.InterfaceGuid),
				MacAddress: types.StringValue(p.NetAdapter.MacAddress), Status: types.StringValue(p.NetAdapter.Status), LinkSpeed: types.StringValue(p.NetAdapter.LinkSpeed),
				Function: types.Int64Value(int64(p.Function)), RdmaEnabled: types.BoolValue(p.RdmaEnabled), SriovEnabled: types.BoolValue(p.SriovEnabled), SriovSupport: types.StringValue(p.SriovSupport),
				NumVFs: types.Int64Value(p.NumVFs), VFsInUse: types.Int64Value(p.VFsInUse), SwitchName: types.StringValue(p.SwitchName), Keywords: p.Keywords,
			})
		}
		device.NumVFs, device.VFsInUse = types.Int64Value(offered), types.Int64Value(used)
		m.Devices = append(m.Devices, device)
	}
}
