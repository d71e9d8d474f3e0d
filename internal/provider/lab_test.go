package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// testLab is a running simulator.
type testLab struct {
	t      testing.TB
	server *simulator.Server
	ready  simulator.Ready
}

// labEngine is what HYPERVSIM_ENGINE says, or the native engine.
func labEngine() string {
	if e := os.Getenv("HYPERVSIM_ENGINE"); e != "" {
		return e
	}
	return simulator.EngineNative
}

// startLab starts the simulator with a preset (mellanox-cx3pro, intel-x722, intel-e810), changed as the
// test needs it, over HTTPS, on the engine of labEngine. It ends with the test.
func startLab(t testing.TB, preset string, changes ...func(*lab.Scenario)) *testLab {
	t.Helper()
	return startLabOn(t, labEngine(), preset, changes...)
}

// startLabOn is startLab with a given engine. Without a PowerShell its tests skip, or fail where
// HYPERVSIM_REQUIRE_POWERSHELL is set.
func startLabOn(t testing.TB, engine, preset string, changes ...func(*lab.Scenario)) *testLab {
	t.Helper()
	options := simulator.Options{Engine: engine, TLS: true}
	if engine == simulator.EnginePowerShell {
		options.PowerShell = powerShell(t)
	}
	var err error
	options.Scenario, err = lab.LoadScenario(preset)
	must(t, err)
	for _, change := range changes {
		change(options.Scenario)
	}
	// The test's own context ends before its cleanups, which still delete shells.
	s, err := simulator.Start(context.Background(), options)
	must(t, err)
	t.Cleanup(s.Close)
	return &testLab{t: t, server: s, ready: s.Ready()}
}

// powerShell finds a PowerShell for the powershell engine.
func powerShell(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("HYPERVSIM_POWERSHELL"), "pwsh", "powershell"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const text = "no PowerShell found (HYPERVSIM_POWERSHELL, pwsh, powershell): not tested on the powershell engine"
	if os.Getenv("HYPERVSIM_REQUIRE_POWERSHELL") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// hosts are the names of the lab's hosts.
func (l *testLab) hosts() []string {
	names := make([]string, len(l.ready.Hosts))
	for i, h := range l.ready.Hosts {
		names[i] = h.Name
	}
	return names
}

// config is a provider configuration for the given hosts (all without), by their names in the lab.
// Each change may add to it.
func (l *testLab) config(hosts ...string) object {
	l.t.Helper()
	entries := object{}
	for _, h := range l.ready.Hosts {
		if len(hosts) == 0 || slices.Contains(hosts, h.Name) {
			entries[h.Name] = object{
				"address": h.Address, "port": h.HTTPSPort, "user": h.Username, "password": h.Password, "ca_file": h.CAFile,
			}
		}
	}
	if len(hosts) > 0 && len(entries) != len(hosts) {
		l.t.Fatalf("the lab has the hosts %q, not all of %q", l.hosts(), hosts)
	}
	config := object{"hosts": entries}
	if g := l.ready.GuestCredential; g != nil {
		config["guest_credentials"] = object{"lab": object{"user": g.Username, "password": g.Password}}
		config["default_guest_credential"] = "lab"
	}
	return config
}

// with adds an attribute to every host of a configuration.
func with(config object, attribute string, value any) object {
	for _, h := range config["hosts"].(object) {
		h.(object)[attribute] = value
	}
	return config
}

// hcl is config as a provider block, in front of a test's own HCL.
func (l *testLab) hcl(hosts ...string) string {
	l.t.Helper()
	return providerHCL(l.t, l.config(hosts...))
}

// providerHCL writes a provider block.
func providerHCL(t testing.TB, config object) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("provider \"hyperv\" {\n")
	for _, name := range sortedKeys(config) {
		fmt.Fprintf(&b, "  %s = %s\n", name, hclValue(t, config[name]))
	}
	b.WriteString("}\n")
	return b.String()
}

// hclValue writes a value as an HCL expression. JSON is one, but for template sequences in strings.
func hclValue(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	must(t, e.Encode(v))
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.TrimSpace(b.String()))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// harness is a provider for the given hosts of the lab (all without).
func (l *testLab) harness(hosts ...string) *harness {
	l.t.Helper()
	return newHarness(l.t, l.config(hosts...))
}

