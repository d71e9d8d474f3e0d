package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// configInstance is one resource or data source of a configuration.
type configInstance struct {
	address string
	node    *node
	in      *moduleInstance
	each    cty.Value
}

// data says that it is a data source.
func (i configInstance) data() bool { return i.node.block.Type == "data" }

func (i configInstance) typ() string { return i.node.block.Labels[0] }

// instances are all instances in the order in which they can be made. The keys of for_each must be known.
func (c *configuration) instances() []configInstance {
	var out []configInstance
	for _, n := range c.nodes {
		for _, m := range c.modules(n.in) {
			out = append(out, c.expand(m, n)...)
		}
	}
	return out
}

// expand gives the instances of a block in one module.
func (c *configuration) expand(m *moduleInstance, n *node) []configInstance {
	address := m.address + n.name()
	if n.block.Type == "data" {
		address = m.address + "data." + n.name()
	}
	var out []configInstance
	for _, e := range c.forEach(m, n.block) {
		out = append(out, configInstance{address + e.key, n, m, e.each})
	}
	return out
}

type eachKey struct {
	key  string // "", or ["x"]
	name string
	each cty.Value
}

// forEach gives the keys of a block's for_each; one without a key where there is none.
func (c *configuration) forEach(m *moduleInstance, b *hclsyntax.Block) []eachKey {
	c.t.Helper()
	if b.Body.Attributes["count"] != nil {
		c.t.Fatalf("%s: count is not read", m.dir)
	}
	a := b.Body.Attributes["for_each"]
	if a == nil {
		return []eachKey{{each: cty.NilVal}}
	}
	all := c.eval(m, a.Expr, m.each)
	if !all.IsWhollyKnown() {
		c.t.Fatalf("%s: the keys of for_each of %v are not known", m.dir, b.Labels)
	}
	var out []eachKey
	for it := all.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if all.Type().IsSetType() {
			k = v
		}
		out = append(out, eachKey{fmt.Sprintf("[%q]", k.AsString()), k.AsString(), cty.ObjectVal(map[string]cty.Value{"key": k, "value": v})})
	}
	slices.SortFunc(out, func(a, b eachKey) int { return strings.Compare(a.key, b.key) })
	return out
}

// modules are the instances of a module.
func (c *configuration) modules(m *configModule) []*moduleInstance {
	if m.call == nil {
		return []*moduleInstance{c.root}
	}
	var out []*moduleInstance
	for _, up := range c.modules(m.parent) {
		out = append(out, c.called(up, m)...)
	}
	return out
}

// called are the instances of one call.
func (c *configuration) called(up *moduleInstance, m *configModule) []*moduleInstance {
	var out []*moduleInstance
	for _, e := range c.forEach(up, m.call) {
		i := &moduleInstance{configModule: m, address: fmt.Sprintf("%smodule.%s%s.", up.address, m.call.Labels[0], e.key), up: up, each: e.each, variables: map[string]cty.Value{}}
		for name := range m.variables {
			v := cty.NilVal
			a, given := m.call.Body.Attributes[name]
			if given {
				v = c.eval(up, a.Expr, e.each)
			}
			i.variables[name] = m.variable(name, v, given)
		}
		out = append(out, i)
	}
	return out
}

// config is the configuration of an instance, as the provider gets it: with the types of its schema.
func (c *configuration) config(i configInstance, schema tftypes.Type) object {
	c.t.Helper()
	out := object{}
	types := schema.(tftypes.Object).AttributeTypes
	for name, a := range i.node.block.Body.Attributes {
		switch name {
		case "for_each", "depends_on", "provider":
		default:
			ty, ok := types[name]
			if !ok {
				c.t.Fatalf("%s has no attribute %s", i.address, name)
			}
			v, err := convert.Convert(c.eval(i.in, a.Expr, i.each), ctyType(ty))
			if err != nil {
				c.t.Fatalf("%s: %s: %v", i.address, name, err)
			}
			out[name] = fromCty(v)
		}
	}
	for _, b := range i.node.block.Body.Blocks {
		if b.Type != "lifecycle" {
			c.t.Fatalf("%s: block %s is not read", i.address, b.Type)
		}
	}
	return out
}

