package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// twoSwitches gives hv1 a second ordinary switch, with weights.
func twoSwitches(s *lab.Scenario) {
	s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "B $(x)`*", Type: "Internal", BandwidthMode: "Weight"})
}

func TestVMNetworkAdapterInPlace(t *testing.T) {
	l := startLab(t, "intel-x722", twoSwitches)
	before := l.state()
	h := l.harness("hv1")
	a := h.resource(adapterType)
	full := object{"vm_name": "vm1", "name": "A", "switch_name": "LAN", "vlan": object{"access_vlan_id": 7}, "mac_address": "00-15-5d-00-aa-01", "device_naming": true}
	mustApply(t, a, full)
	a.settled(full)
	id := a.state["id"]
	for _, step := range []struct {
		name   string
		config object
		want   []string // what changes something on the host
	}{
		{"another spelling is nothing", object{"vm_name": "VM1", "name": "A", "switch_name": "lan", "vlan": object{"access_vlan_id": 7}, "mac_address": "00155D00AA01", "device_naming": true}, nil},
		{"another name", object{"vm_name": "vm1", "name": "Ä 'b'; \"c\"", "switch_name": "LAN", "vlan": object{"access_vlan_id": 7}, "mac_address": "00155D00AA01", "device_naming": true}, []string{"Rename-VMNetworkAdapter"}},
		{"another switch, found by object", object{"vm_name": "vm1", "name": "Ä 'b'; \"c\"", "switch_name": "b $(x)`*", "vlan": object{"access_vlan_id": 7}, "mac_address": "00155D00AA01", "device_naming": true}, []string{"Connect-VMNetworkAdapter"}},
		{"another VLAN, a weight", object{"vm_name": "vm1", "name": "Ä 'b'; \"c\"", "switch_name": "b $(x)`*", "vlan": object{"access_vlan_id": 8}, "mac_address": "00155D00AA01", "minimum_bandwidth_weight": 5, "device_naming": true}, []string{"Set-VMNetworkAdapterVlan", "Set-VMNetworkAdapter"}},
		{"what is left out goes back", object{"vm_name": "vm1", "name": "Ä 'b'; \"c\"", "mac_address": "00155D00AA01"}, []string{"Disconnect-VMNetworkAdapter", "Set-VMNetworkAdapterVlan", "Set-VMNetworkAdapter"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			seq := l.seq()
			mustApply(t, a, step.config)
			if got := cmdlets(l.since(seq)); !slices.Equal(got, step.want) {
				t.Errorf("changes %v, want %v", got, step.want)
			}
			a.settled(step.config)
			if a.state["id"] != id {
				t.Errorf("id %v, want %v", a.state["id"], id)
			}
		})
	}
	mustApply(t, a, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestVMNetworkAdapterDrift(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	config := object{"vm_name": "vm1", "name": "A", "switch_name": "LAN", "vlan": object{"access_vlan_id": 7}, "device_naming": true}
	for _, x := range []struct {
		name    string
		cmdlet  string
		with    object
		changed []string
	}{
		{"VLAN moved to isolation (facts 60)", "Set-VMNetworkAdapterIsolation", object{"VMName": "vm1", "VMNetworkAdapterName": "A", "IsolationMode": "Vlan", "DefaultIsolationID": 7}, []string{"vlan"}},
		{"another VLAN", "Set-VMNetworkAdapterVlan", object{"VMName": "vm1", "VMNetworkAdapterName": "A", "Access": true, "VlanId": 9}, []string{"vlan"}},
		{"disconnected", "Disconnect-VMNetworkAdapter", object{"VMName": "vm1", "Name": "A"}, []string{"switch_name"}},
		{"renamed", "Rename-VMNetworkAdapter", object{"VMName": "vm1", "Name": "A", "NewName": "Z"}, []string{"name"}},
		{"device naming off", "Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "A", "DeviceNaming": "Off"}, []string{"device_naming"}},
		{"not managed", "Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "A", "MacAddressSpoofing": "On"}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			a := h.resource(adapterType)
			mustApply(t, a, config)
			l.cmdlet("hv1", "host", x.cmdlet, x.with)
			if d := a.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
			p := a.plan(config)
			if got := drifted(a.state, p.state); !slices.Equal(got, x.changed) || len(p.replace) > 0 {
				t.Errorf("the plan changes %v (replaces for %v), want %v", got, p.replace, x.changed)
			}
			mustApply(t, a, config)
			a.settled(config)
			mustApply(t, a, nil)
		})
	}
}

// drifted lists the attributes that a plan changes, without what is known only after apply.
func drifted(state, planned object) []string {
	var out []string
	for _, name := range sortedKeys(planned) {
		if planned[name] != unknown && name != "planned_restarts" && name != "pending_restarts" && fmt.Sprint(planned[name]) != fmt.Sprint(state[name]) {
			out = append(out, name)
		}
	}
	return out
}

func TestVMRenamed(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	a := h.resource(adapterType)
	config := object{"vm_name": "vm1", "name": "A"}
	mustApply(t, a, config)
	id := a.state["id"]
	l.cmdlet("hv1", "host", "Set-VM", object{"Name": "vm1", "NewVMName": "new [1]"})
	if d := a.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	p := a.plan(config)
	if got := drifted(a.state, p.state); !slices.Equal(got, []string{"vm_name"}) || len(p.replace) > 0 {
		t.Errorf("the plan changes %v and replaces for %v; want vm_name alone, in place", got, p.replace)
	}
	l.unchanged(func() { mustFail(t, a, config, `renamed to "new [1]"`, `vm_name = "new [1]"`) })
	followed := object{"vm_name": "new [1]", "name": "A"}
	mustApply(t, a, followed)
	a.settled(followed)
	l.cmdlet("hv1", "host", "Set-VM", object{"Name": "new ?1?", "NewVMName": "third"})
	if d := a.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if p := a.plan(followed); len(p.replace) > 0 {
		t.Errorf("a second rename replaces for %v", p.replace)
	}
	if p := a.plan(object{"vm_name": "vm2", "name": "A"}); len(p.replace) == 0 {
		t.Error("the name of another VM does not replace the adapter")
	}
	if a.state["id"] != id {
		t.Errorf("id %v, want %v", a.state["id"], id)
	}
	mustApply(t, a, nil)
}

func TestVMNetworkAdapterRefused(t *testing.T) {
	l := startLab(t, "intel-x722", twoSwitches, func(s *lab.Scenario) {
		vms := s.Hosts[0].VMs
		twin := vms[1]
		twin.Name = "twin"
		gen1, saved := vms[1], vms[1]
		gen1.Name, gen1.Generation = "gen1", 1
		saved.Name, saved.State = "saved", "Saved"
		s.Hosts[0].VMs = append(vms, twin, twin, gen1, saved)
		s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "same", Type: "Internal"}, lab.ScenarioSwitch{Name: "Same", Type: "Internal"})
		s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "RDMA", Type: "External", Ports: []string{"iWARP 1"}, Iov: true})
	})
	h := l.harness()
	for name, x := range map[string]struct {
		config object
		want   []string
	}{
		"no such host":                  {object{"host": "hv9", "vm_name": "vm1", "name": "A"}, []string{`"hv9"`, "hv1"}},
		"no such VM":                    {object{"host": "hv1", "vm_name": "nope", "name": "A"}, []string{`vm_name = nope`, `"vm1"`}},
		"two VMs of the name":           {object{"host": "hv1", "vm_name": "twin", "name": "A"}, []string{"2 VMs have this name"}},
		"no such switch":                {object{"host": "hv1", "vm_name": "vm1", "name": "A", "switch_name": "nope"}, []string{`switch_name = nope`, `"LAN"`}},
		"a pattern is no switch":        {object{"host": "hv1", "vm_name": "vm1", "name": "A", "switch_name": "L*"}, []string{`switch_name = L*`}},
		"two switches of the name":      {object{"host": "hv1", "vm_name": "vm1", "name": "A", "switch_name": "same"}, []string{"2 switches have this name"}},
		"name is taken":                 {object{"host": "hv1", "vm_name": "vm1", "name": "network adapter"}, []string{"of this name already", "terraform import"}},
		"Generation 1, running":         {object{"host": "hv1", "vm_name": "gen1", "name": "A"}, []string{"Generation 1", "facts.md 61a"}},
		"saved":                         {object{"host": "hv1", "vm_name": "saved", "name": "A"}, []string{"saved", "facts.md 61a"}},
		"case 19: weight on IOV switch": {object{"host": "hv1", "vm_name": "vm1", "name": "A", "switch_name": "RDMA", "minimum_bandwidth_weight": 50}, []string{"minimum_bandwidth_weight = 50", "None", "facts.md 52"}},
		"VLAN out of range":             {object{"host": "hv1", "vm_name": "vm1", "name": "A", "vlan": object{"access_vlan_id": 4095}}, []string{"4094"}},
		"no MAC address":                {object{"host": "hv1", "vm_name": "vm1", "name": "A", "mac_address": "00155D"}, []string{"MAC address"}},
		"team: no such net adapter":     {object{"host": "hv1", "vm_name": "vm1", "name": "A", "switch_name": "RDMA", "team_mapping": "nope"}, []string{"team_mapping = nope", `"iWARP 1"`}},
		"team: no member":               {object{"host": "hv1", "vm_name": "vm1", "name": "A", "switch_name": "RDMA", "team_mapping": "iWARP 2"}, []string{"no member", `"iWARP 1"`, "facts.md 22"}},
	} {
		t.Run(name, func(t *testing.T) {
			l.unchanged(func() { mustFail(t, h.resource(adapterType), x.config, x.want...) })
		})
	}
	for id, want := range map[string]string{
		"hv1/vm1":                  "3",
		"hv1/vm1/":                 "empty",
		"hv1/vm1/nope":             `"Network Adapter"`,
		"hv1/nope/Network Adapter": "no VM",
		"hv1/twin/Network Adapter": "2 VMs",
		"hv9/vm1/Network Adapter":  "hv9",
	} {
		for _, typ := range []string{adapterType, rdmaType, guestType} {
			if d := h.resource(typ).importID(id).errors(); len(d) == 0 || !strings.Contains(d.String(), want) {
				t.Errorf("import of %s %q: want %q in\n%s", typ, id, want, d)
			}
		}
	}
}

