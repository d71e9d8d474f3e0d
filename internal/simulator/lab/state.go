package lab

import "time"

// State is the whole lab: what GET /state prints, and what the rules of this package act on.
// What moves by itself (counters, clocks) stays out of it, so that two prints of an unchanged lab are
// equal to the byte.
type State struct {
	Hosts []*Host `json:"hosts"`
}

// Host is a Hyper-V host.
type Host struct {
	Name      string           `json:"name"`
	Address   string           `json:"address"` // the host's own management address in the lab (not where the simulator listens)
	Login     Login            `json:"-"`
	Listener  Listener         `json:"listener"`
	Setup     Setup            `json:"setup"`
	Firewall  Firewall         `json:"firewall"`
	OS        OS               `json:"os"`
	Iov       IovSupport       `json:"iov"`
	Devices   []*Device        `json:"devices"`
	Registry  []*Key           `json:"registry"` // sorted by path
	Switches  []*Switch        `json:"switches"`
	HostVNics []*HostVNic      `json:"host_vnics"`
	VMs       []*VM            `json:"vms"`
	LbfoTeams []*LbfoTeam      `json:"lbfo_teams,omitempty"`
	Tasks     []*ScheduledTask `json:"scheduled_tasks,omitempty"`
	// NetworkDirectAcrossIPSubnets is Allowed or Blocked (facts.md 68, 89).
	NetworkDirectAcrossIPSubnets string `json:"network_direct_across_ip_subnets"`
	Dcb                          Dcb    `json:"dcb"`
	Disk                         Disk   `json:"disk,omitzero"`

	pathModelled bool      // an adapter of the scenario holds Address
	pathBack     time.Time // the path that a switch took away comes back then
	bootUntil    time.Time // Windows starts until then
}

// Login is a user of a host or guest. It is never printed.
type Login struct{ Username, Password string }

// Listener is how WinRM is set up on the host.
type Listener struct {
	Basic            bool   `json:"basic"`
	Negotiate        bool   `json:"negotiate"`
	KeytabFile       string `json:"keytab_file,omitempty"` // "": no Kerberos
	Certificate      bool   `json:"certificate"`
	AllowUnencrypted bool   `json:"allow_unencrypted"`
	CbtHardening     string `json:"cbt_hardening"`
}

// OS is a Windows installation.
type OS struct {
	Caption      string    `json:"caption"`
	Build        int       `json:"build"`
	UBR          int       `json:"ubr"` // update build revision
	SKU          int       `json:"sku"` // Win32_OperatingSystem.OperatingSystemSKU
	ProductType  int       `json:"product_type"`
	Architecture string    `json:"architecture"`
	Language     string    `json:"language"` // en-US, or another: error messages then come in that language
	LastBoot     time.Time `json:"-"`
}

// IovSupport is what Get-VMHost says (facts.md 42).
type IovSupport struct {
	Support bool     `json:"support"`
	Reasons []string `json:"reasons"`
}

// Device is one PCI device; its Ports are its physical functions (net adapters).
type Device struct {
	Segment      int     `json:"segment"`
	Bus          int     `json:"bus"`
	Number       int     `json:"number"`
	Profile      string  `json:"profile"` // vendor rules: mellanox_cx3pro, intel_x722, intel_e810, generic
	Driver       Driver  `json:"driver"`
	MaxVFs       int     `json:"max_vfs"`       // per port
	QueuePairs   int     `json:"queue_pairs"`   // for VFs, per port
	Rdma         bool    `json:"rdma"`          // the hardware does RDMA
	SriovSupport int     `json:"sriov_support"` // Get-NetAdapterSriov.SriovSupport (facts.md 41)
	PfcClasses   int     `json:"pfc_classes"`   // how many priorities the hardware can keep from losing frames (facts.md 87)
	Ports        []*Port `json:"ports"`
	// RebindPending: a switch was made or removed on a port and the PFs have not been bounced since (facts.md 25).
	RebindPending bool `json:"rebind_pending"`
	// MaxVfsPending: RdmaMaxVfsEnabled was changed and the PFs have not all been bounced since (facts.md 35).
	MaxVfsPending bool `json:"max_vfs_pending"`
	// GuestRdmaRunning: the value of EnableGuestRdma that the bus driver read when it last started (facts.md 36).
	GuestRdmaRunning bool `json:"guest_rdma_running"`
	// BusDisabled: the bus device that carries the ports was disabled; they are then not there at all.
	BusDisabled bool `json:"bus_disabled,omitempty"`
	// NewDriver was installed and runs from the host's next start (exit code 3010).
	NewDriver *Driver `json:"new_driver,omitempty"`

	ownDriver *Driver // the one that is no package of the store; nil while it runs
}

