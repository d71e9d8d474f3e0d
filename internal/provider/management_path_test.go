package provider_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// throughRdmaPort lets hv1 be reached through the first port of its RDMA device.
func throughRdmaPort(s *lab.Scenario) {
	lan := &s.Hosts[0].Devices[0].Ports[0]
	port := &rdmaPorts(s)[0]
	lan.Manage, lan.Gateway, lan.DNS = false, "", nil
	lan.Address = "203.0.113.9/24"
	port.Manage, port.Gateway, port.DNS = true, "192.0.2.1", []string{"192.0.2.1", "192.0.2.2"}
	port.Address = ""
}

// hasty takes a change back after seconds instead of minutes.
func hasty(o *provider.Options) { o.RollbackAfter = rollback() }

// rollback leaves a real PowerShell the time to begin.
func rollback() time.Duration {
	if labEngine() == simulator.EnginePowerShell {
		return 20 * time.Second
	}
	return 2 * time.Second
}

func (l *testLab) hastyHarness() *harness {
	l.t.Helper()
	h := startServer(l.t, quick, hasty)
	if d := h.configure(l.config("hv1")).errors(); len(d) > 0 {
		l.t.Fatal(d)
	}
	return h
}

// ownIP is the host's own IP configuration wherever it is: its address's interface, gateway and DNS servers.
func (l *testLab) ownIP() (name string, ip lab.IPConfig) {
	l.t.Helper()
	var state lab.State
	must(l.t, json.Unmarshal([]byte(l.state()), &state))
	h := state.Hosts[0]
	holds := func(c lab.IPConfig) bool {
		return slices.ContainsFunc(c.Addresses, func(a lab.IPAddress) bool { return a.Address == h.Address })
	}
	for _, d := range h.Devices {
		for _, p := range d.Ports {
			if holds(p.IP) {
				return p.Name, p.IP
			}
		}
	}
	for _, v := range h.HostVNics {
		if holds(v.IP) {
			return "vEthernet (" + v.Name + ")", v.IP
		}
	}
	return "", lab.IPConfig{}
}

// noJob fails the test where something of a job was left on the host.
func (l *testLab) noJob() {
	l.t.Helper()
	state := l.state()
	for _, left := range []string{"scheduled_tasks", `"job.`} {
		if strings.Contains(state, left) {
			l.t.Errorf("%s is left on the host", left)
		}
	}
}

// eventually waits for something that happens on the host by itself.
func becomesTrue(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10*time.Second + rollback()); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

// steps are the names of calls and events of a journal, in order, of those asked for. What follows itself counts once.
func steps(journal []lab.JournalEntry, names ...string) []string {
	var out []string
	for _, e := range journal {
		for _, name := range []string{e.Cmdlet, e.Event} {
			if name != "" && slices.Contains(names, name) {
				if len(out) == 0 || out[len(out)-1] != name { // one call for each object
					out = append(out, name)
				}
			}
		}
	}
	return out
}

func settingsConfig() object {
	return object{"host": "hv1", "net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8}
}

func pathSwitch(more object) object {
	return merged(object{"host": "hv1", "name": "S", "net_adapter_names": list{"iWARP 1"}}, more)
}

// The net adapter that carries the connection is restarted by a job; another one in the session itself.
func TestBounceOfTheManagementPath(t *testing.T) {
	for name, x := range map[string]struct {
		changes []func(*lab.Scenario)
		want    []string
	}{
		"through the port": {[]func(*lab.Scenario){throughRdmaPort},
			[]string{"Register-ScheduledTask", "Invoke-CimMethod", "Disable-NetAdapter", "session_drop", "Disable-NetAdapter", "Enable-NetAdapter", "Unregister-ScheduledTask"}},
		"through a switch on the port": {[]func(*lab.Scenario){throughRdmaPort, func(s *lab.Scenario) {
			s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "Own", Ports: []string{"iWARP 1"}, Iov: true, ManagementOS: true})
		}}, []string{"Register-ScheduledTask", "Invoke-CimMethod", "Disable-NetAdapter", "session_drop", "Disable-NetAdapter", "Enable-NetAdapter", "Unregister-ScheduledTask"}},
		"elsewhere": {nil, []string{"Disable-NetAdapter", "Enable-NetAdapter"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "intel-x722", x.changes...)
			h := l.harness("hv1")
			s := h.resource(nicType)
			mustApply(t, s, settingsConfig())
			got := steps(l.journal(), "Register-ScheduledTask", "Invoke-CimMethod", "Disable-NetAdapter", "session_drop", "Enable-NetAdapter", "Unregister-ScheduledTask")
			if !slices.Equal(got, x.want) {
				t.Errorf("got %v, want %v", got, x.want)
			}
			l.noJob()
			s.settled(settingsConfig())
			mustApply(t, s, nil)
			l.noJob()
			if strings.Contains(l.state(), ledgerKey) {
				t.Error("the ledger is still there")
			}
		})
	}
}

