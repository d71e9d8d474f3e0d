package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// another is the same program in a folder of its own.
func (x *installed) another(t testing.TB, config string, env ...string) *installed {
	t.Helper()
	y := &installed{t: t, cli: x.cli, dir: t.TempDir(), env: append(x.env[:len(x.env):len(x.env)], env...)}
	must(t, os.WriteFile(filepath.Join(y.dir, "main.tf"), []byte(config), 0o600))
	return y
}

// hostOnly is a configuration of one switch and the settings below it, with little patience.
func (l *testLab) hostOnly() string {
	l.t.Helper()
	return `
terraform {
  required_providers {
    hyperv = { source = "hyperv-rdma/hyperv" }
  }
}
` + providerHCL(l.t, merged(l.config("hv1"), object{"operation_timeout": "1s", "connect_timeout": "2s", "retry_budget": "40s", "max_sessions": 1})) + `
resource "hyperv_nic_rdma_settings" "x" {
  host              = "hv1"
  net_adapter_names = ["iWARP 1"]
  rdma_max_vfs      = 8
}
resource "hyperv_iov_switch" "x" {
  host                = "hv1"
  name                = "S"
  net_adapter_names   = ["iWARP 1"]
  allow_management_os = false
  depends_on          = [hyperv_nic_rdma_settings.x]
}
`
}

// TestFaultsWithTerraform: a real Terraform applies a switch and settings while the way to the host fails. Each change
// is made once, the second plan is empty, and no shell stays behind any command.
func TestFaultsWithTerraform(t *testing.T) {
	t.Parallel()
	program := newInstalled(t, "")
	const disable = "Disable-NetAdapter"
	quiet := map[string]int{} // what an undisturbed run calls
	for _, x := range []struct {
		name   string
		rules  []door.Rule
		at     string        // a cmdlet during which the host goes away
		length time.Duration // for how long
		then   []door.Rule   // and what happens when it is back
		lost   bool          // the first apply may end with an error that says that a change may be done
	}{
		{name: "nothing"},
		{name: "a shell whose answer is lost", rules: []door.Rule{{Operation: door.OpCreate, Effect: door.DropAfter}}},
		{name: "a process whose answer is cut", rules: []door.Rule{{Operation: door.OpCommand, Effect: door.DropMid}}},
		{name: "too many shells for a while", rules: []door.Rule{{Operation: door.OpCreate, Effect: door.Quota, Count: 3}}},
		{name: "a change whose answer never comes", rules: []door.Rule{{Operation: door.OpReceive, Effect: door.Stall, Request: 4}}},
		{name: "every second request is dropped", rules: dropEverySecond()},
		{name: "503 for two seconds", rules: []door.Rule{{Operation: door.OpReceive, Effect: door.Unavailable, Request: 3, DurationMS: 2000}}},
		{name: "the shell is gone before a change", rules: []door.Rule{{Operation: door.OpSend, Effect: door.KillShell, Request: 5}}},
		{name: "the process ends behind the switch", rules: []door.Rule{{Cmdlet: "New-VMSwitch", Effect: door.KillProcess}}},
		{name: "the shell goes with a setting", rules: []door.Rule{{Cmdlet: "Set-NetAdapterAdvancedProperty", Effect: door.KillShell}}, lost: true},
		{name: "the host is away while its net adapters restart", at: disable, length: 6 * time.Second},
		{name: "and a page answers when it is back", at: disable, length: 3 * time.Second, then: []door.Rule{{Effect: door.UnauthorizedHTML, DurationMS: 2000}}},
		{name: "the shells are not deleted at once", rules: []door.Rule{{Operation: door.OpSignal, Effect: door.Stall, Count: -1}, {Operation: door.OpDelete, Effect: door.Busy}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if len(quiet) > 0 {
				t.Parallel()
			}
			l := startLab(t, "intel-x722")
			y := program.another(t, l.hostOnly())
			l.fault(x.rules...)
			if x.at != "" {
				l.blackOutAt(x.at, x.length, x.then...)
			}
			out, err := y.run(nil, "apply", "-auto-approve", "-input=false")
			if x.lost && err != nil {
				says(t, strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " "), "may or may not be done", "Plan again")
				out, err = y.run(nil, "apply", "-auto-approve", "-input=false")
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			l.noShells(time.Second)
			for _, rule := range l.server.Faults() {
				if rule.Count >= 0 {
					t.Errorf("it did not happen: %+v", rule)
				}
			}
			for _, cmdlet := range []string{"New-VMSwitch", "Set-NetAdapterAdvancedProperty", disable} {
				n := l.calls(cmdlet)
				if x.rules == nil && x.at == "" {
					quiet[cmdlet] = n
				}
				if n != quiet[cmdlet] || n == 0 {
					t.Errorf("%s was called %d times instead of %d", cmdlet, n, quiet[cmdlet])
				}
			}
			l.server.ClearFaults()
			if out := y.must("plan", "-input=false", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
				t.Errorf("the second plan is not empty:\n%s", out)
			}
			y.must("destroy", "-auto-approve", "-input=false")
			l.noShells(time.Second)
		})
	}
}

func dropEverySecond() []door.Rule {
	var rules []door.Rule
	for i := 1; i < 24; i += 2 {
		rules = append(rules, door.Rule{Effect: door.DropBefore, Request: i})
	}
	return rules
}

// TestDebugLog: with TF_LOG=debug each batch is told with host, cmdlets and milliseconds, and neither a parameter nor
// a password is in what the provider writes.
func TestDebugLog(t *testing.T) {
	t.Parallel()
	const marker = "Mark3r Ü'$(x)"
	l := startLab(t, "intel-x722")
	log := filepath.Join(t.TempDir(), "log")
	x := newInstalled(t, strings.Replace(l.hostOnly(), `name                = "S"`, fmt.Sprintf("name  = \"S\"\n  notes = %q", marker), 1),
		"TF_LOG_PROVIDER=debug", "TF_LOG_PATH="+log)
	x.must("apply", "-auto-approve", "-input=false")
	data, err := os.ReadFile(log)
	must(t, err)
	text := string(data)
	batch := regexp.MustCompile(`batch of cmdlets ran:.*`)
	batches := batch.FindAllString(text, -1)
	if len(batches) < 3 {
		t.Fatalf("%d batches in the log\n%s", len(batches), text)
	}
	made := false
	for _, b := range batches {
		if !regexp.MustCompile(`\bhost=hv1\b`).MatchString(b) || !regexp.MustCompile(`\bmilliseconds=\d+`).MatchString(b) || !regexp.MustCompile(`\bcmdlets="?[A-Z][a-z]+-`).MatchString(b) {
			t.Errorf("%s", b)
		}
		made = made || strings.Contains(b, "New-VMSwitch")
	}
	if !made {
		t.Errorf("New-VMSwitch is in no batch:\n%s", strings.Join(batches, "\n"))
	}
	for _, hidden := range []string{"Mark3r", l.ready.Hosts[0].Password} {
		if strings.Contains(text, hidden) {
			t.Errorf("%q is in the log", hidden)
		}
	}
}
