//go:build !unix

package main

import (
	"os"
	"os/exec"
	"time"
)

func ownGroup(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func killGroup(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// groupLeft cannot look further than the process itself, which has ended.
func groupLeft(int, time.Duration) bool { return false }
