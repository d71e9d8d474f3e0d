package pwsh

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/google/uuid"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
)

// windowsModule holds the stubs of cmdlets that belong to PowerShell's own modules: a folder of such a
// module's name would hide the real one.
const windowsModule = "HyperVSim.Windows"

// baseOf is the class that a compiled stub derives from.
func baseOf(x *catalog.Cmdlet) string {
	switch x.Name {
	case "New-PSSession":
		return "HyperVSim.HvNewSession"
	case "Get-PSSession":
		return "HyperVSim.HvGetSession"
	case "Remove-PSSession":
		return "HyperVSim.HvRemoveSession"
	case "Invoke-Command":
		return "HyperVSim.HvInvoke"
	}
	if x.Module == managementModule && x.Parameter("LiteralPath") != nil && x.Parameter("Path") != nil || x.Name == "New-Item" {
		return "HyperVSim.HvProviderCmdlet"
	}
	return "HyperVSim.HvCmdlet"
}

// managementModule is the module of PowerShell whose cmdlets show and change a machine.
const managementModule = "Microsoft.PowerShell.Management"

// windowsOnly are cmdlets of PowerShell's other modules that need Windows.
func windowsOnly(name string) bool {
	return slices.Contains([]string{
		"Get-Acl", "Set-Acl", "Get-AuthenticodeSignature", "Get-FileHash", "Get-WinEvent", "Get-Counter", "Test-WSMan", "Get-LocalGroupMember",
		"New-PSSession", "Get-PSSession", "Remove-PSSession", "Invoke-Command",
	}, name)
}

// builtIn says whether a module is PowerShell's own.
func builtIn(module string) bool {
	return strings.HasPrefix(module, "Microsoft.PowerShell.") || module == "Microsoft.WSMan.Management"
}

// generated says whether the engine has a stub for a cmdlet; the others are PowerShell's real ones.
func generated(x *catalog.Cmdlet) bool {
	return !builtIn(x.Module) || x.Module == managementModule || windowsOnly(x.Name)
}

// moduleOf is the module that exports a stub.
func moduleOf(x *catalog.Cmdlet) string {
	if builtIn(x.Module) {
		return windowsModule
	}
	return x.Module
}

// hidden are the real cmdlets that a machine must not have. The runner itself needs Get-Item.
func hidden(c *catalog.Catalog, list []*catalog.Cmdlet) []string {
	var names []string
	for _, x := range c.Cmdlets {
		if x.Module == managementModule && x.Name != "Get-Item" && !slices.Contains(list, x) {
			names = append(names, x.Name)
		}
	}
	return names
}

// manifests are the module manifests that export just the given cmdlets, and the list of those that
// are hidden.
func manifests(c *catalog.Catalog, library string, list []*catalog.Cmdlet) map[string][]byte {
	type exports struct{ functions, cmdlets []string }
	by := map[string]*exports{windowsModule: {}}
	for _, x := range list {
		e := by[moduleOf(x)]
		if e == nil {
			e = &exports{}
			by[moduleOf(x)] = e
		}
		if x.Kind == catalog.KindBinary {
			e.cmdlets = append(e.cmdlets, x.Name)
		} else {
			e.functions = append(e.functions, x.Name)
		}
	}
	files := map[string][]byte{"hidden": []byte(strings.Join(hidden(c, list), "\n"))}
	for module, e := range by {
		root := library + "/" + module + ".psm1"
		if len(e.functions) == 0 {
			root = library + "/" + module + ".dll"
		}
		text := fmt.Sprintf("@{ModuleVersion='2.0.0.0';GUID='%s';RootModule=%s;FunctionsToExport=%s;CmdletsToExport=%s;AliasesToExport=@();VariablesToExport=@()}\n",
			uuid.NewSHA1(uuid.NameSpaceDNS, []byte(module)), psQuote(root), psList(e.functions), psList(e.cmdlets))
		path := "Modules/" + module + "/" + module + ".psd1"
		if module == windowsModule {
			path = module + ".psd1"
		}
		files[path] = []byte(text)
	}
	return files
}

func psQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func psList(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range names {
		quoted = append(quoted, psQuote(name))
	}
	return "@(" + strings.Join(quoted, ",") + ")"
}

