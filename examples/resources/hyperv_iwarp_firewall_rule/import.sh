# The installer's rule on a host: by the host's key in the provider and the rule's display name, or its unique name.
terraform import hyperv_iwarp_firewall_rule.host 'hv1/Intel Ethernet iWARP port mapper'

# In a guest: with the VM's name or GUID between them.
terraform import hyperv_iwarp_firewall_rule.guest 'hv1/vm1/TerraformProviderHyperV-iWARP-PortMapper'
