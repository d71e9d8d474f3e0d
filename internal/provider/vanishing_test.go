package provider_test

import (
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// TestVanishingIsNoProof: a read of the host lists everything, so what somebody else removes in the middle of it is an
// error of a later call. No resource may take that for its own end: the read begins anew, and where that does not
// help it fails with the state as it was.
func TestVanishingIsNoProof(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722", onIovSwitch)
	h := l.harness("hv1")
	prepareHost(t, h)
	for typ, config := range map[string]object{
		switchType:  {"host": "hv1", "name": "S", "net_adapter_names": list{"iWARP 2"}, "allow_management_os": false},
		adapterType: {"host": "hv1", "vm_name": "vm2", "name": "A"},
		nicType:     {"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8},
		rdmaType:    {"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100},
		guestType:   guestConfig(nil),
	} {
		i := h.resource(typ)
		if typ == nicType || typ == rdmaType { // they are there already
			if d := i.importID(map[string]string{nicType: "hv1/iWARP 1", rdmaType: "hv1/vm1/R"}[typ]).errors(); len(d) > 0 {
				t.Fatal(d)
			}
		} else {
			mustApply(t, i, config)
		}
		for _, cmdlet := range []string{"Get-VMNetworkAdapter", "Get-VMNetworkAdapterVlan", "Get-VMNetworkAdapterIsolation"} {
			gone := door.Rule{Cmdlet: cmdlet, Effect: door.ErrorRecordEffect, Error: &door.ErrorRecord{ID: "ObjectNotFound,Microsoft.HyperV.PowerShell.Commands.X", Category: "ObjectNotFound", Message: "gone"}}
			l.fault(gone)
			if d := i.refresh(); len(d.errors()) > 0 || i.state == nil {
				t.Errorf("%s, %s failed once: state %v: %s", typ, cmdlet, i.state, d)
			}
			if n := len(l.server.Faults()); n > 0 {
				t.Errorf("%s: %s was not called", typ, cmdlet)
			}
			gone.Count = -1
			l.fault(gone)
			d := i.refresh().errors()
			if i.state == nil {
				t.Fatalf("%s is no longer in the state, since %s found nothing", typ, cmdlet)
			}
			says(t, d.String(), "went away, time and again", "plan again")
			l.server.ClearFaults()
		}
	}
}
