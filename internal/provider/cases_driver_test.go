package provider_test

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// driverLab has a guest that needs nothing but RDMA turned on inside.
func driverLab(t *testing.T, preset string, changes ...func(*lab.Scenario)) (*testLab, *harness) {
	t.Helper()
	l := startLab(t, preset, append([]func(*lab.Scenario){onIovSwitch}, changes...)...)
	h := l.harness("hv1")
	nic, weights := object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8}, object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}
	if preset == "mellanox-cx3pro" {
		nic = object{"net_adapter_names": list{"MyRDMANIC"}, "guest_rdma_registry": object{"value": 1}}
		delete(weights, "rdma_weight")
	}
	mustApply(t, h.resource(nicType), nic)
	mustApply(t, h.resource(rdmaType), weights)
	return l, h
}

// hostDriver and vfDriver say what drivers the host's device and the guest's virtual function have.
func hostDriver(version, provider string) func(*lab.Scenario) {
	return func(s *lab.Scenario) {
		d := &s.Hosts[0].Devices[1]
		d.DriverVersion, d.DriverVendor = version, provider
	}
}

func vfDriver(kind, version string) func(*lab.Scenario) {
	return func(s *lab.Scenario) {
		g := s.Hosts[0].VMs[0].Guest
		g.VFDriver, g.VFDriverVersion = kind, version
	}
}

// TestDriverMatch: what fits, and what becomes of what does not.
func TestDriverMatch(t *testing.T) {
	t.Parallel()
	const (
		iwarp, roce = "intel-x722", "mellanox-cx3pro"
		inbox       = "in-box drivers do no guest RDMA"
	)
	for name, x := range map[string]struct {
		preset   string
		host, vf func(*lab.Scenario)
		want     []string // of the mismatch; nil: they fit
	}{
		"intel, versions of their own":        {iwarp, hostDriver("1.18.303.0", ""), vfDriver("vendor", "1.15.4.0"), nil},
		"mellanox, the same":                  {roce, hostDriver("5.50.53000.0", ""), vfDriver("vendor", "5.50.53000.0"), nil},
		"mellanox, Windows' own in the guest": {roce, hostDriver("5.50.53000.0", ""), vfDriver("inbox", ""), nil},
		"mellanox, another version": {roce, hostDriver("5.50.53000.0", ""), vfDriver("vendor", "5.40.1.0"),
			[]string{"same driver version", "facts.md 99", "Version 5.50.53000.0]", "Version 5.40.1.0]", "mellanox_cx3pro"}},
		"mellanox, Windows' own on the host": {roce, hostDriver("", "Microsoft"), vfDriver("vendor", ""), []string{"host's net adapter runs Windows' own driver", inbox, "by Microsoft"}},
		"intel, Windows' own on the host":    {iwarp, hostDriver("", "Microsoft"), vfDriver("vendor", ""), []string{"host's net adapter runs Windows' own driver", inbox, "by Microsoft"}},
		"another vendor's":                   {iwarp, hostDriver("", "Example"), vfDriver("vendor", ""), []string{"different providers", "by Example", "by Intel"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, h := driverLab(t, x.preset, x.host, x.vf)
			strict := guestConfig(object{"driver_match": "strict"})
			g := h.resource(guestType)
			if x.want == nil {
				for _, config := range []object{strict, guestConfig(nil)} {
					if d := mustApply(t, g, config); strings.Contains(d.String(), "do not fit") {
						t.Errorf("drivers that fit are warned of: %s", d)
					}
					g.settled(config)
				}
				return
			}
			before := settledState(l)
			mustFail(t, g, strict, append(x.want, "driver_match = strict", "do not fit")...)
			if after := settledState(l); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
			warned := guestConfig(nil)
			says(t, mustApply(t, g, warned).warnings().String(), append(x.want, "do not fit")...)
			g.settled(warned)
			mustFail(t, g, strict, append(x.want, "driver_match = strict")...)
			off := guestConfig(object{"driver_match": "off"})
			if d := mustApply(t, g, off); strings.Contains(d.String(), "do not fit") {
				t.Errorf("driver_match = off says %s", d)
			}
			g.settled(off)
		})
	}
}

// Case 26: Windows' own driver in the guest, of a vendor whose own is needed: said whatever comes, and RDMA stays off.
func TestCase26InboxDriver(t *testing.T) {
	t.Parallel()
	_, h := driverLab(t, "intel-x722", vfDriver("inbox", ""))
	g := h.resource(guestType)
	mustFail(t, g, guestConfig(object{"driver_match": "strict"}), "virtual function runs Windows' own driver", "facts.md 6", "by Microsoft", "Install the vendor's driver")
	warned := guestConfig(object{"verification": "warn"})
	says(t, mustApply(t, g, warned).warnings().String(), "virtual function runs Windows' own driver", "does not work yet")
	if got := actual(g, "smb_rdma_capable"); got != false {
		t.Errorf("smb_rdma_capable %v", got)
	}
	mustApply(t, g, nil)
	_, fixed := driverLab(t, "intel-x722", vfDriver("vendor", ""))
	guestWorks(t, fixed)
}

// Case 27: host and guest have drivers of different versions.
func TestCase27DriverMismatch(t *testing.T) {
	t.Parallel()
	_, h := driverLab(t, "mellanox-cx3pro", hostDriver("24.4.26429.0", ""), vfDriver("vendor", "23.10.26252.0"))
	strict := guestConfig(object{"driver_match": "strict"})
	mustFail(t, h.resource(guestType), strict, "Version 24.4.26429.0]", "Version 23.10.26252.0]", "[Driver Date", "facts.md 99")
	_, fixed := driverLab(t, "mellanox-cx3pro", hostDriver("24.4.26429.0", ""), vfDriver("vendor", "24.4.26429.0"))
	g := fixed.resource(guestType)
	mustApply(t, g, strict)
	g.settled(strict)
}
