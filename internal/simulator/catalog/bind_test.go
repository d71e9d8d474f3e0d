package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const hv = "Microsoft.HyperV.PowerShell."

func vmObject() *cmdlet.Object {
	return &cmdlet.Object{Types: []string{hv + "VirtualMachine"}, Ref: "vm:1", Text: "VirtualMachine (Name = 'v')", Properties: []cmdlet.Property{{Name: "Name", Value: "v"}}}
}

func adapter() *cmdlet.Object {
	return &cmdlet.Object{Types: []string{hv + "VMNetworkAdapter"}, Ref: "vnic:1", Text: "VMNetworkAdapter (Name = 'a')"}
}

func instance(class string) *cmdlet.Object {
	return &cmdlet.Object{Types: []string{"Microsoft.Management.Infrastructure.CimInstance#ROOT/StandardCimv2/" + class}, Ref: class, Properties: []cmdlet.Property{
		{Name: "Name", Value: "n"}, {Name: "InterfaceDescription", Value: "d"},
	}}
}

type args = map[string]any

func TestBind(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	onOff := func(name string, number int64) cmdlet.Enum {
		return cmdlet.Enum{Type: hv + "OnOffState", Name: name, Number: number}
	}
	a, v := adapter(), vmObject()
	for _, x := range []struct {
		name, cmdlet string
		args         args
		piped        *cmdlet.Object
		set          string
		bound        args
		err          string // id up to the first comma
	}{
		{name: "nothing", cmdlet: "Get-VMSwitch", set: "Name", bound: args{}},
		{name: "names ignore case", cmdlet: "Get-VMSwitch", args: args{"NAME": "s"}, set: "Name", bound: args{"Name": "s"}},
		{name: "alias", cmdlet: "New-VMSwitch", args: args{"SwitchName": "s", "InterfaceAlias": "n"}, set: "NetAdapterName", bound: args{"Name": "s", "NetAdapterName": []any{"n"}}},
		{name: "beginning of a name", cmdlet: "New-VMSwitch", args: args{"Na": "s", "SwitchT": "Internal"}, set: "SwitchType",
			bound: args{"Name": "s", "SwitchType": cmdlet.Enum{Type: hv + "VMSwitchType", Name: "Internal", Number: 1}}},
		{name: "beginning of two names", cmdlet: "New-VMSwitch", args: args{"NetAdapter": "s"}, err: "AmbiguousParameter"},
		{name: "unknown name", cmdlet: "Set-VMSwitch", args: args{"Name": "s", "EnableIov": true}, err: "NamedParameterNotFound"},
		{name: "one parameter twice", cmdlet: "Get-VMSwitch", args: args{"Name": "s", "SwitchName": "s"}, err: "ParameterAlreadyBound"},
		{name: "parameters of two sets", cmdlet: "New-VMSwitch", args: args{"Name": "s", "NetAdapterName": "n", "SwitchType": "Internal"}, err: "AmbiguousParameterSet"},
		{name: "mandatory one missing", cmdlet: "Rename-VMSwitch", args: args{"Name": "s"}, err: "MissingMandatoryParameter"},
		{name: "array for one text", cmdlet: "Set-VMSwitch", args: args{"Name": "s", "NetAdapterName": []any{"a", "b"}}, err: "CannotConvertArgument"},
		{name: "array for one text, function", cmdlet: "New-NetFirewallRule", args: args{"DisplayName": []any{"a"}}, err: "ParameterArgumentTransformationError"},
		{name: "text for a Boolean", cmdlet: "New-VMSwitch", args: args{"Name": "s", "NetAdapterName": "n", "EnableIov": "true"}, err: "CannotConvertArgument"},
		{name: "number for a Boolean", cmdlet: "New-VMSwitch", args: args{"Name": "s", "NetAdapterName": "n", "EnableIov": json.Number("1")}, set: "NetAdapterName",
			bound: args{"Name": "s", "NetAdapterName": []any{"n"}, "EnableIov": true}},
		{name: "ValidateSet", cmdlet: "New-VMSwitch", args: args{"Name": "s", "SwitchType": "External"}, err: "ParameterArgumentValidationError"},
		{name: "empty text", cmdlet: "New-VMSwitch", args: args{"Name": "", "SwitchType": "Internal"}, err: "ParameterArgumentValidationError"},
		{name: "null", cmdlet: "New-VMSwitch", args: args{"Name": nil, "SwitchType": "Internal"}, err: "ParameterArgumentValidationError"},
		{name: "numeric text, enumeration by number and beginning", cmdlet: "Set-VMNetworkAdapter",
			args: args{"VMName": "v", "IovWeight": "0x64", "MacAddressSpoofing": json.Number("1"), "DhcpGuard": "of"}, set: "VMName",
			bound: args{"VMName": "v", "IovWeight": int64(100), "MacAddressSpoofing": onOff("Off", 1), "DhcpGuard": onOff("Off", 1)}},
		{name: "no number", cmdlet: "Set-VMNetworkAdapter", args: args{"VMName": "v", "IovWeight": "abc"}, err: "CannotConvertArgumentNoMessage"},
		{name: "negative number", cmdlet: "Set-VMNetworkAdapter", args: args{"VMName": "v", "IovWeight": json.Number("-1")}, err: "CannotConvertArgumentNoMessage"},
		{name: "unknown member", cmdlet: "Set-VMNetworkAdapter", args: args{"VMName": "v", "DhcpGuard": "Maybe"}, err: "CannotConvertArgumentNoMessage"},
		{name: "enumeration, function", cmdlet: "Set-NetOffloadGlobalSetting", args: args{"NetworkDirectAcrossIPSubnets": "Allow"}, set: AllSets,
			bound: args{"NetworkDirectAcrossIPSubnets": cmdlet.Enum{Type: "Microsoft.PowerShell.Cmdletization.GeneratedTypes.NetTCPIP.AllowedBlockedEnum", Name: "Allowed", Number: 1}}},
		{name: "object", cmdlet: "Set-VMNetworkAdapter", args: args{"VMNetworkAdapter": a, "IovWeight": int64(1)}, set: "ResourceObject", bound: args{"VMNetworkAdapter": a, "IovWeight": int64(1)}},
		{name: "text for an object", cmdlet: "Set-VMNetworkAdapter", args: args{"VMNetworkAdapter": "a"}, err: "CannotConvertArgumentNoMessage"},
		{name: "table for an object", cmdlet: "Set-VMNetworkAdapter", args: args{"VMNetworkAdapter": args{"Name": "a"}}, err: "CannotConvertArgumentNoMessage"},
		{name: "object of another class", cmdlet: "Set-VMNetworkAdapter", args: args{"VMNetworkAdapter": v}, err: "CannotConvertArgumentNoMessage"},
		{name: "object for a text", cmdlet: "Get-VMSwitch", args: args{"Name": a}, set: "Name", bound: args{"Name": "VMNetworkAdapter (Name = 'a')"}},
		{name: "CIM instance of another class", cmdlet: "Disable-NetAdapter", args: args{"InputObject": instance("MSFT_NetAdapterRdmaSettingData")}, err: "MismatchedPSTypeName"},
		{name: "text for a CIM instance", cmdlet: "Disable-NetAdapter", args: args{"InputObject": "n"}, err: "ParameterArgumentTransformationError"},
		{name: "GUID in braces", cmdlet: "Get-VM", args: args{"Id": "{6B5E4F9C-0D3A-4A58-9A4C-0A1B2C3D4E5F}"}, set: "Id", bound: args{"Id": cmdlet.GUID("6b5e4f9c-0d3a-4a58-9a4c-0a1b2c3d4e5f")}},
		{name: "WhatIf and Confirm are no parameters of the call", cmdlet: "Start-VM", args: args{"Name": "v", "WhatIf": true, "Confirm": false, "ErrorAction": "Stop"}, set: "Name", bound: args{"Name": []any{"v"}}},
		{name: "Confirm where nothing is confirmed", cmdlet: "Get-VM", args: args{"Confirm": false}, err: "NamedParameterNotFound"},
		{name: "piped by value", cmdlet: "Set-VMNetworkAdapter", args: args{"IovWeight": int64(0)}, piped: a, set: "ResourceObject", bound: args{"VMNetworkAdapter": a, "IovWeight": int64(0)}},
		{name: "piped by property name", cmdlet: "Disable-NetAdapter", piped: instance("MSFT_NetAdapterRdmaSettingData"), set: "ByInstanceID", bound: args{"InterfaceDescription": []any{"d"}}},
		{name: "piped to what takes no input", cmdlet: "Set-NetQosDcbxSetting", args: args{"Willing": true}, piped: a, err: "InputObjectNotBound"},
		{name: "unusual characters", cmdlet: "Get-VMSwitch", args: args{"Name": "' \" $(x) ` ; [x] * é"}, set: "Name", bound: args{"Name": "' \" $(x) ` ; [x] * é"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			set, bound, err := c.Cmdlet(x.cmdlet).Bind(x.args, x.piped)
			if err != nil || x.err != "" {
				if err == nil {
					t.Fatalf("bound %v, want %s", bound, x.err)
				}
				if id, tail, _ := strings.Cut(err.ID, ","); id != x.err || tail != c.Cmdlet(x.cmdlet).Tail() {
					t.Errorf("error %s: %s, want %s", err.ID, err.Message, x.err)
				}
				return
			}
			if set != x.set {
				t.Errorf("set %s, want %s", set, x.set)
			}
			if d := cmp.Diff(x.bound, bound); d != "" {
				t.Errorf("bound (-want +got)\n%s", d)
			}
		})
	}
}

