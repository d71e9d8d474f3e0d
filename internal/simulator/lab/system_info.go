package lab

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerSystemInfo(r registry) {
	r.both("Get-CimInstance", getCimInstance)
	r.both("Get-Service", getService)
}

func (c *call) os() OS {
	if g := c.guest(); g != nil {
		return g.OS
	}
	return c.host.OS
}

// getCimInstance knows the classes that say what a machine is. Another class gets WMI's own error.
func getCimInstance(c *call) {
	class, where := c.str("ClassName"), c.str("Filter")
	if query := c.str("Query"); query != "" {
		m := selectPattern.FindStringSubmatch(query)
		if m == nil {
			c.fail(c.cimError("0x80041017", "InvalidArgument", "Invalid query"))
			return
		}
		class, where = m[1], m[2]
	}
	var rows []*cmdlet.Object
	switch strings.ToLower(class) {
	case "win32_operatingsystem":
		rows = []*cmdlet.Object{c.operatingSystem()}
	case "win32_computersystem":
		rows = []*cmdlet.Object{c.computerSystem()}
	case "win32_pnpentity":
		for _, d := range c.pnpDevices() {
			if d.present {
				rows = append(rows, c.pnpObject(d))
			}
		}
	default:
		c.fail(c.cimError("0x80041010", "MetadataError", "Invalid class"))
		return
	}
	for _, row := range rows {
		keep, ok := wqlHolds(where, row)
		if !ok {
			c.fail(c.cimError("0x80041017", "InvalidArgument", "Invalid query"))
			return
		}
		if keep {
			c.emit(row)
		}
	}
}

func (c *call) cimError(hresult, category, message string) *cmdlet.Error {
	return cimHResult(hresult, "Microsoft.Management.Infrastructure.CimCmdlets.GetCimInstanceCommand", category, "%s", message)
}

var (
	selectPattern    = regexp.MustCompile(`(?i)^\s*SELECT\s+.+?\s+FROM\s+(\w+)(?:\s+WHERE\s+(.+?))?\s*$`)
	conditionPattern = regexp.MustCompile(`(?i)^\s*(\w+)\s*(=|<>|!=|LIKE)\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\w+))\s*$`)
	andPattern       = regexp.MustCompile(`(?i)\s+AND\s+`)
)

// wqlHolds judges a WHERE clause of conditions that are joined by AND.
func wqlHolds(where string, row *cmdlet.Object) (holds, ok bool) {
	if strings.TrimSpace(where) == "" {
		return true, true
	}
	for _, part := range andPattern.Split(where, -1) {
		m := conditionPattern.FindStringSubmatch(part)
		if m == nil {
			return false, false
		}
		actual, known := row.Get(m[1])
		if !known {
			return false, false
		}
		want := strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`).Replace(m[3] + m[4] + m[5])
		equal := strings.EqualFold(text(actual), want)
		if strings.EqualFold(m[2], "LIKE") {
			equal = wildcardMatch(strings.NewReplacer("`", "``", "*", "`*", "?", "`?", "%", "*", "_", "?").Replace(want), text(actual))
		}
		if equal != (m[2] == "=" || strings.EqualFold(m[2], "LIKE")) {
			return false, true
		}
	}
	return true, true
}

func (c *call) operatingSystem() *cmdlet.Object {
	os := c.os()
	return cim("root/cimv2", "Win32_OperatingSystem", "os:", "Win32_OperatingSystem: "+os.Caption,
		prop("Caption", os.Caption), prop("Version", fmt.Sprintf("10.0.%d", os.Build)), prop("BuildNumber", fmt.Sprint(os.Build)), prop("OSArchitecture", os.Architecture),
		prop("OperatingSystemSKU", u32(os.SKU)), prop("ProductType", u32(os.ProductType)), prop("LastBootUpTime", c.bootTime()), prop("LocalDateTime", c.clock()),
		prop("CSName", strings.ToUpper(c.systemName())), prop("MUILanguages", list(os.Language)), prop("SystemDirectory", `C:\Windows\system32`),
		prop("WindowsDirectory", `C:\Windows`), prop("Status", "OK"), prop("Name", os.Caption+`|C:\Windows|\Device\Harddisk0\Partition4`),
	)
}

