//go:build unix

package provider_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// interrupted runs a command and presses Ctrl-C, as in a terminal on Terraform and provider alike, once a cmdlet is
// called. It gives what was printed, and how long it took from then on.
func (x *installed) interrupted(l *testLab, cmdlet string, args ...string) (string, time.Duration) {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), x.cli, append(args, "-no-color", "-input=false")...)
	cmd.Dir, cmd.Env = x.dir, x.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	was := l.metrics().CmdletCalls[cmdlet]
	must(x.t, cmd.Start())
	for deadline := time.Now().Add(60 * time.Second); l.metrics().CmdletCalls[cmdlet] == was; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
			x.t.Fatalf("%s was never called\n%s", cmdlet, out.String())
		}
	}
	time.Sleep(300 * time.Millisecond) // it is in the middle
	begun := time.Now()
	must(x.t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		x.t.Fatal(err)
	}
	return out.String(), time.Since(begun)
}

// TestInterrupt: Ctrl-C ends what only reads at once, gives a change its grace, leaves no shell on the host, and the
// next apply goes on from what is there.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	program := newInstalled(t, "")
	for _, x := range []struct {
		name  string
		delay time.Duration // of New-VMSwitch
		most  time.Duration // to the end of Terraform
		kept  bool          // the switch is in the state
	}{
		{"a change that ends within the grace", 3 * time.Second, 8 * time.Second, true},
		{"a change that does not", 60 * time.Second, 25 * time.Second, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722")
			y := program.another(t, l.hostOnly())
			l.fault(door.Rule{Cmdlet: "New-VMSwitch", Effect: door.Delay, DelayMS: int(x.delay.Milliseconds())})
			out, took := y.interrupted(l, "New-VMSwitch", "apply", "-auto-approve")
			if took > x.most {
				t.Errorf("it took %v", took)
			}
			says(t, out, "Interrupt received")
			l.noShells(time.Second)
			state := y.must("state", "list")
			if strings.Contains(state, "hyperv_iov_switch.x") != x.kept {
				t.Errorf("state:\n%s\n%s", state, out)
			}
			if !x.kept {
				says(t, strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " "), "The run was cancelled while the change was running", "The host may still be at it")
				return // a minute later the switch is there, as in TestCase43NoSilentTimeout
			}
			y.must("apply", "-auto-approve", "-input=false")
			says(t, y.must("plan", "-input=false"), "No changes")
			if n := l.calls("New-VMSwitch"); n != 1 {
				t.Errorf("%d switches were made", n)
			}
		})
	}
	t.Run("a read", func(t *testing.T) {
		t.Parallel()
		l := startLab(t, "intel-x722")
		y := program.another(t, l.hostOnly())
		y.must("apply", "-auto-approve", "-input=false")
		l.fault(door.Rule{Cmdlet: "Get-VMSwitch", Effect: door.Delay, DelayMS: 30000})
		out, took := y.interrupted(l, "Get-VMSwitch", "plan")
		if took > 4*time.Second {
			t.Errorf("it took %v\n%s", took, out)
		}
		l.noShells(time.Second)
		l.server.ClearFaults()
		says(t, y.must("plan", "-input=false"), "No changes")
	})
}
