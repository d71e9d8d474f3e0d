package provider_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// exampleLab is one of the example labs, and what its apply must do.
type exampleLab struct {
	name, example, preset string
	variables             object
	ports                 []string // of the RDMA device
	up, down              []orderRule
	bounces               int // of the device on each host: going up, and going down
	resources             int
	engines               []string
	importIDs             map[string]string // one object of each resource: address and id
}

func exampleLabs() []exampleLab {
	vm := `module.guest["vm1"].`
	ids := func(port, sw, key string) map[string]string {
		return map[string]string{
			`module.host["hv1"].hyperv_nic_rdma_settings.this`:                "hv1/" + port,
			fmt.Sprintf(`module.host["hv1"].hyperv_iov_switch.this[%q]`, key): "hv1/" + sw,
			`module.host["hv1"].hyperv_net_adapter_restart.this`:              "hv1/" + port,
			vm + "hyperv_vm_network_adapter.rdma":                             "hv1/vm1/RDMA",
			vm + "hyperv_vm_network_adapter_rdma.rdma":                        "hv1/vm1/RDMA",
			vm + "hyperv_guest_rdma_enablement.rdma":                          "hv1/vm1/RDMA",
		}
	}
	both := []string{simulator.EngineNative, simulator.EnginePowerShell}
	roce := exampleLab{
		engines: both, name: "RoCE", example: "labs/mellanox-roce", preset: "mellanox-cx3pro", ports: []string{"MyRDMANIC", "MyRDMANIC 2"},
		up: procedureA(false), down: downA(), bounces: 1, resources: 20, importIDs: ids("MyRDMANIC 2", "w2k16-switch", "W2K16-Switch"),
	}
	roce.importIDs[`hyperv_dcb.roce["hv1"]`] = "hv1"
	team := roce
	team.name, team.variables, team.up, team.engines = "RoCE with a team (SET)", object{"team": true}, procedureA(true), both[:1]
	return []exampleLab{
		{
			engines: both, name: "iWARP", example: "labs/intel-iwarp", preset: "intel-x722", ports: []string{"iWARP 1", "iWARP 2"},
			up: procedureB(), down: downB(), bounces: 1, resources: 20, importIDs: ids("iWARP 2", "iWARP-Switch-1", "iWARP-Switch-1"),
		},
		roce, team,
	}
}

// vmsByHost are the VMs of every preset.
func vmsByHost() map[string][]string {
	return map[string][]string{"hv1": {"vm1", "vm2"}, "hv2": {"vm3", "vm4"}}
}

// TestLabs is the main job: both procedures from nothing to RDMA in four guests, and back, with a real Terraform.
func TestLabs(t *testing.T) {
	for _, x := range exampleLabs() {
		for _, engine := range x.engines {
			t.Run(engine+" "+x.name, func(t *testing.T) {
				t.Parallel()
				l := startLabOn(t, engine, x.preset)
				tf := newTerraform(t, x.example, l.labVariables(x.variables))
				if engine == simulator.EnginePowerShell { // each session is a process: as few as will do
					tf.write("sessions_override.tf", "provider \"hyperv\" {\n  max_sessions = 1\n}\n")
				}
				before, lan := l.state(), l.lan()

				tf.apply(0)
				up := l.journal()
				known(t, up)
				inOrder(t, up, vmsByHost(), x.up)
				l.checkGuests(tf, x.resources)
				for _, host := range l.hosts() {
					if n := bounces(t, up, host, x.ports); n != x.bounces {
						t.Errorf("%s: the device was restarted %d times, want %d", host, n, x.bounces)
					}
				}
				if after := l.lan(); after != lan {
					t.Errorf("the LAN was touched:\n%s", textDiff(lan, after))
				}

				l.unchanged(func() {
					tf.settled()
					if engine == simulator.EngineNative { // each command with a real PowerShell takes 20 s of processor time
						tf.apply(0)
						x.imports(t, tf)
					}
				})

				seq := l.seq()
				tf.destroy(0)
				down := l.since(seq)
				known(t, down)
				inOrder(t, down, vmsByHost(), x.down)
				for _, host := range l.hosts() {
					if n := bounces(t, down, host, x.ports); n != x.bounces {
						t.Errorf("%s: the device was restarted %d times at destroy, want %d", host, n, x.bounces)
					}
				}
				after := l.state()
				if after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
				if strings.Contains(after, ledgerKey) {
					t.Error("the ledger is still there")
				}
				if n := restarts(l.journal())["vm_restart"] + restarts(l.journal())["host_restart"]; n != 0 {
					t.Errorf("%d restarts of VMs and hosts; none was asked for", n)
				}
			})
		}
	}
}

// labVariables are the variables of an example lab for the simulator.
func (l *testLab) labVariables(more object) object {
	hosts := object{}
	for _, h := range l.ready.Hosts {
		hosts[h.Name] = object{"address": h.Address, "port": h.HTTPSPort, "username": h.Username, "ca_file": h.CAFile}
	}
	v := object{"hosts": hosts, "password": l.ready.Hosts[0].Password, "guest_username": l.ready.GuestCredential.Username, "guest_password": l.ready.GuestCredential.Password}
	for name, value := range more {
		v[name] = value
	}
	return v
}

