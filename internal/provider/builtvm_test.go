package provider_test

import (
	"cmp"
	"testing"
)

// oneVM is the whole job for one VM: device, switch, adapter, weights, guest.
type oneVM struct {
	preset                string
	port, sw, vm, adapter string            // names; without: as the preset has them, "RDMA", "vm1", "R"
	more                  map[string]object // attributes by type of resource; null takes one away
	between               func()            // runs behind the adapter, before its weights
}

// builtVM is what was made of it, in order.
type builtVM struct {
	h       *harness
	made    []*instance
	configs []object
	// stopped is the type of the resource that could not be made, and why.
	stopped string
	said    diagnostics
}

// make makes one resource after the other until one fails. What fails must leave no state: nothing is tainted.
func (x oneVM) make(t testing.TB, h *harness) *builtVM {
	t.Helper()
	c := &builtVM{h: h}
	port, settings := "iWARP 1", object{"sriov": true, "vmq": true, "rdma_max_vfs": 8}
	weights := object{"iov_weight": 100, "rdma_weight": 100}
	if x.preset == "mellanox-cx3pro" {
		port, settings, weights = "MyRDMANIC", object{"sriov": true, "guest_rdma_registry": object{"value": 1}}, object{"iov_weight": 100}
	}
	port, sw, vm, adapter := cmp.Or(x.port, port), cmp.Or(x.sw, "RDMA"), cmp.Or(x.vm, "vm1"), cmp.Or(x.adapter, "R")
	settings["net_adapter_names"] = list{port}
	for _, step := range []struct {
		typ    string
		config object
	}{
		{nicType, settings},
		{switchType, object{"name": sw, "net_adapter_names": list{port}, "allow_management_os": false}},
		{adapterType, object{"vm_name": vm, "name": adapter, "switch_name": sw}},
		{rdmaType, merged(object{"vm_name": vm, "vm_network_adapter_name": adapter}, weights)},
		{guestType, object{"vm_name": vm, "vm_network_adapter_name": adapter}},
	} {
		if step.typ == rdmaType && x.between != nil {
			x.between()
		}
		config := merged(merged(object{"host": "hv1"}, step.config), x.more[step.typ])
		i := h.resource(step.typ)
		d := i.apply(config)
		if c.said = append(c.said, d...); len(d.errors()) > 0 {
			if c.stopped = step.typ; i.state != nil {
				t.Errorf("%s failed and left a state: it is tainted", step.typ)
			}
			return c
		}
		c.made, c.configs = append(c.made, i), append(c.configs, config)
	}
	return c
}

// settled fails the test unless a second plan of everything is empty, and SMB in the guest sees RDMA.
func (c *builtVM) settled(t testing.TB) {
	t.Helper()
	for n, i := range c.made {
		i.settled(c.configs[n])
	}
	if stage := actual(c.made[len(c.made)-1], "stage"); stage != "smb_rdma_capable" {
		t.Errorf("stage %v", stage)
	}
}

// destroy takes down what was made, the last first.
func (c *builtVM) destroy(t testing.TB) {
	t.Helper()
	for n := range c.made {
		i := c.made[len(c.made)-1-n]
		if d := i.apply(nil).errors(); len(d) > 0 {
			t.Errorf("destroy of %s: %s", i.typ, d)
		}
	}
}

// of is the resource of a type.
func (c *builtVM) of(typ string) *instance {
	for _, i := range c.made {
		if i.typ == typ {
			return i
		}
	}
	return nil
}
