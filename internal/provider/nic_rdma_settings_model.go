package provider

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type nicRdmaSettingsModel struct {
	ID                 types.String   `tfsdk:"id"`
	Host               types.String   `tfsdk:"host"`
	NetAdapterNames    types.List     `tfsdk:"net_adapter_names"`
	Sriov              types.Bool     `tfsdk:"sriov"`
	Vmq                types.Bool     `tfsdk:"vmq"`
	Rdma               types.Bool     `tfsdk:"rdma"`
	Technology         types.String   `tfsdk:"technology"`
	RdmaMaxVFs         types.Int64    `tfsdk:"rdma_max_vfs"`
	GuestRdmaRegistry  types.Object   `tfsdk:"guest_rdma_registry"`
	NumVFs             types.Int64    `tfsdk:"num_vfs"`
	AdvancedProperties types.Map      `tfsdk:"advanced_properties"`
	Profile            types.String   `tfsdk:"profile"`
	RestartOnDestroy   types.Bool     `tfsdk:"restart_on_destroy"`
	RestartTrigger     types.String   `tfsdk:"restart_trigger"`
	Ports              types.List     `tfsdk:"ports"`
	Actual             types.Object   `tfsdk:"actual"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`
	restartModel
}

type guestRdmaRegistryModel struct {
	Service   types.String `tfsdk:"service"`
	ValueName types.String `tfsdk:"value_name"`
	Value     types.Int64  `tfsdk:"value"`
}

type nicRdmaSettingsActual struct {
	Location      types.String `tfsdk:"location"`
	Driver        types.String `tfsdk:"driver"`
	DriverVersion types.String `tfsdk:"driver_version"`
	Unequal       types.List   `tfsdk:"unequal"`
}

func guestRdmaRegistryTypes() map[string]attr.Type {
	return map[string]attr.Type{"service": types.StringType, "value_name": types.StringType, "value": types.Int64Type}
}

func nicRdmaSettingsActualTypes() map[string]attr.Type {
	return map[string]attr.Type{"location": types.StringType, "driver": types.StringType, "driver_version": types.StringType, "unequal": types.ListType{ElemType: types.StringType}}
}

// ownAttributes are the keywords that have an attribute of their own.
func ownAttributes() map[string]string {
	out := map[string]string{"*SRIOV": "sriov", "*VMQ": "vmq", "*NetworkDirect": "rdma", "*NetworkDirectTechnology": "technology", "*NumVFs": "num_vfs"}
	for _, p := range hyperv.Profiles() {
		if p.MaxVFsKeyword != "" {
			out[p.MaxVFsKeyword] = "rdma_max_vfs"
		}
	}
	return out
}

// settings are the managed attributes in the order of the schema.
func (m *nicRdmaSettingsModel) settings() []struct {
	name  string
	value attr.Value
} {
	return []struct {
		name  string
		value attr.Value
	}{
		{"sriov", m.Sriov}, {"vmq", m.Vmq}, {"rdma", m.Rdma}, {"technology", m.Technology}, {"rdma_max_vfs", m.RdmaMaxVFs},
		{"guest_rdma_registry", m.GuestRdmaRegistry}, {"num_vfs", m.NumVFs}, {"advanced_properties", m.AdvancedProperties},
	}
}

func (m *nicRdmaSettingsModel) managesSomething() bool {
	for _, s := range m.settings() {
		if !s.value.IsNull() {
			return true
		}
	}
	return false
}

// changedSettings lists what the plan changes, and what decides but is unknown.
func (m *nicRdmaSettingsModel) changedSettings(state *nicRdmaSettingsModel, create bool) (changed []string, unknown []path.Path) {
	before := state.settings()
	for i, s := range m.settings() {
		switch {
		case s.value.IsUnknown():
			unknown = append(unknown, path.Root(s.name))
		case create && !s.value.IsNull(), !create && !s.value.Equal(before[i].value):
			changed = append(changed, s.name)
		}
	}
	return changed, unknown
}

// hasPort says whether one of the names is a port of the device.
func (m *nicRdmaSettingsModel) hasPort(names types.List) bool {
	known := append(namesOf(m.Ports), namesOf(m.NetAdapterNames)...)
	for _, n := range namesOf(names) {
		for _, k := range known {
			if customtypes.EqualName(n, k) {
				return true
			}
		}
	}
	return false
}

// spec is the wanted settings.
func (m *nicRdmaSettingsModel) spec(ctx context.Context, diags *diag.Diagnostics) hyperv.NicSettingsSpec {
	s := hyperv.NicSettingsSpec{
		Ports: namesOf(m.NetAdapterNames), Sriov: m.Sriov.ValueBoolPointer(), Vmq: m.Vmq.ValueBoolPointer(), Rdma: m.Rdma.ValueBoolPointer(),
		Technology: m.Technology.ValueStringPointer(), RdmaMaxVFs: m.RdmaMaxVFs.ValueInt64Pointer(), NumVFs: m.NumVFs.ValueInt64Pointer(),
		GuestRdma: m.registry(ctx, diags), Profile: m.Profile.ValueString(), RestartPolicy: m.RestartPolicy.ValueString(),
		KeepOwedOnDelete: !m.RestartOnDestroy.IsNull() && !m.RestartOnDestroy.ValueBool(),
	}
	if !m.AdvancedProperties.IsNull() {
		diags.Append(m.AdvancedProperties.ElementsAs(ctx, &s.Advanced, false)...)
	}
	return s
}

