package lab

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Names of exceptions that Windows raises.
const (
	virtualizationException          = "Microsoft.HyperV.PowerShell.VirtualizationException"
	virtualizationOperationException = "Microsoft.HyperV.PowerShell.VirtualizationOperationFailedException"
	cimException                     = "Microsoft.Management.Infrastructure.CimException"
	cimJobException                  = "Microsoft.PowerShell.Cmdletization.Cim.CimJobException"
)

// hyperVCategory is the category that goes with the first part of a Hyper-V error id (errors.md 0.2).
func hyperVCategory(id string) string {
	switch id {
	case "InvalidParameter":
		return "InvalidArgument"
	case "ObjectNotFound":
		return "ObjectNotFound"
	case "ObjectInUse":
		return "ResourceBusy"
	case "AccessDenied":
		return "PermissionDenied"
	case "InvalidState":
		return "InvalidOperation"
	default:
		return "NotSpecified"
	}
}

// hyperVTail is the class of a Hyper-V cmdlet. Remove-VMSwitch is the one whose class ends in Command.
func hyperVTail(name string) string {
	class := strings.Replace(name, "-", "", 1)
	if strings.EqualFold(name, "Remove-VMSwitch") {
		class = "RemoveVMSwitchCommand"
	}
	return "Microsoft.HyperV.PowerShell.Commands." + class
}

// hyperv is a direct refusal of a Hyper-V cmdlet: an empty target, the category by the id.
func (c *call) hyperv(id, format string, args ...any) *cmdlet.Error {
	return &cmdlet.Error{
		ID: id + "," + hyperVTail(c.inv.Cmdlet), Category: hyperVCategory(id), Exception: virtualizationException, Message: fmt.Sprintf(format, args...),
	}
}

// hypervTask is a failed job of the management service: "Failed while …", with the task as target (errors.md 0.3).
func (c *call) hypervTask(id, format string, args ...any) *cmdlet.Error {
	e := c.hyperv(id, format, args...)
	e.Target, e.TargetType = "Microsoft.HyperV.PowerShell.VMTask", "VMTask"
	e.Exception = virtualizationOperationException
	return e
}

// cimNotFound is PowerShell's own error when one exact value of one property matched nothing.
func (c *call) cimNotFound(class, property, value string) *cmdlet.Error {
	return &cmdlet.Error{
		ID:       "CmdletizationQuery_NotFound_" + property + "," + c.inv.Cmdlet,
		Category: "ObjectNotFound", Target: value, TargetType: "String", Exception: cimJobException,
		Message: fmt.Sprintf("No %s objects found with property '%s' equal to '%s'.  Verify the value of the property and retry.", class, property, value),
	}
}

// cimNotFoundQuery is the same for a query over several properties.
func (c *call) cimNotFoundQuery(class, conditions string) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "CmdletizationQuery_NotFound," + c.inv.Cmdlet, Category: "ObjectNotFound", Target: class, TargetType: "String", Exception: cimJobException,
		Message: fmt.Sprintf("No matching %[1]s objects found by CIM query for instances of the ROOT/StandardCimv2/%[1]s class on the  CIM server: "+
			"SELECT * FROM %[1]s  WHERE %[2]s. Verify query parameters and retry.", class, conditions),
	}
}

// cimSystemError is a refusal by a CIM provider: Windows System Error <number> (errors.md 0.4).
func (c *call) cimSystemError(number int, class, format string, args ...any) *cmdlet.Error {
	category := "NotSpecified"
	switch number {
	case 5:
		category = "PermissionDenied"
	case 87:
		category = "InvalidArgument"
	}
	return &cmdlet.Error{
		ID: fmt.Sprintf("Windows System Error %d,%s", number, c.inv.Cmdlet), Category: category, Exception: cimException,
		Target: class, TargetType: "ROOT/StandardCimv2/" + class, Message: fmt.Sprintf(format, args...),
	}
}

// cimHResult is a refusal by a CIM provider that carries an HRESULT.
func cimHResult(hresult, tail, category, format string, args ...any) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "HRESULT " + hresult + "," + tail, Category: category, Exception: cimException, HResult: hresult, Message: fmt.Sprintf(format, args...),
	}
}

// coreTail is the class of a cmdlet of PowerShell's own modules.
func (c *call) coreTail() string {
	return "Microsoft.PowerShell.Commands." + strings.Replace(c.inv.Cmdlet, "-", "", 1) + "Command"
}

// pathNotFound is the error for a registry key that does not exist.
func (c *call) pathNotFound(path string) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "PathNotFound," + c.coreTail(), Category: "ObjectNotFound", Target: path, TargetType: "String",
		Exception: "System.Management.Automation.ItemNotFoundException",
		Message:   fmt.Sprintf("Cannot find path '%s' because it does not exist.", path),
	}
}

// propertyMissing is the error for a registry value that does not exist.
func (c *call) propertyMissing(name, key string) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "System.Management.Automation.PSArgumentException," + c.coreTail(), Category: "InvalidArgument", Target: name, TargetType: "String",
		Exception: "System.Management.Automation.PSArgumentException",
		Message:   fmt.Sprintf(`Property %s does not exist at path HKEY_LOCAL_MACHINE\%s.`, name, key),
	}
}

// alreadyThere is the error of New-Item and New-ItemProperty without -Force.
func (c *call) alreadyThere(target, message string) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "System.IO.IOException," + c.coreTail(), Category: "ResourceExists", Target: target, TargetType: "String",
		Exception: "System.IO.IOException", Message: message,
	}
}

// argumentError is a refused argument of one of PowerShell's own cmdlets.
func (c *call) argumentError(target, format string, args ...any) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "System.Management.Automation.PSArgumentException," + c.coreTail(), Category: "InvalidArgument", Target: target, TargetType: "String",
		Exception: "System.Management.Automation.PSArgumentException", Message: fmt.Sprintf(format, args...),
	}
}

// commandNotFound is what PowerShell says of a cmdlet that the machine does not have.
func commandNotFound(name string) *cmdlet.Error {
	return &cmdlet.Error{
		ID: "CommandNotFoundException", Category: "ObjectNotFound", Target: name, TargetType: "String",
		Exception: "System.Management.Automation.CommandNotFoundException", Terminating: true,
		Message: fmt.Sprintf("The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program. "+
			"Check the spelling of the name, or if a path was included, verify that the path is correct and try again.", name),
	}
}

// runtimeError is an error about reaching the target at all.
func runtimeError(id, category, target, message string) *cmdlet.Error {
	return &cmdlet.Error{ID: id, Category: category, Target: target, TargetType: "String", Exception: "System.ArgumentException", Message: message, Terminating: true}
}

// localise gives the message in the language of the target, so that nobody matches English text. The
// text is marked and has its letters changed; ids and categories are the same in every language (errors.md 0.1).
func (c *call) localise(e *cmdlet.Error) *cmdlet.Error {
	language := "en-US"
	switch {
	case c.guest() != nil:
		language = c.guest().OS.Language
	case c.host != nil:
		language = c.host.OS.Language
	}
	if language == "" || strings.EqualFold(language, "en-US") {
		return e
	}
	translated := *e
	translated.Message = "[" + language + "] " + strings.NewReplacer(
		"a", "ä", "e", "é", "i", "ï", "o", "ö", "u", "ü", "A", "Ä", "E", "É", "I", "Ï", "O", "Ö", "U", "Ü").Replace(e.Message)
	return &translated
}
