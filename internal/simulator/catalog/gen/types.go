package main

import (
	"regexp"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
)

const hyperV = "Microsoft.HyperV.PowerShell."

// simple are the documentation's short names of types that every module shares.
var simple = map[string]string{
	"string": "System.String", "switchparameter": "System.Management.Automation.SwitchParameter",
	"boolean": "System.Boolean", "bool": "System.Boolean", "byte": "System.Byte", "sbyte": "System.SByte",
	"int": "System.Int32", "int32": "System.Int32", "int16": "System.Int16", "int64": "System.Int64",
	"uint": "System.UInt32", "uint32": "System.UInt32", "uint16": "System.UInt16", "uint64": "System.UInt64",
	"guid": "System.Guid", "timespan": "System.TimeSpan", "datetime": "System.DateTime",
	"version": "System.Version", "uri": "System.Uri", "object": "System.Object",
	"psobject":     "System.Management.Automation.PSObject",
	"pscredential": "System.Management.Automation.PSCredential",
	"scriptblock":  "System.Management.Automation.ScriptBlock",
	"securestring": "System.Security.SecureString", "xmldocument": "System.Xml.XmlDocument",
	"cultureinfo": "System.Globalization.CultureInfo",
	"idictionary": "System.Collections.IDictionary", "hashtable": "System.Collections.Hashtable",
	"ciminstance":       "Microsoft.Management.Infrastructure.CimInstance",
	"cimsession":        "Microsoft.Management.Infrastructure.CimSession",
	"pssession":         "System.Management.Automation.Runspaces.PSSession",
	"wildcardpattern":   "System.String",
	"registryvaluekind": "Microsoft.Win32.RegistryValueKind",
	"dayofweek":         "System.DayOfWeek",
}

// external are enumerations of the runtime itself, with the numbers that .NET gives them.
var external = []*catalog.Enum{
	{Name: "Microsoft.Win32.RegistryValueKind", External: true, Members: []catalog.EnumMember{
		{Name: "None", Number: -1}, {Name: "Unknown", Number: 0}, {Name: "String", Number: 1}, {Name: "ExpandString", Number: 2},
		{Name: "Binary", Number: 3}, {Name: "DWord", Number: 4}, {Name: "MultiString", Number: 7}, {Name: "QWord", Number: 11}}},
	{Name: "System.DayOfWeek", External: true, Members: []catalog.EnumMember{
		{Name: "Sunday", Number: 0}, {Name: "Monday", Number: 1}, {Name: "Tuesday", Number: 2}, {Name: "Wednesday", Number: 3},
		{Name: "Thursday", Number: 4}, {Name: "Friday", Number: 5}, {Name: "Saturday", Number: 6}}},
}

// bases are the base classes of the Hyper-V module's classes.
var bases = map[string]string{
	"VMNetworkAdapter": "VMNetworkAdapterBase", "VMInternalNetworkAdapter": "VMNetworkAdapterBase",
	"VMExternalNetworkAdapter": "VMNetworkAdapterBase",
	"VirtualMachine":           "VirtualMachineBase", "VMSnapshot": "VirtualMachineBase",
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	notWord    = regexp.MustCompile(`\W`)
)

// types resolves the names of types and collects the enumerations met on the way.
type types struct {
	enums   map[string]*catalog.Enum
	byShort map[string]string // Hyper-V enumerations by short name
}

func newTypes(ref *reference) *types {
	t := &types{enums: map[string]*catalog.Enum{}, byShort: map[string]string{}}
	for _, e := range external {
		t.enums[e.Name] = e
	}
	for _, e := range numbered {
		t.enums[e.Name] = e
	}
	for short, list := range ref.Enums {
		if strings.Contains(short, "+") {
			continue // nested in a cmdlet class; the outer enumeration of the same name serves
		}
		e := &catalog.Enum{Name: hyperVEnum(short)}
		for _, m := range list {
			e.Members = append(e.Members, catalog.EnumMember{Name: m.Name, Number: m.Number})
		}
		t.enums[e.Name], t.byShort[short] = e, e.Name
	}
	return t
}

func hyperVEnum(short string) string {
	switch {
	case short == "DisableOnFailoverFeature":
		return "Microsoft.Virtualization.Client.Management." + short
	case strings.HasPrefix(short, "Vhd"), strings.HasPrefix(short, "VirtualHardDisk"):
		return "Microsoft.Vhd.PowerShell." + short
	}
	return hyperV + short
}

// resolve names the .NET type of a parameter.
func (t *types) resolve(module string, p refParameter) (name string, array bool) {
	short, array := strings.CutSuffix(p.Type, "[]")
	if full, ok := simple[strings.ToLower(short)]; ok {
		return full, array
	}
	if strings.HasPrefix(short, "FlagsExpression") {
		return "System.String", array
	}
	if module == "Hyper-V" {
		if full, ok := t.byShort[short]; ok {
			return full, array
		}
		if len(p.Values) == 0 {
			return hyperV + short, array
		}
		t.byShort[short] = hyperV + short
		return t.counted(hyperV+short, p.Values), array
	}
	if full := enumNamespace(module); full != "" && len(p.Values) > 0 && identifier.MatchString(short) && allIdentifiers(p.Values) {
		return t.counted(full+short, p.Values), array
	}
	return "System.Object", array
}

const generatedTypes = "Microsoft.PowerShell.Cmdletization.GeneratedTypes."

// enumNamespace is where a module's enumerations live; "" where a string stands in for them.
func enumNamespace(module string) string {
	switch {
	case module == "Microsoft.PowerShell.Core", module == "Microsoft.PowerShell.Utility":
		return ""
	case strings.HasPrefix(module, "Microsoft.PowerShell."):
		return "Microsoft.PowerShell.Commands."
	case module == "Dism":
		return "Microsoft.Dism.Commands."
	case module == "CimCmdlets":
		return "Microsoft.Management.Infrastructure.Options."
	}
	return generatedTypes + notWord.ReplaceAllString(module, "") + "."
}

// counted adds values to an enumeration of which only the names are known.
func (t *types) counted(full string, values []string) string {
	e := t.enums[full]
	if e == nil {
		e = &catalog.Enum{Name: full, Counted: true}
		t.enums[full] = e
	}
	for _, v := range values {
		if e.Counted && !hasMember(e, v) {
			e.Members = append(e.Members, catalog.EnumMember{Name: v, Number: int64(len(e.Members))})
		}
	}
	return full
}

func hasMember(e *catalog.Enum, name string) bool {
	for _, m := range e.Members {
		if strings.EqualFold(m.Name, name) {
			return true
		}
	}
	return false
}

func allIdentifiers(values []string) bool {
	for _, v := range values {
		if !identifier.MatchString(v) {
			return false
		}
	}
	return true
}
