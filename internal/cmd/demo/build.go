package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs are what the demo builds: the provider must be alone in its folder, which Terraform is pointed to.
type programs struct{ providerDir, simulator string }

func (r *run) build(ctx context.Context) (programs, error) {
	if err := os.RemoveAll(r.dir); err != nil {
		return programs{}, err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return programs{}, err
	}
	bin := filepath.Join(r.root, ".cache", "demo")
	p := programs{providerDir: filepath.Join(bin, "provider"), simulator: filepath.Join(bin, "hypervsim")}
	r.say("Building provider and simulator")
	for output, pkg := range map[string]string{
		filepath.Join(p.providerDir, "terraform-provider-hyperv"): ".",
		p.simulator: "./cmd/hypervsim",
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", output, pkg)
		cmd.Dir = r.root
		if text, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
		}
	}
	return p, nil
}

// findProgram gives the absolute path of the first program that exists; a name that is set must.
func findProgram(set string, names ...string) (string, error) {
	if set != "" {
		names = []string{set}
	}
	var err error
	for _, name := range names {
		var path string
		if path, err = exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", err
}
