# By the host's key in the provider and the name of any port of the device.
terraform import hyperv_nic_rdma_settings.intel 'hv1/iWARP 1'
