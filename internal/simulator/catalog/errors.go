package catalog

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const (
	bindingException        = "System.Management.Automation.ParameterBindingException"
	validationException     = "System.Management.Automation.ParameterBindingValidationException"
	transformationException = "System.Management.Automation.ParameterBindingArgumentTransformationException"
	systemHResult           = "0x80131501" // what every RuntimeException has
)

// problem is why a value does not fit, in the binder's own words.
type problem struct {
	id        string // the id that a compiled cmdlet gives
	category  string
	exception string
	message   string
	late      bool // raised after conversion, the same for functions
}

func (c *Cmdlet) bindingError(id, category, exception, message string) *cmdlet.Error {
	return &cmdlet.Error{
		ID: id + "," + c.Tail(), Category: category, Exception: exception, Message: message, HResult: systemHResult, Terminating: true,
	}
}

// cannotConvert reports a problem as the cmdlet's kind does: a function's parameters are converted by
// a transformation attribute, which has one id for everything.
func (c *Cmdlet) cannotConvert(p *Parameter, why *problem, compiled bool) *cmdlet.Error {
	if why.late || compiled || c.Kind == KindBinary {
		return c.bindingError(why.id, why.category, why.exception, why.message)
	}
	return c.bindingError("ParameterArgumentTransformationError", "InvalidData", transformationException,
		fmt.Sprintf("Cannot process argument transformation on parameter '%s'. %s", p.Name, why.message))
}

func (c *Cmdlet) notFound(name string) *cmdlet.Error {
	return c.bindingError("NamedParameterNotFound", "InvalidArgument", bindingException,
		fmt.Sprintf("A parameter cannot be found that matches parameter name '%s'.", name))
}

func (c *Cmdlet) ambiguousName(name string) *cmdlet.Error {
	return c.bindingError("AmbiguousParameter", "InvalidArgument", bindingException,
		fmt.Sprintf("Parameter cannot be processed because the parameter name '%s' is ambiguous.", name))
}

func (c *Cmdlet) alreadyBound(name string) *cmdlet.Error {
	return c.bindingError("ParameterAlreadyBound", "InvalidArgument", bindingException,
		fmt.Sprintf("Cannot bind parameter because parameter '%s' is specified more than once.", name))
}

func (c *Cmdlet) ambiguousSet() *cmdlet.Error {
	return c.bindingError("AmbiguousParameterSet", "InvalidArgument", bindingException,
		"Parameter set cannot be resolved using the specified named parameters.")
}

func (c *Cmdlet) missingMandatory(names []string) *cmdlet.Error {
	return c.bindingError("MissingMandatoryParameter", "InvalidArgument", bindingException,
		"Cannot process command because of one or more missing mandatory parameters: "+strings.Join(names, " ")+".")
}

func (c *Cmdlet) inputNotBound() *cmdlet.Error {
	return c.bindingError("InputObjectNotBound", "InvalidArgument", bindingException,
		"The input object cannot be bound to any parameters for the command either because the command does not take pipeline input or "+
			"the input and its properties do not match any of the parameters that take pipeline input.")
}

func (c *Cmdlet) inputMissesMandatory(names []string) *cmdlet.Error {
	return c.bindingError("InputObjectMissingMandatory", "InvalidArgument", bindingException,
		"The input object cannot be bound because it did not contain the information required to bind all mandatory parameters: "+strings.Join(names, " "))
}

// NotRecognized is the error of a command that the target does not have.
func NotRecognized(name string) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "CommandNotFoundException", Category: "ObjectNotFound", Target: name, TargetType: "String",
		Exception: "System.Management.Automation.CommandNotFoundException", HResult: systemHResult, Terminating: true,
		Message: "The term '" + name + "' is not recognized as the name of a cmdlet, function, script file, or operable program. " +
			"Check the spelling of the name, or if a path was included, verify that the path is correct and try again.",
	}
}
