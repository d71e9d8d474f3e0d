package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain finds the Terraform CLI before the acceptance tests look for one: terraform-plugin-testing
// would try to download it, and end the test binary, unit tests included, where it cannot.
func TestMain(m *testing.M) {
	if cli, version := findCLI(); cli == "" {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "No terraform and no tofu found; acceptance tests are required where CI is set.")
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "No terraform and no tofu found: acceptance tests are skipped, nothing was tried with a real Terraform.")
		os.Unsetenv("TF_ACC")
	} else {
		os.Setenv("TF_ACC", "1")
		os.Setenv("TF_ACC_TERRAFORM_PATH", cli)
		os.Setenv("TF_ACC_PROVIDER_NAMESPACE", "hyperv-rdma")
		os.Setenv("TF_CLI_CONFIG_FILE", os.DevNull)
		os.Setenv("CHECKPOINT_DISABLE", "1")
		if strings.HasPrefix(version, "OpenTofu") {
			os.Setenv("TF_ACC_PROVIDER_HOST", "registry.opentofu.org")
		}
	}
	for _, name := range os.Environ() {
		// The provider reads these; a developer's own must not reach the tests.
		if name, _, _ = strings.Cut(name, "="); strings.HasPrefix(name, "HYPERV_") && !strings.HasPrefix(name, "HYPERV_ACC_") && !strings.HasPrefix(name, "HYPERV_TEST_") {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// findCLI gives an absolute path and what the CLI says about itself.
func findCLI() (cli, version string) {
	built, err := filepath.Abs("../../.cache/bin/tofu")
	if err != nil {
		built = ""
	}
	for _, candidate := range []string{os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform", "tofu", built} {
		if candidate == "" {
			continue
		}
		found, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}
		if found, err = filepath.Abs(found); err != nil {
			continue
		}
		if out, err := exec.Command(found, "version").Output(); err == nil {
			return found, string(out)
		}
	}
	return "", ""
}
