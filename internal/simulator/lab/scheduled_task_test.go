package lab

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// launched collects the command lines of a lab whose clock is the real one.
type launched struct {
	mu    sync.Mutex
	lines []string
}

func (l *launched) start(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *launched) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

func (l *launched) waitFor(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); l.count() < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d programs started, want %d", l.count(), n)
		}
	}
}

func (b *bench) task(name string, triggers ...*cmdlet.Object) {
	action := b.run("New-ScheduledTaskAction", params{"Execute": "x.exe", "Argument": "-a"})[0]
	list := []any{}
	for _, x := range triggers {
		list = append(list, x)
	}
	b.run("Register-ScheduledTask", params{"TaskName": name, "Action": []any{action}, "Trigger": list})
}

func TestScheduledTasks(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.clock = time.Now
	var l launched
	b.SetLauncher(l.start)
	boot := b.run("New-ScheduledTaskTrigger", params{"AtStartup": true})[0]
	soon := b.run("New-ScheduledTaskTrigger", params{"Once": true, "At": time.Now().Add(1100 * time.Millisecond)})[0]
	past := b.run("New-ScheduledTaskTrigger", params{"Once": true, "At": time.Now().Add(-time.Minute)})[0]
	b.task("boot", boot)
	b.task("soon", soon)
	b.task("removed", soon)
	b.task("past", past)
	b.run("Unregister-ScheduledTask", params{"TaskName": list("removed")})
	if e := b.fails("Register-ScheduledTask", params{"TaskName": "BOOT", "Action": []any{b.run("New-ScheduledTaskAction", params{"Execute": "y.exe"})[0]}}); e.Category != "ResourceExists" {
		t.Errorf("a second task of one name: %+v", e)
	}
	if e := b.fails("Get-ScheduledTask", params{"TaskName": list("removed")}); e.Category != "ObjectNotFound" {
		t.Errorf("a removed task: %+v", e)
	}
	l.waitFor(t, 1)
	time.Sleep(50 * time.Millisecond)
	if n := l.count(); n != 1 || l.lines[0] != "x.exe -a" {
		t.Fatalf("started %q", l.lines)
	}
	b.run("Start-ScheduledTask", params{"TaskName": "past"})
	l.waitFor(t, 2)
	b.run("Restart-Computer", params{"Force": true})
	if b.Reachable("hv1") {
		t.Error("a host that restarts is reached")
	}
	l.waitFor(t, 3)
	if !b.Reachable("hv1") {
		t.Error("a host that has started is not reached")
	}
}

func TestWin32ProcessCreate(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	var l launched
	b.SetLauncher(l.start)
	create := func(line string) string {
		return get(b.run("Invoke-CimMethod", params{"ClassName": "Win32_Process", "MethodName": "Create", "Arguments": map[string]any{"commandline": line}})[0], "ReturnValue")
	}
	if got := create("x.exe"); got != "0" || l.count() != 1 {
		t.Errorf("returned %s, started %q", got, l.lines)
	}
	if got := create(" "); got == "0" || l.count() != 1 {
		t.Errorf("an empty command line: returned %s, started %q", got, l.lines)
	}
	if e := b.fails("Invoke-CimMethod", params{"ClassName": "Win32_Nothing", "MethodName": "Create"}); e.Category != "MetadataError" {
		t.Errorf("an unknown class: %+v", e)
	}
}

// facts.md 28, 29, 73: a host is reached while an adapter of TCP/IP holds its address.
func TestFact73Reachable(t *testing.T) {
	for _, tt := range []struct {
		name, lose string
		steps      func(b *bench)
		want       bool
		dns        int
	}{
		{"untouched", "", func(*bench) {}, true, 2},
		{"disabled", "", func(b *bench) { b.run("Disable-NetAdapter", params{"Name": list("Ethernet")}) }, false, 2},
		{"another adapter disabled", "", func(b *bench) { b.run("Disable-NetAdapter", params{"Name": list("iWARP 1")}) }, true, 2},
		{"on a switch", "keep", func(b *bench) { b.run("New-VMSwitch", params{"Name": "S", "NetAdapterName": list("Ethernet")}) }, true, 2},
		{"on a switch without DNS", "lose_dns", func(b *bench) { b.run("New-VMSwitch", params{"Name": "S", "NetAdapterName": list("Ethernet")}) }, true, 0},
		{"on a switch with an automatic address", "lose", func(b *bench) { b.run("New-VMSwitch", params{"Name": "S", "NetAdapterName": list("Ethernet")}) }, false, 0},
		{"on a switch without the host", "keep", func(b *bench) {
			b.run("New-VMSwitch", params{"Name": "S", "NetAdapterName": list("Ethernet"), "AllowManagementOS": false})
		}, false, 2},
		{"given back by hand", "lose", func(b *bench) {
			b.run("New-VMSwitch", params{"Name": "S", "NetAdapterName": list("Ethernet")})
			b.run("New-NetIPAddress", params{"InterfaceAlias": "vEthernet (S)", "IPAddress": "192.0.2.11", "PrefixLength": int64(24), "DefaultGateway": "192.0.2.1"})
			b.run("Set-DnsClientServerAddress", params{"InterfaceAlias": list("vEthernet (S)"), "ServerAddresses": list("192.0.2.1", "192.0.2.2")})
		}, true, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "intel-x722", func(s *Scenario) { s.Unknowns.HostIPOnNewSwitch = tt.lose })
			tt.steps(b)
			b.pass(time.Second)
			if got := b.Reachable("hv1"); got != tt.want {
				t.Errorf("reached: %t", got)
			}
			dns := 0
			for _, v := range b.state.Hosts[0].HostVNics {
				dns += len(v.IP.DNS)
			}
			_, p := b.port("Ethernet")
			if dns += len(p.IP.DNS); dns != tt.dns {
				t.Errorf("%d DNS servers, want %d", dns, tt.dns)
			}
		})
	}
}

func TestTasksAreInTheState(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.task("T", b.run("New-ScheduledTaskTrigger", params{"AtStartup": true})[0])
	text, err := b.State()
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil || len(s.Hosts[0].Tasks) != 1 || s.Hosts[0].Tasks[0].Actions[0].Execute != "x.exe" {
		t.Errorf("%v: %+v", err, s.Hosts[0].Tasks)
	}
}
