# By the host's key in the provider.
terraform import hyperv_dcb.roce 'hv1'
