package lab

import (
	"fmt"
	"testing"
	"time"
)

// What keeps a running VM's adapter from a virtual function, and what its status then says.
func TestVFIsGivenOrNot(t *testing.T) {
	for name, test := range map[string]struct {
		preset func(*Scenario)
		change func(*bench)
		vf     bool
		status string // VMOperationalStatus behind Ok, "" for none
	}{
		"fact 46: everything is there":   {vf: true},
		"fact 43: weight 0":              {change: func(b *bench) { b.nic("vm1", "rdma").IovWeight = 0 }},
		"fact 42: host without support":  {preset: func(s *Scenario) { s.Hosts[0].Iov = &ScenarioIov{Reasons: []string{"no"}} }, status: "NoIommu"},
		"fact 41: slot without ACS":      {preset: func(s *Scenario) { n := 2; s.Hosts[0].Devices[1].SriovSupport = &n }, status: "NoIovSupportInNic"},
		"fact 15: switch without IOV":    {change: func(b *bench) { b.state.Hosts[0].Switches[1].IovEnabled = false }, status: "SwitchNotInIovMode"},
		"fact 11: bandwidth mode Weight": {change: func(b *bench) { b.state.Hosts[0].Switches[1].BandwidthMode = "Weight" }, status: "SwitchNotInIovMode"},
		"fact 58: port ACL":              {change: func(b *bench) { b.nic("vm1", "rdma").Policies = []string{"port_acl"} }, status: "IovBlockedByPolicy"},
		"fact 58: router guard is none":  {change: func(b *bench) { b.nic("vm1", "rdma").Policies = []string{"router_guard"} }, vf: true},
		"fact 58: the list decides":      {preset: func(s *Scenario) { s.Unknowns.IovBlockers = []string{} }, change: func(b *bench) { b.nic("vm1", "rdma").Policies = []string{"port_acl"} }, vf: true},
		"fact 61: legacy adapter":        {change: func(b *bench) { b.nic("vm1", "rdma").Legacy = true }},
		"fact 31: *SRIOV 0":              {change: func(b *bench) { sriovOff(b, false) }, status: "NoIovSupportInNic"},
		"fact 33: *SRIOV 0 not yet read": {change: func(b *bench) { sriovOff(b, true) }, vf: true},
		"fact 56: no VF is free":         {preset: func(s *Scenario) { n := 0; s.Hosts[0].Devices[1].MaxVFs = &n }, status: "NoIovSupportInNic"},
		"fact 56: no queue pair is free": {preset: func(s *Scenario) { n := 0; s.Hosts[0].Devices[1].QueuePairs = &n }, status: "IovNoAvailResources"},
		"fact 21: adapter in a LBFO team": {change: func(b *bench) {
			_, p := b.port("iWARP 1")
			b.state.Hosts[0].LbfoTeams = []*LbfoTeam{{Members: []string{p.InterfaceGuid}}}
		}, status: "NoIovSupportInNic"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := intelUp(t, test.preset)
			if test.change != nil {
				test.change(b)
				b.settled()
			}
			a := b.read("vm1", "rdma")
			if got := get(a, "IovUsage") == "1"; got != test.vf || (get(a, "VFDataPathActive") == "True") != test.vf {
				t.Errorf("IovUsage %s, VFDataPathActive %s", get(a, "IovUsage"), get(a, "VFDataPathActive"))
			}
			want := "Ok"
			if test.status != "" {
				want = "Ok " + test.status
			}
			if got := get(b.run("Get-VM", params{"Name": list("vm1")})[0], "OperationalStatus"); got != want {
				t.Errorf("operational status %q, want %q", got, want)
			}
			if degraded := get(a, "Status") == "Degraded"; degraded != (test.status != "") {
				t.Errorf("adapter status %s", get(a, "Status"))
			}
		})
	}
}

func sriovOff(b *bench, noRestart bool) {
	b.run("Set-NetAdapterAdvancedProperty", params{"Name": list("iWARP 1"), "RegistryKeyword": list("`*SRIOV"), "RegistryValue": list("0"), "NoRestart": noRestart})
}

