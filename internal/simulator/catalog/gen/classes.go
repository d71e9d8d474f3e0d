package main

import (
	"regexp"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
)

// odd are compiled cmdlets whose class is not named after verb and noun.
var odd = map[string]string{
	"Remove-VMSwitch":          "Microsoft.HyperV.PowerShell.Commands.RemoveVMSwitchCommand", // errors.md section 3
	"Install-WindowsFeature":   "Microsoft.Windows.ServerManager.Commands.AddWindowsFeatureCommand",
	"Uninstall-WindowsFeature": "Microsoft.Windows.ServerManager.Commands.RemoveWindowsFeatureCommand",
}

// namespaces are the modules of compiled cmdlets, and what their class names end with.
var namespaces = map[string][2]string{
	"Hyper-V":                    {"Microsoft.HyperV.PowerShell.Commands.", ""},
	"Dism":                       {"Microsoft.Dism.Commands.", "Command"},
	"ServerManager":              {"Microsoft.Windows.ServerManager.Commands.", "Command"},
	"CimCmdlets":                 {"Microsoft.Management.Infrastructure.CimCmdlets.", "Command"},
	"Microsoft.WSMan.Management": {"Microsoft.WSMan.Management.", "Command"},
}

// className is the class of a compiled cmdlet, "" for a function.
func className(name, module string) string {
	if class, ok := odd[name]; ok {
		return class
	}
	plain := strings.ReplaceAll(name, "-", "")
	if ns, ok := namespaces[module]; ok {
		return ns[0] + plain + ns[1]
	}
	if strings.HasPrefix(module, "Microsoft.PowerShell.") && module != "Microsoft.PowerShell.Archive" {
		return "Microsoft.PowerShell.Commands." + plain + "Command"
	}
	return ""
}

var hyperVName = regexp.MustCompile(`Microsoft\.HyperV\.PowerShell\.(\w+)`)

// classesOf lists the Hyper-V classes of the reference and, without members, those that are only
// mentioned as the type of a parameter or a property.
func classesOf(ref *reference, cmdlets []*catalog.Cmdlet, t *types) []*catalog.Class {
	mentioned := map[string]bool{}
	mention := func(text string) {
		for _, m := range hyperVName.FindAllStringSubmatch(text, -1) {
			if t.enums[hyperV+m[1]] == nil {
				mentioned[m[1]] = true
			}
		}
	}
	for _, x := range cmdlets {
		for _, p := range x.Parameters {
			mention(p.Type)
		}
	}
	for short, properties := range ref.Classes {
		mention(hyperV + short)
		for _, p := range properties {
			mention(p.Type)
		}
	}
	for short, base := range bases {
		mention(hyperV + short)
		mention(hyperV + base)
	}
	var out []*catalog.Class
	for short := range mentioned {
		class := &catalog.Class{Name: hyperV + short}
		if base := bases[short]; base != "" {
			class.Base = hyperV + base
		}
		for _, p := range ref.Classes[short] {
			class.Properties = append(class.Properties, catalog.Property{Name: p.Name, Type: p.Type})
		}
		out = append(out, class)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
