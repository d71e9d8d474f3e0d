data "hyperv_rdma_host" "hv1" {
  host = "hv1"
}

check "sriov" {
  assert {
    condition     = data.hyperv_rdma_host.hv1.iov_support
    error_message = join(" ", data.hyperv_rdma_host.hv1.iov_support_reasons)
  }
}

# The profile of each port: with it, the first plan knows which restarts will be needed.
output "profiles" {
  value = data.hyperv_rdma_host.hv1.profile_by_net_adapter
}