// No secret and no value is in what a job leaves in command lines and tasks.
func TestJobCommandLinesHoldNoValues(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort)
	mustApply(t, l.harness("hv1").resource(nicType), settingsConfig())
	for _, e := range l.journal() {
		if e.Cmdlet != "Invoke-CimMethod" && e.Cmdlet != "New-ScheduledTaskAction" {
			continue
		}
		raw, err := json.Marshal(e.Parameters)
		must(t, err)
		if n := len(raw); n > 8000 {
			t.Errorf("%s: a command line of %d characters", e.Cmdlet, n)
		}
		if strings.Contains(string(raw), "iWARP") {
			t.Errorf("%s holds a value: %s", e.Cmdlet, raw)
		}
	}
}

// A provider that dies while its job runs leaves a host that finishes, and that takes away what the job left.
func TestProviderDiesInTheMiddle(t *testing.T) {
	for name, restart := range map[string]bool{"the host stays up": false, "the host restarts": true} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "intel-x722", throughRdmaPort)
			// the job's own Enable fails: the ports stay disabled until somebody else enables them
			l.fault(door.Rule{Cmdlet: "Enable-NetAdapter", Count: -1, Effect: door.ErrorRecordEffect, Error: &door.ErrorRecord{ID: "Windows System Error 31,Enable-NetAdapter", Category: "NotSpecified"}})
			h := startServer(t, quick, func(o *provider.Options) { o.RollbackAfter = rollback() + time.Second })
			if d := h.configure(l.config("hv1")).errors(); len(d) > 0 {
				t.Fatal(d)
			}
			s := h.resource(nicType)
			p := s.plan(settingsConfig())
			done := make(chan struct{})
			go func() {
				defer close(done)
				s.applyAlone(p)
			}()
			becomesTrue(t, "the job ends", func() bool { return strings.Contains(l.state(), "."+wire.JobResult+`"`) })
			l.server.ClearFaults()
			if l.server.Lab().Reachable("hv1") {
				t.Error("the host is reached while its net adapter is disabled")
			}
			// nobody is there any more who could confirm or enable
			dead, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			h.server.Close(dead)
			cancel()
			if restart {
				_, err := l.server.Cmdlet(restartComputer())
				must(t, err)
			}
			becomesTrue(t, "the host comes back", func() bool { return l.server.Lab().Reachable("hv1") })
			becomesTrue(t, "nothing of the job is left", func() bool {
				return !strings.Contains(l.state(), `"job.`) && !strings.Contains(l.state(), "scheduled_tasks")
			})
			<-done
			if restart && len(steps(l.journal(), "task_started")) != 1 {
				t.Errorf("the task ran %d times", len(steps(l.journal(), "task_started")))
			}

			// the next apply converges
			again := l.harness("hv1").resource(nicType)
			mustApply(t, again, settingsConfig())
			again.settled(settingsConfig())
		})
	}
}

// applyAlone applies a plan for a provider that is ended meanwhile, whatever it says.
func (i *instance) applyAlone(p plan) {
	ty := i.h.block(i.typ).ValueType()
	_, _ = i.h.srv.ApplyResourceChange(i.h.ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: i.typ, PriorState: i.h.dynamic(ty, nil), PlannedState: i.h.dynamic(ty, nilIfEmpty(p.state)), Config: i.h.dynamic(ty, nilIfEmpty(p.config)), PlannedPrivate: p.private,
	})
}

func restartComputer() simulator.CmdletRequest {
	return simulator.CmdletRequest{Host: "hv1", Target: "host", Cmdlet: "Restart-Computer", Parameters: object{"Force": true}}
}

