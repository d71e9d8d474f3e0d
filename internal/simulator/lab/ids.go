package lab

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/google/uuid"
)

// guid derives a GUID from names, lower case, so that a scenario has the same ids every time.
func guid(names ...string) string {
	space := uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:hypervsim:lab"))
	return uuid.NewSHA1(space, []byte(strings.Join(names, "\x00"))).String()
}

// newGUID is a GUID for something made while the lab runs.
func (l *Lab) newGUID(names ...string) string {
	l.serial++
	return guid(append(names, fmt.Sprint("#", l.serial))...)
}

// interfaceGuid is the form that net adapters print: upper case, in braces.
func interfaceGuid(names ...string) string { return "{" + strings.ToUpper(guid(names...)) + "}" }

// mac derives a MAC address with a vendor's first three bytes.
func mac(prefix string, names ...string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(names, "\x00")))
	return fmt.Sprintf("%s%06X", prefix, h.Sum32()&0xFFFFFF)
}

// vmMac is a MAC address out of Hyper-V's dynamic range.
func vmMac(names ...string) string { return mac("00155D", names...) }

// dashed is how Get-NetAdapter prints a MAC address.
func dashed(mac string) string {
	var parts []string
	for i := 0; i+1 < len(mac); i += 2 {
		parts = append(parts, mac[i:i+2])
	}
	return strings.Join(parts, "-")
}

// nextIndex is the first free interface index of a host.
func (h *Host) nextIndex() int {
	index := 2
	for _, d := range h.Devices {
		for _, port := range d.Ports {
			index = max(index, port.InterfaceIndex)
		}
	}
	for _, v := range h.HostVNics {
		index = max(index, v.InterfaceIndex)
	}
	return index + 1
}

// nextIndex is the first free interface index of a guest.
func (g *Guest) nextIndex() int {
	index := 2
	for _, a := range g.Adapters {
		index = max(index, a.InterfaceIndex)
	}
	return index + 1
}

// freeName is the name that Windows gives to the next net adapter of a guest: Ethernet, Ethernet 2, …
func (g *Guest) freeName() string {
	for n := 1; ; n++ {
		name := "Ethernet"
		if n > 1 {
			name = fmt.Sprint("Ethernet ", n)
		}
		if !g.hasAdapterNamed(name) {
			return name
		}
	}
}

func (g *Guest) hasAdapterNamed(name string) bool {
	for _, a := range g.Adapters {
		if strings.EqualFold(a.Name, name) {
			return true
		}
	}
	return false
}
