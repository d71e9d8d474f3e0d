package hyperv

import (
	"fmt"
	"slices"
	"strings"
)

// check refuses what the host or its net adapters cannot do, before anything is changed.
func (c *dcbChange) check(old *DcbSpec) error {
	for _, f := range []func(*DcbSpec) error{c.checkAdapters, c.checkPolicies, c.checkClasses, c.checkFlowControl, c.checkLossless} {
		if err := f(old); err != nil {
			return err
		}
	}
	return nil
}

func (c *dcbChange) refuse(kind Kind, attribute, value, cause, fix string) error {
	return &Error{Kind: kind, Op: c.op, Host: c.host.Name, Object: dcbAbout, Attribute: attribute, Value: value, Cause: cause, Fix: fix}
}

// checkAdapters: an adapter of the management OS or without DCB in its driver has nothing to turn on.
func (c *dcbChange) checkAdapters(*DcbSpec) error {
	for _, name := range c.spec.NetAdapters {
		if _, err := c.host.deviceByPort(c.inv, c.op, "net_adapter_names", name, ""); err != nil {
			return err
		}
		if _, ok := c.dcb.adapter(name); !ok {
			nic, _ := c.inv.netAdapter(name)
			return c.refuse(Unsupported, "net_adapter_names", name,
				fmt.Sprintf("The driver %s (%s) of net adapter %q does no DCB (Get-NetAdapterQos has no such adapter).", nic.DriverFileName, nic.DriverVersion, name),
				"Net adapters with DCB: "+quoteList(c.adapterNames())+".")
		}
	}
	return nil
}

func (c *dcbChange) adapterNames() []string {
	var out []string
	for _, a := range c.dcb.Adapters {
		out = append(out, a.Name)
	}
	return out
}

// checkPolicies: policies of others are not touched, and one Network Direct port has one policy (facts.md 86): with two the
// host's own SMB Direct and that of its guests would not share one priority (facts.md 87).
func (c *dcbChange) checkPolicies(old *DcbSpec) error {
	for _, p := range c.spec.Policies {
		at := fmt.Sprintf("policies[%q]", p.Name)
		now, exists := c.dcb.policy(p.Name)
		if exists && !c.owns(settingPolicy+p.Name, old, func(s *DcbSpec) bool { return hasPolicy(s.Policies, p.Name) }) && !now.same(p) {
			return c.refuse(Conflict, at, p.Name, fmt.Sprintf("The host has a policy of this name that the provider did not make: %s.", now),
				fmt.Sprintf("Choose another name, or take the host's settings over first: terraform import hyperv_dcb.<name> '%s'.", c.host.Name))
		}
		if p.NetDirectPort == 0 {
			continue
		}
		for _, other := range c.dcb.Policies {
			if other.NetDirectPort == p.NetDirectPort && !hasPolicy(c.spec.Policies, other.Name) && !c.owns(settingPolicy+other.Name, old, func(s *DcbSpec) bool { return hasPolicy(s.Policies, other.Name) }) {
				return c.refuse(Conflict, at, fmt.Sprint(p.NetDirectPort),
					fmt.Sprintf("Policy %q of the host tags Network Direct port %d already, with priority %d. One port has one policy (facts.md 86), and SMB Direct of host and guests shares one priority (facts.md 87).", other.Name, p.NetDirectPort, other.Priority),
					fmt.Sprintf("Remove that policy, or manage it here: import hyperv_dcb and use the name %q.", other.Name))
			}
		}
	}
	return nil
}

// owns says whether a setting is the provider's: the ledger remembers what was there before it, or it was managed so far
// (as after an import).
func (c *dcbChange) owns(setting string, old *DcbSpec, managed func(*DcbSpec) bool) bool {
	_, remembered := c.w.from.before(dcbObject, setting)
	return remembered || old != nil && managed(old)
}

func hasPolicy(list []QosPolicy, name string) bool {
	return slices.ContainsFunc(list, func(p QosPolicy) bool { return strings.EqualFold(p.Name, name) })
}

func hasClass(list []TrafficClass, name string) bool {
	return slices.ContainsFunc(list, func(c TrafficClass) bool { return strings.EqualFold(c.Name, name) })
}

