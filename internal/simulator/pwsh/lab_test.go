package pwsh

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/enginetest"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/native"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

// onHost gives every process to the lab's first host, whatever the client says.
type onHost struct {
	process.Starter
	host string
}

func (o onHost) Start(_, commandLine string, env []string) (process.Process, error) {
	return o.Starter.Start(o.host, commandLine, env)
}

// moving are values that differ from one lab to the next by the time that has passed.
var moving = regexp.MustCompile(`(?i)time|uptime|date|bytes|packets|seconds|RunspaceId|InstanceId`)

func still(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = still(v[i])
		}
	case map[string]any:
		for name, e := range v {
			if moving.MatchString(name) {
				v[name] = "…"
			} else {
				v[name] = still(e)
			}
		}
	}
	return v
}

// TestSameLab reads everything that a lab shows through both engines, on a host and in a guest.
func TestSameLab(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, preset := range lab.Presets() {
		t.Run(preset, func(t *testing.T) {
			clients := map[string]*enginetest.Client{}
			var first *lab.Lab
			for _, engine := range []string{"powershell", "native"} {
				scenario, err := lab.LoadScenario(preset)
				if err != nil {
					t.Fatal(err)
				}
				scenario.Hosts[0].Files = someFiles()
				l, err := lab.New(scenario)
				if err != nil {
					t.Fatal(err)
				}
				first = l
				var starter process.Starter
				if engine == "native" {
					if starter, err = native.New(l, native.Options{}); err != nil {
						t.Fatal(err)
					}
				} else {
					starter = newEngine(t, l)
				}
				clients[engine] = enginetest.NewClient(t, onHost{starter, l.HostNames()[0]}, script(t, "bootstrap.ps1"), script(t, "runner.ps1"))
			}
			var groups [][]wire.Call
			vm, login := guestOf(t, first)
			guest := &wire.Guest{VMID: vm, Credential: login}
			for _, x := range c.Cmdlets {
				if !strings.HasPrefix(x.Name, "Get-") || !generated(x) || x.Name == "Get-PSSession" { // the sessions of a process are its own
					continue
				}
				if first.Available(first.HostNames()[0], "host", x.Name) {
					groups = append(groups, []wire.Call{{Cmdlet: x.Name, Depth: 3}})
				}
				groups = append(groups, []wire.Call{{Cmdlet: x.Name, Depth: 3, Guest: guest}})
			}
			groups = append(groups,
				[]wire.Call{{Cmdlet: "Get-VMNetworkAdapter", Parameters: parameters{"VMName": "*"}, Depth: 4, Save: "a"}, {Cmdlet: "Get-VMNetworkAdapterRdma", Input: "a", Depth: 3}, {Cmdlet: "Get-VMNetworkAdapterVlan", Input: "a"}},
				[]wire.Call{{Cmdlet: "Get-VM", Save: "v", Select: []wire.Field{{Name: "Name"}}}, {Cmdlet: "Get-VMNetworkAdapter", Input: "v"}, {Cmdlet: "Stop-VM", Input: "v", Parameters: parameters{"TurnOff": true}}, {Cmdlet: "Get-VM", Depth: 3}},
				[]wire.Call{{Cmdlet: "Get-NetAdapterAdvancedProperty", Parameters: parameters{"Name": "*", "AllProperties": true}}},
				[]wire.Call{{Cmdlet: "Install-WindowsFeature", Parameters: parameters{"Name": []string{"Data-Center-Bridging"}}, Depth: 2},
					{Cmdlet: "New-NetQosTrafficClass", Parameters: parameters{"Name": "[x]", "Priority": []int{3, 4}, "Algorithm": "ETS", "BandwidthPercentage": 30}, Depth: 2},
					{Cmdlet: "New-NetQosPolicy", Parameters: parameters{"Name": "[x]", "NetDirectPortMatchCondition": 445, "PriorityValue8021Action": 3}, Depth: 2},
					{Cmdlet: "Enable-NetQosFlowControl", Parameters: parameters{"Priority": []int{3}}}, {Cmdlet: "Set-NetQosDcbxSetting", Parameters: parameters{"Willing": false}},
					{Cmdlet: "Get-NetQosTrafficClass", Depth: 2, Save: "classes", Where: []wire.Condition{{Property: "Name", Equals: []string{"[X]"}}}}, {Cmdlet: "Get-NetQosFlowControl"},
					{Cmdlet: "Get-NetQosPolicy", Depth: 2}, {Cmdlet: "Get-NetQosDcbxSetting"}, {Cmdlet: "Get-NetAdapterQos", Depth: 3},
					{Cmdlet: "Remove-NetQosTrafficClass", Parameters: parameters{"InputObject": wire.Ref{Call: "classes"}, "Confirm": false}}, {Cmdlet: "Get-NetQosTrafficClass"}},
				[]wire.Call{{Cmdlet: "New-Item", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}}, {Cmdlet: "New-ItemProperty", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`, "Name": "a", "PropertyType": "DWord", "Value": 5}},
					{Cmdlet: "Get-ItemProperty", Parameters: parameters{"LiteralPath": `HKLM:\SOFTWARE\X`}}, {Cmdlet: "Get-Acl", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}, Save: "acl", Select: []wire.Field{{Name: "Sddl"}, {Name: "Owner"}}},
					{Cmdlet: "Set-Acl", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`, "AclObject": wire.SecurityDescriptor{Call: "acl", SDDL: "O:SYG:SYD:PAI(A;CI;KA;;;SY)(A;CI;KA;;;BA)"}}},
					{Cmdlet: "Get-Acl", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}, Select: []wire.Field{{Name: "Sddl"}, {Name: "Owner"}}}, {Cmdlet: "Get-Item", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}, Save: "k", Depth: 1},
					{Cmdlet: "Remove-Item", Input: "k"}, {Cmdlet: "Test-Path", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}}, {Cmdlet: "Get-Item", Parameters: parameters{"Path": `HKLM:\SOFTWARE\X`}}})
			groups = append(groups, fileCalls(nil), fileCalls(guest))
			theirs, own := outcomes(t, clients["powershell"].Batch(groups...)), outcomes(t, clients["native"].Batch(groups...))
			for i := range groups {
				for j := range groups[i] {
					if j >= len(theirs[i]) || j >= len(own[i]) {
						if len(theirs[i]) != len(own[i]) {
							t.Errorf("%v: %d results from the powershell engine, %d from the native one", groups[i][0], len(theirs[i]), len(own[i]))
						}
						break
					}
					if d := cmp.Diff(still(theirs[i][j].Output), still(own[i][j].Output)); d != "" {
						t.Errorf("%s (-powershell +native)\n%s", groups[i][j].Cmdlet, d)
					}
					if d := cmp.Diff(theirs[i][j].Errors, own[i][j].Errors); d != "" {
						t.Errorf("%s errors (-powershell +native)\n%s", groups[i][j].Cmdlet, d)
					}
				}
			}
		})
	}
}

