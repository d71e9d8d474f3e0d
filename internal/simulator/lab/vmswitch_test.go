package lab

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func bandwidth(name string) cmdlet.Enum { return hyperVEnum("VMSwitchBandwidthMode", name) }

// What New-VMSwitch makes of its parameters.
func TestNewVMSwitchMakes(t *testing.T) {
	for name, test := range map[string]struct {
		preset string
		given  params
		want   map[string]string
	}{
		"fact 13: management OS allowed when left out": {"intel-x722", params{"NetAdapterName": list("iWARP 1")}, map[string]string{"AllowManagementOS": "True", "IovEnabled": "False"}},
		"fact 10: mode Weight without IOV":             {"intel-x722", params{"NetAdapterName": list("iWARP 1")}, map[string]string{"BandwidthReservationMode": "Weight"}},
		"fact 10: mode None with IOV": {"intel-x722", params{"NetAdapterName": list("iWARP 1"), "EnableIov": true, "MinimumBandwidthMode": bandwidth("Default")},
			map[string]string{"BandwidthReservationMode": "None", "IovEnabled": "True", "IovSupport": "True", "IovVirtualFunctionCount": "32"}},
		"fact 13: two adapters make a team": {"intel-x722", params{"NetAdapterName": list("iWARP 1", "iWARP 2"), "EnableIov": true},
			map[string]string{"EmbeddedTeamingEnabled": "True", "IovVirtualFunctionCount": "64"}},
		"fact 17: a team's single description": {"intel-x722", params{"NetAdapterName": list("iWARP 1", "iWARP 2")},
			map[string]string{"NetAdapterInterfaceDescription": "Teamed-Interface",
				"NetAdapterInterfaceDescriptions": "Intel(R) Ethernet Connection X722 for 10GbE SFP+ Intel(R) Ethernet Connection X722 for 10GbE SFP+ #2"}},
		"fact 9: a team of one is legal": {"intel-x722", params{"NetAdapterName": list("iWARP 1"), "EnableEmbeddedTeaming": true}, map[string]string{"EmbeddedTeamingEnabled": "True"}},
		"fact 15: IOV flag without support": {"intel-x722", params{"NetAdapterName": list("Ethernet"), "EnableIov": true},
			map[string]string{"IovEnabled": "True", "IovSupport": "False", "IovVirtualFunctionCount": "0"}},
		"fact 15: no external port, no reasons": {"intel-x722", params{"SwitchType": hyperVEnum("VMSwitchType", "Private")},
			map[string]string{"IovSupport": "False", "IovSupportReasons": "", "AllowManagementOS": "False"}},
		"fact 16: an internal switch has a host vNIC": {"intel-x722", params{"SwitchType": hyperVEnum("VMSwitchType", "Internal")}, map[string]string{"AllowManagementOS": "True"}},
		"fact 11: Weight with IOV is ignored by default": {"intel-x722", params{"NetAdapterName": list("iWARP 1"), "EnableIov": true, "MinimumBandwidthMode": bandwidth("Weight")},
			map[string]string{"IovEnabled": "True", "BandwidthReservationMode": "Weight", "IovVirtualFunctionCount": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.preset, nil)
			test.given["Name"] = "S"
			made := b.run("New-VMSwitch", test.given)[0]
			read := b.run("Get-VMSwitch", params{"Id": []any{cmdlet.GUID(get(made, "Id"))}})[0]
			for property, want := range test.want {
				if get(made, property) != want || get(read, property) != want {
					t.Errorf("%s: made %q, read %q, want %q", property, get(made, property), get(read, property), want)
				}
			}
		})
	}
}

