# By hand: terraform apply -invoke=action.hyperv_reenable_guest_rdma.vm1
action "hyperv_reenable_guest_rdma" "vm1" {
  config {
    vm_name                 = "vm1"
    vm_network_adapter_name = "RDMA"
  }
}
