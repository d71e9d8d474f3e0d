package simulator_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// guestBench is hv1 with vm1, whose guest has a WinRM listener.
type guestBench struct {
	*bench
	router *powershell.Router
}

func startGuest(t *testing.T, engine string) *guestBench {
	t.Helper()
	b := start(t, func(o *simulator.Options) {
		o.Scenario.Hosts[0].VMs[0].Guest = &lab.ScenarioGuest{Listener: &lab.ScenarioListener{Basic: true, AllowUnencrypted: true}}
		o.Scenario.Timing.GuestBoot = 300
		o.Engine = engine
		if engine == simulator.EnginePowerShell {
			var err error
			if o.PowerShell, err = exec.LookPath(os.Getenv("HYPERVSIM_POWERSHELL")); err != nil {
				t.Skip("HYPERVSIM_POWERSHELL names no PowerShell: guests are not tested on the powershell engine")
			}
		}
	})
	g := &guestBench{bench: b}
	g.router = g.routed()
	return g
}

func (g *guestBench) config(port int) winrm.Config {
	return winrm.Config{
		Address: "127.0.0.1", Port: port, AllowUnencrypted: true, User: "Administrator", Password: "Lab-Host-1!",
		OperationTimeout: time.Second, RetryBudget: 3 * time.Second, ContactBudget: 2 * time.Second,
	}
}

// routed is a new way to host and guest.
func (g *guestBench) routed() *powershell.Router {
	g.Helper()
	h := g.ready.Hosts[0]
	ca, err := os.ReadFile(h.CAFile)
	if err != nil {
		g.Fatal(err)
	}
	host := g.config(h.HTTPSPort)
	host.HTTPS, host.CACert = true, ca
	pool := powershell.NewPool(host, powershell.PoolOptions{MaxSessions: 1})
	guest := g.config(g.ready.Guests[0].HTTPSPort)
	guest.HTTPS, guest.CACert = true, ca
	guests := powershell.NewGuestPools(map[string]powershell.GuestConnection{"vm1": {Config: guest, Options: powershell.PoolOptions{FirstContact: time.Second}}})
	g.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(guests.Close(ctx), pool.Close(ctx)); err != nil {
			g.Error(err)
		}
		if n := g.server.Metrics().Shells; n != 0 {
			g.Errorf("%d shells are left", n)
		}
	})
	return powershell.NewRouter(pool, guests)
}

func (g *guestBench) do(calls ...powershell.Call) []wire.Result {
	g.Helper()
	results, err := g.router.Do(g.Context(), calls...)
	if err != nil {
		g.Fatal(err)
	}
	return results
}

// inGuest is a call in vm1; the machine is found by the calls of findVM.
func inGuest(c wire.Call, readOnly bool, password string) powershell.Call {
	c.Guest = &wire.Guest{Name: "VM1", VMID: wire.FirstProperty("vms", "Id"), Credential: wire.Credential{User: "Administrator", Password: password}}
	return powershell.Call{Call: c, ReadOnly: readOnly}
}

func findVM(name string) powershell.Call {
	return powershell.Call{Call: wire.Call{Cmdlet: "Get-VM", Save: "vms", Select: []wire.Field{{Name: "Name"}}, Where: []wire.Condition{{Property: "Name", Equals: []string{name}}}}, ReadOnly: true}
}

var nics = wire.Call{Cmdlet: "Get-NetAdapter", Save: "nics", Select: []wire.Field{{Name: "InterfaceDescription"}}}

const guestPassword = "Lab-Guest-1!"

