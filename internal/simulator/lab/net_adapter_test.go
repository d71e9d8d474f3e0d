package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func TestErrors5NetAdapterNotFound(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	for _, tt := range []struct {
		name, cmdlet string
		p            params
		id           string // "" for no error
		found        string
	}{
		{"exact name", "Get-NetAdapter", params{"Name": list("gone")}, "CmdletizationQuery_NotFound_Name,Get-NetAdapter", ""},
		{"case is ignored", "Get-NetAdapter", params{"Name": list("IWARP 1")}, "", "iWARP 1"},
		{"pattern without a match", "Get-NetAdapter", params{"Name": list("gone*")}, "", ""},
		{"pattern", "Get-NetAdapter", params{"Name": list("iWARP ?")}, "", "iWARP 1, iWARP 2"},
		{"a name in brackets is a pattern", "Get-NetAdapter", params{"Name": list("[x]")}, "", ""},
		{"index", "Get-NetAdapter", params{"InterfaceIndex": []any{int64(99)}}, "CmdletizationQuery_NotFound_InterfaceIndex,Get-NetAdapter", ""},
		{"quotes and dollars", "Get-NetAdapter", params{"Name": list(`'"$(exit)`)}, "CmdletizationQuery_NotFound_Name,Get-NetAdapter", ""},
		{"no RDMA gives what no adapter gives", "Enable-NetAdapterRdma", params{"Name": list("Ethernet")}, "CmdletizationQuery_NotFound_Name,Enable-NetAdapterRdma", ""},
		{"no SR-IOV", "Set-NetAdapterSriov", params{"Name": list("Ethernet"), "Enabled": true}, "CmdletizationQuery_NotFound_Name,Set-NetAdapterSriov", ""},
		{"several properties", "Get-NetAdapterAdvancedProperty", params{"Name": list("iWARP 1"), "RegistryKeyword": list("Nothing")}, "CmdletizationQuery_NotFound,Get-NetAdapterAdvancedProperty", ""},
		{"several properties, all patterns", "Get-NetAdapterAdvancedProperty", params{"Name": list("gone*"), "RegistryKeyword": list("*SRIOV")}, "", ""},
		{"one exact value among patterns", "Set-NetAdapterAdvancedProperty", params{"Name": list("Ethernet"), "RegistryKeyword": list("*SRIOV"), "RegistryValue": list("1")}, "CmdletizationQuery_NotFound,Set-NetAdapterAdvancedProperty", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := b.on("host", tt.cmdlet, tt.p)
			id := ""
			if len(out.Errors) > 0 {
				id = out.Errors[0].ID
			}
			if id != tt.id {
				t.Errorf("error %q, want %q", id, tt.id)
			}
			if got := names(out.Objects, "Name"); got != tt.found {
				t.Errorf("found %q, want %q", got, tt.found)
			}
		})
	}
}

func TestFact39KeywordsArePatterns(t *testing.T) {
	b := newBench(t, "intel-e810", nil)
	for _, tt := range []struct{ name, keyword, found string }{
		{"star prefix is a pattern", "*SRIOV", "*SRIOV"},
		{"pattern reaches further than one may think", "*Direct*", "*NetworkDirect, *NetworkDirectTechnology"},
		{"escaped star is exact", "`*VMQ", "*VMQ"},
		{"set", "rdmamax[vw]fsenabled", "RdmaMaxVfsEnabled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := names(b.run("Get-NetAdapterAdvancedProperty", params{"Name": list("iWARP 1"), "RegistryKeyword": list(tt.keyword)}), "RegistryKeyword")
			if got != tt.found {
				t.Errorf("found %s, want %s", got, tt.found)
			}
		})
	}
}

