package lab

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// bench is a lab with a clock that stands still until a test moves it.
type bench struct {
	*Lab
	t   *testing.T
	now time.Time
}

type params = map[string]any

func newBench(t *testing.T, preset string, change func(*Scenario)) *bench {
	t.Helper()
	s, err := LoadScenario(preset)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	l, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Lab: l, t: t, now: l.Now()}
	l.clock = func() time.Time { return b.now }
	b.pass(time.Minute)
	return b
}

// pass lets time go by.
func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

func (b *bench) on(target, name string, p params) cmdlet.Output {
	b.t.Helper()
	return b.Invoke(cmdlet.Invocation{Host: "hv1", Target: target, Cmdlet: name, Parameters: p})
}

// run is a call on host hv1 that must succeed.
func (b *bench) run(name string, p params) []*cmdlet.Object {
	b.t.Helper()
	return b.must("host", name, p)
}

func (b *bench) must(target, name string, p params) []*cmdlet.Object {
	b.t.Helper()
	out := b.on(target, name, p)
	if len(out.Errors) > 0 {
		b.t.Fatalf("%s %v: %v", name, p, out.Errors[0])
	}
	return out.Objects
}

// fails is a call on host hv1 that must give exactly one error; it returns the record.
func (b *bench) fails(name string, p params) *cmdlet.Error {
	b.t.Helper()
	out := b.on("host", name, p)
	if len(out.Errors) != 1 {
		b.t.Fatalf("%s %v: %d errors, want 1", name, p, len(out.Errors))
	}
	return out.Errors[0]
}

func (b *bench) port(name string) (*Device, *Port) { return b.state.Hosts[0].portByName(name) }

// events are the journal's events of a kind, as "object: reason".
func (b *bench) events(name string) []string {
	var out []string
	for _, e := range b.Journal() {
		if e.Event == name {
			out = append(out, e.Object+": "+e.Reason)
		}
	}
	return out
}

func get(o *cmdlet.Object, name string) string {
	v, _ := o.Get(name)
	return text(v)
}

func names(objects []*cmdlet.Object, property string) string {
	var out []string
	for _, o := range objects {
		out = append(out, get(o, property))
	}
	return strings.Join(out, ", ")
}

func TestPresetsAreWholeAndRepeatable(t *testing.T) {
	if len(Presets()) < 3 {
		t.Fatalf("presets: %v", Presets())
	}
	for _, preset := range Presets() {
		t.Run(preset, func(t *testing.T) {
			a, b := newBench(t, preset, nil), newBench(t, preset, nil)
			one, err := a.State()
			if err != nil {
				t.Fatal(err)
			}
			two, _ := b.State()
			if !bytes.Equal(one, two) {
				t.Error("two labs of one preset differ")
			}
			if bytes.Contains(one, []byte("Lab-Host-1!")) {
				t.Error("the state shows a password")
			}
			if got := strings.Join(a.HostNames(), " "); got != "hv1 hv2" {
				t.Errorf("hosts: %s", got)
			}
			if len(a.Journal()) != 0 {
				t.Errorf("a new lab has a history: %v", a.Journal()[0])
			}
		})
	}
}

func TestResetGivesTheLabBackAsItWas(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	before, _ := b.State()
	b.run("Set-NetAdapterAdvancedProperty", params{"Name": list("iWARP 1"), "RegistryKeyword": list(keywordMaxVFs), "RegistryValue": list("8")})
	b.run("New-Item", params{"Path": list(`HKLM:\SOFTWARE\X`)})
	if changed, _ := b.State(); bytes.Equal(before, changed) {
		t.Fatal("the changes do not show")
	}
	if err := b.Reset(); err != nil {
		t.Fatal(err)
	}
	if after, _ := b.State(); !bytes.Equal(before, after) {
		t.Error("something is left after a reset")
	}
	if b.Metrics().Calls != 0 || len(b.Journal()) != 0 {
		t.Error("metrics or journal are left after a reset")
	}
}

