package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const noChanges = "no changes"

// planFile holds the values of variables, so it is removed as soon as it is applied.
const planFile = "demo.tfplan"

// terraform is a lab's configuration, ready to be applied.
type terraform struct {
	cli, dir string
	env      []string // of every command
	secrets  []string // NAME=value
	log      string
}

// prepareTerraform copies the lab and what it needs, and writes the CLI configuration and the variables.
func prepareTerraform(ctx context.Context, root, dir string, p programs, lab string, sim ready) (*terraform, error) {
	cli, err := findProgram(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform", "tofu", filepath.Join(root, ".cache", "bin", "tofu"))
	if err != nil {
		return nil, errors.New("no terraform and no tofu on PATH: set TF_ACC_TERRAFORM_PATH, or use make demo, which builds OpenTofu")
	}
	for _, part := range []string{"modules", filepath.Join("labs", lab)} {
		if err := copyConfiguration(filepath.Join(root, "examples", part), filepath.Join(dir, "examples", part)); err != nil {
			return nil, err
		}
	}
	t := &terraform{cli: cli, dir: filepath.Join(dir, "examples", "labs", lab), log: filepath.Join(dir, "terraform.log")}
	rc := filepath.Join(dir, "terraform.rc")
	// With dev_overrides there is no init, which would ask a registry. A name without a host means the
	// default registry of whichever CLI reads it.
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"hyperv-rdma/hyperv\" = %q\n  }\n  direct {}\n}\n", p.providerDir)
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		return nil, err
	}
	variables, secrets, err := labVariables(sim)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(t.dir, "terraform.tfvars.json"), variables, 0o600); err != nil {
		return nil, err
	}
	t.secrets = secrets
	t.env = append(cleanEnvironment(os.Environ()), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	_, err = t.run(ctx, "get")
	return t, err
}

// cleanEnvironment drops what would change the demo: the user's own settings of Terraform and the provider.
func cleanEnvironment(environ []string) []string {
	var kept []string
	for _, e := range environ {
		if strings.HasPrefix(e, "TF_LOG") || !strings.HasPrefix(e, "TF_") && !strings.HasPrefix(e, "HYPERV_") && !strings.HasPrefix(e, "CHECKPOINT_") {
			kept = append(kept, e)
		}
	}
	return kept
}

func (t *terraform) plan(ctx context.Context) ([]change, error) { return t.planned(ctx) }
func (t *terraform) planDestroy(ctx context.Context) ([]change, error) {
	return t.planned(ctx, "-destroy")
}

func (t *terraform) planned(ctx context.Context, args ...string) ([]change, error) {
	lines, err := t.run(ctx, append([]string{"plan", "-json", "-input=false", "-out=" + planFile}, args...)...)
	if err != nil {
		return nil, err
	}
	text, err := t.output(ctx, "show", "-json", planFile)
	if err != nil {
		return nil, err
	}
	changes, err := readPlan(text)
	if err != nil {
		return nil, err
	}
	addWarnings(changes, readDiagnostics(lines, "warning"))
	return changes, nil
}

func (t *terraform) apply(ctx context.Context) error {
	_, err := t.run(ctx, "apply", "-json", "-input=false", planFile)
	return errors.Join(err, os.Remove(filepath.Join(t.dir, planFile)))
}

// secondPlan says "no changes", or what the plan would do.
func (t *terraform) secondPlan(ctx context.Context) (string, error) {
	_, err := t.run(ctx, "plan", "-json", "-input=false", "-detailed-exitcode", "-out="+planFile)
	var exit *exec.ExitError
	changed := errors.As(err, &exit) && exit.ExitCode() == 2
	if err != nil && !changed {
		return "", err
	}
	defer os.Remove(filepath.Join(t.dir, planFile))
	if !changed {
		return noChanges, nil
	}
	text, err := t.output(ctx, "show", "-json", planFile)
	if err != nil {
		return "", err
	}
	changes, err := readPlan(text)
	if err != nil {
		return "", err
	}
	if len(changes) == 0 {
		return "changed outputs", nil
	}
	var wants []string
	for _, c := range changes {
		wants = append(wants, c.Action+" "+c.Address)
	}
	return strings.Join(wants, ", "), nil
}

func (t *terraform) readiness(ctx context.Context) (map[string]readiness, error) {
	text, err := t.output(ctx, "output", "-json", "readiness")
	if err != nil {
		return nil, err
	}
	var guests map[string]readiness
	if err := json.Unmarshal(text, &guests); err != nil {
		return nil, fmt.Errorf("the lab's output readiness is no map of objects: %w", err)
	}
	return guests, nil
}

// run is a command whose output goes to the log; an error carries what the command said.
func (t *terraform) run(ctx context.Context, args ...string) ([]byte, error) {
	text, err := t.output(ctx, args...)
	if logErr := t.append(args, text); logErr != nil {
		return nil, errors.Join(err, logErr)
	}
	return text, err
}

func (t *terraform) output(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.cli, args...)
	cmd.Dir, cmd.Env = t.dir, append(t.env[:len(t.env):len(t.env)], t.secrets...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it then stops its providers
	cmd.WaitDelay = 30 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(t.cli), args[0], err, explain(stdout.Bytes(), stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// explain is what a failed command said: its error diagnostics, or all that it printed.
func explain(stdout, stderr []byte) string {
	var text strings.Builder
	for _, d := range readDiagnostics(stdout, "error") {
		text.WriteString("Error: " + d.Diagnostic.Summary + "\n")
		if d.Diagnostic.Address != "" {
			text.WriteString("  at " + d.Diagnostic.Address + "\n")
		}
		text.WriteString(d.Diagnostic.Detail + "\n")
	}
	if text.Len() > 0 {
		return text.String()
	}
	return string(stdout) + string(stderr)
}

func (t *terraform) append(args []string, text []byte) error {
	f, err := os.OpenFile(t.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "$ %s %s\n%s\n", t.cli, strings.Join(args, " "), text)
	return errors.Join(err, f.Close())
}
