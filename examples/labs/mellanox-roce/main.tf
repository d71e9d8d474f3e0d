# Guest RDMA on Mellanox ConnectX-3 Pro with RoCE and Windows Server 2016: an experiment that neither Microsoft nor
# the vendor supports. For labs only.

variable "guests" {
  description = "The RDMA guests and the hosts that they run on."
  type        = map(object({ host = string }))
  default = {
    vm1 = { host = "hv1" }
    vm2 = { host = "hv1" }
    vm3 = { host = "hv2" }
    vm4 = { host = "hv2" }
  }
}

variable "vlan_id" {
  description = "VLAN of the RDMA traffic. RoCE needs a tag: many switches drop the priority of untagged frames."
  type        = number
  default     = 101
}

variable "team" {
  description = "Use a team (SET) of both ports instead of the first port alone. Guest RDMA then works on the first port only, so the guests' adapters are mapped to it."
  type        = bool
  default     = false
}

locals {
  switch = "W2K16-Switch"
  ports  = ["MyRDMANIC", "MyRDMANIC 2"]
}

module "host" {
  source   = "../../modules/rdma-host"
  for_each = var.hosts

  host              = each.key
  net_adapter_names = local.ports
  settings = {
    sriov               = true
    guest_rdma_registry = { value = 1 }
  }
  switches = {
    (local.switch) = {
      net_adapter_names       = var.team ? local.ports : [local.ports[0]]
      enable_embedded_teaming = var.team ? true : null
    }
  }
}

# RoCE loses connections where frames are lost: SMB Direct of hosts and guests leaves with one priority that loses none.
resource "hyperv_dcb" "roce" {
  for_each = var.hosts

  host                    = each.key
  install_feature         = true
  policies                = { "SMB Direct" = { net_direct_port = 445, priority = 3 } }
  flow_control_priorities = [3]
  traffic_classes         = { "SMB Direct" = { priorities = [3], bandwidth_percentage = 50 } }
  dcbx_willing            = false
  net_adapter_names       = local.ports
}

# No rdma_weight: Windows Server 2016 does not know it, and its guests do not need it.
module "guest" {
  source   = "../../modules/rdma-vm"
  for_each = var.guests

  host         = each.value.host
  vm_name      = each.key
  switch_name  = local.switch
  vlan_id      = var.vlan_id
  team_mapping = var.team ? local.ports[0] : null

  depends_on = [module.host, hyperv_dcb.roce]
}