// Case 10: a new switch on the net adapter of the host's own address loses the DNS servers.
func TestCase10HostLosesDNS(t *testing.T) {
	loses := func(s *lab.Scenario) { s.Unknowns.HostIPOnNewSwitch = "lose_dns" }
	t.Run("an error that says what was lost", func(t *testing.T) {
		l := startLab(t, "intel-x722", throughRdmaPort, loses)
		before := l.state()
		s := l.harness("hv1").resource(switchType)
		mustFail(t, s, pathSwitch(nil), "preserve_host_ip_config", "the DNS server 192.0.2.1", "the DNS server 192.0.2.2", "taken back", "facts.md 29")
		if s.state != nil {
			t.Error("there is a state of a switch that was taken back")
		}
		name, ip := l.ownIP()
		if name != "iWARP 1" || ip.Gateway != "192.0.2.1" || len(ip.DNS) != 2 {
			t.Errorf("the host's own configuration is not as it was: %s %+v", name, ip)
		}
		l.noJob()
		if after := l.state(); strings.Contains(after, ledgerKey) != strings.Contains(before, ledgerKey) {
			t.Error("the ledger is still there")
		}
	})
	t.Run("restored", func(t *testing.T) {
		l := startLab(t, "intel-x722", throughRdmaPort, loses)
		s := l.harness("hv1").resource(switchType)
		config := pathSwitch(object{"preserve_host_ip_config": true})
		mustApply(t, s, config)
		if name, ip := l.ownIP(); name != "vEthernet (S)" || ip.Gateway != "192.0.2.1" || !slices.Equal(ip.DNS, []string{"192.0.2.1", "192.0.2.2"}) {
			t.Errorf("the host's own configuration: %s %+v", name, ip)
		}
		s.settled(config)
		l.noJob()
		mustApply(t, s, nil)
		if name, ip := l.ownIP(); name != "iWARP 1" || ip.Gateway != "192.0.2.1" || len(ip.DNS) != 2 {
			t.Errorf("after destroy: %s %+v", name, ip)
		}
		l.noJob()
	})
}

// Case 11: the host is out of reach for a while when a switch takes the net adapter that it is reached by.
func TestCase11SwitchOnTheManagementPath(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort, func(s *lab.Scenario) { s.Timing.SwitchPath = 2000 })
	h := startServer(t, quick, func(o *provider.Options) { o.RollbackAfter = 12 * time.Second })
	if d := h.configure(l.config("hv1")).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	s := h.resource(switchType)
	start := time.Now()
	mustApply(t, s, pathSwitch(nil))
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("the host was out of reach for 2 s, and the switch was there after %s", took)
	}
	if name, ip := l.ownIP(); name != "vEthernet (S)" || len(ip.DNS) != 2 {
		t.Errorf("the host's own configuration: %s %+v", name, ip)
	}
	order := []string{"Register-ScheduledTask", "Invoke-CimMethod", "New-VMSwitch", "session_drop", "Unregister-ScheduledTask"}
	if got := steps(l.journal(), order...); !slices.Equal(got[:len(order)], order) {
		t.Errorf("got %v, want %v", got, order)
	}
	if n := len(steps(l.journal(), "New-VMSwitch")); n != 1 {
		t.Errorf("the switch was made %d times", n)
	}
	l.noJob()
	s.settled(pathSwitch(nil))
}

// Case 43: a change takes longer than it may.
func TestCase43StillRunning(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort)
	l.fault(door.Rule{Cmdlet: "Disable-NetAdapter", Effect: door.Delay, DelayMS: 2500})
	h := startServer(t, quick, func(o *provider.Options) { o.RollbackAfter = 4 * time.Second })
	if d := h.configure(l.config("hv1")).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	s := h.resource(nicType)
	config := merged(settingsConfig(), object{"timeouts": object{"create": "1s"}})
	d := s.apply(config)
	text := d.String()
	for _, want := range []string{"still running on the host as job", "rollback_after", "Plan again"} {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("nothing about %q in %s", want, text)
		}
	}
	becomesTrue(t, "nothing of the job is left", func() bool { return !strings.Contains(l.state(), `"job.`) })
	l.noJob()
	mustApply(t, s, settingsConfig())
	s.settled(settingsConfig())
}