// checkGuests checks what Terraform says of the lab: every guest is ready, without recovery, and no secret is in the state.
func (l *testLab) checkGuests(tf *terraform, resources int) {
	l.t.Helper()
	readiness, _ := tf.outputs()["readiness"].(object)
	if len(readiness) != 4 {
		l.t.Errorf("readiness %v: want four guests", readiness)
	}
	for vm, r := range readiness {
		if got := r.(object); got["ready"] != true || got["stage"] != "smb_rdma_capable" || len(got["recovery_steps"].(list)) > 0 {
			l.t.Errorf("%s is not ready: %v", vm, got)
		}
	}
	if n := len(tf.state()); n != resources {
		l.t.Errorf("%d resources, want %d", n, resources)
	}
	text := tf.read("terraform.tfstate")
	for _, secret := range []string{l.ready.Hosts[0].Password, l.ready.GuestCredential.Password} {
		if strings.Contains(text, secret) {
			l.t.Error("a password is in the state")
		}
	}
}

// lan is what no apply and no destroy may touch: the ordinary switch with its port, the VMs' adapters on it,
// their net adapters in the guests, and the management net adapter.
func (l *testLab) lan() string {
	l.t.Helper()
	var all lab.State
	must(l.t, json.Unmarshal([]byte(l.state()), &all))
	var parts []any
	for _, h := range all.Hosts {
		parts = append(parts, h.Name, h.Devices[0], h.Switches[0], h.HostVNics, h.NetworkDirectAcrossIPSubnets)
		for _, vm := range h.VMs {
			parts = append(parts, vm.Name, vm.State, vm.Adapters[0], vm.Guest.Adapters[0])
		}
	}
	out, err := json.MarshalIndent(parts, "", " ")
	must(l.t, err)
	return string(out)
}

// imports imports one object of each resource by its id into an empty state, lets Terraform write the
// configuration, and wants a plan that changes nothing.
func (x exampleLab) imports(t *testing.T, tf *terraform) {
	t.Helper()
	want := tf.state()
	dir := t.TempDir()
	i := terraformIn(t, dir)
	i.write("terraform.tfvars.json", tf.read("terraform.tfvars.json"))
	for _, name := range []string{"versions.tf", "variables.tf"} {
		i.write(name, tf.read(name))
	}
	var blocks strings.Builder
	types := map[string]string{}
	for address, id := range x.importIDs {
		typ := want[address].Type
		types[typ] = address
		fmt.Fprintf(&blocks, "import {\n  to = %s.imported\n  id = %q\n}\n", typ, id)
	}
	i.write("import.tf", blocks.String())
	i.init()
	p, changed := i.plan(tfexec.GenerateConfigOut("generated.tf"))
	if changed && len(p.ResourceChanges) != len(types) {
		t.Errorf("imports: %s", describe(p))
	}
	for _, rc := range p.ResourceChanges {
		if rc.Change.Importing == nil || !rc.Change.Actions.NoOp() {
			t.Errorf("import of %s: %s", rc.Address, describe(p))
			continue
		}
		got := rc.Change.After.(object)
		if id := want[types[rc.Type]].AttributeValues["id"]; got["id"] != id {
			t.Errorf("import of %s gave id %v, want %v", rc.Type, got["id"], id)
		}
	}
	if len(types) != len(x.importIDs) {
		t.Errorf("imported %v, want one of each resource", sortedKeys(types))
	}
}

// TestLabJournals: both engines are asked the same. One operation at a time, in a lab without delays, so that
// nothing depends on time.
func TestLabJournals(t *testing.T) {
	for _, x := range exampleLabs()[:2] {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			journal := map[string][]string{}
			for _, engine := range []string{simulator.EngineNative, simulator.EnginePowerShell} {
				l := startLabOn(t, engine, x.preset, func(s *lab.Scenario) { s.Timing = lab.Timing{} })
				h := newHarness(t, with(l.config("hv1"), "max_sessions", 1))
				h.wholeLab(x.preset, "vm1", "vm2")
				journal[engine] = printed(l.journal())
			}
			a, b := journal[simulator.EngineNative], journal[simulator.EnginePowerShell]
			if !slices.Equal(a, b) {
				t.Errorf("the journals differ (%s | %s):\n%s", simulator.EngineNative, simulator.EnginePowerShell, textDiff(strings.Join(a, "\n"), strings.Join(b, "\n")))
			}
			if len(a) < 200 {
				t.Errorf("the journal has %d entries: that is no lab", len(a))
			}
		})
	}
}

// printed prints a journal without what differs by chance: numbers and times.
func printed(journal []lab.JournalEntry) []string {
	stamp := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	out := make([]string, len(journal))
	for i, e := range journal {
		parameters, _ := json.Marshal(e.Parameters)
		out[i] = stamp.ReplaceAllString(strings.TrimSpace(fmt.Sprint(e.Host, " ", e.Target, " ", e.Cmdlet, " ", string(parameters), " ", e.Error, e.Event, " ", e.Object, " ", e.Reason)), "(time)")
	}
	return out
}

// wholeLab makes a lab on hv1 with one guest for each VM named, and takes it down again, one call after the other.
func (h *harness) wholeLab(preset string, vms ...string) {
	h.t.Helper()
	nic, sw := rdmaHost(h.t, h, preset)
	all := []*instance{nic, sw}
	for _, vm := range vms {
		adapter, rdma, guest := h.resource(adapterType), h.resource(rdmaType), h.resource(guestType)
		mustApply(h.t, adapter, object{"vm_name": vm, "name": "R", "switch_name": "RDMA", "vlan": object{"access_vlan_id": 101}})
		weights := object{"vm_name": vm, "vm_network_adapter_id": adapter.state["adapter_id"], "iov_weight": 100}
		if preset != "mellanox-cx3pro" {
			weights["rdma_weight"] = 100
		}
		mustApply(h.t, rdma, weights)
		mustApply(h.t, guest, object{"vm_name": vm, "vm_network_adapter_id": adapter.state["adapter_id"]})
		all = append(all, adapter, rdma, guest)
	}
	for _, i := range slices.Backward(all) {
		mustApply(h.t, i, nil)
	}
}
