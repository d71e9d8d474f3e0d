package provider_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// outOfBand is a cmdlet that somebody else runs.
type outOfBand struct {
	target, cmdlet string
	parameters     object
}

func onHost(cmdlet string, parameters object) outOfBand { return outOfBand{"host", cmdlet, parameters} }
func inGuest(cmdlet string, parameters object) outOfBand {
	return outOfBand{"guest:vm1", cmdlet, parameters}
}

const gone = "(to be created anew)"

// TestDrift: what somebody else changed is what the next plan shows, no more and no less, and an apply repairs it.
func TestDrift(t *testing.T) {
	r := func(more object) object { return merged(object{"VMName": "vm1", "Name": "R"}, more) }
	const registry = `HKLM:\SYSTEM\CurrentControlSet\Services\mlx4_bus\Parameters`
	for name, x := range map[string]struct {
		preset  string // intel-x722 without
		change  func(*lab.Scenario)
		more    map[string]object
		somehow []outOfBand
		back    []outOfBand         // what takes back a change that is no drift, and so stays
		want    map[string][]string // by type: attributes that the plan changes, or gone
		follows map[string]object   // how a person answers where an apply cannot repair it
		other   bool                // the lab cannot be as it was
		lost    bool                // what is gone stays gone: the rest is destroyed, with everything that the ledger knew
	}{
		"nothing": {},
		"IovWeight to 0": {
			somehow: []outOfBand{onHost("Set-VMNetworkAdapter", r(object{"IovWeight": 0}))},
			want:    map[string][]string{rdmaType: {"iov_weight"}},
		},
		"both weights to 0": {
			somehow: []outOfBand{onHost("Set-VMNetworkAdapter", r(object{"IovWeight": 0})), onHost("Set-VMNetworkAdapterRdma", r(object{"RdmaWeight": 0}))},
			want:    map[string][]string{rdmaType: {"iov_weight", "rdma_weight"}},
		},
		"RdmaWeight to another value": {
			somehow: []outOfBand{onHost("Set-VMNetworkAdapterRdma", r(object{"RdmaWeight": 50}))},
			want:    map[string][]string{rdmaType: {"rdma_weight"}},
		},
		"IovWeight on one adapter of two": {
			change: func(s *lab.Scenario) {
				s.Hosts[0].VMs[0].Adapters = append(s.Hosts[0].VMs[0].Adapters, lab.ScenarioAdapter{Name: "Other", Switch: "LAN"})
			},
			somehow: []outOfBand{onHost("Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other", "IovWeight": 50})},
			back:    []outOfBand{onHost("Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "Other", "IovWeight": 0})},
		},
		"a setting that nobody manages": {
			somehow: []outOfBand{onHost("Set-VMNetworkAdapter", r(object{"IovInterruptModeration": "Low"}))},
		},
		"switch deleted": {
			somehow: []outOfBand{onHost("Disconnect-VMNetworkAdapter", r(nil)), onHost("Remove-VMSwitch", object{"Name": "RDMA", "Force": true})},
			want:    map[string][]string{switchType: {gone}, adapterType: {"switch_name"}},
		},
		"notes of the switch": {
			more:    map[string]object{switchType: {"notes": "ours"}},
			somehow: []outOfBand{onHost("Set-VMSwitch", object{"Name": "RDMA", "Notes": "theirs"})},
			want:    map[string][]string{switchType: {"notes"}},
		},
		"a virtual adapter for the host on the switch": {
			somehow: []outOfBand{onHost("Set-VMSwitch", object{"Name": "RDMA", "AllowManagementOS": true})},
			want:    map[string][]string{switchType: {"allow_management_os"}},
		},
		"keyword on both ports": {
			somehow: []outOfBand{onHost("Set-NetAdapterAdvancedProperty", object{"Name": list{"iWARP 1", "iWARP 2"}, "RegistryKeyword": "RdmaMaxVfsEnabled", "RegistryValue": list{"4"}})},
			want:    map[string][]string{nicType: {"rdma_max_vfs"}},
		},
		"keyword on one port": {
			somehow: []outOfBand{onHost("Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 2", "RegistryKeyword": "RdmaMaxVfsEnabled", "RegistryValue": list{"4"}})},
			want:    map[string][]string{nicType: {"rdma_max_vfs"}},
		},
		"SR-IOV off on the other port": {
			somehow: []outOfBand{onHost("Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 2", "RegistryKeyword": "`*SRIOV", "RegistryValue": list{"0"}})},
			want:    map[string][]string{nicType: {"sriov"}},
		},
		"keyword that nobody manages": {
			somehow: []outOfBand{onHost("Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 2", "RegistryKeyword": "`*JumboPacket", "RegistryValue": list{"9014"}})},
			back:    []outOfBand{onHost("Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 2", "RegistryKeyword": "`*JumboPacket", "RegistryValue": list{"1514"}})},
		},
		"EnableGuestRdma to 0": {
			preset:  "mellanox-cx3pro",
			somehow: []outOfBand{onHost("Set-ItemProperty", object{"Path": registry, "Name": "EnableGuestRdma", "Value": 0})},
			want:    map[string][]string{nicType: {"guest_rdma_registry"}},
		},
		"EnableGuestRdma removed": {
			preset:  "mellanox-cx3pro",
			somehow: []outOfBand{onHost("Remove-ItemProperty", object{"Path": registry, "Name": "EnableGuestRdma"})},
			want:    map[string][]string{nicType: {"guest_rdma_registry"}},
		},
		"RDMA off on the Hyper-V adapter in the guest": {
			somehow: []outOfBand{inGuest("Disable-NetAdapterRdma", object{"Name": "Ethernet 2"})},
			want:    map[string][]string{guestType: {"enabled"}},
		},
		"RDMA off on the virtual function in the guest": {
			somehow: []outOfBand{inGuest("Disable-NetAdapterRdma", object{"Name": "Ethernet 3"})},
			want:    map[string][]string{guestType: {"enabled"}},
		},
		"the driver's keyword off in the guest": {
			somehow: []outOfBand{inGuest("Set-NetAdapterAdvancedProperty", object{"Name": "Ethernet 3", "RegistryKeyword": "RdmaVfEnabled", "RegistryValue": list{"0"}})},
			want:    map[string][]string{guestType: {"enabled"}},
		},
		"net adapter renamed in the guest": {
			somehow: []outOfBand{inGuest("Rename-NetAdapter", object{"Name": "Ethernet 2", "NewName": "RDMA 'x' $(y)"}), inGuest("Rename-NetAdapter", object{"Name": "Ethernet 3", "NewName": "VF [1]*"})},
		},
		"VM renamed": {
			somehow: []outOfBand{onHost("Set-VM", object{"Name": "vm1", "NewVMName": "new"})},
			want:    map[string][]string{adapterType: {"vm_name"}, rdmaType: {"vm_name"}, guestType: {"vm_name"}},
			follows: map[string]object{adapterType: {"vm_name": "new"}, rdmaType: {"vm_name": "new"}, guestType: {"vm_name": "new"}},
			other:   true,
		},
		"adapter renamed": {
			somehow: []outOfBand{onHost("Rename-VMNetworkAdapter", r(object{"NewName": "Z"}))},
			want:    map[string][]string{adapterType: {"name"}},
		},
		"VLAN moved to isolation": {
			more:    map[string]object{adapterType: {"vlan": object{"access_vlan_id": 7}}},
			somehow: []outOfBand{onHost("Set-VMNetworkAdapterVlan", object{"VMName": "vm1", "VMNetworkAdapterName": "R", "Untagged": true}), onHost("Set-VMNetworkAdapterIsolation", object{"VMName": "vm1", "VMNetworkAdapterName": "R", "IsolationMode": "Vlan", "DefaultIsolationID": 7})},
			want:    map[string][]string{adapterType: {"vlan"}},
		},
		"another VLAN": {
			more:    map[string]object{adapterType: {"vlan": object{"access_vlan_id": 7}}},
			somehow: []outOfBand{onHost("Set-VMNetworkAdapterVlan", object{"VMName": "vm1", "VMNetworkAdapterName": "R", "Access": true, "VlanId": 8})},
			want:    map[string][]string{adapterType: {"vlan"}},
		},
		"MAC address": {
			more:    map[string]object{adapterType: {"mac_address": "00-15-5D-00-AA-01"}},
			somehow: []outOfBand{onHost("Stop-VM", object{"Name": "vm1", "Force": true}), onHost("Set-VMNetworkAdapter", r(object{"StaticMacAddress": "00155D00AA02"}))},
			want:    map[string][]string{adapterType: {"mac_address"}},
			back:    []outOfBand{onHost("Start-VM", object{"Name": "vm1"})},
		},
		"adapter disconnected": {
			somehow: []outOfBand{onHost("Disconnect-VMNetworkAdapter", r(nil))},
			want:    map[string][]string{adapterType: {"switch_name"}},
		},
		"adapter on another switch": {
			somehow: []outOfBand{onHost("Connect-VMNetworkAdapter", r(object{"SwitchName": "LAN"}))},
			want:    map[string][]string{adapterType: {"switch_name"}},
		},
		"adapter removed": {
			somehow: []outOfBand{onHost("Remove-VMNetworkAdapter", r(nil))},
			want:    map[string][]string{adapterType: {gone}, rdmaType: {gone}, guestType: {gone}},
		},
		"adapter removed, and not wanted any more": {
			somehow: []outOfBand{onHost("Remove-VMNetworkAdapter", r(nil))},
			want:    map[string][]string{adapterType: {gone}, rdmaType: {gone}, guestType: {gone}},
			lost:    true,
		},
		"VM removed": {
			somehow: []outOfBand{onHost("Stop-VM", object{"Name": "vm1", "TurnOff": true, "Force": true}), onHost("Remove-VM", object{"Name": "vm1", "Force": true})},
			want:    map[string][]string{adapterType: {gone}, rdmaType: {gone}, guestType: {gone}},
			lost:    true, other: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			preset := x.preset
			if preset == "" {
				preset = "intel-x722"
			}
			change := x.change
			if change == nil {
				change = func(*lab.Scenario) {}
			}
			l := startLab(t, preset, change)
			before := l.state()
			c := oneVM{preset: preset, more: x.more}.make(t, l.harness("hv1"))
			if c.stopped != "" {
				t.Fatal(c.said)
			}
			c.settled(t)
			for _, o := range x.somehow {
				l.cmdlet("hv1", o.target, o.cmdlet, o.parameters)
			}
			if got := c.drift(t); (len(got) != 0 || len(x.want) != 0) && !reflect.DeepEqual(got, x.want) {
				t.Errorf("the next plan changes %v, want %v", got, x.want)
			}
			if t.Failed() {
				return
			}
			for n := range c.configs {
				if x.lost && c.made[n].state == nil {
					continue
				}
				c.configs[n] = merged(c.configs[n], x.follows[c.made[n].typ])
				if d := c.made[n].apply(c.configs[n]).errors(); len(d) > 0 {
					t.Fatalf("repair of %s: %s", c.made[n].typ, d)
				}
			}
			for _, o := range x.back {
				l.cmdlet("hv1", o.target, o.cmdlet, o.parameters)
			}
			if !x.lost {
				c.comesUp(t)
				c.settled(t)
			}
			c.destroy(t)
			after := l.state()
			if after != before && !x.other {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
			if strings.Contains(after, ledgerKey) {
				t.Error("the ledger is still there")
			}
		})
	}
}