func (m *nicRdmaSettingsModel) registry(ctx context.Context, diags *diag.Diagnostics) *hyperv.GuestRdmaRegistry {
	if m.GuestRdmaRegistry.IsNull() || m.GuestRdmaRegistry.IsUnknown() {
		return nil
	}
	var r guestRdmaRegistryModel
	diags.Append(m.GuestRdmaRegistry.As(ctx, &r, basetypes.ObjectAsOptions{})...)
	return &hyperv.GuestRdmaRegistry{Service: r.Service.ValueString(), ValueName: r.ValueName.ValueString(), Value: r.Value.ValueInt64()}
}

// readAny reads the device by whichever of its ports is still there under its name.
func (m *nicRdmaSettingsModel) readAny(ctx context.Context, h *hyperv.Host, asked hyperv.NicSettingsSpec) (*hyperv.NicSettings, error) {
	var err error
	for _, port := range append(namesOf(m.NetAdapterNames), namesOf(m.Ports)...) {
		var s *hyperv.NicSettings
		if s, err = h.ReadNicSettings(ctx, port, asked); err == nil {
			return s, nil
		}
		if !hyperv.IsNotFound(err) {
			return nil, err
		}
	}
	return nil, err
}

// drift takes over what the host says of the managed settings.
func (m *nicRdmaSettingsModel) drift(ctx context.Context, s *hyperv.NicSettings, diags *diag.Diagnostics) {
	setBool := func(v *types.Bool, now *bool) {
		if !v.IsNull() {
			*v = types.BoolPointerValue(now)
		}
	}
	setBool(&m.Sriov, s.Sriov)
	setBool(&m.Vmq, s.Vmq)
	setBool(&m.Rdma, s.Rdma)
	if !m.Technology.IsNull() {
		m.Technology = types.StringPointerValue(s.Technology)
	}
	if !m.RdmaMaxVFs.IsNull() {
		m.RdmaMaxVFs = types.Int64PointerValue(s.RdmaMaxVFs)
	}
	if !m.NumVFs.IsNull() && len(s.Debts) == 0 { // Windows says how many there are, which follows the next restart only
		m.NumVFs = types.Int64PointerValue(s.NumVFs)
	}
	if r := m.registry(ctx, diags); r != nil && (s.GuestRdma == nil || *s.GuestRdma != r.Value) {
		m.GuestRdmaRegistry = types.ObjectNull(guestRdmaRegistryTypes())
		if s.GuestRdma != nil {
			o, d := types.ObjectValueFrom(ctx, guestRdmaRegistryTypes(), guestRdmaRegistryModel{nullIfEmpty(r.Service), nullIfEmpty(r.ValueName), types.Int64PointerValue(s.GuestRdma)})
			diags.Append(d...)
			m.GuestRdmaRegistry = o
		}
	}
	if !m.AdvancedProperties.IsNull() {
		now := map[string]string{}
		for keyword := range m.AdvancedProperties.Elements() {
			for k, v := range s.Advanced {
				if strings.EqualFold(k, keyword) {
					now[keyword] = v
				}
			}
		}
		v, d := types.MapValueFrom(ctx, types.StringType, now)
		diags.Append(d...)
		m.AdvancedProperties = v
	}
}

func nullIfEmpty(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// imported takes over every setting that has an attribute.
func (m *nicRdmaSettingsModel) imported(ctx context.Context, s *hyperv.NicSettings, diags *diag.Diagnostics) {
	m.NetAdapterNames = keepOrder(ctx, types.ListNull(customtypes.NameType{}), s.Device.PortNames(), diags)
	m.Sriov, m.Vmq, m.Rdma = types.BoolPointerValue(s.Sriov), types.BoolPointerValue(s.Vmq), types.BoolPointerValue(s.Rdma)
	m.Technology, m.RdmaMaxVFs = types.StringPointerValue(s.Technology), types.Int64PointerValue(s.RdmaMaxVFs)
	m.AdvancedProperties = types.MapNull(types.StringType)
	m.GuestRdmaRegistry = types.ObjectNull(guestRdmaRegistryTypes())
	if s.GuestRdma != nil {
		o, d := types.ObjectValueFrom(ctx, guestRdmaRegistryTypes(), guestRdmaRegistryModel{types.StringNull(), types.StringNull(), types.Int64PointerValue(s.GuestRdma)})
		diags.Append(d...)
		m.GuestRdmaRegistry = o
	}
}

// fill takes over what only the host knows.
func (m *nicRdmaSettingsModel) fill(ctx context.Context, host string, s *hyperv.NicSettings, diags *diag.Diagnostics) {
	first := s.Device.Ports[0]
	m.ID = types.StringValue(formatID(host, first.Name))
	if m.Profile.IsNull() || m.Profile.IsUnknown() {
		m.Profile = types.StringValue(s.Device.Profile.Name)
	}
	ports, d := types.ListValueFrom(ctx, types.StringType, s.Device.PortNames())
	diags.Append(d...)
	m.Ports = ports
	unequal, d := types.ListValueFrom(ctx, types.StringType, nonNil(s.Unequal))
	diags.Append(d...)
	actual, d := types.ObjectValueFrom(ctx, nicRdmaSettingsActualTypes(), nicRdmaSettingsActual{
		Location: types.StringValue(s.Device.Location), Driver: types.StringValue(first.DriverFileName), DriverVersion: types.StringValue(first.DriverVersion), Unequal: unequal})
	diags.Append(d...)
	m.Actual = actual
}

func nicThing(names types.List) string {
	return fmt.Sprintf("settings of the net adapters %s", joinNames(names))
}

// serviceName is what a service or registry value may be called here: it becomes part of a registry path.
func serviceName() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,255}$`) }
