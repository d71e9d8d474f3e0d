package provider_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is a real Terraform with the provider as a program of its own, as users run both: the provider's
// process begins and ends with each command, and its log goes into Terraform's.
type installed struct {
	t   testing.TB
	cli string
	dir string
	env []string
	// output is everything that the commands printed.
	output bytes.Buffer
}

// newInstalled builds the provider and prepares a folder with a configuration. Without a CLI the test skips.
func newInstalled(t testing.TB, config string, env ...string) *installed {
	t.Helper()
	x := &installed{t: t, cli: os.Getenv("TF_ACC_TERRAFORM_PATH"), dir: t.TempDir()}
	if x.cli == "" {
		t.Skip("no terraform and no tofu found: not tested with a real Terraform")
	}
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(programs, "terraform-provider-hyperv"), "../..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the provider: %v\n%s", err, out)
	}
	rc := filepath.Join(programs, "terraform.rc")
	// With dev_overrides there is no init, which would ask a registry.
	must(t, os.WriteFile(rc, []byte(fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"hyperv-rdma/hyperv\" = %q\n  }\n}\n", programs)), 0o600))
	must(t, os.WriteFile(filepath.Join(x.dir, "main.tf"), []byte(config), 0o600))
	for _, e := range os.Environ() { // a developer's own settings must not reach the test
		if !strings.HasPrefix(e, "TF_") && !strings.HasPrefix(e, "HYPERV_") {
			x.env = append(x.env, e)
		}
	}
	x.env = append(append(x.env, "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"), env...)
	return x
}

// run runs a command of the CLI; env is added for this command alone. What it printed is also kept.
func (x *installed) run(env []string, args ...string) (string, error) {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), x.cli, append(args, "-no-color")...)
	cmd.Dir, cmd.Env = x.dir, append(x.env[:len(x.env):len(x.env)], env...)
	out, err := cmd.CombinedOutput()
	x.output.Write(out)
	return string(out), err
}

// must runs a command that has to succeed.
func (x *installed) must(args ...string) string {
	x.t.Helper()
	out, err := x.run(nil, args...)
	if err != nil {
		x.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}
