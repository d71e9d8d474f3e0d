# By host, VM and adapter: names, or ids where a name is not unique.
terraform import hyperv_vm_network_adapter_rdma.rdma 'hv1/vm1/RDMA'