// Driver is what Get-NetAdapter prints of a driver.
type Driver struct {
	FileName string `json:"file_name"`
	Version  string `json:"version"`
	Date     string `json:"date"` // 2006-01-02
	Provider string `json:"provider"`
	Service  string `json:"service"` // bus service that holds machine-level keys: mlx4_bus
}

// Port is a physical net adapter: one PF of a device.
type Port struct {
	Name                 string `json:"name"`
	InterfaceDescription string `json:"interface_description"`
	InterfaceGuid        string `json:"interface_guid"` // upper case, in braces
	InterfaceIndex       int    `json:"interface_index"`
	MacAddress           string `json:"mac_address"` // 12 hex digits, upper case
	Function             int    `json:"function"`
	Enabled              bool   `json:"enabled"`     // administratively
	PnpEnabled           bool   `json:"pnp_enabled"` // Disable-PnpDevice
	LinkUp               bool   `json:"link_up"`
	LinkSpeed            uint64 `json:"link_speed"` // bits per second
	VlanID               int    `json:"vlan_id"`
	// Bounced: restarted since a change that takes a restart of every PF of the device (facts.md 25, 35).
	Bounced bool `json:"bounced"`
	// RoutesRdma: NetworkDirectAcrossIPSubnets was Allowed when the adapter last started (facts.md 68).
	RoutesRdma bool       `json:"routes_rdma,omitempty"`
	StartedAt  time.Time  `json:"-"`       // the link comes up a moment later
	NumVFs     Dual       `json:"num_vfs"` // *NumVFs below NicSwitches\0 (facts.md 31)
	Keywords   []*Keyword `json:"keywords"`
	IP         IPConfig   `json:"ip"`
}

// Dual is a number as written in the registry and as the running miniport knows it (facts.md 33).
type Dual struct {
	Registry int `json:"registry"`
	Running  int `json:"running"`
}

// Keyword is an advanced property (facts.md 33, 38-40, 78).
type Keyword struct {
	Keyword      string   `json:"keyword"`
	DisplayName  string   `json:"display_name"`
	Registry     string   `json:"registry"`
	Running      string   `json:"running"`
	Default      string   `json:"default"`
	Valid        []string `json:"valid,omitempty"`
	ValidDisplay []string `json:"valid_display,omitempty"`
	Min          *int     `json:"min,omitempty"`
	Max          *int     `json:"max,omitempty"`
	Step         *int     `json:"step,omitempty"`
	Hidden       bool     `json:"hidden,omitempty"` // not among the advanced properties (facts.md 31)
}

// IPConfig is the IP configuration of an adapter.
type IPConfig struct {
	Addresses []IPAddress `json:"addresses,omitempty"`
	Gateway   string      `json:"gateway,omitempty"`
	DNS       []string    `json:"dns,omitempty"`
	Dhcp      bool        `json:"dhcp,omitempty"`
}

// IPAddress is one address with its prefix length.
type IPAddress struct {
	Address string `json:"address"`
	Prefix  int    `json:"prefix"`
}

// Key is a registry key of HKEY_LOCAL_MACHINE. Path has no hive: SOFTWARE\X.
type Key struct {
	Path   string   `json:"path"`
	Owner  string   `json:"owner,omitempty"`
	SDDL   string   `json:"sddl,omitempty"` // empty: inherited from the parent
	Values []*Value `json:"values"`         // sorted by name
}

// Value is a registry value; Data is its text form (numbers in decimal).
type Value struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // String, DWord, QWord, MultiString, ExpandString, Binary
	Data string `json:"data"`
}

// Switch is a virtual switch.
type Switch struct {
	ID              string   `json:"id"` // lower case GUID
	Name            string   `json:"name"`
	Notes           string   `json:"notes"`
	Type            string   `json:"type"` // External, Internal, Private
	IovEnabled      bool     `json:"iov_enabled"`
	EmbeddedTeaming bool     `json:"embedded_teaming"`
	PacketDirect    bool     `json:"packet_direct"`
	BandwidthMode   string   `json:"bandwidth_mode"` // None, Weight, Absolute
	LoadBalancing   string   `json:"load_balancing,omitempty"`
	Ports           []string `json:"ports"` // interface GUIDs of the physical members, in order
	// Settings are queue and flow settings that were set and have no field of their own, by parameter name.
	Settings map[string]string `json:"settings,omitempty"`
}

