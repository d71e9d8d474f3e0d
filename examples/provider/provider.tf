terraform {
  required_providers {
    hyperv = {
      source = "hyperv-rdma/hyperv"
    }
  }
}

variable "password" {
  type      = string
  sensitive = true
  ephemeral = true
}

variable "guest_password" {
  type      = string
  sensitive = true
  ephemeral = true
}

provider "hyperv" {
  # Defaults for all hosts.
  user     = "LAB\\terraform"
  password = var.password
  ca_file  = "lab-ca.pem"

  hosts = {
    hv1 = { address = "hv1.lab.example" }
    hv2 = { address = "hv2.lab.example" }
  }

  # For the Windows inside the virtual machines.
  guest_credentials = {
    lab = {
      user     = "Administrator"
      password = var.guest_password
    }
  }
}
