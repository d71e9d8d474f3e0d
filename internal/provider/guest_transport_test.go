package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// transports are the ways to a guest.
func transports() []string { return []string{"powershell_direct", "winrm"} }

// transportLab is a guestLab whose provider reaches vm1 by a transport.
func transportLab(t testing.TB, transport string, changes ...func(*lab.Scenario)) (*testLab, *harness) {
	t.Helper()
	l, _ := guestLab(t, append(changes, func(s *lab.Scenario) {
		s.Hosts[0].VMs[0].Guest.Listener = &lab.ScenarioListener{Basic: true}
	})...)
	return l, newHarness(t, l.through(transport))
}

// through is a configuration with vm1 reached by a transport.
func (l *testLab) through(transport string) object {
	l.t.Helper()
	config := l.config("hv1")
	if transport == "winrm" {
		g := l.ready.Guests[0]
		config["guests"] = object{"VM1": object{"credential": "lab", "transport": transport, "address": g.Address, "port": g.HTTPSPort, "ca_file": l.ready.Hosts[0].CAFile}}
	}
	return config
}

// sessions counts how guests were reached: sessions of PowerShell Direct, and shells in vm1.
func (l *testLab) sessions() (direct, shells int64) {
	m := l.metrics()
	return m.CmdletCalls["New-PSSession"], m.Guests["hv1/vm1"].ShellsCreated
}

// TestGuestTransports: whatever the way to a guest, what is done in it and what a person is told is the same.
func TestGuestTransports(t *testing.T) {
	for _, transport := range transports() {
		direct := transport == "powershell_direct"
		t.Run(transport, func(t *testing.T) {
			t.Run("one session is kept", func(t *testing.T) {
				t.Parallel()
				l, h := transportLab(t, transport)
				before := settledState(l)
				g := h.resource(guestType)
				seq := l.seq()
				mustApply(t, g, guestConfig(nil))
				if got := fmt.Sprint(guestCalls(l.since(seq))); got != "[Set-NetAdapterAdvancedProperty Enable-NetAdapterRdma Enable-NetAdapterRdma]" {
					t.Errorf("in the guest: %s", got)
				}
				g.settled(guestConfig(nil))
				mustApply(t, g, nil)
				if after := settledState(l); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
				sessions, shells := l.sessions()
				processes := l.metrics().Hosts["hv1"].Processes // each keeps its own session
				if direct && (sessions == 0 || sessions > processes || shells != 0) || !direct && (sessions != 0 || shells != 1) {
					t.Errorf("%d sessions of PowerShell Direct from %d processes, %d shells in the guest", sessions, processes, shells)
				}
				h.close()
				if n := l.metrics().Guests["hv1/vm1"].Shells; n != 0 {
					t.Errorf("%d shells are left in the guest", n)
				}
			})
			t.Run("wrong credential", func(t *testing.T) {
				t.Parallel()
				l, _ := transportLab(t, transport)
				config := l.through(transport)
				config["guest_credentials"].(object)["lab"].(object)["password"] = "wrong-secret"
				h := newHarness(t, config)
				want := []string{"guest credential was refused", "guest_credentials", "PSSessionOpenFailed"}
				if !direct {
					want = []string{"refused the guest credential", "guest_credentials", "GuestLogonRefused", "User or password is wrong"}
				}
				before := settledState(l)
				mustFail(t, h.resource(guestType), guestConfig(nil), want...)
				if after := settledState(l); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			})
			t.Run("the VM is off", func(t *testing.T) {
				t.Parallel()
				_, h := transportLab(t, transport, func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Off" })
				begin := time.Now()
				mustFail(t, h.resource(guestType), guestConfig(nil), "The VM is off", "Start the VM")
				if d := time.Since(begin); d > 40*time.Second {
					t.Errorf("it took %v", d)
				}
			})
			t.Run("off between two runs", func(t *testing.T) {
				t.Parallel()
				l, h := transportLab(t, transport)
				g := h.resource(guestType)
				mustApply(t, g, guestConfig(nil))
				l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1"})
				if d := g.refresh().errors(); len(d) > 0 || g.state == nil {
					t.Errorf("a VM that is off is no error of a refresh: %s", d)
				}
				l.cmdlet("hv1", "host", "Start-VM", object{"Name": "vm1"})
				mustApply(t, g, guestConfig(nil))
				g.settled(guestConfig(nil))
			})
			t.Run("the guest is still starting", func(t *testing.T) {
				t.Parallel()
				l, h := transportLab(t, transport, func(s *lab.Scenario) { s.Timing.GuestBoot = 1200; s.Hosts[0].VMs[0].State = "Off" })
				l.cmdlet("hv1", "host", "Start-VM", object{"Name": "vm1"})
				mustApply(t, h.resource(guestType), guestConfig(nil))
			})
			t.Run("the VM restarts in the middle", func(t *testing.T) {
				t.Parallel()
				l, h := transportLab(t, transport, func(s *lab.Scenario) { s.Timing.GuestBoot = 300 })
				l.fault(door.Rule{Cmdlet: "Set-NetAdapterAdvancedProperty", Effect: door.Delay, DelayMS: 400})
				done := make(chan struct{})
				seq := l.seq()
				go func() {
					defer close(done)
					for range 400 {
						for _, e := range l.since(seq) {
							if e.Cmdlet == "Set-NetAdapterAdvancedProperty" {
								l.cmdlet("hv1", "host", "Restart-VM", object{"Name": "vm1", "Confirm": false})
								return
							}
						}
						time.Sleep(10 * time.Millisecond)
					}
				}()
				g := h.resource(guestType)
				mustApply(t, g, guestConfig(nil))
				<-done
				if n := restarts(l.since(seq))["vm_restart"]; n != 1 {
					t.Errorf("%d restarts of the VM", n)
				}
				if got := actual(g, "stage"); got != "smb_rdma_capable" {
					t.Errorf("stage %v", got)
				}
				if sessions, shells := l.sessions(); sessions+shells < 2 {
					t.Errorf("no second session: %d and %d", sessions, shells)
				}
			})
			t.Run("the recovery restarts the VM", func(t *testing.T) {
				t.Parallel()
				l, h := transportLab(t, transport, func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.RecoveryNeeded = 3 })
				g := h.resource(guestType)
				seq := l.seq()
				mustApply(t, g, guestConfig(object{"recovery": list{"guest_rdma", "net_adapter", "vm_restart"}}))
				if n := restarts(l.since(seq))["vm_restart"]; n != 1 || actual(g, "stage") != "smb_rdma_capable" {
					t.Errorf("%d restarts of the VM, stage %v", n, actual(g, "stage"))
				}
			})
		})
	}
}

// TestGuestOutOfReach: a guest whose WinRM does not answer, though the VM runs, is told from one that refuses.
func TestGuestOutOfReach(t *testing.T) {
	l, _ := transportLab(t, "winrm")
	for name, x := range map[string]struct {
		change object
		want   []string
	}{
		"no such port": {object{"port": 1}, []string{"GuestConnectionFailed", "winrm quickconfig in the guest", "Connection to the guest: Nothing listens"}},
		"certificate":  {object{"ca_file": nil}, []string{"GuestConnectionFailed", "Connection to the guest: ", "ca_cert or ca_file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := l.through("winrm")
			for k, v := range x.change {
				config["guests"].(object)["VM1"].(object)[k] = v
			}
			h := newHarness(t, config)
			d := h.resource(guestType).apply(guestConfig(nil))
			for _, w := range x.want {
				if !strings.Contains(d.errors().String(), w) {
					t.Errorf("%q is not said by\n%s", w, d)
				}
			}
		})
	}
}