// drift refreshes and plans everything, and lists by type what each plan changes. A replacement would be drift
// of another kind, so it fails the test.
func (c *builtVM) drift(t testing.TB) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for n, i := range c.made {
		if d := i.refresh().errors(); len(d) > 0 {
			t.Fatalf("refresh of %s: %s", i.typ, d)
		}
		if i.state == nil {
			out[i.typ] = []string{gone}
			continue
		}
		p := i.plan(c.configs[n])
		if len(p.errors()) > 0 || len(p.replace) > 0 {
			t.Errorf("plan of %s replaces for %v: %s", i.typ, p.replace, p.diagnostics)
			continue
		}
		if names := drifted(i.state, p.state); len(names) > 0 {
			out[i.typ] = names
		} else if !p.empty(i.state) {
			out[i.typ] = []string{fmt.Sprintf("not empty, yet nothing to show: %v", differences(i.state, p.state, ""))}
		}
	}
	return out
}

// comesUp waits until the guest is ready again: a VM that was just started takes a moment.
func (c *builtVM) comesUp(t testing.TB) {
	t.Helper()
	guest := c.of(guestType)
	for end := time.Now().Add(5 * time.Second); actual(guest, "stage") != "smb_rdma_capable" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if d := guest.refresh().errors(); len(d) > 0 {
			t.Fatal(d)
		}
	}
}
