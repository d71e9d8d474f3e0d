variable "host" {
  description = "Key of the host in the provider's hosts."
  type        = string
}

variable "vm_name" {
  description = "Name of an existing virtual machine: x64, the same Windows as the host, with its LAN adapter on an ordinary switch. That adapter is never touched."
  type        = string
}

variable "switch_name" {
  description = "Switch with SR-IOV that the RDMA adapter connects to."
  type        = string
}

variable "adapter_name" {
  description = "Name of the RDMA adapter, which this module adds to the VM."
  type        = string
  default     = "RDMA"
}

variable "vlan_id" {
  description = "VLAN of the RDMA adapter: set here on the host's side, never in the guest. Null: untagged."
  type        = number
  default     = null
}

variable "team_mapping" {
  description = "Port of a team (SET) that the adapter stays on. ConnectX-3 does guest RDMA on its first port only."
  type        = string
  default     = null
}

variable "iov_weight" {
  description = "1 to 100 asks for a virtual function."
  type        = number
  default     = 100
}

variable "rdma_weight" {
  description = "1 to 100 asks for RDMA on the virtual function: needed for guests from Windows 10 1703 on, unknown to hosts before it. Null: not managed."
  type        = number
  default     = null
}

variable "recovery" {
  description = "What may be tried if SMB does not see RDMA in the end: guest_rdma, net_adapter (disturbs other VMs), vm_restart."
  type        = set(string)
  default     = ["guest_rdma"]
}
