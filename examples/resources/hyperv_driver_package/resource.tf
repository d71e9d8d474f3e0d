# The vendor's driver on the host, from a folder that lies there.
resource "hyperv_driver_package" "host" {
  host        = "hv1"
  source_path = "C:\\Drivers\\E810"
  inf         = "icea.inf"
  version     = "1.16.229.0"
  signer      = "CN=Microsoft Windows Hardware Compatibility Publisher, O=Microsoft Corporation, L=Redmond, S=Washington, C=US"
}

# The driver for virtual functions in a guest, of exactly these files.
resource "hyperv_driver_package" "guest" {
  host        = "hv1"
  vm_name     = "vm1"
  source_path = "C:\\Drivers\\iavf"
  inf         = "iavf.inf"
  version     = "1.15.4.0"
  sha256      = "3ebca22ab01d51bb97c348674e48d91a64dd5122ade7653a991ca5e332909491"
}
