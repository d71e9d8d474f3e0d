package native

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// arguments resolves the value forms in a call's parameters.
func (r *runner) arguments(parameters map[string]any, names saved) (map[string]any, *cmdlet.Error) {
	out := make(map[string]any, len(parameters))
	keys := make([]string, 0, len(parameters))
	for k := range parameters {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		v, err := resolve(parameters[k], names)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

func resolve(v any, names saved) (any, *cmdlet.Error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			x, err := resolve(e, names)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return out, nil
	case map[string]any:
		if len(v) == 1 {
			for key, form := range v {
				if x, ok, err := resolveForm(key, form, names); ok || err != nil {
					return x, err
				}
			}
		}
		out := make(map[string]any, len(v))
		for key, e := range v {
			x, err := resolve(e, names)
			if err != nil {
				return nil, err
			}
			out[key] = x
		}
		return out, nil
	}
	return v, nil
}

// resolveForm makes the value that a form stands for; ok is false for an ordinary table.
func resolveForm(key string, form any, names saved) (value any, ok bool, err *cmdlet.Error) {
	fields, _ := form.(map[string]any)
	switch key {
	case wire.KeyRef:
		value, err = reference(fields, names)
		return value, true, err
	case wire.KeyGUID:
		value, err = guid(catalog.Text(form))
		return value, true, err
	case wire.KeyCredential:
		return cmdlet.Credential{User: catalog.Text(fields["user"]), Password: catalog.Text(fields["password"])}, true, nil
	case wire.KeySecurityDescriptor:
		value, err = securityDescriptor(fields, names)
		return value, true, err
	}
	return nil, false, nil
}

// guid is a cast to [guid], as a script does it.
func guid(text string) (any, *cmdlet.Error) {
	if g, ok := catalog.ParseGUID(text); ok {
		return g, nil
	}
	return nil, &cmdlet.Error{
		ID: "InvalidCastParseTargetInvocation", Category: "InvalidArgument", Exception: "System.Management.Automation.PSInvalidCastException", HResult: "0x80004002",
		Message: "Cannot convert value \"" + text + "\" to type \"System.Guid\".", Terminating: true,
	}
}

func reference(fields map[string]any, names saved) (any, *cmdlet.Error) {
	objects, ok := names[catalog.Text(fields["call"])]
	if !ok {
		return nil, referenceEmpty()
	}
	var found any = objects
	if path := catalog.Text(fields["path"]); path != "" {
		found = walk(objects, path)
	}
	list := listOf(found)
	if number, given := fields["index"]; given && number != nil {
		i, err := strconv.Atoi(catalog.Text(number))
		if err != nil || i < 0 || i >= len(list) || list[i] == nil {
			return nil, referenceEmpty()
		}
		return list[i], nil
	}
	kept := make([]any, 0, len(list))
	for _, v := range list {
		if v != nil {
			kept = append(kept, v)
		}
	}
	switch len(kept) {
	case 0:
		return nil, referenceEmpty()
	case 1:
		return kept[0], nil
	}
	return kept, nil
}

func referenceEmpty() *cmdlet.Error {
	return &cmdlet.Error{ID: wire.ErrorReferenceEmpty, Category: "ObjectNotFound", Message: "The object that this call refers to was not found.", Terminating: true}
}

// securityDescriptor is SetSecurityDescriptorSddlForm on an object that Get-Acl gave.
func securityDescriptor(fields map[string]any, names saved) (any, *cmdlet.Error) {
	v, err := reference(map[string]any{"call": fields["call"], "index": json.Number("0")}, names)
	if err != nil {
		return nil, err
	}
	o, _ := v.(*cmdlet.Object)
	security := catalog.SecurityOf(o)
	if security == nil {
		return nil, &cmdlet.Error{
			ID: "MethodNotFound", Category: "InvalidOperation", Exception: "System.Management.Automation.RuntimeException", HResult: "0x80131501", Terminating: true,
			Message: "Method invocation failed because the object does not contain a method named 'SetSecurityDescriptorSddlForm'.",
		}
	}
	security.SDDL = catalog.Text(fields["sddl"])
	for i := range o.Properties {
		if strings.EqualFold(o.Properties[i].Name, "Sddl") {
			o.Properties[i].Value = security.SDDL
		}
	}
	return security, nil
}

// walk follows property names joined by dots; through an array it gives an array.
func walk(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		list, ok := v.([]any)
		if !ok {
			v = member(v, name)
			continue
		}
		all := make([]any, 0, len(list))
		for _, e := range list {
			if inner, ok := member(e, name).([]any); ok {
				all = append(all, inner...)
			} else {
				all = append(all, member(e, name))
			}
		}
		v = all
	}
	return v
}

// member reads one property; one that is not there is null.
func member(v any, name string) any {
	switch v := v.(type) {
	case *cmdlet.Object:
		if v == nil {
			return nil
		}
		x, _ := v.Get(name)
		return list(x)
	case map[string]any:
		if x, ok := v[name]; ok {
			return list(x)
		}
		for k, x := range v {
			if strings.EqualFold(k, name) {
				return list(x)
			}
		}
	case string:
		if strings.EqualFold(name, "Length") {
			return int64(len([]rune(v)))
		}
	}
	return nil
}

// list gives arrays of any Go type the one that the rest of the package knows.
func list(v any) any {
	switch v := v.(type) {
	case []string:
		out := make([]any, 0, len(v))
		for _, s := range v {
			out = append(out, s)
		}
		return out
	case []*cmdlet.Object:
		out := make([]any, 0, len(v))
		for _, o := range v {
			out = append(out, o)
		}
		return out
	case *cmdlet.Object:
		if v == nil {
			return nil
		}
	}
	return v
}

// holds says whether every condition holds: a property equals one of the texts, ignoring case.
func holds(v any, conditions []wire.Condition) bool {
	for _, c := range conditions {
		if !holdsOne(walk(v, c.Property), c.Equals) {
			return false
		}
	}
	return true
}

func holdsOne(found any, wanted []string) bool {
	candidates, ok := found.([]any)
	if !ok {
		candidates = []any{found}
	}
	for _, v := range candidates {
		text := scalarText(v)
		for _, w := range wanted {
			if strings.EqualFold(text, w) {
				return true
			}
		}
	}
	return false
}
