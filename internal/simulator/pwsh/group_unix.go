//go:build unix

package pwsh

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own, so that killing it ends all that it started.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended already
}
