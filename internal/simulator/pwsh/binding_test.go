package pwsh

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
)

// oddValues are tried on parameters of every type.
func oddValues() []any {
	return []any{
		nil, "", " ", "abc", "12", " 7 ", "0x10", "1.5", "-1", 0, 1, -1, 200, 70000, 5000000000, 1.5, 2.5, true, false,
		[]any{}, []any{"a"}, []any{1, 2}, []any{nil}, []any{"a", ""}, wire.GUID(enginetestGUID), "{6B5E4F9C-0D3A-4A58-9A4C-0A1B2C3D4E5F}",
		wire.Credential{User: "u", Password: "p"}, map[string]any{"a": 1}, "00:01:00", "2026-01-02T03:04:05Z", "1.2.3",
		"On", "of", "Internal", "Default", "E", "Enabled", "Private,Internal",
	}
}

const enginetestGUID = "6b5e4f9c-0d3a-4a58-9a4c-0a1b2c3d4e5f"

// fitting is a value that a mandatory parameter takes, nil when only an object would do.
func fitting(c *catalog.Catalog, p *catalog.Parameter) any {
	for _, v := range p.Validate {
		switch v.Kind {
		case "Set":
			return v.Values[0]
		case "Range":
			return max(v.Min, 1)
		}
	}
	if e := c.Enum(p.Type); e != nil {
		return e.Members[0].Name
	}
	switch p.Type {
	case "System.String", "System.Object":
		return "x"
	case "System.Management.Automation.SwitchParameter", "System.Boolean":
		return true
	case "System.Guid":
		return wire.GUID(enginetestGUID)
	case "System.Management.Automation.PSCredential":
		return wire.Credential{User: "u", Password: "p"}
	case "System.TimeSpan":
		return "00:01:00"
	case "System.Collections.IDictionary", "System.Collections.Hashtable":
		return map[string]any{"a": 1}
	case "System.Byte", "System.SByte", "System.Int16", "System.UInt16", "System.Int32", "System.UInt32", "System.Int64", "System.UInt64":
		return 1
	}
	return nil
}

// base are the mandatory parameters of a set; ok is false when one of them needs an object.
func base(c *catalog.Catalog, x *catalog.Cmdlet, set string, without *catalog.Parameter) (map[string]any, bool) {
	args := map[string]any{}
	for _, p := range x.Parameters {
		for _, m := range p.Sets {
			if m.Mandatory && (m.Set == set || m.Set == catalog.AllSets) && p != without {
				v := fitting(c, p)
				if v == nil {
					return nil, false
				}
				args[p.Name] = v
			}
		}
	}
	return args, true
}

// shape is what decides how a value binds: parameters of one shape need to be tried once.
func shape(x *catalog.Cmdlet, p *catalog.Parameter) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %v %v", x.Kind, p.Type, p.Array, p.Nullable)
	for _, v := range p.Validate {
		fmt.Fprintf(&b, " %s", v.Kind)
	}
	for _, m := range p.Sets {
		if m.Mandatory {
			b.WriteString(" mandatory")
			break
		}
	}
	return b.String()
}

// elsewhere are cmdlets that do not simply pass their parameters on.
func elsewhere(x *catalog.Cmdlet) bool {
	return builtIn(x.Module) || strings.HasPrefix(x.Name, "New-PSSession")
}

