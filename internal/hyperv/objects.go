package hyperv

// The objects of Windows that this package reads, in Windows' own property names (objects.md).

// OSInfo is Win32_OperatingSystem.
type OSInfo struct {
	Caption            string `json:"Caption"`
	Version            string `json:"Version"`
	BuildNumber        string `json:"BuildNumber"`
	OperatingSystemSKU int    `json:"OperatingSystemSKU"`
	OSArchitecture     string `json:"OSArchitecture"`
	ProductType        int    `json:"ProductType"`
	LastBootUpTime     string `json:"LastBootUpTime"`
	LocalDateTime      string `json:"LocalDateTime"`
}

// VMHost is Get-VMHost.
type VMHost struct {
	Name              string   `json:"Name"`
	IovSupport        bool     `json:"IovSupport"`
	IovSupportReasons []string `json:"IovSupportReasons"`
}

// NetAdapter is Get-NetAdapter.
type NetAdapter struct {
	Name                 string `json:"Name"`
	InterfaceDescription string `json:"InterfaceDescription"`
	InterfaceGuid        string `json:"InterfaceGuid"`
	InterfaceIndex       int    `json:"InterfaceIndex"`
	MacAddress           string `json:"MacAddress"` // 00-15-5D-01-02-03
	Status               string `json:"Status"`     // Up, Disconnected, Disabled, Not Present
	AdminStatus          string `json:"AdminStatus"`
	LinkSpeed            string `json:"LinkSpeed"`
	Virtual              bool   `json:"Virtual"`
	HardwareInterface    bool   `json:"HardwareInterface"`
	DriverFileName       string `json:"DriverFileName"`
	DriverVersion        string `json:"DriverVersion"`
	DriverProvider       string `json:"DriverProvider"`
	DriverDate           string `json:"DriverDate"`
	PnPDeviceID          string `json:"PnPDeviceID"`
}

// AdvancedProperty is Get-NetAdapterAdvancedProperty -AllProperties.
type AdvancedProperty struct {
	Name                      string   `json:"Name"`
	RegistryKeyword           string   `json:"RegistryKeyword"`
	RegistryValue             []string `json:"RegistryValue"`
	DefaultRegistryValue      string   `json:"DefaultRegistryValue"`
	DisplayName               string   `json:"DisplayName"`
	DisplayValue              string   `json:"DisplayValue"`
	ValidRegistryValues       []string `json:"ValidRegistryValues"`
	NumericParameterMinValue  string   `json:"NumericParameterMinValue"`
	NumericParameterMaxValue  string   `json:"NumericParameterMaxValue"`
	NumericParameterStepValue string   `json:"NumericParameterStepValue"`
}

// NetAdapterRdma is Get-NetAdapterRdma.
type NetAdapterRdma struct {
	Name                    string `json:"Name"`
	InterfaceDescription    string `json:"InterfaceDescription"`
	Enabled                 bool   `json:"Enabled"`
	MaxQueuePairCount       int64  `json:"MaxQueuePairCount"`
	MaxCompletionQueueCount int64  `json:"MaxCompletionQueueCount"`
	OperationalState        *bool  `json:"OperationalState"`
}

// NetAdapterSriov is Get-NetAdapterSriov.
type NetAdapterSriov struct {
	Name            string `json:"Name"`
	Enabled         bool   `json:"Enabled"`
	NumVFs          int    `json:"NumVFs"`
	NumAllocatedVFs int    `json:"NumAllocatedVFs"`
	SriovSupport    string `json:"SriovSupport"`
	SwitchName      string `json:"SwitchName"`
}

// NetAdapterVF is Get-NetAdapterSriovVf.
type NetAdapterVF struct {
	Name              string `json:"Name"`
	FunctionID        int    `json:"FunctionID"`
	CurrentMacAddress string `json:"CurrentMacAddress"`
	VMID              string `json:"VmID"`
	VMNicID           string `json:"VmNicID"`
}

// HardwareInfo is Get-NetAdapterHardwareInfo.
type HardwareInfo struct {
	Name           string `json:"Name"`
	SegmentNumber  int    `json:"SegmentNumber"`
	BusNumber      int    `json:"BusNumber"`
	DeviceNumber   int    `json:"DeviceNumber"`
	FunctionNumber int    `json:"FunctionNumber"`
}

// VMSwitch is Get-VMSwitch.
type VMSwitch struct {
	ID                             string   `json:"Id"`
	Name                           string   `json:"Name"`
	Notes                          string   `json:"Notes"`
	SwitchType                     string   `json:"SwitchType"`
	IovEnabled                     bool     `json:"IovEnabled"`
	IovSupport                     bool     `json:"IovSupport"`
	IovSupportReasons              []string `json:"IovSupportReasons"`
	IovVirtualFunctionCount        int64    `json:"IovVirtualFunctionCount"`
	IovVirtualFunctionsInUse       int64    `json:"IovVirtualFunctionsInUse"`
	IovQueuePairCount              int64    `json:"IovQueuePairCount"`
	IovQueuePairsInUse             int64    `json:"IovQueuePairsInUse"`
	EmbeddedTeamingEnabled         bool     `json:"EmbeddedTeamingEnabled"`
	PacketDirectEnabled            bool     `json:"PacketDirectEnabled"`
	BandwidthReservationMode       string   `json:"BandwidthReservationMode"`
	AllowManagementOS              bool     `json:"AllowManagementOS"`
	NetAdapterInterfaceDescription string   `json:"NetAdapterInterfaceDescription"`
	NetAdapterInterfaceGuid        []string `json:"NetAdapterInterfaceGuid"`
}

