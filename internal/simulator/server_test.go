package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// bench is a simulator with its control door and a way to run batches as the provider does.
type bench struct {
	*testing.T
	server *simulator.Server
	ready  simulator.Ready
}

func start(t *testing.T, change func(*simulator.Options)) *bench {
	t.Helper()
	scenario, err := lab.LoadScenario("intel-x722")
	if err != nil {
		t.Fatal(err)
	}
	o := simulator.Options{Scenario: scenario, TLS: true}
	if change != nil {
		change(&o)
	}
	s, err := simulator.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &bench{t, s, s.Ready()}
}

func (b *bench) runner() *powershell.Runner {
	b.Helper()
	h := b.ready.Hosts[0]
	ca, err := os.ReadFile(h.CAFile)
	if err != nil {
		b.Fatal(err)
	}
	r, err := powershell.Open(b.Context(), winrm.Config{
		Address: h.Address, Port: h.HTTPSPort, HTTPS: true, CACert: ca, Auth: winrm.AuthBasic, User: h.Username, Password: h.Password,
		OperationTimeout: 2 * time.Second, RetryBudget: 10 * time.Second,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = r.Close(ctx)
	})
	return r
}

// call talks to the control door.
func (b *bench) call(method, path, body string, into any) int {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, b.ready.Control+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	if s, ok := into.(*string); ok {
		*s = string(text)
	} else if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			b.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return resp.StatusCode
}

func (b *bench) state() string {
	b.Helper()
	var s string
	if code := b.call("GET", "/state", "", &s); code != 200 {
		b.Fatalf("GET /state: %d %s", code, s)
	}
	return s
}

type entry struct {
	Seq       int64
	Time      time.Time
	Host      string
	Target    string
	Cmdlet    string
	Error     string
	Event     string
	OutOfBand bool `json:"out_of_band"`
}

func (b *bench) journal() []entry {
	b.Helper()
	var all []entry
	b.call("GET", "/journal", "", &all)
	return all
}

func getVM(name string) powershell.Call {
	return powershell.Call{Call: wire.Call{Cmdlet: "Get-VM", Parameters: map[string]any{"Name": name}, Select: []wire.Field{{Name: "Name"}, {Name: "State"}}}}
}

func TestReadyLine(t *testing.T) {
	b := start(t, nil)
	text, err := json.Marshal(b.ready)
	if err != nil {
		t.Fatal(err)
	}
	var keys struct {
		Control string
		PID     int
		Hosts   []map[string]any
	}
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	if keys.PID != os.Getpid() || !strings.HasPrefix(keys.Control, "http://127.0.0.1:") || len(keys.Hosts) != 2 {
		t.Errorf("ready line %s", text)
	}
	for _, name := range []string{"name", "address", "http_port", "https_port", "username", "password", "ca_file"} {
		if v := keys.Hosts[0][name]; v == nil || v == "" || v == 0.0 {
			t.Errorf("%s is %v in %s", name, v, text)
		}
	}
	if len(keys.Hosts[0]) != 7 {
		t.Errorf("host has other keys: %s", text)
	}
}

func TestBatchOverHTTPS(t *testing.T) {
	b := start(t, nil)
	r := b.runner()
	results, err := r.Do(t.Context(), getVM("*"))
	if err != nil || len(results) != 1 || len(results[0].Output) == 0 || len(results[0].Errors) != 0 {
		t.Fatalf("%v %+v", err, results)
	}
	var m simulator.Metrics
	b.call("GET", "/metrics", "", &m)
	name := b.ready.Hosts[0].Name
	if m.CmdletCalls["Get-VM"] != 1 || m.Hosts[name].CmdletCalls["Get-VM"] != 1 || m.Processes != 1 || m.Shells != 1 || m.Operations["Create"] != 1 || m.Requests < 4 {
		t.Errorf("metrics %+v", m)
	}
	journal := b.journal()
	if len(journal) != 1 || journal[0].Cmdlet != "Get-VM" || journal[0].Host != name || journal[0].Target != "host" || journal[0].OutOfBand || journal[0].Time.IsZero() {
		t.Errorf("journal %+v", journal)
	}
}

