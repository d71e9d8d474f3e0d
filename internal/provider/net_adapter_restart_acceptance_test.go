package provider_test

import (
	"fmt"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// bouncesByHost counts the bounces of the RDMA device on each host.
func bouncesByHost(t testing.TB, journal []lab.JournalEntry, ports []string) string {
	t.Helper()
	return fmt.Sprintf("hv1 %d, hv2 %d", bounces(t, journal, "hv1", ports), bounces(t, journal, "hv2", ports))
}

// A lab in use: each change costs one restart of the devices that it is about, in the same apply, and no other.
func TestAccRestartsOfALabInUse(t *testing.T) {
	l := startLab(t, "intel-x722")
	tf := newTerraform(t, "labs/intel-iwarp", l.labVariables(nil))
	steps := []struct {
		name   string
		before func()
		want   string
	}{
		{"new", func() {}, "hv1 1, hv2 1"},
		{"nothing changed", func() {}, "hv1 0, hv2 0"},
		{"one port of one host drifted", func() {
			l.cmdlet("hv1", "host", "Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 2", "RegistryKeyword": "RdmaMaxVfsEnabled", "RegistryValue": "0", "NoRestart": true})
		}, "hv1 1, hv2 0"},
		{"more virtual functions everywhere", func() {
			tf.write("terraform.tfvars.json", l.labVariables(object{"rdma_max_vfs": 16}))
		}, "hv1 1, hv2 1"},
	}
	for _, x := range steps {
		x.before()
		seq := l.seq()
		tf.apply(0)
		journal := l.since(seq)
		if got := bouncesByHost(t, journal, iwarpPorts()); got != x.want {
			t.Errorf("%s: restarts of the devices: %s, want %s", x.name, got, x.want)
		}
		if n := restarts(journal)["vm_restart"]; n > 0 {
			t.Errorf("%s: %d VMs were restarted", x.name, n)
		}
		l.unchanged(tf.settled)
	}
	seq := l.seq()
	tf.destroy(0)
	if got := bouncesByHost(t, l.since(seq), iwarpPorts()); got != "hv1 1, hv2 1" {
		t.Errorf("destroy: restarts of the devices: %s, want one each", got)
	}
}

// A chain that loses a switch is restarted in the same apply; two switches under "auto" share their restarts.
func TestAccRestartsAreShared(t *testing.T) {
	for name, x := range map[string]struct {
		policy string
		want   []int // bounces of hv1's device: all up, one switch less, all down
	}{
		"manual, and one restart at the end": {"manual", []int{1, 1, 1}},
		"auto: settings, then both switches": {"auto", []int{2, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722")
			before := l.state()
			tf := terraformIn(t, t.TempDir())
			config := func(switches string) string {
				return `terraform {
  required_providers {
    hyperv = { source = "hyperv-rdma/hyperv" }
  }
}
` + l.hcl("hv1") + fmt.Sprintf(`
locals {
  policy   = %q
  switches = %s
}
resource "hyperv_nic_rdma_settings" "x" {
  net_adapter_names = ["iWARP 1", "iWARP 2"]
  profile           = "intel_x722"
  rdma_max_vfs      = 8
  restart_policy    = local.policy
}
resource "hyperv_iov_switch" "x" {
  for_each            = local.switches
  name                = each.key
  net_adapter_names   = [each.value]
  profile             = "intel_x722"
  allow_management_os = false
  restart_policy      = local.policy
  depends_on          = [hyperv_nic_rdma_settings.x]
}
resource "hyperv_net_adapter_restart" "x" {
  count             = local.policy == "manual" ? 1 : 0
  net_adapter_names = ["iWARP 1", "iWARP 2"]
  triggers = merge(
    { settings = hyperv_nic_rdma_settings.x.restart_trigger },
    { for name, switch in hyperv_iov_switch.x : name => switch.restart_trigger },
  )
}
`, x.policy, switches)
			}
			both := `{ A = "iWARP 1", B = "iWARP 2" }`
			tf.write("main.tf", config(both))
			tf.init()
			l.wantBounces(x.want[0], "all up", func() { tf.apply(0) })
			l.unchanged(tf.settled)
			tf.write("main.tf", config(`{ A = "iWARP 1" }`))
			l.wantBounces(x.want[1], "one switch less", func() { tf.apply(0) })
			l.unchanged(tf.settled)
			tf.write("main.tf", config(both))
			tf.apply(0)
			l.wantBounces(x.want[2], "all down", func() { tf.destroy(0) })
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}