// functionModules are the scripts of the modules whose cmdlets are functions, by module.
func functionModules(c *catalog.Catalog) map[string]string {
	text := map[string]*strings.Builder{}
	for _, x := range c.Cmdlets {
		if x.Kind != catalog.KindFunction || !generated(x) {
			continue
		}
		b := text[moduleOf(x)]
		if b == nil {
			b = &strings.Builder{}
			text[moduleOf(x)] = b
		}
		b.WriteString(function(c, x))
	}
	out := make(map[string]string, len(text))
	for module, b := range text {
		out[module] = b.String()
	}
	return out
}

// attribute is one Parameter attribute's arguments, in the spelling of PowerShell or of C#.
func attribute(m catalog.Membership, yes string, quote func(string) string) string {
	var parts []string
	if m.Set != catalog.AllSets {
		parts = append(parts, "ParameterSetName="+quote(m.Set))
	}
	if m.Mandatory {
		parts = append(parts, "Mandatory="+yes)
	}
	if m.Position != nil {
		parts = append(parts, fmt.Sprintf("Position=%d", *m.Position))
	}
	if m.ByValue {
		parts = append(parts, "ValueFromPipeline="+yes)
	}
	if m.ByPropertyName {
		parts = append(parts, "ValueFromPipelineByPropertyName="+yes)
	}
	return "Parameter(" + strings.Join(parts, ",") + ")"
}

func validation(v catalog.Validation, quote func(string) string) string {
	switch v.Kind {
	case "Set":
		quoted := make([]string, 0, len(v.Values))
		for _, s := range v.Values {
			quoted = append(quoted, quote(s))
		}
		return "ValidateSet(" + strings.Join(quoted, ",") + ")"
	case "Range":
		return fmt.Sprintf("ValidateRange(%d,%d)", v.Min, v.Max)
	}
	return "Validate" + v.Kind + "()"
}

func quoteAll(list []string, quote func(string) string) string {
	quoted := make([]string, 0, len(list))
	for _, s := range list {
		quoted = append(quoted, quote(s))
	}
	return strings.Join(quoted, ",")
}

// isValueType says whether null needs a Nullable.
func isValueType(c *catalog.Catalog, name string) bool {
	return c.Enum(name) != nil || slices.Contains([]string{
		"System.Boolean", "System.Byte", "System.SByte", "System.Int16", "System.UInt16", "System.Int32", "System.UInt32",
		"System.Int64", "System.UInt64", "System.Guid", "System.TimeSpan", "System.DateTime",
	}, name)
}

// function is a stub of a CDXML or script module.
func function(c *catalog.Catalog, x *catalog.Cmdlet) string {
	binding := []string{"PositionalBinding=$false"}
	if x.DefaultSet != "" {
		binding = append(binding, "DefaultParameterSetName="+psQuote(x.DefaultSet))
	}
	if x.ShouldProcess {
		binding = append(binding, "SupportsShouldProcess=$true,ConfirmImpact='Medium'")
	}
	parameters := make([]string, 0, len(x.Parameters))
	for _, p := range x.Parameters {
		var b strings.Builder
		for _, m := range p.Sets {
			b.WriteString("[" + attribute(m, "$true", psQuote) + "]")
		}
		if len(p.Aliases) > 0 {
			b.WriteString("[Alias(" + quoteAll(p.Aliases, psQuote) + ")]")
		}
		for _, v := range p.Validate {
			b.WriteString("[" + validation(v, psQuote) + "]")
		}
		if class := x.ClassOf(p); class != "" {
			b.WriteString("[PSTypeName(" + psQuote("Microsoft.Management.Infrastructure.CimInstance#"+class) + ")]")
		}
		b.WriteString("[" + psType(c, p) + "]$" + p.Name)
		parameters = append(parameters, b.String())
	}
	return "function " + x.Name + "{[CmdletBinding(" + strings.Join(binding, ",") + ")]param(\n" + strings.Join(parameters, ",\n") +
		")process{[HyperVSim.Door]::Call($PSCmdlet,$PSBoundParameters)}}\n"
}

