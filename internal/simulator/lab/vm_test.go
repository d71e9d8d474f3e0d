package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func TestVMPower(t *testing.T) {
	vm := func(more params) params {
		p := params{"Name": list("vm1")}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	for name, test := range map[string]struct {
		from, cmdlet string
		given        params
		change       func(*Scenario)
		to, id       string
		warning      bool
	}{
		"start, off":                {stateOff, "Start-VM", vm(nil), nil, stateRunning, "", false},
		"start, running":            {stateRunning, "Start-VM", vm(nil), nil, stateRunning, "", true},
		"start, saved":              {stateSaved, "Start-VM", vm(nil), nil, stateRunning, "", false},
		"start, paused":             {statePaused, "Start-VM", vm(nil), nil, stateRunning, "", false},
		"stop, running":             {stateRunning, "Stop-VM", vm(nil), nil, stateOff, "", false},
		"stop, off":                 {stateOff, "Stop-VM", vm(nil), nil, stateOff, "", true},
		"stop, saved":               {stateSaved, "Stop-VM", vm(nil), nil, stateSaved, "InvalidState", false},
		"turn off, saved":           {stateSaved, "Stop-VM", vm(params{"TurnOff": true}), nil, stateOff, "", false},
		"stop without integration":  {stateRunning, "Stop-VM", vm(nil), func(s *Scenario) { s.Hosts[0].VMs[0].NoShutdown = true }, stateRunning, "OperationFailed", false},
		"turn off without":          {stateRunning, "Stop-VM", vm(params{"TurnOff": true}), func(s *Scenario) { s.Hosts[0].VMs[0].NoShutdown = true }, stateOff, "", false},
		"stop -Save":                {stateRunning, "Stop-VM", vm(params{"Save": true}), nil, stateSaved, "", false},
		"save, off":                 {stateOff, "Save-VM", vm(nil), nil, stateOff, "InvalidState", false},
		"suspend, running":          {stateRunning, "Suspend-VM", vm(nil), nil, statePaused, "", false},
		"resume, paused":            {statePaused, "Resume-VM", vm(nil), nil, stateRunning, "", false},
		"resume, off":               {stateOff, "Resume-VM", vm(nil), nil, stateOff, "InvalidState", false},
		"restart, off":              {stateOff, "Restart-VM", vm(params{"Force": true}), nil, stateOff, "InvalidState", false},
		"restart, running":          {stateRunning, "Restart-VM", vm(params{"Force": true}), nil, stateRunning, "", false},
		"remove, running":           {stateRunning, "Remove-VM", vm(params{"Force": true}), nil, stateRunning, "InvalidState", false},
		"processors, running":       {stateRunning, "Set-VM", vm(params{"ProcessorCount": int64(4)}), nil, stateRunning, "InvalidState", false},
		"errors 1: another's name":  {stateOff, "Start-VM", params{"Name": list("gone")}, nil, stateOff, "ObjectNotFound", false},
		"a pattern without a match": {stateOff, "Start-VM", params{"Name": list("gone*")}, nil, stateOff, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "intel-x722", func(s *Scenario) {
				s.Hosts[0].VMs[0].State = test.from
				if test.change != nil {
					test.change(s)
				}
			})
			out := b.on("host", test.cmdlet, test.given)
			id := ""
			if len(out.Errors) > 0 {
				id, _, _ = strings.Cut(out.Errors[0].ID, ",")
			}
			if id != test.id || (len(out.Warnings) > 0) != test.warning {
				t.Errorf("error %q, want %q; warnings %v", id, test.id, out.Warnings)
			}
			if got := get(b.run("Get-VM", params{"Name": list("vm1")})[0], "State"); got != test.to {
				t.Errorf("state %s, want %s", got, test.to)
			}
		})
	}
}

func TestVMEvents(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.run("Stop-VM", params{"Name": list("vm1")})
	b.run("Start-VM", params{"Name": list("vm1")})
	for event, want := range map[string]int{"vm_stop": 1, "vm_start": 1, "vm_restart": 1} {
		if got := b.events(event); len(got) != want {
			t.Errorf("%s: %v", event, got)
		}
	}
	fresh := newBench(t, "intel-x722", func(s *Scenario) { s.Hosts[0].VMs[0].State = stateOff })
	fresh.run("Start-VM", params{"Name": list("vm1")})
	if got := fresh.events("vm_restart"); len(got) != 0 {
		t.Errorf("a first start is no restart: %v", got)
	}
}

