resource "hyperv_vm_network_adapter" "rdma" {
  host        = "hv1"
  vm_name     = "vm1"
  name        = "RDMA"
  switch_name = hyperv_iov_switch.rdma.name

  # set on the host's side of the adapter, never in the guest
  vlan = { access_vlan_id = 101 }
}
