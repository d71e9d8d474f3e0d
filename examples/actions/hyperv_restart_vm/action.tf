# By hand: terraform apply -invoke=action.hyperv_restart_vm.vm1
action "hyperv_restart_vm" "vm1" {
  config {
    vm_name          = "vm1"
    shutdown_timeout = "3m"
    wait_for_guest   = true
  }
}