func TestSetAndReadVM(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	id := b.machine("vm1").ID
	b.run("Set-VM", params{"Name": list("vm1"), "NewVMName": "it's [vm]", "Notes": "$(n)"})
	if got := b.run("Get-VM", params{"Id": cmdlet.GUID(id)})[0]; get(got, "Name") != "it's [vm]" || get(got, "Notes") != "$(n)" || get(got, "VMId") != id {
		t.Errorf("%s, %s", get(got, "Name"), get(got, "Notes"))
	}
	err := b.fails("Get-VM", params{"Name": list("gone")})
	if err.ID != "InvalidParameter,Microsoft.HyperV.PowerShell.Commands.GetVM" || err.Target != "gone" || err.Category != "InvalidArgument" {
		t.Errorf("%s %v %s", err.ID, err.Target, err.Category)
	}
	if got := b.run("Get-VM", params{"Name": list("vm?")}); len(got) != 1 {
		t.Errorf("pattern finds %d", len(got))
	}
	services := b.run("Get-VMIntegrationService", params{"VMName": list("vm2"), "Name": list("Shut*")})
	if len(services) != 1 || get(services[0], "Enabled") != "True" || get(services[0], "PrimaryOperationalStatus") != "Ok" {
		t.Error(names(services, "Name"))
	}
	b.run("Checkpoint-VM", params{"Name": list("vm2"), "SnapshotName": "before"})
	if got := b.run("Get-VMSnapshot", params{"VMName": list("vm2")}); names(got, "Name") != "before" {
		t.Error(names(got, "Name"))
	}
	b.run("New-VM", params{"Name": "new", "Generation": int64(2), "SwitchName": "LAN"})
	if got := b.read("new", "Network Adapter"); get(got, "SwitchName") != "LAN" {
		t.Error(get(got, "SwitchName"))
	}
	b.run("Remove-VM", params{"Name": list("new"), "Force": true})
	if got := len(b.run("Get-VM", nil)); got != 2 {
		t.Errorf("%d VMs", got)
	}
}

func TestFact42GetVMHost(t *testing.T) {
	b := newBench(t, "intel-x722", func(s *Scenario) { s.Hosts[0].Iov = &ScenarioIov{Reasons: []string{"one", "two"}} })
	h := b.run("Get-VMHost", nil)[0]
	reasons, _ := h.Get("IovSupportReasons")
	if get(h, "IovSupport") != "False" || len(reasons.([]any)) != 2 {
		t.Errorf("%s, %v", get(h, "IovSupport"), reasons)
	}
	s := b.iovSwitch("IOV", "iWARP 1")
	if got := get(s, "IovSupportReasons"); got != "one two" {
		t.Errorf("the switch's reasons: %s", got)
	}
}

// Every property that a class of the Hyper-V module has is on the object, once.
func TestObjectsAreWhole(t *testing.T) {
	reference, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	b, a := intelUp(t, nil)
	b.run("New-VMSwitch", params{"Name": "M", "NetAdapterName": list("Ethernet")})
	b.run("New-VMSwitch", params{"Name": "SET", "NetAdapterName": list("iWARP 2"), "EnableEmbeddedTeaming": true})
	b.run("Add-VMNetworkAdapter", params{"VMName": list("vm2"), "Name": "mapped", "SwitchName": "SET"})
	b.run("Set-VMNetworkAdapterTeamMapping", params{"VMName": "vm2", "VMNetworkAdapterName": "mapped", "PhysicalNetAdapterName": "iWARP 2"})
	objects := []*cmdlet.Object{
		b.run("Get-VMSwitch", nil)[0], b.read("vm1", "rdma"), b.run("Get-VMNetworkAdapter", params{"ManagementOS": true})[0], b.run("Get-VM", nil)[0],
		b.run("Get-VMHost", nil)[0], b.run("Get-VMSwitchTeam", nil)[0], b.run("Get-VMNetworkAdapterRdma", params{"VMNetworkAdapter": a})[0],
		b.run("Get-VMNetworkAdapterVlan", nil)[0], b.run("Get-VMNetworkAdapterIsolation", nil)[0], b.run("Get-VMIntegrationService", params{"VMName": list("vm1")})[0],
		b.run("Get-VMNetworkAdapterTeamMapping", params{"VMName": "vm2", "Name": "mapped"})[0],
	}
	for _, o := range objects {
		t.Run(o.Types[0], func(t *testing.T) {
			seen := map[string]int{}
			for _, p := range o.Properties {
				seen[p.Name]++
				if seen[p.Name] > 1 {
					t.Errorf("%s is there twice", p.Name)
				}
			}
			for _, class := range reference.Classes {
				if class.Name != o.Types[0] {
					continue
				}
				for _, p := range class.Properties {
					if seen[p.Name] == 0 {
						t.Errorf("%s is missing", p.Name)
					}
				}
				return
			}
			t.Error("no such class")
		})
	}
}

