package lab

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerNetIP(r registry) {
	r.both("Get-NetIPAddress", getNetIPAddress)
	r.both("Get-NetIPInterface", getNetIPInterface)
	r.both("Get-NetRoute", getNetRoute)
	r.both("Get-DnsClientServerAddress", getDnsClientServerAddress)
}

// tcpipAdapters are the adapters that TCP/IP is bound to: not ports under a switch, not VFs (facts.md 27, 63).
func (c *call) tcpipAdapters() []*netAdapter {
	var all []*netAdapter
	for _, a := range c.netAdapters(false) {
		if a.enabled() && !c.boundToSwitch(a) {
			all = append(all, a)
		}
	}
	return all
}

// linkLocal is the address that every adapter has, by its MAC address.
func linkLocal(mac string) string {
	b, err := strconv.ParseUint(mac, 16, 64)
	if err != nil {
		return "fe80::1"
	}
	return fmt.Sprintf("fe80::%x:%xff:fe%02x:%x", b>>32&0xffff^0x0200, b>>24&0xff, b>>16&0xff, b&0xffff)
}

func family(v6 bool) cmdlet.Enum {
	if v6 {
		return cdxmlEnum("NetTCPIP", "AddressFamily", "IPv6", 23)
	}
	return cdxmlEnum("NetTCPIP", "AddressFamily", "IPv4", 2)
}

func enabledDisabled(enum string, on bool) cmdlet.Enum {
	if on {
		return cdxmlEnum("NetTCPIP", enum, "Enabled", 1)
	}
	return cdxmlEnum("NetTCPIP", enum, "Disabled", 0)
}

func getNetIPAddress(c *call) {
	const class = "MSFT_NetIPAddress"
	var rows []*cmdlet.Object
	add := func(index int, alias, address string, prefix int, origin string, number int64, state string) {
		v6 := strings.Contains(address, ":")
		states := map[string]int64{"Preferred": 4, "Tentative": 1}
		v4, six := any(address), any(nil)
		if v6 {
			v4, six = nil, address
		}
		rows = append(rows, standardCim(class, "ip:"+address, address,
			prop("IPAddress", address), prop("InterfaceIndex", u32(index)), prop("InterfaceAlias", alias), prop("AddressFamily", family(v6)),
			prop("Type", cdxmlEnum("NetTCPIP", "Type", "Unicast", 1)), prop("PrefixLength", u8(prefix)), prop("PrefixOrigin", cdxmlEnum("NetTCPIP", "PrefixOrigin", origin, number)),
			prop("SuffixOrigin", cdxmlEnum("NetTCPIP", "SuffixOrigin", map[bool]string{true: "Link", false: origin}[v6], map[bool]int64{true: 4, false: number}[v6])),
			prop("AddressState", cdxmlEnum("NetTCPIP", "AddressState", state, states[state])), prop("SkipAsSource", false), prop("IPv4Address", v4), prop("IPv6Address", six),
			prop("PolicyStore", "ActiveStore"), prop("Store", cdxmlEnum("NetTCPIP", "Store", "ActiveStore", 1))))
	}
	for _, a := range c.tcpipAdapters() {
		state := "Preferred"
		if !c.linked(a) {
			state = "Tentative"
		}
		add(a.index(), a.name(), linkLocal(a.mac())+"%"+strconv.Itoa(a.index()), 64, "WellKnown", 2, state)
		for _, ip := range a.ip().Addresses {
			origin, number := "Manual", int64(1)
			if a.ip().Dhcp {
				origin, number = "Dhcp", 3
			}
			add(a.index(), a.name(), ip.Address, ip.Prefix, origin, number, state)
		}
	}
	add(1, loopback, "::1", 128, "WellKnown", 2, "Preferred")
	add(1, loopback, "127.0.0.1", 8, "WellKnown", 2, "Preferred")
	c.emitAll(c.query(class, rows, filter{"IPAddress", "IPAddress"}, filter{"InterfaceIndex", "InterfaceIndex"}, filter{"InterfaceAlias", "InterfaceAlias"},
		filter{"AddressFamily", "AddressFamily"}, filter{"PrefixOrigin", "PrefixOrigin"}, filter{"AddressState", "AddressState"}, filter{"Type", "Type"}))
}

const loopback = "Loopback Pseudo-Interface 1"

