package lab

import (
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// rulesOfFilters are the rules whose filters are asked for: of given rules, or of all.
func (c *call) rulesOfFilters() []*FirewallRule {
	f := c.firewall()
	if c.noStore() {
		return nil
	}
	if !c.has("AssociatedNetFirewallRule") {
		return f.Rules
	}
	var out []*FirewallRule
	for _, o := range c.objects("AssociatedNetFirewallRule") {
		if rule := f.rule(strings.TrimPrefix(o.Ref, refFirewallRule)); rule != nil {
			out = append(out, rule)
		}
	}
	return out
}

// portsOf is how a list of ports prints: one bare, several as an array.
func portsOf(ports []string) any {
	if len(ports) == 1 {
		return ports[0]
	}
	return list(ports...)
}

func getNetFirewallPortFilter(c *call) {
	const class = "MSFT_NetProtocolPortFilter"
	rules := c.rulesOfFilters()
	rows := make([]*cmdlet.Object, 0, len(rules))
	for _, r := range rules {
		rows = append(rows, firewallCim(class, "firewallports:"+r.Name, class, prop("InstanceID", r.Name), prop("Protocol", r.Protocol), prop("LocalPort", portsOf(r.LocalPort)),
			prop("RemotePort", portsOf(r.RemotePort)), prop("IcmpType", anyText), prop("DynamicTarget", cdxmlEnum("NetSecurity", "DynamicTransport", anyText, 0)),
			prop("CreationClassName", "MSFT|FW|FirewallRule|"+r.Name)))
	}
	c.emitAll(c.query(class, rows, filter{"Protocol", "Protocol"}))
}

func getNetFirewallAddressFilter(c *call) {
	const class = "MSFT_NetAddressFilter"
	for _, r := range c.rulesOfFilters() {
		c.emit(firewallCim(class, "firewalladdresses:"+r.Name, class, prop("InstanceID", r.Name), prop("LocalAddress", portsOf(r.LocalAddress)), prop("RemoteAddress", portsOf(r.RemoteAddress)),
			prop("CreationClassName", "MSFT|FW|FirewallRule|"+r.Name)))
	}
}

func getNetFirewallServiceFilter(c *call) {
	const class = "MSFT_NetServiceFilter"
	var rows []*cmdlet.Object
	for _, r := range c.rulesOfFilters() {
		rows = append(rows, firewallCim(class, "firewallservice:"+r.Name, class, prop("InstanceID", r.Name), prop("ServiceName", r.Service), prop("Service", r.Service),
			prop("CreationClassName", "MSFT|FW|FirewallRule|"+r.Name)))
	}
	c.emitAll(c.query(class, rows, filter{"Service", "Service"}))
}

// getNetFirewallProfile: a group policy shows in the active store only.
func getNetFirewallProfile(c *call) {
	const class = "MSFT_NetFirewallProfile"
	f := c.firewall()
	if c.noStore() {
		return
	}
	local, number := "NotConfigured", int64(2)
	if f.NoLocalRules && strings.EqualFold(c.str("PolicyStore"), activeStore) {
		local, number = "False", 0
	}
	var rows []*cmdlet.Object
	for _, name := range []string{"Domain", "Private", "Public"} {
		on, onNumber := "True", int64(1)
		if slices.Contains(f.OffIn, name) {
			on, onNumber = "False", 0
		}
		rows = append(rows, firewallCim(class, "firewallprofile:"+name, class, prop("Name", name), prop("Profile", name), prop("InstanceID", "MSFT|FW|FirewallProfile|"+name),
			prop("Enabled", cdxmlEnum("NetSecurity", "GpoBoolean", on, onNumber)), prop("DefaultInboundAction", cdxmlEnum("NetSecurity", "Action", "Block", 4)),
			prop("DefaultOutboundAction", cdxmlEnum("NetSecurity", "Action", "Allow", 2)), prop("AllowInboundRules", cdxmlEnum("NetSecurity", "GpoBoolean", "True", 1)),
			prop("AllowLocalFirewallRules", cdxmlEnum("NetSecurity", "GpoBoolean", local, number))))
	}
	c.emitAll(c.query(class, rows, filter{"Name", "Name"}))
}
