terraform {
  required_version = ">= 1.11"

  required_providers {
    hyperv = {
      source = "hyperv-rdma/hyperv"
    }
  }
}
