# Guest RDMA (NDK mode 3) on Intel iWARP: two hosts, two guests on each.

variable "guests" {
  description = "The RDMA guests: which host they run on, and which port's switch they use. A guest on each port."
  type = map(object({
    host   = string
    switch = string
  }))
  default = {
    vm1 = { host = "hv1", switch = "iWARP-Switch-1" }
    vm2 = { host = "hv1", switch = "iWARP-Switch-2" }
    vm3 = { host = "hv2", switch = "iWARP-Switch-1" }
    vm4 = { host = "hv2", switch = "iWARP-Switch-2" }
  }
}

variable "rdma_max_vfs" {
  description = "Virtual functions that may do RDMA at once on a device, 0 to 32. More leave less for the host and for each other."
  type        = number
  default     = 8
}

# Both hosts alike. Every port of the device gets a switch with SR-IOV.
module "host" {
  source   = "../../modules/rdma-host"
  for_each = var.hosts

  host              = each.key
  net_adapter_names = ["iWARP 1", "iWARP 2"]
  settings = {
    sriov        = true
    vmq          = true
    rdma_max_vfs = var.rdma_max_vfs
  }
  switches = {
    "iWARP-Switch-1" = { net_adapter_names = ["iWARP 1"] }
    "iWARP-Switch-2" = { net_adapter_names = ["iWARP 2"] }
  }
}

# The guests come when their hosts are done: a restart of the ports takes virtual functions away for a moment.
module "guest" {
  source   = "../../modules/rdma-vm"
  for_each = var.guests

  host        = each.value.host
  vm_name     = each.key
  switch_name = each.value.switch
  rdma_weight = 100

  depends_on = [module.host]
}