// Whether a virtual function is born with RDMA.
func TestVFIsBornWithRdma(t *testing.T) {
	for name, test := range map[string]struct {
		preset func(*Scenario)
		before func(*bench) // before the VF is allocated anew
		want   bool
	}{
		"fact 44: weight before IOV":               {want: true},
		"fact 4: weight 0":                         {before: func(b *bench) { n := 0; b.nic("vm1", "rdma").RdmaWeight = &n }},
		"fact 50: weight never set":                {before: func(b *bench) { b.nic("vm1", "rdma").RdmaWeight = nil }},
		"fact 35: RdmaMaxVfsEnabled 0":             {before: func(b *bench) { b.rdmaVFs("0", "iWARP 1", "iWARP 2"); b.bounce("iWARP 1", "iWARP 2") }},
		"case 49: unequal on the PFs":              {before: func(b *bench) { b.rdmaVFs("4", "iWARP 2"); b.bounce("iWARP 1", "iWARP 2") }},
		"fact 25: no bounce since the switch":      {before: func(b *bench) { b.iovSwitch("Other", "iWARP 2") }},
		"fact 2: no RDMA on the host":              {before: func(b *bench) { b.run("Disable-NetAdapterRdma", params{"Name": list("iWARP 1")}); b.pass(time.Second) }},
		"fact 3: host before 1709":                 {preset: func(s *Scenario) { s.Hosts[0].OS.Build = 15063 }},
		"fact 5: guest before 1703 needs none":     {preset: oldGuest, before: func(b *bench) { b.nic("vm1", "rdma").RdmaWeight = nil }, want: true},
		"fact 3: or it does, by the other reading": {preset: func(s *Scenario) { oldGuest(s); s.Unknowns.DownLevelGuestRdma = "no" }, before: func(b *bench) { b.nic("vm1", "rdma").RdmaWeight = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			b, a := intelUp(t, test.preset)
			b.weights(a, -1, 0)
			if test.before != nil {
				test.before(b)
			}
			b.weights(a, -1, 100)
			b.settled()
			got := b.nic("vm1", "rdma").Allocated
			if got == nil || got.Rdma != test.want {
				t.Errorf("allocation %+v, want RDMA %v", got, test.want)
			}
		})
	}
}

func oldGuest(s *Scenario) { s.Hosts[0].VMs[0].Guest.OS = ScenarioOS{Name: "windows-server-2016"} }

func TestFact47aParametersStayUntilReallocation(t *testing.T) {
	for name, again := range map[string]func(*bench){
		"IovWeight 0 and 100": func(b *bench) { a := b.read("vm1", "rdma"); b.weights(a, -1, 0); b.weights(a, -1, 100) },
		"VM stop and start": func(b *bench) {
			b.run("Stop-VM", params{"Name": list("vm1"), "TurnOff": true})
			b.run("Start-VM", params{"Name": list("vm1")})
		},
		"VM reset":   func(b *bench) { b.run("Restart-VM", params{"Name": list("vm1"), "Force": true}) },
		"PF bounce":  func(b *bench) { b.bounce("iWARP 1", "iWARP 2") },
		"PF restart": func(b *bench) { b.run("Restart-NetAdapter", params{"Name": list("iWARP 1")}) },
	} {
		t.Run(name, func(t *testing.T) {
			b, a := intelUp(t, nil)
			b.run("Set-VMNetworkAdapter", params{"VMNetworkAdapter": a, "IovQueuePairsRequested": int64(4)})
			b.settled()
			if got := b.read("vm1", "rdma"); get(got, "IovQueuePairsRequested") != "4" || get(got, "IovQueuePairsAssigned") != "1" {
				t.Fatalf("requested %s, assigned %s", get(got, "IovQueuePairsRequested"), get(got, "IovQueuePairsAssigned"))
			}
			again(b)
			b.settled()
			if got := b.read("vm1", "rdma"); get(got, "IovQueuePairsAssigned") != "4" {
				t.Errorf("assigned %s after the VF was allocated anew", get(got, "IovQueuePairsAssigned"))
			}
		})
	}
}

func TestFact35BudgetOfTheWholeDevice(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.rdmaVFs("1", "iWARP 1", "iWARP 2")
	b.iovSwitch("A", "iWARP 1")
	b.iovSwitch("B", "iWARP 2")
	b.bounce("iWARP 1", "iWARP 2")
	b.weights(b.rdmaAdapter("vm1", "rdma", "A"), 100, 100)
	b.weights(b.rdmaAdapter("vm2", "rdma", "B"), 100, 100)
	b.settled()
	one, two := b.nic("vm1", "rdma").Allocated, b.nic("vm2", "rdma").Allocated
	if one == nil || two == nil || one.Rdma == two.Rdma {
		t.Errorf("two VFs, one of them with RDMA: %+v, %+v", one, two)
	}
}

func TestFact55Stages(t *testing.T) {
	b, a := intelUp(t, func(s *Scenario) { s.Timing.VFAllocation, s.Timing.VFDataPath = 1000, 1000 })
	stage := func() string {
		a := b.read("vm1", "rdma")
		return get(a, "IovUsage") + " " + get(a, "VFDataPathActive")
	}
	b.weights(a, -1, 0)
	b.weights(a, -1, 100)
	for _, step := range []struct {
		pass time.Duration
		want string
	}{{0, "0 False"}, {time.Second, "1 False"}, {time.Second, "1 True"}} {
		b.pass(step.pass)
		if got := stage(); got != step.want {
			t.Errorf("after %s: %s, want %s", step.pass, got, step.want)
		}
	}
	b.run("Stop-VM", params{"Name": list("vm1"), "TurnOff": true})
	if got := stage(); got != "0 False" {
		t.Errorf("fact 53, VM off: %s", got)
	}
	if got := get(b.read("vm1", "rdma"), "Status"); got != "" {
		t.Errorf("fact 54, VM off: status %q", got)
	}
}

