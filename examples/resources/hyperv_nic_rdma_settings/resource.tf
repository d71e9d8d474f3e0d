# Intel iWARP: the same value on every port; one restart of the device.
resource "hyperv_nic_rdma_settings" "intel" {
  host              = "hv1"
  net_adapter_names = ["iWARP 1", "iWARP 2"]
  sriov             = true
  vmq               = true
  rdma_max_vfs      = 8
}

# Mellanox ConnectX-3 Pro: the bus driver's registry value.
resource "hyperv_nic_rdma_settings" "mellanox" {
  host                = "hv2"
  net_adapter_names   = ["MyRDMANIC"]
  sriov               = true
  guest_rdma_registry = { value = 1 }

  # the restart is done later, by hand
  restart_policy = "manual"
}
