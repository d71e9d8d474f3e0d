package provider_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// configModule is one folder of .tf files, as far as the examples use the language: variables with defaults, locals,
// outputs, module calls, resources and data sources with for_each, count excepted.
type configModule struct {
	t                  testing.TB
	dir                string
	variables, outputs map[string]*hclsyntax.Block
	locals             map[string]hclsyntax.Expression
	calls              map[string]*hclsyntax.Block
	children           map[string]*configModule
	resources          []*hclsyntax.Block // data sources too, in the order of the files
	parent             *configModule
	call               *hclsyntax.Block // that made it, nil for the root
}

func readModule(t testing.TB, dir string) *configModule {
	t.Helper()
	m := &configModule{
		t: t, dir: dir, variables: map[string]*hclsyntax.Block{}, outputs: map[string]*hclsyntax.Block{}, locals: map[string]hclsyntax.Expression{},
		calls: map[string]*hclsyntax.Block{}, children: map[string]*configModule{},
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	must(t, err)
	for _, file := range files {
		parsed, diags := hclparse.NewParser().ParseHCLFile(file)
		noDiags(t, diags)
		for _, b := range parsed.Body.(*hclsyntax.Body).Blocks {
			switch b.Type {
			case "variable":
				m.variables[b.Labels[0]] = b
			case "output":
				m.outputs[b.Labels[0]] = b
			case "locals":
				for name, a := range b.Body.Attributes {
					m.locals[name] = a.Expr
				}
			case "module":
				m.calls[b.Labels[0]] = b
			case "resource", "data":
				m.resources = append(m.resources, b)
			case "terraform", "provider":
			default:
				t.Fatalf("%s: blocks of type %s are not read", file, b.Type)
			}
		}
	}
	for name, b := range m.calls {
		source, diags := b.Body.Attributes["source"].Expr.Value(nil)
		noDiags(t, diags)
		child := readModule(t, filepath.Join(dir, source.AsString()))
		child.parent, child.call = m, b
		m.children[name] = child
	}
	return m
}

func noDiags(t testing.TB, diags hcl.Diagnostics) {
	t.Helper()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
}

// moduleInstance is a module as one call, with one key of for_each, makes it.
type moduleInstance struct {
	*configModule
	address   string // "", or module.host["hv1"].
	variables map[string]cty.Value
	up        *moduleInstance
	each      cty.Value // of the call; cty.NilVal without for_each
}

// node is one resource block, or data block, of the configuration; its instances come of the modules' and its own
// for_each.
type node struct {
	in    *configModule
	block *hclsyntax.Block
	needs map[*node]bool
}

func (n *node) name() string { return strings.Join(n.block.Labels, ".") }

// configuration is a root module with the order of what is in it.
type configuration struct {
	t     testing.TB
	root  *moduleInstance
	nodes []*node // what is needed comes first
	// known gives the value of an instance by its address: as planned, or as it is.
	known func(address string) (object, bool)
}

// readConfiguration reads a folder of examples with the given values of its variables.
func readConfiguration(t testing.TB, dir string, variables object) *configuration {
	t.Helper()
	m := readModule(t, dir)
	c := &configuration{t: t, root: &moduleInstance{configModule: m, variables: map[string]cty.Value{}}}
	for name := range m.variables {
		v, ok := variables[name]
		c.root.variables[name] = m.variable(name, ctyOf(plain(t, v)), ok)
	}
	byBlock := map[*hclsyntax.Block]*node{}
	var all []*node
	var collect func(*configModule)
	collect = func(m *configModule) {
		for _, b := range m.resources {
			n := &node{in: m, block: b, needs: map[*node]bool{}}
			byBlock[b], all = n, append(all, n)
		}
		for _, name := range slices.Sorted(maps.Keys(m.children)) {
			collect(m.children[name])
		}
	}
	collect(m)
	for _, n := range all {
		n.find(n.in, n.block.Body, map[any]bool{}, byBlock)
		for up := n.in; up.call != nil; up = up.parent { // a module that waits for something waits as a whole
			for _, name := range []string{"depends_on", "for_each"} {
				if a, ok := up.call.Body.Attributes[name]; ok {
					n.findIn(up.parent, a.Expr, map[any]bool{}, byBlock)
				}
			}
		}
	}
	done := map[*node]bool{}
	var visit func(*node)
	visit = func(n *node) {
		if done[n] {
			return
		}
		done[n] = true
		for _, other := range all { // in the order of the files
			if n.needs[other] {
				visit(other)
			}
		}
		c.nodes = append(c.nodes, n)
	}
	for _, n := range all {
		visit(n)
	}
	return c
}

// find collects what the expressions of a body need.
func (n *node) find(m *configModule, body *hclsyntax.Body, seen map[any]bool, nodes map[*hclsyntax.Block]*node) {
	for _, a := range body.Attributes {
		n.findIn(m, a.Expr, seen, nodes)
	}
	for _, b := range body.Blocks {
		n.find(m, b.Body, seen, nodes)
	}
}

func (n *node) findIn(m *configModule, e hclsyntax.Expression, seen map[any]bool, nodes map[*hclsyntax.Block]*node) {
	if e == nil || seen[e] {
		return
	}
	seen[e] = true
	for _, v := range e.Variables() {
		name := func(i int) string {
			if i < len(v) {
				if a, ok := v[i].(hcl.TraverseAttr); ok {
					return a.Name
				}
			}
			return ""
		}
		switch root := v.RootName(); root {
		case "each", "path":
		case "var":
			if m.call != nil {
				if a, ok := m.call.Body.Attributes[name(1)]; ok {
					n.findIn(m.parent, a.Expr, seen, nodes)
				}
			}
		case "local":
			n.findIn(m, m.locals[name(1)], seen, nodes)
		case "module":
			n.findModule(m.children[name(1)], v, seen, nodes)
		default:
			typ, label, kind := root, name(1), "resource"
			if root == "data" {
				typ, label, kind = name(1), name(2), "data"
			}
			for _, b := range m.resources {
				if b.Type == kind && b.Labels[0] == typ && b.Labels[1] == label && nodes[b] != n {
					n.needs[nodes[b]] = true
				}
			}
		}
	}
}

// findModule: a reference to one output needs what that needs, a reference to the module as a whole all of it.
func (n *node) findModule(m *configModule, v hcl.Traversal, seen map[any]bool, nodes map[*hclsyntax.Block]*node) {
	if m == nil {
		n.in.t.Fatalf("no such module: %v", v)
	}
	for _, step := range v[2:] {
		if a, ok := step.(hcl.TraverseAttr); ok {
			n.findIn(m, m.outputs[a.Name].Body.Attributes["value"].Expr, seen, nodes)
			return
		}
	}
	var all func(*configModule)
	all = func(m *configModule) {
		for _, b := range m.resources {
			if nodes[b] != n {
				n.needs[nodes[b]] = true
			}
		}
		for _, child := range m.children {
			all(child)
		}
	}
	all(m)
}

// variable converts a value to the variable's type, or gives the default.
func (m *configModule) variable(name string, v cty.Value, given bool) cty.Value {
	m.t.Helper()
	attributes := m.variables[name].Body.Attributes
	ty, defaults := cty.DynamicPseudoType, (*typeexpr.Defaults)(nil)
	if a, ok := attributes["type"]; ok {
		var diags hcl.Diagnostics
		ty, defaults, diags = typeexpr.TypeConstraintWithDefaults(a.Expr)
		noDiags(m.t, diags)
	}
	if !given {
		a, ok := attributes["default"]
		if !ok {
			m.t.Fatalf("%s: variable %s has no value", m.dir, name)
		}
		var diags hcl.Diagnostics
		v, diags = a.Expr.Value(nil)
		noDiags(m.t, diags)
	}
	if defaults != nil && !v.IsNull() {
		v = defaults.Apply(v)
	}
	out, err := convert.Convert(v, ty)
	if err != nil {
		m.t.Fatalf("%s: variable %s: %v", m.dir, name, err)
	}
	return out
}

func configFunctions() map[string]function.Function {
	toType := func(ty cty.Type) function.Function { return stdlib.MakeToFunc(ty) }
	return map[string]function.Function{
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc, "coalesce": stdlib.CoalesceFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
		"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "format": stdlib.FormatFunc, "join": stdlib.JoinFunc,
		"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc,
		"max": stdlib.MaxFunc, "merge": stdlib.MergeFunc, "min": stdlib.MinFunc, "setunion": stdlib.SetUnionFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc,
		"tolist": toType(cty.List(cty.DynamicPseudoType)), "tomap": toType(cty.Map(cty.DynamicPseudoType)), "toset": toType(cty.Set(cty.DynamicPseudoType)),
		"tonumber": toType(cty.Number), "tostring": toType(cty.String), "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
	}
}

// ctyOf turns parsed JSON, with the text unknown for what is not known, into a value.
func ctyOf(v any) cty.Value {
	switch v := v.(type) {
	case nil:
		return cty.NullVal(cty.DynamicPseudoType)
	case string:
		if v == unknown {
			return cty.DynamicVal
		}
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case float64:
		return cty.NumberFloatVal(v)
	case []any:
		out := make([]cty.Value, len(v))
		for i, x := range v {
			out[i] = ctyOf(x)
		}
		return cty.TupleVal(out)
	case map[string]any:
		out := map[string]cty.Value{}
		for name, x := range v {
			out[name] = ctyOf(x)
		}
		return cty.ObjectVal(out)
	}
	panic(fmt.Sprintf("%T is no parsed JSON", v))
}

// fromCty is the reverse.
func fromCty(v cty.Value) any {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown():
		return unknown
	case v.IsNull():
		return nil
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return v.True()
	case v.Type() == cty.Number:
		f, _ := v.AsBigFloat().Float64()
		return f
	case v.Type().IsObjectType() || v.Type().IsMapType():
		out := object{}
		for name, x := range v.AsValueMap() {
			out[name] = fromCty(x)
		}
		return out
	}
	out := []any{}
	for _, x := range v.AsValueSlice() {
		out = append(out, fromCty(x))
	}
	return out
}
