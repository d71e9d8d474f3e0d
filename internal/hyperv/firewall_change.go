package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// firewallChange is a change of the rule on its way, on the host or in a guest.
type firewallChange struct {
	host   *Host
	op     string
	target *target
	vm     *VM
	read   *firewallRead
	spec   *FirewallRuleSpec
	unlock func()
}

// begin locks the target and looks at its firewall.
func (c *firewallChange) begin(ctx context.Context, ref TargetRef, name string) (err error) {
	if c.target, err = c.host.target(c.op, ref); err != nil {
		return err
	}
	if c.unlock, err = c.target.lock(ctx, "firewall"); err != nil {
		return err
	}
	b := c.host.batch(c.op, firewallAbout(ref))
	after := b.readParts(c.target.parts()...)
	c.read = c.target.readFirewall(b, name)
	if err := b.run(ctx); err != nil {
		return err
	}
	inv, err := after()
	if err != nil {
		return err
	}
	if c.vm, err = c.target.vm(ctx, inv, c.op); err != nil {
		return err
	}
	if c.vm != nil {
		c.target.guest.VMID = c.vm.ID
	}
	return nil
}

func (c *firewallChange) free() {
	if c.unlock != nil {
		c.unlock()
	}
}

// CreateFirewallRule makes the rule, unless one that is equal is there: two would only hide each other. An equal one is
// used, and stays when the resource goes. A rule of ours that is there already is what a create that was cut off left.
func (h *Host) CreateFirewallRule(ctx context.Context, spec FirewallRuleSpec) (*FirewallRule, error) {
	c := &firewallChange{host: h, op: "create the firewall rule", spec: &spec}
	defer c.free()
	if err := c.begin(ctx, spec.Target, ""); err != nil {
		return nil, err
	}
	if err := c.read.failure(c.target, c.op, c.vm); err != nil {
		return nil, err
	}
	var notes []Note
	var ours *FirewallRule
	for _, rule := range c.read.candidates() {
		switch {
		case rule.Ours && h.claimed.has(firewallObject(c.vm)):
			return nil, &Error{Kind: Conflict, Op: c.op, Host: h.Name, Object: firewallAbout(spec.Target), Cause: "Another resource of this configuration has the rule already.",
				Fix: "Keep one resource for each host and each guest; remote_addresses takes several."}
		case rule.Ours:
			ours = &rule
		}
	}
	for _, rule := range c.read.candidates() {
		if rule.Ours {
			continue
		}
		if ours == nil && spec.fits(&rule) {
			out := c.read.describe(rule, c.vm)
			out.Notes = append(c.findingNotes(out), Note{"The firewall rule is there already",
				fmt.Sprintf("%s: %s lets the same traffic in, so no second rule was made. It was there before this resource and stays when the resource is destroyed. To say so, import it instead: terraform import hyperv_iwarp_firewall_rule.<name> '%s'.",
					spec.Target.about(), rule.title(), c.importID(rule.Name))})
			return out, nil
		}
		if rule.Enabled {
			notes = append(notes, Note{"Another firewall rule is for the iWARP port mapper too", fmt.Sprintf("On %s: %s. Both count, so what one of them lets in is in.", spec.Target.about(), rule.title())})
		}
	}
	if spec.DisplayName == "" && ours == nil {
		spec.DisplayName = ourRuleDisplayName
	}
	out, err := c.write(ctx, ourRuleName, ours == nil)
	if err != nil {
		return nil, err
	}
	h.claimed.add(firewallObject(c.vm))
	out.Notes = append(notes, out.Notes...)
	return out, nil
}

// fits says whether a rule is what the spec wants.
func (s *FirewallRuleSpec) fits(r *FirewallRule) bool {
	return r.Enabled == s.Enabled && sameProfiles(r.Profiles, s.Profiles) && SameAddresses(r.RemoteAddresses, s.RemoteAddresses) &&
		(s.DisplayName == "" || s.DisplayName == r.DisplayName)
}

