package provider_test

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"

// restartRows is the table of TestRestartTable. What restarts follows from facts.md, not from the code.
func restartRows() []restartRow {
	rows := nicRows()
	rows = append(rows, switchRows()...)
	rows = append(rows, adapterRows()...)
	rows = append(rows, rdmaRows()...)
	return append(rows, guestRows()...)
}

func nicRows() []restartRow {
	nic := func(more object) object {
		return merged(object{"net_adapter_names": list{"iWARP 1"}, "profile": "intel_x722"}, more)
	}
	mlx := func(more object) object {
		return merged(object{"net_adapter_names": list{"MyRDMANIC"}, "profile": "mellanox_cx3pro"}, more)
	}
	const own = "net_adapter iWARP 1 always" // a device is named by the ports of the configuration until it was read
	e810 := func(more object) object {
		return merged(object{"net_adapter_names": list{"iWARP 2"}, "profile": "intel_e810"}, more)
	}
	noSriov := func(s *lab.Scenario) {
		for i := range rdmaPorts(s) {
			rdmaPorts(s)[i].Keywords = map[string]string{"*SRIOV": "0"}
		}
	}
	return []restartRow{
		{name: "rdma_max_vfs, none -> 8 (facts 35)", typ: nicType, after: nic(object{"rdma_max_vfs": 8}), planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "rdma_max_vfs, 8 -> 16 (facts 35)", typ: nicType, before: nic(object{"rdma_max_vfs": 8}), after: nic(object{"rdma_max_vfs": 16}), planned: []string{x722Device}, restarts: x722Ports()},
		{name: "rdma_max_vfs, 8 -> not managed: put back (facts 35)", typ: nicType, before: nic(object{"rdma_max_vfs": 8, "sriov": true}), after: nic(object{"sriov": true}), planned: []string{x722Device}, restarts: x722Ports()},
		{name: "rdma_max_vfs, 8 -> destroyed (facts 35)", typ: nicType, before: nic(object{"rdma_max_vfs": 8}), planned: []string{x722Device}, restarts: x722Ports()},
		{name: "rdma_max_vfs on another port of the device (facts 35)", typ: nicType, before: nic(object{"rdma_max_vfs": 8}), after: nic(object{"rdma_max_vfs": 8, "net_adapter_names": list{"iWARP 1", "iWARP 2"}})},
		{name: "rdma_max_vfs on E810, none -> 4 (facts 35)", preset: "intel-e810", typ: nicType, after: e810(object{"rdma_max_vfs": 4}), planned: []string{"net_adapter iWARP 2 always"}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "sriov, off -> on (facts 33, 34)", typ: nicType, lab: noSriov, after: nic(object{"sriov": true}), planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "sriov and rdma_max_vfs at once: one restart (facts 33)", typ: nicType, lab: noSriov, after: nic(object{"sriov": true, "rdma_max_vfs": 8}), planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "advanced_properties, changed (facts 33, 34)", typ: nicType, before: nic(object{"advanced_properties": object{"*JumboPacket": "9014"}}), after: nic(object{"advanced_properties": object{"*JumboPacket": "1514"}}), planned: []string{x722Device}, restarts: x722Ports()},
		{name: "num_vfs, none -> 8 (facts 31)", typ: nicType, after: nic(object{"num_vfs": 8}), planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "vmq and sriov as they are already: nothing", typ: nicType, before: nic(object{"rdma_max_vfs": 8, "sriov": true, "vmq": true}), after: nic(object{"rdma_max_vfs": 8, "sriov": true, "vmq": true})},
		{name: "timeouts alone: nothing", typ: nicType, before: nic(object{"rdma_max_vfs": 8}), after: nic(object{"rdma_max_vfs": 8, "timeouts": object{"update": "20m"}})},
		{name: "restart_on_destroy alone: nothing", typ: nicType, before: nic(object{"rdma_max_vfs": 8}), after: nic(object{"rdma_max_vfs": 8, "restart_on_destroy": false})},
		{name: "no profile in the configuration: known all the same (facts 33)", typ: nicType, after: object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8}, planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "guest_rdma_registry, none -> 1 on ConnectX-3 (facts 36)", preset: "mellanox-cx3pro", typ: nicType, after: mlx(object{"guest_rdma_registry": object{"value": 1}}), planned: []string{"net_adapter MyRDMANIC always"}, owed: []string{"net_adapter MyRDMANIC, MyRDMANIC 2"}, restarts: mlxPorts()},
		{name: "guest_rdma_registry, 1 -> destroyed (facts 36)", preset: "mellanox-cx3pro", typ: nicType, before: mlx(object{"guest_rdma_registry": object{"value": 1}}), planned: []string{mlxDevice}, restarts: mlxPorts()},
		{name: "sriov on ConnectX-3, on -> on, with another profile's rules (facts 33)", preset: "mellanox-cx3pro", typ: nicType, before: mlx(object{"sriov": true, "guest_rdma_registry": object{"value": 1}}), after: mlx(object{"sriov": true, "guest_rdma_registry": object{"value": 1}})},
		{name: "a running VM on the device changes nothing of it (facts 35)", typ: nicType, lab: onIovSwitch, before: nic(object{"rdma_max_vfs": 8}), after: nic(object{"rdma_max_vfs": 4}), planned: []string{x722Device}, restarts: x722Ports()},
	}
}

