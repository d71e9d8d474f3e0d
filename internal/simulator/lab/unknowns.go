package lab

// Unknowns are the questions to which no public text gives an answer (facts.md section 7, and facts marked
// [I]). Each is a switch of the scenario; the provider must reach its goal, or stop with an error that names
// the rule, in every position. The zero value is the reading that facts.md prefers.
type Unknowns struct {
	// RdmaWeightOnRunningVM: what VMMS does with Set-VMNetworkAdapterRdma on a running VM: "apply" (the next
	// VF allocation uses it), "defer" (used from the next start of the VM), "reject" (InvalidState).
	RdmaWeightOnRunningVM string `json:"rdma_weight_on_running_vm" yaml:"rdma_weight_on_running_vm" jsonschema:"enum=apply,enum=defer,enum=reject,default=apply"`
	// RdmaWeightZeroUnderIov: RdmaWeight to 0 while IovWeight is above 0: "reject" or "accept" (facts.md 44, case 50).
	RdmaWeightZeroUnderIov string `json:"rdma_weight_zero_under_iov" yaml:"rdma_weight_zero_under_iov" jsonschema:"enum=reject,enum=accept,default=reject"`
	// IovWithBandwidthMode: New-VMSwitch -EnableIov with Weight or Absolute: "ignore" (made without IOV effect) or "reject" (facts.md 11).
	IovWithBandwidthMode string `json:"iov_with_bandwidth_mode" yaml:"iov_with_bandwidth_mode" jsonschema:"enum=ignore,enum=reject,default=ignore"`
	// NetAdapterRdmaListsDisabled: whether Get-NetAdapterRdma lists disabled adapters (facts.md 37).
	NetAdapterRdmaListsDisabled bool `json:"net_adapter_rdma_lists_disabled" yaml:"net_adapter_rdma_lists_disabled"`
	// GuestRdmaRegistryNeeds: what must restart after EnableGuestRdma changed: "net_adapter", "bus_device", "host_reboot" (procedure A4).
	GuestRdmaRegistryNeeds string `json:"guest_rdma_registry_needs" yaml:"guest_rdma_registry_needs" jsonschema:"enum=net_adapter,enum=bus_device,enum=host_reboot,default=net_adapter"`
	// InboxVFDriverRdma: whether the in-box VF driver of ConnectX-3 on Windows Server 2016 does RDMA in the guest: "yes" or "no".
	InboxVFDriverRdma string `json:"inbox_vf_driver_rdma" yaml:"inbox_vf_driver_rdma" jsonschema:"enum=yes,enum=no,default=yes"`
	// DownLevelGuestRdma: whether a guest before Windows 10 1703 gets RDMA with IovWeight alone on a host other than ConnectX-3: "yes" or "no" (facts.md 3, 5).
	DownLevelGuestRdma string `json:"down_level_guest_rdma" yaml:"down_level_guest_rdma" jsonschema:"enum=yes,enum=no,default=yes"`
	// ConnectX3PortsShareFunction: the ports of a ConnectX-3 report one PCI function or two.
	ConnectX3PortsShareFunction bool `json:"connectx3_ports_share_function" yaml:"connectx3_ports_share_function"`
	// HostIPOnNewSwitch: what the host vNIC of a new switch takes over of its adapter's static configuration: "keep" (all of
	// it), "lose_dns" (addresses and gateway only), "lose" (nothing: it gets an automatic private address) (facts.md 29, case 47).
	HostIPOnNewSwitch string `json:"host_ip_on_new_switch" yaml:"host_ip_on_new_switch" jsonschema:"enum=keep,enum=lose_dns,enum=lose,default=keep"`
	// FirewallSubnetForm: how a firewall rule's subnet reads back that was given as a prefix: "mask" (10.0.0.0/255.255.255.0) or
	// "prefix" (10.0.0.0/24). No page says.
	FirewallSubnetForm string `json:"firewall_subnet_form" yaml:"firewall_subnet_form" jsonschema:"enum=mask,enum=prefix,default=mask"`
	// HostVNicRename: whether the net adapter "vEthernet (name)" of a host vNIC takes the new name that Rename-VMNetworkAdapter
	// gives the vNIC: "follows" or "stays" (facts.md 88 tells the two names apart, not what a rename does).
	HostVNicRename string `json:"host_vnic_rename" yaml:"host_vnic_rename" jsonschema:"enum=follows,enum=stays,default=follows"`
	// IovBlockers: policies that make the platform itself drop the VF (facts.md 58).
	IovBlockers []string `json:"iov_blockers" yaml:"iov_blockers" jsonschema:"default=port_acl,default=extended_acl,default=port_mirroring"`
	// SavedVMHardware: changing hardware of a saved VM: "reject" or "accept" (facts.md 61a).
	SavedVMHardware string `json:"saved_vm_hardware" yaml:"saved_vm_hardware" jsonschema:"enum=reject,enum=accept,default=reject"`
	// NanoServerRunner: whether a running Nano Server can be a target of the runner: "yes" or "no".
	NanoServerRunner string `json:"nano_server_runner" yaml:"nano_server_runner" jsonschema:"enum=yes,enum=no,default=yes"`
	// DcbCmdletsWithoutFeature: whether the cmdlets of module DcbQos are there before Data-Center-Bridging is installed: "absent" or "present".
	DcbCmdletsWithoutFeature string `json:"dcb_cmdlets_without_feature" yaml:"dcb_cmdlets_without_feature" jsonschema:"enum=absent,enum=present,default=absent"`
	// DcbFeatureRestart: whether the host must restart before Data-Center-Bridging is there, or is gone: "no" or "yes".
	DcbFeatureRestart string `json:"dcb_feature_restart" yaml:"dcb_feature_restart" jsonschema:"enum=no,enum=yes,default=no"`
	// TrafficClassAlgorithm: what Get-NetQosTrafficClass gives as Algorithm: "name" (ETS) or "number" (2, of the class; objects.md 1).
	TrafficClassAlgorithm string `json:"traffic_class_algorithm" yaml:"traffic_class_algorithm" jsonschema:"enum=name,enum=number,default=name"`
}