// findPowerShell is for tests of the powershell engine.
func findPowerShell(t *testing.T) string {
	t.Helper()
	shell := os.Getenv("HYPERVSIM_POWERSHELL")
	for _, name := range []string{"pwsh", "powershell"} {
		if found, err := exec.LookPath(name); err == nil && shell == "" {
			shell = found
		}
	}
	if shell == "" {
		if os.Getenv("HYPERVSIM_REQUIRE_POWERSHELL") != "" {
			t.Fatal("no PowerShell, and HYPERVSIM_REQUIRE_POWERSHELL is set")
		}
		t.Skip("no PowerShell: not tested that the powershell engine answers behind the door")
	}
	return shell
}

// The same batch through a real PowerShell gives the same objects, and nothing is left running.
func TestPowerShellEngine(t *testing.T) {
	shell := findPowerShell(t)
	native := start(t, nil)
	powershell := start(t, func(o *simulator.Options) { o.Engine, o.PowerShell = simulator.EnginePowerShell, shell })
	want, err := native.runner().Do(t.Context(), getVM("*"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := powershell.runner().Do(t.Context(), getVM("*"))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%s", got[0].Output) != fmt.Sprintf("%s", want[0].Output) || len(want[0].Output) == 0 {
		t.Errorf("powershell %s, native %s", got[0].Output, want[0].Output)
	}
	if n := powershell.server.Metrics().CmdletCalls["Get-VM"]; n != 1 {
		t.Errorf("Get-VM counted %d times", n)
	}
}

func TestOutOfBandAndReset(t *testing.T) {
	b := start(t, nil)
	before := b.state()
	name := b.ready.Hosts[0].Name
	const odd = "out `$(of)` 'band' ; [x] * ü"
	request, err := json.Marshal(simulator.CmdletRequest{Host: strings.ToLower(name), Cmdlet: "new-vmswitch", Parameters: map[string]any{"Name": odd, "SwitchType": "Private"}})
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Output []map[string]any
		Errors []wire.CommandError
	}
	if code := b.call("POST", "/cmdlet", string(request), &reply); code != 200 || len(reply.Errors) != 0 || len(reply.Output) != 1 || reply.Output[0]["Name"] != odd {
		t.Fatalf("%d %+v", code, reply)
	}
	if b.state() == before {
		t.Error("the state did not change")
	}
	journal := b.journal()
	if len(journal) == 0 || journal[0].Cmdlet != "New-VMSwitch" || !journal[0].OutOfBand {
		t.Errorf("journal %+v", journal)
	}
	var m simulator.Metrics
	b.call("GET", "/metrics", "", &m)
	if len(m.CmdletCalls) != 0 {
		t.Errorf("an out-of-band call is counted: %v", m.CmdletCalls)
	}
	if code := b.call("POST", "/reset", "", nil); code != 200 {
		t.Errorf("reset: %d", code)
	}
	if b.state() != before || len(b.journal()) != 0 {
		t.Error("the lab is not what it was")
	}
}