// VMSwitchTeam is Get-VMSwitchTeam.
type VMSwitchTeam struct {
	ID                      string   `json:"Id"`
	Name                    string   `json:"Name"`
	NetAdapterInterfaceGuid []string `json:"NetAdapterInterfaceGuid"`
	LoadBalancingAlgorithm  string   `json:"LoadBalancingAlgorithm"`
	TeamingMode             string   `json:"TeamingMode"`
}

// VM is Get-VM.
type VM struct {
	ID         string  `json:"Id"`
	Name       string  `json:"Name"`
	State      string  `json:"State"`
	Generation int     `json:"Generation"`
	Uptime     float64 `json:"Uptime"` // seconds
	// IsClustered VMs belong to a failover cluster, which starts what somebody else stops.
	IsClustered bool   `json:"IsClustered"`
	Heartbeat   string `json:"Heartbeat"` // of the guest's integration service; OkApplications… where the guest answers
}

// VMNetworkAdapter is Get-VMNetworkAdapter of a VM.
type VMNetworkAdapter struct {
	ID                     string   `json:"Id"` // Microsoft:<VM>\<adapter>
	Name                   string   `json:"Name"`
	VMID                   string   `json:"VMId"`
	VMName                 string   `json:"VMName"`
	SwitchName             string   `json:"SwitchName"`
	SwitchID               string   `json:"SwitchId"`
	Connected              bool     `json:"Connected"`
	IsLegacy               bool     `json:"IsLegacy"`
	MacAddress             string   `json:"MacAddress"` // 00155D010203
	DynamicMacAddress      bool     `json:"DynamicMacAddressEnabled"`
	DeviceNaming           string   `json:"DeviceNaming"` // On, Off
	IovWeight              int64    `json:"IovWeight"`
	IovQueuePairsRequested int64    `json:"IovQueuePairsRequested"`
	IovQueuePairsAssigned  int64    `json:"IovQueuePairsAssigned"`
	IovInterruptModeration string   `json:"IovInterruptModeration"`
	IovUsage               int64    `json:"IovUsage"`
	VFDataPathActive       bool     `json:"VFDataPathActive"`
	Status                 []string `json:"Status"`
	StatusDescription      []string `json:"StatusDescription"`
	MinimumBandwidthWeight int64    `json:"MinimumBandwidthWeight" ps:"BandwidthSetting.MinimumBandwidthWeight"`
	MacAddressSpoofing     string   `json:"MacAddressSpoofing"`
	VMSnapshotName         string   `json:"VMSnapshotName"`
}

// ManagementAdapter is Get-VMNetworkAdapter -ManagementOS.
type ManagementAdapter struct {
	ID         string `json:"Id"`
	Name       string `json:"Name"`
	DeviceID   string `json:"DeviceId"`
	SwitchName string `json:"SwitchName"`
	SwitchID   string `json:"SwitchId"`
	MacAddress string `json:"MacAddress"`
}

// RdmaSetting is Get-VMNetworkAdapterRdma.
type RdmaSetting struct {
	AdapterID  string `json:"AdapterId" ps:"ParentAdapter.Id"`
	RdmaWeight int64  `json:"RdmaWeight"`
}

// VlanSetting is Get-VMNetworkAdapterVlan.
type VlanSetting struct {
	AdapterID     string `json:"AdapterId" ps:"ParentAdapter.Id"`
	OperationMode string `json:"OperationMode"` // Untagged, Access, Trunk, Private
	AccessVlanID  int    `json:"AccessVlanId"`
}

// IsolationSetting is Get-VMNetworkAdapterIsolation.
type IsolationSetting struct {
	AdapterID            string `json:"AdapterId" ps:"ParentAdapter.Id"`
	IsolationMode        string `json:"IsolationMode"` // None, NativeVirtualSubnet, ExternalVirtualSubnet, Vlan
	DefaultIsolationID   int    `json:"DefaultIsolationID"`
	AllowUntaggedTraffic bool   `json:"AllowUntaggedTraffic"`
}

// TeamMapping is Get-VMNetworkAdapterTeamMapping.
type TeamMapping struct {
	AdapterID      string `json:"AdapterId" ps:"ParentAdapter.Id"`
	NetAdapterName string `json:"NetAdapterName"`
}

// SMBInterface is Get-SmbServerNetworkInterface or Get-SmbClientNetworkInterface.
type SMBInterface struct {
	InterfaceIndex int    `json:"InterfaceIndex"`
	FriendlyName   string `json:"FriendlyName"`
	RdmaCapable    bool   `json:"RdmaCapable"`
}

// named is an object of which only the name matters.
type named struct {
	Name string `json:"Name"`
}
