//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ownGroup keeps the terminal's Ctrl-C away from a process, and lets its children be found.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// killGroup ends whatever is left of the group that a process of ours led.
func killGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// groupLeft says whether a process of the group still lives after the grace.
func groupLeft(pid int, grace time.Duration) bool {
	for end := time.Now().Add(grace); ; time.Sleep(50 * time.Millisecond) {
		if errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) {
			return false
		}
		if time.Now().After(end) {
			return true
		}
	}
}