func TestFact31HiddenKeywordsAreListedOnlyWithAllProperties(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	p := params{"Name": list("iWARP 1"), "RegistryKeyword": list("`*SriovPreferred")}
	if e := b.fails("Get-NetAdapterAdvancedProperty", p); e.ID != "CmdletizationQuery_NotFound,Get-NetAdapterAdvancedProperty" {
		t.Errorf("error %s", e.ID)
	}
	p["AllProperties"] = true
	if got := names(b.run("Get-NetAdapterAdvancedProperty", p), "RegistryValue"); got != "0" {
		t.Errorf("value %s", got)
	}
}

func TestFact38AdvancedPropertyValues(t *testing.T) {
	for _, tt := range []struct{ name, keyword, parameter, value, message, stored string }{
		{"of the list", "*SRIOV", "RegistryValue", "0", "", "0"},
		{"display text as registry value", "*SRIOV", "RegistryValue", "Enabled", "No matching keyword value found. The following are valid keyword values: 0, 1", "1"},
		{"display value", "*SRIOV", "DisplayValue", "disabled", "", "0"},
		{"in range", keywordMaxVFs, "RegistryValue", "32", "", "32"},
		{"out of range", keywordMaxVFs, "RegistryValue", "33", "Value must be within the range 0 - 32", "0"},
		{"not a number", keywordMaxVFs, "RegistryValue", "many", "Value must be within the range 0 - 32", "0"},
		{"step", "*EncapOverhead", "RegistryValue", "33", "Value must be within the range 0 - 256, in increments of 32", "0"},
		{"step met", "*EncapOverhead", "RegistryValue", "64", "", "64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "intel-x722", nil)
			out := b.on("host", "Set-NetAdapterAdvancedProperty", params{"Name": list("iWARP 1"), "RegistryKeyword": list(tt.keyword), tt.parameter: parameterValue(tt.parameter, tt.value)})
			message := ""
			if len(out.Errors) > 0 {
				message = out.Errors[0].Message
				if e := out.Errors[0]; e.ID != "Windows System Error 87,Set-NetAdapterAdvancedProperty" || e.Category != "InvalidArgument" || e.Exception != cimException {
					t.Errorf("error %+v", e)
				}
			}
			if message != tt.message {
				t.Errorf("message %q, want %q", message, tt.message)
			}
			_, port := b.port("iWARP 1")
			if got := port.keyword(tt.keyword).Registry; got != tt.stored {
				t.Errorf("stored %s, want %s", got, tt.stored)
			}
		})
	}
}

func parameterValue(name, value string) any {
	if name == "RegistryValue" {
		return list(value)
	}
	return value
}

func TestFact33RegistryAndRunningValues(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cmdlet    string
		p         params
		keyword   string
		registry  string
		running   string
		restarted bool
	}{
		{"with restart", "Set-NetAdapterAdvancedProperty", params{"RegistryKeyword": list("*VMQ"), "RegistryValue": list("0")}, "*VMQ", "0", "0", true},
		{"without", "Set-NetAdapterAdvancedProperty", params{"RegistryKeyword": list("*VMQ"), "RegistryValue": list("0"), "NoRestart": true}, "*VMQ", "0", "1", false},
		{"Disable-NetAdapterSriov", "Disable-NetAdapterSriov", params{}, "*SRIOV", "0", "0", true},
		{"Set-NetAdapterSriov", "Set-NetAdapterSriov", params{"Enabled": false, "NoRestart": true}, "*SRIOV", "0", "1", false},
		{"Set-NetAdapterVmq", "Set-NetAdapterVmq", params{"Enabled": false}, "*VMQ", "0", "0", true},
		{"Disable-NetAdapterRdma mirrors *NetworkDirect", "Disable-NetAdapterRdma", params{"NoRestart": true}, "*NetworkDirect", "0", "1", false},
		{"Set-NetAdapterRdma", "Set-NetAdapterRdma", params{"Enabled": false}, "*NetworkDirect", "0", "0", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "intel-x722", nil)
			tt.p["Name"] = list("iWARP 1")
			b.run(tt.cmdlet, tt.p)
			_, port := b.port("iWARP 1")
			k := port.keyword(tt.keyword)
			if k.Registry != tt.registry || k.Running != tt.running {
				t.Errorf("registry %s running %s, want %s and %s", k.Registry, k.Running, tt.registry, tt.running)
			}
			if restarted := len(b.events("net_adapter_restart")) == 1; restarted != tt.restarted {
				t.Errorf("restarts: %v", b.events("net_adapter_restart"))
			}
			b.run("Restart-NetAdapter", params{"Name": list("iWARP 1")})
			if k.Running != tt.registry {
				t.Errorf("after an explicit restart running is %s (facts.md 34)", k.Running)
			}
		})
	}
}

