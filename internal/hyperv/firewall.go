package hyperv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// The iWARP port mapper listens on this port (facts.md 69).
const (
	iwarpProtocol = "UDP"
	iwarpPort     = "3935"
)

// Names of rules: ours, by which it is known again, and the one that Intel's installer makes (facts.md 69).
const (
	ourRuleName        = "TerraformProviderHyperV-iWARP-PortMapper"
	ourRuleDisplayName = "iWARP port mapper (UDP 3935)"
	installerRule      = "Intel Ethernet iWARP port mapper"
)

// FirewallRuleSpec is the rule as it is wanted.
type FirewallRuleSpec struct {
	Target          TargetRef
	RuleName        string // of the rule that was found; "" on create
	DisplayName     string // "" leaves it
	Enabled         bool
	Profiles        []string // Any, or some of Domain, Private, Public
	RemoteAddresses []string
}

// FirewallRule is what a host or guest says of the rule.
type FirewallRule struct {
	VM              *VM // nil on the host
	Name            string
	DisplayName     string
	Enabled         bool // it is on, and lets UDP 3935 in
	Profiles        []string
	RemoteAddresses []string
	Ours            bool     // the provider made it
	Enforcement     []string // of the active store; empty where it does not say
	Others          []string // other rules for the port mapper
	Findings        []string // why the rule is without effect
	Err             error    // why the guest could not be asked
	Notes           []Note
}

// texts is a property that prints bare with one value and as an array with several.
type texts []string

// UnmarshalJSON takes either.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	*t = nil
	for _, e := range list {
		*t = append(*t, fmt.Sprint(e))
	}
	return nil
}

// The objects of the NetSecurity module (objects.md).
type firewallPorts struct {
	InstanceID string `json:"InstanceID"`
	LocalPort  texts  `json:"LocalPort"`
}

type firewallAddresses struct {
	InstanceID    string `json:"InstanceID"`
	RemoteAddress texts  `json:"RemoteAddress"`
}

type firewallRule struct {
	Name              string `json:"Name"`
	DisplayName       string `json:"DisplayName"`
	Enabled           string `json:"Enabled"` // True, False
	Direction         string `json:"Direction"`
	Action            string `json:"Action"`
	Profile           string `json:"Profile"` // Any, or "Domain, Private"
	EnforcementStatus texts  `json:"EnforcementStatus"`
}

type firewallProfile struct {
	Name                    string `json:"Name"`
	Enabled                 string `json:"Enabled"`
	AllowLocalFirewallRules string `json:"AllowLocalFirewallRules"`
}

// Saved objects of a batch that reads the rules.
const (
	savedPorts     = "firewall ports"
	savedByPort    = "firewall rules of the port"
	savedInstaller = "firewall rule of the installer"
	savedOurs      = "firewall rule of ours"
)

// firewallRead is what one look at a firewall gives.
type firewallRead struct {
	ports                   *found[firewallPorts]
	byPort, installer, ours *found[firewallRule]
	addresses               []*found[firewallAddresses]
	profiles                *found[firewallProfile]
	active                  *found[firewallRule]
}

// readFirewall adds the calls that look at the rules for the port mapper. None of them fails the batch. active is the
// name of the rule that the active store is asked about, which alone says whether a rule counts (objects.md).
func (t *target) readFirewall(b *batch, active string) *firewallRead {
	always := tolerating(anyError)
	r := &firewallRead{}
	in := func(cmdlet, input, save string, parameters map[string]any, where ...wire.Condition) wire.Call {
		return t.in(wire.Call{Cmdlet: cmdlet, Input: input, Save: save, Parameters: parameters, Where: where})
	}
	r.ports = find[firewallPorts](b, in("Get-NetFirewallPortFilter", "", savedPorts, map[string]any{"Protocol": []string{iwarpProtocol}}, wire.Condition{Property: "LocalPort", Equals: []string{iwarpPort}}), always)
	r.byPort = find[firewallRule](b, in("Get-NetFirewallRule", savedPorts, savedByPort, nil), always)
	r.installer = find[firewallRule](b, in("Get-NetFirewallRule", "", savedInstaller, map[string]any{"DisplayName": []string{installerRule}}), always)
	r.ours = find[firewallRule](b, in("Get-NetFirewallRule", "", savedOurs, map[string]any{"Name": []string{ourRuleName}}), always)
	for _, rules := range []string{savedByPort, savedInstaller, savedOurs} {
		r.addresses = append(r.addresses, find[firewallAddresses](b, in("Get-NetFirewallAddressFilter", rules, "", nil), always))
	}
	r.profiles = find[firewallProfile](b, in("Get-NetFirewallProfile", "", "", map[string]any{"PolicyStore": "ActiveStore"}), always)
	if active == "" || strings.ContainsAny(active, "*?[]`") { // a name is a pattern to the cmdlet (facts.md 39)
		active = ourRuleName
	}
	r.active = find[firewallRule](b, in("Get-NetFirewallRule", "", "", map[string]any{"Name": []string{active}, "PolicyStore": "ActiveStore"}), always)
	return r
}

