variable "host" {
  description = "Key of the host in the provider's hosts."
  type        = string
}

variable "net_adapter_names" {
  description = "Ports of the RDMA device, as Get-NetAdapter names them. The settings go to all ports of the device."
  type        = list(string)
}

variable "settings" {
  description = "Settings of the device; what is left out is not managed. See hyperv_nic_rdma_settings."
  type = object({
    sriov               = optional(bool)
    vmq                 = optional(bool)
    rdma                = optional(bool)
    technology          = optional(string)
    rdma_max_vfs        = optional(number)
    guest_rdma_registry = optional(object({ value = number }))
    advanced_properties = optional(map(string))
  })
  default = {}
}

variable "switches" {
  description = "Switches with SR-IOV by name: one per port, or one team (SET) of several ports."
  type = map(object({
    net_adapter_names       = list(string)
    enable_embedded_teaming = optional(bool)
    allow_management_os     = optional(bool, false)
    notes                   = optional(string)
  }))
}
