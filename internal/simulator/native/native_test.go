package native

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/enginetest"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

func TestCommandLines(t *testing.T) {
	line := enginetest.CommandLine(bootstrap)
	for _, c := range []struct{ name, line, stderr string }{
		{"unknown program", "ipconfig /all", "'ipconfig' is not recognized as an internal or external command"},
		{"quoted unknown program", `"C:\a b\x.exe" 1`, `'C:\a b\x.exe' is not recognized`},
		{"interactive", strings.Replace(line, "-NonInteractive ", "", 1), "only with -NonInteractive"},
		{"no script", "powershell -NonInteractive -NoProfile", "only with -EncodedCommand"},
		{"script that is no base64", "powershell -NonI -enc !!!", "not properly encoded"},
		{"another script", "powershell -NonInteractive -e RwBlAHQALQBWAE0A", "runs only the runner's bootstrap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, c.line)
			text, err := io.ReadAll(p.Stderr())
			if err != nil {
				t.Fatal(err)
			}
			if code := p.Wait(); code != 1 || !strings.Contains(string(text), c.stderr) {
				t.Errorf("exit %d, stderr %q, want 1 and %q", code, text, c.stderr)
			}
		})
	}
}

func start(t *testing.T, line string) process.Process {
	t.Helper()
	e, err := New(enginetest.NewModel(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start("h1", line, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const bootstrap = "$r=New-Object IO.StreamReader([Console]::OpenStandardInput())"

func newClient(t *testing.T, m *enginetest.Model) *enginetest.Client {
	t.Helper()
	e, err := New(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.NewClient(t, e, bootstrap, "the runner")
}

func TestProtocol(t *testing.T) {
	m := enginetest.NewModel()
	c := newClient(t, m)
	hello := c.Line()
	text, err := base64.StdEncoding.DecodeString(hello[1])
	if err != nil || hello[0] != "H" || !strings.Contains(string(text), `"protocol":1`) {
		t.Fatalf("hello %v %s %v", hello, text, err)
	}
	c.Batch([]wire.Call{{Cmdlet: "Get-VM"}})
	c.Send("R 1")
	if again := c.Answer(); len(again.Groups) != 1 {
		t.Errorf("asked again: %+v", again)
	}
	c.Send("C 1 1 2 3 abc") // a late copy of the last piece
	if again := c.Answer(); len(again.Groups) != 1 {
		t.Errorf("a copy of the last piece: %+v", again)
	}
	c.Send("R 7")
	if f := c.Line(); strings.Join(f, " ") != "S 7 unknown" {
		t.Errorf("unknown request: %v", f)
	}
	c.Send("C 8 1 3 4 abcd")
	c.Send("C 8 2 3 9 abcd") // damaged: as good as lost
	c.Send("R 8")
	if f := c.Line(); strings.Join(f, " ") != "S 8 partial:0,2" {
		t.Errorf("partial request: %v", f)
	}
	if len(m.Calls()) != 1 {
		t.Errorf("the call ran %d times", len(m.Calls()))
	}
	c.Send("X")
	if code := c.Process.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestCalls(t *testing.T) {
	adapters := wire.Call{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"VMName": "v"}, Save: "a"}
	for _, c := range []struct {
		name   string
		calls  []wire.Call
		output []string   // JSON of every call's output
		errors [][]string // ids of every call's errors
	}{
		{
			name: "select: enum, GUID, date, number, null, missing property",
			calls: []wire.Call{{Cmdlet: "Get-VM", Select: []wire.Field{
				{Name: "State"}, {Name: "id", Path: "Id"}, {Name: "CreationTime"}, {Name: "MemoryStartup"}, {Name: "Notes"}, {Name: "Nothing"}}}},
			output: []string{`[{"State":"Running","id":"` + enginetest.VMID + `","CreationTime":"2026-01-02T03:04:05.0000006Z","MemoryStartup":5368709120,"Notes":null,"Nothing":null}]`},
		},
		{
			name:   "where ignores case and wildcards, arrays of one stay arrays",
			calls:  []wire.Call{{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"VMName": "v"}, Where: []wire.Condition{{Property: "name", Equals: []string{"B [X]*"}}}, Select: []wire.Field{{Name: "Name"}}}, {Cmdlet: "Get-NetAdapterRdma", Select: []wire.Field{{Name: "Ids"}}}},
			output: []string{`[{"Name":"b [x]*"}]`, `[{"Ids":["one"]}]`},
		},
		{
			name:   "a reference to an object binds by its class",
			calls:  []wire.Call{adapters, {Cmdlet: "Set-VMNetworkAdapter", Parameters: map[string]any{"VMNetworkAdapter": wire.First("a"), "IovWeight": 100}}},
			output: []string{"", `[]`},
		},
		{
			name:   "a text for an object is refused, and stops the group",
			calls:  []wire.Call{{Cmdlet: "Set-VMNetworkAdapter", Parameters: map[string]any{"VMNetworkAdapter": "a"}}, {Cmdlet: "Get-VM"}},
			output: []string{`[]`},
			errors: [][]string{{"CannotConvertArgumentNoMessage,Microsoft.HyperV.PowerShell.Commands.SetVMNetworkAdapter"}},
		},
		{
			name:   "continue goes on after an error of the model",
			calls:  []wire.Call{{Cmdlet: "Get-VMSwitch", Parameters: map[string]any{"Name": "gone"}, OnError: wire.OnErrorContinue}, {Cmdlet: "Get-VMSwitch"}},
			output: []string{`[]`, `[]`},
			errors: [][]string{{"InvalidParameter,Microsoft.HyperV.PowerShell.Commands.GetVMSwitch"}, nil},
		},
		{
			name:   "a missing object",
			calls:  []wire.Call{{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"VMName": "v"}, Where: []wire.Condition{{Property: "Name", Equals: []string{"x"}}}, Save: "a"}, {Cmdlet: "Set-VMNetworkAdapter", Parameters: map[string]any{"VMNetworkAdapter": wire.First("a")}}},
			output: []string{`[]`, `[]`},
			errors: [][]string{nil, {"RunnerReferenceEmpty"}},
		},
		{
			name:   "a cmdlet that the host lacks",
			calls:  []wire.Call{{Cmdlet: "Set-VMNetworkAdapterRdma"}},
			output: []string{`[]`},
			errors: [][]string{{"CommandNotFoundException,Microsoft.PowerShell.Commands.GetCommandCommand"}},
		},
		{
			name:   "Get-Command knows what the host has",
			calls:  []wire.Call{{Cmdlet: "Get-Command", Parameters: map[string]any{"Name": []string{"Get-VM", "Set-VMNetworkAdapterRdma"}}, Select: []wire.Field{{Name: "Name"}, {Name: "CommandType"}}}},
			output: []string{`[{"Name":"Get-VM","CommandType":"Cmdlet"}]`},
			errors: [][]string{{"CommandNotFoundException,Microsoft.PowerShell.Commands.GetCommandCommand"}},
		},
		{
			name:   "input is piped, object by object",
			calls:  []wire.Call{adapters, {Cmdlet: "Set-VMNetworkAdapter", Input: "a", Parameters: map[string]any{"IovWeight": 0}}},
			output: []string{"", `[]`},
		},
		{
			name:   "nothing to pipe: skipped",
			calls:  []wire.Call{{Cmdlet: "Get-VMSwitch", Save: "s"}, {Cmdlet: "Set-VMNetworkAdapter", Input: "s", Parameters: map[string]any{"IovWeight": 0}}},
			output: []string{`[]`, `[]`},
		},
		{
			name:   "a security descriptor is changed and passed on",
			calls:  []wire.Call{{Cmdlet: "Get-Acl", Parameters: map[string]any{"Path": `HKLM:\SOFTWARE\X`}, Save: "acl", Select: []wire.Field{{Name: "Sddl"}}}, {Cmdlet: "Set-Acl", Parameters: map[string]any{"Path": `HKLM:\SOFTWARE\X`, "AclObject": wire.SecurityDescriptor{Call: "acl", SDDL: "O:SYD:P"}}}},
			output: []string{`[{"Sddl":"O:BAG:SYD:"}]`, `[]`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := newClient(t, enginetest.NewModel()).Batch(c.calls)
			if reply.Failure != nil || len(reply.Groups) != 1 || len(reply.Groups[0]) != len(c.output) {
				t.Fatalf("%+v", reply)
			}
			for i, r := range reply.Groups[0] {
				if got, err := json.Marshal(r.Output); err != nil || c.output[i] != "" && string(got) != c.output[i] {
					t.Errorf("call %d: output %s, want %s (%v)", i, got, c.output[i], err)
				}
				var ids, want []string
				for _, e := range r.Errors {
					ids = append(ids, e.ID)
				}
				if c.errors != nil {
					want = c.errors[i]
				}
				if d := cmp.Diff(want, ids); d != "" {
					t.Errorf("call %d: errors (-want +got)\n%s", i, d)
				}
			}
		})
	}
}

func TestCanonicalParameters(t *testing.T) {
	m := enginetest.NewModel()
	newClient(t, m).Batch([]wire.Call{
		{Cmdlet: "Get-VMNetworkAdapter", Parameters: map[string]any{"VMName": "v"}, Save: "a"},
		{Cmdlet: "Set-VMNetworkAdapter", Input: "a", Parameters: map[string]any{"IovWeight": "100", "MacAddressSpoofing": "of", "Passthru": true, "Confirm": false}},
	})
	if len(m.Calls()) != 3 {
		t.Fatalf("%d calls: %+v", len(m.Calls()), m.Calls())
	}
	got := m.Calls()[2]
	if got.Set != "ResourceObject" || got.Host != "h1" || got.Target != "host" {
		t.Errorf("%+v", got)
	}
	want := map[string]any{
		"IovWeight": int64(100), "Passthru": true,
		"MacAddressSpoofing": cmdlet.Enum{Type: "Microsoft.HyperV.PowerShell.OnOffState", Name: "Off", Number: 1},
	}
	object := got.Parameters["VMNetworkAdapter"]
	delete(got.Parameters, "VMNetworkAdapter")
	if d := cmp.Diff(want, got.Parameters); d != "" {
		t.Errorf("parameters (-want +got)\n%s", d)
	}
	if o, ok := object.(*cmdlet.Object); !ok || o.Ref != "vnic:b [x]*" {
		t.Errorf("object %#v", object)
	}
}

func TestGuests(t *testing.T) {
	m := enginetest.NewModel()
	c := newClient(t, m)
	guest := &wire.Guest{VMID: wire.GUID(enginetest.VMID), Credential: wire.Credential{User: "u", Password: "p"}}
	call := wire.Call{Cmdlet: "Get-NetAdapter", Guest: guest, Select: []wire.Field{{Name: "Name"}}, OnError: wire.OnErrorContinue}
	reply := c.Batch([]wire.Call{call, {Cmdlet: "Get-VM", Guest: guest, OnError: wire.OnErrorContinue}}, []wire.Call{call})
	if got := string(reply.Groups[0][0].Output[0]); got != `{"Name":"guest:`+enginetest.VMID+`"}` {
		t.Errorf("guest answered %s", got)
	}
	if e := reply.Groups[0][1].Errors; len(e) != 1 || !strings.HasPrefix(e[0].ID, "CommandNotFoundException") || e[0].Session {
		t.Errorf("a cmdlet that the guest lacks: %+v", e)
	}
	if n := m.Count("New-PSSession"); n != 1 {
		t.Errorf("%d sessions were opened, want 1", n)
	}
	m.BreakSessions() // the VM restarted
	if reply = c.Batch([]wire.Call{call}); len(reply.Groups[0][0].Errors) != 0 {
		t.Errorf("after a restart: %+v", reply.Groups[0][0].Errors)
	}
	if n := m.Count("New-PSSession"); n != 2 {
		t.Errorf("%d sessions were opened, want 2", n)
	}
}
