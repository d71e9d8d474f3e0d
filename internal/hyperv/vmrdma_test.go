package hyperv

import (
	"fmt"
	"strings"
	"testing"
)

func printSteps(steps []rdmaStep) string {
	var out []string
	for _, s := range steps {
		if s.rdmaWeight != nil {
			out = append(out, fmt.Sprintf("rdma=%d", *s.rdmaWeight))
			continue
		}
		var parts []string
		for _, k := range sorted(s.set) {
			parts = append(parts, fmt.Sprintf("%s=%v", k, s.set[k]))
		}
		out = append(out, strings.Join(parts, " "))
	}
	return strings.Join(out, "; ")
}

func TestRdmaSteps(t *testing.T) {
	v := func(iov, rdma, pairs int64, moderation string) rdmaValues {
		return rdmaValues{iov, rdma, pairs, moderation}
	}
	for _, x := range []struct {
		name      string
		now, want rdmaValues
		live, off string
	}{
		{"nothing", v(100, 100, 1, "Default"), v(100, 100, 1, "default"), "", ""},
		{"up: RdmaWeight, then IovWeight", v(0, 0, 1, "Default"), v(100, 100, 1, "Default"), "rdma=100; IovWeight=100", "rdma=100; IovWeight=100"},
		{"down: IovWeight, then RdmaWeight", v(100, 100, 1, "Default"), v(0, 0, 1, "Default"), "IovWeight=0; rdma=0", "IovWeight=0; rdma=0"},
		{"IovWeight alone up", v(0, 100, 1, "Default"), v(100, 100, 1, "Default"), "IovWeight=100", "IovWeight=100"},
		{"IovWeight alone down", v(100, 100, 1, "Default"), v(0, 100, 1, "Default"), "IovWeight=0", "IovWeight=0"},
		{"RdmaWeight under a VF", v(100, 0, 1, "Default"), v(100, 100, 1, "Default"), "IovWeight=0; rdma=100; IovWeight=100", "rdma=100"},
		{"RdmaWeight to 0 under IovWeight", v(100, 100, 1, "Default"), v(100, 0, 1, "Default"), "IovWeight=0; rdma=0; IovWeight=100", "IovWeight=0; rdma=0; IovWeight=100"},
		{"queue pairs under a VF", v(100, 100, 1, "Default"), v(100, 100, 4, "Default"), "IovWeight=0; IovQueuePairsRequested=4 IovWeight=100", "IovQueuePairsRequested=4"},
		{"queue pairs without a VF", v(0, 0, 1, "Default"), v(0, 0, 4, "Default"), "IovQueuePairsRequested=4", "IovQueuePairsRequested=4"},
		{"moderation alone", v(100, 100, 1, "Default"), v(100, 100, 1, "Low"), "IovInterruptModeration=Low", "IovInterruptModeration=Low"},
		{"another IovWeight", v(100, 100, 1, "Default"), v(50, 100, 1, "Default"), "IovWeight=50", "IovWeight=50"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := printSteps(rdmaSteps(x.now, x.want, true)); got != x.live {
				t.Errorf("running: %q, want %q", got, x.live)
			}
			if got := printSteps(rdmaSteps(x.now, x.want, false)); got != x.off {
				t.Errorf("off: %q, want %q", got, x.off)
			}
		})
	}
}

// From every set of values to every other, the steps arrive, and keep the rules of facts.md 44 and 47a on the way.
func TestRdmaStepsKeepTheRules(t *testing.T) {
	var all []rdmaValues
	for _, iov := range []int64{0, 50, 100} {
		for _, rdma := range []int64{0, 50, 100} {
			for _, pairs := range []int64{1, 4} {
				for _, moderation := range []string{"Default", "Low"} {
					all = append(all, rdmaValues{iov, rdma, pairs, moderation})
				}
			}
		}
	}
	for _, now := range all {
		for _, want := range all {
			for _, live := range []bool{true, false} {
				at := now
				for _, s := range rdmaSteps(now, want, live) {
					if s.rdmaWeight != nil {
						if at.iov > 0 && (live || *s.rdmaWeight == 0) {
							t.Errorf("%v to %v, live %v: RdmaWeight %d to %d while IovWeight is %d", now, want, live, at.rdma, *s.rdmaWeight, at.iov)
						}
						at.rdma = *s.rdmaWeight
						continue
					}
					if live && at.iov > 0 && s.set[settingQueuePairs] != nil {
						t.Errorf("%v to %v: queue pairs change under a virtual function", now, want)
					}
					for _, k := range sorted(s.set) {
						at.put(k, fmt.Sprint(s.set[k]))
					}
				}
				if at != want {
					t.Errorf("%v to %v, live %v: arrives at %v", now, want, live, at)
				}
			}
		}
	}
}

