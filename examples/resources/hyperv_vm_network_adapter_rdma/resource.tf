resource "hyperv_vm_network_adapter_rdma" "rdma" {
  host                  = "hv1"
  vm_name               = "vm1"
  vm_network_adapter_id = hyperv_vm_network_adapter.rdma.adapter_id

  iov_weight  = 100
  rdma_weight = 100
}

# An adapter that another tool made, by its name.
resource "hyperv_vm_network_adapter_rdma" "other" {
  host                    = "hv1"
  vm_name                 = "vm2"
  vm_network_adapter_name = "Network Adapter 2"

  iov_weight                = 100
  iov_queue_pairs_requested = 2
}