func TestOutOfBandErrors(t *testing.T) {
	b := start(t, nil)
	name := b.ready.Hosts[0].Name
	for _, tt := range []struct {
		name   string
		body   string
		status int
		want   string
	}{
		{"no such switch", `{"host":"%s","cmdlet":"Remove-VMSwitch","parameters":{"Name":"none"}}`, 200, "HyperV.PowerShell.Commands"},
		{"unknown cmdlet", `{"host":"%s","cmdlet":"Get-Nothing"}`, 200, "CommandNotFoundException"},
		{"unknown parameter", `{"host":"%s","cmdlet":"Get-VM","parameters":{"Colour":"red"}}`, 200, "NamedParameterNotFound,Microsoft.HyperV.PowerShell.Commands.GetVM"},
		{"unknown guest", `{"host":"%s","target":"guest:none","cmdlet":"Get-NetAdapter"}`, 200, "InvalidVMIdNotSingle"},
		{"unknown host", `{"host":"%s-x","cmdlet":"Get-VM"}`, 400, "the lab has " + name},
		{"target", `{"host":"%s","target":"vm1","cmdlet":"Get-VM"}`, 400, "neither"},
		{"no cmdlet", `{"host":"%s"}`, 400, "cmdlet is missing"},
		{"unknown field", `{"host":"%s","cmdlet":"Get-VM","colour":{}}`, 400, "colour"},
		{"two values", `{"host":"%s","cmdlet":"Get-VM"} {}`, 400, "more than one"},
		{"no JSON", `host=%s`, 400, "request body"},
		{"reference", `{"host":"%s","cmdlet":"Get-VM","parameters":{"Name":{"$ref":{"call":"x"}}}}`, 400, "only one"},
		{"bad GUID", `{"host":"%s","cmdlet":"Get-VM","parameters":{"Id":{"$guid":"x"}}}`, 400, "no GUID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text string
			code := b.call("POST", "/cmdlet", fmt.Sprintf(tt.body, name), &text)
			if code != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("%d %s, want %d with %q", code, text, tt.status, tt.want)
			}
		})
	}
}

func TestControlDoorRefuses(t *testing.T) {
	b := start(t, nil)
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"unknown effect", "POST", "/faults", `{"effect":"explode"}`, 400, "explode"},
		{"unknown field", "POST", "/faults", `{"effect":"503","opration":"Send"}`, 400, "opration"},
		{"second rule of a list", "POST", "/faults", `[{"effect":"503"},{"effect":"503","host":"nobody"}]`, 400, "rule 2"},
		{"unknown path", "GET", "/nothing", "", 404, ""},
		{"wrong method", "POST", "/state", "", 405, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text string
			if code := b.call(tt.method, tt.path, tt.body, &text); code != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("%d %s, want %d with %q", code, text, tt.status, tt.want)
			}
		})
	}
	// A refused list adds none of its rules.
	if _, err := b.runner().Do(t.Context(), getVM("*")); err != nil {
		t.Error(err)
	}
}

// The provider's client gets its answer under faults that lose a request or an answer, and the cmdlet runs once.
func TestFaultsThatClientsSurvive(t *testing.T) {
	for _, rule := range []string{
		`{"operation":"Send","effect":"drop_before"}`,
		`{"operation":"Send","effect":"drop_after"}`,
		`{"operation":"Receive","effect":"drop_before"}`,
		`{"operation":"Receive","effect":"drop_after"}`,
		`{"operation":"Receive","effect":"drop_mid"}`,
		`{"operation":"Receive","effect":"timeout"}`,
		`{"operation":"Send","effect":"busy"}`,
		`[{"operation":"Send","effect":"503"},{"operation":"Receive","request":1,"count":2,"effect":"503"}]`,
		`{"cmdlet":"Get-VM","effect":"drop_before"}`,
		`{"cmdlet":"get-vm","effect":"drop_after","delay_ms":20}`,
		`{"cmdlet":"Get-VM","effect":"delay","delay_ms":20}`,
		`{"cmdlet":"Get-VM","effect":"blackout","delay_ms":20,"duration_ms":300}`,
		`{"operation":"Receive","effect":"blackout","duration_ms":300}`,
		`{"operation":"Send","effect":"503","duration_ms":100}`,
	} {
		t.Run(rule, func(t *testing.T) {
			b := start(t, nil)
			r := b.runner()
			var text string
			if code := b.call("POST", "/faults", rule, &text); code != 200 {
				t.Fatalf("%d %s", code, text)
			}
			results, err := r.Do(t.Context(), getVM("*"))
			if err != nil || len(results[0].Output) == 0 {
				t.Fatalf("%v %+v", err, results)
			}
			if m := b.server.Metrics(); m.CmdletCalls["Get-VM"] != 1 {
				t.Errorf("the cmdlet ran %d times", m.CmdletCalls["Get-VM"])
			}
		})
	}
}

