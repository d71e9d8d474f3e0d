package lab

import (
	"fmt"
	"strconv"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerSmb(r registry) {
	r.both("Get-SmbServerNetworkInterface", getSmbServerNetworkInterface)
	r.both("Get-SmbClientNetworkInterface", getSmbClientNetworkInterface)
}

// smbInterface is a row of SMB's table of interfaces. There is none for a port under a switch or a VF: SMB
// knows interfaces by their IP addresses (facts.md 63, 92).
type smbInterface struct {
	adapter   *netAdapter
	addresses []string
	rdma      bool
}

func (c *call) smbInterfaces() []smbInterface {
	var rows []smbInterface
	for _, a := range c.tcpipAdapters() {
		if !c.linked(a) {
			continue
		}
		addresses := []string{linkLocal(a.mac()) + "%" + strconv.Itoa(a.index())}
		for _, ip := range a.ip().Addresses {
			addresses = append(addresses, ip.Address)
		}
		rows = append(rows, smbInterface{a, addresses, c.smbRdma(a)})
	}
	return rows
}

// smbRdma says whether SMB calls an adapter RDMA capable. Its table follows a change after a delay (cases.md 37).
func (c *call) smbRdma(a *netAdapter) bool {
	switch {
	case a.port != nil:
		return c.hasRdma(a) && c.host.doesSmbDirect() && a.device.rdmaOn(a.port) && !c.clock().Before(a.port.StartedAt.Add(c.timing.SMBRefresh.Duration()))
	case a.vnic != nil:
		return a.vnic.RdmaEnabled && c.host.doesSmbDirect() && c.switchHasRdma(a.vnic.SwitchID)
	}
	if !doesSmbDirect(c.guest().OS) || !c.guestRdmaCapable(c.host, c.vm, a.guest) {
		return false
	}
	changed := a.guest.RdmaChangedAt
	if _, vf := c.guest().pair(a.guest.VMAdapterID); vf != nil && vf.RdmaChangedAt.After(changed) {
		changed = vf.RdmaChangedAt
	}
	return !c.clock().Before(changed.Add(c.timing.SMBRefresh.Duration()))
}

func (h *Host) doesSmbDirect() bool { return doesSmbDirect(h.OS) }

// doesSmbDirect: Windows Pro shows everything as enabled and uses no RDMA (facts.md 71). 48 is the SKU of Pro.
func doesSmbDirect(os OS) bool { return os.SKU != 48 }

// getSmbServerNetworkInterface gives a row for each address, so that an adapter appears several times (facts.md 92).
func getSmbServerNetworkInterface(c *call) {
	const class = "MSFT_SmbServerNetworkInterface"
	for _, row := range c.smbInterfaces() {
		for _, address := range row.addresses {
			c.emit(cim("ROOT/Microsoft/Windows/SMB", class, fmt.Sprintf("smbserver:%d/%s", row.adapter.index(), address), class, append(c.smbProperties(row),
				prop("IpAddress", address), prop("ScopeName", "*"))...))
		}
	}
}

func getSmbClientNetworkInterface(c *call) {
	const class = "MSFT_SmbClientNetworkInterface"
	for _, row := range c.smbInterfaces() {
		c.emit(cim("ROOT/Microsoft/Windows/SMB", class, fmt.Sprintf("smbclient:%d", row.adapter.index()), class, append(c.smbProperties(row),
			prop("IpAddresses", list(row.addresses...)))...))
	}
}

func (c *call) smbProperties(row smbInterface) []cmdlet.Property {
	return []cmdlet.Property{
		prop("InterfaceIndex", u32(row.adapter.index())), prop("FriendlyName", row.adapter.name()), prop("LinkSpeed", u64(c.linkSpeed(row.adapter))),
		prop("RdmaCapable", row.rdma), prop("RssCapable", true),
	}
}
