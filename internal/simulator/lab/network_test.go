package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func TestFact27ASwitchTakesTcpipOffThePort(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	for _, tt := range []struct{ port, component, want string }{
		{"Ethernet", "ms_tcpip", "True"}, {"Ethernet 2", "ms_tcpip", "False"}, {"Ethernet 2", "vms_pp", "True"}, {"Ethernet", "vms_pp", "False"},
	} {
		if got := names(b.run("Get-NetAdapterBinding", params{"Name": list(tt.port), "ComponentID": list(tt.component)}), "Enabled"); got != tt.want {
			t.Errorf("%s %s: %s", tt.port, tt.component, got)
		}
	}
	if got := names(b.run("Get-NetIPAddress", params{"AddressFamily": []any{cmdlet.Enum{Name: "IPv4"}}}), "InterfaceAlias"); got != "Ethernet, iWARP 1, iWARP 2, "+loopback {
		t.Errorf("addresses on %s", got)
	}
}

func TestAddressesRoutesAndDns(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	if got := names(b.run("Get-NetIPAddress", params{"IPAddress": list("192.0.2.11")}), "InterfaceAlias"); got != "Ethernet" {
		t.Errorf("address on %s", got)
	}
	if got := names(b.run("Get-NetRoute", params{"DestinationPrefix": list("0.0.0.0/0")}), "NextHop"); got != "192.0.2.1" {
		t.Errorf("gateway %s", got)
	}
	if got := names(b.run("Get-DnsClientServerAddress", params{"InterfaceAlias": list("Ethernet"), "AddressFamily": []any{cmdlet.Enum{Name: "IPv4"}}}), "ServerAddresses"); got != "192.0.2.1 192.0.2.2" {
		t.Errorf("DNS %s", got)
	}
	if got := names(b.run("Get-NetIPInterface", params{"InterfaceAlias": list("Ethernet"), "AddressFamily": []any{cmdlet.Enum{Name: "IPv4"}}}), "Dhcp"); got != "Disabled" {
		t.Errorf("DHCP %s", got)
	}
	if e := b.fails("Get-NetIPAddress", params{"IPAddress": list("10.0.0.1")}); e.ID != "CmdletizationQuery_NotFound_IPAddress,Get-NetIPAddress" {
		t.Errorf("error %s", e.ID)
	}
}

