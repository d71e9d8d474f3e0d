package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const (
	classFirewallRule = "MSFT_NetFirewallRule"
	refFirewallRule   = "firewallrule:"
	activeStore       = "ActiveStore"
)

func registerNetFirewall(r registry) {
	served := func(run handler) handler {
		return func(c *call) {
			if c.firewall().Service != firewallRunning { // without the service there is nobody to ask
				c.fail(c.cimSystemError(1753, classFirewallRule, "There are no more endpoints available from the endpoint mapper."))
				return
			}
			run(c)
		}
	}
	r.both("Get-NetFirewallRule", served(func(c *call) {
		for _, rule := range c.firewallRules() {
			c.emit(c.firewallRuleObject(rule))
		}
	}))
	r.both("New-NetFirewallRule", served(newNetFirewallRule))
	r.both("Set-NetFirewallRule", served(func(c *call) { c.eachFirewallRule(setNetFirewallRule) }))
	r.both("Remove-NetFirewallRule", served(removeNetFirewallRule))
	r.both("Enable-NetFirewallRule", served(func(c *call) {
		c.eachFirewallRule(func(_ *call, r *FirewallRule) bool { r.Enabled = true; return true })
	}))
	r.both("Disable-NetFirewallRule", served(func(c *call) {
		c.eachFirewallRule(func(_ *call, r *FirewallRule) bool { r.Enabled = false; return true })
	}))
	r.both("Get-NetFirewallPortFilter", served(getNetFirewallPortFilter))
	r.both("Get-NetFirewallAddressFilter", served(getNetFirewallAddressFilter))
	r.both("Get-NetFirewallServiceFilter", served(getNetFirewallServiceFilter))
	r.both("Get-NetFirewallProfile", served(getNetFirewallProfile))
}

// firewall is the target's.
func (c *call) firewall() *Firewall {
	if g := c.guest(); g != nil {
		return &g.Firewall
	}
	return &c.host.Firewall
}

// noStore says whether the store that is asked for holds no local rules.
func (c *call) noStore() bool {
	store := c.str("PolicyStore")
	return store != "" && !strings.EqualFold(store, "PersistentStore") && !strings.EqualFold(store, activeStore)
}

// firewallRules picks rules: by objects, by a filter that belongs to them, by name, or by their properties.
func (c *call) firewallRules() []*FirewallRule {
	f := c.firewall()
	if c.noStore() {
		return nil
	}
	for _, parameter := range []string{"InputObject", "AssociatedNetFirewallPortFilter", "AssociatedNetFirewallAddressFilter", "AssociatedNetFirewallServiceFilter"} {
		if !c.has(parameter) {
			continue
		}
		var found []*FirewallRule
		for _, o := range c.objects(parameter) {
			_, name, _ := strings.Cut(o.Ref, ":")
			rule := f.rule(name)
			if rule == nil {
				c.fail(c.cimNotFound(classFirewallRule, "InstanceID", name))
				continue
			}
			found = append(found, rule)
		}
		return found
	}
	rows := make([]*cmdlet.Object, 0, len(f.Rules))
	for _, rule := range f.Rules {
		rows = append(rows, c.firewallRuleObject(rule))
	}
	filters := []filter{{"Name", "InstanceID"}, {"DisplayName", "DisplayName"}, {"Group", "Group"}}
	if c.inv.Cmdlet != "Set-NetFirewallRule" { // there they are what to set
		filters = append(filters, filter{"Description", "Description"}, filter{"Enabled", "Enabled"}, filter{"Direction", "Direction"}, filter{"Action", "Action"})
	}
	var found []*FirewallRule
	for _, row := range c.query(classFirewallRule, rows, filters...) {
		_, name, _ := strings.Cut(row.Ref, ":")
		found = append(found, f.rule(name))
	}
	return found
}

func (c *call) eachFirewallRule(do func(*call, *FirewallRule) bool) {
	for _, rule := range c.firewallRules() {
		if do(c, rule) && c.boolean("PassThru") {
			c.emit(c.firewallRuleObject(rule))
		}
	}
}

func newNetFirewallRule(c *call) {
	f := c.firewall()
	rule := &FirewallRule{
		Name: c.str("Name"), DisplayName: c.str("DisplayName"), Description: c.str("Description"), Group: c.str("Group"), Enabled: true, Direction: "Inbound", Action: "Allow",
		Protocol: anyText, LocalPort: anyOf(nil), RemotePort: anyOf(nil), LocalAddress: anyOf(nil), RemoteAddress: anyOf(nil), Program: anyText, Service: anyText,
	}
	if rule.Name == "" {
		rule.Name = "{" + strings.ToUpper(c.newGUID("firewall rule")) + "}"
	}
	if f.rule(rule.Name) != nil { // errors.md 5
		c.fail(c.cimSystemError(183, classFirewallRule, "Cannot create a file when that file already exists."))
		return
	}
	if !setNetFirewallRule(c, rule) {
		return
	}
	f.Rules = append(f.Rules, rule)
	c.emit(c.firewallRuleObject(rule))
}

