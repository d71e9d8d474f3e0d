# On the host, from everywhere, in every network profile.
resource "hyperv_iwarp_firewall_rule" "host" {
  host = "hv1"
}

# In a guest, from the storage network alone.
resource "hyperv_iwarp_firewall_rule" "guest" {
  host             = "hv1"
  vm_name          = "vm1"
  profiles         = ["Domain", "Private"]
  remote_addresses = ["198.51.100.0/24"]
}
