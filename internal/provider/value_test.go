package provider_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// unknown stands for a value that is known only after apply.
const unknown = "<unknown>"

// object is a configuration or a state in a test: as in JSON, attributes that are left out are null.
type object = map[string]any

// toValue turns v into a value of type ty.
func toValue(t testing.TB, ty tftypes.Type, v any) tftypes.Value {
	t.Helper()
	switch v {
	case unknown:
		return tftypes.NewValue(ty, tftypes.UnknownValue)
	case nil:
		return tftypes.NewValue(ty, nil)
	}
	switch ty := ty.(type) {
	case tftypes.Object:
		in, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("%T (%v) is no object", v, v)
		}
		out := map[string]tftypes.Value{}
		for name, inner := range ty.AttributeTypes {
			out[name] = toValue(t, inner, in[name])
		}
		for name := range in {
			if _, ok := ty.AttributeTypes[name]; !ok {
				t.Fatalf("there is no attribute %q", name)
			}
		}
		return tftypes.NewValue(ty, out)
	case tftypes.Map:
		out := map[string]tftypes.Value{}
		for name, x := range v.(map[string]any) {
			out[name] = toValue(t, ty.ElementType, x)
		}
		return tftypes.NewValue(ty, out)
	case tftypes.List:
		return tftypes.NewValue(ty, toValues(t, ty.ElementType, v))
	case tftypes.Set:
		return tftypes.NewValue(ty, toValues(t, ty.ElementType, v))
	}
	return tftypes.NewValue(ty, v)
}

func toValues(t testing.TB, ty tftypes.Type, v any) []tftypes.Value {
	out := []tftypes.Value{}
	for _, x := range v.([]any) {
		out = append(out, toValue(t, ty, x))
	}
	return out
}

// plain copies v in the form of parsed JSON, so that tests may write []string and int.
func plain(t testing.TB, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fromValue is the reverse of toValue.
func fromValue(t testing.TB, v tftypes.Value) any {
	t.Helper()
	if !v.IsKnown() {
		return unknown
	}
	if v.IsNull() {
		return nil
	}
	switch ty := v.Type(); {
	case ty.Is(tftypes.Object{}), ty.Is(tftypes.Map{}):
		var in map[string]tftypes.Value
		must(t, v.As(&in))
		out := object{}
		for name, x := range in {
			out[name] = fromValue(t, x)
		}
		return out
	case ty.Is(tftypes.List{}), ty.Is(tftypes.Set{}):
		var in []tftypes.Value
		must(t, v.As(&in))
		out := []any{}
		for _, x := range in {
			out = append(out, fromValue(t, x))
		}
		return out
	case ty.Is(tftypes.String):
		var s string
		must(t, v.As(&s))
		return s
	case ty.Is(tftypes.Bool):
		var b bool
		must(t, v.As(&b))
		return b
	case ty.Is(tftypes.Number):
		n := new(big.Float)
		must(t, v.As(&n))
		f, _ := n.Float64()
		return f
	}
	t.Fatalf("no conversion for %s", v.Type())
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// proposed makes what Terraform proposes as the new state: the configuration, and for computed
// attributes that it leaves out, the prior state.
func proposed(t testing.TB, s *tfprotov6.SchemaBlock, prior, config tftypes.Value) tftypes.Value {
	t.Helper()
	if config.IsNull() {
		return config
	}
	return proposedObject(t, s.ValueType(), s.Attributes, prior, config)
}

func proposedObject(t testing.TB, ty tftypes.Type, attributes []*tfprotov6.SchemaAttribute, prior, config tftypes.Value) tftypes.Value {
	if !config.IsKnown() || config.IsNull() {
		return config
	}
	var was, want map[string]tftypes.Value
	must(t, config.As(&want))
	if !prior.IsNull() && prior.IsKnown() {
		must(t, prior.As(&was))
	}
	out := map[string]tftypes.Value{}
	for name, v := range want {
		out[name] = v // blocks, and attributes that are set
		for _, a := range attributes {
			old, ok := was[name]
			switch {
			case a.Name != name || !ok:
			case v.IsNull() && a.Computed:
				out[name] = old
			case a.NestedType != nil && !v.IsNull() && v.IsKnown():
				out[name] = proposedNested(t, a.NestedType, old, v)
			}
		}
	}
	return tftypes.NewValue(ty, out)
}

func proposedNested(t testing.TB, n *tfprotov6.SchemaObject, prior, config tftypes.Value) tftypes.Value {
	switch n.Nesting {
	case tfprotov6.SchemaObjectNestingModeSingle:
		return proposedObject(t, config.Type(), n.Attributes, prior, config)
	case tfprotov6.SchemaObjectNestingModeMap:
		var was, want map[string]tftypes.Value
		must(t, config.As(&want))
		if !prior.IsNull() {
			must(t, prior.As(&was))
		}
		for key, v := range want {
			if old, ok := was[key]; ok {
				want[key] = proposedObject(t, v.Type(), n.Attributes, old, v)
			}
		}
		return tftypes.NewValue(config.Type(), want)
	case tfprotov6.SchemaObjectNestingModeList:
		var was, want []tftypes.Value
		must(t, config.As(&want))
		if !prior.IsNull() {
			must(t, prior.As(&was))
		}
		for i, v := range want {
			if i < len(was) {
				want[i] = proposedObject(t, v.Type(), n.Attributes, was[i], v)
			}
		}
		return tftypes.NewValue(config.Type(), want)
	}
	return config
}

// differences lists where got is not what was planned; what was unknown in the plan may be anything
// but unknown.
func differences(planned, got any, at string) []string {
	if planned == unknown {
		return unknowns(got, at)
	}
	var out []string
	switch planned := planned.(type) {
	case object:
		inner, ok := got.(object)
		if !ok {
			return []string{fmt.Sprintf("%s: planned %v, got %v", at, planned, got)}
		}
		for name := range planned {
			out = append(out, differences(planned[name], inner[name], strings.TrimPrefix(at+"."+name, "."))...)
		}
		for name := range inner {
			if _, ok := planned[name]; !ok {
				out = append(out, fmt.Sprintf("%s.%s: not planned", at, name))
			}
		}
	case []any:
		inner, ok := got.([]any)
		if !ok || len(inner) != len(planned) {
			return []string{fmt.Sprintf("%s: planned %v, got %v", at, planned, got)}
		}
		for i := range planned {
			out = append(out, differences(planned[i], inner[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
	default:
		if planned != got {
			out = append(out, fmt.Sprintf("%s: planned %v, got %v", at, planned, got))
		}
	}
	slices.Sort(out)
	return out
}

// unknowns lists where v is unknown.
func unknowns(v any, at string) []string {
	var out []string
	switch v := v.(type) {
	case object:
		for name, x := range v {
			out = append(out, unknowns(x, strings.TrimPrefix(at+"."+name, "."))...)
		}
	case []any:
		for i, x := range v {
			out = append(out, unknowns(x, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case string:
		if v == unknown {
			out = append(out, at+": unknown after apply")
		}
	}
	return out
}

// namedAttribute is what the tests of schemas look at.
type namedAttribute struct {
	name, description string
	sensitive         bool
	nested            []namedAttribute
}

func attributesOf(attributes []*tfprotov6.SchemaAttribute) []namedAttribute {
	out := make([]namedAttribute, len(attributes))
	for i, a := range attributes {
		out[i] = namedAttribute{name: a.Name, description: a.Description, sensitive: a.Sensitive}
		if a.NestedType != nil {
			out[i].nested = attributesOf(a.NestedType.Attributes)
		}
	}
	return out
}
