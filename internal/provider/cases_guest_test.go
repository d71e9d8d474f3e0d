package provider_test

import (
	"slices"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// withDriver gives vm1 a driver for virtual functions: none, inbox, inbox_bad or vendor.
func withDriver(kind string) func(*lab.Scenario) {
	return func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.VFDriver = kind }
}

// guestStops takes a guest that does not come to RDMA: the error of verification = require, with nothing left in the
// guest, and the same as a warning of verification = warn, with the stage in the state.
func guestStops(t *testing.T, l *testLab, h *harness, stage string, want ...string) {
	t.Helper()
	before := settledState(l)
	g := h.resource(guestType)
	mustFail(t, g, guestConfig(nil), append(want, "last stage reached: "+stage)...)
	if after := settledState(l); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	accepted := guestConfig(object{"verification": "warn"})
	says(t, mustApply(t, g, accepted).warnings().String(), append(want, "does not work yet")...)
	if got := actual(g, "stage"); got != stage {
		t.Errorf("stage %v, want %s", got, stage)
	}
	if got := actual(g, "smb_rdma_capable"); got != false {
		t.Errorf("smb_rdma_capable %v", got)
	}
	mustApply(t, g, nil)
}

// guestWorks is the state after the fix.
func guestWorks(t *testing.T, h *harness) {
	t.Helper()
	g := h.resource(guestType)
	mustApply(t, g, guestConfig(nil))
	if got := actual(g, "stage"); got != "smb_rdma_capable" {
		t.Errorf("stage %v", got)
	}
	g.settled(guestConfig(nil))
}

// Case 33: Windows' own driver takes the virtual function and does not bring it up; Hyper-V calls the adapter degraded.
func TestCase33InboxDriver(t *testing.T) {
	t.Parallel()
	l, h := guestLab(t, withDriver("inbox_bad"))
	guestStops(t, l, h, "vf_assigned", "Stopped before stage vf_driver", "i40evf68.sys", "by Microsoft", "data path is not active", "Degraded", "facts.md 55", "Install the vendor's VF driver", "facts.md 6")
	r := h.resource(rdmaType)
	if d := r.importID("hv1/vm1/R").errors(); len(d) > 0 {
		t.Fatal(d)
	}
	for name, want := range map[string]any{"iov_usage": 1.0, "vf_data_path_active": false} {
		if got := actual(r, name); got != want {
			t.Errorf("actual.%s is %v, want %v", name, got, want)
		}
	}
	if status, _ := actual(r, "status").([]any); !slices.Contains(status, any("Degraded")) {
		t.Errorf("status %v", status)
	}
	_, h = guestLab(t, withDriver("vendor"))
	guestWorks(t, h)
}

// Case 34: only the synthetic adapter is there, which does no RDMA.
func TestCase34NoVirtualFunction(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722", onIovSwitch)
	h := l.harness("hv1")
	mustApply(t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
	guestStops(t, l, h, "none", "Stopped before stage vf_requested", "no VF adapter with MAC 00-15-5D", "IovWeight", "facts.md 43", "iov_weight = 100", "hyperv_vm_network_adapter_rdma")
	mustApply(t, h.resource(rdmaType), object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
	guestWorks(t, h)
}

// Case 35: the virtual function is there as a device without a driver, and no net adapter.
func TestCase35NoDriver(t *testing.T) {
	t.Parallel()
	l, h := guestLab(t, withDriver("none"))
	guestStops(t, l, h, "vf_assigned", "no VF adapter with MAC 00-15-5D", `PCI\VEN_8086&DEV_`, "problem code 28 (no driver)", "Install the vendor's VF driver")
	_, h = guestLab(t, withDriver("vendor"))
	guestWorks(t, h)
}