// Case 47: the host gets an address of its own making on the new switch, and is out of reach.
func TestCase47HostUnreachable(t *testing.T) {
	loses := func(s *lab.Scenario) { s.Unknowns.HostIPOnNewSwitch = "lose" }
	for name, restart := range map[string]bool{"taken back after rollback_after": false, "taken back at the next start": true} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "intel-x722", throughRdmaPort, loses)
			s := l.hastyHarness().resource(switchType)
			if restart {
				go func() {
					for len(steps(l.journal(), "session_drop")) == 0 {
						time.Sleep(10 * time.Millisecond)
					}
					time.Sleep(100 * time.Millisecond)
					_, _ = l.server.Cmdlet(restartComputer())
				}()
			}
			mustFail(t, s, pathSwitch(nil), "could not be reached within "+rollback().String()+" after the change", "taken the change back by itself", "preserve_host_ip_config", "rollback_after")
			if s.state != nil {
				t.Error("there is a state of a switch that was taken back")
			}
			if got := steps(l.journal(), "Remove-VMSwitch"); len(got) != 1 {
				t.Errorf("the switch was removed %d times", len(got))
			}
			if name, ip := l.ownIP(); name != "iWARP 1" || ip.Gateway != "192.0.2.1" || len(ip.DNS) != 2 || ip.Dhcp {
				t.Errorf("the host's own configuration is not as it was: %s %+v", name, ip)
			}
			l.noJob()
			if strings.Contains(l.state(), ledgerKey) {
				t.Error("the ledger is still there")
			}
		})
	}
	t.Run("preserved", func(t *testing.T) {
		l := startLab(t, "intel-x722", throughRdmaPort, loses)
		s := l.hastyHarness().resource(switchType)
		config := pathSwitch(object{"preserve_host_ip_config": true})
		mustApply(t, s, config)
		s.settled(config)
		if name, ip := l.ownIP(); name != "vEthernet (S)" || ip.Dhcp || len(ip.Addresses) != 1 {
			t.Errorf("the host's own configuration: %s %+v", name, ip)
		}
		l.noJob()
	})
	t.Run("without the host's own adapter", func(t *testing.T) {
		l := startLab(t, "intel-x722", throughRdmaPort)
		s := l.hastyHarness().resource(switchType)
		mustFail(t, s, pathSwitch(object{"allow_management_os": false}), "could not be reached", "allow_management_os = true")
		if name, _ := l.ownIP(); name != "iWARP 1" {
			t.Errorf("the host's own address is on %q", name)
		}
		l.noJob()
	})
}

// The host's own adapter taken off a switch comes back where it was the only way to the host.
func TestManagementAdapterRemovedIsTakenBack(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort)
	s := l.hastyHarness().resource(switchType)
	mustApply(t, s, pathSwitch(object{"allow_management_os": true}))
	mustFail(t, s, pathSwitch(object{"allow_management_os": false}), "could not be reached", "taken the change back by itself")
	if name, ip := l.ownIP(); name != "vEthernet (S)" || len(ip.DNS) != 2 {
		t.Errorf("the host's own configuration: %s %+v", name, ip)
	}
	l.noJob()
}

// The member of a team that has the only link comes back where it was the only way to the host.
func TestMemberRemovedIsTakenBack(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort, func(s *lab.Scenario) { rdmaPorts(s)[1].LinkDown = true })
	s := l.hastyHarness().resource(switchType)
	team := func(members ...any) object {
		return pathSwitch(object{"net_adapter_names": members, "enable_embedded_teaming": true, "allow_management_os": true})
	}
	mustApply(t, s, team("iWARP 1", "iWARP 2"))
	mustFail(t, s, team("iWARP 2"), "could not be reached", "taken the change back by itself")
	if !l.server.Lab().Reachable("hv1") {
		t.Error("the host is out of reach")
	}
	l.noJob()
	mustApply(t, s, team("iWARP 1", "iWARP 2")) // it was moved there and back, and that needs a restart
	s.settled(team("iWARP 1", "iWARP 2"))
	// a member that is not the way to the host may go
	mustApply(t, s, team("iWARP 1"))
	s.settled(team("iWARP 1"))
	l.noJob()
}

// Case 57: what answers for a moment after the net adapter came back is no WinRM service yet.
func TestCase57HalfUpAfterTheBounce(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort)
	h := l.harness("hv1")
	s := h.resource(nicType)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for len(steps(l.journal(), "session_drop")) == 0 {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		_ = l.server.AddFaults(door.Rule{Host: "hv1", Effect: door.UnauthorizedHTML, Count: 6})
	}()
	mustApply(t, s, settingsConfig())
	if n := l.metrics().Hosts["hv1"].Unauthorized; n < 6 {
		t.Errorf("%d requests were refused: the host was not half up", n)
	}
	l.noJob()
	s.settled(settingsConfig())
}
