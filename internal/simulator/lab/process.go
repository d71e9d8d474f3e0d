package lab

import "strings"

// Launcher starts a program on a host, outside of any session. It returns at once and does not call the lab
// before it has returned.
type Launcher func(host, commandLine string)

// SetLauncher says who runs the programs that cmdlets and tasks start. Without one they start nothing.
func (l *Lab) SetLauncher(f Launcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.launch = f
}

func (l *Lab) start(h *Host, commandLine string) {
	l.serial++
	l.event(h.Name, "process_start", firstWord(commandLine), "")
	if l.launch != nil {
		l.launch(h.Name, commandLine)
	}
}

// firstWord is the program of a command line: the rest may be long.
func firstWord(commandLine string) string {
	word, _, _ := strings.Cut(commandLine, " ")
	return word
}

func registerCimMethod(r registry) { r.onHost("Invoke-CimMethod", invokeCimMethod) }

// invokeCimMethod knows Win32_Process.Create: a process that WMI starts belongs to no WinRM shell and outlives
// it (facts.md 105).
func invokeCimMethod(c *call) {
	const tail = "Microsoft.Management.Infrastructure.CimCmdlets.InvokeCimMethodCommand"
	if !strings.EqualFold(c.str("ClassName"), "Win32_Process") {
		c.fail(cimHResult("0x80041010", tail, "MetadataError", "Invalid class"))
		return
	}
	if !strings.EqualFold(c.str("MethodName"), "Create") {
		c.fail(cimHResult("0x80041003", tail, "NotImplemented", "Invalid method"))
		return
	}
	arguments, _ := c.inv.Parameters["Arguments"].(map[string]any)
	line := ""
	for name, v := range arguments {
		if strings.EqualFold(name, "CommandLine") {
			line = text(v)
		}
	}
	code := 0
	if strings.TrimSpace(line) == "" || len(line) > 32767 {
		code = 21 // invalid parameter
	} else {
		c.start(c.host, line)
	}
	c.emit(cim("root/cimv2", "__PARAMETERS", "", "__PARAMETERS", prop("ProcessId", u32(4000+int(c.serial%1000))), prop("ReturnValue", u32(code)), prop("PSComputerName", nil)))
}
