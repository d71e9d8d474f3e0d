package lab

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const testKey = `HKLM:\SOFTWARE\Lab`

func registryBench(t *testing.T) *bench {
	b := newBench(t, "intel-x722", nil)
	b.run("New-Item", params{"Path": list(testKey)})
	b.run("New-ItemProperty", params{"Path": list(testKey), "Name": "One", "Value": int64(1), "PropertyType": "DWord"})
	b.run("New-ItemProperty", params{"Path": list(testKey), "Name": "a[1]*", "Value": "x"})
	return b
}

func TestErrors7Registry(t *testing.T) {
	for _, tt := range []struct {
		name, cmdlet string
		p            params
		id, category string
	}{
		{"key missing", "Get-ItemProperty", params{"Path": list(`HKLM:\SOFTWARE\Gone`)}, "PathNotFound,Microsoft.PowerShell.Commands.GetItemPropertyCommand", "ObjectNotFound"},
		{"key pattern without a match", "Get-ItemProperty", params{"Path": list(`HKLM:\SOFTWARE\Gone*`)}, "", ""},
		{"value missing", "Get-ItemProperty", params{"Path": list(testKey), "Name": list("Two")}, "System.Management.Automation.PSArgumentException,Microsoft.PowerShell.Commands.GetItemPropertyCommand", "InvalidArgument"},
		{"value pattern without a match", "Get-ItemProperty", params{"Path": list(testKey), "Name": list("Two*")}, "", ""},
		{"remove a missing value", "Remove-ItemProperty", params{"Path": list(testKey), "Name": list("Two")}, "System.Management.Automation.PSArgumentException,Microsoft.PowerShell.Commands.RemoveItemPropertyCommand", "InvalidArgument"},
		{"value exists", "New-ItemProperty", params{"Path": list(testKey), "Name": "one", "Value": int64(2)}, "System.IO.IOException,Microsoft.PowerShell.Commands.NewItemPropertyCommand", "ResourceExists"},
		{"value exists, forced", "New-ItemProperty", params{"Path": list(testKey), "Name": "one", "Value": int64(2), "Force": true}, "", ""},
		{"set in a missing key", "Set-ItemProperty", params{"Path": list(`HKLM:\SOFTWARE\Gone`), "Name": "x", "Value": "y"}, "PathNotFound,Microsoft.PowerShell.Commands.SetItemPropertyCommand", "ObjectNotFound"},
		{"text as DWORD", "Set-ItemProperty", params{"Path": list(testKey), "Name": "x", "Value": "y", "Type": cmdlet.Enum{Name: "DWord"}}, "System.ArgumentException,Microsoft.PowerShell.Commands.SetItemPropertyCommand", "InvalidArgument"},
		{"key exists", "New-Item", params{"Path": list(testKey)}, "System.IO.IOException,Microsoft.PowerShell.Commands.NewItemCommand", "ResourceExists"},
		{"parent missing", "New-Item", params{"Path": list(`HKLM:\SOFTWARE\A\B`)}, "System.ArgumentException,Microsoft.PowerShell.Commands.NewItemCommand", "InvalidArgument"},
		{"parent missing, forced", "New-Item", params{"Path": list(`HKLM:\SOFTWARE\A\B`), "Force": true}, "", ""},
		{"remove a key with children", "Remove-Item", params{"Path": list(`HKLM:\SOFTWARE`)}, "InvalidOperation,Microsoft.PowerShell.Commands.RemoveItemCommand", "InvalidOperation"},
		{"another drive", "Get-Item", params{"Path": list(`HKCU:\X`)}, "DriveNotFound,Microsoft.PowerShell.Commands.GetItemCommand", "ObjectNotFound"},
		{"long form", "Get-Item", params{"LiteralPath": list(`Registry::HKEY_LOCAL_MACHINE\software\lab`)}, "", ""},
		{"PSPath form", "Get-Item", params{"LiteralPath": list(`Microsoft.PowerShell.Core\Registry::HKEY_LOCAL_MACHINE\SOFTWARE\Lab`)}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := registryBench(t).on("host", tt.cmdlet, tt.p)
			id, category := "", ""
			if len(out.Errors) > 0 {
				id, category = out.Errors[0].ID, out.Errors[0].Category
			}
			if id != tt.id || category != tt.category {
				t.Errorf("got %q %q, want %q %q", id, category, tt.id, tt.category)
			}
		})
	}
}

func TestRegistryValueKinds(t *testing.T) {
	for _, tt := range []struct {
		name       string
		value      any
		kind       string
		wantKind   string
		wantData   string
		wantDotnet string
	}{
		{"number", int64(7), "", "DWord", "7", "System.Int32"},
		{"big number", int64(1) << 40, "", "QWord", "1099511627776", "System.Int64"},
		{"unsigned", int64(4294967295), "DWord", "DWord", "4294967295", "System.UInt32"},
		{"minus one as DWORD", int64(-1), "DWord", "DWord", "4294967295", "System.UInt32"},
		{"number as text", int64(7), "String", "String", "7", ""},
		{"text as number", "12", "DWord", "DWord", "12", "System.Int32"},
		{"texts", list("a", "b"), "", "MultiString", "a\nb", ""},
		{"bytes", []any{int64(1), int64(255)}, "Binary", "Binary", "01ff", ""},
		{"quotes", `'"$(x);` + "`", "", "String", `'"$(x);` + "`", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := registryBench(t)
			p := params{"LiteralPath": list(testKey), "Name": "v", "Value": tt.value}
			if tt.kind != "" {
				p["Type"] = cmdlet.Enum{Name: tt.kind}
			}
			b.run("Set-ItemProperty", p)
			v := findValue(b.state.Hosts[0].Registry, `SOFTWARE\Lab`, "v")
			if v.Kind != tt.wantKind || v.Data != tt.wantData {
				t.Errorf("stored %s %q", v.Kind, v.Data)
			}
			read, _ := b.run("Get-ItemProperty", params{"LiteralPath": list(testKey), "Name": list("v")})[0].Get("v")
			if typed, ok := read.(cmdlet.Typed); tt.wantDotnet != "" && (!ok || typed.Type != tt.wantDotnet) {
				t.Errorf("read %#v, want %s", read, tt.wantDotnet)
			}
		})
	}
	t.Run("an existing value keeps its kind", func(t *testing.T) {
		b := registryBench(t)
		b.run("Set-ItemProperty", params{"Path": list(testKey), "Name": "One", "Value": "5"})
		if v := findValue(b.state.Hosts[0].Registry, `SOFTWARE\Lab`, "one"); v.Kind != "DWord" || v.Data != "5" {
			t.Errorf("stored %s %s", v.Kind, v.Data)
		}
	})
}