// patientHarness is a provider as users run it: it shares what it reads for some seconds.
func (l *testLab) patientHarness(hosts ...string) *harness {
	l.t.Helper()
	h := startServer(l.t, func(o *provider.Options) { quick(o); o.InventoryAge = 0 })
	if d := h.configure(l.config(hosts...)).errors(); len(d) > 0 {
		l.t.Fatal(d)
	}
	return h
}

// journal is what happened so far: every cmdlet call and every event.
func (l *testLab) journal() []lab.JournalEntry { return l.server.Lab().Journal() }

// since is the part of the journal behind seq.
func (l *testLab) since(seq int64) []lab.JournalEntry {
	var out []lab.JournalEntry
	for _, e := range l.journal() {
		if e.Seq > seq {
			out = append(out, e)
		}
	}
	return out
}

// seq is the number of the last entry of the journal.
func (l *testLab) seq() int64 {
	j := l.journal()
	if len(j) == 0 {
		return 0
	}
	return j[len(j)-1].Seq
}

// changes are the calls of the journal that are no Get- cmdlets and not out of band: what the provider
// did to the lab.
func changes(entries []lab.JournalEntry) []string {
	var out []string
	for _, e := range entries {
		if e.Cmdlet != "" && !e.OutOfBand && !readsOnly(e.Cmdlet) {
			out = append(out, fmt.Sprintf("%s %s: %s %v", e.Host, e.Target, e.Cmdlet, e.Parameters))
		}
	}
	return out
}

func readsOnly(cmdlet string) bool {
	verb, _, _ := strings.Cut(cmdlet, "-")
	return slices.Contains([]string{"Get", "Test", "Measure", "Select", "Where"}, verb) ||
		slices.Contains([]string{"New-Object", "New-PSSession", "Remove-PSSession"}, cmdlet)
}

// restarts counts the restart events among entries by kind: net_adapter_restart, vm_restart, …
func restarts(entries []lab.JournalEntry) map[string]int {
	out := map[string]int{}
	for _, e := range entries {
		if strings.HasSuffix(e.Event, "_restart") {
			out[e.Event]++
		}
	}
	return out
}

// unchanged fails the test if f changes anything on the lab.
func (l *testLab) unchanged(f func()) {
	l.t.Helper()
	seq := l.seq()
	f()
	if c := changes(l.since(seq)); len(c) > 0 {
		l.t.Errorf("nothing was to be changed, but:\n%s", strings.Join(c, "\n"))
	}
}

// state is the whole lab, as GET /state prints it.
func (l *testLab) state() string {
	l.t.Helper()
	s, err := l.server.Lab().State()
	must(l.t, err)
	return string(s)
}

// settledState is the state once it is as wanted, or what it is after a while.
func (l *testLab) settledState(want string) string {
	l.t.Helper()
	return eventually(want, l.state)
}

// eventually looks until it sees what is wanted: a virtual function comes back some milliseconds after a restart.
// Where it does not, it gives what was seen last.
func eventually(want string, look func() string) string {
	deadline := time.Now().Add(3 * time.Second)
	for {
		if got := look(); got == want || time.Now().After(deadline) {
			return got
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// metrics are the counters of the doors.
func (l *testLab) metrics() simulator.Metrics { return l.server.Metrics() }

// fault makes trouble.
func (l *testLab) fault(rules ...door.Rule) {
	l.t.Helper()
	must(l.t, l.server.AddFaults(rules...))
}

// cmdlet runs a cmdlet as somebody else would on the machine: drift. target is "host" or "guest:<VM>".
func (l *testLab) cmdlet(host, target, name string, parameters object) {
	l.t.Helper()
	body, err := json.Marshal(object{"host": host, "target": target, "cmdlet": name, "parameters": parameters})
	must(l.t, err)
	resp, err := http.Post(l.ready.Control+"/cmdlet", "application/json", bytes.NewReader(body))
	must(l.t, err)
	defer resp.Body.Close()
	var answer struct {
		Error  string `json:"error"`
		Errors []any  `json:"errors"`
	}
	must(l.t, json.NewDecoder(resp.Body).Decode(&answer))
	if resp.StatusCode != http.StatusOK || answer.Error != "" || len(answer.Errors) > 0 {
		l.t.Fatalf("%s on %s %s: %s %s %v", name, host, target, resp.Status, answer.Error, answer.Errors)
	}
}
