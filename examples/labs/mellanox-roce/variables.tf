variable "hosts" {
  description = "The lab's Hyper-V hosts."
  type = map(object({
    address  = string
    port     = optional(number, 5986)
    username = string
    ca_file  = optional(string)
  }))
}

variable "password" {
  description = "Password of the hosts' user. Give it as TF_VAR_password, so that it stands in no file."
  type        = string
  sensitive   = true
  ephemeral   = true
}

variable "guest_username" {
  description = "Administrator inside the guests."
  type        = string
}

variable "guest_password" {
  description = "Its password. Give it as TF_VAR_guest_password."
  type        = string
  sensitive   = true
  ephemeral   = true
}
