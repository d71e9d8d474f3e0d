package provider

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type dcbModel struct {
	ID                    types.String   `tfsdk:"id"`
	Host                  types.String   `tfsdk:"host"`
	InstallFeature        types.Bool     `tfsdk:"install_feature"`
	Policies              types.Map      `tfsdk:"policies"`
	FlowControlPriorities types.Set      `tfsdk:"flow_control_priorities"`
	TrafficClasses        types.Map      `tfsdk:"traffic_classes"`
	DcbxWilling           types.Bool     `tfsdk:"dcbx_willing"`
	NetAdapterNames       types.List     `tfsdk:"net_adapter_names"`
	RestartOnDestroy      types.Bool     `tfsdk:"restart_on_destroy"`
	RestartTrigger        types.String   `tfsdk:"restart_trigger"`
	Actual                types.Object   `tfsdk:"actual"`
	Timeouts              timeouts.Value `tfsdk:"timeouts"`
	restartModel
}

type dcbPolicyModel struct {
	NetDirectPort types.Int64  `tfsdk:"net_direct_port"`
	Template      types.String `tfsdk:"template"`
	Priority      types.Int64  `tfsdk:"priority"`
}

type dcbTrafficClassModel struct {
	Algorithm           types.String `tfsdk:"algorithm"`
	BandwidthPercentage types.Int64  `tfsdk:"bandwidth_percentage"`
	Priorities          types.Set    `tfsdk:"priorities"`
}

type dcbActual struct {
	Feature             types.String `tfsdk:"feature"`
	DcbxWilling         types.Bool   `tfsdk:"dcbx_willing"`
	DefaultBandwidth    types.Int64  `tfsdk:"default_bandwidth_percentage"`
	OtherPolicies       types.List   `tfsdk:"other_policies"`
	OtherTrafficClasses types.List   `tfsdk:"other_traffic_classes"`
	NetAdapters         types.List   `tfsdk:"net_adapters"`
	GuestsWithRdma      types.List   `tfsdk:"guests_with_rdma"`
}

type dcbNetAdapter struct {
	Name           types.String `tfsdk:"name"`
	Enabled        types.Bool   `tfsdk:"enabled"`
	MaxLossless    types.Int64  `tfsdk:"max_lossless_priorities"`
	TrafficClasses types.Int64  `tfsdk:"max_traffic_classes"`
}

func dcbPolicyType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{"net_direct_port": types.Int64Type, "template": types.StringType, "priority": types.Int64Type}}
}

func dcbTrafficClassType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{"algorithm": types.StringType, "bandwidth_percentage": types.Int64Type, "priorities": types.SetType{ElemType: types.Int64Type}}}
}

func dcbNetAdapterType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{"name": types.StringType, "enabled": types.BoolType, "max_lossless_priorities": types.Int64Type, "max_traffic_classes": types.Int64Type}}
}

func dcbActualTypes() map[string]attr.Type {
	texts := types.ListType{ElemType: types.StringType}
	return map[string]attr.Type{"feature": types.StringType, "dcbx_willing": types.BoolType, "default_bandwidth_percentage": types.Int64Type,
		"other_policies": texts, "other_traffic_classes": texts, "net_adapters": types.ListType{ElemType: dcbNetAdapterType()}, "guests_with_rdma": texts}
}

// policies and classes are the maps with their values, as far as those are known.
func (m *dcbModel) policies(ctx context.Context, diags *diag.Diagnostics) map[string]dcbPolicyModel {
	out := map[string]dcbPolicyModel{}
	for name, v := range m.Policies.Elements() {
		if o, ok := v.(types.Object); ok && !o.IsUnknown() && !o.IsNull() {
			var p dcbPolicyModel
			diags.Append(o.As(ctx, &p, objectOptions())...)
			out[name] = p
		}
	}
	return out
}

func (m *dcbModel) classes(ctx context.Context, diags *diag.Diagnostics) map[string]dcbTrafficClassModel {
	out := map[string]dcbTrafficClassModel{}
	for name, v := range m.TrafficClasses.Elements() {
		if o, ok := v.(types.Object); ok && !o.IsUnknown() && !o.IsNull() {
			var c dcbTrafficClassModel
			diags.Append(o.As(ctx, &c, objectOptions())...)
			out[name] = c
		}
	}
	return out
}

