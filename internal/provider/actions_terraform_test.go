package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	v, _, err := cli.Version(t.Context(), true)
	must(t, err)
	if !hasActions(v.Core().Segments()) {
		t.Fatalf("%s names %s, which is Terraform %s: actions need 1.14.1 or later.", name, path, v)
	}
	return &terraform{t: t, dir: dir, cli: cli}, path
}

// hasActions says whether a Terraform of this version runs the actions of a provider as these tests need it.
func hasActions(version []int) bool { return slices.Compare(version, []int{1, 14, 1}) >= 0 }

func TestHasActions(t *testing.T) {
	for _, tt := range []struct {
		version []int
		want    bool
	}{
		{[]int{1, 11, 4}, false}, {[]int{1, 14, 0}, false}, {[]int{1, 14, 1}, true}, {[]int{1, 14, 10}, true}, {[]int{1, 15, 0}, true}, {[]int{2, 0, 0}, true}, {[]int{0, 15, 5}, false},
	} {
		if got := hasActions(tt.version); got != tt.want {
			t.Errorf("%v: %t", tt.version, got)
		}
	}
}

// TestOpenTofuWithActions: a CLI that knows no actions takes the provider all the same.
func TestOpenTofuWithActions(t *testing.T) {
	path := openTofu()
	if path == "" {
		t.Skip("no tofu found (TF_ACC_TERRAFORM_PATH, PATH, .cache/bin/tofu): the provider with its actions was not loaded in OpenTofu")
	}
	t.Setenv("TF_ACC_PROVIDER_HOST", "registry.opentofu.org")
	l := startLab(t, "intel-x722")
	before := l.state()
	dir := t.TempDir()
	cli, err := tfexec.NewTerraform(dir, path)
	must(t, err)
	tf := &terraform{t: t, dir: dir, cli: cli}
	tf.write("main.tf", l.hcl("hv1")+`
terraform {
  required_providers {
    hyperv = { source = "hyperv-rdma/hyperv" }
  }
}
resource "hyperv_nic_rdma_settings" "rdma" {
  net_adapter_names = ["iWARP 1"]
  rdma_max_vfs      = 8
}
`)
	tf.init()
	tf.apply(0)
	tf.settled()
	tf.destroy(0)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// openTofu finds an OpenTofu, "" if there is none.
func openTofu() string {
	built, err := filepath.Abs("../../.cache/bin/tofu")
	if err != nil {
		built = ""
	}
	for _, candidate := range []string{os.Getenv("TF_ACC_TERRAFORM_PATH"), "tofu", built} {
		if candidate == "" {
			continue
		}
		found, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}
		if out, err := exec.Command(found, "version").Output(); err == nil && strings.HasPrefix(string(out), "OpenTofu") {
			if found, err = filepath.Abs(found); err == nil {
				return found
			}
		}
	}
	return ""
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
