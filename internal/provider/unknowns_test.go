package provider_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// unknownCase is one position of one switch (facts.md section 7), in one of the labs.
type unknownCase struct {
	position string
	set      func(*lab.Unknowns)
	change   func(*lab.Scenario) // what else the lab needs for the switch to matter
	presets  []string            // without: one of each procedure
	more     map[string]object
	between  func(*testLab) // behind the adapter, before its weights

	instead  func(*testing.T, unknownCase) // what is tried, for a switch that says nothing to a VM's chain
	stops    string                        // the resource that cannot be made
	says     []string                      // what its error says: the rule, and what to do
	restarts int                           // of the VM
}

func iwarp() []string { return []string{"intel-x722"} }
func roce() []string  { return []string{"mellanox-cx3pro"} }

func guestOf(change func(*lab.ScenarioGuest)) func(*lab.Scenario) {
	return func(s *lab.Scenario) { change(s.Hosts[0].VMs[0].Guest) }
}

// unknownCases are all positions by the field of lab.Unknowns.
func unknownCases() map[string][]unknownCase {
	inbox := guestOf(func(g *lab.ScenarioGuest) { g.VFDriver = "inbox" })
	older := guestOf(func(g *lab.ScenarioGuest) { g.OS = lab.ScenarioOS{Name: "windows-server-2016"} })
	nano := guestOf(func(g *lab.ScenarioGuest) { g.OS = lab.ScenarioOS{Name: "nano-server-2016"} })
	saved := func(s *lab.Scenario) { s.Hosts[0].VMs[0].State = "Saved" }
	noWeight := map[string]object{rdmaType: {"rdma_weight": nil}}
	ladder := map[string]object{guestType: {"recovery": list{"guest_rdma", "vm_restart"}}}
	weightMode := map[string]object{switchType: {"minimum_bandwidth_mode": "Weight"}}
	team := map[string]object{
		switchType:  {"net_adapter_names": list{"MyRDMANIC", "MyRDMANIC 2"}, "enable_embedded_teaming": true},
		adapterType: {"team_mapping": "MyRDMANIC"},
	}
	running := func(v string) func(*lab.Unknowns) {
		return func(u *lab.Unknowns) { u.RdmaWeightOnRunningVM = v }
	}
	hostIP := func(v string) func(*lab.Unknowns) {
		return func(u *lab.Unknowns) { u.HostIPOnNewSwitch = v }
	}
	ownSwitch := func(preserve bool) map[string]object {
		return map[string]object{switchType: {"allow_management_os": true, "preserve_host_ip_config": preserve}}
	}
	registry := func(v string) func(*lab.Unknowns) {
		return func(u *lab.Unknowns) { u.GuestRdmaRegistryNeeds = v }
	}
	blocked := func(position, by string, value any, blockers ...string) unknownCase {
		x := unknownCase{
			position: position, presets: iwarp(),
			set: func(u *lab.Unknowns) { u.IovBlockers = append([]string{}, blockers...) }, // empty, not absent: absent is the default
			between: func(l *testLab) {
				l.cmdlet("hv1", "host", "Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R", by: value})
			},
		}
		if len(blockers) > 0 {
			x.stops, x.says = guestType, []string{"vf_assigned", "facts.md 58"}
		}
		return x
	}
	return map[string][]unknownCase{
		"RdmaWeightOnRunningVM": {
			{position: "apply", set: running("apply"), presets: []string{"intel-x722", "intel-e810", "mellanox-cx3pro"}},
			{position: "defer", set: running("defer"), presets: iwarp(), stops: guestType, says: []string{"facts.md 45", "47a", "vm_restart"}},
			{position: "defer, VM restart allowed", set: running("defer"), presets: iwarp(), more: ladder, restarts: 1},
			{position: "defer, no weight on this host", set: running("defer"), presets: roce()},
			{position: "reject", set: running("reject"), presets: iwarp(), restarts: 2}, // up and down
			{position: "reject, by hand", set: running("reject"), presets: iwarp(), more: map[string]object{rdmaType: {"restart_policy": "manual"}}, stops: rdmaType, says: []string{"facts.md 45", `restart_policy = "auto"`}},
			{position: "reject, no weight on this host", set: running("reject"), presets: roce()},
		},
		"RdmaWeightZeroUnderIov": {
			{position: "reject", set: func(u *lab.Unknowns) { u.RdmaWeightZeroUnderIov = "reject" }},
			{position: "accept", set: func(u *lab.Unknowns) { u.RdmaWeightZeroUnderIov = "accept" }},
		},
		"IovWithBandwidthMode": {
			{position: "ignore", set: func(u *lab.Unknowns) { u.IovWithBandwidthMode = "ignore" }},
			{position: "reject", set: func(u *lab.Unknowns) { u.IovWithBandwidthMode = "reject" }},
			{position: "ignore, asked for", set: func(u *lab.Unknowns) { u.IovWithBandwidthMode = "ignore" }, more: weightMode, stops: switchType, says: []string{"Weight", "facts.md 10"}},
			{position: "reject, asked for", set: func(u *lab.Unknowns) { u.IovWithBandwidthMode = "reject" }, more: weightMode, stops: switchType, says: []string{"Weight", "facts.md 10"}},
		},
		"NetAdapterRdmaListsDisabled": {
			{position: "no", set: func(u *lab.Unknowns) { u.NetAdapterRdmaListsDisabled = false }},
			{position: "yes", set: func(u *lab.Unknowns) { u.NetAdapterRdmaListsDisabled = true }},
		},
		"GuestRdmaRegistryNeeds": {
			{position: "net_adapter", set: registry("net_adapter")},
			{position: "bus_device, no such driver", set: registry("bus_device"), presets: iwarp()},
			{position: "bus_device", set: registry("bus_device"), presets: roce(), stops: guestType, says: []string{"A4", "facts.md 36", "mlx4_bus", "restart the host"}},
			{position: "host_reboot", set: registry("host_reboot"), presets: roce(), stops: guestType, says: []string{"A4", "facts.md 36", "mlx4_bus", "restart the host"}},
		},
		"InboxVFDriverRdma": {
			{position: "yes", set: func(u *lab.Unknowns) { u.InboxVFDriverRdma = "yes" }, change: inbox, presets: roce()},
			{position: "no", set: func(u *lab.Unknowns) { u.InboxVFDriverRdma = "no" }, change: inbox, presets: roce(), stops: guestType, says: []string{"facts.md 6", "vendor's VF driver"}},
			{position: "no, vendor's driver", set: func(u *lab.Unknowns) { u.InboxVFDriverRdma = "no" }},
		},
		"DownLevelGuestRdma": {
			{position: "yes", set: func(u *lab.Unknowns) { u.DownLevelGuestRdma = "yes" }, change: older, presets: iwarp(), more: noWeight},
			{position: "no", set: func(u *lab.Unknowns) { u.DownLevelGuestRdma = "no" }, change: older, presets: iwarp(), more: noWeight, stops: guestType, says: []string{"facts.md 3, 5", "rdma_weight"}},
			{position: "no, with a weight", set: func(u *lab.Unknowns) { u.DownLevelGuestRdma = "no" }, change: older, presets: iwarp()},
			{position: "no, ConnectX-3", set: func(u *lab.Unknowns) { u.DownLevelGuestRdma = "no" }, presets: roce()},
		},
		"ConnectX3PortsShareFunction": {
			{position: "no", set: func(u *lab.Unknowns) { u.ConnectX3PortsShareFunction = false }},
			{position: "yes", set: func(u *lab.Unknowns) { u.ConnectX3PortsShareFunction = true }},
			{position: "yes, a team", set: func(u *lab.Unknowns) { u.ConnectX3PortsShareFunction = true }, presets: roce(), more: team},
			{position: "no, a team", set: func(u *lab.Unknowns) { u.ConnectX3PortsShareFunction = false }, presets: roce(), more: team},
		},
		"IovBlockers": {
			blocked("port mirroring blocks", "PortMirroring", "Source", "port_acl", "extended_acl", "port_mirroring"),
			blocked("port mirroring does not block", "PortMirroring", "Source"),
			blocked("MAC address spoofing blocks", "MacAddressSpoofing", "On", "mac_address_spoofing"),
			blocked("MAC address spoofing does not block", "MacAddressSpoofing", "On"),
			blocked("router guard blocks", "RouterGuard", "On", "router_guard"),
			blocked("DHCP guard blocks", "DhcpGuard", "On", "dhcp_guard"),
			blocked("a bandwidth limit blocks", "MaximumBandwidth", 100000000, "bandwidth_limit"),
			blocked("a bandwidth limit does not block", "MaximumBandwidth", 100000000),
		},
		"HostIPOnNewSwitch": {
			{position: "keep", set: hostIP("keep"), presets: iwarp(), change: throughRdmaPort, more: ownSwitch(false)},
			{position: "lose_dns", set: hostIP("lose_dns"), presets: iwarp(), change: throughRdmaPort, more: ownSwitch(false), stops: switchType, says: []string{"the DNS server 192.0.2.1", "facts.md 29", "preserve_host_ip_config = true"}},
			{position: "lose_dns, preserved", set: hostIP("lose_dns"), presets: iwarp(), change: throughRdmaPort, more: ownSwitch(true)},
			{position: "lose, preserved", set: hostIP("lose"), presets: iwarp(), change: throughRdmaPort, more: ownSwitch(true)},
			{position: "lose, another net adapter", set: hostIP("lose")},
		},
		"DcbCmdletsWithoutFeature": dcbUnknown(func(u *lab.Unknowns, v string) { u.DcbCmdletsWithoutFeature = v }, "absent", "present"),
		"DcbFeatureRestart":        dcbUnknown(func(u *lab.Unknowns, v string) { u.DcbFeatureRestart = v }, "no", "yes"),
		"TrafficClassAlgorithm":    dcbUnknown(func(u *lab.Unknowns, v string) { u.TrafficClassAlgorithm = v }, "name", "number"),
		"FirewallSubnetForm": { // TestIwarpFirewallRuleSubnetForm has what depends on it
			{position: "mask", set: func(u *lab.Unknowns) { u.FirewallSubnetForm = "mask" }, presets: iwarp()},
			{position: "prefix", set: func(u *lab.Unknowns) { u.FirewallSubnetForm = "prefix" }, presets: iwarp()},
		},
		"HostVNicRename": { // TestManagementVnicRdmaLifecycle has what depends on it
			{position: "follows", set: func(u *lab.Unknowns) { u.HostVNicRename = "follows" }, presets: iwarp()},
			{position: "stays", set: func(u *lab.Unknowns) { u.HostVNicRename = "stays" }, presets: iwarp()},
		},
		"SavedVMHardware": {
			{position: "reject", set: func(u *lab.Unknowns) { u.SavedVMHardware = "reject" }, change: saved, stops: adapterType, says: []string{"saved", "facts.md 61a"}},
			{position: "accept", set: func(u *lab.Unknowns) { u.SavedVMHardware = "accept" }, change: saved, stops: adapterType, says: []string{"saved", "facts.md 61a"}},
		},
		"NanoServerRunner": {
			{position: "yes", set: func(u *lab.Unknowns) { u.NanoServerRunner = "yes" }, change: nano, presets: roce()},
			{position: "no", set: func(u *lab.Unknowns) { u.NanoServerRunner = "no" }, change: nano, presets: roce(), stops: guestType, says: []string{"Nano Server"}},
		},
	}
}

