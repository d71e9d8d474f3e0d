package lab

import (
	"net/netip"
	"slices"
	"strings"
)

// Firewall is Windows Firewall of a host or guest.
type Firewall struct {
	Service       string          `json:"service"`                  // of MpsSvc: running, stopped
	ActiveProfile string          `json:"active_profile"`           // Domain, Private, Public: of the network that the machine is in
	OffIn         []string        `json:"off_in,omitempty"`         // profiles in which the firewall is off
	ThirdParty    string          `json:"third_party,omitempty"`    // a product that has taken the firewall's category over
	NoLocalRules  bool            `json:"no_local_rules,omitempty"` // a group policy lets no local rules count
	Rules         []*FirewallRule `json:"rules"`
}

// FirewallRule is one rule of the persistent store.
type FirewallRule struct {
	Name          string   `json:"name"` // InstanceID: unique
	DisplayName   string   `json:"display_name"`
	Description   string   `json:"description,omitempty"`
	Group         string   `json:"group,omitempty"`
	Enabled       bool     `json:"enabled"`
	Profiles      int      `json:"profiles"` // 0 any, else the sum of Domain 1, Private 2, Public 4 (objects.md)
	Direction     string   `json:"direction"`
	Action        string   `json:"action"`
	Protocol      string   `json:"protocol"`
	LocalPort     []string `json:"local_port"`
	RemotePort    []string `json:"remote_port"`
	LocalAddress  []string `json:"local_address"`
	RemoteAddress []string `json:"remote_address"`
	Program       string   `json:"program"`
	Service       string   `json:"service"`
}

// ScenarioFirewall is how a machine's firewall is found; left out, as on a fresh Windows.
type ScenarioFirewall struct {
	Service       string                 `json:"service,omitempty" yaml:"service" jsonschema:"enum=running,enum=stopped,default=running,description=The service MpsSvc."`
	ActiveProfile string                 `json:"active_profile,omitempty" yaml:"active_profile" jsonschema:"enum=Domain,enum=Private,enum=Public,default=Domain"`
	OffIn         []string               `json:"off_in,omitempty" yaml:"off_in" jsonschema:"description=Profiles in which it is off.,enum=Domain,enum=Private,enum=Public"`
	ThirdParty    string                 `json:"third_party,omitempty" yaml:"third_party" jsonschema:"description=Name of another product that has taken over."`
	NoLocalRules  bool                   `json:"no_local_rules,omitempty" yaml:"no_local_rules" jsonschema:"description=A group policy lets no local rules count."`
	Rules         []ScenarioFirewallRule `json:"rules,omitempty" yaml:"rules"`
}

// ScenarioFirewallRule is an inbound rule that is there before.
type ScenarioFirewallRule struct {
	Name          string   `json:"name" yaml:"name" jsonschema:"required,minLength=1"`
	DisplayName   string   `json:"display_name" yaml:"display_name" jsonschema:"required,minLength=1"`
	Disabled      bool     `json:"disabled,omitempty" yaml:"disabled"`
	Profiles      []string `json:"profiles,omitempty" yaml:"profiles" jsonschema:"enum=Domain,enum=Private,enum=Public,description=Default: any."`
	Block         bool     `json:"block,omitempty" yaml:"block"`
	Outbound      bool     `json:"outbound,omitempty" yaml:"outbound"`
	Protocol      string   `json:"protocol,omitempty" yaml:"protocol" jsonschema:"enum=UDP,enum=TCP,enum=Any,default=UDP"`
	LocalPort     []string `json:"local_port,omitempty" yaml:"local_port" jsonschema:"description=Default: any."`
	RemoteAddress []string `json:"remote_address,omitempty" yaml:"remote_address" jsonschema:"description=Default: any."`
	Service       string   `json:"service,omitempty" yaml:"service" jsonschema:"description=A service rule: for this service alone."`
}

const (
	anyText         = "Any"
	firewallRunning = "running"
)

// profileBits are the numbers of the profiles (objects.md).
func profileBits() map[string]int { return map[string]int{"Domain": 1, "Private": 2, "Public": 4} }

func profileSum(names []string) int {
	sum := 0
	for _, n := range names {
		sum |= profileBits()[n]
	}
	return sum
}