// A create that fails on the way leaves no adapter, whatever cut it off.
func TestVMNetworkAdapterCreateIsUndone(t *testing.T) {
	config := object{"vm_name": "vm1", "name": "A", "switch_name": "LAN", "vlan": object{"access_vlan_id": 7}}
	for name, rule := range map[string]door.Rule{
		"a later setting is refused": {Cmdlet: "Set-VMNetworkAdapterVlan", Effect: door.ErrorRecordEffect, Error: &door.ErrorRecord{ID: "OperationFailed,Microsoft.HyperV.PowerShell.Commands.SetVMNetworkAdapterVlan", Category: "NotSpecified"}},
		"the process dies behind it": {Cmdlet: "Add-VMNetworkAdapter", Effect: door.KillProcess},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "intel-x722")
			before := l.state()
			h := l.harness("hv1")
			a := h.resource(adapterType)
			l.fault(rule)
			mustFail(t, a, config)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
			mustApply(t, a, config)
			a.settled(config)
		})
	}
}

func TestVMNetworkAdapterGone(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	config := object{"vm_name": "vm1", "name": "A"}
	a := h.resource(adapterType)
	mustApply(t, a, config)
	l.cmdlet("hv1", "host", "Remove-VMNetworkAdapter", object{"VMName": "vm1", "Name": "A"})
	if d := a.refresh().errors(); len(d) > 0 || a.state != nil {
		t.Fatalf("state %v after the adapter went: %s", a.state, d)
	}
	mustApply(t, a, config)
	kept := a.state
	l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "TurnOff": true})
	l.cmdlet("hv1", "host", "Remove-VM", object{"Name": "vm1", "Force": true})
	if d := a.applyPlan(a.plan(nil)).errors(); len(d) > 0 {
		t.Errorf("destroy of an adapter whose VM is gone: %s", d)
	}
	a.state = kept
	if d := a.refresh().errors(); len(d) > 0 || a.state != nil {
		t.Errorf("state %v after the VM went: %s", a.state, d)
	}
}

