// Command gen trims the project's cmdlet reference to what the simulator needs:
//
//	go run ./internal/simulator/catalog/gen REFERENCE.json internal/simulator/catalog/cmdlets.json
//
// The output depends on the input alone, so that running it again leaves no difference.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want two arguments, the reference and the output, got %d", len(args))
	}
	in, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	out, err := trim(in)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return os.WriteFile(args[1], out, 0o644)
}

// trim turns the reference into the catalogue's file, one cmdlet a line so that a difference reads well.
func trim(in []byte) ([]byte, error) {
	var ref reference
	if err := json.Unmarshal(in, &ref); err != nil {
		return nil, err
	}
	c, err := build(&ref)
	if err != nil {
		return nil, err
	}
	out := []byte("{\n\"cmdlets\": [\n")
	if out, err = appendLines(out, c.Cmdlets); err != nil {
		return nil, err
	}
	out = append(out, "],\n\"enums\": [\n"...)
	if out, err = appendLines(out, c.Enums); err != nil {
		return nil, err
	}
	out = append(out, "],\n\"classes\": [\n"...)
	if out, err = appendLines(out, c.Classes); err != nil {
		return nil, err
	}
	return append(out, "]\n}\n"...), nil
}

func appendLines[T any](out []byte, items []T) ([]byte, error) {
	for i, item := range items {
		line, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		out = append(out, line...)
		if i < len(items)-1 {
			out = append(out, ',')
		}
		out = append(out, '\n')
	}
	return out, nil
}