// HostVNic is a virtual adapter of the management operating system.
type HostVNic struct {
	ID             string    `json:"id"`              // Microsoft:<guid>
	Name           string    `json:"name"`            // Get-VMNetworkAdapter's name; the net adapter is "vEthernet (name)"
	Alias          string    `json:"alias,omitempty"` // the net adapter's name once it was renamed
	DeviceID       string    `json:"device_id"`       // interface GUID in braces
	InterfaceIndex int       `json:"interface_index"`
	SwitchID       string    `json:"switch_id"`
	MacAddress     string    `json:"mac_address"`
	Enabled        bool      `json:"enabled"`
	RdmaEnabled    bool      `json:"rdma_enabled"`
	Vlan           Vlan      `json:"vlan"`
	Isolation      Isolation `json:"isolation"`
	TeamMapping    string    `json:"team_mapping,omitempty"` // interface GUID
	IP             IPConfig  `json:"ip"`
	// Settings are port settings that were set and have no field of their own, by parameter name.
	Settings map[string]string `json:"settings,omitempty"`
}

// VM is a virtual machine.
type VM struct {
	ID                  string       `json:"id"`
	Name                string       `json:"name"`
	State               string       `json:"state"` // Running, Off, Saved, Paused
	Generation          int          `json:"generation"`
	Clustered           bool         `json:"clustered,omitempty"`
	Checkpoints         []string     `json:"checkpoints,omitempty"`
	ShutdownIntegration bool         `json:"shutdown_integration"`
	HangsOnShutdown     bool         `json:"hangs_on_shutdown,omitempty"`
	Notes               string       `json:"notes"`
	Adapters            []*VMAdapter `json:"adapters"`
	Guest               *Guest       `json:"guest,omitempty"`
	StartedAt           time.Time    `json:"-"`
	Boot                int          `json:"-"` // counts starts; a PowerShell Direct session belongs to one
	// Settings are settings that were set and have no field of their own, by parameter name.
	Settings map[string]string `json:"settings,omitempty"`
	stopped  bool              // was running in this lab and went off: its next start is a restart
}

// VMAdapter is a network adapter of a VM: what is requested. Allocated is what the running VM got (facts.md 47a, 53).
type VMAdapter struct {
	ID                     string      `json:"id"` // GUID, upper case; the full Id is Microsoft:<VM>\<ID>
	Name                   string      `json:"name"`
	SwitchID               string      `json:"switch_id,omitempty"`
	MacAddress             string      `json:"mac_address"`
	DynamicMac             bool        `json:"dynamic_mac"`
	Legacy                 bool        `json:"legacy,omitempty"`
	DeviceNaming           bool        `json:"device_naming"`
	MacAddressSpoofing     bool        `json:"mac_address_spoofing,omitempty"`
	AllowTeaming           bool        `json:"allow_teaming,omitempty"`
	IovWeight              int         `json:"iov_weight"`
	IovQueuePairsRequested int         `json:"iov_queue_pairs_requested"`
	IovInterruptModeration string      `json:"iov_interrupt_moderation"`
	RdmaWeight             *int        `json:"rdma_weight,omitempty"` // nil: never set (facts.md 50)
	VmqWeight              int         `json:"vmq_weight"`
	MinimumBandwidthWeight int         `json:"minimum_bandwidth_weight"`
	Policies               []string    `json:"policies,omitempty"` // port_acl, extended_acl, port_mirroring, … (facts.md 58)
	Vlan                   Vlan        `json:"vlan"`
	Isolation              Isolation   `json:"isolation"`
	TeamMapping            string      `json:"team_mapping,omitempty"` // interface GUID of the physical adapter
	Allocated              *Allocation `json:"allocated,omitempty"`
	// Settings are port settings that were set and have no field of their own, by parameter name.
	Settings       map[string]string `json:"settings,omitempty"`
	rdmaUntilStart *int              // the RdmaWeight that allocations use until the VM's next start (Unknowns.RdmaWeightOnRunningVM)
	changedAt      time.Time         // the last change that a virtual function may follow
}