// What New-VMSwitch refuses; nothing may be left behind.
func TestNewVMSwitchRefuses(t *testing.T) {
	reject := func(s *Scenario) { s.Unknowns.IovWithBandwidthMode = "reject" }
	for name, test := range map[string]struct {
		change func(*Scenario)
		given  params
		id     string
	}{
		"fact 24: adapter bound already": {nil, params{"NetAdapterName": list("Ethernet 2")}, "ObjectInUse"},
		"fact 30: no such adapter":       {nil, params{"NetAdapterName": list("gone")}, "ObjectNotFound"},
		"fact 39: adapter names are exact": {nil, params{"NetAdapterName": list("iWARP*")},
			"ObjectNotFound"},
		"fact 13: two adapters, team refused": {nil, params{"NetAdapterName": list("iWARP 1", "iWARP 2"), "EnableEmbeddedTeaming": false}, "InvalidParameter"},
		"fact 18: packet direct with IOV":     {nil, params{"NetAdapterName": list("iWARP 1"), "EnableIov": true, "EnablePacketDirect": true}, "InvalidParameter"},
		"fact 18: packet direct with SET":     {nil, params{"NetAdapterName": list("iWARP 1", "iWARP 2"), "EnablePacketDirect": true}, "InvalidParameter"},
		"fact 21: unlike adapters":            {nil, params{"NetAdapterName": list("iWARP 1", "Ethernet")}, "OperationFailed"},
		"fact 11: Absolute with IOV rejected": {reject, params{"NetAdapterName": list("iWARP 1"), "EnableIov": true, "MinimumBandwidthMode": bandwidth("Absolute")}, "InvalidParameter"},
		"fact 11: internal with IOV rejected": {reject, params{"SwitchType": hyperVEnum("VMSwitchType", "Internal"), "EnableIov": true}, "InvalidParameter"},
		"fact 13: bad id":                     {nil, params{"NetAdapterName": list("iWARP 1"), "Id": "x"}, "InvalidParameter"},
		"fact 21: LBFO team on Server 2022": {func(s *Scenario) {
			s.Hosts[0].OS.Build = 20348
			s.Hosts[0].LbfoTeams = []ScenarioLbfoTeam{{Name: "Team", Members: []string{"iWARP 1", "iWARP 2"}}}
		}, params{"NetAdapterName": list("Team")}, "OperationFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "intel-x722", test.change)
			before, _ := b.State()
			test.given["Name"] = "S"
			err := b.fails("New-VMSwitch", test.given)
			if want := test.id + ",Microsoft.HyperV.PowerShell.Commands.NewVMSwitch"; err.ID != want {
				t.Errorf("id %q, want %q", err.ID, want)
			}
			if after, _ := b.State(); string(after) != string(before) {
				t.Error("something changed")
			}
		})
	}
}

func TestFact16And28HostVNicTakesThePortsAddress(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	_, port := b.port("Ethernet")
	mac, address := port.MacAddress, port.IP.Addresses[0].Address
	b.run("New-VMSwitch", params{"Name": "M", "NetAdapterName": list("Ethernet")})
	v := b.run("Get-VMNetworkAdapter", params{"ManagementOS": true})[0]
	if get(v, "Name") != "M" || get(v, "MacAddress") != mac {
		t.Errorf("host vNIC %s with %s, want M with %s", get(v, "Name"), get(v, "MacAddress"), mac)
	}
	if len(port.IP.Addresses) != 0 || b.state.Hosts[0].HostVNics[0].IP.Addresses[0].Address != address {
		t.Error("the address did not move")
	}
	if got := b.events("session_drop"); len(got) != 1 {
		t.Errorf("session drops on the management path (fact 73): %v", got)
	}
	b.run("Add-VMNetworkAdapter", params{"ManagementOS": true, "SwitchName": "M", "Name": "SMB_1"})
	b.run("Set-VMSwitch", params{"Name": list("M"), "AllowManagementOS": false})
	if got := b.run("Get-VMNetworkAdapter", params{"ManagementOS": true}); len(got) != 0 {
		t.Errorf("false removes all host vNICs, %d are left", len(got))
	}
	b.run("Set-VMSwitch", params{"Name": list("M"), "AllowManagementOS": true})
	if got := b.run("Get-VMNetworkAdapter", params{"ManagementOS": true}); names(got, "Name") != "M" || get(got[0], "MacAddress") != mac {
		t.Errorf("true adds exactly one: %s", names(got, "Name"))
	}
	b.run("Remove-VMSwitch", params{"Name": list("M")})
	if len(port.IP.Addresses) != 1 || port.IP.Addresses[0].Address != address {
		t.Error("the address did not come back")
	}
}