func TestSessions(t *testing.T) {
	credential := cmdlet.Credential{User: `.\Administrator`, Password: "Lab-Guest-1!"}
	for name, test := range map[string]struct {
		change func(*Scenario)
		given  params
		id     string
	}{
		"no such id":     {nil, params{"VMId": []any{cmdlet.GUID(emptyGUID)}}, "InvalidVMIdNotSingle,Microsoft.PowerShell.Commands.NewPSSessionCommand"},
		"no such name":   {nil, params{"VMName": list("gone")}, "InvalidVMNameNotSingle,Microsoft.PowerShell.Commands.NewPSSessionCommand"},
		"VM off":         {func(s *Scenario) { s.Hosts[0].VMs[0].State = stateOff }, params{"VMName": list("vm1")}, "InvalidVMState,Microsoft.PowerShell.Commands.NewPSSessionCommand"},
		"wrong password": {nil, params{"VMName": list("vm1"), "Credential": cmdlet.Credential{User: "Administrator", Password: "x"}}, "PSSessionOpenFailed"},
		"Linux":          {func(s *Scenario) { s.Hosts[0].VMs[0].Guest.OS = ScenarioOS{Name: "linux"} }, params{"VMName": list("vm1")}, "PSSessionOpenFailed"},
		"Nano Server, by the other reading": {func(s *Scenario) {
			s.Hosts[0].VMs[0].Guest.OS = ScenarioOS{Name: "nano-server-2016"}
			s.Unknowns.NanoServerRunner = "no"
		}, params{"VMName": list("vm1")}, "PSSessionOpenFailed"},
		"two of one name": {func(s *Scenario) { s.Hosts[0].VMs[1].Name = "VM1" }, params{"VMName": list("vm1")}, "InvalidVMNameNotSingle,Microsoft.PowerShell.Commands.NewPSSessionCommand"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "intel-x722", test.change)
			p := params{"Credential": credential}
			for k, v := range test.given {
				p[k] = v
			}
			if err := b.fails("New-PSSession", p); err.ID != test.id {
				t.Errorf("id %q, want %q", err.ID, test.id)
			}
		})
	}
	t.Run("a session belongs to one boot", func(t *testing.T) {
		b := newBench(t, "intel-x722", nil)
		vm := b.machine("vm1")
		open := func() *cmdlet.Object {
			return b.run("New-PSSession", params{"VMId": []any{cmdlet.GUID(vm.ID)}, "Credential": credential})[0]
		}
		s := open()
		call := func() string {
			out := b.Invoke(cmdlet.Invocation{Host: "hv1", Target: get(s, "Target"), Cmdlet: "Get-NetAdapter", Session: get(s, "InstanceId")})
			if len(out.Errors) > 0 {
				return out.Errors[0].ID + " " + out.Errors[0].Category
			}
			return ""
		}
		if got := call(); got != "" || get(s, "State") != "Opened" || get(s, "ComputerName") != "vm1" {
			t.Fatalf("%s, %s, %s", got, get(s, "State"), get(s, "ComputerName"))
		}
		isOpen := func() bool { return b.SessionOpen("hv1", get(s, "Target"), get(s, "InstanceId")) }
		if !isOpen() || b.SessionOpen("hv2", get(s, "Target"), get(s, "InstanceId")) {
			t.Error("the session is not open, or open on another host")
		}
		b.run("Stop-VM", params{"Name": list("vm1")})
		b.run("Start-VM", params{"Name": list("vm1")})
		if isOpen() {
			t.Error("open after a restart")
		}
		if got := call(); got != "PSSessionStateBroken OpenError" {
			t.Errorf("after a restart: %q", got)
		}
		if got := get(b.run("Get-PSSession", nil)[0], "State"); got != "Broken" {
			t.Errorf("state %s", got)
		}
		if err := b.fails("New-PSSession", params{"VMId": []any{cmdlet.GUID(vm.ID)}, "Credential": credential}); err.ID != "PSSessionOpenFailed" {
			t.Errorf("a guest that boots: %s", err.ID)
		}
		b.pass(time.Second)
		s = open()
		if got := call(); got != "" {
			t.Errorf("a new session: %s", got)
		}
		b.run("Remove-PSSession", params{"Session": []any{s}})
		if got := call(); got != "PSSessionStateBroken OpenError" {
			t.Errorf("a closed session: %q", got)
		}
	})
}