// Vlan is Set-VMNetworkAdapterVlan's record.
type Vlan struct {
	Mode     string `json:"mode"` // Untagged, Access, Trunk, Private
	AccessID int    `json:"access_id,omitempty"`
	NativeID int    `json:"native_id,omitempty"`
	Allowed  string `json:"allowed,omitempty"`
	// The private VLAN of mode Private.
	PrivateMode string `json:"private_mode,omitempty"` // Isolated, Community, Promiscuous
	PrimaryID   int    `json:"primary_id,omitempty"`
	SecondaryID int    `json:"secondary_id,omitempty"`
	Secondary   string `json:"secondary,omitempty"` // list of mode Promiscuous
}

// Isolation is Set-VMNetworkAdapterIsolation's record (facts.md 60).
type Isolation struct {
	Mode                 string `json:"mode"` // None, Vlan, …
	DefaultIsolationID   int    `json:"default_isolation_id,omitempty"`
	AllowUntaggedTraffic bool   `json:"allow_untagged_traffic,omitempty"`
	MultiTenantStack     bool   `json:"multi_tenant_stack,omitempty"`
}

// Allocation is a virtual function that a running VM holds. Its parameters stay as they were when it was
// allocated (facts.md 47a).
type Allocation struct {
	PortGuid   string    `json:"port_guid"`
	FunctionID int       `json:"function_id"`
	Rdma       bool      `json:"rdma"` // the VF was born with RDMA
	QueuePairs int       `json:"queue_pairs"`
	DataPath   bool      `json:"data_path"` // the guest's driver took it over (facts.md 55)
	At         time.Time `json:"-"`
}

// Guest is the operating system inside a VM.
type Guest struct {
	OS       OS              `json:"os"`
	Linux    bool            `json:"linux,omitempty"`
	Login    Login           `json:"-"`
	Listener *Listener       `json:"listener,omitempty"` // of WinRM in the guest; nil: none
	VFDriver GuestDriver     `json:"vf_driver"`
	Adapters []*GuestAdapter `json:"adapters"`
	Registry []*Key          `json:"registry"` // sorted by path
	Firewall Firewall        `json:"firewall"`
	// RecoveryNeeded is how many steps of the recovery ladder it takes after VF and RDMA are on
	// before SMB says RDMA capable: 0 none, 1 guest RDMA off and on, 2 PF bounce, 3 VM restart (facts.md 66).
	RecoveryNeeded int `json:"recovery_needed"`
	// RecoveryDone counts the steps taken, in order, since RDMA was enabled.
	RecoveryDone int `json:"recovery_done"`
	// RdmaCycle is where the guest is in turning RDMA off and on: 0 not on yet, 1 on, 2 off after on.
	RdmaCycle                    int    `json:"-"`
	NetworkDirectAcrossIPSubnets string `json:"network_direct_across_ip_subnets"`

	Tasks []*ScheduledTask `json:"scheduled_tasks,omitempty"`
	Disk  Disk             `json:"disk,omitzero"`

	ownDriver *GuestDriver // the one that is no package of the store; nil while it runs
}

// GuestDriver is the VF driver installed in the guest. Kind: none, inbox, inbox_bad, vendor.
type GuestDriver struct {
	Kind   string `json:"kind"`
	Driver Driver `json:"driver"`
}

// GuestAdapter is a net adapter inside a guest. The synthetic one and the VF of one VM adapter share its
// MAC address (facts.md 63). A VF adapter that went away keeps its settings for when it comes back.
type GuestAdapter struct {
	Name                 string     `json:"name"`
	InterfaceDescription string     `json:"interface_description"`
	InterfaceGuid        string     `json:"interface_guid"`
	InterfaceIndex       int        `json:"interface_index"`
	VMAdapterID          string     `json:"vm_adapter_id"`
	VF                   bool       `json:"vf"`
	Present              bool       `json:"present"`
	Enabled              bool       `json:"enabled"`
	RdmaEnabled          bool       `json:"rdma_enabled"`
	RdmaAtRestart        *bool      `json:"rdma_at_restart,omitempty"` // set with -NoRestart: in force from the adapter's next start
	RoutesRdma           bool       `json:"routes_rdma,omitempty"`     // as Port.RoutesRdma
	Keywords             []*Keyword `json:"keywords,omitempty"`
	IP                   IPConfig   `json:"ip"`
	RdmaChangedAt        time.Time  `json:"-"` // the SMB table follows after a delay
}

// LbfoTeam is a classic team (facts.md 21).
type LbfoTeam struct {
	Name    string   `json:"name"`
	Members []string `json:"members"` // interface GUIDs
}
