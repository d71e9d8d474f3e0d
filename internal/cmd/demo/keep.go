package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kept leaves lab and simulator as they are, and says how to use them.
func (r *run) kept() error {
	r.summary.Control, r.summary.PID = r.simulator.ready.Control, r.simulator.cmd.Process.Pid
	file := filepath.Join(r.dir, "env")
	var text strings.Builder
	for _, e := range append(r.terraform.env, r.terraform.secrets...) {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "TF_") || name == "CHECKPOINT_DISABLE" {
			fmt.Fprintf(&text, "export %s=%s\n", name, shellQuote(value))
		}
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return err
	}
	r.say(`
The lab stays applied, and the simulator runs (pid %[1]d).
  look at the lab       curl -s %[2]s/state
  what was called       curl -s %[2]s/journal
  change something      curl -s %[2]s/cmdlet -d '{"host": "…", "target": "host", "cmdlet": "…", "parameters": {}}'
  plan, change, destroy . %[3]s; cd %[4]s; %[5]s plan
  stop                  kill %[1]d`,
		r.summary.PID, r.summary.Control, shellQuote(file), shellQuote(r.terraform.dir), r.terraform.cli)
	return nil
}

// stop ends what the run started, unless it is to be kept.
func (r *run) stop(keep bool) error {
	if r.simulator == nil || keep {
		return nil
	}
	return r.simulator.stop()
}

// shellQuote makes one word of a value for a POSIX shell.
func shellQuote(v string) string { return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'" }
