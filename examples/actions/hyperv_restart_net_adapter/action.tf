action "hyperv_restart_net_adapter" "rdma" {
  config {
    net_adapter_names = ["iWARP 1"]
  }
}

# Also by hand: terraform apply -invoke=action.hyperv_restart_net_adapter.rdma
resource "terraform_data" "driver" {
  input = var.driver_version

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.hyperv_restart_net_adapter.rdma]
    }
  }
}
