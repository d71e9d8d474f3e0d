package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// adapterOf is an adapter of a VM of hv1 as the lab has it, and the name of its switch.
func (l *testLab) adapterOf(vm, name string) (*lab.VMAdapter, string) {
	l.t.Helper()
	var all lab.State
	must(l.t, json.Unmarshal([]byte(l.state()), &all))
	for _, v := range all.Hosts[0].VMs {
		for _, a := range v.Adapters {
			if v.Name != vm || a.Name != name {
				continue
			}
			for _, s := range all.Hosts[0].Switches {
				if s.ID == a.SwitchID {
					return a, s.Name
				}
			}
			return a, ""
		}
	}
	return nil, ""
}

// others is an adapter of another tool on the VM, with settings of its own.
func (l *testLab) others(vm, name string) {
	l.t.Helper()
	l.cmdlet("hv1", "host", "Add-VMNetworkAdapter", object{"VMName": vm, "Name": name})
	pattern := strings.NewReplacer("[", "`[", "]", "`]", "*", "`*").Replace(name)
	l.cmdlet("hv1", "host", "Set-VMNetworkAdapterVlan", object{"VMName": vm, "VMNetworkAdapterName": pattern, "Access": true, "VlanId": 77})
	l.cmdlet("hv1", "host", "Set-VMNetworkAdapter", object{"VMName": vm, "Name": pattern, "MacAddressSpoofing": "On"})
}