func someFiles() []lab.ScenarioFile {
	return []lab.ScenarioFile{
		{Path: `C:\Drivers [x]\a.inf`, Content: "inf"}, {Path: `C:\Drivers [x]\sub\a.cat`, Content: "cat", Signature: "Valid", Signer: "CN=Vendor"},
	}
}

// fileCalls are the calls about files. They name the properties that they want: a real PowerShell adds more to every file.
func fileCalls(guest *wire.Guest) []wire.Call {
	const made, from, to = `C:\Windows\Made`, `C:\Drivers [x]`, `C:\Windows\Made\copy`
	file := []wire.Field{{Name: "Name"}, {Name: "FullName"}, {Name: "Extension"}, {Name: "PSIsContainer"}, {Name: "PSChildName"}}
	rights := []wire.Field{{Name: "Sddl"}, {Name: "Owner"}}
	calls := []wire.Call{
		{Cmdlet: "New-Item", Parameters: parameters{"Path": made, "ItemType": "Directory"}, Select: file},
		{Cmdlet: "New-Item", Parameters: parameters{"Path": made, "ItemType": "Directory"}, Select: file}, // is there
		{Cmdlet: "Get-Acl", Parameters: parameters{"LiteralPath": made}, Save: "acl", Select: rights},
		{Cmdlet: "Set-Acl", Parameters: parameters{"LiteralPath": made, "AclObject": wire.SecurityDescriptor{Call: "acl", SDDL: "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"}}},
		{Cmdlet: "Get-Acl", Parameters: parameters{"LiteralPath": made}, Select: rights},
		{Cmdlet: "Get-Item", Parameters: parameters{"LiteralPath": from}, Select: file},
		{Cmdlet: "Copy-Item", Parameters: parameters{"LiteralPath": from, "Destination": to, "Recurse": true, "Force": true, "Confirm": false}},
		{Cmdlet: "Get-ChildItem", Parameters: parameters{"LiteralPath": to, "Recurse": true, "Force": true}, Select: file},
		{Cmdlet: "Get-ChildItem", Parameters: parameters{"LiteralPath": to, "Recurse": true}, Save: "files", Select: file, Where: []wire.Condition{{Property: "PSIsContainer", Equals: []string{"false"}}}},
		{Cmdlet: "Get-FileHash", Input: "files", Parameters: parameters{"Algorithm": "SHA256"}, Select: []wire.Field{{Name: "Path"}, {Name: "Hash"}}},
		{Cmdlet: "Get-AuthenticodeSignature", Input: "files", Select: []wire.Field{{Name: "Path"}, {Name: "Status"}, {Name: "SignerCertificate", Fields: []wire.Field{{Name: "Subject"}}}}},
		{Cmdlet: "Get-Acl", Parameters: parameters{"LiteralPath": to + `\a.inf`}, Select: rights},
		{Cmdlet: "Test-Path", Parameters: parameters{"LiteralPath": to}},
		{Cmdlet: "Remove-Item", Parameters: parameters{"LiteralPath": made, "Recurse": true, "Force": true, "Confirm": false}},
		{Cmdlet: "Test-Path", Parameters: parameters{"LiteralPath": to}},
		{Cmdlet: "Get-Item", Parameters: parameters{"LiteralPath": made}, Select: file}, // is gone
		{Cmdlet: "Get-WindowsDriver", Parameters: parameters{"Online": true}, Select: []wire.Field{{Name: "Driver"}, {Name: "OriginalFileName"}}},
		{Cmdlet: "Get-ScheduledTaskInfo", Parameters: parameters{"TaskName": "none"}, Select: []wire.Field{{Name: "LastTaskResult"}}},
	}
	for i := range calls {
		calls[i].Guest, calls[i].OnError = guest, wire.OnErrorContinue // errors are compared too
	}
	return calls
}

// guestOf is a running VM of the lab's first host, and who may log on to its guest.
func guestOf(t *testing.T, l *lab.Lab) (wire.GUID, wire.Credential) {
	t.Helper()
	out := l.InvokeOutOfBand(cmdlet.Invocation{Host: l.HostNames()[0], Target: "host", Cmdlet: "Get-VM", Set: "Name"})
	for _, o := range out.Objects {
		if id, ok := o.Get("Id"); ok {
			return wire.GUID(catalog.Text(id)), wire.Credential{User: "Administrator", Password: "Lab-Guest-1!"}
		}
	}
	t.Fatal("the lab has no virtual machine")
	return "", wire.Credential{}
}