// compare sends calls in batches and compares outcome and invocation of each.
func (p *pair) compare(calls []wire.Call) {
	p.t.Helper()
	for part := range slices.Chunk(calls, 200) {
		groups := make([][]wire.Call, 0, len(part))
		for _, c := range part {
			groups = append(groups, []wire.Call{c})
		}
		fromPwsh, fromOwn := len(p.pwshModel.Calls()), len(p.own.Calls())
		theirs, own := outcomes(p.t, p.pwsh.Batch(groups...)), outcomes(p.t, p.native.Batch(groups...))
		realCalls, ownCalls := invocations(p.pwshModel, fromPwsh), invocations(p.own, fromOwn)
		next := func(list *[]string, o []outcome) string {
			if len(o[0].Errors) > 0 && strings.Contains(o[0].Errors[0], "ParameterBinding") || len(*list) == 0 {
				return ""
			}
			first := (*list)[0]
			*list = (*list)[1:]
			return first
		}
		for i, c := range part {
			a := append([]string{next(&realCalls, theirs[i])}, theirs[i][0].Errors...)
			b := append([]string{next(&ownCalls, own[i])}, own[i][0].Errors...)
			if d := cmp.Diff(a, b); d != "" {
				p.t.Errorf("%s %v (-powershell +native)\n%s", c.Cmdlet, c.Parameters, d)
			}
		}
	}
}

func TestSameBinding(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	p := newPair(t)
	t.Run("values", func(t *testing.T) {
		seen := map[string]bool{}
		var calls []wire.Call
		for _, x := range c.Cmdlets {
			if !generated(x) || elsewhere(x) || x.Name == "Set-VMNetworkAdapterRdma" {
				continue
			}
			for _, parameter := range x.Parameters {
				if seen[shape(x, parameter)] && os.Getenv("HYPERVSIM_TEST_EVERY_BINDING") == "" {
					continue
				}
				set := parameter.Sets[0].Set
				if set == catalog.AllSets {
					set = x.Sets[0]
				}
				args, ok := base(c, x, set, parameter)
				if !ok {
					continue
				}
				seen[shape(x, parameter)] = true
				for _, v := range oddValues() {
					if _, text := v.(string); (text || v == 1.5 || v == 2.5) && parameter.Type == "System.DateTime" && v != "2026-01-02T03:04:05Z" {
						continue // what such a text means depends on the day
					}
					with := map[string]any{parameter.Name: v}
					for name, value := range args {
						with[name] = value
					}
					calls = append(calls, wire.Call{Cmdlet: x.Name, Parameters: with, Select: []wire.Field{{Name: "Name"}}})
				}
			}
		}
		q := *p
		q.t = t
		q.compare(calls)
	})
	t.Run("sets", func(t *testing.T) {
		var calls []wire.Call
		for _, x := range c.Cmdlets {
			if !generated(x) || elsewhere(x) || x.Name == "Set-VMNetworkAdapterRdma" {
				continue
			}
			calls = append(calls, wire.Call{Cmdlet: x.Name, Select: []wire.Field{{Name: "Name"}}}, wire.Call{Cmdlet: x.Name, Parameters: map[string]any{"NoSuchParameter": 1}})
			for i, set := range x.Sets {
				args, ok := base(c, x, set, nil)
				if !ok {
					continue
				}
				calls = append(calls, wire.Call{Cmdlet: x.Name, Parameters: args, Select: []wire.Field{{Name: "Name"}}})
				// Mandatory parameters of two sets at once.
				if other, ok := base(c, x, x.Sets[(i+1)%len(x.Sets)], nil); ok && len(x.Sets) > 1 {
					for name, v := range args {
						other[name] = v
					}
					calls = append(calls, wire.Call{Cmdlet: x.Name, Parameters: other, Select: []wire.Field{{Name: "Name"}}})
				}
			}
			// Each optional parameter alone, under its first alias or the beginning of its name.
			for _, parameter := range x.Parameters {
				v := fitting(c, parameter)
				if v == nil {
					continue
				}
				name := parameter.Name
				if len(parameter.Aliases) > 0 {
					name = parameter.Aliases[0]
				} else if len(name) > 3 {
					name = name[:len(name)-1]
				}
				calls = append(calls, wire.Call{Cmdlet: x.Name, Parameters: map[string]any{name: v}, Select: []wire.Field{{Name: "Name"}}})
			}
		}
		q := *p
		q.t = t
		q.compare(calls)
	})
}
