# On a host: by the host's key in the provider and the package's published name (Get-WindowsDriver -Online).
terraform import hyperv_driver_package.host 'hv1/oem3.inf'

# In a guest: with the VM's name or GUID between them.
terraform import hyperv_driver_package.guest 'hv1/vm1/oem3.inf'