func (c *firewallChange) importID(rule string) string {
	id := c.host.Name
	if c.vm != nil {
		id += "/" + strings.ToLower(c.vm.ID)
	}
	return id + "/" + rule
}

func (c *firewallChange) findingNotes(rule *FirewallRule) []Note {
	var out []Note
	for _, f := range rule.Findings {
		out = append(out, Note{"The firewall rule of " + c.target.ref.about() + " has no effect", f})
	}
	return out
}

// UpdateFirewallRule changes the rule in place, ours or one that was imported.
func (h *Host) UpdateFirewallRule(ctx context.Context, spec FirewallRuleSpec, ref TargetRef) (*FirewallRule, error) {
	c := &firewallChange{host: h, op: "change the firewall rule", spec: &spec}
	defer c.free()
	if err := c.begin(ctx, ref, spec.RuleName); err != nil {
		return nil, err
	}
	if err := c.target.renamed(c.op, spec.Target.VMName, c.vm); err != nil {
		return nil, err
	}
	if err := c.read.failure(c.target, c.op, c.vm); err != nil {
		return nil, err
	}
	for _, rule := range c.read.candidates() {
		if !strings.EqualFold(rule.Name, spec.RuleName) {
			continue
		}
		if spec.fits(&rule) {
			return c.read.describe(rule, c.vm), nil
		}
		return c.write(ctx, rule.Name, false)
	}
	return nil, &Error{Kind: NotFound, Op: c.op, Host: h.Name, Object: firewallAbout(ref), Cause: fmt.Sprintf("The rule %s is gone.", spec.RuleName), Fix: "Plan again: the rule is then made anew."}
}

// write makes or changes a rule and reads it back in the same batch.
func (c *firewallChange) write(ctx context.Context, name string, create bool) (*FirewallRule, error) {
	b := c.host.batch(c.op, firewallAbout(c.target.ref))
	enabled := map[bool]string{true: "True", false: "False"}[c.spec.Enabled]
	p := map[string]any{"Enabled": enabled, "Profile": c.spec.profileText(), "RemoteAddress": c.spec.RemoteAddresses, "Confirm": false}
	ours := strings.EqualFold(name, ourRuleName)
	if ours {
		p["Protocol"], p["LocalPort"], p["Direction"], p["Action"] = iwarpProtocol, []string{iwarpPort}, "Inbound", "Allow"
	}
	if create {
		p["Name"], p["DisplayName"] = ourRuleName, c.spec.DisplayName
		p["Description"] = "Lets the iWARP port mapper of other hosts in. Made and removed by Terraform."
		b.change(c.target.in(wire.Call{Cmdlet: "New-NetFirewallRule", Parameters: p, Select: fieldsOf[named]()}))
	} else {
		if c.spec.DisplayName != "" {
			p["NewDisplayName"] = c.spec.DisplayName
		}
		c.saveRule(b, name, "rule")
		p["InputObject"] = wire.Ref{Call: "rule"}
		b.change(c.target.in(wire.Call{Cmdlet: "Set-NetFirewallRule", Parameters: p}))
	}
	read := c.target.readFirewall(b, name)
	if err := b.run(ctx); err != nil {
		return nil, refineFirewall(err)
	}
	if err := read.failure(c.target, c.op, c.vm); err != nil {
		return nil, err
	}
	for _, rule := range read.candidates() {
		if !strings.EqualFold(rule.Name, name) {
			continue
		}
		if !c.spec.fits(&rule) {
			return nil, &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: firewallAbout(c.target.ref), Attribute: "profiles", Value: strings.Join(c.spec.Profiles, ", "),
				Cause: "The rule was written and reads " + rule.title() + ".", Fix: "Something else sets it (a policy, the driver's service): find out what, then apply again."}
		}
		out := read.describe(rule, c.vm)
		out.Notes = c.findingNotes(out)
		return out, nil
	}
	return nil, &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: firewallAbout(c.target.ref), Cause: "The rule was written and cannot be found."}
}

