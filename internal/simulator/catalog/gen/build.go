package main

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
)

// common are the parameters that PowerShell adds by itself.
var common = []string{
	"debug", "erroraction", "errorvariable", "informationaction", "informationvariable", "outbuffer", "outvariable",
	"pipelinevariable", "progressaction", "verbose", "warningaction", "warningvariable", "whatif", "confirm",
}

var cimClass = regexp.MustCompile(`(?i)CimInstance#.*?((?:MSFT|Win32|CIM)_[\w ]+)`)

func build(ref *reference) (*catalog.Catalog, error) {
	c := &catalog.Catalog{}
	t := newTypes(ref)
	names := make([]string, 0, len(ref.Cmdlets))
	for name := range ref.Cmdlets {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		x, err := cmdletOf(t, name, ref.Cmdlets[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.Cmdlets = append(c.Cmdlets, x)
	}
	c.Classes = classesOf(ref, c.Cmdlets, t)
	for _, e := range t.enums {
		c.Enums = append(c.Enums, e)
	}
	sort.Slice(c.Enums, func(i, j int) bool { return c.Enums[i].Name < c.Enums[j].Name })
	return c, nil
}

func cmdletOf(t *types, name string, x refCmdlet) (*catalog.Cmdlet, error) {
	out := &catalog.Cmdlet{Name: name, Module: x.Module, Kind: catalog.KindFunction, ShouldProcess: x.ShouldProcess}
	if out.Class = className(name, x.Module); out.Class != "" {
		out.Kind = catalog.KindBinary
	}
	for _, text := range append(slices.Clone(x.InputTypes), x.OutputTypes...) {
		if m := cimClass.FindStringSubmatch(text); m != nil {
			out.CimClass = strings.ReplaceAll(m[1], " ", "")
			break
		}
	}
	if x.Module == netSecurity {
		out.CimClass = netSecurityClass(name)
	}
	if x.DefaultSet != nil && setName(*x.DefaultSet) != catalog.AllSets {
		out.DefaultSet = setName(*x.DefaultSet)
	}
	for _, set := range x.Sets {
		out.Sets = append(out.Sets, setName(set.Name))
		for _, p := range set.Parameters {
			if slices.Contains(common, strings.ToLower(p.Name)) || leftOut(p) {
				continue
			}
			if err := add(t, out, setName(set.Name), p); err != nil {
				return nil, fmt.Errorf("-%s: %w", p.Name, err)
			}
		}
	}
	if len(out.Sets) == 0 {
		out.Sets = []string{catalog.AllSets}
	}
	dropTakenAliases(out)
	separatePositions(out)
	collapse(out)
	return out, nil
}

// fileOnly are parameters that only the file system's provider adds. The reference marks everything
// that the provider's own page lists, the static parameters too.
var fileOnly = []string{"Stream", "OlderThan", "NewerThan", "Encoding", "NoNewline", "AsByteStream", "Raw", "Wait", "Delimiter"}

// leftOut drops parameters that exist only for a provider, other than the registry's.
func leftOut(p refParameter) bool {
	switch p.ForDynamic {
	case nil, "Registry":
		return p.Dynamic != nil
	case "FileSystem":
		return p.Dynamic != nil || slices.Contains(fileOnly, p.Name)
	}
	return true
}

// setName drops the mark that the reference puts behind sets known from the CDXML module only.
func setName(name string) string { return strings.TrimSuffix(name, " (cdxml)") }

func add(t *types, x *catalog.Cmdlet, set string, p refParameter) error {
	var q *catalog.Parameter
	for _, known := range x.Parameters {
		if strings.EqualFold(known.Name, p.Name) {
			q = known
		}
	}
	if q == nil {
		q = &catalog.Parameter{Name: p.Name, Nullable: p.Nullable}
		q.Type, q.Array = t.resolve(x.Module, p)
		if q.Array {
			q.Nullable = false
		}
		if x.Module == netSecurity {
			q.CimClass = associatedClass(p.Name)
		}
		x.Parameters = append(x.Parameters, q)
	}
	position := p.Position
	if x.Name == "Invoke-Command" && p.Name == "ScriptBlock" && set != "InProcess" {
		// The page gives one position for all sets; elsewhere the target stands first.
		second := 1
		position = &second
	}
	q.Sets = append(q.Sets, catalog.Membership{
		Set: set, Mandatory: p.Mandatory, Position: position,
		ByValue:        slices.Contains(p.Pipeline, "ByValue"),
		ByPropertyName: slices.Contains(p.Pipeline, "ByPropertyName"),
	})
	for _, a := range p.Aliases {
		if !slices.ContainsFunc(q.Aliases, func(b string) bool { return strings.EqualFold(a, b) }) {
			q.Aliases = append(q.Aliases, a)
		}
	}
	if q.IsSwitch() {
		return nil
	}
	return addValidation(q, p)
}

var validation = regexp.MustCompile(`^Validate(NotNull|NotNullOrEmpty|Set|Range)\((.*)\)$`)

func addValidation(q *catalog.Parameter, p refParameter) error {
	for _, text := range p.Validate {
		m := validation.FindStringSubmatch(text)
		if m == nil {
			return fmt.Errorf("unknown validation %s", text)
		}
		v := catalog.Validation{Kind: m[1]}
		switch m[1] {
		case "Set":
			for _, value := range strings.Split(m[2], ",") {
				v.Values = append(v.Values, strings.Trim(value, `'"`))
			}
		case "Range":
			low, high, _ := strings.Cut(m[2], ",")
			var err1, err2 error
			v.Min, err1 = strconv.ParseInt(low, 10, 64)
			v.Max, err2 = strconv.ParseInt(high, 10, 64)
			if err1 != nil || err2 != nil {
				return fmt.Errorf("bad range %s", text)
			}
		}
		if !slices.ContainsFunc(q.Validate, func(w catalog.Validation) bool { return w.Kind == v.Kind }) {
			q.Validate = append(q.Validate, v)
		}
	}
	hasSet := slices.ContainsFunc(q.Validate, func(w catalog.Validation) bool { return w.Kind == "Set" })
	closedText := p.Closed && len(p.Values) > 0 && slices.Contains([]string{"System.String", "System.Int32", "System.Int16"}, q.Type)
	if closedText && !hasSet {
		q.Validate = append(q.Validate, catalog.Validation{Kind: "Set", Values: p.Values})
	}
	return nil
}

// dropTakenAliases leaves every name to one parameter.
func dropTakenAliases(x *catalog.Cmdlet) {
	taken := map[string]bool{}
	for _, p := range x.Parameters {
		taken[strings.ToLower(p.Name)] = true
	}
	for _, p := range x.Parameters {
		p.Aliases = slices.DeleteFunc(p.Aliases, func(a string) bool {
			was := taken[strings.ToLower(a)]
			taken[strings.ToLower(a)] = true
			return was
		})
		if len(p.Aliases) == 0 {
			p.Aliases = nil
		}
	}
}

// separatePositions leaves every position of a set to one parameter, the mandatory one or else the
// first: the pages give two for some, and then PowerShell refuses every call of the cmdlet.
func separatePositions(x *catalog.Cmdlet) {
	for _, set := range x.Sets {
		taken := map[int]*catalog.Membership{}
		for _, p := range x.Parameters {
			for i := range p.Sets {
				m := &p.Sets[i]
				if m.Set != set || m.Position == nil {
					continue
				}
				before := taken[*m.Position]
				switch {
				case before == nil:
					taken[*m.Position] = m
				case m.Mandatory && !before.Mandatory:
					taken[*m.Position], before.Position = m, nil
				default:
					m.Position = nil
				}
			}
		}
	}
}

// collapse writes a parameter that is the same in every set once, as long as each set keeps a
// parameter of its own: otherwise the set would vanish.
func collapse(x *catalog.Cmdlet) {
	var shared []*catalog.Parameter
	own := map[string]int{}
	for _, p := range x.Parameters {
		if sameEverywhere(p, len(x.Sets)) {
			shared = append(shared, p)
			continue
		}
		for _, m := range p.Sets {
			own[m.Set]++
		}
	}
	if len(x.Sets) > 1 {
		for _, set := range x.Sets {
			if own[set] == 0 {
				return
			}
		}
	}
	for _, p := range shared {
		p.Sets = p.Sets[:1]
		p.Sets[0].Set = catalog.AllSets
	}
}

func sameEverywhere(p *catalog.Parameter, sets int) bool {
	if len(p.Sets) != sets {
		return false
	}
	for _, m := range p.Sets[1:] {
		a, b := p.Sets[0], m
		if a.Mandatory != b.Mandatory || a.ByValue != b.ByValue || a.ByPropertyName != b.ByPropertyName || !samePosition(a.Position, b.Position) {
			return false
		}
	}
	return true
}

func samePosition(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
