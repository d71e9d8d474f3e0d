// Package process is the line between the simulator's WinRM door and its engines: the door starts a
// command line in a shell of a host and moves bytes; an engine decides what that command line is.
package process

import "io"

// Process is one running command of a shell.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Wait blocks until the process has ended and its output has been read; it returns the exit code.
	Wait() int
	// Kill ends the process and everything it started, as TerminateProcess on a job would.
	Kill()
}

// Starter starts command lines on a host of the lab.
type Starter interface {
	// Start runs a command line as cmd.exe in a Windows remote shell would. env holds NAME=value
	// pairs of the shell. An unknown program is no error of Start: the process prints what
	// cmd.exe prints on stderr and exits with 1.
	Start(host, commandLine string, env []string) (Process, error)
}

// Engine starts command lines on the hosts of a lab, and inside their guests.
type Engine interface {
	Starter
	// Guest is the Starter of a guest: "guest:<id of the VM>".
	Guest(target string) Starter
}