func (s *FirewallRuleSpec) profileText() string {
	if profileMask(s.Profiles) == profileMask([]string{anyAddress}) {
		return anyAddress
	}
	return strings.Join(s.Profiles, ", ")
}

// saveRule saves the live object of a rule: by what finds it without its name being a pattern (facts.md 39).
func (c *firewallChange) saveRule(b *batch, name, save string) {
	this := []wire.Condition{{Property: "Name", Equals: []string{name}}}
	if strings.EqualFold(name, ourRuleName) {
		find[named](b, c.target.in(wire.Call{Cmdlet: "Get-NetFirewallRule", Parameters: map[string]any{"Name": []string{ourRuleName}}, Save: save}))
		return
	}
	for _, r := range c.read.installer.Items {
		if strings.EqualFold(r.Name, name) {
			find[named](b, c.target.in(wire.Call{Cmdlet: "Get-NetFirewallRule", Parameters: map[string]any{"DisplayName": []string{installerRule}}, Save: save, Where: this}))
			return
		}
	}
	find[firewallPorts](b, c.target.in(wire.Call{Cmdlet: "Get-NetFirewallPortFilter", Parameters: map[string]any{"Protocol": []string{iwarpProtocol}}, Save: save + " ports",
		Where: []wire.Condition{{Property: "InstanceID", Equals: []string{name}}}}))
	find[named](b, c.target.in(wire.Call{Cmdlet: "Get-NetFirewallRule", Input: save + " ports", Save: save, Where: this}))
}

// refineFirewall explains what the firewall refuses.
func refineFirewall(err error) error {
	var e *Error
	if asError(err, &e) && e.Command != nil && idHead(*e.Command) == "Windows System Error 87" {
		e.Attribute = "remote_addresses"
		e.Cause = "Windows Firewall takes addresses, subnets, ranges and the names LocalSubnet, DNS, DHCP, WINS, DefaultGateway, Internet and Intranet."
		e.Fix = "Correct remote_addresses."
	}
	return err
}

// DeleteFirewallRule removes the rule if it is ours; any other stays. One that is gone is a success.
func (h *Host) DeleteFirewallRule(ctx context.Context, spec FirewallRuleSpec, forget bool) ([]Note, error) {
	c := &firewallChange{host: h, op: "remove the firewall rule", spec: &spec}
	defer c.free()
	if !strings.EqualFold(spec.RuleName, ourRuleName) {
		return []Note{{"The firewall rule stays", fmt.Sprintf("%s of %s was not made by this resource, so it stays.", spec.RuleName, spec.Target.about())}}, nil
	}
	err := c.begin(ctx, spec.Target, spec.RuleName)
	if IsNotFound(err) && spec.Target.guest() { // the VM is gone, and its guest with it
		h.claimed.remove(firewallObject(&VM{ID: spec.Target.VMID}))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if failure := c.read.failure(c.target, c.op, c.vm); failure != nil {
		if c.vm == nil {
			return nil, failure
		}
		note, err := c.target.forgetOrFail(failure, forget, "the firewall rule")
		if err != nil {
			return nil, err
		}
		h.claimed.remove(firewallObject(c.vm))
		return []Note{note}, nil
	}
	if len(c.read.ours.Items) > 0 {
		b := h.batch(c.op, firewallAbout(spec.Target))
		c.saveRule(b, ourRuleName, "rule")
		b.change(c.target.in(wire.Call{Cmdlet: "Remove-NetFirewallRule", Input: "rule", Parameters: map[string]any{"Confirm": false}}))
		if err := b.run(ctx); err != nil && !IsNotFound(err) {
			return nil, err
		}
	}
	h.claimed.remove(firewallObject(c.vm))
	return nil, nil
}