// failure is why the firewall could not be asked; nil if it was.
func (r *firewallRead) failure(t *target, op string, vm *VM) error {
	var errors []wire.CommandError
	for _, e := range r.ports.Errors {
		if commandKind(e) != NotFound || e.Session {
			errors = append(errors, e)
		}
	}
	err := t.failure(op, vm, errors)
	var e *Error
	if asError(err, &e) && e.Command != nil && idHead(*e.Command) == "Windows System Error 1753" {
		e.Kind = Unsupported
		e.Cause = "Windows Firewall does not answer: its service (MpsSvc) does not run, so no rule can be read or made."
		e.Fix = "If another product is the firewall there, allow inbound UDP 3935 in it by hand and leave this resource out (facts.md 69); otherwise start the service: Start-Service MpsSvc."
	}
	return err
}

// candidates are the rules for the port mapper: by port, by the installer's name, and ours whatever became of it.
func (r *firewallRead) candidates() []FirewallRule {
	opens := map[string]bool{}
	for _, p := range r.ports.Items {
		opens[strings.ToLower(p.InstanceID)] = true
	}
	remote := map[string][]string{}
	for _, list := range r.addresses {
		for _, a := range list.Items {
			remote[strings.ToLower(a.InstanceID)] = a.RemoteAddress
		}
	}
	var out []FirewallRule
	seen := map[string]bool{}
	for _, rule := range append(append(slices.Clone(r.byPort.Items), r.installer.Items...), r.ours.Items...) {
		id := strings.ToLower(rule.Name)
		if seen[id] {
			continue
		}
		seen[id] = true
		allows := strings.EqualFold(rule.Direction, "Inbound") && strings.EqualFold(rule.Action, "Allow") && (opens[id] || strings.EqualFold(rule.DisplayName, installerRule))
		x := FirewallRule{Name: rule.Name, DisplayName: rule.DisplayName, Enabled: allows && strings.EqualFold(rule.Enabled, "True"), Ours: strings.EqualFold(rule.Name, ourRuleName),
			RemoteAddresses: remote[id]}
		for _, p := range strings.Split(rule.Profile, ",") {
			x.Profiles = append(x.Profiles, strings.TrimSpace(p))
		}
		if allows || x.Ours {
			out = append(out, x)
		}
	}
	return out
}

// describe completes a rule by what else the look gave.
func (r *firewallRead) describe(rule FirewallRule, vm *VM) *FirewallRule {
	rule.VM = vm
	for _, a := range r.active.Items {
		if strings.EqualFold(a.Name, rule.Name) {
			rule.Enforcement = enforcementNames(a.EnforcementStatus)
		}
	}
	for _, other := range r.candidates() {
		if other.Name != rule.Name {
			rule.Others = append(rule.Others, other.title())
		}
	}
	rule.Findings = r.findings(&rule)
	return &rule
}

func (f *FirewallRule) title() string {
	state := ""
	if !f.Enabled {
		state = ", off"
	}
	return fmt.Sprintf("%q (%s; profiles %s; from %s%s)", f.DisplayName, f.Name, strings.Join(f.Profiles, ", "), strings.Join(f.RemoteAddresses, ", "), state)
}

// enforcementNames reads the statuses as names; a host may give the numbers (objects.md).
func enforcementNames(list []string) []string {
	names := map[string]string{"1": "Full", "2": "FirewallOffInProfile", "3": "CategoryOff", "4": "DisabledObject", "5": "InactiveProfile", "16": "LocalFirewallRulesDisallowed", "Enforced": "Full"}
	out := make([]string, 0, len(list))
	for _, s := range list {
		if n, ok := names[s]; ok {
			s = n
		}
		out = append(out, s)
	}
	return out
}

