package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// converter turns values into a parameter's type as LanguagePrimitives does, and into the canonical
// values of package cmdlet.
type converter struct {
	catalog  *Catalog
	function bool  // a function's parameters take null in their own way
	enum     *Enum // an enumeration that the catalogue does not list
}

// convertChecked converts a value and runs the parameter's checks in the engine's order: type, class
// of a CIM instance, Validate attributes, emptiness of a mandatory one.
func (c *Cmdlet) convertChecked(p *Parameter, value any) (any, *cmdlet.Error) {
	v, why := (&converter{catalog: c.catalog, function: c.Kind == KindFunction}).value(p, value)
	if why != nil && (!why.late || !hasCheck(p)) {
		return nil, c.cannotConvert(p, why, false)
	}
	if e := c.checkClass(p, v); e != nil {
		return nil, e
	}
	if e := c.checkValid(p, v); e != nil {
		return nil, e
	}
	if e := c.checkMandatory(p, v); e != nil {
		return nil, e
	}
	if why != nil {
		return nil, c.cannotConvert(p, why, false)
	}
	return v, nil
}

// hasCheck: a null for a value type fails only when the property is set, after the checks.
func hasCheck(p *Parameter) bool {
	return len(p.Validate) > 0 || mandatorySomewhere(p)
}

func mandatorySomewhere(p *Parameter) bool {
	return slices.ContainsFunc(p.Sets, func(m Membership) bool { return m.Mandatory })
}

func (t *converter) value(p *Parameter, value any) (any, *problem) {
	value = unwrap(value)
	if p.Array {
		return t.array(p, value)
	}
	if value == nil {
		return t.null(p)
	}
	list, isList := value.([]any)
	switch {
	case !isList, p.Type == "System.Object", p.Type == "System.Management.Automation.PSObject":
	case t.enumOf(p.Type) != nil && !p.Nullable:
		// Flags may come as a list, so the engine joins one for every enumeration.
		parts := make([]string, 0, len(list))
		for _, e := range list {
			if e == nil {
				return nil, noMessage(p, value)
			}
			parts = append(parts, Text(e))
		}
		value = strings.Join(parts, ",")
	default:
		return nil, cannot(p, value)
	}
	return t.one(p, value)
}