func getNetIPInterface(c *call) {
	const class = "MSFT_NetIPInterface"
	var rows []*cmdlet.Object
	add := func(index int, alias string, v6, dhcp, connected bool, mtu int) {
		connection, number := "Connected", int64(1)
		if !connected {
			connection, number = "Disconnected", 0
		}
		rows = append(rows, standardCim(class, fmt.Sprintf("ipinterface:%d/%t", index, v6), alias,
			prop("InterfaceIndex", u32(index)), prop("InterfaceAlias", alias), prop("AddressFamily", family(v6)), prop("NlMtu", u32(mtu)), prop("InterfaceMetric", u32(25)),
			prop("AutomaticMetric", enabledDisabled("AutomaticMetric", true)), prop("Dhcp", enabledDisabled("Dhcp", dhcp)),
			prop("ConnectionState", cdxmlEnum("NetTCPIP", "ConnectionState", connection, number)), prop("Forwarding", enabledDisabled("Forwarding", false)),
			prop("WeakHostSend", enabledDisabled("WeakHostSend", false)), prop("WeakHostReceive", enabledDisabled("WeakHostReceive", false)),
			prop("PolicyStore", "ActiveStore"), prop("CompartmentId", u32(1))))
	}
	for _, a := range c.tcpipAdapters() {
		add(a.index(), a.name(), true, false, c.linked(a), 1500)
		add(a.index(), a.name(), false, a.ip().Dhcp || len(a.ip().Addresses) == 0, c.linked(a), 1500)
	}
	add(1, loopback, true, false, true, 4294967295)
	add(1, loopback, false, false, true, 4294967295)
	c.emitAll(c.query(class, rows, filter{"InterfaceIndex", "InterfaceIndex"}, filter{"InterfaceAlias", "InterfaceAlias"}, filter{"AddressFamily", "AddressFamily"},
		filter{"Dhcp", "Dhcp"}, filter{"ConnectionState", "ConnectionState"}))
}

func getNetRoute(c *call) {
	const class = "MSFT_NetRoute"
	var rows []*cmdlet.Object
	add := func(a *netAdapter, destination, next string, metric int, protocol string, number int64) {
		rows = append(rows, standardCim(class, "route:"+destination+"/"+strconv.Itoa(a.index()), destination,
			prop("DestinationPrefix", destination), prop("NextHop", next), prop("InterfaceIndex", u32(a.index())), prop("ifIndex", u32(a.index())),
			prop("InterfaceAlias", a.name()), prop("AddressFamily", family(strings.Contains(destination, ":"))), prop("RouteMetric", u16(metric)),
			prop("InterfaceMetric", u32(25)), prop("Protocol", cdxmlEnum("NetTCPIP", "Protocol", protocol, number)),
			prop("Publish", cdxmlEnum("NetTCPIP", "Publish", "No", 0)), prop("State", cdxmlEnum("NetTCPIP", "State", "Alive", 1)), prop("Store", "ActiveStore")))
	}
	for _, a := range c.tcpipAdapters() {
		if !c.linked(a) {
			continue
		}
		if a.ip().Gateway != "" {
			add(a, "0.0.0.0/0", a.ip().Gateway, 256, "NetMgmt", 3)
		}
		for _, ip := range a.ip().Addresses {
			prefix, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", ip.Address, ip.Prefix))
			if err == nil {
				add(a, prefix.Masked().String(), "0.0.0.0", 256, "Local", 2)
				add(a, prefix.Addr().String()+"/"+strconv.Itoa(prefix.Addr().BitLen()), "0.0.0.0", 256, "Local", 2)
			}
		}
		add(a, "fe80::/64", "::", 256, "Local", 2)
	}
	c.emitAll(c.query(class, rows, filter{"DestinationPrefix", "DestinationPrefix"}, filter{"InterfaceIndex", "InterfaceIndex"}, filter{"InterfaceAlias", "InterfaceAlias"},
		filter{"NextHop", "NextHop"}, filter{"AddressFamily", "AddressFamily"}, filter{"Protocol", "Protocol"}))
}

func getDnsClientServerAddress(c *call) {
	const class = "MSFT_DNSClientServerAddress"
	var rows []*cmdlet.Object
	add := func(index int, alias string, v6 bool, servers []string) {
		rows = append(rows, standardCim(class, fmt.Sprintf("dns:%d/%t", index, v6), alias, prop("InterfaceIndex", u32(index)), prop("InterfaceAlias", alias),
			prop("AddressFamily", u16(map[bool]int{true: 23, false: 2}[v6])), prop("ServerAddresses", list(servers...)), prop("Address", list(servers...))))
	}
	for _, a := range c.tcpipAdapters() {
		var v4, v6 []string
		for _, s := range a.ip().DNS {
			if strings.Contains(s, ":") {
				v6 = append(v6, s)
			} else {
				v4 = append(v4, s)
			}
		}
		add(a.index(), a.name(), false, v4)
		add(a.index(), a.name(), true, v6)
	}
	add(1, loopback, false, nil)
	add(1, loopback, true, nil)
	wanted := c.strs("AddressFamily")
	var kept []*cmdlet.Object
	for _, row := range rows {
		v, _ := row.Get("AddressFamily")
		name := map[string]string{"2": "IPv4", "23": "IPv6"}[text(v)]
		if len(wanted) == 0 || matchesExactly(wanted, name) {
			kept = append(kept, row)
		}
	}
	c.emitAll(c.query(class, kept, filter{"InterfaceIndex", "InterfaceIndex"}, filter{"InterfaceAlias", "InterfaceAlias"}))
}