func TestKilledUnderACall(t *testing.T) {
	for _, effect := range []string{"kill_process", "kill_shell"} {
		t.Run(effect, func(t *testing.T) {
			b := start(t, nil)
			r := b.runner()
			b.call("POST", "/faults", `{"cmdlet":"Get-VM","effect":"`+effect+`"}`, nil)
			_, err := r.Do(t.Context(), getVM("*"))
			var lost *powershell.LostError
			if !errors.As(err, &lost) || !lost.Started {
				t.Errorf("error %v", err)
			}
			if _, err := b.runner().Do(t.Context(), getVM("*")); err != nil {
				t.Errorf("a new process: %v", err)
			}
		})
	}
}

// A bounce of the adapter that carries the management address cuts the connections, not the shells; the
// client gets over it. A restart of the host takes the shells too.
func TestManagementPath(t *testing.T) {
	b := start(t, nil)
	r := b.runner()
	if _, err := r.Do(t.Context(), getVM("*")); err != nil {
		t.Fatal(err)
	}
	before := b.server.Metrics()
	bounce := powershell.Call{Call: wire.Call{Cmdlet: "Restart-NetAdapter", Parameters: map[string]any{"Name": "Ethernet"}}}
	results, err := r.Do(t.Context(), bounce)
	if err != nil || len(results[0].Errors) != 0 {
		t.Fatalf("%v %+v", err, results)
	}
	after := b.server.Metrics()
	if after.Connections == before.Connections || after.ShellsCreated != before.ShellsCreated || after.CmdletCalls["Restart-NetAdapter"] != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	restart, err := json.Marshal(simulator.CmdletRequest{Host: b.ready.Hosts[0].Name, Cmdlet: "Restart-Computer", Parameters: map[string]any{"Force": true}})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if code := b.call("POST", "/cmdlet", string(restart), &text); code != 200 || !strings.Contains(text, `"errors":[]`) {
		t.Fatalf("%d %s", code, text)
	}
	if open := b.server.Metrics().Shells; open != 0 {
		t.Errorf("%d shells survived the host's restart", open)
	}
}

func TestErrorRecordRule(t *testing.T) {
	b := start(t, nil)
	r := b.runner()
	b.call("POST", "/faults", `{"cmdlet":"Get-VM","request":2,"effect":"error","error":{"id":"OperationFailed,X","category":"NotSpecified","message":"m"}}`, nil)
	for i, want := range []string{"", "OperationFailed,X", ""} {
		results, err := r.Do(t.Context(), getVM("*"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(results[0].Errors) > 0 {
			got = results[0].Errors[0].ID
		}
		if got != want {
			t.Errorf("call %d: error %q, want %q", i+1, got, want)
		}
	}
	b.call("POST", "/faults", `[{"cmdlet":"Get-VM","count":-1,"effect":"error","error":{"id":"X","category":"NotSpecified"}},{"count":-1,"effect":"503"}]`, nil)
	b.call("DELETE", "/faults", "", nil)
	if results, err := r.Do(t.Context(), getVM("*")); err != nil || len(results[0].Errors) != 0 {
		t.Errorf("after DELETE: %v %+v", err, results)
	}
}

func TestOptions(t *testing.T) {
	scenario, err := lab.LoadScenario("intel-x722")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		o    simulator.Options
		want string
	}{
		{"no scenario", simulator.Options{}, "no scenario"},
		{"engine", simulator.Options{Scenario: scenario, Engine: "python"}, "python"},
		{"not loopback", simulator.Options{Scenario: scenario, Listen: "0.0.0.0:0"}, "not on loopback"},
		{"no port", simulator.Options{Scenario: scenario, Listen: "127.0.0.1"}, "listen address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := simulator.Start(t.Context(), tt.o)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestStopsWithItsContext(t *testing.T) {
	scenario, err := lab.LoadScenario("intel-x722")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := simulator.Start(ctx, simulator.Options{Scenario: scenario, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-s.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("still running")
	}
	if _, err := os.Stat(s.Ready().Hosts[0].CAFile); !os.IsNotExist(err) {
		t.Errorf("the CA file is left behind: %v", err)
	}
}
