# The host's own RDMA beside that of its guests: one adapter per member of the team.
resource "hyperv_management_vnic_rdma" "smb" {
  for_each = { SMB_1 = "iWARP 1", SMB_2 = "iWARP 2" }

  host         = "hv1"
  switch_name  = hyperv_iov_switch.set.name
  name         = each.key
  vlan         = { access_vlan_id = 11 }
  team_mapping = each.value
}
