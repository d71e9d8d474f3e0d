# What the host can do: SR-IOV support with the reasons against it (BIOS), and the vendor profile of each
# port, so that the first plan already knows which restarts will be needed.
data "hyperv_rdma_host" "this" {
  host = var.host
}

locals {
  profile = data.hyperv_rdma_host.this.profile_by_net_adapter[var.net_adapter_names[0]]
}

# SR-IOV, VMQ and the vendor's switch for guest RDMA, on every port of the device. Neither this nor the switches
# restart anything: the restart below makes all of it effective at once. When all is destroyed, this resource is
# the last one on the device, and restarts it once.
resource "hyperv_nic_rdma_settings" "this" {
  host              = var.host
  net_adapter_names = var.net_adapter_names
  profile           = local.profile
  restart_policy    = "manual"

  sriov               = var.settings.sriov
  vmq                 = var.settings.vmq
  rdma                = var.settings.rdma
  technology          = var.settings.technology
  rdma_max_vfs        = var.settings.rdma_max_vfs
  guest_rdma_registry = var.settings.guest_rdma_registry
  advanced_properties = var.settings.advanced_properties
}

# SR-IOV can only be chosen when a switch is made. The settings are written before: making a switch starts the
# driver of its port anew.
resource "hyperv_iov_switch" "this" {
  for_each = var.switches

  host                    = var.host
  name                    = each.key
  net_adapter_names       = each.value.net_adapter_names
  enable_embedded_teaming = each.value.enable_embedded_teaming
  allow_management_os     = each.value.allow_management_os
  notes                   = each.value.notes
  profile                 = local.profile
  restart_policy          = "manual"

  depends_on = [hyperv_nic_rdma_settings.this]
}

# One restart of the device for everything above, if a change owes one.
resource "hyperv_net_adapter_restart" "this" {
  host              = var.host
  net_adapter_names = var.net_adapter_names
  profile           = local.profile

  triggers = merge(
    { settings = hyperv_nic_rdma_settings.this.restart_trigger },
    { for name, switch in hyperv_iov_switch.this : "switch ${name}" => switch.restart_trigger },
  )
}
