package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

type presets struct{}

// Run lists the built-in scenarios.
func (*presets) Run(s streams) error {
	for _, name := range lab.Presets() {
		if _, err := fmt.Fprintln(s.out, name); err != nil {
			return err
		}
	}
	return nil
}

type preset struct {
	Name string `arg:"" help:"Name of a built-in scenario."`
}

// Run prints a built-in scenario with its defaults written out, as a start for one's own.
func (c *preset) Run(s streams) error {
	if !slices.Contains(lab.Presets(), c.Name) {
		return fmt.Errorf("no scenario %q is built in: there are %s", c.Name, strings.Join(lab.Presets(), ", "))
	}
	scenario, err := lab.LoadScenario(c.Name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(scenario)
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	_, err = s.out.Write(text)
	return err
}

type schema struct{}

// Run prints the JSON Schema of scenario files.
func (*schema) Run(s streams) error {
	text, err := lab.Schema()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n", text)
	return err
}