func TestFact31NumVFsNeedsARestartAndTheDriverMayAdvertiseFewer(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	p := params{"Name": list("iWARP 1"), "NumVFs": int64(8), "NoRestart": true}
	b.run("Set-NetAdapterSriov", p)
	_, port := b.port("iWARP 1")
	if port.NumVFs != (Dual{Registry: 8, Running: 32}) {
		t.Errorf("before the restart: %+v", port.NumVFs)
	}
	p["NumVFs"], p["NoRestart"] = int64(500), false
	b.run("Set-NetAdapterSriov", p)
	if port.NumVFs != (Dual{Registry: 500, Running: 32}) {
		t.Errorf("after it: %+v", port.NumVFs)
	}
}

func TestFact35RdmaMaxVfsNeedsABounceOfAllPFsWithOneValue(t *testing.T) {
	set := func(b *bench, port, value string, noRestart bool) {
		b.run("Set-NetAdapterAdvancedProperty", params{"Name": list(port), "RegistryKeyword": list(keywordMaxVFs), "RegistryValue": list(value), "NoRestart": noRestart})
	}
	bounce := func(b *bench, ports ...string) {
		b.run("Disable-NetAdapter", params{"Name": list(ports...)})
		b.run("Enable-NetAdapter", params{"Name": list(ports...)})
	}
	for _, tt := range []struct {
		name string
		do   func(*bench)
		want int
	}{
		{"default", func(*bench) {}, 0},
		{"set without a bounce", func(b *bench) { set(b, "iWARP 1", "8", true); set(b, "iWARP 2", "8", true) }, 0},
		{"bounce of one PF", func(b *bench) {
			set(b, "iWARP 1", "8", true)
			set(b, "iWARP 2", "8", true)
			bounce(b, "iWARP 1")
		}, 0},
		{"bounce of all", func(b *bench) {
			set(b, "iWARP 1", "8", true)
			set(b, "iWARP 2", "8", true)
			bounce(b, "iWARP 1", "iWARP 2")
		}, 8},
		{"unequal values", func(b *bench) {
			set(b, "iWARP 1", "8", true)
			bounce(b, "iWARP 1", "iWARP 2")
		}, 0},
		{"a PF that is down does not count", func(b *bench) {
			set(b, "iWARP 1", "8", true)
			bounce(b, "iWARP 1", "iWARP 2")
			b.run("Disable-NetAdapter", params{"Name": list("iWARP 2")})
		}, 8},
		{"the same value again changes nothing", func(b *bench) {
			set(b, "iWARP 1", "8", true)
			set(b, "iWARP 2", "8", true)
			bounce(b, "iWARP 1", "iWARP 2")
			set(b, "iWARP 1", "8", true)
		}, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "intel-x722", nil)
			tt.do(b)
			d, _ := b.port("iWARP 1")
			if got := d.rdmaVFs(); got != tt.want {
				t.Errorf("RDMA VFs %d, want %d", got, tt.want)
			}
		})
	}
}

func TestFact25ASwitchNeedsABounceOfAllPFsOnIntel(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	d, _ := b.port("iWARP 1")
	d.needRebind()
	if !d.RebindPending {
		t.Fatal("not pending")
	}
	b.run("Restart-NetAdapter", params{"Name": list("iWARP 1")})
	if !d.RebindPending {
		t.Error("one PF is enough")
	}
	b.run("Restart-NetAdapter", params{"Name": list("iWARP 2")})
	if d.RebindPending {
		t.Error("all PFs are not enough")
	}
	m := newBench(t, "mellanox-cx3pro", nil)
	d, _ = m.port("MyRDMANIC")
	if d.needRebind(); d.RebindPending {
		t.Error("a rule of Intel's parts holds for Mellanox")
	}
}

