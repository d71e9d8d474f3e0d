package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func TestDescribe(t *testing.T) {
	text := &tfprotov6.SchemaAttribute{Name: "name", Type: tftypes.String, Required: true, Description: "The name.", DescriptionKind: tfprotov6.StringKindMarkdown}
	for name, c := range map[string]struct {
		got  object
		want string
	}{
		"attribute": {attribute(text), `{"description":"The name.","description_kind":"markdown","required":true,"type":"string"}`},
		"secret": {
			attribute(&tfprotov6.SchemaAttribute{Type: tftypes.String, Optional: true, Sensitive: true, WriteOnly: true, Deprecated: true}),
			`{"deprecated":true,"description_kind":"plain","optional":true,"sensitive":true,"type":"string","write_only":true}`,
		},
		"nested": {
			attribute(&tfprotov6.SchemaAttribute{Computed: true, NestedType: &tfprotov6.SchemaObject{
				Nesting: tfprotov6.SchemaObjectNestingModeMap, Attributes: []*tfprotov6.SchemaAttribute{text},
			}}),
			`{"computed":true,"description_kind":"plain","nested_type":{"attributes":{"name":{"description":"The name.","description_kind":"markdown","required":true,"type":"string"}},"nesting_mode":"map"}}`,
		},
		"block": {
			block(&tfprotov6.SchemaBlock{BlockTypes: []*tfprotov6.SchemaNestedBlock{{
				TypeName: "timeouts", Nesting: tfprotov6.SchemaNestedBlockNestingModeSingle, MaxItems: 1, Block: &tfprotov6.SchemaBlock{},
			}}}),
			`{"block_types":{"timeouts":{"block":{"description_kind":"plain"},"max_items":1,"nesting_mode":"single"}},"description_kind":"plain"}`,
		},
		"identity": {
			identity(&tfprotov6.ResourceIdentitySchema{Version: 1, IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{
				{Name: "id", Type: tftypes.String, RequiredForImport: true}, {Name: "host", Type: tftypes.String, OptionalForImport: true},
			}}),
			`{"attributes":{"host":{"optional_for_import":true,"type":"string"},"id":{"required_for_import":true,"type":"string"}},"version":1}`,
		},
		"function": {
			function(&tfprotov6.Function{
				Summary: "s", Description: "d", Return: &tfprotov6.FunctionReturn{Type: tftypes.Bool},
				Parameters:        []*tfprotov6.FunctionParameter{{Name: "a", Type: tftypes.Number, AllowNullValue: true}},
				VariadicParameter: &tfprotov6.FunctionParameter{Name: "b", Type: tftypes.String},
			}),
			`{"description":"d","parameters":[{"is_nullable":true,"name":"a","type":"number"}],"return_type":"bool","summary":"s","variadic_parameter":{"name":"b","type":"string"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(c.got)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// The provider itself must have valid schemas, and none of its objects may stay without a description.
func TestProviderIsDescribed(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	type described struct {
		Block struct {
			Description string
			Attributes  map[string]struct{ Description string }
		}
	}
	var all struct {
		Schemas map[string]struct {
			Provider    described
			Resources   map[string]described `json:"resource_schemas"`
			DataSources map[string]described `json:"data_source_schemas"`
			Actions     map[string]described `json:"action_schemas"`
		} `json:"provider_schemas"`
	}
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	provider, ok := all.Schemas[address]
	if !ok {
		t.Fatalf("no %s in the output", address)
	}
	check := func(name string, d described) {
		if d.Block.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for attribute, a := range d.Block.Attributes {
			if a.Description == "" && attribute != "timeouts" { // a library's, which describes its parts
				t.Errorf("%s: attribute %s has no description", name, attribute)
			}
		}
	}
	check("provider", provider.Provider)
	for _, kind := range []map[string]described{provider.Resources, provider.DataSources, provider.Actions} {
		for name, d := range kind {
			check(name, d)
		}
	}
}