func TestFact92SmbRowsOfAHost(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	rows := b.run("Get-SmbServerNetworkInterface", params{})
	capable := map[string]string{}
	count := map[string]int{}
	for _, r := range rows {
		capable[get(r, "FriendlyName")] = get(r, "RdmaCapable")
		count[get(r, "FriendlyName")]++
	}
	if capable["iWARP 1"] != "True" || capable["Ethernet"] != "False" || count["Ethernet"] != 2 || count["Ethernet 2"] != 0 {
		t.Errorf("capable %v, rows %v", capable, count)
	}
	b.run("Disable-NetAdapterRdma", params{"Name": list("iWARP 1")})
	b.pass(time.Second)
	b.run("Enable-NetAdapterRdma", params{"Name": list("iWARP 1")})
	b.pass(b.timing.LinkUp.Duration())
	client := func() string {
		for _, r := range b.run("Get-SmbClientNetworkInterface", params{}) {
			if get(r, "FriendlyName") == "iWARP 1" {
				return get(r, "RdmaCapable")
			}
		}
		return "no row"
	}
	if got := client(); got != "False" {
		t.Errorf("before the table was refreshed: %s (cases.md 37)", got)
	}
	b.pass(b.timing.SMBRefresh.Duration())
	if got := client(); got != "True" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestFact71WindowsProShowsRdmaAndUsesNone(t *testing.T) {
	b := newBench(t, "intel-x722", func(s *Scenario) { s.Hosts[0].OS.Name = "windows-10-pro" })
	if got := names(b.run("Get-NetAdapterRdma", params{"Name": list("iWARP 1")}), "Enabled"); got != "True" {
		t.Errorf("enabled %s", got)
	}
	if got := names(b.run("Get-SmbServerNetworkInterface", params{}), "RdmaCapable"); strings.Contains(got, "True") {
		t.Errorf("capable %s", got)
	}
}

func TestFact68NetworkDirectAcrossIPSubnets(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	b.run("Set-NetOffloadGlobalSetting", params{"NetworkDirectAcrossIPSubnets": cmdlet.Enum{Name: "Allowed", Number: 1}})
	read := func(target string) string {
		return names(b.must(target, "Get-NetOffloadGlobalSetting", params{}), "NetworkDirectAcrossIPSubnets")
	}
	if read("host") != "Allowed" || read("guest:vm1") != "Blocked" {
		t.Errorf("host %s, guest %s", read("host"), read("guest:vm1"))
	}
}

func TestPnpDevices(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	bus := b.run("Get-PnpDevice", params{"FriendlyName": list("Mellanox ConnectX-3 PRO*")})[0]
	b.run("Disable-PnpDevice", params{"InputObject": []any{bus}})
	if got := names(b.run("Get-NetAdapter", params{}), "Name"); got != "Ethernet, Ethernet 2" {
		t.Errorf("without the bus device there are %s", got)
	}
	if got := names(b.run("Get-PnpDevice", params{"InstanceId": list(get(bus, "InstanceId"))}), "ConfigManagerErrorCode"); got != "22" {
		t.Errorf("problem %s", got)
	}
	b.run("Enable-PnpDevice", params{"InputObject": []any{bus}})
	if got := strings.Join(b.events("net_adapter_restart"), "|"); got != "MyRDMANIC: Enable-PnpDevice|MyRDMANIC 2: Enable-PnpDevice" {
		t.Errorf("restarts %s", got)
	}
	if e := b.fails("Disable-PnpDevice", params{"InstanceId": list("PCI\\NONE")}); e.ID != "CmdletizationQuery_NotFound_DeviceID,Disable-PnpDevice" {
		t.Errorf("error %s", e.ID)
	}
	nic := b.run("Get-NetAdapter", params{"Name": list("MyRDMANIC")})[0]
	b.run("Disable-PnpDevice", params{"InstanceId": list(get(nic, "PnPDeviceID"))})
	if got := names(b.run("Get-NetAdapter", params{"Name": list("MyRDMANIC")}), "Status"); got != "Disabled" {
		t.Errorf("status %s", got)
	}
}

func TestGetCimInstance(t *testing.T) {
	b := newBench(t, "intel-e810", nil)
	for _, tt := range []struct {
		name string
		p    params
		id   string
		want string
	}{
		{"class", params{"ClassName": "Win32_OperatingSystem"}, "", "20348"},
		{"filter", params{"ClassName": "Win32_OperatingSystem", "Filter": "BuildNumber = '20348' AND ProductType=3"}, "", "20348"},
		{"filter that keeps nothing", params{"ClassName": "Win32_OperatingSystem", "Filter": "BuildNumber <> '20348'"}, "", ""},
		{"like", params{"Query": "SELECT * FROM Win32_OperatingSystem WHERE Caption LIKE '%2022%'"}, "", "20348"},
		{"unknown class", params{"ClassName": "Win32_Nothing"}, "HRESULT 0x80041010", ""},
		{"broken filter", params{"ClassName": "Win32_OperatingSystem", "Filter": "BuildNumber ="}, "HRESULT 0x80041017", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := b.on("host", "Get-CimInstance", tt.p)
			id := ""
			if len(out.Errors) > 0 {
				id, _, _ = strings.Cut(out.Errors[0].ID, ",")
			}
			if id != tt.id || names(out.Objects, "BuildNumber") != tt.want {
				t.Errorf("error %q, found %q", id, names(out.Objects, "BuildNumber"))
			}
		})
	}
	if got := names(b.must("guest:vm1", "Get-CimInstance", params{"ClassName": "Win32_ComputerSystem"}), "Model"); got != "Virtual Machine" {
		t.Errorf("a guest is a %s", got)
	}
}

func TestGetService(t *testing.T) {
	b := newBench(t, "intel-e810", nil)
	if got := names(b.run("Get-Service", params{"Name": list("VMMS", "w*rm")}), "Status"); got != "Running, Running" {
		t.Errorf("status %s", got)
	}
	if e := b.fails("Get-Service", params{"Name": list("nothing")}); !strings.HasPrefix(e.ID, "NoServiceFoundForGivenName,") {
		t.Errorf("error %s", e.ID)
	}
	if out := b.on("guest:vm1", "Get-Service", params{"Name": list("vmms")}); len(out.Errors) != 1 {
		t.Error("a guest has vmms")
	}
}