// bootTime of a guest is the start of its VM.
func (c *call) bootTime() any {
	if c.vm != nil {
		return c.vm.StartedAt
	}
	return c.host.OS.LastBoot
}

func (c *call) computerSystem() *cmdlet.Object {
	maker, model := "Dell Inc.", "PowerEdge R740"
	if c.vm != nil {
		maker, model = "Microsoft Corporation", "Virtual Machine"
	}
	name := strings.ToUpper(c.systemName())
	return cim("root/cimv2", "Win32_ComputerSystem", "computer:", "Win32_ComputerSystem: "+name+` (Name = "`+name+`")`,
		prop("Name", name), prop("DNSHostName", strings.ToLower(name)), prop("Domain", "WORKGROUP"), prop("PartOfDomain", false), prop("Workgroup", "WORKGROUP"),
		prop("Manufacturer", maker), prop("Model", model), prop("SystemType", "x64-based PC"), prop("HypervisorPresent", true),
		prop("NumberOfProcessors", u32(1)), prop("NumberOfLogicalProcessors", u32(16)), prop("TotalPhysicalMemory", u64(64<<30)), prop("Status", "OK"),
	)
}

func serviceStatus(running bool) cmdlet.Enum {
	e := cmdlet.Enum{Type: "System.ServiceProcess.ServiceControllerStatus", Name: "Running", Number: 4}
	if !running {
		e.Name, e.Number = "Stopped", 1
	}
	return e
}

// getService knows the services that a provider asks for.
func getService(c *call) {
	services := [][2]string{{"WinRM", "Windows Remote Management (WS-Management)"}, {"LanmanServer", "Server"}, {"LanmanWorkstation", "Workstation"}}
	stopped := ""
	switch {
	case c.guest() == nil && c.host.Setup.VMMS != "missing":
		services = append(services, [2]string{"vmms", "Hyper-V Virtual Machine Management"})
		if c.host.Setup.VMMS != vmmsRunning {
			stopped = "vmms"
		}
	case c.guest() != nil:
		services = append(services, [2]string{"vmicvmsession", "Hyper-V PowerShell Direct Service"})
	}
	byName, byDisplay := c.strs("Name"), c.strs("DisplayName")
	matched := map[string]bool{}
	for _, s := range services {
		if len(byName) > 0 && !matchesAny(byName, s[0]) || len(byDisplay) > 0 && !matchesAny(byDisplay, s[1]) {
			continue
		}
		matched[strings.ToLower(s[0])], matched[strings.ToLower(s[1])] = true, true
		c.emit(&cmdlet.Object{
			Types: []string{"System.ServiceProcess.ServiceController", "System.ComponentModel.Component", "System.MarshalByRefObject", "System.Object"},
			Ref:   "service:" + s[0], Text: "System.ServiceProcess.ServiceController",
			Properties: []cmdlet.Property{
				prop("Name", s[0]), prop("DisplayName", s[1]), prop("ServiceName", s[0]),
				prop("Status", serviceStatus(s[0] != stopped)),
				prop("StartType", cmdlet.Enum{Type: "System.ServiceProcess.ServiceStartMode", Name: "Automatic", Number: 2}), prop("CanStop", true),
			},
		})
	}
	for _, want := range append(append([]string{}, byName...), byDisplay...) {
		if !isWildcard(want) && !matched[strings.ToLower(want)] {
			c.fail(&cmdlet.Error{
				ID: "NoServiceFoundForGivenName,Microsoft.PowerShell.Commands.GetServiceCommand", Category: "ObjectNotFound", Target: want, TargetType: "String",
				Exception: "Microsoft.PowerShell.Commands.ServiceCommandException", Message: "Cannot find any service with service name '" + want + "'.",
			})
		}
	}
}
