package main

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
)

const netSecurity = "NetSecurity"

// netSecurityClasses are the CIM classes behind the nouns of the module (objects.md, and the input types that the pages
// list for each cmdlet as a whole, without saying which parameter takes which).
var netSecurityClasses = map[string]string{
	"NetFirewallRule": "MSFT_NetFirewallRule", "NetFirewallProfile": "MSFT_NetFirewallProfile", "NetFirewallPortFilter": "MSFT_NetProtocolPortFilter",
	"NetFirewallAddressFilter": "MSFT_NetAddressFilter", "NetFirewallApplicationFilter": "MSFT_NetApplicationFilter",
	"NetFirewallInterfaceFilter": "MSFT_NetInterfaceFilter", "NetFirewallInterfaceTypeFilter": "MSFT_NetInterfaceTypeFilter",
	"NetFirewallSecurityFilter": "MSFT_NetNetworkLayerSecurityFilter", "NetFirewallServiceFilter": "MSFT_NetServiceFilter",
	"NetIPsecRule": "MSFT_NetConSecRule", "NetIPsecMainModeRule": "MSFT_NetMainModeRule",
}

// netSecurityClass is the class that a cmdlet of the module is about.
func netSecurityClass(name string) string {
	_, noun, _ := strings.Cut(name, "-")
	return netSecurityClasses[noun]
}

// associatedClass is the class that an -Associated… parameter takes.
func associatedClass(parameter string) string {
	noun, ok := strings.CutPrefix(parameter, "Associated")
	if !ok {
		return ""
	}
	return netSecurityClasses[noun]
}

// numbered are enumerations of CDXML modules whose numbers the CIM class documents (objects.md, MSFT_NetFirewallRule);
// the pages give the names alone. Those of Profile add up; the number of its NotApplicable is not known, so it is left out.
var numbered = []*catalog.Enum{
	{Name: generatedTypes + netSecurity + ".Profile", Flags: true, Members: []catalog.EnumMember{
		{Name: "Any", Number: 0}, {Name: "Domain", Number: 1}, {Name: "Private", Number: 2}, {Name: "Public", Number: 4}}},
	{Name: generatedTypes + netSecurity + ".Direction", Members: []catalog.EnumMember{{Name: "Inbound", Number: 1}, {Name: "Outbound", Number: 2}}},
	{Name: generatedTypes + netSecurity + ".Action", Members: []catalog.EnumMember{{Name: "NotConfigured", Number: 0}, {Name: "Allow", Number: 2}, {Name: "Block", Number: 4}}},
	{Name: generatedTypes + netSecurity + ".Enabled", Members: []catalog.EnumMember{{Name: "True", Number: 1}, {Name: "False", Number: 2}}},
}
