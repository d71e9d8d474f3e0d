package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// checkClass refuses an instance of another CIM class than the cmdlet's own.
func (c *Cmdlet) checkClass(p *Parameter, v any) *cmdlet.Error {
	class := c.ClassOf(p)
	if class == "" {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		o, ok := e.(*cmdlet.Object)
		if ok && !slices.ContainsFunc(o.Types, func(name string) bool { return strings.EqualFold(CimClassOf(name), class) }) {
			return c.bindingError("MismatchedPSTypeName", "InvalidArgument", transformationException, fmt.Sprintf(
				"Cannot bind argument to parameter '%s', because PSTypeNames of the argument do not match the PSTypeName required by the parameter: Microsoft.Management.Infrastructure.CimInstance#%s.",
				p.Name, class))
		}
	}
	return nil
}

// ClassOf is the CIM class of which a parameter takes instances; "" where any will do, or none.
func (c *Cmdlet) ClassOf(p *Parameter) string {
	switch {
	case p.Type != "Microsoft.Management.Infrastructure.CimInstance":
		return ""
	case p.CimClass == "" && p.Name == "InputObject":
		return c.CimClass
	}
	return p.CimClass
}

// CimClassOf is the class in a type name such as Microsoft.Management.Infrastructure.CimInstance#ROOT/StandardCimv2/MSFT_NetAdapter.
func CimClassOf(typeName string) string {
	_, path, ok := strings.Cut(typeName, "CimInstance#")
	if !ok {
		return ""
	}
	return path[strings.LastIndex(path, "/")+1:]
}

// checkValid runs the Validate attributes.
func (c *Cmdlet) checkValid(p *Parameter, v any) *cmdlet.Error {
	for _, rule := range p.Validate {
		if p.Type == "System.Management.Automation.PSObject" && v != nil {
			continue // the wrapper around a value is never empty
		}
		if why := rule.refuses(v); why != "" {
			return c.bindingError("ParameterArgumentValidationError", "InvalidData", validationException,
				fmt.Sprintf("Cannot validate argument on parameter '%s'. %s", p.Name, why))
		}
	}
	return nil
}

func (r Validation) refuses(v any) string {
	list, isList := v.([]any)
	switch r.Kind {
	case "NotNull", "NotNullOrEmpty":
		empty := r.Kind == "NotNullOrEmpty"
		if v == nil || empty && v == "" || empty && isList && len(list) == 0 {
			return "The argument is null or empty. Provide an argument that is not null or empty, and then try the command again."
		}
		for _, e := range list {
			if e == nil || empty && e == "" {
				return "The argument is null, empty, or an element of the argument collection contains a null value. Supply a collection that does not contain any null values and then try the command again."
			}
		}
		return ""
	}
	if !isList {
		list = []any{v}
	}
	for _, e := range list {
		if why := r.refusesOne(e); why != "" {
			return why
		}
	}
	return ""
}

func (r Validation) refusesOne(v any) string {
	switch r.Kind {
	case "Set":
		text := Text(v)
		if v == nil || !slices.ContainsFunc(r.Values, func(x string) bool { return strings.EqualFold(x, text) }) {
			return fmt.Sprintf("The argument \"%s\" does not belong to the set \"%s\" specified by the ValidateSet attribute. Supply an argument that is in the set and then try the command again.",
				text, strings.Join(r.Values, ","))
		}
	case "Range":
		n, ok := integerOf(v)
		if v == nil || !ok || !n.IsInt64() || n.Int64() < r.Min || n.Int64() > r.Max {
			return fmt.Sprintf("The %s argument is outside the allowed range of %d to %d. Supply an argument within the range and then try the command again.", Text(v), r.Min, r.Max)
		}
	}
	return ""
}

// checkMandatory refuses emptiness: a mandatory parameter needs a value in every set that has it.
func (c *Cmdlet) checkMandatory(p *Parameter, v any) *cmdlet.Error {
	if !mandatorySomewhere(p) {
		return nil
	}
	refuse := func(id, what string) *cmdlet.Error {
		return c.bindingError(id, "InvalidData", validationException, fmt.Sprintf("Cannot bind argument to parameter '%s' because it is %s.", p.Name, what))
	}
	list, isList := v.([]any)
	text := p.Type == "System.String"
	switch {
	case v == nil:
		return refuse("ParameterArgumentValidationErrorNullNotAllowed", "null")
	case v == "" && text:
		return refuse("ParameterArgumentValidationErrorEmptyStringNotAllowed", "an empty string")
	case !p.Array:
		return nil
	case isList && len(list) == 0:
		return refuse("ParameterArgumentValidationErrorEmptyArrayNotAllowed", "an empty array")
	}
	for _, e := range list {
		if e == nil {
			return refuse("ParameterArgumentValidationErrorNullNotAllowed", "null")
		}
		if e == "" && text {
			return refuse("ParameterArgumentValidationErrorEmptyStringNotAllowed", "an empty string")
		}
	}
	return nil
}
