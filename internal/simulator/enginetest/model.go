// Package enginetest helps to test engines: a small model that remembers what it was asked, and a
// client of the runner's line protocol.
package enginetest

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Model answers a few cmdlets and remembers what it was asked.
type Model struct {
	mu    sync.Mutex
	calls []cmdlet.Invocation
	open  map[string]bool // guest sessions
	count int
}

// NewModel makes a model without sessions.
func NewModel() *Model { return &Model{open: map[string]bool{}} }

// Calls are the invocations so far.
func (m *Model) Calls() []cmdlet.Invocation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]cmdlet.Invocation{}, m.calls...)
}

// Count is how often a cmdlet was invoked.
func (m *Model) Count(name string) int {
	n := 0
	for _, i := range m.Calls() {
		if i.Cmdlet == name {
			n++
		}
	}
	return n
}

// BreakSessions does what the restart of a VM does to its sessions.
func (m *Model) BreakSessions() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.open)
}

// VMID is the id of the only virtual machine.
const VMID = "6b5e4f9c-0d3a-4a58-9a4c-0a1b2c3d4e5f"

// Now is the clock.
func (m *Model) Now() time.Time { return time.Unix(1e9, 0) }

// Available says that the host has everything but Set-VMNetworkAdapterRdma, and the guest the NetAdapter module.
func (m *Model) Available(_, target, name string) bool {
	if strings.HasPrefix(target, "guest:") {
		return strings.Contains(name, "-NetAdapter") || name == "Get-ItemProperty"
	}
	return name != "Set-VMNetworkAdapterRdma"
}

// SessionOpen lets the engines see a broken session before they run anything.
func (m *Model) SessionOpen(_, _, session string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open[session]
}

// Invoke answers by cmdlet; what it does not know gives nothing.
func (m *Model) Invoke(i cmdlet.Invocation) cmdlet.Output {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, i)
	if strings.HasPrefix(i.Target, "guest:") && !m.open[i.Session] {
		return cmdlet.Output{Errors: []*cmdlet.Error{{
			ID: "PSSessionStateBroken", Category: "OpenError", Exception: "System.Management.Automation.Remoting.PSRemotingTransportException", Message: "broken", Terminating: true,
		}}}
	}
	switch i.Cmdlet {
	case "Get-VM":
		return objects(VM())
	case "Get-VMNetworkAdapter":
		return objects(Adapter("a"), Adapter("b [x]*"))
	case "Get-VMSwitch":
		return m.switches(i)
	case "New-PSSession":
		m.count++
		id := "00000000-0000-0000-0000-00000000000" + strconv.Itoa(m.count)
		m.open[id] = true
		return objects(&cmdlet.Object{Types: []string{"System.Management.Automation.Runspaces.PSSession"}, Properties: []cmdlet.Property{
			{Name: "Target", Value: "guest:" + VMID}, {Name: "InstanceId", Value: cmdlet.GUID(id)}, {Name: "VMName", Value: "v"}, {Name: "State", Value: "Opened"},
		}})
	case "Get-NetAdapter":
		if names, _ := i.Parameters["Name"].([]any); len(names) == 1 && names[0] == "gone" {
			return cmdlet.Output{Errors: []*cmdlet.Error{{
				ID: "CmdletizationQuery_NotFound_Name,Get-NetAdapter", Category: "ObjectNotFound", Target: "gone", TargetType: "String",
				Exception: "Microsoft.PowerShell.Cmdletization.Cim.CimJobException", Message: "No MSFT_NetAdapter objects found with property 'Name' equal to 'gone'.  Verify the value of the property and retry.",
			}}}
		}
		return objects(cim("MSFT_NetAdapter", i.Target), cim("MSFT_NetAdapter", `'"$(x);`+"`é"))
	case "Get-NetAdapterRdma":
		return objects(cim("MSFT_NetAdapterRdmaSettingData", "rdma"))
	case "Get-Acl":
		return objects(&cmdlet.Object{Types: []string{"System.Security.AccessControl.RegistrySecurity"}, Properties: []cmdlet.Property{
			{Name: "Path", Value: `HKLM:\SOFTWARE\X`}, {Name: "Owner", Value: "BUILTIN\\Administrators"}, {Name: "Sddl", Value: "O:BAG:SYD:"},
		}})
	case "Get-ItemProperty":
		return objects(&cmdlet.Object{Properties: []cmdlet.Property{
			{Name: "Value", Value: int64(7)}, {Name: "Binary", Value: []byte{1, 2, 3}}, {Name: "Multi", Value: []any{"x"}},
			{Name: "PSPath", Value: `Microsoft.PowerShell.Core\Registry::HKEY_LOCAL_MACHINE\SOFTWARE\X`},
		}})
	case "Test-Path":
		return objects(&cmdlet.Object{Types: []string{"System.Boolean", "System.Object"}, Text: "True", Properties: []cmdlet.Property{{Value: true}}})
	case "Get-Item", "Get-ChildItem":
		return objects(&cmdlet.Object{Types: []string{"Microsoft.Win32.RegistryKey"}, Ref: "key:X", Text: `HKEY_LOCAL_MACHINE\SOFTWARE\X`, Properties: []cmdlet.Property{
			{Name: "Name", Value: `HKEY_LOCAL_MACHINE\SOFTWARE\X`}, {Name: "PSChildName", Value: "X"}, {Name: "Property", Value: []any{"a", "b"}},
			{Name: "PSPath", Value: `Microsoft.PowerShell.Core\Registry::HKEY_LOCAL_MACHINE\SOFTWARE\X`},
		}})
	}
	return cmdlet.Output{}
}