// The driver in the guest decides how far it goes.
func TestGuestDriver(t *testing.T) {
	for _, test := range []struct {
		kind, stage, status string
		vfAdapter           bool
	}{
		{driverVendor, "1 True", "Ok", true},
		{driverInbox, "1 True", "Ok", true},
		{driverInboxBad, "1 False", "Degraded", true}, // cases.md 33
		{driverNone, "1 False", "Degraded", false},    // cases.md 35
	} {
		t.Run(test.kind, func(t *testing.T) {
			b, _ := intelUp(t, func(s *Scenario) { s.Hosts[0].VMs[0].Guest.VFDriver = test.kind })
			a := b.read("vm1", "rdma")
			if got := get(a, "IovUsage") + " " + get(a, "VFDataPathActive"); got != test.stage || get(a, "Status") != test.status {
				t.Errorf("%s, %s", got, get(a, "Status"))
			}
			if _, vf := b.machine("vm1").Guest.pair(b.nic("vm1", "rdma").ID); (vf != nil) != test.vfAdapter {
				t.Errorf("VF adapter in the guest: %v", vf)
			}
		})
	}
}

func TestFact53VirtualFunctionOfATeam(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	b.iovSwitch("SET", "MyRDMANIC", "MyRDMANIC 2")
	a := b.rdmaAdapter("vm1", "rdma", "SET")
	for port, want := range map[string]bool{"MyRDMANIC": true, "MyRDMANIC 2": false} {
		b.run("Set-VMNetworkAdapterTeamMapping", params{"VMNetworkAdapter": a, "PhysicalNetAdapterName": port})
		b.weights(a, -1, 100)
		b.settled()
		read := b.read("vm1", "rdma")
		vf, _ := read.Get("VirtualFunction")
		if get(read, "IovUsage") != "1" || (vf != nil) != want {
			t.Errorf("%s: IovUsage %s, VirtualFunction %v", port, get(read, "IovUsage"), vf)
		}
	}
}

// Fact 22, 81 and case 51: a ConnectX-3 gives RDMA on port 1 only, and without a mapping chance decides.
func TestCase51ConnectX3Port1(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	b.run("New-ItemProperty", params{"Path": list(`HKLM:\` + guestRdmaKey), "Name": guestRdmaValue, "PropertyType": "DWord", "Value": int64(1)})
	b.bounce("MyRDMANIC", "MyRDMANIC 2")
	b.iovSwitch("SET", "MyRDMANIC", "MyRDMANIC 2")
	with, without := 0, 0
	for i := range 12 {
		name := fmt.Sprint("rdma ", i)
		b.weights(b.rdmaAdapter("vm1", name, "SET"), -1, 100)
		b.settled()
		got := b.nic("vm1", name).Allocated
		_, p := b.state.Hosts[0].deviceOf(got)
		if got.Rdma != (p.Name == "MyRDMANIC") {
			t.Errorf("RDMA %v on %s", got.Rdma, p.Name)
		}
		if got.Rdma {
			with++
		} else {
			without++
		}
	}
	if with == 0 || without == 0 {
		t.Errorf("%d on port 1, %d on port 2: no chance in it", with, without)
	}
	a := b.rdmaAdapter("vm2", "rdma", "SET")
	b.run("Set-VMNetworkAdapterTeamMapping", params{"VMName": "vm2", "VMNetworkAdapterName": "rdma", "PhysicalNetAdapterName": "MyRDMANIC"})
	b.weights(a, -1, 100)
	b.settled()
	if !b.nic("vm2", "rdma").Allocated.Rdma {
		t.Error("mapped to port 1 and no RDMA")
	}
}

func TestFact36ConnectX3NeedsTheRegistryValue(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	b.iovSwitch("S", "MyRDMANIC")
	a := b.rdmaAdapter("vm1", "rdma", "S")
	b.weights(a, -1, 100)
	b.settled()
	if b.nic("vm1", "rdma").Allocated.Rdma {
		t.Fatal("RDMA without EnableGuestRdma")
	}
	b.run("New-ItemProperty", params{"Path": list(`HKLM:\` + guestRdmaKey), "Name": guestRdmaValue, "PropertyType": "DWord", "Value": int64(1)})
	b.settled()
	if b.nic("vm1", "rdma").Allocated.Rdma {
		t.Fatal("RDMA before the adapter was restarted")
	}
	b.bounce("MyRDMANIC")
	b.settled()
	if !b.nic("vm1", "rdma").Allocated.Rdma {
		t.Error("no RDMA after the restart")
	}
}

func TestFact46EventsOfAVirtualFunction(t *testing.T) {
	b, a := intelUp(t, nil)
	b.weights(a, -1, 0)
	if got := b.events("vf_assigned"); len(got) != 1 || got[0] != "vm1/rdma: VF 0 of iWARP 1 with RDMA" {
		t.Error(got)
	}
	if got := b.events("vf_removed"); len(got) != 1 || got[0] != "vm1/rdma: IovWeight is 0" {
		t.Error(got)
	}
}
