// Command demo applies one of the example labs to the simulator and takes it down again, as a user would
// with Terraform, and checks what must hold: a second plan is empty, and what is left at the end is what
// was there at the start. It is what "make demo" runs, from the top of the repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A whole run takes one to three minutes; a simulator that hangs must not hang a CI job.
const timeLimit = 20 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	err := demo(ctx, os.Stdout)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// options come from the environment.
type options struct {
	lab, engine, scenario, powershell string
	keep                              bool
}

// presets are the simulator's scenarios that the example labs are written for.
func presets() map[string]string {
	return map[string]string{"intel-iwarp": "intel-x722", "mellanox-roce": "mellanox-cx3pro"}
}

func readOptions(getenv func(string) string) (options, error) {
	o := options{lab: "intel-iwarp", engine: "native", keep: false}
	if v := getenv("LAB"); v != "" {
		o.lab = v
	}
	if v := getenv("ENGINE"); v != "" {
		o.engine = v
	}
	preset, ok := presets()[o.lab]
	if !ok {
		return o, fmt.Errorf("LAB is %q: it must be intel-iwarp or mellanox-roce", o.lab)
	}
	if o.engine != "native" && o.engine != "powershell" {
		return o, fmt.Errorf("ENGINE is %q: it must be native or powershell", o.engine)
	}
	switch v := getenv("KEEP"); v {
	case "", "0":
	case "1":
		o.keep = true
	default:
		return o, fmt.Errorf("KEEP is %q: it must be 1, 0 or empty", v)
	}
	o.scenario = preset
	if v := getenv("SCENARIO"); v != "" {
		o.scenario = v
	}
	if o.engine == "powershell" {
		var err error
		if o.powershell, err = findProgram(getenv("HYPERVSIM_POWERSHELL"), "pwsh", "powershell"); err != nil {
			return o, errors.New("ENGINE=powershell needs a PowerShell: set HYPERVSIM_POWERSHELL, or put pwsh on PATH")
		}
	}
	return o, nil
}
