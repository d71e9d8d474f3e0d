package hyperv

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"

// sessionCause explains why a guest could not be reached by PowerShell Direct, by the id of the error (errors.md 6).
// A refused credential and a guest that is still booting share one id, so the text names both.
func sessionCause(c wire.CommandError) (cause, fix string) {
	switch idHead(c) {
	case "InvalidVMState":
		return "The VM is not running, so nothing inside it can be reached.", "Start the VM, or remove the guest's resources from the configuration while it is off."
	case "InvalidVMIdNotSingle", "InvalidVMNameNotSingle":
		return "The host shows the VM to Hyper-V administrators only, or the VM is gone.", "Make the WinRM user a member of Hyper-V Administrators or Administrators on the host."
	case "HyperVModuleNotAvailable":
		return "The host has no Hyper-V PowerShell module.", "Install it: Install-WindowsFeature Hyper-V-PowerShell."
	case "PSSessionStateBroken":
		return "The session into the VM broke: the VM restarted or was shut down.", "Apply again when the guest is up."
	}
	return "PowerShell Direct did not open a session in the VM: the guest credential was refused, the guest is still starting, it is no Windows, " +
			"or it is a Nano Server, of which it is not known whether it takes such sessions (facts.md section 7).",
		"Check guest_credentials of the provider (user and password of an administrator in the guest), wait until the guest has started, and check that the service vmicvmsession runs in it."
}