func TestWildcards(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"[a-c]x", "Bx", true}, {"[a-c]x", "dx", false}, {"a`*", "a*", true},
		{"a`*", "ab", false}, {"[x", "[x", false}, {"*/b", "a/b", true}, {"ünï*", "ÜNÏcode", true}, {"", "", true}, {"", "a", false},
	} {
		if got := wildcardMatch(tt.pattern, tt.text); got != tt.want {
			t.Errorf("%q against %q: %t", tt.pattern, tt.text, got)
		}
	}
}

func TestRestartComputerLoadsWhatWaitedForARestart(t *testing.T) { // procedures.md A4
	b := newBench(t, "mellanox-cx3pro", func(s *Scenario) { s.Unknowns.GuestRdmaRegistryNeeds = "host_reboot" })
	b.run("Set-ItemProperty", params{"Path": list(`HKLM:\` + guestRdmaKey), "Name": guestRdmaValue, "Value": int64(1), "Type": cmdlet.Enum{Name: "DWord"}})
	b.run("Set-NetAdapterAdvancedProperty", params{"Name": list("MyRDMANIC"), "RegistryKeyword": list("*VMQ"), "RegistryValue": list("0"), "NoRestart": true})
	before, _ := b.run("Get-CimInstance", params{"ClassName": "Win32_OperatingSystem"})[0].Get("LastBootUpTime")
	b.run("Restart-Computer", params{"Force": true})
	d, port := b.port("MyRDMANIC")
	if !d.GuestRdmaRunning || !port.runs("*VMQ", "0") {
		t.Errorf("EnableGuestRdma %t, *VMQ %s", d.GuestRdmaRunning, port.keyword("*VMQ").Running)
	}
	after, _ := b.run("Get-CimInstance", params{"ClassName": "Win32_OperatingSystem"})[0].Get("LastBootUpTime")
	if !after.(time.Time).After(before.(time.Time)) {
		t.Error("the boot time stands still")
	}
	if len(b.events("host_restart")) != 1 || len(b.events("session_drop")) != 1 || len(b.events("vm_start")) != 2 {
		t.Errorf("events %v", b.Journal())
	}
}

func TestStartSleepLetsOthersIn(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	began := time.Now()
	b.run("Start-Sleep", params{"Milliseconds": int64(30)})
	if time.Since(began) < 30*time.Millisecond {
		t.Error("it did not wait")
	}
}

// An adapter reads the setting when it starts (procedures.md B14), also one that appears later.
func TestFact68RoutingNeedsAStart(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	_, port := b.port("iWARP 1")
	guest := b.machine("vm1").Guest
	allow := params{"NetworkDirectAcrossIPSubnets": cmdlet.Enum{Name: "Allowed", Number: 1}}
	for _, tt := range []struct {
		name, target, cmdlet string
		p                    params
		host, guest          bool
	}{
		{"at first", "host", "Get-NetAdapter", params{}, false, false},
		{"set on the host", "host", "Set-NetOffloadGlobalSetting", allow, false, false},
		{"set in the guest", "guest:vm1", "Set-NetOffloadGlobalSetting", allow, false, false},
		{"the host's adapter starts", "host", "Restart-NetAdapter", params{"Name": list("iWARP 1")}, true, false},
		{"the guest's adapter starts", "guest:vm1", "Restart-NetAdapter", params{"Name": list("Ethernet")}, true, true},
		{"taken back", "host", "Set-NetOffloadGlobalSetting", params{"NetworkDirectAcrossIPSubnets": cmdlet.Enum{Name: "Blocked"}}, true, true},
		{"the host starts", "host", "Restart-Computer", params{"Force": true}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.must(tt.target, tt.cmdlet, tt.p)
			if port.RoutesRdma != tt.host || guest.Adapters[0].RoutesRdma != tt.guest {
				t.Errorf("routes: port %v, guest's adapter %v; want %v, %v", port.RoutesRdma, guest.Adapters[0].RoutesRdma, tt.host, tt.guest)
			}
		})
	}
}
