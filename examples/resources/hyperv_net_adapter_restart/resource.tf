# Settings and switches restart nothing themselves; one restart at the end makes all of them effective.
resource "hyperv_nic_rdma_settings" "rdma" {
  host              = "hv1"
  net_adapter_names = ["iWARP 1", "iWARP 2"]
  rdma_max_vfs      = 8
  restart_policy    = "manual"
}

resource "hyperv_iov_switch" "rdma" {
  for_each = { "iWARP-Switch-1" = "iWARP 1", "iWARP-Switch-2" = "iWARP 2" }

  host                = "hv1"
  name                = each.key
  net_adapter_names   = [each.value]
  allow_management_os = false
  restart_policy      = "manual"

  depends_on = [hyperv_nic_rdma_settings.rdma]
}

resource "hyperv_net_adapter_restart" "rdma" {
  host              = "hv1"
  net_adapter_names = ["iWARP 1", "iWARP 2"]

  triggers = merge(
    { settings = hyperv_nic_rdma_settings.rdma.restart_trigger },
    { for name, switch in hyperv_iov_switch.rdma : name => switch.restart_trigger },
  )
}