// setNetFirewallRule takes over the parameters; false where one is refused, and then nothing changes.
func setNetFirewallRule(c *call, rule *FirewallRule) bool {
	next := *rule
	text := func(parameter string, value *string) {
		if c.has(parameter) {
			*value = c.str(parameter)
		}
	}
	list := func(parameter string, value *[]string) {
		if c.has(parameter) {
			*value = anyOf(c.strs(parameter))
		}
	}
	text("NewDisplayName", &next.DisplayName)
	text("Description", &next.Description)
	text("Program", &next.Program)
	text("Service", &next.Service)
	list("LocalPort", &next.LocalPort)
	list("RemotePort", &next.RemotePort)
	list("LocalAddress", &next.LocalAddress)
	list("RemoteAddress", &next.RemoteAddress)
	if c.has("Enabled") {
		next.Enabled = c.enum("Enabled") == "True"
	}
	if c.has("Profile") {
		next.Profiles = c.integer("Profile")
	}
	if c.has("Direction") {
		next.Direction = c.enum("Direction")
	}
	if c.has("Action") {
		next.Action = c.enum("Action")
	}
	if c.has("Protocol") {
		next.Protocol = protocolName(c.str("Protocol"))
	}
	ports := next.LocalPort[0] != anyText || next.RemotePort[0] != anyText
	if ports && next.Protocol != "UDP" && next.Protocol != "TCP" {
		c.fail(c.cimSystemError(87, classFirewallRule, "The port is invalid. Ports are only supported with the protocols UDP and TCP."))
		return false
	}
	for _, addresses := range []*[]string{&next.LocalAddress, &next.RemoteAddress} {
		stored, ok := c.storedAddresses(*addresses)
		if !ok {
			c.fail(c.cimSystemError(87, classFirewallRule, "The address is invalid. Addresses may be specified as IP addresses, ranges, or subnets."))
			return false
		}
		*addresses = stored
	}
	*rule = next
	return true
}

func protocolName(text string) string {
	switch strings.ToUpper(text) {
	case "17", "UDP":
		return "UDP"
	case "6", "TCP":
		return "TCP"
	case "ANY":
		return anyText
	}
	return text
}

func removeNetFirewallRule(c *call) {
	f := c.firewall()
	for _, gone := range c.firewallRules() {
		kept := []*FirewallRule{}
		for _, rule := range f.Rules {
			if rule != gone {
				kept = append(kept, rule)
			}
		}
		f.Rules = kept
	}
}

// firewallCim is an instance of the module's classes.
func firewallCim(class, ref, text string, properties ...cmdlet.Property) *cmdlet.Object {
	return cim("root/standardcimv2", class, ref, text, properties...)
}

func (c *call) firewallRuleObject(r *FirewallRule) *cmdlet.Object {
	enabled, number := "True", int64(1)
	if !r.Enabled {
		enabled, number = "False", 2
	}
	direction := map[string]int64{"Inbound": 1, "Outbound": 2}[r.Direction]
	action := map[string]int64{"NotConfigured": 0, "Allow": 2, "Block": 4}[r.Action]
	enforcement := []any{} // only what comes from the active store says how it is enforced (objects.md)
	if strings.EqualFold(c.str("PolicyStore"), activeStore) {
		enforcement = list(c.firewall().enforcement(r))
	}
	return firewallCim(classFirewallRule, refFirewallRule+r.Name, `MSFT_NetFirewallRule (CreationClassName = "MSFT|FW|FirewallRule|`+r.Name+`")`,
		prop("Name", r.Name), prop("ID", r.Name), prop("InstanceID", r.Name), prop("DisplayName", r.DisplayName), prop("Description", r.Description),
		prop("DisplayGroup", r.Group), prop("Group", r.Group), prop("RuleGroup", r.Group),
		prop("Enabled", cdxmlEnum("NetSecurity", "Enabled", enabled, number)),
		prop("Profile", cdxmlEnum("NetSecurity", "Profile", profileText(r.Profiles), int64(r.Profiles))), prop("Profiles", u16(r.Profiles)), prop("Platform", []any{}),
		prop("Direction", cdxmlEnum("NetSecurity", "Direction", r.Direction, direction)), prop("Action", cdxmlEnum("NetSecurity", "Action", r.Action, action)),
		prop("EdgeTraversalPolicy", cdxmlEnum("NetSecurity", "EdgeTraversal", "Block", 0)), prop("LooseSourceMapping", false), prop("LocalOnlyMapping", false),
		prop("Owner", nil), prop("PrimaryStatus", cdxmlEnum("NetSecurity", "PrimaryStatus", "OK", 1)),
		prop("Status", "The rule was parsed successfully from the store. (65536)"), prop("EnforcementStatus", enforcement),
		prop("PolicyStoreSource", "PersistentStore"), prop("PolicyStoreSourceType", cdxmlEnum("NetSecurity", "PolicyStoreType", "Local", 1)),
		prop("CreationClassName", "MSFT|FW|FirewallRule|"+r.Name))
}

func profileText(sum int) string {
	if sum == 0 {
		return anyText
	}
	var names []string
	for _, name := range []string{"Domain", "Private", "Public"} {
		if sum&profileBits()[name] != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
