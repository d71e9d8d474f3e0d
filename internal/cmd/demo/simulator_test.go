//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// script stands in for hypervsim: what matters here is how a process starts and ends.
func script(t *testing.T, text string) programs {
	t.Helper()
	path := filepath.Join(t.TempDir(), "simulator")
	syscall.ForkLock.RLock() // a child started meanwhile would hold the file open, and it could not be run ("text file busy")
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return programs{simulator: path}
}

const readyLine = `echo '{"control": "http://127.0.0.1:1", "pid": 1, "hosts": [{"name": "hv1"}]}'` + "\n"

func TestSimulatorStartsAndStops(t *testing.T) {
	for name, c := range map[string]struct{ script, start, stop string }{
		"ready, and ends when told to": {readyLine + "trap 'exit 0' TERM\nwhile :; do sleep 0.1; done", "", ""},
		"ends before it is ready":      {"echo 'no such scenario' >&2\nexit 1", "no such scenario", ""},
		"prints something else":        {"echo hello\nexec sleep 60", "ready line", ""},
		"names no host":                {"echo '{\"control\": \"http://127.0.0.1:1\"}'\nexec sleep 60", "no host", ""},
		"leaves a process behind":      {readyLine + "sleep 60 &\ntrap 'exit 0' TERM\nwhile :; do sleep 0.1; done", "", "left processes behind"},
		"ends by itself":               {readyLine + "sleep 0.5", "", "ended by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := startSimulator(t.Context(), script(t, c.script), options{}, t.TempDir())
			if c.start != "" {
				if err == nil || !strings.Contains(err.Error(), c.start) {
					t.Fatalf("start: error %v, want one with %q", err, c.start)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.stop, "itself") {
				<-s.exited
			}
			err = s.stop()
			if c.stop == "" && err != nil || c.stop != "" && (err == nil || !strings.Contains(err.Error(), c.stop)) {
				t.Errorf("stop: error %v, want %q", err, c.stop)
			}
			if groupLeft(s.cmd.Process.Pid, 0) && c.stop == "" {
				t.Error("a process is left")
			}
		})
	}
}
