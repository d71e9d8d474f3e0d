package lab

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed presets/*.yaml
var presets embed.FS

// Presets are the names of the scenarios that come with the simulator.
func Presets() []string {
	files, err := fs.Glob(presets, "presets/*.yaml")
	if err != nil { // only a malformed pattern can fail
		panic(err)
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".yaml"))
	}
	sort.Strings(names)
	return names
}

// LoadScenario reads a preset by name, or a scenario file by path.
func LoadScenario(nameOrPath string) (*Scenario, error) {
	data, err := presets.ReadFile("presets/" + nameOrPath + ".yaml")
	if err != nil {
		if data, err = os.ReadFile(nameOrPath); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no scenario file %q, and no preset of that name (presets: %s)", nameOrPath, strings.Join(Presets(), ", "))
		}
	}
	if err != nil {
		return nil, err
	}
	s, err := ParseScenario(data)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", nameOrPath, err)
	}
	return s, nil
}

// ParseScenario reads a scenario from YAML (or JSON, which is YAML too). It is checked against the schema.
func ParseScenario(data []byte) (*Scenario, error) {
	plain, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	schema, err := compiledSchema()
	if err != nil {
		return nil, err
	}
	value, err := validator.UnmarshalJSON(bytes.NewReader(plain))
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(value); err != nil {
		return nil, err
	}
	s := defaultScenario()
	if err := yaml.UnmarshalWithOptions(data, s, yaml.Strict()); err != nil {
		return nil, err
	}
	return s, nil
}

// Schema is the JSON Schema of scenario files.
func Schema() ([]byte, error) {
	return json.MarshalIndent(reflectSchema(), "", "  ")
}

func reflectSchema() *jsonschema.Schema {
	reflector := jsonschema.Reflector{RequiredFromJSONSchemaTags: true}
	schema := reflector.Reflect(&Scenario{})
	schema.Title = "hypervsim scenario"
	return schema
}

func compiledSchema() (*validator.Schema, error) {
	text, err := json.Marshal(reflectSchema())
	if err != nil {
		return nil, err
	}
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("scenario.json", document); err != nil {
		return nil, err
	}
	return compiler.Compile("scenario.json")
}
