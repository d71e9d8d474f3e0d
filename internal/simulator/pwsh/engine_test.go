package pwsh

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/enginetest"
)

// run runs a script in a process of its own and gives what it printed.
func run(t *testing.T, e *Engine, commandLine string, env ...string) (stdout, stderr string, code int) {
	t.Helper()
	p, err := e.Start("h1", commandLine, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Add(1)
	var errors []byte
	go func() {
		defer wait.Done()
		errors, _ = io.ReadAll(p.Stderr())
	}()
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Error(err)
	}
	wait.Wait()
	return string(out), string(errors), p.Wait()
}

func TestCommandLines(t *testing.T) {
	e := newEngine(t, enginetest.NewModel())
	for _, c := range []struct {
		name, line, stdout, stderr string
		code                       int
	}{
		{"unknown program", "ipconfig /all", "", "'ipconfig' is not recognized", 1},
		{"interactive", "powershell -Command 1", "", "only with -NonInteractive", 1},
		{"a script", enginetest.CommandLine(`"$((Get-VM).Name) $env:WINRS_X"; exit 7`), "v yes", "", 7},
		{"a command", `powershell.exe -NonInteractive -Command (Get-VM).Id`, enginetest.VMID, "", 0},
		{"a PowerShell inside of another", enginetest.CommandLine(`'a b', 'c' | PowerShell -NoProfile -ExecutionPolicy Bypass -Command '$input | ForEach-Object { $_ + [char]33 }; (Get-VM).Name; exit 4'; $LASTEXITCODE; chcp.com 65001`), "a b!\nc!\nv\n4\nActive code page: 65001", "", 0},
		{"the other modules are there too", enginetest.CommandLine(`(Get-Command Hyper-V\Get-VM).Source; (Get-Command Get-NetAdapter).Source; 'a' | ConvertTo-Json`), "Hyper-V", "", 0},
		{"the class of a CIM object", enginetest.CommandLine(`(Get-NetAdapter)[0] -is [ciminstance]`), "True", "", 0},
		{"the session's own drives", enginetest.CommandLine(`$x = 5; (Get-Item -LiteralPath function:prompt).Name; 'env:WINRS_X', 'variable:x' | Get-Item | ForEach-Object Value; Test-Path Function:prompt`), "prompt\nyes\n5\nTrue", "", 0},
		{"files are those of the model", enginetest.CommandLine(`(Get-Item /etc/passwd).PSChildName`), "X", "", 0},
		{"local calls of Invoke-Command", enginetest.CommandLine(`$a = 2; Invoke-Command { param($b) $a + $b } -ArgumentList 3`), "5", "", 0},
		{"nothing in a value runs", enginetest.CommandLine(`$null = Get-VMSwitch -Name '$(exit 9)' -WarningAction SilentlyContinue; 'on'`), "on", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, code := run(t, e, c.line, "WINRS_X=yes")
			if !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) || code != c.code {
				t.Errorf("exit %d\nstdout %q\nstderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestKill(t *testing.T) {
	e := newEngine(t, enginetest.NewModel())
	p, err := e.Start("h1", enginetest.CommandLine(`'ready'; /bin/sleep 600`), nil)
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 5)
	if _, err := io.ReadFull(p.Stdout(), line); err != nil || string(line) != "ready" {
		t.Fatalf("%q %v", line, err)
	}
	p.Kill()
	ended := make(chan int)
	go func() { ended <- p.Wait() }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the process did not end")
	}
}

func TestGuestThatRestarts(t *testing.T) {
	m := enginetest.NewModel()
	c := enginetest.NewClient(t, newEngine(t, m), script(t, "bootstrap.ps1"), script(t, "runner.ps1"))
	call := []wire.Call{{Cmdlet: "Get-NetAdapter", Guest: &wire.Guest{VMID: wire.GUID(enginetest.VMID), Credential: wire.Credential{User: "u", Password: "p"}}}}
	for range 2 {
		reply := c.Batch(call)
		if errors := reply.Groups[0][0].Errors; len(errors) != 0 {
			t.Fatalf("%+v", errors)
		}
		m.BreakSessions()
	}
	if n := m.Count("New-PSSession"); n != 2 {
		t.Errorf("%d sessions were opened, want 2", n)
	}
}

// TestParameterSets compares what PowerShell makes of the stubs with what they were made of.
func TestParameterSets(t *testing.T) {
	e := newEngine(t, enginetest.NewModel())
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range c.Cmdlets {
		if generated(x) && x.Name != "Set-VMNetworkAdapterRdma" {
			names = append(names, x.Name)
		}
	}
	stdout, stderr, code := run(t, e, enginetest.CommandLine(`
$common = [System.Management.Automation.PSCmdlet]::CommonParameters + [System.Management.Automation.PSCmdlet]::OptionalCommonParameters
foreach ($name in '`+strings.Join(names, "','")+`') {
	$command = Get-Command -Name $name -ErrorAction Stop
	$sets = foreach ($set in $command.ParameterSets) {
		foreach ($p in $set.Parameters) {
			if ($p.Name -notin $common) { '{0} -{1} {2} {3} {4} {5} {6}' -f $set.Name, $p.Name, $p.IsMandatory, $p.Position, $p.ValueFromPipeline, $p.ValueFromPipelineByPropertyName, (@($p.Aliases) -join ',') }
		}
	}
	ConvertTo-Json -Compress @{ name = $command.Name; parameters = @($sets) }
}`))
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	got := map[string][]string{}
	for line := range strings.Lines(stdout) {
		var one struct {
			Name       string
			Parameters []string
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sort.Strings(one.Parameters)
		got[one.Name] = one.Parameters
	}
	for _, name := range names {
		want := described(c.Cmdlet(name))
		if d := cmp.Diff(want, got[name]); d != "" {
			t.Errorf("%s (-catalogue +PowerShell)\n%s", name, d)
		}
	}
}

// described lists a cmdlet's parameters by set as the script above does.
func described(x *catalog.Cmdlet) []string {
	sets := x.Sets
	if !slices.ContainsFunc(x.Parameters, func(p *catalog.Parameter) bool { return p.Sets[0].Set != catalog.AllSets }) {
		sets = []string{catalog.AllSets}
		if x.DefaultSet != "" {
			sets = []string{x.DefaultSet}
		}
	}
	list := []string{}
	title := map[bool]string{true: "True", false: "False"}
	for _, set := range sets {
		for _, p := range x.Parameters {
			for _, m := range p.Sets {
				if m.Set != set && m.Set != catalog.AllSets {
					continue
				}
				position := "-2147483648"
				if m.Position != nil {
					position = string(rune('0' + *m.Position))
				}
				list = append(list, strings.Join([]string{set, "-" + p.Name, title[m.Mandatory], position, title[m.ByValue], title[m.ByPropertyName], strings.Join(p.Aliases, ",")}, " "))
			}
		}
	}
	sort.Strings(list)
	return list
}

func TestTwoBuildAtOnce(t *testing.T) {
	path, dir := powershell(t), t.TempDir()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if _, err := prepare(t.Context(), c, Options{PowerShell: path, CacheDir: dir}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(dir, entries[0].Name(), "HyperVSim.dll")); err != nil {
		t.Error(err)
	}
}

func TestNoSuchPowerShell(t *testing.T) {
	if _, err := New(enginetest.NewModel(), Options{PowerShell: filepath.Join(t.TempDir(), "pwsh"), CacheDir: t.TempDir()}); err == nil {
		t.Error("an engine without a PowerShell")
	}
}
