package provider_test

import (
	"testing"
	"time"
)

// TestGuestOfAStoppedVM: whatever the way to a guest, the host says first that its VM does not run, so that nobody waits
// for a guest that cannot answer.
func TestGuestOfAStoppedVM(t *testing.T) {
	resources := map[string]object{
		guestType:    guestConfig(nil),
		routingType:  {"host": "hv1", "vm_name": "vm1", "net_adapter_names": list{"Ethernet"}},
		firewallType: {"host": "hv1", "vm_name": "vm1"},
	}
	other := map[string]object{
		guestType:    guestConfig(object{"enabled": false}),
		routingType:  {"host": "hv1", "vm_name": "vm1", "net_adapter_names": list{"Ethernet"}, "network_direct_across_ip_subnets": "Blocked"},
		firewallType: {"host": "hv1", "vm_name": "vm1", "profiles": list{"Private"}},
	}
	for _, transport := range transports() {
		for _, stop := range []string{"Stop-VM", "Save-VM", "Suspend-VM"} {
			for typ, config := range resources {
				t.Run(transport+"/"+stop+"/"+typ, func(t *testing.T) {
					t.Parallel()
					l, h := transportLab(t, transport)
					i := h.resource(typ)
					mustApply(t, i, config)
					l.cmdlet("hv1", "host", stop, object{"Name": "vm1"})
					kept := i.state
					for what, run := range map[string]func() diagnostics{
						"create":  func() diagnostics { return h.resource(typ).apply(config).errors() },
						"update":  func() diagnostics { return i.applyPlan(i.plan(other[typ])).errors() },
						"destroy": func() diagnostics { return i.applyPlan(i.plan(nil)).errors() },
					} {
						began := time.Now()
						d := run()
						if took := time.Since(began); took > 8*time.Second {
							t.Errorf("%s took %v", what, took)
						}
						if len(d) == 0 {
							t.Errorf("%s succeeded", what)
						}
						if i.state == nil {
							t.Fatalf("%s lost the state", what)
						}
						if what == "destroy" {
							says(t, d.String(), "on_unreachable", "The VM is ")
						}
					}
					i.state = kept
					l.cmdlet("hv1", "host", map[string]string{"Stop-VM": "Start-VM", "Save-VM": "Start-VM", "Suspend-VM": "Resume-VM"}[stop], object{"Name": "vm1"})
					time.Sleep(300 * time.Millisecond)
					mustApply(t, i, nil)
					if i.state != nil {
						t.Errorf("the destroy left %v", i.state)
					}
				})
			}
		}
	}
}
