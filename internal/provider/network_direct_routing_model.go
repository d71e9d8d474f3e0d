package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

type networkDirectRoutingModel struct {
	ID               types.String   `tfsdk:"id"`
	Host             types.String   `tfsdk:"host"`
	Across           types.String   `tfsdk:"network_direct_across_ip_subnets"`
	NetAdapterNames  types.List     `tfsdk:"net_adapter_names"`
	RestartOnDestroy types.Bool     `tfsdk:"restart_on_destroy"`
	RestartTrigger   types.String   `tfsdk:"restart_trigger"`
	Actual           types.Object   `tfsdk:"actual"`
	Timeouts         timeouts.Value `tfsdk:"timeouts"`
	targetModel
	restartModel
}

func networkDirectRoutingActualTypes() map[string]attr.Type {
	return map[string]attr.Type{"network_direct_across_ip_subnets": types.StringType, "restart_targets": types.ListType{ElemType: types.StringType}}
}

const routingSetting = "NetworkDirectAcrossIPSubnets"

func (m *networkDirectRoutingModel) about() string { return m.thing(routingSetting) }

func (m *networkDirectRoutingModel) spec() hyperv.RoutingSpec {
	return hyperv.RoutingSpec{Target: m.ref(), Across: m.Across.ValueString(), Adapters: namesOf(m.NetAdapterNames), RestartPolicy: m.RestartPolicy.ValueString(),
		KeepOwedOnDelete: !m.RestartOnDestroy.IsNull() && !m.RestartOnDestroy.ValueBool()}
}

// fill takes over what only host and guest know.
func (m *networkDirectRoutingModel) fill(ctx context.Context, host string, r *hyperv.Routing, diags *diag.Diagnostics) {
	m.ID = m.take(host, r.VM)
	actual, d := types.ObjectValueFrom(ctx, networkDirectRoutingActualTypes(), struct {
		Across  types.String `tfsdk:"network_direct_across_ip_subnets"`
		Targets types.List   `tfsdk:"restart_targets"`
	}{nullIfEmpty(r.Across), texts(ctx, r.Restarted, diags)})
	diags.Append(d...)
	m.Actual = actual
}

// drift takes over what host or guest say. A guest that cannot be asked says nothing: the state stays.
func (m *networkDirectRoutingModel) drift(r *hyperv.Routing) {
	if r.VM != nil {
		m.VMName = customtypes.NewName(r.VM.Name)
	}
	if r.Err == nil {
		m.Across = nullIfEmpty(r.Across)
	}
}

// targets are what a restart of the named adapters is called in a plan: as the host named it last, else by the names.
func (m *networkDirectRoutingModel) targets(known *networkDirectRoutingModel, names []string) []string {
	if m.VMName.ValueString() != "" {
		return []string{hyperv.GuestAdapterTitle(names, m.VMName.ValueString())}
	}
	if known != nil && !differentNames(namesOf(known.NetAdapterNames), names) {
		if l, ok := known.Actual.Attributes()["restart_targets"].(types.List); ok && len(l.Elements()) > 0 {
			return namesOf(l)
		}
	}
	return names
}

// differentNames says whether one list has a name that the other has not.
func differentNames(a, b []string) bool {
	return len(namesBeyond(a, b)) > 0 || len(namesBeyond(b, a)) > 0
}

// namesBeyond are the names of a that b has not.
func namesBeyond(a, b []string) []string {
	var out []string
	for _, x := range a {
		found := false
		for _, y := range b {
			found = found || customtypes.EqualName(x, y)
		}
		if !found {
			out = append(out, x)
		}
	}
	return out
}

// needs is what a plan restarts. state is nil on create.
func (m *networkDirectRoutingModel) needs(state *networkDirectRoutingModel) restartNeeds {
	n := restartNeeds{Attribute: path.Root("network_direct_across_ip_subnets")}
	if m.Across.IsUnknown() {
		n.Unknown = append(n.Unknown, path.Root("network_direct_across_ip_subnets"))
	}
	if m.NetAdapterNames.IsUnknown() || !allKnown(m.NetAdapterNames) {
		n.Unknown = append(n.Unknown, path.Root("net_adapter_names"))
	}
	if m.VMName.IsUnknown() {
		n.Unknown = append(n.Unknown, path.Root("vm_name"))
	}
	if len(n.Unknown) > 0 {
		return n
	}
	names := namesOf(m.NetAdapterNames)
	why := routingSetting + " changed"
	switch {
	case state == nil, !m.Across.Equal(state.Across):
	case len(state.NetAdapterNames.Elements()) == 0: // imported: what was so before needs no restart
		return n
	default:
		added := namesBeyond(names, namesOf(state.NetAdapterNames))
		if len(added) == 0 {
			return n
		}
		if m.VMName.ValueString() == "" {
			names = added
		}
		n.Attribute, why = path.Root("net_adapter_names"), "net adapters were added"
	}
	n.Restarts = routingRestarts(m.targets(state, names), why)
	return n
}

func routingRestarts(targets []string, why string) []hyperv.Restart {
	var out []hyperv.Restart
	for _, t := range targets {
		out = append(out, hyperv.Restart{Kind: hyperv.RestartNetAdapter, Target: t, Condition: hyperv.Always, Reason: why + ": a net adapter reads it when it starts (facts.md 68)"})
	}
	return out
}