func TestGuestStages(t *testing.T) {
	on := func(listed, enabled bool) *GuestAdapter {
		return &GuestAdapter{RdmaListed: listed, RdmaEnabled: enabled}
	}
	host := func(iov, usage int64, path bool) *VMAdapter {
		return &VMAdapter{VMNetworkAdapter: VMNetworkAdapter{IovWeight: iov, IovUsage: usage, VFDataPathActive: path}}
	}
	capable := on(true, true)
	capable.SMBCapable = true
	keyword := on(true, true)
	keyword.Keyword = "RdmaVfEnabled"
	for _, x := range []struct {
		name             string
		g                GuestRdma
		reached, missing string
		enabled          bool
	}{
		{"no weight", GuestRdma{Adapter: host(0, 0, false), Synthetic: on(true, false)}, StageNone, StageRequested, false},
		{"no VF", GuestRdma{Adapter: host(100, 0, false), Synthetic: on(true, true)}, StageRequested, StageAssigned, true},
		{"no driver", GuestRdma{Adapter: host(100, 1, false)}, StageAssigned, StageDriver, false},
		{"guest does not show it", GuestRdma{Adapter: host(100, 1, true), Synthetic: on(true, true)}, StageDriver, StageAdapters, true},
		{"off on the VF", GuestRdma{Adapter: host(100, 1, true), Synthetic: on(true, true), VF: on(true, false)}, StageAdapters, StageRdma, false},
		{"off on the Hyper-V adapter", GuestRdma{Adapter: host(100, 1, true), Synthetic: on(true, false), VF: on(true, true)}, StageAdapters, StageRdma, false},
		{"keyword off", GuestRdma{Adapter: host(100, 1, true), Synthetic: on(true, true), VF: keyword}, StageAdapters, StageRdma, false},
		{"VF offers none", GuestRdma{Adapter: host(100, 1, true), Synthetic: on(true, true), VF: on(false, false)}, StageAdapters, StageRdma, false},
		{"SMB does not follow", GuestRdma{Adapter: host(100, 1, true), Synthetic: on(true, true), VF: on(true, true)}, StageRdma, StageCapable, true},
		{"all", GuestRdma{Adapter: host(100, 1, true), Synthetic: capable, VF: on(true, true)}, StageCapable, "", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			reached, missing := x.g.Stage()
			if reached != x.reached || missing != x.missing || x.g.Enabled() != x.enabled {
				t.Errorf("reached %q, missing %q, enabled %v; want %q, %q, %v", reached, missing, x.g.Enabled(), x.reached, x.missing, x.enabled)
			}
		})
	}
}

func TestAdapterGUIDAndMac(t *testing.T) {
	const guid = "5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f"
	for _, id := range []string{guid, strings.ToUpper(guid), "{" + guid + "}", `Microsoft:84DB0D6B-ED28-5258-9C3E-E8D127875181\` + strings.ToUpper(guid), "hv1/84db0d6b-ed28-5258-9c3e-e8d127875181/" + guid} {
		if got := adapterGUID(id); got != guid {
			t.Errorf("%q: %q", id, got)
		}
	}
	for _, mac := range []string{"00155D00AA01", "00-15-5d-00-aa-01", "00:15:5D:00:AA:01", "0015.5d00.aa01"} {
		if got := macDashes(mac); got != "00-15-5D-00-AA-01" {
			t.Errorf("%q: %q", mac, got)
		}
	}
}