func psType(c *catalog.Catalog, p *catalog.Parameter) string {
	name := p.Type
	switch name {
	case "Microsoft.Management.Infrastructure.CimInstance":
		name = "HvCimInstance"
	case "Microsoft.Management.Infrastructure.CimSession":
		name = "HvCimSession"
	}
	switch {
	case p.Array:
		return name + "[]"
	case p.Nullable && isValueType(c, p.Type):
		return "System.Nullable[" + name + "]"
	}
	return name
}

// typeLibrary is the C# of enumerations and classes, which scripts and all modules share.
func typeLibrary(c *catalog.Catalog) string {
	by := namespaces{}
	for _, e := range c.Enums {
		if e.External {
			continue
		}
		members := make([]string, 0, len(e.Members))
		for _, m := range e.Members {
			members = append(members, fmt.Sprintf("@%s=%d", m.Name, m.Number))
		}
		flags := ""
		if e.Flags {
			flags = "[System.Flags] "
		}
		by.add(e.Name, flags+"public enum "+short(e.Name)+" {"+strings.Join(members, ",")+"}")
	}
	for _, k := range c.Classes {
		base := k.Base
		if base == "" {
			base = "HyperVSim.HvObject"
		}
		// No constructor that a script could use, or tables would convert to the class.
		by.add(k.Name, fmt.Sprintf("public class %s : %s {internal %s(){}}", short(k.Name), base, short(k.Name)))
	}
	return by.text()
}

// compiledModules is the C# of the modules whose cmdlets are compiled, by module: an assembly is
// imported under one name only.
func compiledModules(c *catalog.Catalog) map[string]string {
	by := map[string]namespaces{}
	for _, x := range c.Cmdlets {
		if x.Kind != catalog.KindBinary || !generated(x) {
			continue
		}
		if by[moduleOf(x)] == nil {
			by[moduleOf(x)] = namespaces{}
		}
		by[moduleOf(x)].add(x.Class, compiled(c, x))
	}
	out := make(map[string]string, len(by))
	for module, spaces := range by {
		out[module] = spaces.text()
	}
	return out
}

// namespaces collects declarations by namespace.
type namespaces map[string][]string

func (n namespaces) add(full, text string) {
	dot := strings.LastIndex(full, ".")
	n[full[:dot]] = append(n[full[:dot]], text)
}

func (n namespaces) text() string {
	names := make([]string, 0, len(n))
	for name := range n {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("using System.Management.Automation;\n")
	for _, name := range names {
		b.WriteString("namespace " + name + " {\n" + strings.Join(n[name], "\n") + "\n}\n")
	}
	return b.String()
}

func short(full string) string { return full[strings.LastIndex(full, ".")+1:] }

// compiled is a stub of a compiled module.
func compiled(c *catalog.Catalog, x *catalog.Cmdlet) string {
	verb, noun, _ := strings.Cut(x.Name, "-")
	args := []string{csQuote(verb), csQuote(noun)}
	if x.DefaultSet != "" {
		args = append(args, "DefaultParameterSetName="+csQuote(x.DefaultSet))
	}
	if x.ShouldProcess {
		args = append(args, "SupportsShouldProcess=true")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[Cmdlet(%s)] public class %s : %s {\n", strings.Join(args, ","), short(x.Class), baseOf(x))
	for _, p := range x.Parameters {
		for _, m := range p.Sets {
			b.WriteString("[" + attribute(m, "true", csQuote) + "]")
		}
		if len(p.Aliases) > 0 {
			b.WriteString("[Alias(" + quoteAll(p.Aliases, csQuote) + ")]")
		}
		for _, v := range p.Validate {
			b.WriteString("[" + validation(v, csQuote) + "]")
		}
		fmt.Fprintf(&b, " public new %s %s {get;set;}\n", csType(c, p), p.Name)
	}
	b.WriteString("}")
	return b.String()
}

func csType(c *catalog.Catalog, p *catalog.Parameter) string {
	name := "global::" + p.Type
	if p.Type == "System.Management.Automation.Runspaces.PSSession" {
		name = "global::HyperVSim.HvSession"
	}
	switch {
	case p.Array:
		return name + "[]"
	case p.Nullable && isValueType(c, p.Type):
		return name + "?"
	}
	return name
}

func csQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
