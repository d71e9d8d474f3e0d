package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

func objectOptions() basetypes.ObjectAsOptions { return basetypes.ObjectAsOptions{} }

// validate says what is wrong by the configuration alone: the host's rules as far as they need no host.
func (m *dcbModel) validate(ctx context.Context, diags *diag.Diagnostics) {
	m.validatePolicies(ctx, diags)
	m.validateClasses(ctx, diags)
	if m.DcbxWilling.ValueBool() && (!m.FlowControlPriorities.IsNull() || !m.TrafficClasses.IsNull()) {
		diags.AddAttributeWarning(path.Root("dcbx_willing"), "The settings will not be in force",
			"With dcbx_willing = true the host takes its settings from the switch, and flow_control_priorities and traffic_classes go to no net adapter (facts.md 85a).")
	}
}

// refuseSameNames refuses two names of a map that Windows takes for one.
func refuseSameNames[V any](root string, m map[string]V, diags *diag.Diagnostics) {
	seen := map[string]string{}
	for _, name := range sortedNames(m) {
		at := path.Root(root).AtMapKey(name)
		if strings.TrimSpace(name) == "" {
			diags.AddAttributeError(at, "Empty name", fmt.Sprintf("%s: a name has a visible character.", at))
		}
		if other, ok := seen[strings.ToLower(name)]; ok {
			diags.AddAttributeError(at, "The same name twice", fmt.Sprintf("%s has %q and %q: Windows ignores case. Keep one.", root, other, name))
		}
		seen[strings.ToLower(name)] = name
	}
}

func (m *dcbModel) validatePolicies(ctx context.Context, diags *diag.Diagnostics) {
	policies := m.policies(ctx, diags)
	refuseSameNames("policies", policies, diags)
	matched := map[string]string{}
	for _, name := range sortedNames(policies) {
		p, at := policies[name], path.Root("policies").AtMapKey(name)
		port, template := !p.NetDirectPort.IsNull(), !p.Template.IsNull()
		if port == template {
			diags.AddAttributeError(at, "What does the policy match?", fmt.Sprintf("%s: give either net_direct_port (445 for SMB Direct) or template.", at))
			continue
		}
		if p.NetDirectPort.IsUnknown() || p.Template.IsUnknown() {
			continue
		}
		what, attribute := fmt.Sprintf("net_direct_port = %d", p.NetDirectPort.ValueInt64()), "net_direct_port"
		if template {
			what, attribute = fmt.Sprintf("template = %q", p.Template.ValueString()), "template"
		}
		if other, ok := matched[what]; ok {
			diags.AddAttributeError(at.AtName(attribute), "The same traffic twice",
				fmt.Sprintf("policies[%q] and policies[%q] both have %s: the same traffic has one policy, and SMB Direct of host and guests one priority (facts.md 86, 87).", other, name, what))
		}
		matched[what] = name
		if port && !p.Priority.IsUnknown() && !m.FlowControlPriorities.IsNull() && !m.FlowControlPriorities.IsUnknown() && allNumbersKnown(m.FlowControlPriorities) &&
			!slices.Contains(numbersOf(m.FlowControlPriorities), p.Priority.ValueInt64()) {
			diags.AddAttributeWarning(at.AtName("priority"), "RDMA without flow control",
				fmt.Sprintf("%s has priority %d, which is not among flow_control_priorities: frames of it may be lost. RoCE needs it lossless, iWARP does not (facts.md 85).", at, p.Priority.ValueInt64()))
		}
	}
}

func allNumbersKnown(s basetypes.SetValue) bool {
	for _, e := range s.Elements() {
		if e.IsUnknown() {
			return false
		}
	}
	return true
}

func (m *dcbModel) validateClasses(ctx context.Context, diags *diag.Diagnostics) {
	classes := m.classes(ctx, diags)
	refuseSameNames("traffic_classes", classes, diags)
	if n := len(m.TrafficClasses.Elements()); n > 7 {
		diags.AddAttributeError(path.Root("traffic_classes"), "Too many traffic classes", fmt.Sprintf("traffic_classes has %d classes. Windows has 8, one of which is the default class (facts.md 85b).", n))
	}
	var sum int64
	owner := map[int64]string{}
	for _, name := range sortedNames(classes) {
		c, at := classes[name], path.Root("traffic_classes").AtMapKey(name)
		if strings.EqualFold(name, "[Default]") {
			diags.AddAttributeError(at, "The default class is not set", fmt.Sprintf("%s: the default class has the priorities and the bandwidth that the others leave (facts.md 85b).", at))
		}
		if !c.Algorithm.IsUnknown() {
			switch strict := algorithmOf(c) == "Strict"; {
			case strict && !c.BandwidthPercentage.IsNull():
				diags.AddAttributeError(at.AtName("bandwidth_percentage"), "Strict priority has no bandwidth", fmt.Sprintf("%s: leave bandwidth_percentage out with algorithm = \"Strict\".", at))
			case !strict && c.BandwidthPercentage.IsNull():
				diags.AddAttributeError(at.AtName("bandwidth_percentage"), "ETS needs a bandwidth", fmt.Sprintf("%s: give bandwidth_percentage, 1 to 99.", at))
			}
		}
		sum += c.BandwidthPercentage.ValueInt64()
		for _, p := range numbersOf(c.Priorities) {
			if other, ok := owner[p]; ok {
				diags.AddAttributeError(at.AtName("priorities"), "The same priority twice", fmt.Sprintf("Priority %d is in traffic_classes[%q] and traffic_classes[%q]: a priority is in one class only (facts.md 85b).", p, other, name))
			}
			owner[p] = name
		}
	}
	if sum > 99 {
		diags.AddAttributeError(path.Root("traffic_classes"), "More bandwidth than there is",
			fmt.Sprintf("The traffic_classes have %d %% together. The default class keeps 1 %% at least, so that 99 %% is the most (facts.md 85b).", sum))
	}
}
