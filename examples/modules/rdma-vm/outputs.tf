output "readiness" {
  description = "Whether SMB in the guest sees an RDMA capable interface, and how far it came."
  value = {
    ready          = hyperv_guest_rdma_enablement.rdma.actual.smb_rdma_capable
    stage          = hyperv_guest_rdma_enablement.rdma.actual.stage
    recovery_steps = hyperv_guest_rdma_enablement.rdma.actual.recovery_steps
  }
}
