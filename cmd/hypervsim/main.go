// Command hypervsim is a Hyper-V lab in memory behind real WinRM endpoints on loopback: for trying
// Terraform configurations, and for tests in CI without Windows.
package main

import (
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// cli is the command line.
type cli struct {
	Serve   serve   `cmd:"" help:"Simulate a lab until a signal or the end of --ttl. Prints one JSON line when ready."`
	Env     env     `cmd:"" help:"Print what to export so that the provider finds a running simulator."`
	Presets presets `cmd:"" help:"List the scenarios that are built in."`
	Preset  preset  `cmd:"" help:"Print the file of a built-in scenario."`
	Schema  schema  `cmd:"" help:"Print the JSON Schema of scenario files."`
}

// streams are the program's standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	parser, err := newParser(streams{os.Stdin, os.Stdout, os.Stderr})
	if err != nil {
		panic(err) // a mistake in the tags of cli
	}
	ctx, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	parser.FatalIfErrorf(ctx.Run())
}

func newParser(s streams) (*kong.Kong, error) {
	return kong.New(&cli{}, kong.Name("hypervsim"), kong.UsageOnError(), kong.Writers(s.out, s.err), kong.Bind(s),
		kong.Description("A Hyper-V lab in memory behind real WinRM endpoints on loopback."))
}