// findings say why a rule that is there does not do what it is for.
func (r *firewallRead) findings(rule *FirewallRule) []string {
	var out, off, closed []string
	mask := profileMask(rule.Profiles)
	for i, name := range FirewallProfiles() {
		for _, p := range r.profiles.Items {
			if !strings.EqualFold(p.Name, name) || mask&(1<<i) == 0 {
				continue
			}
			if p.Enabled == "False" || p.Enabled == "0" {
				off = append(off, name)
			}
			if p.AllowLocalFirewallRules == "False" || p.AllowLocalFirewallRules == "0" {
				closed = append(closed, name)
			}
		}
	}
	if slices.Contains(rule.Enforcement, "CategoryOff") {
		out = append(out, "Another firewall product has taken over from Windows Firewall, so the rule has no effect (EnforcementStatus CategoryOff). Allow inbound UDP 3935 in that product by hand (facts.md 69).")
	}
	if len(off) > 0 {
		out = append(out, fmt.Sprintf("Windows Firewall is off in the profiles %s, so the rule has no effect there. Nothing of Windows blocks the port; where another product is the firewall instead, allow inbound UDP 3935 in it by hand (facts.md 69).", strings.Join(off, ", ")))
	}
	if len(closed) > 0 {
		out = append(out, fmt.Sprintf("A group policy lets no local rules count in the profiles %s, so the rule has no effect there. Allow inbound UDP 3935 by the group policy.", strings.Join(closed, ", ")))
	}
	return out
}

func firewallAbout(ref TargetRef) string {
	return "firewall rule for the iWARP port mapper of " + ref.about()
}

func firewallObject(vm *VM) string { return "iwarp firewall rule " + targetID(vm) }

// ReadFirewallRule reads the rule. A guest that cannot be reached is no error: the result says so.
func (h *Host) ReadFirewallRule(ctx context.Context, ref TargetRef, name string) (*FirewallRule, error) {
	const op = "read the firewall rule"
	_, read, t, vm, err := h.lookAtFirewall(ctx, op, ref, name)
	if err != nil {
		return nil, err
	}
	if read == nil {
		return &FirewallRule{VM: vm, Err: t.failure(op, vm, nil)}, nil
	}
	if failure := read.failure(t, op, vm); failure != nil {
		if vm != nil && KindOf(failure) == Unreachable {
			return &FirewallRule{VM: vm, Err: failure}, nil
		}
		return nil, failure
	}
	var all []string
	for _, rule := range read.candidates() {
		if strings.EqualFold(rule.Name, name) {
			if rule.Ours {
				h.claimed.add(firewallObject(vm))
			}
			return read.describe(rule, vm), nil
		}
		all = append(all, rule.title())
	}
	return nil, &Error{Kind: NotFound, Op: op, Host: h.Name, Object: firewallAbout(ref), Value: name, Cause: "There is no such rule that lets inbound UDP 3935 in.", Fix: "Rules that do: " + strings.Join(append(all, "none")[:max(len(all), 1)], "; ") + "."}
}

// lookAtFirewall reads a guest's VM from the shared inventory and then the firewall, or the host's firewall alone. There
// is no read where the guest does not run.
func (h *Host) lookAtFirewall(ctx context.Context, op string, ref TargetRef, name string) (*batch, *firewallRead, *target, *VM, error) {
	t, err := h.target(op, ref)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	var vm *VM
	if ref.guest() {
		inv, err := h.Inventory(ctx)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		if vm, err = t.vm(ctx, inv, op); err != nil {
			return nil, nil, nil, nil, err
		}
		if vm.State != "Running" {
			return nil, nil, t, vm, nil
		}
		t.guest.VMID = vm.ID
	}
	b := h.batch(op, firewallAbout(ref))
	read := t.readFirewall(b, name)
	return b, read, t, vm, b.run(ctx)
}

// FindFirewallRule finds a rule for an import, by its name or its display name.
func (h *Host) FindFirewallRule(ctx context.Context, ref TargetRef, name string) (*FirewallRule, error) {
	const op = "find the firewall rule"
	_, read, t, vm, err := h.lookAtFirewall(ctx, op, ref, name)
	if err != nil {
		return nil, err
	}
	if read == nil {
		return nil, t.failure(op, vm, nil)
	}
	if err := read.failure(t, op, vm); err != nil {
		return nil, err
	}
	var all, hits []string
	var hit FirewallRule
	for _, rule := range read.candidates() {
		all = append(all, rule.title())
		if strings.EqualFold(rule.Name, name) {
			return read.describe(rule, vm), nil
		}
		if strings.EqualFold(rule.DisplayName, name) {
			hit, hits = rule, append(hits, rule.Name)
		}
	}
	switch len(hits) {
	case 1:
		return read.describe(hit, vm), nil
	case 0:
		return nil, &Error{Kind: NotFound, Op: op, Host: h.Name, Object: firewallAbout(ref), Value: name, Cause: fmt.Sprintf("There is no rule %q that lets inbound UDP 3935 in.", name),
			Fix: "Rules that do: " + strings.Join(append(all, "none")[:max(len(all), 1)], "; ") + "."}
	}
	return nil, &Error{Kind: Ambiguous, Op: op, Host: h.Name, Object: firewallAbout(ref), Value: name, Cause: fmt.Sprintf("%d rules have this display name.", len(hits)), Fix: "Name one: " + strings.Join(hits, ", ") + "."}
}