func TestRegistryItems(t *testing.T) {
	b := registryBench(t)
	b.run("New-Item", params{"Path": list(testKey + `\Sub\Deep`), "Force": true})
	o := b.run("Get-Item", params{"LiteralPath": list(testKey)})[0]
	for name, want := range map[string]string{
		"Property": "a[1]* One", "ValueCount": "2", "SubKeyCount": "1", "PSChildName": "Lab",
		"PSPath": `Microsoft.PowerShell.Core\Registry::HKEY_LOCAL_MACHINE\SOFTWARE\Lab`,
	} {
		if got := get(o, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := names(b.run("Get-ChildItem", params{"Path": list(testKey), "Recurse": true}), "PSChildName"); got != "Sub, Deep" {
		t.Errorf("children %s", got)
	}
	b.run("New-Item", params{"Path": list(testKey), "Force": true})
	o = b.run("Get-Item", params{"LiteralPath": list(testKey)})[0]
	if get(o, "ValueCount") != "0" || get(o, "SubKeyCount") != "0" {
		t.Error("New-Item -Force does not empty a key that exists")
	}
	b.run("Remove-Item", params{"LiteralPath": list(get(o, "PSPath"))})
	for path, want := range map[string]string{testKey: "False", `HKLM:\SOFTWARE`: "True", `HKLM:\SOFT*`: "True", `C:\x`: "False"} {
		if got := b.run("Test-Path", params{"Path": list(path)})[0].Text; got != want {
			t.Errorf("Test-Path %s: %s", path, got)
		}
	}
}

func TestRemoveItemPropertyTakesPatterns(t *testing.T) {
	for _, tt := range []struct{ name, pattern, left string }{
		{"a name in brackets is a pattern", "a[1]`*", "a[1]* One"},
		{"escaped it is exact", "a`[1`]`*", "One"},
		{"everything", "*", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := registryBench(t)
			b.run("Remove-ItemProperty", params{"LiteralPath": list(testKey), "Name": list(tt.pattern)})
			if got := get(b.run("Get-Item", params{"LiteralPath": list(testKey)})[0], "Property"); got != tt.left {
				t.Errorf("left %q, want %q", got, tt.left)
			}
		})
	}
}

func TestRegistrySecurity(t *testing.T) {
	b := registryBench(t)
	acl := b.run("Get-Acl", params{"Path": list(testKey)})[0]
	if get(acl, "Owner") != `BUILTIN\Administrators` || !strings.Contains(get(acl, "Sddl"), "AI(") {
		t.Errorf("inherited: %s %s", get(acl, "Owner"), get(acl, "Sddl"))
	}
	b.run("Set-Acl", params{"Path": list(testKey), "AclObject": &cmdlet.Security{SDDL: "O:SYG:SYD:P(A;CI;KA;;;SY)(A;CI;KA;;;BA)"}})
	b.run("New-Item", params{"Path": list(testKey + `\Sub`)})
	for _, tt := range []struct{ path, owner, sddl string }{
		{testKey, `NT AUTHORITY\SYSTEM`, "O:SYG:SYD:PAI(A;CI;KA;;;SY)(A;CI;KA;;;BA)"},
		{testKey + `\Sub`, `BUILTIN\Administrators`, "O:BAG:SYD:AI(A;CIID;KA;;;SY)(A;CIID;KA;;;BA)"},
	} {
		acl := b.run("Get-Acl", params{"LiteralPath": list(tt.path)})[0]
		if get(acl, "Owner") != tt.owner || get(acl, "Sddl") != tt.sddl {
			t.Errorf("%s: %s %s", tt.path, get(acl, "Owner"), get(acl, "Sddl"))
		}
	}
	if e := b.fails("Set-Acl", params{"Path": list(testKey), "AclObject": &cmdlet.Security{SDDL: "nonsense"}}); e.Category != "InvalidArgument" {
		t.Errorf("nonsense: %+v", e)
	}
}

func TestRegistryOfAGuestIsItsOwn(t *testing.T) {
	b := registryBench(t)
	out := b.on("guest:vm1", "Get-Item", params{"Path": list(testKey)})
	if len(out.Errors) != 1 {
		t.Error("a guest sees the host's key")
	}
	version := b.must("guest:vm1", "Get-ItemProperty", params{"Path": list(`HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion`), "Name": list("CurrentBuild")})
	if get(version[0], "CurrentBuild") != "17763" {
		t.Errorf("build %s", get(version[0], "CurrentBuild"))
	}
}
