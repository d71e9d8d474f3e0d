//go:build unix

package provider_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inExample copies a folder of examples with its modules for the installed program.
func (x *installed) inExample(t *testing.T, l *testLab, example string) *installed {
	t.Helper()
	y := x.another(t, "")
	must(t, os.Remove(filepath.Join(y.dir, "main.tf")))
	for _, part := range []string{"modules", example} {
		must(t, os.CopyFS(filepath.Join(y.dir, part), os.DirFS(filepath.Join("../../examples", part))))
	}
	y.dir = filepath.Join(y.dir, example)
	terraformIn(t, y.dir).write("terraform.tfvars.json", l.labVariables(nil))
	y.must("get")
	return y
}

// children are the processes that a process has started.
func children(t testing.TB, pid int) (out []int) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "pid=,ppid=").Output()
	must(t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(fields[0])
			must(t, err)
			out = append(out, child)
		}
	}
	return out
}

// killed runs a command and kills the provider, or Terraform with it, once the lab has had so many requests more. It says
// whether the command failed for that: a provider that is between two phases of a command may not be missed.
func (x *installed) killed(l *testLab, requests int64, all bool, args ...string) bool {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), x.cli, append(args, "-no-color", "-input=false", "-auto-approve")...)
	cmd.Dir, cmd.Env = x.dir, x.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	was := l.metrics().Requests
	must(x.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for l.metrics().Requests-was < requests {
		select {
		case err := <-ended:
			x.t.Fatalf("it ended before its request %d: %v", requests, err)
		case <-time.After(time.Millisecond):
		}
	}
	if all {
		must(x.t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	} else {
		for _, pid := range children(x.t, cmd.Process.Pid) {
			must(x.t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	var exit *exec.ExitError
	err := <-ended
	if err != nil && !errors.As(err, &exit) {
		x.t.Errorf("%q after SIGKILL: %v", args, err)
	}
	return err != nil
}

// TestCrashWithTerraform: the provider of a real Terraform is killed with SIGKILL in the middle of an apply, with
// Terraform or without, and of a destroy of a whole lab. The next command goes on from there.
func TestCrashWithTerraform(t *testing.T) {
	program := newInstalled(t, "")
	points := []float64{0.3, 0.5, 0.7} // of the apply, and of the destroy: twelve in all
	if os.Getenv(crashStride) != "" {
		points = []float64{0.3, 0.4, 0.5, 0.6, 0.7}
	}
	hits, tries := 0, 0
	kill := func(y *installed, l *testLab, requests int64, all bool, command string) {
		tries++
		if y.killed(l, requests, all, command) {
			hits++
		}
	}
	for n, x := range crashLabs() {
		t.Run(x.example, func(t *testing.T) {
			l := startLab(t, x.preset)
			before := l.state()
			y := program.inExample(t, l, x.example)
			count := func(args ...string) int64 {
				was := l.metrics().Requests
				y.must(append(args, "-auto-approve", "-input=false")...)
				return l.metrics().Requests - was
			}
			up, down := count("apply"), count("destroy")
			for i, at := range points {
				all := (i+n)%2 == 0
				kill(y, l, int64(at*float64(up)), all, "apply")
				y.must("apply", "-auto-approve", "-input=false", "-lock-timeout=10s")
				says(t, y.must("plan", "-input=false", "-detailed-exitcode"), "No changes")
				// Not Terraform: it writes its state in place, and one that is killed at that has none (what it then destroys
				// is nothing, and no provider can help).
				kill(y, l, int64(at*float64(down)), false, "destroy")
				y.must("destroy", "-auto-approve", "-input=false", "-lock-timeout=10s")
				if after := l.settledState(before); after != before {
					t.Fatalf("killed at %v: the lab is not as it was:\n%s", at, textDiff(before, after))
				}
			}
		})
	}
	if tries >= 12 && hits < 10 {
		t.Errorf("%d of %d commands were killed in their middle, want 10", hits, tries)
	}
}
