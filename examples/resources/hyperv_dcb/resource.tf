# RoCE: SMB Direct leaves with priority 3, which loses nothing and has half of the bandwidth.
resource "hyperv_dcb" "roce" {
  host            = "hv1"
  install_feature = true

  policies = {
    "SMB Direct" = { net_direct_port = 445, priority = 3 }
    "Cluster"    = { template = "Cluster", priority = 7 }
    "Default"    = { template = "Default", priority = 0 }
  }

  flow_control_priorities = [3]

  traffic_classes = {
    "SMB Direct" = { priorities = [3], bandwidth_percentage = 50 }
    "Cluster"    = { priorities = [7], bandwidth_percentage = 1 }
  }

  dcbx_willing      = false # the host's settings, not the switch's
  net_adapter_names = ["SLOT 3 Port 1", "SLOT 3 Port 2"]
}

# iWARP needs no lossless priority: a share of the bandwidth is enough.
resource "hyperv_dcb" "iwarp" {
  host            = "hv2"
  policies        = { "SMB Direct" = { net_direct_port = 445, priority = 3 } }
  traffic_classes = { "SMB Direct" = { priorities = [3], bandwidth_percentage = 30 } }
  dcbx_willing    = false
}
