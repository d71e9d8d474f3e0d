package pwsh

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/enginetest"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/native"
)

// powershell finds a PowerShell, or skips the test and says what was not tested.
func powershell(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("HYPERVSIM_POWERSHELL"); path != "" {
		return path
	}
	for _, name := range []string{"pwsh", "powershell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const what = "no PowerShell found (HYPERVSIM_POWERSHELL, pwsh): the powershell engine was not tested"
	if os.Getenv("HYPERVSIM_REQUIRE_POWERSHELL") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
	return ""
}

func newEngine(t *testing.T, model cmdlet.Model) *Engine {
	t.Helper()
	e, err := New(model, Options{PowerShell: powershell(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func script(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "powershell", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pair runs the same batches on both engines.
type pair struct {
	t              *testing.T
	pwsh, native   *enginetest.Client
	pwshModel, own *enginetest.Model
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, pwshModel: enginetest.NewModel(), own: enginetest.NewModel()}
	powershellEngine := newEngine(t, p.pwshModel)
	other, err := native.New(p.own, native.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bootstrap, runner := script(t, "bootstrap.ps1"), script(t, "runner.ps1")
	p.pwsh = enginetest.NewClient(t, powershellEngine, bootstrap, runner)
	p.native = enginetest.NewClient(t, other, bootstrap, runner)
	return p
}

// outcome is what must be the same: everything but times and words.
type outcome struct {
	Output   []any
	Errors   []string
	Warnings []string
	Skipped  bool
}

func outcomes(t *testing.T, r wire.Reply) [][]outcome {
	t.Helper()
	if r.Failure != nil {
		t.Fatalf("the batch failed: %+v", r.Failure)
	}
	var all [][]outcome
	for _, group := range r.Groups {
		var list []outcome
		for _, result := range group {
			o := outcome{Skipped: result.Skipped, Warnings: append([]string{}, result.Warnings...), Output: []any{}, Errors: []string{}}
			for _, raw := range result.Output {
				var v any
				if err := json.Unmarshal(raw, &v); err != nil {
					t.Fatal(err)
				}
				o.Output = append(o.Output, v)
			}
			for _, e := range result.Errors {
				o.Errors = append(o.Errors, fmt.Sprintf("%s | %s | %s | %s | %s | %s | session %v started %v", e.ID, e.Category, e.Reason, e.Activity, e.TargetName, e.TargetType, e.Session, e.Started))
			}
			list = append(list, o)
		}
		all = append(all, list)
	}
	return all
}

// invocations are the calls that the model got, as text.
func invocations(m *enginetest.Model, from int) []string {
	var list []string
	for _, i := range m.Calls()[from:] {
		names := make([]string, 0, len(i.Parameters))
		for name := range i.Parameters {
			names = append(names, name)
		}
		sort.Strings(names)
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s", i.Target, i.Cmdlet, i.Set)
		for _, name := range names {
			fmt.Fprintf(&b, " %s=%s", name, show(i.Parameters[name]))
		}
		list = append(list, b.String())
	}
	return list
}

func show(v any) string {
	switch v := v.(type) {
	case *cmdlet.Object:
		return fmt.Sprintf("object(%s %s %d)", v.Ref, v.Text, len(v.Properties))
	case *cmdlet.Security:
		return fmt.Sprintf("security(%s %s %s)", v.Path, v.Owner, v.SDDL)
	case []any:
		parts := make([]string, 0, len(v))
		for _, e := range v {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprintf("%T(%v)", v, v)
}

// same runs a batch on both engines and compares answers and invocations.
func (p *pair) same(groups ...[]wire.Call) {
	p.t.Helper()
	fromPwsh, fromOwn := len(p.pwshModel.Calls()), len(p.own.Calls())
	theirs, own := outcomes(p.t, p.pwsh.Batch(groups...)), outcomes(p.t, p.native.Batch(groups...))
	if d := cmp.Diff(theirs, own); d != "" {
		p.t.Errorf("answers differ (-powershell +native)\n%s", d)
	}
	if d := cmp.Diff(invocations(p.pwshModel, fromPwsh), invocations(p.own, fromOwn)); d != "" {
		p.t.Errorf("invocations differ (-powershell +native)\n%s", d)
	}
}

type parameters = map[string]any

func TestSameCalls(t *testing.T) {
	p := newPair(t)
	adapters := wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: parameters{"VMName": "v"}, Save: "a", Select: []wire.Field{{Name: "Name"}}}
	nics := wire.Call{Cmdlet: "Get-NetAdapter", Save: "n", Select: []wire.Field{{Name: "Name"}}}
	guest := &wire.Guest{VMID: wire.GUID(enginetest.VMID), Credential: wire.Credential{User: "u", Password: "p"}}
	for _, c := range []struct {
		name   string
		groups [][]wire.Call
	}{
		{"every kind of property", one(wire.Call{Cmdlet: "Get-VM"})},
		{"deeper", one(wire.Call{Cmdlet: "Get-VM", Depth: 4})},
		{"only the top", one(wire.Call{Cmdlet: "Get-VM", Depth: 1})},
		{"selected", one(wire.Call{Cmdlet: "Get-VM", Select: []wire.Field{
			{Name: "n", Path: "nested.name"}, {Name: "State"}, {Name: "Missing"}, {Name: "all", Path: "NetworkAdapters.Name"},
			{Name: "NetworkAdapters", Fields: []wire.Field{{Name: "Name"}, {Name: "IovWeight"}}}, {Name: "Uptime"}, {Name: "Text"}}})},
		{"where", one(wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: parameters{"VMName": "v"}, Where: []wire.Condition{{Property: "NAME", Equals: []string{"x", "B [X]*"}}}})},
		{"where on enum, number, GUID, null", one(wire.Call{Cmdlet: "Get-VM", Where: []wire.Condition{
			{Property: "State", Equals: []string{"running"}}, {Property: "MemoryStartup", Equals: []string{"5368709120"}}, {Property: "Id", Equals: []string{strings.ToUpper(enginetest.VMID)}},
			{Property: "Notes", Equals: []string{""}}, {Property: "NetworkAdapters.Name", Equals: []string{"b"}}, {Property: "On", Equals: []string{"True"}}}, Select: []wire.Field{{Name: "Name"}}})},
		{"unusual texts", one(wire.Call{Cmdlet: "Get-VMSwitch", Parameters: parameters{"Name": "' \" $(Get-VM) ` ; [x] * é \u2028 😀"}})},
		{"references", one(adapters,
			wire.Call{Cmdlet: "Set-VMNetworkAdapter", Parameters: parameters{"VMNetworkAdapter": wire.First("a"), "IovWeight": 100, "MacAddressSpoofing": "of"}},
			wire.Call{Cmdlet: "Set-VMNetworkAdapterVlan", Parameters: parameters{"VMNetworkAdapter": wire.Ref{Call: "a"}, "Untagged": true}},
			wire.Call{Cmdlet: "Get-VMSwitch", Parameters: parameters{"Name": wire.FirstProperty("a", "Name")}})},
		{"no object to refer to", one(wire.Call{Cmdlet: "Get-VMSwitch", Save: "s"}, wire.Call{Cmdlet: "Remove-VMSwitch", Parameters: parameters{"VMSwitch": wire.First("s")}})},
		{"piped to a compiled cmdlet", one(adapters, wire.Call{Cmdlet: "Set-VMNetworkAdapter", Input: "a", Parameters: parameters{"IovWeight": 0}}, wire.Call{Cmdlet: "Get-VMNetworkAdapterRdma", Input: "a"})},
		{"piped to a function", one(nics, wire.Call{Cmdlet: "Disable-NetAdapter", Input: "n", Parameters: parameters{"Confirm": false}})},
		{"piped by property", one(wire.Call{Cmdlet: "Get-NetAdapterRdma", Save: "r"}, wire.Call{Cmdlet: "Disable-NetAdapter", Input: "r", Parameters: parameters{"Confirm": false}}, wire.Call{Cmdlet: "Disable-NetAdapterRdma", Input: "r"})},
		{"piped to what takes no input", one(nics, wire.Call{Cmdlet: "Get-VMHost", Input: "n", OnError: wire.OnErrorContinue}, wire.Call{Cmdlet: "Start-VM", Input: "n", OnError: wire.OnErrorContinue})},
		{"piped registry key", one(wire.Call{Cmdlet: "Get-Item", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}, Save: "k"},
			wire.Call{Cmdlet: "Remove-Item", Input: "k", Parameters: parameters{"Recurse": true}}, wire.Call{Cmdlet: "Get-ItemProperty", Input: "k"}, wire.Call{Cmdlet: "Get-ChildItem", Input: "k"})},
		{"nothing to pipe", one(wire.Call{Cmdlet: "Get-VMSwitch", Save: "s"}, wire.Call{Cmdlet: "Remove-VMSwitch", Input: "s", Parameters: parameters{"Force": true}})},
		{"errors of the model", one(
			wire.Call{Cmdlet: "Get-VMSwitch", Parameters: parameters{"Name": "gone"}, OnError: wire.OnErrorContinue},
			wire.Call{Cmdlet: "Get-VMSwitch", Parameters: parameters{"Name": "stop"}, OnError: wire.OnErrorContinue, Select: []wire.Field{{Name: "Name"}}},
			wire.Call{Cmdlet: "Get-NetAdapter", Parameters: parameters{"Name": "gone"}, OnError: wire.OnErrorContinue},
			wire.Call{Cmdlet: "Get-NetAdapter", Parameters: parameters{"Name": "gone", "ErrorAction": "SilentlyContinue"}, OnError: wire.OnErrorContinue},
			wire.Call{Cmdlet: "Get-NetAdapter", Parameters: parameters{"Name": "gone", "ErrorAction": "Stop"}})},
		{"an error stops its own group only", [][]wire.Call{{{Cmdlet: "Get-VMSwitch", Parameters: parameters{"Name": "gone"}}, {Cmdlet: "Get-VM"}}, {{Cmdlet: "Get-VMSwitch"}}}},
		{"a cmdlet that the host lacks", one(wire.Call{Cmdlet: "Set-VMNetworkAdapterRdma", OnError: wire.OnErrorContinue}, wire.Call{Cmdlet: "Get-Nothing", OnError: wire.OnErrorContinue}, wire.Call{Cmdlet: "Get-VM*"})},
		{"Get-Command", one(wire.Call{Cmdlet: "Get-Command", Parameters: parameters{"Name": []string{"Get-VMSwitch", "Set-VMNetworkAdapterRdma", "Get-NetAdapter", "New-PSSession"}}, Select: []wire.Field{{Name: "Name"}, {Name: "CommandType"}}, OnError: wire.OnErrorContinue})},
		{"WhatIf and Confirm", one(wire.Call{Cmdlet: "New-VMSwitch", Parameters: parameters{"Name": "s", "SwitchType": "Internal", "WhatIf": true}}, wire.Call{Cmdlet: "New-VMSwitch", Parameters: parameters{"Name": "s", "SwitchType": "Internal", "Confirm": true}})},
		{"security descriptor", one(wire.Call{Cmdlet: "Get-Acl", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}, Save: "acl", Select: []wire.Field{{Name: "Sddl"}, {Name: "Owner"}}},
			wire.Call{Cmdlet: "Set-Acl", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`, "AclObject": wire.SecurityDescriptor{Call: "acl", SDDL: "O:SYG:SYD:P"}}},
			wire.Call{Cmdlet: "Set-Acl", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`, "AclObject": wire.First("acl")}})},
		{"registry values", one(
			wire.Call{Cmdlet: "New-Item", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`, "Force": true}},
			wire.Call{Cmdlet: "New-ItemProperty", Parameters: parameters{"LiteralPath": `HKLM:\SOFTWARE\X`, "Name": "a", "PropertyType": "DWord", "Value": 1, "Force": true}},
			wire.Call{Cmdlet: "Set-ItemProperty", Parameters: parameters{"LiteralPath": `Registry::HKEY_LOCAL_MACHINE\SOFTWARE\X`, "Name": "a", "Type": "MultiString", "Value": []string{"a", "b"}}},
			wire.Call{Cmdlet: "Get-ItemProperty", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`, "Name": "a"}},
			wire.Call{Cmdlet: "Test-Path", Parameters: parameters{"LiteralPath": `HKLM:\SOFTWARE\X`}},
			wire.Call{Cmdlet: "Remove-ItemProperty", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`, "Name": []string{"a"}}})},
		{"guest", [][]wire.Call{
			{{Cmdlet: "Get-NetAdapter", Guest: guest, Save: "g", Select: []wire.Field{{Name: "Name"}, {Name: "InterfaceIndex"}}}, {Cmdlet: "Enable-NetAdapter", Guest: guest, Input: "g"},
				{Cmdlet: "Get-VM", Guest: guest, OnError: wire.OnErrorContinue}, {Cmdlet: "Get-VM", Select: []wire.Field{{Name: "Name"}}},
				{Cmdlet: "Enable-NetAdapter", Guest: guest, Parameters: parameters{"InputObject": wire.First("g")}}, {Cmdlet: "Get-NetAdapter", Guest: guest, Parameters: parameters{"Name": "gone"}}},
			{{Cmdlet: "Enable-NetAdapter", Guest: guest, Input: "g"}, {Cmdlet: "Get-VMSwitch", Guest: &wire.Guest{VMID: wire.FirstProperty("nothing", "Id"), Credential: guest.Credential}}},
			{{Cmdlet: "Get-VM", Save: "vm", Select: []wire.Field{{Name: "Name"}}}, {Cmdlet: "Get-NetAdapter", Guest: &wire.Guest{VMID: wire.FirstProperty("vm", "Id"), Credential: guest.Credential}}}}},
		{"objects of other classes", one(adapters, nics,
			wire.Call{Cmdlet: "Rename-VMSwitch", Parameters: parameters{"VMSwitch": wire.First("a"), "NewName": "x"}, OnError: wire.OnErrorContinue},
			wire.Call{Cmdlet: "Disable-NetAdapterRdma", Parameters: parameters{"InputObject": wire.First("n")}, OnError: wire.OnErrorContinue},
			wire.Call{Cmdlet: "Disable-NetAdapter", Parameters: parameters{"InputObject": wire.First("a")}, OnError: wire.OnErrorContinue},
			wire.Call{Cmdlet: "Get-VMSwitch", Parameters: parameters{"Name": wire.First("n")}, OnError: wire.OnErrorContinue})},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := *p
			q.t = t
			q.same(c.groups...)
		})
	}
	t.Run("a broken session is replaced", func(t *testing.T) {
		q := *p
		q.t = t
		p.pwshModel.BreakSessions()
		p.own.BreakSessions()
		q.same([]wire.Call{{Cmdlet: "Get-NetAdapter", Guest: guest, Select: []wire.Field{{Name: "Name"}}}})
	})
}

func one(calls ...wire.Call) [][]wire.Call { return [][]wire.Call{calls} }
