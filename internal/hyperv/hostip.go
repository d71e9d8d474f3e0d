package hyperv

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// IPAddress is Get-NetIPAddress.
type IPAddress struct {
	IPAddress      string `json:"IPAddress"`
	InterfaceIndex int    `json:"InterfaceIndex"`
	PrefixLength   int    `json:"PrefixLength"`
	PrefixOrigin   string `json:"PrefixOrigin"` // Manual, Dhcp, WellKnown, …
}

// IPRoute is Get-NetRoute.
type IPRoute struct {
	DestinationPrefix string `json:"DestinationPrefix"`
	NextHop           string `json:"NextHop"`
	InterfaceIndex    int    `json:"InterfaceIndex"`
}

// DNSServers is Get-DnsClientServerAddress.
type DNSServers struct {
	InterfaceIndex  int      `json:"InterfaceIndex"`
	ServerAddresses []string `json:"ServerAddresses"`
}

// hostNetwork is the host's own IP configuration.
type hostNetwork struct {
	Addresses []IPAddress
	Defaults  []IPRoute // default routes
	DNS       []DNSServers
}

// partHostNetwork reads the host's own IP configuration.
func partHostNetwork(b *batch) func(*Inventory) error {
	none := absent()
	addresses := find[IPAddress](b, wire.Call{Cmdlet: "Get-NetIPAddress"}, none)
	defaults := find[IPRoute](b, wire.Call{Cmdlet: "Get-NetRoute", Where: []wire.Condition{{Property: "DestinationPrefix", Equals: []string{"0.0.0.0/0", "::/0"}}}}, none)
	dns := find[DNSServers](b, wire.Call{Cmdlet: "Get-DnsClientServerAddress"}, none)
	return func(inv *Inventory) error {
		inv.Network = &hostNetwork{Addresses: addresses.Items, Defaults: defaults.Items, DNS: dns.Items}
		return nil
	}
}

// partPath is what it takes to know which net adapters carry the way to the host.
func partPath(b *batch) func(*Inventory) error {
	os := find[OSInfo](b, wire.Call{Cmdlet: "Get-CimInstance", Parameters: map[string]any{"ClassName": "Win32_OperatingSystem"}})
	nics := find[NetAdapter](b, wire.Call{Cmdlet: "Get-NetAdapter"})
	switches, network := partSwitches(b), partHostNetwork(b)
	return func(inv *Inventory) error {
		inv.OS, inv.NetAdapters = one(os.Items), nics.Items
		if err := switches(inv); err != nil {
			return err
		}
		return network(inv)
	}
}

// ipConfig is what an interface of the host is configured with.
type ipConfig struct {
	adapter   NetAdapter
	addresses []IPAddress
	gateways  []string
	dns       []string
}

// static are the addresses that were given by hand: only with one of them is there something to put back. What
// DHCP or a router gave comes from there again.
func (c ipConfig) static() []IPAddress {
	var out []IPAddress
	for _, a := range c.addresses {
		if a.PrefixOrigin == "Manual" {
			out = append(out, a)
		}
	}
	return out
}

// home finds the interface again. A host vNIC that was made anew has another GUID, but its name.
func (c ipConfig) home() wire.Condition {
	if c.adapter.Virtual {
		return wire.Condition{Property: "Name", Equals: []string{c.adapter.Name}}
	}
	return adapterWithGUID(c.adapter.InterfaceGuid)
}

// managementPath gives the configuration of each interface that carries the way to the host and goes through
// one of the net adapters: it holds the default route, or the address that the session was opened to
// (facts.md 28, 73). It is reached through a net adapter itself, or through the switch of its host vNIC.
func (h *Host) managementPath(inv *Inventory, through []NetAdapter) []ipConfig {
	var out []ipConfig
	for _, nic := range inv.NetAdapters {
		if !h.carriesSession(inv, nic.InterfaceIndex) {
			continue
		}
		for _, below := range inv.adaptersBelow(nic) {
			if hasAdapter(through, below) {
				out = append(out, inv.ipConfig(nic))
				break
			}
		}
	}
	return out
}

func (h *Host) carriesSession(inv *Inventory, index int) bool {
	for _, r := range inv.Network.Defaults {
		if r.InterfaceIndex == index {
			return true
		}
	}
	session, err := netip.ParseAddr(h.opts.Address)
	if err != nil {
		return false
	}
	for _, a := range inv.Network.Addresses {
		if have, err := netip.ParseAddr(a.IPAddress); err == nil && a.InterfaceIndex == index && have.WithZone("") == session.WithZone("") {
			return true
		}
	}
	return false
}