func TestFact36EnableGuestRdmaWaitsForTheRestartThatCounts(t *testing.T) {
	write := func(b *bench) {
		b.run("Set-ItemProperty", params{"Path": list(`HKLM:\` + guestRdmaKey), "Name": guestRdmaValue, "Value": int64(1), "Type": cmdlet.Enum{Name: "DWord"}})
	}
	adapter := func(b *bench) { b.run("Restart-NetAdapter", params{"Name": list("MyRDMANIC")}) }
	bus := func(b *bench) {
		id := list(get(b.run("Get-PnpDevice", params{"FriendlyName": list("Mellanox ConnectX-3 PRO*")})[0], "InstanceId"))
		b.run("Disable-PnpDevice", params{"InstanceId": id})
		b.run("Enable-PnpDevice", params{"InstanceId": id})
	}
	for _, tt := range []struct {
		needs   string
		restart func(*bench)
		name    string
		want    bool
	}{
		{"net_adapter", func(*bench) {}, "nothing", false},
		{"net_adapter", adapter, "net adapter", true},
		{"net_adapter", bus, "bus device", true},
		{"bus_device", adapter, "net adapter", false},
		{"bus_device", bus, "bus device", true},
		{"host_reboot", bus, "bus device", false},
	} {
		t.Run(tt.needs+" after "+tt.name, func(t *testing.T) {
			b := newBench(t, "mellanox-cx3pro", func(s *Scenario) { s.Unknowns.GuestRdmaRegistryNeeds = tt.needs })
			write(b)
			tt.restart(b)
			d, _ := b.port("MyRDMANIC")
			if d.GuestRdmaRunning != tt.want {
				t.Errorf("in force: %t", d.GuestRdmaRunning)
			}
			if (d.rdmaVFs() > 0) != tt.want {
				t.Errorf("RDMA VFs: %d", d.rdmaVFs())
			}
		})
	}
}

func TestFact36AValueOfAnotherKindIsNotRead(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	b.run("Set-ItemProperty", params{"Path": list(`HKLM:\` + guestRdmaKey), "Name": guestRdmaValue, "Value": "1"})
	b.run("Restart-NetAdapter", params{"Name": list("MyRDMANIC")})
	if d, _ := b.port("MyRDMANIC"); d.GuestRdmaRunning {
		t.Error("a text was taken for a DWORD")
	}
}

func TestFact37DisabledAdaptersInGetNetAdapterRdma(t *testing.T) {
	for _, lists := range []bool{false, true} {
		b := newBench(t, "intel-x722", func(s *Scenario) { s.Unknowns.NetAdapterRdmaListsDisabled = lists })
		all := b.run("Get-NetAdapterRdma", params{})
		if got := names(all, "Name"); got != "iWARP 1, iWARP 2" {
			t.Fatalf("listed %s", got)
		}
		b.run("Disable-NetAdapter", params{"InterfaceDescription": list(get(all[0], "InterfaceDescription"), get(all[1], "InterfaceDescription"))})
		want := ""
		if lists {
			want = "iWARP 1, iWARP 2"
		}
		if got := names(b.run("Get-NetAdapterRdma", params{}), "Name"); got != want {
			t.Errorf("lists=%t: listed %q, want %q", lists, got, want)
		}
	}
}

func TestFact91RdmaColumnsByBuild(t *testing.T) {
	for _, tt := range []struct {
		preset string
		has    string
	}{{"mellanox-cx3pro", ""}, {"intel-x722", "PFC ETS"}, {"intel-e810", "PFC ETS OperationalState"}} {
		b := newBench(t, tt.preset, nil)
		o := b.run("Get-NetAdapterRdma", params{})[0]
		var has []string
		for _, name := range []string{"PFC", "ETS", "OperationalState"} {
			if _, ok := o.Get(name); ok {
				has = append(has, name)
			}
		}
		if got := strings.Join(has, " "); got != tt.has {
			t.Errorf("%s: %q, want %q", tt.preset, got, tt.has)
		}
	}
}

func TestFact73AnAdapterUnderTheManagementPathDropsTheSession(t *testing.T) {
	for _, tt := range []struct {
		name, cmdlet, port string
		p                  params
		drops              bool
	}{
		{"management adapter", "Restart-NetAdapter", "Ethernet", params{}, true},
		{"another", "Restart-NetAdapter", "iWARP 1", params{}, false},
		{"property with restart", "Set-NetAdapterAdvancedProperty", "Ethernet", params{"RegistryKeyword": list("*RSS"), "RegistryValue": list("0")}, true},
		{"property without", "Set-NetAdapterAdvancedProperty", "Ethernet", params{"RegistryKeyword": list("*RSS"), "RegistryValue": list("0"), "NoRestart": true}, false},
		{"disable", "Disable-NetAdapter", "Ethernet", params{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "intel-x722", nil)
			tt.p["Name"] = list(tt.port)
			b.run(tt.cmdlet, tt.p)
			if dropped := len(b.events("session_drop")) > 0; dropped != tt.drops {
				t.Errorf("dropped: %t", dropped)
			}
		})
	}
	t.Run("host vNIC on the adapter", func(t *testing.T) {
		b := newBench(t, "intel-x722", func(s *Scenario) {
			s.Hosts[0].Switches = append(s.Hosts[0].Switches, ScenarioSwitch{Name: "M", Ports: []string{"Ethernet"}, ManagementOS: true})
		})
		b.run("Restart-NetAdapter", params{"Name": list("Ethernet")})
		if len(b.events("session_drop")) != 1 {
			t.Error("no drop")
		}
	})
}

func TestNetAdapterStatusAndLink(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	status := func() string { return names(b.run("Get-NetAdapter", params{"Name": list("iWARP 1")}), "Status") }
	if status() != "Up" {
		t.Errorf("at first %s", status())
	}
	b.run("Disable-NetAdapter", params{"Name": list("iWARP 1")})
	if status() != "Disabled" {
		t.Errorf("disabled it is %s", status())
	}
	b.run("Disable-NetAdapter", params{"Name": list("iWARP 1")}) // already so: no error, no event
	b.run("Enable-NetAdapter", params{"Name": list("iWARP 1")})
	if status() != "Disconnected" {
		t.Errorf("just started it is %s", status())
	}
	b.pass(b.timing.LinkUp.Duration())
	if status() != "Up" {
		t.Errorf("then %s", status())
	}
	if got := strings.Join(b.events("net_adapter_restart"), "|"); got != "iWARP 1: Enable-NetAdapter" {
		t.Errorf("restarts %s", got)
	}
	if got := names(b.run("Get-NetAdapter", params{"Physical": true}), "MacAddress"); strings.Count(got, "-") != 4*5 {
		t.Errorf("MAC addresses %s", got)
	}
}

func TestRenameNetAdapter(t *testing.T) {
	for _, name := range []string{"a'b", `x"y$(z)`, "[1]*", "Ünï ✓", "with  spaces"} {
		b := newBench(t, "intel-x722", nil)
		nic := b.run("Get-NetAdapter", params{"Name": list("iWARP 1")})
		b.run("Rename-NetAdapter", params{"InputObject": []any{nic[0]}, "NewName": name})
		if got := names(b.run("Get-NetAdapter", params{"InterfaceDescription": list(get(nic[0], "InterfaceDescription"))}), "Name"); got != name {
			t.Errorf("renamed to %q", got)
		}
		if e := b.fails("Rename-NetAdapter", params{"Name": list("iWARP 2"), "NewName": "ETHERNET"}); e.ID != "Windows System Error 183,Rename-NetAdapter" {
			t.Errorf("a taken name gives %s", e.ID)
		}
	}
}

func TestFact41HardwareAndSriovObjects(t *testing.T) {
	b := newBench(t, "intel-x722", func(s *Scenario) { five := 5; s.Hosts[0].Devices[1].SriovSupport = &five })
	o := b.run("Get-NetAdapterSriov", params{"Name": list("iWARP 1")})[0]
	if get(o, "SriovSupport") != "NoIoMmuSupport" {
		t.Errorf("SriovSupport %s", get(o, "SriovSupport"))
	}
	hardware := b.run("Get-NetAdapterHardwareInfo", params{"Name": list("iWARP *")})
	if names(hardware, "BusNumber") != "3, 3" || names(hardware, "FunctionNumber") != "0, 1" {
		t.Errorf("bus %s function %s", names(hardware, "BusNumber"), names(hardware, "FunctionNumber"))
	}
	shared := newBench(t, "mellanox-cx3pro", func(s *Scenario) { s.Unknowns.ConnectX3PortsShareFunction = true })
	if got := names(shared.run("Get-NetAdapterHardwareInfo", params{"Name": list("My*")}), "FunctionNumber"); got != "0, 0" {
		t.Errorf("shared functions %s", got)
	}
}

func TestGuestAdaptersUseTheSameCmdlets(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	vm := b.state.Hosts[0].VMs[0]
	guest := "guest:" + vm.ID
	o := b.must(guest, "Get-NetAdapter", params{})[0]
	if get(o, "InterfaceDescription") != "Microsoft Hyper-V Network Adapter" || get(o, "MacAddress") != dashed(vm.Adapters[0].MacAddress) {
		t.Errorf("guest adapter %s %s (facts.md 63, 84)", get(o, "InterfaceDescription"), get(o, "MacAddress"))
	}
	b.must(guest, "Rename-NetAdapter", params{"Name": list("Ethernet"), "NewName": "LAN"})
	b.must(guest, "Disable-NetAdapter", params{"Name": list("LAN")})
	if got := names(b.must(guest, "Get-NetAdapter", params{}), "Status"); got != "Disabled" {
		t.Errorf("status %s", got)
	}
	if len(b.events("session_drop")) != 0 {
		t.Error("a guest's adapter cut the host off")
	}
	if got := names(b.run("Get-NetAdapter", params{"Name": list("LAN*")}), "Name"); got != "" {
		t.Errorf("the host sees %s", got)
	}
}

func TestFact66RecoveryStepsAreCountedInOrder(t *testing.T) {
	g := &Guest{Adapters: []*GuestAdapter{{VMAdapterID: "A", Present: true}, {VMAdapterID: "A", VF: true, Present: true}}}
	turn := func(on bool) {
		for _, a := range g.Adapters {
			a.RdmaEnabled = on
			g.noteRdma()
		}
	}
	g.recovered(2)
	if g.RecoveryDone != 0 {
		t.Error("a bounce counts although RDMA was never on")
	}
	turn(true)
	if g.RecoveryDone != 0 {
		t.Error("turning RDMA on for the first time is no recovery")
	}
	turn(false)
	turn(true)
	if g.RecoveryDone != 1 {
		t.Errorf("off and on again: step %d", g.RecoveryDone)
	}
	g.recovered(2)
	turn(false)
	turn(true)
	if g.RecoveryDone != 2 {
		t.Errorf("a lower step afterwards: %d", g.RecoveryDone)
	}
}

func TestClockMovesTheLink(t *testing.T) {
	p := &Port{Enabled: true, PnpEnabled: true, LinkUp: true, StartedAt: time.Unix(100, 0)}
	if p.linked(time.Unix(100, 0), Timing{LinkUp: 1000}) || !p.linked(time.Unix(101, 0), Timing{LinkUp: 1000}) {
		t.Error("the link does not follow the start by its time")
	}
}