// An imported adapter keeps what an attribute said that is removed: nobody knows what was there before.
func TestVMNetworkAdapterImported(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	a := h.resource(adapterType)
	if d := a.importID("hv1/vm1/Network Adapter").errors(); len(d) > 0 {
		t.Fatal(d)
	}
	config := object{"vm_name": "vm1", "name": "Network Adapter", "switch_name": "LAN"}
	if p := a.plan(config); !p.empty(a.state) {
		t.Errorf("the plan after an import changes %v", drifted(a.state, p.state))
	}
	l.unchanged(func() {
		if d := mustApply(t, a, object{"vm_name": "vm1", "name": "Network Adapter"}); !strings.Contains(d.String(), "stays as it is") {
			t.Errorf("no warning: %s", d)
		}
	})
}

// Each operation takes at most two batches: four requests on a warm session.
func TestVMNetworkAdapterRequests(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	a := h.resource(adapterType)
	config := object{"vm_name": "vm1", "name": "A", "switch_name": "LAN", "vlan": object{"access_vlan_id": 7}}
	mustApply(t, a, config)
	mustApply(t, a, nil)
	for _, x := range []struct {
		name string
		f    func()
	}{
		{"create", func() { mustApply(t, a, config) }},
		{"read", func() { a.refresh() }},
		{"update", func() {
			a.applyPlan(a.plan(object{"vm_name": "vm1", "name": "B", "switch_name": "LAN"}))
		}},
		{"delete", func() { a.applyPlan(a.plan(nil)) }},
	} {
		if n := l.requests(x.f); n > 4 {
			t.Errorf("%s: %d requests", x.name, n)
		}
	}
	if a.state != nil {
		t.Error("not deleted")
	}
}