func (m *Model) switches(i cmdlet.Invocation) cmdlet.Output {
	switch i.Parameters["Name"] {
	case "gone":
		return cmdlet.Output{Errors: []*cmdlet.Error{{
			ID: "InvalidParameter,Microsoft.HyperV.PowerShell.Commands.GetVMSwitch", Category: "InvalidArgument", Target: "gone", TargetType: "String",
			Exception: "Microsoft.HyperV.PowerShell.VirtualizationException", Message: `Hyper-V was unable to find a virtual switch with name "gone".`,
		}}}
	case "stop":
		return cmdlet.Output{Objects: []*cmdlet.Object{VM()}, Errors: []*cmdlet.Error{{
			ID: "AccessDenied,Microsoft.HyperV.PowerShell.Commands.GetVMSwitch", Category: "PermissionDenied", Terminating: true,
			Exception: "Microsoft.HyperV.PowerShell.VirtualizationException", Message: "You do not have the required permission to complete this task.", HResult: "0x80070005",
		}}}
	}
	return cmdlet.Output{Warnings: []string{"careful"}}
}

// VM is an object with a property of every kind.
func VM() *cmdlet.Object {
	return &cmdlet.Object{Types: []string{"Microsoft.HyperV.PowerShell.VirtualMachine"}, Ref: "vm:1", Text: "VirtualMachine (Name = 'v')", Properties: []cmdlet.Property{
		{Name: "Name", Value: "v"}, {Name: "Id", Value: cmdlet.GUID(VMID)}, {Name: "VMName", Value: "v"},
		{Name: "State", Value: cmdlet.Enum{Type: "Microsoft.HyperV.PowerShell.VMState", Name: "Running", Number: 2}},
		{Name: "Foreign", Value: cmdlet.Enum{Type: "Some.Where.Else", Name: "Up", Number: 1}},
		{Name: "CreationTime", Value: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)}, {Name: "Notes", Value: nil}, {Name: "Empty", Value: ""},
		{Name: "MemoryStartup", Value: cmdlet.Typed{Type: "System.Int64", Value: int64(5 << 30)}}, {Name: "Big", Value: uint64(1<<64 - 1)},
		{Name: "Uptime", Value: cmdlet.Typed{Type: "System.TimeSpan", Value: 90 * time.Second}}, {Name: "Ratio", Value: 0.25}, {Name: "Whole", Value: 5.0},
		{Name: "On", Value: true}, {Name: "OperationalStatus", Value: []any{cmdlet.Enum{Type: "Microsoft.HyperV.PowerShell.VMOperationalStatus", Name: "Ok", Number: 2}}},
		{Name: "None", Value: []any{}}, {Name: "NetworkAdapters", Value: []any{Adapter("a"), Adapter("b")}},
		{Name: "Nested", Value: &cmdlet.Object{Properties: []cmdlet.Property{{Name: "Name", Value: "n"}, {Name: "Deep", Value: Adapter("c")}}}},
		{Name: "Text", Value: "' \" $(x) ` ; [x] * é \u2028 \u0001 😀"},
	}}
}

// Adapter is a VM network adapter.
func Adapter(name string) *cmdlet.Object {
	return &cmdlet.Object{
		Types: []string{"Microsoft.HyperV.PowerShell.VMNetworkAdapter"}, Ref: "vnic:" + name, Text: "VMNetworkAdapter (Name = '" + name + "')",
		Properties: []cmdlet.Property{{Name: "Name", Value: name}, {Name: "VMName", Value: "v"}, {Name: "IovWeight", Value: cmdlet.Typed{Type: "System.UInt32", Value: int64(0)}}},
	}
}

func cim(class, name string) *cmdlet.Object {
	return &cmdlet.Object{Types: []string{"Microsoft.Management.Infrastructure.CimInstance#ROOT/StandardCimv2/" + class}, Ref: class + ":" + name, Properties: []cmdlet.Property{
		{Name: "Name", Value: name}, {Name: "InterfaceDescription", Value: "d " + name}, {Name: "InterfaceIndex", Value: cmdlet.Typed{Type: "System.UInt32", Value: int64(7)}}, {Name: "Ids", Value: []any{"one"}},
	}}
}

func objects(o ...*cmdlet.Object) cmdlet.Output { return cmdlet.Output{Objects: o} }
