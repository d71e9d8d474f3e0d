package lab

// registerHostCommands registers everything that is not of the Hyper-V module.
func registerHostCommands(r registry) {
	registerNetAdapter(r)
	registerNetAdapterAdvancedProperty(r)
	registerNetAdapterRdma(r)
	registerNetAdapterSriov(r)
	registerNetAdapterVmq(r)
	registerNetAdapterInfo(r)
	registerPnpDevice(r)
	registerNetIP(r)
	registerNetIPChanges(r)
	registerNetOffload(r)
	registerNetFirewall(r)
	registerSmb(r)
	registerSystemInfo(r)
	registerItems(r)
	registerItemProperties(r)
	registerAcl(r)
	registerRestartComputer(r)
	registerScheduledTask(r)
	registerFiles(r)
	registerWindowsDriver(r)
	registerCimMethod(r)
	registerDcb(r)
}
