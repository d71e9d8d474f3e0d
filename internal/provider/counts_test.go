package provider_test

import "testing"

// What counts on a host is how many requests and batches an operation makes: 2 batches of 2 requests at
// most, on a warm session, restarts and waiting apart.
func TestCountsOfHostResources(t *testing.T) {
	const most = 4
	warm := func(t *testing.T, h *harness) { // opens the session
		if _, d := h.data("hyperv_rdma_host", object{"host": "hv1"}); len(d.errors()) > 0 {
			t.Fatal(d)
		}
	}
	for name, x := range map[string]struct {
		typ             string
		create, changed object
	}{
		"settings, restart by hand": {nicType,
			object{"host": "hv1", "net_adapter_names": list{"MyRDMANIC"}, "sriov": true, "guest_rdma_registry": object{"value": 1}, "restart_policy": "manual", "restart_on_destroy": false},
			object{"host": "hv1", "net_adapter_names": list{"MyRDMANIC"}, "sriov": false, "restart_policy": "manual", "restart_on_destroy": false}},
		"switch": {switchType,
			object{"host": "hv1", "name": "S", "net_adapter_names": list{"MyRDMANIC"}, "allow_management_os": false, "notes": "a"},
			object{"host": "hv1", "name": "T", "net_adapter_names": list{"MyRDMANIC"}, "allow_management_os": false, "notes": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "mellanox-cx3pro") // a lab of its own: what one leaves owed the other would pay
			h := l.harness("hv1")
			warm(t, h)
			i := h.resource(x.typ)
			steps := []struct {
				what string
				f    func() diagnostics
			}{
				{"create", func() diagnostics { return i.applyPlan(i.plan(x.create)) }},
				{"read", i.refresh},
				{"update", func() diagnostics { return i.applyPlan(i.plan(x.changed)) }},
				{"delete", func() diagnostics { return i.applyPlan(i.plan(nil)) }},
			}
			for _, s := range steps {
				var d diagnostics
				n := l.requests(func() { d = s.f() })
				if len(d.errors()) > 0 {
					t.Fatalf("%s: %s", s.what, d)
				}
				if n > most {
					t.Errorf("%s made %d HTTP requests, at most %d", s.what, n, most)
				}
				t.Logf("%s: %d requests", s.what, n)
			}
		})
	}
}

// Reads of the same few seconds share one batch, whatever the number of resources.
func TestReadsAreShared(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.patientHarness("hv1")
	var all []*instance
	mustApply(t, h.resource(nicType), object{"host": "hv1", "net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
	for _, x := range []struct{ name, port string }{{"A", "iWARP 1"}, {"B", "iWARP 2"}} {
		i := h.resource(switchType)
		mustApply(t, i, object{"host": "hv1", "name": x.name, "net_adapter_names": list{x.port}, "allow_management_os": false})
		all = append(all, i)
	}
	n := l.requests(func() {
		for _, i := range append(all, all...) {
			if d := i.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
		}
	})
	if n > 2 {
		t.Errorf("%d reads made %d HTTP requests, want one batch of 2", 2*len(all), n)
	}
}