// algorithmOf is the algorithm of a class: ETS unless it says another.
func algorithmOf(c dcbTrafficClassModel) string {
	if c.Algorithm.IsNull() {
		return hyperv.AlgorithmETS
	}
	return c.Algorithm.ValueString()
}

// numbersOf gives the known numbers of a set, in order; nil for a null one.
func numbersOf(s types.Set) []int64 {
	if s.IsNull() || s.IsUnknown() {
		return nil
	}
	out := []int64{}
	for _, e := range s.Elements() {
		if n, ok := e.(types.Int64); ok && !n.IsUnknown() {
			out = append(out, n.ValueInt64())
		}
	}
	slices.Sort(out)
	return out
}

func setOf(ctx context.Context, numbers []int64, diags *diag.Diagnostics) types.Set {
	if numbers == nil {
		return types.SetNull(types.Int64Type)
	}
	s, d := types.SetValueFrom(ctx, types.Int64Type, numbers)
	diags.Append(d...)
	return s
}

// spec is what is wanted.
func (m *dcbModel) spec(ctx context.Context, diags *diag.Diagnostics) hyperv.DcbSpec {
	s := hyperv.DcbSpec{InstallFeature: m.InstallFeature.ValueBool(), FlowControl: numbersOf(m.FlowControlPriorities), Willing: m.DcbxWilling.ValueBoolPointer(),
		NetAdapters: namesOf(m.NetAdapterNames), RestartPolicy: m.RestartPolicy.ValueString(), KeepOwedOnDelete: !m.RestartOnDestroy.IsNull() && !m.RestartOnDestroy.ValueBool()}
	policies := m.policies(ctx, diags)
	for _, name := range sortedNames(policies) {
		p := policies[name]
		s.Policies = append(s.Policies, hyperv.QosPolicy{Name: name, NetDirectPort: p.NetDirectPort.ValueInt64(), Template: p.Template.ValueString(), Priority: p.Priority.ValueInt64()})
	}
	classes := m.classes(ctx, diags)
	for _, name := range sortedNames(classes) {
		c := classes[name]
		s.TrafficClasses = append(s.TrafficClasses, hyperv.TrafficClass{Name: name, Algorithm: algorithmOf(c), Bandwidth: c.BandwidthPercentage.ValueInt64(), Priorities: numbersOf(c.Priorities)})
	}
	return s
}

