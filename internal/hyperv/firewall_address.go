package hyperv

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
)

// anyAddress is every address, and every profile.
const anyAddress = "Any"

// addressWords are the names that stand for addresses in a firewall rule.
func addressWords() []string {
	return []string{anyAddress, "LocalSubnet", "LocalSubnet4", "LocalSubnet6", "DNS", "DHCP", "WINS", "DefaultGateway", "Internet", "Intranet"}
}

// ValidRemoteAddress says whether a text is an address, a subnet (by prefix or mask), a range, or one of the names.
func ValidRemoteAddress(text string) bool {
	_, ok := addressRange(text)
	return ok
}

// SameAddresses says whether two lists mean the same addresses: Windows may give a subnet back in another form.
func SameAddresses(a, b []string) bool { return slices.Equal(addressRanges(a), addressRanges(b)) }

func addressRanges(list []string) []string {
	var out []string
	for _, x := range list {
		r, ok := addressRange(x)
		if !ok {
			r = strings.ToLower(x)
		}
		out = append(out, r)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addressRange is the first and the last address that a text means.
func addressRange(text string) (string, bool) {
	for _, word := range addressWords() {
		if strings.EqualFold(text, word) {
			return word, true
		}
	}
	if from, to, ok := strings.Cut(text, "-"); ok {
		a, err1 := netip.ParseAddr(strings.TrimSpace(from))
		b, err2 := netip.ParseAddr(strings.TrimSpace(to))
		return a.String() + "-" + b.String(), err1 == nil && err2 == nil && a.Zone() == "" && b.Zone() == "" && a.BitLen() == b.BitLen() && a.Compare(b) <= 0
	}
	base, length, subnet := strings.Cut(text, "/")
	if !subnet {
		a, err := netip.ParseAddr(text)
		return a.String() + "-" + a.String(), err == nil && a.Zone() == ""
	}
	if mask, err := netip.ParseAddr(length); err == nil {
		bits, ok := maskBits(mask)
		if !ok {
			return "", false
		}
		text = base + "/" + bits
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return "", false
	}
	return p.Masked().Addr().String() + "-" + lastAddress(p).String(), true
}

// maskBits is the prefix length of an IPv4 mask, as text.
func maskBits(mask netip.Addr) (string, bool) {
	if !mask.Is4() {
		return "", false
	}
	b := mask.As4()
	n := binary.BigEndian.Uint32(b[:])
	for bits := 0; bits <= 32; bits++ {
		if n == uint32(0xFFFFFFFF)<<(32-bits) {
			return netip.PrefixFrom(netip.IPv4Unspecified(), bits).String()[len("0.0.0.0/"):], true
		}
	}
	return "", false
}

func lastAddress(p netip.Prefix) netip.Addr {
	raw := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(raw)*8; i++ {
		raw[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(raw)
	return a
}

// sameProfiles compares sets of profiles: all three are the same as any.
func sameProfiles(a, b []string) bool { return profileMask(a) == profileMask(b) }

// SameProfiles is sameProfiles for callers that keep a user's spelling.
func SameProfiles(a, b []string) bool { return sameProfiles(a, b) }

// FirewallProfiles are the profiles in the order in which Windows lists them.
func FirewallProfiles() []string { return []string{"Domain", "Private", "Public"} }

func profileMask(list []string) int {
	const all = 7
	sum := 0
	for _, x := range list {
		if strings.EqualFold(x, anyAddress) {
			return all
		}
		for i, p := range FirewallProfiles() {
			if strings.EqualFold(x, p) {
				sum |= 1 << i
			}
		}
	}
	return sum
}
