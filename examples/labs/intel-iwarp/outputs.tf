output "readiness" {
  description = "By guest: whether SMB Direct can use RDMA there."
  value       = { for name, guest in module.guest : name => guest.readiness }
}

output "iov_support" {
  description = "By host: whether it supports SR-IOV, and if not, why."
  value       = { for name, host in module.host : name => host.iov_support }
}