func TestFact25And27LinkFlapAndRebind(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	d, _ := b.port("iWARP 1")
	b.iovSwitch("IOV", "iWARP 1")
	if !d.RebindPending {
		t.Error("a new switch does not ask for a bounce")
	}
	b.bounce("iWARP 1")
	if !d.RebindPending {
		t.Error("one PF is not all PFs")
	}
	b.bounce("iWARP 2")
	if d.RebindPending {
		t.Error("a bounce of all PFs does not help")
	}
	b.run("Remove-VMSwitch", params{"Name": list("IOV")})
	if !d.RebindPending {
		t.Error("a removed switch does not ask for a bounce")
	}
	if got := b.events("link_flap"); len(got) != 2 {
		t.Errorf("link flaps: %v", got)
	}
	if got := b.events("net_adapter_restart"); len(got) != 2 {
		t.Errorf("restarts, which only Disable and Enable are: %v", got)
	}
	m := newBench(t, "mellanox-cx3pro", nil)
	m.iovSwitch("IOV", "MyRDMANIC")
	if d, _ := m.port("MyRDMANIC"); d.RebindPending {
		t.Error("a ConnectX-3 asks for a bounce")
	}
}

func TestFact12And19SetVMSwitch(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	s := b.iovSwitch("IOV", "iWARP 1")
	for name, test := range map[string]struct {
		given params
		id    string
	}{
		"fact 12: type of an external IOV switch": {params{"SwitchType": hyperVEnum("VMSwitchType", "Internal")}, "InvalidParameter"},
		"fact 24: adapter of another switch":      {params{"NetAdapterName": "Ethernet 2"}, "ObjectInUse"},
		"fact 52: flow without reservation":       {params{"DefaultFlowMinimumBandwidthWeight": int64(10)}, "InvalidParameter"},
	} {
		t.Run(name, func(t *testing.T) {
			test.given["VMSwitch"] = []any{s}
			if err := b.fails("Set-VMSwitch", test.given); !strings.HasPrefix(err.ID, test.id+",") {
				t.Errorf("id %q, want %s", err.ID, test.id)
			}
		})
	}
	t.Run("fact 19: another adapter by one name", func(t *testing.T) {
		got := b.run("Set-VMSwitch", params{"VMSwitch": []any{s}, "NetAdapterName": "iWARP 2", "Notes": "it's [new]; $(x)", "Passthru": true})[0]
		if !strings.HasSuffix(get(got, "NetAdapterInterfaceDescription"), "#2") || get(got, "Notes") != "it's [new]; $(x)" {
			t.Errorf("%s, %s", get(got, "NetAdapterInterfaceDescription"), get(got, "Notes"))
		}
	})
	t.Run("fact 20: queue options on an adapter without host queues", func(t *testing.T) {
		err := b.fails("Set-VMSwitch", params{"Name": list("LAN"), "DefaultQueueVmmqEnabled": true})
		if err.ID != "OperationFailed,Microsoft.HyperV.PowerShell.Commands.SetVMSwitch" || err.Category != "NotSpecified" {
			t.Errorf("%s %s", err.ID, err.Category)
		}
		b.run("Set-VMSwitch", params{"VMSwitch": []any{s}, "DefaultQueueVmmqEnabled": true})
	})
}

func TestCase8SwitchNames(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.iovSwitch("A [x]*", "iWARP 1")
	b.iovSwitch("A [x]*", "iWARP 2")
	if got := b.run("Get-VMSwitch", params{"Name": "A `[x`]`*"}); len(got) != 2 {
		t.Errorf("escaped name finds %d, want both", len(got))
	}
	if got := b.run("Get-VMSwitch", params{"Name": "a*"}); len(got) != 2 {
		t.Errorf("pattern finds %d", len(got))
	}
	if got := b.run("Get-VMSwitch", params{"Name": "none*"}); len(got) != 0 {
		t.Errorf("pattern without a match finds %d", len(got))
	}
	if err := b.fails("Get-VMSwitch", params{"Name": "gone"}); err.ID != "InvalidParameter,Microsoft.HyperV.PowerShell.Commands.GetVMSwitch" || err.Category != "InvalidArgument" {
		t.Errorf("%s %s", err.ID, err.Category)
	}
	if err := b.fails("Get-VMSwitch", params{"Id": []any{cmdlet.GUID(emptyGUID)}}); err.ID != "ObjectNotFound,Microsoft.HyperV.PowerShell.Commands.GetVMSwitch" {
		t.Error(err.ID)
	}
	if err := b.fails("Connect-VMNetworkAdapter", params{"VMName": list("vm1"), "SwitchName": "A [x]*"}); !strings.HasPrefix(err.ID, "InvalidParameter,") {
		t.Errorf("two switches of one name: %s", err.ID)
	}
	first := b.run("Get-VMSwitch", nil)[1]
	b.run("Rename-VMSwitch", params{"VMSwitch": first, "NewName": "B"})
	if got := names(b.run("Get-VMSwitch", nil), "Name"); got != "LAN, B, A [x]*" {
		t.Error(got)
	}
}

