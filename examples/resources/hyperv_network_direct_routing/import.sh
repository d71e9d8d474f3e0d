# The host's setting: by the host's key in the provider.
terraform import hyperv_network_direct_routing.host 'hv1'

# A guest's: with the VM's name or GUID. Which net adapters restart, the configuration says.
terraform import hyperv_network_direct_routing.guest 'hv1/vm1'
