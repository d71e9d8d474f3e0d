terraform {
  required_version = ">= 1.11"

  required_providers {
    hyperv = {
      source = "hyperv-rdma/hyperv"
    }
  }
}

provider "hyperv" {
  hosts = {
    for name, host in var.hosts : name => {
      address = host.address
      port    = host.port
      user    = host.username
      ca_file = host.ca_file
    }
  }
  password = var.password

  guest_credentials = {
    lab = {
      user     = var.guest_username
      password = var.guest_password
    }
  }
  default_guest_credential = "lab"
}
