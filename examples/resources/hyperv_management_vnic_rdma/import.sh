# By the host's key in the provider, the switch and the adapter's name.
terraform import 'hyperv_management_vnic_rdma.smb["SMB_1"]' 'hv1/SET/SMB_1'

# By the adapter's GUID, where two have one name.
terraform import 'hyperv_management_vnic_rdma.smb["SMB_1"]' 'hv1/d02d7c29-9a4c-4a1c-9d2c-0c0f3f3f7f10'