func sortedNames[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func policyModel(p hyperv.QosPolicy) dcbPolicyModel {
	m := dcbPolicyModel{Template: nullIfEmpty(p.Template), Priority: types.Int64Value(p.Priority)}
	if p.NetDirectPort != 0 {
		m.NetDirectPort = types.Int64Value(p.NetDirectPort)
	}
	if p.Special { // it no longer matches what it says
		m.NetDirectPort, m.Template = types.Int64Null(), types.StringNull()
	}
	return m
}

func classModel(ctx context.Context, c hyperv.TrafficClass, sayETS bool, diags *diag.Diagnostics) dcbTrafficClassModel {
	m := dcbTrafficClassModel{Priorities: setOf(ctx, c.Priorities, diags)}
	if c.Algorithm != hyperv.AlgorithmETS || sayETS {
		m.Algorithm = types.StringValue(c.Algorithm)
	}
	if c.Bandwidth != 0 {
		m.BandwidthPercentage = types.Int64Value(c.Bandwidth)
	}
	return m
}

// drift takes over what the host says of what is managed.
func (m *dcbModel) drift(ctx context.Context, d *hyperv.Dcb, diags *diag.Diagnostics) {
	if m.InstallFeature.ValueBool() && d.Feature != "" && d.Feature != "Installed" {
		m.InstallFeature = types.BoolValue(false)
	}
	if !m.Policies.IsNull() {
		now := map[string]dcbPolicyModel{}
		for name := range m.Policies.Elements() {
			for _, p := range d.Policies {
				if strings.EqualFold(p.Name, name) {
					now[name] = policyModel(p)
				}
			}
		}
		m.Policies = mapOf(ctx, dcbPolicyType(), now, diags)
	}
	if !m.TrafficClasses.IsNull() {
		before, now := m.classes(ctx, diags), map[string]dcbTrafficClassModel{}
		for name, was := range before {
			for _, c := range d.TrafficClasses {
				if strings.EqualFold(c.Name, name) {
					now[name] = classModel(ctx, c, !was.Algorithm.IsNull(), diags)
				}
			}
		}
		m.TrafficClasses = mapOf(ctx, dcbTrafficClassType(), now, diags)
	}
	if !m.FlowControlPriorities.IsNull() {
		m.FlowControlPriorities = setOf(ctx, d.FlowControl, diags)
	}
	if !m.DcbxWilling.IsNull() {
		m.DcbxWilling = types.BoolPointerValue(d.Willing)
	}
	if !m.NetAdapterNames.IsNull() {
		var on []customtypes.Name
		for _, name := range namesOf(m.NetAdapterNames) {
			if d.On(name) {
				on = append(on, customtypes.NewName(name))
			}
		}
		l, ds := types.ListValueFrom(ctx, customtypes.NameType{}, on)
		if on == nil {
			l, ds = types.ListValueFrom(ctx, customtypes.NameType{}, []customtypes.Name{})
		}
		diags.Append(ds...)
		m.NetAdapterNames = l
	}
}

func mapOf[V any](ctx context.Context, typ attr.Type, values map[string]V, diags *diag.Diagnostics) types.Map {
	v, d := types.MapValueFrom(ctx, typ, values)
	diags.Append(d...)
	return v
}

// imported takes over everything that the attributes can say.
func (m *dcbModel) imported(ctx context.Context, d *hyperv.Dcb, diags *diag.Diagnostics) {
	m.Policies, m.TrafficClasses = types.MapNull(dcbPolicyType()), types.MapNull(dcbTrafficClassType())
	policies := map[string]dcbPolicyModel{}
	for _, p := range d.Policies {
		if !p.Special && p.Priority >= 0 && (p.NetDirectPort != 0 || p.Template != "") {
			policies[p.Name] = policyModel(p)
		}
	}
	if len(policies) > 0 {
		m.Policies = mapOf(ctx, dcbPolicyType(), policies, diags)
	}
	classes := map[string]dcbTrafficClassModel{}
	for _, c := range d.TrafficClasses {
		classes[c.Name] = classModel(ctx, c, false, diags)
	}
	if len(classes) > 0 {
		m.TrafficClasses = mapOf(ctx, dcbTrafficClassType(), classes, diags)
	}
	m.FlowControlPriorities = setOf(ctx, d.FlowControl, diags)
	m.DcbxWilling = types.BoolPointerValue(d.Willing)
	var on []string
	for _, a := range d.Adapters {
		if a.Enabled {
			on = append(on, a.Name)
		}
	}
	m.NetAdapterNames = types.ListNull(customtypes.NameType{})
	if len(on) > 0 {
		m.NetAdapterNames = keepOrder(ctx, m.NetAdapterNames, on, diags)
	}
}

// fill takes over what only the host knows.
func (m *dcbModel) fill(ctx context.Context, host string, d *hyperv.Dcb, diags *diag.Diagnostics) {
	m.ID = types.StringValue(formatID(host))
	texts := func(list []string) types.List {
		l, ds := types.ListValueFrom(ctx, types.StringType, nonNil(list))
		diags.Append(ds...)
		return l
	}
	a := dcbActual{Feature: nullIfEmpty(d.Feature), DcbxWilling: types.BoolPointerValue(d.Willing), GuestsWithRdma: texts(d.Guests)}
	if d.Default != nil {
		a.DefaultBandwidth = types.Int64Value(d.Default.Bandwidth)
	}
	var policies, classes []string
	for _, p := range d.Policies {
		if !hasName(m.Policies, p.Name) {
			policies = append(policies, p.Name)
		}
	}
	for _, c := range d.TrafficClasses {
		if !hasName(m.TrafficClasses, c.Name) {
			classes = append(classes, c.Name)
		}
	}
	a.OtherPolicies, a.OtherTrafficClasses = texts(policies), texts(classes)
	adapters := []dcbNetAdapter{}
	for _, x := range d.Adapters {
		adapters = append(adapters, dcbNetAdapter{types.StringValue(x.Name), types.BoolValue(x.Enabled), types.Int64Value(x.PfcClasses), types.Int64Value(x.TrafficClasses)})
	}
	l, ds := types.ListValueFrom(ctx, dcbNetAdapterType(), adapters)
	diags.Append(ds...)
	a.NetAdapters = l
	m.Actual, ds = types.ObjectValueFrom(ctx, dcbActualTypes(), a)
	diags.Append(ds...)
}

func hasName(m types.Map, name string) bool {
	for k := range m.Elements() {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}