func TestFact62AndErrors3RemoveVMSwitch(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.iovSwitch("IOV", "iWARP 1")
	b.rdmaAdapter("vm1", "rdma", "IOV")
	err := b.fails("Remove-VMSwitch", params{"Name": list("IOV"), "Force": true})
	if err.ID != "ObjectInUse,Microsoft.HyperV.PowerShell.Commands.RemoveVMSwitchCommand" || err.Category != "ResourceBusy" || err.TargetType != "VMTask" {
		t.Errorf("%s %s %s", err.ID, err.Category, err.TargetType)
	}
	b.run("Stop-VM", params{"Name": list("vm1"), "TurnOff": true})
	b.run("Remove-VMSwitch", params{"Name": list("IOV"), "Force": true})
	if a := b.read("vm1", "rdma"); get(a, "Connected") != "False" || get(a, "SwitchName") != "" {
		t.Errorf("the adapter is connected to %q", get(a, "SwitchName"))
	}
}

func TestFact21TeamMembers(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	b.run("New-VMSwitch", params{"Name": "SET", "NetAdapterName": list("MyRDMANIC"), "EnableEmbeddedTeaming": true, "EnableIov": true, "AllowManagementOS": false})
	team := b.run("Get-VMSwitchTeam", params{"Name": "SET"})[0]
	if get(team, "LoadBalancingAlgorithm") != "Dynamic" || get(team, "TeamingMode") != "SwitchIndependent" {
		t.Errorf("fact 13, Windows Server 2016: %s, %s", get(team, "LoadBalancingAlgorithm"), get(team, "TeamingMode"))
	}
	if err := b.fails("Add-VMSwitchTeamMember", params{"VMSwitchName": list("SET"), "NetAdapterName": list("Ethernet")}); !strings.HasPrefix(err.ID, "OperationFailed,") {
		t.Errorf("an unlike member: %s", err.ID)
	}
	b.run("Add-VMSwitchTeamMember", params{"VMSwitchName": list("SET"), "NetAdapterName": list("MyRDMANIC 2")})
	if got := len(b.state.Hosts[0].Switches[1].Ports); got != 2 {
		t.Errorf("%d members", got)
	}
	if err := b.fails("Remove-VMSwitchTeamMember", params{"VMSwitchName": list("SET"), "NetAdapterName": list("MyRDMANIC", "MyRDMANIC 2")}); !strings.HasPrefix(err.ID, "InvalidParameter,") {
		t.Errorf("the last member: %s", err.ID)
	}
	b.run("Remove-VMSwitchTeamMember", params{"VMSwitchName": list("SET"), "NetAdapterName": list("MyRDMANIC")})
	b.run("Set-VMSwitchTeam", params{"Name": list("SET"), "NetAdapterName": list("MyRDMANIC"), "LoadBalancingAlgorithm": hyperVEnum("VMSwitchLoadBalancingAlgorithm", "HyperVPort")})
	if s := b.state.Hosts[0].Switches[1]; len(s.Ports) != 1 || s.LoadBalancing != "HyperVPort" {
		t.Errorf("%v %s", s.Ports, s.LoadBalancing)
	}
	if err := b.fails("Get-VMSwitchTeam", params{"Name": "LAN"}); !strings.HasPrefix(err.ID, "InvalidParameter,") {
		t.Error(err.ID)
	}
}
