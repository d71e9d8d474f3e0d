package hyperv

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"

// unanswered says that a call never came to a guest, or that what came back is no answer.
func unanswered(c wire.CommandError) bool {
	return c.Session || idHead(c) == wire.ErrorGuestAnswer || idHead(c) == wire.ErrorReferenceEmpty
}

// unreachable is the error about a guest that did not answer a call.
func (h *Host) unreachable(op, about string, c wire.CommandError) error {
	e := &Error{Kind: Unreachable, Op: op, Host: h.Name, Object: about, Command: &c, Err: c.Cause}
	e.Cause, e.Fix = sessionCause(c)
	return e
}

// sessionCause explains why a guest could not be reached, by the id of the error: by PowerShell Direct (errors.md 6),
// where a refused credential and a guest that is still booting share one id, so that the text names both; or by a
// connection of its own.
func sessionCause(c wire.CommandError) (cause, fix string) {
	switch idHead(c) {
	case wire.ErrorGuestNotRunning:
		return "The VM is not running, so nothing inside it can be reached.", "Start the VM, or remove the guest's resources from the configuration while it is off."
	case "InvalidVMIdNotSingle", "InvalidVMNameNotSingle":
		return "The host shows the VM to Hyper-V administrators only, or the VM is gone.", "Make the WinRM user a member of Hyper-V Administrators or Administrators on the host."
	case "HyperVModuleNotAvailable":
		return "The host has no Hyper-V PowerShell module.", "Install it: Install-WindowsFeature Hyper-V-PowerShell."
	case "PSSessionStateBroken":
		return "The session into the VM broke: the VM restarted or was shut down.", "Apply again when the guest is up."
	case wire.ErrorGuestConnection:
		return "The guest is reached by a connection of its own, and nothing there answered as Windows Remote Management: it is off or still starting, or its listener or the address is not right.",
			"Check address, port and https of the VM in guests of the provider, and run winrm quickconfig in the guest; transport = \"powershell_direct\" needs no network."
	case wire.ErrorGuestRefused:
		return "The guest refused the guest credential.",
			"Check guest_credentials of the provider (user and password of an administrator in the guest), or the VM's client certificate in guests where that is used. Of local users a guest lets only the built-in Administrator do everything, unless LocalAccountTokenFilterPolicy is 1 in it."
	case wire.ErrorGuestLost:
		return "The connection into the guest was lost: it restarted or was shut down, or the net adapter went away that the connection uses.",
			"Apply again when the guest is up. If it happens again, use transport = \"powershell_direct\" for it, which needs no network."
	}
	return "PowerShell Direct did not open a session in the VM: the guest credential was refused, the guest is still starting, it is no Windows, " +
			"or it is a Nano Server, of which it is not known whether it takes such sessions (facts.md section 7).",
		"Check guest_credentials of the provider (user and password of an administrator in the guest), wait until the guest has started, and check that the service vmicvmsession runs in it."
}
