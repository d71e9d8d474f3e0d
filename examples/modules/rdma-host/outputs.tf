output "iov_support" {
  description = "Whether the host supports SR-IOV, and if not, why."
  value = {
    support = data.hyperv_rdma_host.this.iov_support
    reasons = data.hyperv_rdma_host.this.iov_support_reasons
  }
}

output "switch_names" {
  description = "Names of the switches, by the key they were given."
  value       = { for key, switch in hyperv_iov_switch.this : key => switch.name }
}
