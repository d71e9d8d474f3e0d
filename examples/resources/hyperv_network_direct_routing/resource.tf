# On the host: iWARP across IP subnets. All ports of the device restart once.
resource "hyperv_network_direct_routing" "host" {
  host              = "hv1"
  net_adapter_names = ["iWARP 1", "iWARP 2"]
}

# The same inside a guest: its own setting, and its own adapters.
resource "hyperv_network_direct_routing" "guest" {
  host              = "hv1"
  vm_name           = "vm1"
  net_adapter_names = ["RDMA"]

  # the adapters restart later, by hand
  restart_policy = "manual"
}