// adaptersBelow are the InterfaceGuids of the net adapters that an interface uses: its own, or those of the
// switch that its host vNIC is connected to.
func (inv *Inventory) adaptersBelow(nic NetAdapter) []string {
	for _, m := range inv.Management {
		if !sameGUID(m.DeviceID, nic.InterfaceGuid) {
			continue
		}
		for _, s := range inv.Switches {
			if sameGUID(s.ID, m.SwitchID) {
				return s.NetAdapterInterfaceGuid
			}
		}
	}
	return []string{nic.InterfaceGuid}
}

func hasAdapter(list []NetAdapter, guid string) bool {
	for _, nic := range list {
		if sameGUID(nic.InterfaceGuid, guid) {
			return true
		}
	}
	return false
}

// siteLocalDNS begins the servers that Windows shows where there is none for IPv6.
const siteLocalDNS = "fec0:0:0:ffff::"

func (inv *Inventory) ipConfig(nic NetAdapter) ipConfig {
	c := ipConfig{adapter: nic}
	for _, a := range inv.Network.Addresses {
		if ip, err := netip.ParseAddr(a.IPAddress); err == nil && a.InterfaceIndex == nic.InterfaceIndex && !ip.IsLinkLocalUnicast() {
			c.addresses = append(c.addresses, a)
		}
	}
	for _, r := range inv.Network.Defaults {
		if ip, err := netip.ParseAddr(r.NextHop); err == nil && r.InterfaceIndex == nic.InterfaceIndex && !ip.IsLinkLocalUnicast() { // those are announced
			c.gateways = append(c.gateways, r.NextHop)
		}
	}
	for _, d := range inv.Network.DNS {
		for _, server := range d.ServerAddresses {
			if d.InterfaceIndex == nic.InterfaceIndex && !strings.HasPrefix(strings.ToLower(server), siteLocalDNS) {
				c.dns = append(c.dns, server)
			}
		}
	}
	return c
}

// lost says what of the configurations the host has no more, on whatever interface. Addresses of DHCP may
// change, but not go.
func (inv *Inventory) lost(before []ipConfig) []string {
	all := ipConfig{}
	for _, nic := range inv.NetAdapters {
		c := inv.ipConfig(nic)
		all.addresses = append(all.addresses, c.addresses...)
		all.gateways = append(all.gateways, c.gateways...)
		all.dns = append(all.dns, c.dns...)
	}
	have := map[string]bool{}
	for _, a := range all.addresses {
		have[a.IPAddress] = true
	}
	var out []string
	for _, c := range before {
		if len(c.static()) == 0 {
			if len(c.addresses) > 0 && len(all.addresses) == 0 {
				out = append(out, fmt.Sprintf("every IP address (net adapter %q got its own by DHCP)", c.adapter.Name))
			}
			continue
		}
		for _, a := range c.static() {
			if !have[a.IPAddress] {
				out = append(out, fmt.Sprintf("the IP address %s/%d", a.IPAddress, a.PrefixLength))
			}
		}
		for _, g := range c.gateways {
			if !contains(all.gateways, g) {
				out = append(out, "the default gateway "+g)
			}
		}
		for _, s := range c.dns {
			if !contains(all.dns, s) {
				out = append(out, "the DNS server "+s)
			}
		}
	}
	return out
}

// restoreIP adds calls that give an adapter, found by a condition, the static configuration. Each may find its
// part there already, which is an error record and no harm.
func (b *batch) restoreIP(c ipConfig, save string, where wire.Condition) {
	addresses := c.static()
	if len(addresses) == 0 {
		return
	}
	find[named](b, wire.Call{Cmdlet: "Get-NetAdapter", Save: save, Where: []wire.Condition{where}}, tolerating(anyError))
	index := wire.FirstProperty(save, "InterfaceIndex")
	set := func(name string, parameters map[string]any) {
		parameters["InterfaceIndex"], parameters["Confirm"] = index, false
		b.change(wire.Call{Cmdlet: name, Parameters: parameters, Select: []wire.Field{{Name: "InterfaceIndex"}}}, tolerating(anyError))
	}
	set("Set-NetIPInterface", map[string]any{"Dhcp": "Disabled"})
	for _, a := range addresses {
		set("New-NetIPAddress", map[string]any{"IPAddress": a.IPAddress, "PrefixLength": a.PrefixLength})
	}
	for _, g := range c.gateways {
		destination := "0.0.0.0/0"
		if strings.Contains(g, ":") {
			destination = "::/0"
		}
		set("New-NetRoute", map[string]any{"DestinationPrefix": destination, "NextHop": g})
	}
	if len(c.dns) > 0 {
		set("Set-DnsClientServerAddress", map[string]any{"ServerAddresses": c.dns})
	}
}

// hostVNicName is the name of the net adapter of a host vNIC (facts.md 88).
func hostVNicName(name string) wire.Condition {
	return wire.Condition{Property: "Name", Equals: []string{"vEthernet (" + name + ")"}}
}

func adapterWithGUID(guid string) wire.Condition {
	return wire.Condition{Property: "InterfaceGuid", Equals: []string{guid}}
}
