package main

import (
	"bytes"
	"encoding/json"
)

// reference is the part of the cmdlet reference that the catalogue is made of.
type reference struct {
	Cmdlets map[string]refCmdlet `json:"cmdlets"`
	Enums   map[string]members   `json:"module_enums"`
	Classes map[string][]struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"module_classes"`
}

type refCmdlet struct {
	Module        string   `json:"module"`
	DefaultSet    *string  `json:"default_parameter_set"`
	ShouldProcess bool     `json:"supports_should_process"`
	InputTypes    []string `json:"input_types"`
	OutputTypes   []string `json:"output_types"`
	Sets          []refSet `json:"parameter_sets"`
}

type refSet struct {
	Name       string         `json:"name"`
	Parameters []refParameter `json:"parameters"`
}

type refParameter struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Mandatory  bool     `json:"mandatory"`
	Position   *int     `json:"position"`
	Pipeline   []string `json:"pipeline"`
	Aliases    []string `json:"aliases"`
	Values     []string `json:"accepted_values"`
	Closed     bool     `json:"accepted_values_closed"`
	Validate   []string `json:"validate"`
	Nullable   bool     `json:"nullable"`
	Dynamic    any      `json:"dynamic"`
	ForDynamic any      `json:"dynamic_for_provider"`
}

// members keeps the order in which an enumeration is written.
type members []member

type member struct {
	Name   string
	Number int64
}

func (m *members) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var number int64
		if err := d.Decode(&number); err != nil {
			return err
		}
		*m = append(*m, member{Name: name.(string), Number: number})
	}
	return nil
}