func (t *converter) array(p *Parameter, value any) (any, *problem) {
	if value == nil {
		if t.function && p.Type == "System.Boolean" {
			return nil, noMessage(p, value)
		}
		return nil, nil
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	out := make([]any, 0, len(list))
	element := *p
	element.Array, element.Nullable = false, false
	for _, v := range list {
		v = unwrap(v)
		if v == nil {
			zero, why := t.nullElement(&element)
			if why != nil {
				return nil, why
			}
			out = append(out, zero)
			continue
		}
		if inner, ok := v.([]any); ok && p.Type == "System.String" {
			v = joined(inner)
		}
		converted, why := t.one(&element, v)
		if why != nil {
			return nil, why
		}
		out = append(out, converted)
	}
	return out, nil
}

// null is a null given to a parameter that is no array.
func (t *converter) null(p *Parameter) (any, *problem) {
	if p.Nullable {
		return nil, nil
	}
	switch {
	case p.IsSwitch():
		return !t.function, nil
	case p.Type == "System.Boolean":
		return nil, &problem{id: "ParameterArgumentValidationErrorNullNotAllowed", category: "InvalidArgument", exception: bindingException,
			message: fmt.Sprintf("Cannot bind argument to parameter '%s' because it is null.", p.Name)}
	case t.function && p.Type == "System.String":
		return "", nil
	case t.function && isInteger(p.Type):
		return zeroOf(p.Type), nil
	case t.function && t.isValueType(p.Type):
		return nil, noMessage(p, nil)
	case t.isValueType(p.Type):
		return nil, &problem{id: "ParameterBindingFailed", category: "WriteError", exception: bindingException, late: true,
			message: fmt.Sprintf("Cannot bind parameter '%s' to the target. Exception setting \"%s\": \"Object reference not set to an instance of an object.\"", p.Name, p.Name)}
	}
	return nil, nil
}

// nullElement is a null inside an array.
func (t *converter) nullElement(p *Parameter) (any, *problem) {
	switch {
	case p.Type == "System.Boolean":
		return t.null(p)
	case isInteger(p.Type):
		return zeroOf(p.Type), nil
	case t.function && p.Type == "System.String":
		return "", nil
	case t.function && t.isValueType(p.Type):
		return nil, noMessage(p, nil)
	case p.Type == "System.Guid":
		return cmdlet.GUID("00000000-0000-0000-0000-000000000000"), nil
	}
	if e := t.enumOf(p.Type); e != nil {
		for _, m := range e.Members {
			if m.Number == 0 {
				return enumValue(e, m), nil
			}
		}
		return cmdlet.Enum{Type: e.Name, Name: "0"}, nil
	}
	return nil, nil
}

func (t *converter) enumOf(name string) *Enum {
	if t.enum != nil && t.enum.Name == name {
		return t.enum
	}
	return t.catalog.Enum(name)
}

func (t *converter) isValueType(name string) bool {
	switch name {
	case "System.Boolean", "System.Guid", "System.TimeSpan", "System.DateTime", "System.Char", "System.Double":
		return true
	}
	return isInteger(name) || t.enumOf(name) != nil
}

// one converts a value that is neither null nor an array.
func (t *converter) one(p *Parameter, v any) (any, *problem) {
	switch p.Type {
	case "System.Object", "System.Management.Automation.PSObject":
		return plain(v), nil
	case "System.String":
		return Text(v), nil
	case "System.Uri":
		return toURI(p, v)
	case "System.Boolean":
		return toBoolean(p, v)
	case switchType:
		return t.toSwitch(p, v)
	case "System.Guid":
		return toGUID(p, v)
	case "System.TimeSpan":
		return toTimeSpan(p, v)
	case "System.DateTime":
		return toTime(p, v)
	case "System.Version":
		return toVersion(p, v)
	case "System.Management.Automation.PSCredential":
		if c, ok := v.(cmdlet.Credential); ok {
			return c, nil
		}
		return nil, noMessage(p, v)
	case "System.Collections.Hashtable", "System.Collections.IDictionary":
		if m, ok := v.(map[string]any); ok {
			return plain(m), nil
		}
		return nil, noMessage(p, v)
	case "System.Security.SecureString", "System.Xml.XmlDocument", "System.Globalization.CultureInfo", "System.Management.Automation.ScriptBlock":
		return plain(v), nil
	}
	if isInteger(p.Type) {
		return toInteger(p, v)
	}
	if e := t.enumOf(p.Type); e != nil {
		return toEnum(p, e, v)
	}
	if o, ok := v.(*cmdlet.Object); ok && t.catalog.isA(o, p.Type) {
		return o, nil
	}
	return nil, noMessage(p, v)
}

// Canonical gives values that an engine has already bound the form in which every engine passes them
// to the model.
func (c *Cmdlet) Canonical(bound map[string]any) map[string]any {
	out := make(map[string]any, len(bound))
	t := &converter{catalog: c.catalog}
	for name, value := range bound {
		p := c.Parameter(name)
		if p == nil {
			out[name] = plain(value)
			continue
		}
		if v, why := t.value(p, value); why == nil {
			out[p.Name] = v
		} else {
			out[p.Name] = plain(value)
		}
	}
	return out
}

// isA says whether an object is of a class or of one derived from it.
func (c *Catalog) isA(o *cmdlet.Object, class string) bool {
	const cim = "Microsoft.Management.Infrastructure.CimInstance"
	for _, name := range o.Types {
		if name == class || class == cim && strings.HasPrefix(name, cim+"#") {
			return true
		}
		for k := c.Class(name); k != nil; k = c.Class(k.Base) {
			if k.Name == class || k.Base == class {
				return true
			}
		}
	}
	return false
}

// instanceOf says whether a value fits a parameter without being converted.
func (c *Catalog) instanceOf(p *Parameter, value any) bool {
	value = unwrap(value)
	if list, ok := value.([]any); ok {
		if !p.Array {
			return false
		}
		element := *p
		element.Array = false
		for _, v := range list {
			if !c.instanceOf(&element, v) {
				return false
			}
		}
		return true
	}
	switch v := value.(type) {
	case nil:
		return false
	case *cmdlet.Object:
		return c.isA(v, p.Type) || p.Type == "System.Object" || p.Type == "System.Management.Automation.PSObject"
	case string:
		return p.Type == "System.String" || p.Type == "System.Object"
	case bool:
		return p.Type == "System.Boolean" || p.Type == "System.Object"
	case cmdlet.GUID:
		return p.Type == "System.Guid" || p.Type == "System.Object"
	case cmdlet.Enum:
		return p.Type == v.Type || p.Type == "System.Object"
	case cmdlet.Credential:
		return p.Type == "System.Management.Automation.PSCredential" || p.Type == "System.Object"
	}
	if typed, ok := value.(cmdlet.Typed); ok {
		return p.Type == typed.Type
	}
	return p.Type == "System.Object"
}

func noMessage(p *Parameter, v any) *problem {
	return &problem{id: "CannotConvertArgumentNoMessage", category: "InvalidArgument", exception: bindingException,
		message: fmt.Sprintf("Cannot bind parameter '%s'. Cannot convert the \"%s\" value of type \"%s\" to type \"%s\".", p.Name, Text(v), typeName(v), p.Type)}
}

func cannot(p *Parameter, v any) *problem {
	return &problem{id: "CannotConvertArgument", category: "InvalidArgument", exception: bindingException,
		message: fmt.Sprintf("Cannot convert '%s' to the type '%s' required by parameter '%s'.", typeName(v), p.Type, p.Name)}
}
