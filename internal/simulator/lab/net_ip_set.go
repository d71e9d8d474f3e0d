package lab

import (
	"strconv"
	"strings"
)

func registerNetIPChanges(r registry) {
	r.both("New-NetIPAddress", newNetIPAddress)
	r.both("New-NetRoute", newNetRoute)
	r.both("Set-NetIPInterface", setNetIPInterface)
	r.both("Set-DnsClientServerAddress", setDNSClientServerAddress)
}

const automaticPrefix = "169.254."

// automatic says that the adapter gave itself an address because it found none.
func (c IPConfig) automatic() bool {
	return len(c.Addresses) == 1 && strings.HasPrefix(c.Addresses[0].Address, automaticPrefix)
}

// takenOver is what the first host vNIC of a switch gets of its port's IP configuration (facts.md 28, 29).
func (c *call) takenOver(ip IPConfig) IPConfig {
	switch {
	case len(ip.Addresses) == 0 || ip.Dhcp:
	case c.unknowns.HostIPOnNewSwitch == "lose_dns":
		ip.DNS = nil
	case c.unknowns.HostIPOnNewSwitch == "lose":
		c.serial++
		return IPConfig{Dhcp: true, Addresses: []IPAddress{{Address: automaticPrefix + "7." + strconv.Itoa(int(c.serial%254)+1), Prefix: 16}}}
	}
	return ip
}

// byInterface finds the adapters of TCP/IP that InterfaceIndex or InterfaceAlias name.
func (c *call) byInterface(class string) []*netAdapter {
	indexes, aliases := c.strs("InterfaceIndex"), c.strs("InterfaceAlias")
	var found []*netAdapter
	for _, a := range c.tcpipAdapters() {
		if matchesExactly(indexes, strconv.Itoa(a.index())) || len(aliases) > 0 && matchesAny(aliases, a.name()) {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		property, value := "InterfaceIndex", strings.Join(indexes, ", ")
		if len(aliases) > 0 {
			property, value = "InterfaceAlias", strings.Join(aliases, ", ")
		}
		c.fail(c.cimNotFound(class, property, value))
	}
	return found
}

// newNetIPAddress gives an adapter a static address, and the default gateway that comes with it.
func newNetIPAddress(c *call) {
	const class = "MSFT_NetIPAddress"
	for _, a := range c.byInterface(class) {
		address, prefix := c.str("IPAddress"), c.integer("PrefixLength")
		if prefix == 0 {
			prefix = 32
		}
		if a.ip().has(address) {
			c.fail(c.cimSystemError(5010, class, "The object already exists."))
			return
		}
		kept := []IPAddress{}
		for _, x := range a.ip().Addresses {
			if !strings.HasPrefix(x.Address, automaticPrefix) { // a static address ends the automatic one
				kept = append(kept, x)
			}
		}
		a.ip().Addresses, a.ip().Dhcp = append(kept, IPAddress{Address: address, Prefix: prefix}), false
		if gateway := c.str("DefaultGateway"); gateway != "" {
			a.ip().Gateway = gateway
		}
		c.event("ip_address", a.name(), "New-NetIPAddress "+address)
	}
}

// newNetRoute knows the default route: the others follow from the addresses.
func newNetRoute(c *call) {
	const class = "MSFT_NetRoute"
	for _, a := range c.byInterface(class) {
		if destination := c.str("DestinationPrefix"); destination != "0.0.0.0/0" && destination != "::/0" {
			c.fail(c.cimSystemError(87, class, "The lab knows default routes only."))
			return
		}
		if a.ip().Gateway == c.str("NextHop") {
			c.fail(c.cimSystemError(87, class, "Instance MSFT_NetRoute already exists"))
			return
		}
		a.ip().Gateway = c.str("NextHop")
	}
}

func setNetIPInterface(c *call) {
	adapters := c.byInterface("MSFT_NetIPInterface")
	for _, o := range c.objects("InputObject") {
		index, _ := o.Get("InterfaceIndex")
		for _, a := range c.tcpipAdapters() {
			if text(index) == strconv.Itoa(a.index()) {
				adapters = append(adapters, a)
			}
		}
	}
	for _, a := range adapters {
		if c.has("Dhcp") {
			a.ip().Dhcp = c.enum("Dhcp") == "Enabled"
		}
	}
}

func setDNSClientServerAddress(c *call) {
	for _, a := range c.byInterface("MSFT_DNSClientServerAddress") {
		var servers []string
		if !c.boolean("ResetServerAddresses") {
			servers = c.strs("ServerAddresses")
		}
		v6 := len(servers) > 0 && strings.Contains(servers[0], ":")
		for _, s := range a.ip().DNS { // the servers of the other family stay
			if len(servers) > 0 && strings.Contains(s, ":") != v6 {
				servers = append(servers, s)
			}
		}
		a.ip().DNS = servers
		c.event("dns_servers", a.name(), strings.Join(servers, " "))
	}
}
