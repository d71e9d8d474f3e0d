package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const (
	registryProvider = `Microsoft.PowerShell.Core\Registry::`
	localMachine     = "HKEY_LOCAL_MACHINE"
)

// keys is the registry of the target.
func (c *call) keys() *[]*Key {
	if g := c.guest(); g != nil {
		return &g.Registry
	}
	return &c.host.Registry
}

// keyPath turns HKLM:\X and Registry::HKEY_LOCAL_MACHINE\X into X.
func keyPath(path string) (string, bool) {
	rest := path
	if i := strings.Index(rest, "::"); i >= 0 {
		provider := rest[:i]
		if !strings.EqualFold(provider, "Registry") && !strings.EqualFold(provider, `Microsoft.PowerShell.Core\Registry`) {
			return "", false
		}
		rest = rest[i+2:]
		hive, tail, _ := strings.Cut(rest, `\`)
		if !strings.EqualFold(hive, localMachine) && !strings.EqualFold(hive, "HKLM") {
			return "", false
		}
		return strings.Trim(tail, `\`), true
	}
	if len(rest) < 5 || !strings.EqualFold(rest[:5], "HKLM:") {
		return "", false
	}
	return strings.Trim(strings.ReplaceAll(rest[5:], "/", `\`), `\`), true
}

// paths resolves -Path, whose values are patterns, or -LiteralPath to existing keys. What does not exist is
// an error, unless it is a pattern.
func (c *call) paths() []string {
	var out []string
	for _, literal := range c.strs("LiteralPath") {
		if path, ok := c.key(literal); ok {
			out = append(out, path)
		}
	}
	for _, pattern := range c.strs("Path") {
		if !isWildcard(pattern) {
			if path, ok := c.key(unescape(pattern)); ok {
				out = append(out, path)
			}
			continue
		}
		path, ok := keyPath(pattern)
		if !ok {
			c.fail(c.driveNotFound(pattern))
			continue
		}
		depth := strings.Count(path, `\`)
		for _, k := range *c.keys() {
			if strings.Count(k.Path, `\`) == depth && matchSegments(path, k.Path) {
				out = append(out, k.Path)
			}
		}
	}
	return out
}

// matchSegments compares paths piece by piece, since a pattern does not reach across a backslash.
func matchSegments(pattern, path string) bool {
	patterns, pieces := strings.Split(pattern, `\`), strings.Split(path, `\`)
	for i := range patterns {
		if !wildcardMatch(patterns[i], pieces[i]) {
			return false
		}
	}
	return true
}

// key resolves one exact path, writing the error when there is no such key.
func (c *call) key(typed string) (string, bool) {
	path, ok := keyPath(typed)
	switch {
	case !ok:
		c.fail(c.driveNotFound(typed))
		return "", false
	case !hasKey(*c.keys(), path):
		c.fail(c.pathNotFound(typed))
		return "", false
	}
	if k := findKey(*c.keys(), path); k != nil {
		return k.Path, true
	}
	return path, true
}

// driveNotFound: only HKEY_LOCAL_MACHINE is modelled; other paths lead nowhere, as on a machine without that drive.
func (c *call) driveNotFound(path string) *cmdlet.Error {
	drive, _, _ := strings.Cut(path, ":")
	return &cmdlet.Error{
		ID: "DriveNotFound," + c.coreTail(), Category: "ObjectNotFound", Target: drive, TargetType: "String",
		Exception: "System.Management.Automation.DriveNotFoundException",
		Message:   "Cannot find drive. A drive with the name '" + drive + "' does not exist.",
	}
}

// location is what PowerShell adds to the objects of a provider.
func location(path string) []cmdlet.Property {
	full := localMachine
	if path != "" {
		full += `\` + path
	}
	parent, child := "", full
	if i := strings.LastIndexByte(full, '\\'); i >= 0 {
		parent, child = full[:i], full[i+1:]
	}
	return []cmdlet.Property{
		prop("PSPath", registryProvider+full), prop("PSParentPath", registryProvider+parent), prop("PSChildName", child),
		prop("PSDrive", "HKLM"), prop("PSProvider", `Microsoft.PowerShell.Core\Registry`),
	}
}

// keyObject is a Microsoft.Win32.RegistryKey.
func (c *call) keyObject(path string) *cmdlet.Object {
	name := localMachine
	if path != "" {
		name += `\` + path
	}
	var values []any
	if k := findKey(*c.keys(), path); k != nil {
		for _, v := range k.Values {
			values = append(values, shownName(v.Name))
		}
	}
	if values == nil {
		values = []any{}
	}
	return &cmdlet.Object{
		Types: []string{"Microsoft.Win32.RegistryKey", "System.MarshalByRefObject", "System.Object"},
		Ref:   "key:" + path, Text: name,
		Properties: append([]cmdlet.Property{
			prop("Name", name), prop("Property", values), prop("ValueCount", i32(len(values))), prop("SubKeyCount", i32(len(childKeys(*c.keys(), path)))),
		}, location(path)...),
	}
}

// shownName: the default value of a key has no name; PowerShell calls it (default).
func shownName(name string) string {
	if name == "" {
		return "(default)"
	}
	return name
}

// storedName is the reverse of shownName.
func storedName(name string) string {
	if strings.EqualFold(name, "(default)") {
		return ""
	}
	return name
}

// scalar is an output that is a plain value: True, a text, a number.
func scalar(dotnet string, value any) *cmdlet.Object {
	return &cmdlet.Object{Types: []string{dotnet, "System.Object"}, Text: text(value), Properties: []cmdlet.Property{prop("", value)}}
}
