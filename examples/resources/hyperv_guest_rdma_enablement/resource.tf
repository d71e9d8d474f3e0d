resource "hyperv_guest_rdma_enablement" "rdma" {
  host                  = "hv1"
  vm_name               = "vm1"
  vm_network_adapter_id = hyperv_vm_network_adapter.rdma.adapter_id

  # what may be tried, in this order, if SMB in the guest does not see RDMA
  recovery = ["guest_rdma", "vm_restart"]

  timeouts = { create = "15m" }

  depends_on = [hyperv_vm_network_adapter_rdma.rdma]
}
