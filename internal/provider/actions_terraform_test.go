package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
)

// nextTerraform is a Terraform that has actions. The one of the other tests may be older.
func nextTerraform(t *testing.T) (*terraform, string) {
	t.Helper()
	const name = "HYPERV_TEST_TERRAFORM_NEXT"
	path := os.Getenv(name)
	if path == "" {
		t.Skip(name + " names no Terraform of 1.14.1 or later: actions were not tried with a real Terraform")
	}
	dir := t.TempDir()
	cli, err := tfexec.NewTerraform(dir, path)
	must(t, err)
	return &terraform{t: t, dir: dir, cli: cli}, path
}

// run runs a command that terraform-exec does not know, and gives what it prints.
func (tf *terraform) run(path string, args ...string) string {
	tf.t.Helper()
	var out []byte
	tf.served(func(ctx context.Context, r tfexec.ReattachInfo) error {
		reattach, err := json.Marshal(r)
		must(tf.t, err)
		c := exec.CommandContext(ctx, path, args...)
		c.Dir, c.Env = tf.dir, append(os.Environ(), "TF_REATTACH_PROVIDERS="+string(reattach), "TF_IN_AUTOMATION=1")
		if out, err = c.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	return string(out)
}

// TestTerraformActions: an action runs when a resource changes, and by hand, and Terraform shows its steps.
func TestTerraformActions(t *testing.T) {
	tf, path := nextTerraform(t)
	l := startLab(t, "intel-x722", onIovSwitch)
	tf.write("main.tf", l.hcl("hv1")+`
terraform {
  required_providers {
    hyperv = { source = "hyperv-rdma/hyperv" }
  }
}
variable "driver" { type = string }
action "hyperv_restart_net_adapter" "rdma" {
  config {
    net_adapter_names = ["iWARP 1"]
  }
}
action "hyperv_restart_vm" "vm1" {
  config {
    vm_name = "vm1"
  }
}
resource "terraform_data" "driver" {
  input = var.driver
  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.hyperv_restart_net_adapter.rdma]
    }
  }
}
`)
	counts := func() (netAdapters, vms int) {
		got := restarts(l.since(0))
		return got["net_adapter_restart"], got["vm_restart"]
	}
	tf.init()
	apply := func(driver string, more ...string) string {
		return tf.run(path, append([]string{"apply", "-auto-approve", "-no-color", "-input=false", "-var=driver=" + driver}, more...)...)
	}
	apply("1")
	if n, v := counts(); n != 0 || v != 0 {
		t.Errorf("a create restarted %d ports and %d VMs", n, v)
	}
	if out := apply("2"); !strings.Contains(out, disablesBothPorts) {
		t.Errorf("the steps are not shown: %s", out)
	}
	if n, v := counts(); n != 2 || v != 0 {
		t.Errorf("an update restarted %d ports and %d VMs, want 2 ports", n, v)
	}
	if out := apply("2", "-invoke=action.hyperv_restart_vm.vm1"); !strings.Contains(out, "runs again after") {
		t.Errorf("the steps are not shown: %s", out)
	}
	if n, v := counts(); n != 2 || v != 1 {
		t.Errorf("in all %d ports and %d VMs were restarted, want 2 and 1", n, v)
	}
}
