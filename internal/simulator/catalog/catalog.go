// Package catalog is what Microsoft documents about the cmdlets that the simulator knows: modules,
// parameter sets, parameters, enumerations and classes, and a binder that judges a call as
// PowerShell's own binder does. The data is trimmed from the project's cmdlet reference by
// catalog/gen (go run ./internal/simulator/catalog/gen REFERENCE cmdlets.json); the pwsh engine
// generates its stub cmdlets from the same data.
package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

//go:embed cmdlets.json
var embedded []byte

// AllSets is the name of a parameter set that is none: the parameter belongs to every set.
const AllSets = "__AllParameterSets"

// Kinds of cmdlets. The kind decides the ids that the binder raises (errors.md section 7).
const (
	KindFunction = "function" // a CDXML or script module
	KindBinary   = "binary"   // a compiled cmdlet
)

// Catalog is the whole reference, sorted by name.
type Catalog struct {
	Cmdlets []*Cmdlet `json:"cmdlets"`
	Enums   []*Enum   `json:"enums"`
	Classes []*Class  `json:"classes"`

	cmdlets map[string]*Cmdlet
	enums   map[string]*Enum
	classes map[string]*Class
}

// Cmdlet is one documented cmdlet.
type Cmdlet struct {
	Name          string       `json:"name"`
	Module        string       `json:"module"`
	Kind          string       `json:"kind"`
	Class         string       `json:"class,omitempty"` // full .NET class name of a binary cmdlet
	Sets          []string     `json:"sets"`
	DefaultSet    string       `json:"default_set,omitempty"`
	ShouldProcess bool         `json:"should_process,omitempty"`
	CimClass      string       `json:"cim_class,omitempty"` // the class that -InputObject takes
	Parameters    []*Parameter `json:"parameters"`

	catalog *Catalog
	single  bool // the cmdlet has no named parameter sets
}

// Parameter is one parameter over all sets that have it.
type Parameter struct {
	Name     string       `json:"name"`
	Type     string       `json:"type"` // full .NET name of the (element) type
	Array    bool         `json:"array,omitempty"`
	Nullable bool         `json:"nullable,omitempty"`
	CimClass string       `json:"cim_class,omitempty"` // the CIM class that it takes, where the cmdlet's own does not say
	Aliases  []string     `json:"aliases,omitempty"`
	Validate []Validation `json:"validate,omitempty"`
	Sets     []Membership `json:"sets"`
}

// Validation is one Validate… attribute.
type Validation struct {
	Kind   string   `json:"kind"` // NotNull, NotNullOrEmpty, Set, Range
	Values []string `json:"values,omitempty"`
	Min    int64    `json:"min,omitempty"`
	Max    int64    `json:"max,omitempty"`
}

// Membership is what a parameter is in one parameter set.
type Membership struct {
	Set            string `json:"set"` // AllSets, or a set's name
	Mandatory      bool   `json:"mandatory,omitempty"`
	Position       *int   `json:"position,omitempty"`
	ByValue        bool   `json:"by_value,omitempty"`
	ByPropertyName bool   `json:"by_property_name,omitempty"`
}

// Enum is an enumeration. Counted says that no source gives its numbers, so they count from 0.
type Enum struct {
	Name    string       `json:"name"` // full .NET name
	Counted bool         `json:"counted,omitempty"`
	Flags   bool         `json:"flags,omitempty"` // its members add up
	Members []EnumMember `json:"members"`

	// External says that the type is the runtime's own, so that stubs must not declare it.
	External bool `json:"external,omitempty"`
}

// EnumMember is one value of an enumeration.
type EnumMember struct {
	Name   string `json:"name"`
	Number int64  `json:"number"`
}

// Class is a .NET class of the Hyper-V module.
type Class struct {
	Name       string     `json:"name"` // full .NET name
	Base       string     `json:"base,omitempty"`
	Properties []Property `json:"properties,omitempty"`
}

// Property is a property of a Class.
type Property struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// load parses the embedded data once; a catalogue is never changed after that.
var load = sync.OnceValues(func() (*Catalog, error) { return parse(embedded) })

// Load returns the catalogue. It is shared and read-only.
func Load() (*Catalog, error) { return load() }

func parse(data []byte) (*Catalog, error) {
	c := &Catalog{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("cmdlet catalogue: %w", err)
	}
	c.cmdlets = make(map[string]*Cmdlet, len(c.Cmdlets))
	for _, x := range c.Cmdlets {
		x.catalog = c
		x.single = len(x.Sets) == 1 && x.Sets[0] == AllSets
		c.cmdlets[strings.ToLower(x.Name)] = x
	}
	c.enums = make(map[string]*Enum, len(c.Enums))
	for _, e := range c.Enums {
		c.enums[e.Name] = e
	}
	c.classes = make(map[string]*Class, len(c.Classes))
	for _, k := range c.Classes {
		c.classes[k.Name] = k
	}
	return c, nil
}

// Cmdlet finds a cmdlet by name, ignoring case; nil when the catalogue lacks it.
func (c *Catalog) Cmdlet(name string) *Cmdlet { return c.cmdlets[strings.ToLower(name)] }

// Enum finds an enumeration by its full .NET name; nil when the catalogue lacks it.
func (c *Catalog) Enum(name string) *Enum { return c.enums[name] }

// Class finds a class by its full .NET name; nil when the catalogue lacks it.
func (c *Catalog) Class(name string) *Class { return c.classes[name] }

// Tail is what PowerShell appends to the id of every error that the cmdlet raises: the class of a
// compiled cmdlet, the name of a function.
func (c *Cmdlet) Tail() string {
	if c.Kind == KindBinary {
		return c.Class
	}
	return c.Name
}

// Parameter finds a parameter by its exact name or alias, ignoring case; nil when there is none.
func (c *Cmdlet) Parameter(name string) *Parameter {
	for _, p := range c.Parameters {
		if p.answersTo(name) {
			return p
		}
	}
	return nil
}

func (p *Parameter) answersTo(name string) bool {
	if strings.EqualFold(p.Name, name) {
		return true
	}
	for _, a := range p.Aliases {
		if strings.EqualFold(a, name) {
			return true
		}
	}
	return false
}

// in returns what the parameter is in a set.
func (p *Parameter) in(set string) (Membership, bool) {
	for _, m := range p.Sets {
		if m.Set == AllSets || m.Set == set {
			return m, true
		}
	}
	return Membership{}, false
}

// IsSwitch says whether the parameter is a switch.
func (p *Parameter) IsSwitch() bool {
	return p.Type == "System.Management.Automation.SwitchParameter"
}