func buildFirewall(s *ScenarioFirewall) Firewall {
	f := Firewall{Service: firewallRunning, ActiveProfile: "Domain", Rules: []*FirewallRule{{
		Name: "WINRM-HTTP-In-TCP", DisplayName: "Windows Remote Management (HTTP-In)", Group: "@FirewallAPI.dll,-30267", Enabled: true, Profiles: 3, Direction: "Inbound", Action: "Allow",
		Protocol: "TCP", LocalPort: []string{"5985"}, RemotePort: anyOf(nil), LocalAddress: anyOf(nil), RemoteAddress: anyOf(nil), Program: "System", Service: anyText,
	}}}
	if s == nil {
		return f
	}
	if s.Service != "" {
		f.Service = s.Service
	}
	if s.ActiveProfile != "" {
		f.ActiveProfile = s.ActiveProfile
	}
	f.OffIn, f.ThirdParty, f.NoLocalRules = s.OffIn, s.ThirdParty, s.NoLocalRules
	for _, r := range s.Rules {
		rule := &FirewallRule{Name: r.Name, DisplayName: r.DisplayName, Enabled: !r.Disabled, Profiles: profileSum(r.Profiles), Direction: "Inbound", Action: "Allow", Protocol: r.Protocol,
			LocalPort: anyOf(r.LocalPort), RemotePort: anyOf(nil), LocalAddress: anyOf(nil), RemoteAddress: anyOf(r.RemoteAddress), Program: anyText, Service: r.Service}
		if rule.Protocol == "" {
			rule.Protocol = "UDP"
		}
		if rule.Service == "" {
			rule.Service = anyText
		}
		if r.Block {
			rule.Action = "Block"
		}
		if r.Outbound {
			rule.Direction = "Outbound"
		}
		f.Rules = append(f.Rules, rule)
	}
	return f
}

// anyOf is a list of ports or addresses; none is any.
func anyOf(list []string) []string {
	if len(list) == 0 {
		return []string{anyText}
	}
	return list
}

// enforcement is why a rule does not count, or Full: what the active store says of it (objects.md, EnforcementStatus).
// A product that has taken over the firewall's category from Windows leaves its rules without effect.
func (f *Firewall) enforcement(r *FirewallRule) string {
	switch {
	case !r.Enabled:
		return "DisabledObject"
	case f.ThirdParty != "":
		return "CategoryOff"
	case r.Profiles != 0 && r.Profiles&profileBits()[f.ActiveProfile] == 0:
		return "InactiveProfile"
	case slices.Contains(f.OffIn, f.ActiveProfile):
		return "FirewallOffInProfile"
	case f.NoLocalRules:
		return "LocalFirewallRulesDisallowed"
	}
	return "Full"
}

func (f *Firewall) rule(name string) *FirewallRule {
	for _, r := range f.Rules {
		if strings.EqualFold(r.Name, name) {
			return r
		}
	}
	return nil
}

// storedAddresses are addresses in the form in which they are read back; false where one is none. How subnets come back
// is not documented (Unknowns.FirewallSubnetForm).
func (l *Lab) storedAddresses(list []string) ([]string, bool) {
	out := make([]string, 0, len(list))
	for _, a := range list {
		text, ok := l.storedAddress(a)
		if !ok {
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}

func (l *Lab) storedAddress(a string) (string, bool) {
	for _, word := range []string{anyText, "LocalSubnet", "DNS", "DHCP", "WINS", "DefaultGateway", "Internet", "Intranet", "LocalSubnet4", "LocalSubnet6"} {
		if strings.EqualFold(a, word) {
			return word, true
		}
	}
	if from, to, ok := strings.Cut(a, "-"); ok {
		x, err1 := netip.ParseAddr(from)
		y, err2 := netip.ParseAddr(to)
		return x.String() + "-" + y.String(), err1 == nil && err2 == nil && x.Compare(y) <= 0
	}
	if base, mask, ok := strings.Cut(a, "/"); ok && strings.Contains(mask, ".") {
		x, err1 := netip.ParseAddr(base)
		y, err2 := netip.ParseAddr(mask)
		return x.String() + "/" + y.String(), err1 == nil && err2 == nil
	}
	if strings.Contains(a, "/") {
		p, err := netip.ParsePrefix(a)
		if err != nil {
			return "", false
		}
		if l.unknowns.FirewallSubnetForm == "mask" && p.Addr().Is4() {
			mask := uint32(0xFFFFFFFF) << (32 - p.Bits())
			return p.Addr().String() + "/" + netip.AddrFrom4([4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}).String(), true
		}
		return p.String(), true
	}
	x, err := netip.ParseAddr(a)
	return x.String(), err == nil
}