func switchRows() []restartRow {
	intel := func(more object) object {
		return merged(object{"name": "S", "net_adapter_names": list{"iWARP 1"}, "profile": "intel_x722", "allow_management_os": false}, more)
	}
	mlx := func(more object) object {
		return merged(object{"name": "S", "net_adapter_names": list{"MyRDMANIC"}, "profile": "mellanox_cx3pro", "allow_management_os": false}, more)
	}
	const own = "net_adapter iWARP 1 always"
	return []restartRow{
		{name: "a switch is made on Intel (facts 25)", typ: switchType, after: intel(nil), planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "a switch is made on E810 (facts 25)", preset: "intel-e810", typ: switchType, after: intel(object{"profile": "intel_e810"}), planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "a switch is made on ConnectX-3: no rule asks for a restart (facts 25)", preset: "mellanox-cx3pro", typ: switchType, after: mlx(nil)},
		{name: "a team is made on Intel: its device once (facts 25)", typ: switchType, after: intel(object{"net_adapter_names": list{"iWARP 1", "iWARP 2"}}), planned: []string{x722Device}, restarts: x722Ports()},
		{name: "a switch on Intel is destroyed (facts 25)", typ: switchType, before: intel(nil), planned: []string{own}, restarts: x722Ports()},
		{name: "a switch on ConnectX-3 is destroyed (facts 25)", preset: "mellanox-cx3pro", typ: switchType, before: mlx(nil)},
		{name: "a switch on Intel is replaced: removed and made (facts 8, 25)", typ: switchType, before: intel(nil), after: intel(object{"minimum_bandwidth_mode": "None"}), planned: []string{own},
			restarts: append(x722Ports(), x722Ports()...), autoOnly: true},
		{name: "notes: nothing", typ: switchType, before: intel(object{"notes": "a"}), after: intel(object{"notes": "b"})},
		{name: "name: nothing", typ: switchType, before: intel(nil), after: intel(object{"name": "T"})},
		{name: "allow_management_os, false -> true: nothing (facts 16)", typ: switchType, before: intel(nil), after: intel(object{"allow_management_os": true})},
		{name: "load_balancing_algorithm: nothing (facts 13)", typ: switchType, before: intel(object{"net_adapter_names": list{"iWARP 1", "iWARP 2"}, "load_balancing_algorithm": "HyperVPort"}),
			after: intel(object{"net_adapter_names": list{"iWARP 1", "iWARP 2"}, "load_balancing_algorithm": "Dynamic"})},
		{name: "a member joins a team on Intel (facts 19, 25)", typ: switchType, before: intel(object{"enable_embedded_teaming": true}), after: intel(object{"enable_embedded_teaming": true, "net_adapter_names": list{"iWARP 1", "iWARP 2"}}),
			planned: []string{x722Device}, restarts: x722Ports()},
		{name: "a member leaves a team on Intel (facts 19, 25)", typ: switchType, before: intel(object{"enable_embedded_teaming": true, "net_adapter_names": list{"iWARP 1", "iWARP 2"}}), after: intel(object{"enable_embedded_teaming": true}),
			planned: []string{own}, owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
		{name: "a member joins a team on ConnectX-3: nothing (facts 19, 25)", preset: "mellanox-cx3pro", typ: switchType, before: mlx(object{"enable_embedded_teaming": true}), after: mlx(object{"enable_embedded_teaming": true, "net_adapter_names": list{"MyRDMANIC", "MyRDMANIC 2"}})},
		{name: "preserve_host_ip_config: nothing", typ: switchType, before: intel(nil), after: intel(object{"preserve_host_ip_config": true})},
		{name: "require_iov_support: nothing", typ: switchType, before: intel(nil), after: intel(object{"require_iov_support": true})},
		{name: "no profile in the configuration: not known before the switch is there (facts 25)", typ: switchType, after: object{"name": "S", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false}, planned: []string{"unknown"},
			owed: []string{"net_adapter iWARP 1, iWARP 2"}, restarts: x722Ports()},
	}
}

func adapterRows() []restartRow {
	adapter := func(more object) object {
		return merged(object{"vm_name": "vm1", "name": "A", "switch_name": "RDMA", "restart_policy": "auto"}, more)
	}
	vm := func(generation int, state string) func(*lab.Scenario) {
		return func(s *lab.Scenario) {
			onIovSwitch(s)
			v := &s.Hosts[0].VMs[0]
			v.Generation, v.State = generation, state
		}
	}
	may := []string{"vm vm1 if_generation_1"}
	return []restartRow{
		{name: "an adapter comes, Generation 2, running (facts 61a)", typ: adapterType, lab: vm(2, "Running"), after: adapter(nil), planned: may},
		{name: "an adapter comes, Generation 1, running (facts 61a)", typ: adapterType, lab: vm(1, "Running"), after: adapter(nil), planned: may, restarts: []string{"vm vm1"}},
		{name: "an adapter comes, Generation 1, off (facts 61a)", typ: adapterType, lab: vm(1, "Off"), after: adapter(nil), planned: may},
		{name: "an adapter comes, Generation 1, saved (facts 61a)", typ: adapterType, lab: vm(1, "Saved"), after: adapter(nil), planned: may, fails: []string{"facts.md 61a"}},
		{name: "an adapter goes, Generation 1, running (facts 61a)", typ: adapterType, lab: vm(1, "Running"), before: adapter(nil), planned: may, restarts: []string{"vm vm1"}},
		{name: "an adapter goes, Generation 2, running (facts 61a)", typ: adapterType, lab: vm(2, "Running"), before: adapter(nil), planned: may},
		{name: "vlan of an adapter: nothing (facts 60)", typ: adapterType, lab: vm(1, "Running"), before: adapter(nil), after: adapter(object{"vlan": object{"access_vlan_id": 10}})},
		{name: "switch of an adapter: nothing", typ: adapterType, lab: vm(1, "Running"), before: adapter(nil), after: adapter(object{"switch_name": "LAN"})},
		{name: "name of an adapter: nothing", typ: adapterType, lab: vm(2, "Running"), before: adapter(nil), after: adapter(object{"name": "B"})},
		{name: "vm_restart of an adapter: nothing", typ: adapterType, lab: vm(1, "Running"), before: adapter(nil), after: adapter(object{"vm_restart": object{"on_timeout": "turn_off"}})},
	}
}

func rdmaRows() []restartRow {
	weights := func(iov, rdma any, more object) object {
		return merged(object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": iov, "rdma_weight": rdma}, more)
	}
	refuses := func(s *lab.Scenario) { onIovSwitch(s); s.Unknowns.RdmaWeightOnRunningVM = "reject" }
	off := func(s *lab.Scenario) { refuses(s); s.Hosts[0].VMs[0].State = "Off" }
	may := []string{"vm vm1 if_recovery_needed"}
	return []restartRow{
		{name: "iov_weight, 0 -> 100: taken while it runs (facts 43, 46)", typ: rdmaType, lab: onIovSwitch, after: weights(100, nil, nil)},
		{name: "iov_weight, 100 -> 50 (facts 43)", typ: rdmaType, lab: onIovSwitch, before: weights(100, nil, nil), after: weights(50, nil, nil)},
		{name: "rdma_weight, 0 -> 100, where it is taken (facts 45)", typ: rdmaType, lab: onIovSwitch, after: weights(100, 100, nil), planned: may},
		{name: "rdma_weight, 0 -> 100, where it is refused (facts 45)", typ: rdmaType, lab: refuses, after: weights(100, 100, nil), planned: may, restarts: []string{"vm vm1"}},
		{name: "rdma_weight, 0 -> 100, off (facts 45)", typ: rdmaType, lab: off, after: weights(100, 100, nil), planned: may},
		{name: "rdma_weight, 100 -> destroyed, where it is refused (facts 44, 45)", typ: rdmaType, lab: refuses, before: weights(100, 100, nil), planned: may, restarts: []string{"vm vm1"}},
		{name: "iov_weight, 100 -> 50, beside rdma_weight (facts 44)", typ: rdmaType, lab: onIovSwitch, before: weights(100, 100, nil), after: weights(50, 100, nil)},
		{name: "iov_queue_pairs_requested: a new VF, no restart (facts 47a)", typ: rdmaType, lab: onIovSwitch, before: weights(100, 100, nil), after: weights(100, 100, object{"iov_queue_pairs_requested": 4})},
		{name: "iov_interrupt_moderation: nothing (facts 43)", typ: rdmaType, lab: onIovSwitch, before: weights(100, 100, nil), after: weights(100, 100, object{"iov_interrupt_moderation": "Adaptive"})},
		{name: "vm_restart of weights alone: nothing", typ: rdmaType, lab: refuses, before: weights(100, 100, nil), after: weights(100, 100, object{"vm_restart": object{"shutdown_timeout": "1m"}})},
		{name: "the same weights again: nothing", typ: rdmaType, lab: refuses, before: weights(100, 100, nil), after: weights(100, 100, nil)},
	}
}

func guestRows() []restartRow {
	needs := func(n int) func(*lab.Scenario) {
		return func(s *lab.Scenario) { onIovSwitch(s); s.Hosts[0].VMs[0].Guest.RecoveryNeeded = n }
	}
	others := map[string]object{
		nicType:  {"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8},
		rdmaType: {"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100},
	}
	all := list{"guest_rdma", "net_adapter", "vm_restart"}
	ladder := []string{"guest_rdma vm1 if_recovery_needed", "net_adapter the device of VM vm1's switch if_recovery_needed", "vm vm1 if_recovery_needed"}
	return []restartRow{
		{name: "enablement, no step needed (facts 66)", typ: guestType, lab: needs(0), others: others, after: guestConfig(object{"recovery": all}), planned: ladder},
		{name: "enablement, one step needed: RDMA in the guest alone (facts 66)", typ: guestType, lab: needs(1), others: others, after: guestConfig(nil), planned: ladder[:1]},
		{name: "enablement, two steps needed (facts 66)", typ: guestType, lab: needs(2), others: others, after: guestConfig(object{"recovery": all}), planned: ladder, restarts: x722Ports()},
		{name: "enablement, three steps needed (facts 66)", typ: guestType, lab: needs(3), others: others, after: guestConfig(object{"recovery": all}), planned: ladder, restarts: append(x722Ports(), "vm vm1")},
		{name: "enablement, three steps needed, the VM alone allowed (facts 66)", typ: guestType, lab: needs(3), others: others, after: guestConfig(object{"recovery": list{"vm_restart"}}), planned: ladder[2:], restarts: []string{"vm vm1"}},
		{name: "enablement, two steps needed, none allowed (facts 66)", typ: guestType, lab: needs(2), others: others, after: guestConfig(object{"recovery": list{}}), fails: []string{"smb_rdma_capable"}},
		{name: "enablement, no step helps: each is taken once (facts 66)", typ: guestType, lab: needs(4), others: others, after: guestConfig(object{"recovery": all}), planned: ladder, restarts: append(x722Ports(), "vm vm1"), fails: []string{"smb_rdma_capable"}},
		{name: "enabled -> off: nothing but RDMA in the guest (facts 64)", typ: guestType, lab: needs(0), others: others, before: guestConfig(nil), after: guestConfig(object{"enabled": false})},
		{name: "on_unreachable of an enablement: nothing", typ: guestType, lab: needs(0), others: others, before: guestConfig(nil), after: guestConfig(object{"on_unreachable": "forget"}), planned: ladder[:1]},
		{name: "an enablement is destroyed: nothing but RDMA in the guest (facts 64)", typ: guestType, lab: needs(0), others: others, before: guestConfig(nil)},
	}
}
