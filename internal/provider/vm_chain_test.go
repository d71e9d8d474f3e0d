package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const (
	adapterType = "hyperv_vm_network_adapter"
	rdmaType    = "hyperv_vm_network_adapter_rdma"
	guestType   = "hyperv_guest_rdma_enablement"
)

// rdmaHost prepares hv1 of a preset for guest RDMA: the device's settings and a switch with SR-IOV named "RDMA".
func rdmaHost(t testing.TB, h *harness, preset string) (nic, sw *instance) {
	t.Helper()
	settings := object{"host": "hv1", "net_adapter_names": list{"iWARP 1"}, "sriov": true, "vmq": true, "rdma_max_vfs": 8}
	port := "iWARP 1"
	if preset == "mellanox-cx3pro" {
		port = "MyRDMANIC"
		settings = object{"host": "hv1", "net_adapter_names": list{port}, "sriov": true, "guest_rdma_registry": object{"value": 1}}
	}
	nic, sw = h.resource(nicType), h.resource(switchType)
	mustApply(t, nic, settings)
	mustApply(t, sw, object{"host": "hv1", "name": "RDMA", "net_adapter_names": list{port}, "allow_management_os": false})
	return nic, sw
}

func mustApply(t testing.TB, i *instance, config object) diagnostics {
	t.Helper()
	d := i.apply(config)
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	return d
}

// mustFail applies what must be refused, and checks what the error says. Nothing may stay of it in the state.
func mustFail(t testing.TB, i *instance, config object, want ...string) {
	t.Helper()
	before := i.state
	d := i.apply(config).errors()
	if len(d) == 0 {
		t.Fatalf("no error; state %v", i.state)
	}
	for _, w := range want {
		if !strings.Contains(d.String(), w) {
			t.Errorf("the error does not say %q:\n%s", w, d)
		}
	}
	if before == nil && i.state != nil {
		t.Errorf("a failed create left a state: %v", i.state)
	}
}

// cmdlets are the names of the cmdlets that changed something, in order, without those of the ledger.
func cmdlets(entries []lab.JournalEntry) []string {
	var out []string
	for _, e := range entries {
		if e.Cmdlet == "" || e.OutOfBand || readsOnly(e.Cmdlet) || slices.Contains([]string{"Start-Sleep", "New-Item", "Set-Acl", "Set-ItemProperty", "Remove-ItemProperty", "Remove-Item"}, e.Cmdlet) {
			continue
		}
		out = append(out, e.Cmdlet)
	}
	return out
}

// requests counts the HTTP requests that f makes on a warm session. A batch is two: send and receive.
func (l *testLab) requests(f func()) int64 {
	before := l.metrics().Requests
	f()
	return l.metrics().Requests - before
}

// TestVMChain is the job itself, host to guest and back, on both procedures' presets.
func TestVMChain(t *testing.T) {
	for name, x := range map[string]struct {
		preset string
		rdma   object
	}{
		"intel":    {"intel-x722", object{"iov_weight": 100, "rdma_weight": 100}},
		"mellanox": {"mellanox-cx3pro", object{"iov_weight": 100}},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, x.preset)
			before := l.state()
			h := l.harness("hv1")
			nic, sw := rdmaHost(t, h, x.preset)

			adapter := h.resource(adapterType)
			adapterConfig := object{"vm_name": "VM1", "name": "RDMA 'a' [1]*", "switch_name": "rdma", "vlan": object{"access_vlan_id": 11}, "device_naming": true}
			mustApply(t, adapter, adapterConfig)
			adapter.settled(adapterConfig)

			rdma := h.resource(rdmaType)
			rdmaConfig := object{"vm_name": "vm1", "vm_network_adapter_id": adapter.state["adapter_id"]}
			for k, v := range x.rdma {
				rdmaConfig[k] = v
			}
			if d := mustApply(t, rdma, rdmaConfig); strings.Contains(d.String(), "No virtual function") {
				t.Error(d)
			}
			rdma.settled(rdmaConfig)
			adapter.settled(adapterConfig)

			guest := h.resource(guestType)
			guestConfig := object{"vm_name": "vm1", "vm_network_adapter_name": "RDMA 'a' [1]*"}
			mustApply(t, guest, guestConfig)
			if stage := guest.state["actual"].(object)["stage"]; stage != "smb_rdma_capable" {
				t.Errorf("stage %v", stage)
			}
			guest.settled(guestConfig)

			for _, i := range []*instance{adapter, rdma, guest} {
				imported := h.resource(i.typ)
				if d := imported.importID("hv1/vm1/RDMA 'a' [1]*").errors(); len(d) > 0 {
					t.Fatalf("import of %s: %s", i.typ, d)
				}
				if imported.state["id"] != i.state["id"] {
					t.Errorf("import of %s gave %v, want %v", i.typ, imported.state["id"], i.state["id"])
				}
			}
			for _, i := range []*instance{guest, rdma, adapter, sw, nic} {
				if d := i.apply(nil).errors(); len(d) > 0 {
					t.Fatalf("destroy of %s: %s", i.typ, d)
				}
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}
