package lab

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseScenario(t *testing.T) {
	const hosts = "hosts:\n  - name: h\n    devices: [{profile: generic, ports: [{name: Ethernet, management: true}]}]\n"
	for _, tt := range []struct {
		name, text, problem string
	}{
		{"smallest", hosts, ""},
		{"JSON", `{"hosts":[{"name":"h","devices":[{"profile":"generic","ports":[{"name":"a"}]}]}]}`, ""},
		{"no hosts", "name: x\n", "missing property 'hosts'"},
		{"unknown field", hosts + "colour: red\n", "colour"},
		{"unknown profile", strings.Replace(hosts, "generic", "acme", 1), "profile"},
		{"unknown value of an open question", hosts + "unknowns: {rdma_weight_on_running_vm: maybe}\n", "rdma_weight_on_running_vm"},
		{"negative time", hosts + "timing: {guest_boot: -1}\n", "guest_boot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseScenario([]byte(tt.text))
			switch {
			case tt.problem == "" && err != nil:
				t.Error(err)
			case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
				t.Errorf("error %v, want one about %s", err, tt.problem)
			}
		})
	}
}

func TestScenarioDefaultsStayWhereAFileSaysLess(t *testing.T) {
	s, err := ParseScenario([]byte("hosts:\n  - name: h\n    devices: [{profile: generic, ports: [{name: a}]}]\ntiming: {guest_boot: 0}\nunknowns: {iov_blockers: [router_guard]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Timing.GuestBoot != 0 || s.Timing.SMBRefresh != 20 {
		t.Errorf("timing %+v", s.Timing)
	}
	if strings.Join(s.Unknowns.IovBlockers, " ") != "router_guard" || s.Unknowns.SavedVMHardware != "reject" {
		t.Errorf("unknowns %+v", s.Unknowns)
	}
	if s.Credentials.Host.Username != "Administrator" {
		t.Errorf("credentials %+v", s.Credentials.Host.Username)
	}
}

func TestScenariosThatContradictThemselves(t *testing.T) {
	device := "devices: [{profile: generic, ports: [{name: a}]}]"
	for _, tt := range []struct{ name, host, problem string }{
		{"two adapters of a name", "devices: [{profile: generic, ports: [{name: a}, {name: A}]}]", "two of that name"},
		{"switch on nothing", device + "\n    switches: [{name: s, ports: [b]}]", `no net adapter "b"`},
		{"facts.md 24: one switch per adapter", device + "\n    switches: [{name: s, ports: [a]}, {name: t, ports: [a]}]", "is bound to switch"},
		{"adapter on no switch", device + "\n    vms: [{name: v, adapters: [{switch: s}]}]", `no switch "s"`},
		{"address", "devices: [{profile: generic, ports: [{name: a, address: nowhere}]}]", "nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseScenario([]byte("hosts:\n  - name: h\n    " + tt.host + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := New(s); err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("error %v, want %s", err, tt.problem)
			}
		})
	}
}

func TestSchemaNamesEveryField(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatal("no JSON")
	}
	for _, field := range []string{"hosts", "vf_allocation", "iov_blockers", "recovery_needed", "rdma_max_vfs"} {
		if has := strings.Contains(string(text), `"`+field+`"`); has != (field != "rdma_max_vfs") {
			t.Errorf("field %s: %t", field, has)
		}
	}
}

func TestLoadScenarioNamesThePresets(t *testing.T) {
	if _, err := LoadScenario("no-such"); err == nil || !strings.Contains(err.Error(), "intel-e810") {
		t.Errorf("error %v", err)
	}
}