func TestTails(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, tail := range map[string]string{
		"Get-VMSwitch": hv + "Commands.GetVMSwitch", "Remove-VMSwitch": hv + "Commands.RemoveVMSwitchCommand", "Get-NetAdapter": "Get-NetAdapter",
		"Get-ItemProperty": "Microsoft.PowerShell.Commands.GetItemPropertyCommand", "Add-WindowsDriver": "Microsoft.Dism.Commands.AddWindowsDriverCommand",
		"Get-CimInstance":  "Microsoft.Management.Infrastructure.CimCmdlets.GetCimInstanceCommand",
		"New-NetQosPolicy": "New-NetQosPolicy", "New-PSSession": "Microsoft.PowerShell.Commands.NewPSSessionCommand",
	} {
		if got := c.Cmdlet(strings.ToLower(name)).Tail(); got != tail {
			t.Errorf("%s: %s, want %s", name, got, tail)
		}
	}
	if c.Cmdlet("Get-Nothing") != nil {
		t.Error("a cmdlet that does not exist was found")
	}
}

// TestData checks what the binder relies on.
func TestData(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Cmdlets) < 250 {
		t.Errorf("only %d cmdlets", len(c.Cmdlets))
	}
	for _, x := range c.Cmdlets {
		if len(x.Sets) == 0 || len(x.Sets) > 63 {
			t.Errorf("%s has %d sets", x.Name, len(x.Sets))
		}
		names := map[string]string{}
		for _, p := range x.Parameters {
			for _, name := range append([]string{p.Name}, p.Aliases...) {
				if before, ok := names[strings.ToLower(name)]; ok {
					t.Errorf("%s: %s and %s share the name %s", x.Name, before, p.Name, name)
				}
				names[strings.ToLower(name)] = p.Name
			}
			if len(p.Sets) == 0 {
				t.Errorf("%s -%s is in no set", x.Name, p.Name)
			}
		}
	}
}
