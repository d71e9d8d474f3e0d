package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

type serve struct {
	Scenario   string        `default:"intel-x722" placeholder:"NAME|FILE" help:"A built-in scenario (see presets) or a scenario file. Default: ${default}."`
	Listen     string        `default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Loopback address and port of the control door; port 0 takes a free one. Hosts listen on free ports of the same address."`
	Engine     string        `enum:"native,powershell" default:"native" help:"What runs the client's commands: native (in Go) or powershell (a real PowerShell with simulated cmdlets). Default: ${default}."`
	PowerShell string        `name:"powershell" placeholder:"PATH" help:"PowerShell for --engine powershell. Default: $$HYPERVSIM_POWERSHELL, then pwsh or powershell on PATH."`
	TLS        bool          `name:"tls" help:"Open HTTPS listeners too, with a certificate authority made for this run."`
	TTL        time.Duration `name:"ttl" placeholder:"DURATION" help:"Stop by itself after this time, such as 30m. Default: never."`
	Trace      bool          `help:"Write one line for each WinRM request to stderr. Never a credential or a body."`
}

// Run serves until a signal or the end of the time.
func (c *serve) Run(s streams) error {
	if c.TTL < 0 {
		return errors.New("--ttl must not be negative")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.TTL > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.TTL)
		defer cancel()
	}
	return c.serve(ctx, s)
}

func (c *serve) serve(ctx context.Context, s streams) error {
	scenario, err := lab.LoadScenario(c.Scenario)
	if err != nil {
		return err
	}
	o := simulator.Options{Scenario: scenario, Engine: c.Engine, TLS: c.TLS, Listen: c.Listen}
	if c.Engine == simulator.EnginePowerShell {
		if o.PowerShell, err = findPowerShell(c.PowerShell, os.Getenv); err != nil {
			return err
		}
	}
	if c.Trace {
		o.Log = func(e door.Entry) { trace(s, e) }
	}
	server, err := simulator.Start(ctx, o)
	if err != nil {
		return err
	}
	defer server.Close()
	line, err := json.Marshal(server.Ready())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "%s\n", line); err != nil {
		return fmt.Errorf("ready line: %w", err)
	}
	<-server.Done()
	return nil
}

func trace(s streams, e door.Entry) {
	_, _ = fmt.Fprintf(s.err, "%s %s %s %d bytes: status %d fault %d effect %q in %s\n",
		e.Time.Format("15:04:05.000"), e.Host, e.Operation, e.Bytes, e.Status, e.Fault, e.Effect, e.Duration.Round(time.Microsecond))
}

// findPowerShell looks where the help text says.
func findPowerShell(flag string, getenv func(string) string) (string, error) {
	for _, path := range []string{flag, getenv("HYPERVSIM_POWERSHELL")} {
		if path == "" {
			continue
		}
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("PowerShell: %w", err)
		}
		return found, nil
	}
	for _, name := range []string{"pwsh", "powershell"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", errors.New("no PowerShell: give --powershell, set HYPERVSIM_POWERSHELL, or put pwsh on PATH; --engine native needs none")
}