// TestUnknowns: whatever Windows turns out to do, everything comes up, or the provider stops with an error that
// names the rule, taints nothing, and takes down what it made.
func TestUnknowns(t *testing.T) {
	cases := unknownCases()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[lab.Unknowns]()) {
		if len(cases[field.Name]) < 2 {
			t.Errorf("the switch %s is not tried in both positions", field.Name)
		}
		for _, x := range cases[field.Name] {
			presets := x.presets
			if presets == nil {
				presets = []string{"intel-x722", "mellanox-cx3pro"}
			}
			for _, preset := range presets {
				t.Run(fmt.Sprintf("%s/%s/%s", field.Name, x.position, preset), func(t *testing.T) {
					t.Parallel()
					if x.instead != nil {
						x.instead(t, x)
						return
					}
					x.try(t, preset)
				})
			}
		}
	}
}

func (x unknownCase) try(t *testing.T, preset string) {
	l := startLab(t, preset, func(s *lab.Scenario) {
		x.set(&s.Unknowns)
		if x.change != nil {
			x.change(s)
		}
	})
	before := l.state()
	vm := oneVM{preset: preset, more: x.more}
	if x.between != nil {
		vm.between = func() { x.between(l) }
	}
	c := vm.make(t, l.harness("hv1"))
	switch {
	case c.stopped != x.stops:
		t.Errorf("stopped at %q, want %q: %s", c.stopped, x.stops, c.said.errors())
	case x.stops == "":
		c.settled(t)
	}
	for _, says := range x.says {
		if !strings.Contains(c.said.errors().String(), says) {
			t.Errorf("the error does not say %q:\n%s", says, c.said.errors())
		}
	}
	c.destroy(t)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	if got := restarts(l.journal())["vm_restart"]; got != x.restarts {
		t.Errorf("%d restarts of the VM, want %d", got, x.restarts)
	}
}

// Where Hyper-V may refuse a weight on a running VM, the plan shows that the VM may be restarted.
func TestUnknownRestartIsPlanned(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) { s.Unknowns.RdmaWeightOnRunningVM = "reject" })
	p := l.harness("hv1").resource(rdmaType).plan(object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
	planned, _ := p.state["planned_restarts"].(list)
	if len(planned) != 1 || planned[0].(object)["kind"] != "vm" || planned[0].(object)["target"] != "vm1" {
		t.Errorf("planned_restarts %v: want the VM", p.state["planned_restarts"])
	}
	if !strings.Contains(p.warnings().String(), "vm1") {
		t.Errorf("no warning: %s", p.diagnostics)
	}
}
