resource "hyperv_vm_network_adapter" "rdma" {
  host         = var.host
  vm_name      = var.vm_name
  name         = var.adapter_name
  switch_name  = var.switch_name
  team_mapping = var.team_mapping
  vlan         = var.vlan_id == null ? null : { access_vlan_id = var.vlan_id }
}

# RdmaWeight before IovWeight on the way up, IovWeight 0 before RdmaWeight 0 on the way down.
resource "hyperv_vm_network_adapter_rdma" "rdma" {
  host                  = var.host
  vm_name               = var.vm_name
  vm_network_adapter_id = hyperv_vm_network_adapter.rdma.adapter_id

  iov_weight  = var.iov_weight
  rdma_weight = var.rdma_weight
}

# In the guest: the driver's keyword, RDMA on both adapters, and proof by SMB.
resource "hyperv_guest_rdma_enablement" "rdma" {
  host                  = var.host
  vm_name               = var.vm_name
  vm_network_adapter_id = hyperv_vm_network_adapter.rdma.adapter_id
  recovery              = var.recovery

  # a virtual function that was asked for anew is verified anew
  triggers = {
    iov_weight  = var.iov_weight
    rdma_weight = var.rdma_weight
  }

  depends_on = [hyperv_vm_network_adapter_rdma.rdma]
}
