# By the host's key in the provider and the switch's name, or its id where a name is not unique.
terraform import hyperv_iov_switch.rdma 'hv1/W2K16-Switch'
terraform import hyperv_iov_switch.rdma 'hv1/c08cb7b8-9b3c-408e-8e30-5e16a3aeb444'
