# By the host's key in the provider and any port of the device. Nothing is restarted by an import.
terraform import hyperv_net_adapter_restart.rdma 'hv1/iWARP 1'