// ctyType is a type of the protocol; attributes of objects may be left out, as in a configuration.
func ctyType(ty tftypes.Type) cty.Type {
	switch ty := ty.(type) {
	case tftypes.Object:
		attributes := map[string]cty.Type{}
		for name, inner := range ty.AttributeTypes {
			attributes[name] = ctyType(inner)
		}
		return cty.ObjectWithOptionalAttrs(attributes, slices.Collect(maps.Keys(attributes)))
	case tftypes.Map:
		return cty.Map(ctyType(ty.ElementType))
	case tftypes.List:
		return cty.List(ctyType(ty.ElementType))
	case tftypes.Set:
		return cty.Set(ctyType(ty.ElementType))
	}
	switch {
	case ty.Is(tftypes.String):
		return cty.String
	case ty.Is(tftypes.Bool):
		return cty.Bool
	case ty.Is(tftypes.Number):
		return cty.Number
	}
	return cty.DynamicPseudoType
}

// output is an output of the root module.
func (c *configuration) output(name string) any {
	c.t.Helper()
	return fromCty(c.eval(c.root, c.root.outputs[name].Body.Attributes["value"].Expr, cty.NilVal))
}

// eval evaluates an expression in a module; each is cty.NilVal outside of for_each.
func (c *configuration) eval(m *moduleInstance, e hclsyntax.Expression, each cty.Value) cty.Value {
	c.t.Helper()
	roots := map[string]map[string]cty.Value{}
	put := func(root, name string, v cty.Value) {
		if roots[root] == nil {
			roots[root] = map[string]cty.Value{}
		}
		roots[root][name] = v
	}
	data := map[string]map[string]cty.Value{}
	vars := map[string]cty.Value{}
	for _, v := range e.Variables() {
		name := func(i int) string {
			if i < len(v) {
				if a, ok := v[i].(hcl.TraverseAttr); ok {
					return a.Name
				}
			}
			c.t.Fatalf("%s: %s is not read", m.dir, v.RootName())
			return ""
		}
		switch root := v.RootName(); root {
		case "each":
			vars["each"] = each
		case "var":
			put("var", name(1), m.variables[name(1)])
		case "local":
			put("local", name(1), c.eval(m, m.locals[name(1)], cty.NilVal))
		case "module":
			put("module", name(1), c.outputs(m, name(1)))
		case "data":
			if data[name(1)] == nil {
				data[name(1)] = map[string]cty.Value{}
			}
			data[name(1)][name(2)] = c.resource(m, "data", name(1), name(2))
		default:
			put(root, name(1), c.resource(m, "resource", root, name(1)))
		}
	}
	for root, values := range roots {
		vars[root] = cty.ObjectVal(values)
	}
	if len(data) > 0 {
		types := map[string]cty.Value{}
		for typ, values := range data {
			types[typ] = cty.ObjectVal(values)
		}
		vars["data"] = cty.ObjectVal(types)
	}
	v, diags := e.Value(&hcl.EvalContext{Variables: vars, Functions: configFunctions()})
	noDiags(c.t, diags)
	return v
}

// outputs is the value of a module: an object of its outputs, or one for each key.
func (c *configuration) outputs(m *moduleInstance, name string) cty.Value {
	child := m.children[name]
	keyed := child.call.Body.Attributes["for_each"] != nil
	all := map[string]cty.Value{}
	for _, i := range c.called(m, child) {
		out := map[string]cty.Value{}
		for _, o := range slices.Sorted(maps.Keys(child.outputs)) {
			out[o] = c.eval(i, child.outputs[o].Body.Attributes["value"].Expr, cty.NilVal)
		}
		if !keyed {
			return cty.ObjectVal(out)
		}
		all[i.each.GetAttr("key").AsString()] = cty.ObjectVal(out)
	}
	return cty.ObjectVal(all)
}

// resource is the value of a resource block: its one instance, or one for each key.
func (c *configuration) resource(m *moduleInstance, kind, typ, label string) cty.Value {
	c.t.Helper()
	for _, n := range c.nodes {
		if n.in != m.configModule || n.block.Type != kind || n.block.Labels[0] != typ || n.block.Labels[1] != label {
			continue
		}
		all := map[string]cty.Value{}
		for _, i := range c.expand(m, n) {
			v, ok := c.known(i.address)
			value := cty.DynamicVal
			if ok {
				value = ctyOf(plain(c.t, v))
			}
			if i.each == cty.NilVal {
				return value
			}
			all[i.each.GetAttr("key").AsString()] = value
		}
		return cty.ObjectVal(all)
	}
	c.t.Fatalf("%s: there is no %s %s.%s", m.dir, kind, typ, label)
	return cty.NilVal
}