// checkClasses looks at the classes as they will be, with those of others, which are not touched (facts.md 85b).
func (c *dcbChange) checkClasses(old *DcbSpec) error {
	var sum int64
	owner := map[int64]string{}
	target := c.targetClasses()
	for _, class := range target {
		sum += class.Bandwidth
		ours := hasClass(c.spec.TrafficClasses, class.Name)
		at := fmt.Sprintf("traffic_classes[%q]", class.Name)
		if now, exists := c.dcb.class(class.Name); ours && exists && !now.same(class) && !c.owns(settingClass+class.Name, old, func(s *DcbSpec) bool { return hasClass(s.TrafficClasses, class.Name) }) {
			return c.refuse(Conflict, at, class.Name, fmt.Sprintf("The host has a traffic class of this name that the provider did not make: %s.", now),
				fmt.Sprintf("Choose another name, or take the host's settings over first: terraform import hyperv_dcb.<name> '%s'.", c.host.Name))
		}
		for _, p := range class.Priorities {
			if other, taken := owner[p]; taken {
				if !ours {
					at, other = fmt.Sprintf("traffic_classes[%q]", other), class.Name
				}
				return c.refuse(Conflict, at, fmt.Sprint(p), fmt.Sprintf("Priority %d belongs to traffic class %q of the host; a priority is in one class only (facts.md 85b).", p, other),
					"Take another priority, or remove that class from the host.")
			}
			owner[p] = class.Name
		}
	}
	if len(c.spec.TrafficClasses) == 0 {
		return nil
	}
	if sum > 99 {
		return c.refuse(Invalid, "traffic_classes", fmt.Sprintf("%d %%", sum), fmt.Sprintf("The traffic classes of the host, with those of others (%s), would have %d %% of the bandwidth; the default class keeps 1 %% at least, so that 99 %% is the most (facts.md 85b).", c.foreignClasses(), sum),
			"Give the classes less, or remove classes that nobody needs from the host.")
	}
	if len(target) > 7 {
		return c.refuse(Invalid, "traffic_classes", fmt.Sprint(len(target)), fmt.Sprintf("The host would have %d traffic classes besides the default one; it takes 7 (facts.md 85b). Classes of others: %s.", len(target), c.foreignClasses()), "Use fewer classes.")
	}
	for _, name := range c.spec.NetAdapters {
		if a, ok := c.dcb.adapter(name); ok && a.TrafficClasses > 0 && int64(len(target)+1) > a.TrafficClasses {
			return c.refuse(Unsupported, "traffic_classes", fmt.Sprint(len(target)+1), fmt.Sprintf("Net adapter %q has %d traffic classes in hardware; %d are asked for, with the default one (facts.md 85b).", name, a.TrafficClasses, len(target)+1), "Use fewer classes.")
		}
	}
	return nil
}

func (c *dcbChange) foreignClasses() string {
	var names []string
	for _, x := range c.targetClasses() {
		if !hasClass(c.spec.TrafficClasses, x.Name) {
			names = append(names, x.Name)
		}
	}
	return quoteList(names)
}

// checkFlowControl: a net adapter has only two or three priorities that lose nothing (facts.md 87).
func (c *dcbChange) checkFlowControl(*DcbSpec) error {
	for _, name := range c.spec.NetAdapters {
		if a, ok := c.dcb.adapter(name); ok && c.spec.FlowControl != nil && int64(len(c.spec.FlowControl)) > a.PfcClasses {
			return c.refuse(Unsupported, "flow_control_priorities", joinNumbers(c.spec.FlowControl),
				fmt.Sprintf("Net adapter %q can make %d priorities lossless; %d are asked for (facts.md 87).", name, a.PfcClasses, len(c.spec.FlowControl)),
				"Ask for fewer. SMB Direct needs one, which host and guests share.")
		}
	}
	return nil
}

// checkLossless: RoCE loses connections where its priority loses frames (facts.md 85).
func (c *dcbChange) checkLossless(*DcbSpec) error {
	lossless := c.dcb.FlowControl
	if c.spec.FlowControl != nil {
		lossless = c.spec.FlowControl
	}
	for _, p := range c.spec.Policies {
		if p.NetDirectPort == 0 || slices.Contains(lossless, p.Priority) {
			continue
		}
		for _, name := range c.spec.NetAdapters {
			technology := c.inv.technology(name)
			if !strings.HasPrefix(technology, "RoCE") {
				continue
			}
			return c.refuse(Invalid, "flow_control_priorities", joinNumbers(lossless),
				fmt.Sprintf("Net adapter %q does RDMA by %s, which needs a priority that loses nothing; policy %q sends Network Direct port %d with priority %d, which has no flow control (facts.md 85).", name, technology, p.Name, p.NetDirectPort, p.Priority),
				fmt.Sprintf("Add %d to flow_control_priorities.", p.Priority))
		}
	}
	return nil
}

// technology is the RDMA technology that a net adapter is set to, or "".
func (inv *Inventory) technology(name string) string {
	for _, p := range inv.Properties {
		if strings.EqualFold(p.Name, name) && strings.EqualFold(p.RegistryKeyword, keywordTechnology) && len(p.RegistryValue) == 1 {
			for technology, number := range Technologies() {
				if number == p.RegistryValue[0] {
					return technology
				}
			}
		}
	}
	return ""
}

// notes are what works, but not as one may think.
func (d *Dcb) notes(spec *DcbSpec) []Note {
	var out []Note
	if spec.needsFeature() && d.Willing != nil && *d.Willing {
		out = append(out, Note{"The settings of data center bridging are not in force", "The host is willing to take its settings from the switch (DCBX Willing is true), so Windows gives its own to no net adapter. Set dcbx_willing = false, unless the switch is to decide (facts.md 85a, 86)."})
	}
	for _, p := range spec.Policies {
		if p.NetDirectPort != 0 && len(d.Guests) > 0 {
			out = append(out, Note{"Host and guests share one priority", fmt.Sprintf("SMB Direct of the host and of the guests with RDMA (%s) leaves with priority %d, and so shares its lossless queue and its bandwidth (facts.md 87).", quoteList(d.Guests), p.Priority)})
			break
		}
	}
	for _, a := range d.Adapters {
		if a.Enabled && int64(len(spec.FlowControl)) > a.PfcClasses && !containsFold(spec.NetAdapters, a.Name) {
			out = append(out, Note{"A net adapter cannot hold the settings", fmt.Sprintf("Net adapter %q has DCB on and can make %d priorities lossless, not %d (facts.md 87); its driver then takes none of the settings and says so in the event log (facts.md 85b).", a.Name, a.PfcClasses, len(spec.FlowControl))})
		}
	}
	return out
}
