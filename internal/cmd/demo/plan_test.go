package main

import (
	"bytes"
	"testing"
)

const planJSON = `{"resource_changes": [
 {"address": "module.h[\"hv1\"].hyperv_iov_switch.a", "mode": "managed", "change": {"actions": ["create"],
   "after": {"planned_restarts": [{"kind": "net_adapter", "target": "p1", "condition": "always", "reason": "new switch"}]}, "after_unknown": {"id": true}}},
 {"address": "hyperv_guest_rdma_enablement.g", "mode": "managed", "change": {"actions": ["delete", "create"],
   "after": {}, "after_unknown": {"planned_restarts": true}}},
 {"address": "hyperv_vm_network_adapter.v", "mode": "managed", "change": {"actions": ["delete"], "after": null, "after_unknown": {}}},
 {"address": "hyperv_vm_network_adapter.same", "mode": "managed", "change": {"actions": ["no-op"], "after": {}, "after_unknown": {}}},
 {"address": "data.hyperv_rdma_host.d", "mode": "data", "change": {"actions": ["read"], "after": {}, "after_unknown": {}}}]}`

const planLines = `{"@level":"info","type":"version"}
{"@level":"warn","type":"diagnostic","diagnostic":{"severity":"warning","summary":"Provider development overrides are in effect","detail":""}}
{"@level":"warn","type":"diagnostic","diagnostic":{"severity":"warning","summary":"VM may restart","detail":"","address":"hyperv_vm_network_adapter.v"}}
{"@level":"warn","type":"diagnostic","diagnostic":{"severity":"warning","summary":"VM may restart","detail":"","address":"hyperv_vm_network_adapter.v"}}
{"@level":"error","type":"diagnostic","diagnostic":{"severity":"error","summary":"Unable to read","detail":"why","address":"x.y"}}
not JSON
`

func TestPlanTable(t *testing.T) {
	changes, err := readPlan([]byte(planJSON))
	if err != nil {
		t.Fatal(err)
	}
	addWarnings(changes, readDiagnostics([]byte(planLines), "warning"))
	var out bytes.Buffer
	printChanges(&out, changes)
	want := `  RESOURCE                             ACTION   PLANNED RESTARTS
  module.h["hv1"].hyperv_iov_switch.a  create   net_adapter p1 (always)
                                                  new switch
  hyperv_guest_rdma_enablement.g       replace  (known after apply)
  hyperv_vm_network_adapter.v          delete   VM may restart
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if n := count(changes, "create"); n != 1 {
		t.Errorf("creates: %d", n)
	}
}

func TestExplain(t *testing.T) {
	if got, want := explain([]byte(planLines), nil), "Error: Unable to read\n  at x.y\nwhy\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := explain([]byte("out\n"), []byte("err\n")), "out\nerr\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
