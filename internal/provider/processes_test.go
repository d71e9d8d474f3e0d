package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
)

// TestProcessesOfRuns: with max_sessions = 1 each run of the provider starts one PowerShell process on a host,
// whatever it does there, leaves no shell behind, and a second apply changes nothing.
func TestProcessesOfRuns(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722")
	before := l.state()
	x := newInstalled(t, `
terraform {
  required_providers {
    hyperv = { source = "hyperv-rdma/hyperv" }
  }
}
`+providerHCL(t, merged(l.config(), object{"max_sessions": 1}))+`
resource "hyperv_nic_rdma_settings" "x" {
  for_each          = toset(["hv1", "hv2"])
  host              = each.key
  net_adapter_names = ["iWARP 1"]
  rdma_max_vfs      = 8
}
resource "hyperv_iov_switch" "x" {
  for_each            = { a = ["hv1", "iWARP 1"], b = ["hv1", "iWARP 2"], c = ["hv2", "iWARP 1"], d = ["hv2", "iWARP 2"] }
  host                = each.value[0]
  name                = each.key
  net_adapter_names   = [each.value[1]]
  allow_management_os = false
  depends_on          = [hyperv_nic_rdma_settings.x]
}
resource "hyperv_vm_network_adapter" "x" {
  for_each    = { vm1 = "a", vm2 = "b" }
  host        = "hv1"
  vm_name     = each.key
  name        = "R"
  switch_name = hyperv_iov_switch.x[each.value].name
}
resource "hyperv_vm_network_adapter_rdma" "x" {
  for_each              = hyperv_vm_network_adapter.x
  host                  = "hv1"
  vm_name               = each.value.vm_name
  vm_network_adapter_id = each.value.adapter_id
  iov_weight            = 100
  rdma_weight           = 100
}
resource "hyperv_guest_rdma_enablement" "x" {
  for_each              = hyperv_vm_network_adapter_rdma.x
  host                  = "hv1"
  vm_name               = each.value.vm_name
  vm_network_adapter_id = each.value.adapter_id
}
`)
	for _, step := range []struct {
		name      string
		args      []string
		processes int64 // on each host
		changes   bool
		says      string
	}{
		{"plan of what is not there reads nothing", []string{"plan", "-input=false", "-out=lab.tfplan"}, 0, false, "to add"},
		{"apply", []string{"apply", "-input=false", "lab.tfplan"}, 1, true, "Apply complete! Resources: 12 added"},
		{"second plan", []string{"plan", "-input=false", "-detailed-exitcode"}, 1, false, "No changes"},
		{"second apply", []string{"apply", "-input=false", "-auto-approve"}, 1, false, "0 added, 0 changed, 0 destroyed"},
		{"plan to destroy", []string{"plan", "-input=false", "-destroy", "-out=lab.tfplan"}, 1, false, "12 to destroy"},
		{"destroy", []string{"apply", "-input=false", "lab.tfplan"}, 1, true, "12 destroyed"},
	} {
		was, seq := l.metrics(), l.seq()
		says(t, x.must(step.args...), step.says)
		now := l.metrics()
		for _, host := range l.hosts() {
			if got := now.Hosts[host].Processes - was.Hosts[host].Processes; got != step.processes {
				t.Errorf("%s: %d PowerShell processes on %s, want %d", step.name, got, host, step.processes)
			}
			if now.Hosts[host].Shells != 0 {
				t.Errorf("%s: %d shells are left on %s", step.name, now.Hosts[host].Shells, host)
			}
		}
		if c := changes(l.since(seq)); (len(c) > 0) != step.changes {
			t.Errorf("%s: changes:\n%s", step.name, strings.Join(c, "\n"))
		}
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// TestProcessOfOneRun: the same in one run that does everything, on either engine: one process until the provider
// is closed, and then no shell.
func TestProcessOfOneRun(t *testing.T) {
	for _, engine := range []string{simulator.EngineNative, simulator.EnginePowerShell} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			l := startLabOn(t, engine, "intel-x722", onIovSwitch)
			h := newHarness(t, with(l.config("hv1"), "max_sessions", 1))
			var all []*instance
			var configs []object
			apply := func(typ string, config object) {
				i := h.resource(typ)
				mustApply(t, i, config)
				all, configs = append(all, i), append(configs, config)
			}
			apply(nicType, object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
			apply(switchType, object{"name": "S", "net_adapter_names": list{"iWARP 2"}, "allow_management_os": false})
			apply(adapterType, object{"vm_name": "vm2", "name": "A", "switch_name": "S"})
			apply(rdmaType, object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
			apply(guestType, guestConfig(nil))
			l.unchanged(func() {
				for n, i := range all {
					i.settled(configs[n])
					mustApply(t, i, configs[n])
				}
			})
			count := func() string {
				m := l.metrics().Hosts["hv1"]
				return fmt.Sprintf("%d processes in %d shells, %d open", m.Processes, m.ShellsCreated, m.Shells)
			}
			if got, want := count(), "1 processes in 1 shells, 1 open"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			h.close()
			if got, want := count(), "1 processes in 1 shells, 0 open"; got != want {
				t.Errorf("closed: %s, want %s", got, want)
			}
		})
	}
}