// TestSwitchIsReplacedUnderItsAdapters: without leave the removal is refused with a list of what is connected; with it
// a switch is replaced in one apply, and everything that was on it is on the new one, with its settings.
func TestSwitchIsReplacedUnderItsAdapters(t *testing.T) {
	l := startLab(t, "intel-x722")
	l.others("vm1", "Other 'x' [1]*")
	l.others("vm2", "Other")
	before := l.state()
	h := l.harness("hv1")
	s, a := h.resource(switchType), h.resource(adapterType)
	config := func(more object) object {
		return merged(object{"name": "S [1]*", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false}, more)
	}
	mustApply(t, s, config(nil))
	own := object{"vm_name": "vm1", "name": "R", "switch_name": s.state["name"], "vlan": object{"access_vlan_id": 101}}
	mustApply(t, a, own)
	weights := h.resource(rdmaType)
	mustApply(t, weights, object{"vm_name": "vm1", "vm_network_adapter_id": a.state["adapter_id"], "iov_weight": 100})
	l.cmdlet("hv1", "host", "Rename-VMSwitch", object{"Name": "S `[1`]`*", "NewName": "plain"})
	l.cmdlet("hv1", "host", "Connect-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other*", "SwitchName": "plain"})
	l.cmdlet("hv1", "host", "Connect-VMNetworkAdapter", object{"VMName": "vm2", "Name": "Other", "SwitchName": "plain"})
	l.cmdlet("hv1", "host", "Rename-VMSwitch", object{"Name": "plain", "NewName": "S [1]*"})
	listed := []string{`"Other 'x' [1]*" of VM "vm1" (not of this provider)`, `"R" of VM "vm1" (of this provider)`, `"Other" of VM "vm2" (not of this provider)`}

	replaced := config(object{"minimum_bandwidth_mode": "None"})
	refresh := s.refresh().errors()
	if len(refresh) > 0 {
		t.Fatal(refresh)
	}
	p := s.plan(replaced)
	says(t, p.warnings().String(), append(listed, "disconnect_adapters is not true")...)
	l.unchanged(func() {
		says(t, s.applyPlan(p).errors().String(), append(listed, "facts.md 62", "disconnect_adapters = true")...)
	})
	says(t, s.plan(config(object{"minimum_bandwidth_mode": "None", "disconnect_adapters": true})).warnings().String(), "not in force yet")
	mustApply(t, s, config(object{"disconnect_adapters": true}))
	replaced["disconnect_adapters"] = true
	was, seq := s.state["switch_id"], l.seq()
	mac, _ := l.adapterOf("vm1", "R")
	if d := s.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	p = s.plan(replaced)
	says(t, p.warnings().String(), append(listed, "disconnects network adapters", `called "S [1]*"`)...)
	if d := s.applyPlan(p).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if s.state["switch_id"] == was {
		t.Error("the switch was not replaced")
	}
	for _, x := range [][2]string{{"vm1", "Other 'x' [1]*"}, {"vm2", "Other"}, {"vm1", "R"}} {
		got, on := l.adapterOf(x[0], x[1])
		if on != "S [1]*" {
			t.Errorf("%s of %s is on %q", x[1], x[0], on)
		}
		if vlan := map[bool]int{true: 101, false: 77}[x[1] == "R"]; got.Vlan.AccessID != vlan || got.MacAddressSpoofing != (x[1] != "R") {
			t.Errorf("%s of %s has other settings: %+v", x[1], x[0], got)
		}
	}
	if now, _ := l.adapterOf("vm1", "R"); now.ID != mac.ID || now.MacAddress != mac.MacAddress || now.IovWeight != 100 {
		t.Errorf("R is another adapter: %+v", now)
	}
	if strings.Contains(l.state(), `"disconnected.`) {
		t.Error("the ledger still has records of disconnected adapters")
	}
	if n := restarts(l.since(seq))["net_adapter_restart"]; n != 4 {
		t.Errorf("%d restarts of ports, want two of each: one for the removal, one for the new switch", n)
	}
	s.settled(replaced)
	a.settled(own)

	for _, i := range []*instance{weights, a} {
		mustApply(t, i, nil)
	}
	if d := s.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	destroy := s.plan(nil)
	says(t, destroy.warnings().String(), "disconnects network adapters", listed[0], listed[2])
	if d := s.applyPlan(destroy).errors(); len(d) > 0 || s.state != nil {
		t.Fatal(d, s.state)
	}
	if got, on := l.adapterOf("vm2", "Other"); on != "" || got == nil {
		t.Errorf("the other tool's adapter is on %q", on)
	}
	if !strings.Contains(l.state(), `"disconnected.`) {
		t.Error("nothing remembers what the switch had")
	}

	// Made once more: what was connected elsewhere meanwhile, or is gone, is left alone.
	l.cmdlet("hv1", "host", "Connect-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other*", "SwitchName": "LAN"})
	mustApply(t, s, replaced)
	if _, on := l.adapterOf("vm1", "Other 'x' [1]*"); on != "LAN" {
		t.Errorf("what was connected elsewhere is on %q", on)
	}
	if _, on := l.adapterOf("vm2", "Other"); on != "S [1]*" {
		t.Errorf("the other tool's adapter is on %q", on)
	}
	l.cmdlet("hv1", "host", "Disconnect-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other*"})
	l.cmdlet("hv1", "host", "Disconnect-VMNetworkAdapter", object{"VMName": "vm2", "Name": "Other"})
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// TestDisconnectedAdapterThatVanished: its record goes, and the new switch is made all the same.
func TestDisconnectedAdapterThatVanished(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro")
	before := l.state()
	l.others("vm1", "Other")
	h := l.harness("hv1")
	s := h.resource(switchType)
	config := object{"name": "S", "net_adapter_names": list{"MyRDMANIC"}, "allow_management_os": false, "disconnect_adapters": true}
	mustApply(t, s, config)
	l.cmdlet("hv1", "host", "Connect-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other", "SwitchName": "S"})
	mustApply(t, s, nil)
	l.cmdlet("hv1", "host", "Remove-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other"})
	mustApply(t, s, config)
	s.settled(config)
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// TestRefusedRemovalConnectsAgain: where Windows refuses to remove the switch, its adapters are on it as before.
func TestRefusedRemovalConnectsAgain(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro")
	l.others("vm1", "Other")
	h := l.harness("hv1")
	s := h.resource(switchType)
	config := object{"name": "S", "net_adapter_names": list{"MyRDMANIC"}, "allow_management_os": false, "disconnect_adapters": true}
	mustApply(t, s, config)
	l.cmdlet("hv1", "host", "Connect-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other", "SwitchName": "S"})
	before := l.state()
	l.fault(door.Rule{Host: "hv1", Cmdlet: "Remove-VMSwitch", Effect: door.ErrorRecordEffect, Count: 1,
		Error: &door.ErrorRecord{ID: "AccessDenied,Microsoft.HyperV.PowerShell.Commands.RemoveVMSwitch", Category: "PermissionDenied", Message: "no"}})
	if d := s.apply(nil).errors(); len(d) == 0 || s.state == nil {
		t.Fatalf("%s, state %v", d, s.state)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// TestOtherHostVNics: allow_management_os is about the one host vNIC that is named like the switch; others stay, and
// keep the switch from going whatever disconnect_adapters says (facts.md 16).
func TestOtherHostVNics(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	h := l.harness("hv1")
	s := h.resource(switchType)
	config := func(name string, own bool) object {
		return object{"name": name, "net_adapter_names": list{"iWARP 1"}, "allow_management_os": own, "disconnect_adapters": true}
	}
	vnics := func() (names []string) {
		var all lab.State
		must(t, json.Unmarshal([]byte(l.state()), &all))
		for _, v := range all.Hosts[0].HostVNics {
			names = append(names, v.Name)
		}
		return names
	}
	was := len(vnics())
	mustApply(t, s, config("S", false))
	l.cmdlet("hv1", "host", "Add-VMNetworkAdapter", object{"ManagementOS": true, "SwitchName": "S", "Name": "SMB_1"})
	s.settled(config("S", false)) // Windows now says AllowManagementOS true
	for _, x := range []struct {
		config object
		want   string
	}{
		{config("S", true), "SMB_1 S"},
		{config("T", true), "SMB_1 T"}, // its own goes by the new name too
		{config("T", false), "SMB_1"},
		{config("U", true), "SMB_1 U"},
		{config("V", false), "SMB_1"},
	} {
		mustApply(t, s, x.config)
		s.settled(x.config)
		if got := strings.Join(vnics()[was:], " "); got != x.want {
			t.Errorf("host vNICs %q, want %q", got, x.want)
		}
	}
	l.unchanged(func() {
		says(t, s.apply(nil).errors().String(), `host vNIC "SMB_1"`, "facts.md 16", "Remove-VMNetworkAdapter -ManagementOS")
	})
	l.cmdlet("hv1", "host", "Remove-VMNetworkAdapter", object{"ManagementOS": true, "Name": "SMB_1"})
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
