# One switch on one port.
resource "hyperv_iov_switch" "rdma" {
  host                = "hv1"
  name                = "W2K16-Switch"
  net_adapter_names   = ["MyRDMANIC"]
  allow_management_os = false
}

# A team (Switch Embedded Teaming) of two ports.
resource "hyperv_iov_switch" "team" {
  host                     = "hv2"
  name                     = "RDMA-Team"
  net_adapter_names        = ["Slot 3 Port 1", "Slot 3 Port 2"]
  load_balancing_algorithm = "HyperVPort"
  require_iov_support      = true
}
