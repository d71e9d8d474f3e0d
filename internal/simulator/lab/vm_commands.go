package lab

// registerVMCommands registers the Hyper-V module and the sessions to guests. Guests have none of these: a VM
// here is no Hyper-V host itself.
func registerVMCommands(r registry) {
	for name, run := range map[string]handler{
		"Get-VMHost": getVMHost,

		"Get-VM": getVM, "Set-VM": setVM, "New-VM": newVM, "Remove-VM": removeVM, "Start-VM": startVM, "Stop-VM": stopVM, "Restart-VM": restartVM,
		"Save-VM": saveVM, "Suspend-VM": suspendVM, "Resume-VM": resumeVM, "Get-VMIntegrationService": getVMIntegrationService,
		"Checkpoint-VM": checkpointVM, "Get-VMSnapshot": getVMSnapshot,

		"Get-VMSwitch": getVMSwitch, "New-VMSwitch": newVMSwitch, "Set-VMSwitch": setVMSwitch, "Remove-VMSwitch": removeVMSwitch, "Rename-VMSwitch": renameVMSwitch,
		"Get-VMSwitchTeam": getVMSwitchTeam, "Set-VMSwitchTeam": setVMSwitchTeam, "Add-VMSwitchTeamMember": addVMSwitchTeamMember,
		"Remove-VMSwitchTeamMember": removeVMSwitchTeamMember,

		"Get-VMNetworkAdapter": getVMNetworkAdapter, "Add-VMNetworkAdapter": addVMNetworkAdapter, "Set-VMNetworkAdapter": setVMNetworkAdapter,
		"Remove-VMNetworkAdapter": removeVMNetworkAdapter, "Rename-VMNetworkAdapter": renameVMNetworkAdapter,
		"Connect-VMNetworkAdapter": connectVMNetworkAdapter, "Disconnect-VMNetworkAdapter": disconnectVMNetworkAdapter,
		"Get-VMNetworkAdapterVlan": getVMNetworkAdapterVlan, "Set-VMNetworkAdapterVlan": setVMNetworkAdapterVlan,
		"Get-VMNetworkAdapterIsolation": getVMNetworkAdapterIsolation, "Set-VMNetworkAdapterIsolation": setVMNetworkAdapterIsolation,
		"Get-VMNetworkAdapterTeamMapping": getVMNetworkAdapterTeamMapping, "Set-VMNetworkAdapterTeamMapping": setVMNetworkAdapterTeamMapping,
		"Remove-VMNetworkAdapterTeamMapping": removeVMNetworkAdapterTeamMapping,

		"New-PSSession": newPSSession, "Get-PSSession": getPSSession, "Remove-PSSession": removePSSession,
	} {
		r.onHost(name, run)
	}
	// facts.md 4: the setting behind them came with Windows 10 1703; a Windows Server 2016 host has no such cmdlet.
	r.onHostSince(buildRdmaSettings, "Get-VMNetworkAdapterRdma", getVMNetworkAdapterRdma)
	r.onHostSince(buildRdmaSettings, "Set-VMNetworkAdapterRdma", setVMNetworkAdapterRdma)
}