func TestJournalShapes(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.on("host", "Get-NetAdapter", params{"Name": list("gone"), "Credential": cmdlet.Credential{User: "u", Password: "geheim"}})
	nic := b.run("Get-NetAdapter", params{"Name": list("iWARP 1")})[0]
	b.InvokeOutOfBand(cmdlet.Invocation{Host: "hv1", Target: "guest:" + b.state.Hosts[0].VMs[0].ID, Cmdlet: "Get-NetAdapter", Parameters: params{}})
	b.run("Restart-NetAdapter", params{"InputObject": []any{nic}})
	text, err := json.Marshal(b.Journal())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"cmdlet":"Get-NetAdapter","parameters":{"Credential":{"user":"u"},"Name":["gone"]},"error":"CmdletizationQuery_NotFound_Name,Get-NetAdapter","out_of_band":false`,
		`"target":"guest:vm1","cmdlet":"Get-NetAdapter","parameters":{},"error":"","out_of_band":true`,
		`"parameters":{"InputObject":[{"$object":"MSFT_NetAdapter iWARP 1"}]}`,
		`"host":"hv1","event":"net_adapter_restart","object":"iWARP 1","reason":"Restart-NetAdapter"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("journal lacks %s\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "geheim") {
		t.Error("the journal shows a password")
	}
}

func TestFaultsHitByCmdletObjectAndCount(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	err := b.AddFault(Fault{Cmdlet: "get-netadapter", Object: "IWARP 1", After: 1, Count: 1, Error: &FaultError{ID: "OperationFailed,X", Category: "NotSpecified", Message: "no"}})
	if err != nil {
		t.Fatal(err)
	}
	one, other := params{"Name": list("iWARP 1")}, params{"Name": list("iWARP 2")}
	b.run("Get-NetAdapter", other)
	b.run("Get-NetAdapter", one)
	if e := b.fails("Get-NetAdapter", one); e.ID != "OperationFailed,X" {
		t.Errorf("error id %s", e.ID)
	}
	b.run("Get-NetAdapter", one)
	if err := b.AddFault(Fault{Cmdlet: "Get-VM"}); err == nil {
		t.Error("a fault without effect was accepted")
	}
}

func TestTargetsAndCommandsThatAreNotThere(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	for _, tt := range []struct{ name, host, target, cmdlet, id string }{
		{"host", "hv9", "host", "Get-NetAdapter", "HostNotFound"},
		{"vm", "hv1", "guest:nobody", "Get-NetAdapter", "InvalidVMIdNotSingle"},
		{"cmdlet", "hv1", "host", "Get-Nothing", "CommandNotFoundException"},
		{"host cmdlet in a guest", "hv1", "guest:vm1", "Get-NetLbfoTeam", "CommandNotFoundException"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := b.Invoke(cmdlet.Invocation{Host: tt.host, Target: tt.target, Cmdlet: tt.cmdlet})
			if len(out.Errors) != 1 || !strings.HasPrefix(out.Errors[0].ID, tt.id) {
				t.Errorf("got %v, want %s", out.Errors, tt.id)
			}
			if b.Available(tt.host, tt.target, tt.cmdlet) {
				t.Error("Available says yes")
			}
		})
	}
	if !b.Available("hv1", "host", "get-netadapter") {
		t.Error("Get-NetAdapter is not available")
	}
}

func TestMessagesComeInTheHostsLanguageWithTheSameID(t *testing.T) { // errors.md 0.1
	b := newBench(t, "intel-x722", func(s *Scenario) { s.Hosts[0].OS.Language = "de-DE" })
	e := b.fails("Get-NetAdapter", params{"Name": list("gone")})
	if e.ID != "CmdletizationQuery_NotFound_Name,Get-NetAdapter" || e.Category != "ObjectNotFound" {
		t.Errorf("id %s, category %s", e.ID, e.Category)
	}
	if strings.Contains(e.Message, "objects found with property") || !strings.HasPrefix(e.Message, "[de-DE]") {
		t.Errorf("message %q", e.Message)
	}
}
