# By host, VM and adapter: names, or ids where a name is not unique.
terraform import hyperv_guest_rdma_enablement.rdma 'hv1/vm1/RDMA'
