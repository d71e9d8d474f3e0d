package hyperv

import (
	"strings"
	"testing"
)

// network is a host with a port (index 1), a host vNIC on a switch with it (2), and another port (3).
func network(change func(*Inventory)) *Inventory {
	inv := &Inventory{
		NetAdapters: []NetAdapter{{Name: "P", InterfaceGuid: "{AA}", InterfaceIndex: 1}, {Name: "vEthernet (S)", InterfaceGuid: "{BB}", InterfaceIndex: 2, Virtual: true}, {Name: "Q", InterfaceGuid: "{CC}", InterfaceIndex: 3}},
		Switches:    []VMSwitch{{ID: "s", Name: "S", NetAdapterInterfaceGuid: []string{"{AA}"}}},
		Management:  []ManagementAdapter{{Name: "S", DeviceID: "{bb}", SwitchID: "S"}},
		Network: &hostNetwork{
			Addresses: []IPAddress{{"192.0.2.11", 2, 24, "Manual"}, {"2001:db8::5", 2, 64, "RouterAdvertisement"}, {"fe80::1%2", 2, 64, "WellKnown"}, {"198.51.100.1", 3, 24, "Dhcp"}},
			Defaults:  []IPRoute{{"0.0.0.0/0", "192.0.2.1", 2}, {"::/0", "fe80::99", 2}},
			DNS:       []DNSServers{{2, []string{"192.0.2.53"}}, {2, []string{"fec0:0:0:ffff::1"}}, {3, []string{"198.51.100.53"}}},
		},
	}
	if change != nil {
		change(inv)
	}
	return inv
}

func TestManagementPath(t *testing.T) {
	port, other := NetAdapter{InterfaceGuid: "{aa}"}, NetAdapter{InterfaceGuid: "{CC}"}
	for name, x := range map[string]struct {
		session string
		through NetAdapter
		change  func(*Inventory)
		want    string
	}{
		"the default route, through the switch": {"lab.example", port, nil, "vEthernet (S)"},
		"another adapter":                       {"lab.example", other, nil, ""},
		"the session's address":                 {"198.51.100.1", other, nil, "Q"},
		"the session's IPv6 address":            {"2001:db8:0::5", port, func(inv *Inventory) { inv.Network.Defaults = nil }, "vEthernet (S)"},
		"the adapter itself": {"", port, func(inv *Inventory) {
			inv.Management, inv.Network.Defaults = nil, []IPRoute{{"0.0.0.0/0", "192.0.2.1", 1}}
		}, "P"},
		"no default route": {"192.0.2.99", port, func(inv *Inventory) { inv.Network.Defaults = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHost("h", nil, Options{Address: x.session})
			var got []string
			for _, c := range h.managementPath(network(x.change), []NetAdapter{x.through}) {
				got = append(got, c.adapter.Name)
			}
			if strings.Join(got, ",") != x.want {
				t.Errorf("got %v, want %q", got, x.want)
			}
		})
	}
}

func TestLostConfiguration(t *testing.T) {
	h := NewHost("h", nil, Options{})
	before := h.managementPath(network(nil), []NetAdapter{{InterfaceGuid: "{AA}"}})
	dhcp := []ipConfig{{adapter: NetAdapter{Name: "P"}, addresses: []IPAddress{{"192.0.2.77", 1, 24, "Dhcp"}}, dns: []string{"192.0.2.53"}}}
	for name, x := range map[string]struct {
		before []ipConfig
		change func(*Inventory)
		want   string
	}{
		"nothing": {before, nil, ""},
		"moved to another adapter": {before, func(inv *Inventory) {
			inv.Network.Addresses[0].InterfaceIndex, inv.Network.Defaults[0].InterfaceIndex, inv.Network.DNS[0].InterfaceIndex = 1, 1, 1
		}, ""},
		"what a router announces": {before, func(inv *Inventory) {
			inv.Network.Addresses, inv.Network.Defaults, inv.Network.DNS = inv.Network.Addresses[:1], inv.Network.Defaults[:1], inv.Network.DNS[:1]
		}, ""},
		"DNS": {before, func(inv *Inventory) { inv.Network.DNS = nil }, "the DNS server 192.0.2.53"},
		"all": {before, func(inv *Inventory) {
			inv.Network = &hostNetwork{Addresses: []IPAddress{{"169.254.1.1", 2, 16, "WellKnown"}}}
		},
			"the IP address 192.0.2.11/24, the default gateway 192.0.2.1, the DNS server 192.0.2.53"},
		"another address by DHCP": {dhcp, nil, ""},
		"no address by DHCP":      {dhcp, func(inv *Inventory) { inv.Network = &hostNetwork{} }, `every IP address (net adapter "P" got its own by DHCP)`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(network(x.change).lost(x.before), ", "); got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}