func TestGuestDoor(t *testing.T) {
	for _, engine := range []string{simulator.EngineNative, simulator.EnginePowerShell} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			g := startGuest(t, engine)
			if len(g.ready.Guests) != 1 || g.ready.Guests[0].Host != "hv1" || g.ready.Guests[0].VM != "vm1" || g.ready.Guests[0].HTTPPort == 0 || g.ready.Guests[0].HTTPSPort == 0 {
				t.Fatalf("guests of the ready line: %+v", g.ready.Guests)
			}
			look := func() []wire.Result {
				return g.do(findVM("vm1"), inGuest(nics, true, guestPassword), powershell.Call{Call: wire.Call{Cmdlet: "Get-VMHost", Select: []wire.Field{{Name: "Name"}}}, ReadOnly: true})
			}
			session := func(results []wire.Result, i int, id string, started bool) {
				t.Helper()
				if len(results) <= i || len(results[i].Errors) != 1 {
					t.Fatalf("want %s: %+v", id, results)
				}
				if e := results[i].Errors[0]; e.ID != id || !e.Session || e.Started != started {
					t.Errorf("want %s: %+v", id, e)
				}
			}
			results := look()
			if len(results) != 3 || len(results[1].Output) == 0 || !strings.Contains(string(results[1].Output[0]), "Microsoft Hyper-V Network Adapter") || len(results[2].Output) != 1 {
				t.Fatalf("%+v", results)
			}
			look()
			m := g.server.Metrics()
			if m.Guests["hv1/vm1"].ShellsCreated != 1 || m.Hosts["hv1"].ShellsCreated != 1 || m.Hosts["hv1"].CmdletCalls["New-PSSession"] != 0 {
				t.Errorf("one shell in the guest and one on the host, and no PowerShell Direct: %+v", m)
			}
			if results := g.do(inGuest(wire.Call{Cmdlet: "Get-VM"}, true, guestPassword)); results[0].Errors[0].ID != wire.ErrorReferenceEmpty {
				t.Errorf("no such name: %+v", results)
			}
			if results := g.do(findVM("gone"), inGuest(nics, true, guestPassword)); results[1].Errors[0].ID != wire.ErrorReferenceEmpty {
				t.Errorf("no such VM: %+v", results)
			}
			if results := g.do(findVM("vm1"), inGuest(wire.Call{Cmdlet: "Get-VM"}, true, guestPassword)); !strings.HasPrefix(results[1].Errors[0].ID, "CommandNotFoundException") || results[1].Errors[0].Session {
				t.Errorf("a guest is no Hyper-V host: %+v", results)
			}
			session(g.do(findVM("vm1"), inGuest(nics, true, "wrong")), 1, wire.ErrorGuestRefused, false)

			vm := func(cmdlet string) {
				t.Helper()
				parameters := map[string]any{"Name": "vm1", "Confirm": false}
				if reply, err := g.server.Cmdlet(simulator.CmdletRequest{Host: "hv1", Cmdlet: cmdlet, Parameters: parameters}); err != nil || len(reply.Errors) > 0 {
					t.Fatal(err, reply)
				}
			}
			vm("Restart-VM") // and the guest boots: the next call waits for it, and gets a new process
			if results := look(); len(results[1].Output) == 0 {
				t.Errorf("behind a restart: %+v", results)
			}
			if n := g.server.Metrics().Guests["hv1/vm1"].ShellsCreated; n != 2 {
				t.Errorf("%d shells behind a restart", n)
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(g.server.AddFaults(door.Rule{Cmdlet: "Disable-NetAdapterRdma", Effect: door.KillShell}))
			change := inGuest(wire.Call{Cmdlet: "Disable-NetAdapterRdma", Parameters: map[string]any{"Name": "*", "Confirm": false}}, false, guestPassword)
			results = g.do(findVM("vm1"), change)
			session(results, 1, wire.ErrorGuestLost, true)
			if results := look(); len(results[1].Output) == 0 {
				t.Errorf("behind a lost session: %+v", results)
			}

			vm("Stop-VM")
			results = g.do(findVM("vm1"), inGuest(nics, true, guestPassword))
			session(results, 1, wire.ErrorGuestConnection, false)
			vm("Start-VM")
			if results := look(); len(results[1].Output) == 0 {
				t.Errorf("behind a start: %+v", results)
			}
		})
	}
}
