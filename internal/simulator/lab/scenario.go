package lab

import (
	"time"
)

// Scenario describes a lab. What is left out has a default, so that a file says only what matters.
type Scenario struct {
	Name        string         `json:"name,omitempty" yaml:"name" jsonschema:"description=Name of the scenario."`
	Description string         `json:"description,omitempty" yaml:"description"`
	Credentials Credentials    `json:"credentials,omitzero" yaml:"credentials" jsonschema:"description=Who may log on to hosts and guests."`
	Timing      Timing         `json:"timing,omitzero" yaml:"timing" jsonschema:"description=How long things take\\, in milliseconds."`
	Unknowns    Unknowns       `json:"unknowns,omitzero" yaml:"unknowns" jsonschema:"description=Questions without a public answer; each setting is one possible Windows."`
	Hosts       []ScenarioHost `json:"hosts" yaml:"hosts" jsonschema:"required,minItems=1"`
}

// Credentials are the users of hosts and guests.
type Credentials struct {
	Host  ScenarioLogin `json:"host,omitzero" yaml:"host"`
	Guest ScenarioLogin `json:"guest,omitzero" yaml:"guest"`
}

// ScenarioLogin is a user name and a password of the lab.
type ScenarioLogin struct {
	Username string `json:"username,omitempty" yaml:"username"`
	Password string `json:"password,omitempty" yaml:"password"`
}

// Milliseconds is a time span.
type Milliseconds int

// Duration converts to Go's type.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Timing is how long things take. Tests keep it small; a demonstration may use real times.
type Timing struct {
	VFAllocation    Milliseconds `json:"vf_allocation,omitempty" yaml:"vf_allocation" jsonschema:"minimum=0,default=20,description=From a start of the VM or an IovWeight above 0 to the virtual function."`
	VFDataPath      Milliseconds `json:"vf_data_path,omitempty" yaml:"vf_data_path" jsonschema:"minimum=0,default=20,description=From the virtual function to the data path through it."`
	SMBRefresh      Milliseconds `json:"smb_refresh,omitempty" yaml:"smb_refresh" jsonschema:"minimum=0,default=20,description=Until SMB's table of interfaces follows a change."`
	GuestBoot       Milliseconds `json:"guest_boot,omitempty" yaml:"guest_boot" jsonschema:"minimum=0,default=50,description=From the start of a VM until its guest answers."`
	VMShutdown      Milliseconds `json:"vm_shutdown,omitempty" yaml:"vm_shutdown" jsonschema:"minimum=0,default=20,description=A graceful shutdown of a guest."`
	VMShutdownLimit Milliseconds `json:"vm_shutdown_limit,omitempty" yaml:"vm_shutdown_limit" jsonschema:"minimum=0,default=2000,description=Until Stop-VM gives up on a guest that does not shut down; nobody has written down how long Windows waits."`
	LinkUp          Milliseconds `json:"link_up,omitempty" yaml:"link_up" jsonschema:"minimum=0,default=10,description=From a started net adapter to its link."`
	SwitchPath      Milliseconds `json:"switch_path,omitempty" yaml:"switch_path" jsonschema:"minimum=0,default=0,description=How long a host is out of reach when a switch takes or leaves the adapter of its own address."`
	DriverInstall   Milliseconds `json:"driver_install,omitempty" yaml:"driver_install" jsonschema:"minimum=0,default=20,description=From the start of pnputil to its exit code."`
	HostBoot        Milliseconds `json:"host_boot,omitempty" yaml:"host_boot" jsonschema:"minimum=0,default=50,description=From the restart of a host until it answers again."`
}

// ScenarioHost is a Hyper-V host.
type ScenarioHost struct {
	Name      string             `json:"name" yaml:"name" jsonschema:"required,minLength=1,maxLength=15"`
	Address   string             `json:"address,omitempty" yaml:"address" jsonschema:"description=The host's own management address; default 192.0.2.11 and up."`
	OS        ScenarioOS         `json:"os,omitzero" yaml:"os"`
	Iov       *ScenarioIov       `json:"iov,omitempty" yaml:"iov" jsonschema:"description=What the platform says about SR-IOV; default: supported."`
	Listener  ScenarioListener   `json:"listener,omitzero" yaml:"listener"`
	Setup     ScenarioSetup      `json:"setup,omitzero" yaml:"setup" jsonschema:"description=What is missing on a host that is set up in part only."`
	Devices   []ScenarioDevice   `json:"devices" yaml:"devices" jsonschema:"required,minItems=1"`
	Switches  []ScenarioSwitch   `json:"switches,omitempty" yaml:"switches"`
	VMs       []ScenarioVM       `json:"vms,omitempty" yaml:"vms"`
	LbfoTeams []ScenarioLbfoTeam `json:"lbfo_teams,omitempty" yaml:"lbfo_teams"`
	Registry  []ScenarioKey      `json:"registry,omitempty" yaml:"registry"`
	Dcb       *ScenarioDcb       `json:"dcb,omitempty" yaml:"dcb" jsonschema:"description=Data center bridging; default: the feature is not installed."`
	Firewall  *ScenarioFirewall  `json:"firewall,omitempty" yaml:"firewall" jsonschema:"description=Windows Firewall; left out\\, as on a fresh Windows."`
	Files     []ScenarioFile     `json:"files,omitempty" yaml:"files" jsonschema:"description=Files beside those of Windows itself\\; their folders come with them."`
	Routing   string             `json:"network_direct_across_ip_subnets,omitempty" yaml:"network_direct_across_ip_subnets" jsonschema:"enum=Blocked,enum=Allowed,default=Blocked,description=Allowed where the driver's installer was asked for RDMA across subnets."`
}

// ScenarioListener is how WinRM is set up; left out, as on a fresh Windows.
type ScenarioListener struct {
	Basic            bool              `json:"basic,omitempty" yaml:"basic" jsonschema:"default=false,description=Basic authentication."`
	Negotiate        *bool             `json:"negotiate,omitempty" yaml:"negotiate" jsonschema:"default=true,description=NTLM\\, over HTTP with sealed messages."`
	Kerberos         *ScenarioKerberos `json:"kerberos,omitempty" yaml:"kerberos" jsonschema:"description=Kerberos; left out\\, the host is in no domain."`
	Certificate      bool              `json:"certificate,omitempty" yaml:"certificate" jsonschema:"default=false,description=Client certificates. The listener asks for one in the first handshake; the simulator issues one for the host's user."`
	AllowUnencrypted bool              `json:"allow_unencrypted,omitempty" yaml:"allow_unencrypted" jsonschema:"default=false,description=Take messages over HTTP that are not sealed."`
	CbtHardening     string            `json:"cbt_hardening,omitempty" yaml:"cbt_hardening" jsonschema:"enum=None,enum=Relaxed,enum=Strict,default=Relaxed,description=What becomes of channel binding tokens (CbtHardeningLevel)."`
}

// ScenarioKerberos lets a host accept tickets of a real KDC.
type ScenarioKerberos struct {
	KeytabFile string `json:"keytab_file" yaml:"keytab_file" jsonschema:"required,minLength=1,description=Keys of the host's service principals (HTTP/name)."`
}

// ScenarioOS picks a Windows by name; single fields may differ from it.
type ScenarioOS struct {
	Name         string `json:"name,omitempty" yaml:"name" jsonschema:"enum=windows-server-2016,enum=windows-server-2019,enum=windows-server-2022,enum=windows-server-2025,enum=windows-10-pro,enum=windows-10-enterprise,enum=windows-11-pro,enum=windows-11-enterprise,enum=nano-server-2016,enum=linux,default=windows-server-2019"`
	Build        int    `json:"build,omitempty" yaml:"build"`
	UBR          int    `json:"ubr,omitempty" yaml:"ubr"`
	Architecture string `json:"architecture,omitempty" yaml:"architecture"`
	Language     string `json:"language,omitempty" yaml:"language" jsonschema:"default=en-US"`
}

// ScenarioIov is the platform's answer about SR-IOV (facts.md 42).
type ScenarioIov struct {
	Support bool     `json:"support" yaml:"support"`
	Reasons []string `json:"reasons,omitempty" yaml:"reasons"`
}

// ScenarioDevice is a PCI device with its ports.
type ScenarioDevice struct {
	Profile       string         `json:"profile" yaml:"profile" jsonschema:"required,enum=generic,enum=intel_x722,enum=intel_e810,enum=mellanox_cx3pro"`
	DriverVersion string         `json:"driver_version,omitempty" yaml:"driver_version"`
	DriverVendor  string         `json:"driver_provider,omitempty" yaml:"driver_provider" jsonschema:"description=Microsoft stands for an in-box driver."`
	MaxVFs        *int           `json:"max_vfs,omitempty" yaml:"max_vfs" jsonschema:"minimum=0,description=Virtual functions per port."`
	QueuePairs    *int           `json:"queue_pairs,omitempty" yaml:"queue_pairs" jsonschema:"minimum=0"`
	SriovSupport  *int           `json:"sriov_support,omitempty" yaml:"sriov_support" jsonschema:"minimum=0,maximum=7"`
	PfcClasses    *int           `json:"pfc_classes,omitempty" yaml:"pfc_classes" jsonschema:"minimum=1,maximum=8,description=How many priorities the hardware can make lossless; default 3."`
	Ports         []ScenarioPort `json:"ports" yaml:"ports" jsonschema:"required,minItems=1"`
}

// ScenarioPort is a physical net adapter.
type ScenarioPort struct {
	Name      string            `json:"name" yaml:"name" jsonschema:"required,minLength=1"`
	Address   string            `json:"address,omitempty" yaml:"address" jsonschema:"description=IPv4 address with prefix length; default none."`
	Gateway   string            `json:"gateway,omitempty" yaml:"gateway"`
	DNS       []string          `json:"dns,omitempty" yaml:"dns"`
	Manage    bool              `json:"management,omitempty" yaml:"management" jsonschema:"description=Holds the host's management address."`
	LinkDown  bool              `json:"link_down,omitempty" yaml:"link_down"`
	Disabled  bool              `json:"disabled,omitempty" yaml:"disabled"`
	LinkSpeed uint64            `json:"link_speed,omitempty" yaml:"link_speed" jsonschema:"description=Bits per second."`
	VlanID    int               `json:"vlan_id,omitempty" yaml:"vlan_id" jsonschema:"minimum=0,maximum=4094"`
	Keywords  map[string]string `json:"keywords,omitempty" yaml:"keywords" jsonschema:"description=Advanced properties that differ from the driver's defaults."`
	Without   []string          `json:"without_keywords,omitempty" yaml:"without_keywords" jsonschema:"description=Advanced properties that this driver does not have."`
}

// ScenarioSwitch is a virtual switch.
type ScenarioSwitch struct {
	Name          string   `json:"name" yaml:"name" jsonschema:"required,minLength=1"`
	Ports         []string `json:"ports,omitempty" yaml:"ports" jsonschema:"description=Names of net adapters; several make an embedded team."`
	Type          string   `json:"type,omitempty" yaml:"type" jsonschema:"enum=External,enum=Internal,enum=Private"`
	Iov           bool     `json:"iov,omitempty" yaml:"iov"`
	ManagementOS  bool     `json:"allow_management_os,omitempty" yaml:"allow_management_os"`
	BandwidthMode string   `json:"bandwidth_mode,omitempty" yaml:"bandwidth_mode" jsonschema:"enum=None,enum=Weight,enum=Absolute"`
	Notes         string   `json:"notes,omitempty" yaml:"notes"`
}

// ScenarioVM is a virtual machine.
type ScenarioVM struct {
	Name        string            `json:"name" yaml:"name" jsonschema:"required,minLength=1"`
	State       string            `json:"state,omitempty" yaml:"state" jsonschema:"enum=Running,enum=Off,enum=Saved,enum=Paused,default=Running"`
	Generation  int               `json:"generation,omitempty" yaml:"generation" jsonschema:"enum=1,enum=2,default=2"`
	Clustered   bool              `json:"clustered,omitempty" yaml:"clustered"`
	Checkpoints []string          `json:"checkpoints,omitempty" yaml:"checkpoints"`
	NoShutdown  bool              `json:"no_shutdown_integration,omitempty" yaml:"no_shutdown_integration"`
	Hangs       bool              `json:"hangs_on_shutdown,omitempty" yaml:"hangs_on_shutdown" jsonschema:"description=The guest takes the request to shut down and never gets there."`
	Notes       string            `json:"notes,omitempty" yaml:"notes"`
	Adapters    []ScenarioAdapter `json:"adapters,omitempty" yaml:"adapters"`
	Guest       *ScenarioGuest    `json:"guest,omitempty" yaml:"guest" jsonschema:"description=Default: the host's Windows."`
}

// ScenarioAdapter is a VM network adapter.
type ScenarioAdapter struct {
	Name       string   `json:"name,omitempty" yaml:"name" jsonschema:"default=Network Adapter"`
	Switch     string   `json:"switch,omitempty" yaml:"switch"`
	MacAddress string   `json:"mac_address,omitempty" yaml:"mac_address" jsonschema:"pattern=^[0-9A-F]{12}$"`
	StaticMac  bool     `json:"static_mac,omitempty" yaml:"static_mac"`
	Legacy     bool     `json:"legacy,omitempty" yaml:"legacy"`
	IovWeight  int      `json:"iov_weight,omitempty" yaml:"iov_weight" jsonschema:"minimum=0,maximum=100"`
	RdmaWeight *int     `json:"rdma_weight,omitempty" yaml:"rdma_weight" jsonschema:"minimum=0,maximum=100"`
	Policies   []string `json:"policies,omitempty" yaml:"policies"`
	Address    string   `json:"address,omitempty" yaml:"address" jsonschema:"description=IPv4 address with prefix length inside the guest; default none."`
}

// ScenarioGuest is what runs inside a VM.
type ScenarioGuest struct {
	OS              ScenarioOS        `json:"os,omitzero" yaml:"os"`
	VFDriver        string            `json:"vf_driver,omitempty" yaml:"vf_driver" jsonschema:"enum=none,enum=inbox,enum=inbox_bad,enum=vendor,default=vendor"`
	VFDriverVersion string            `json:"vf_driver_version,omitempty" yaml:"vf_driver_version"`
	Listener        *ScenarioListener `json:"listener,omitempty" yaml:"listener" jsonschema:"description=WinRM in the guest itself; default: none."`
	Firewall        *ScenarioFirewall `json:"firewall,omitempty" yaml:"firewall"`
	Routing         string            `json:"network_direct_across_ip_subnets,omitempty" yaml:"network_direct_across_ip_subnets" jsonschema:"enum=Blocked,enum=Allowed,default=Blocked"`
	Files           []ScenarioFile    `json:"files,omitempty" yaml:"files"`
	RecoveryNeeded  int               `json:"recovery_needed,omitempty" yaml:"recovery_needed" jsonschema:"minimum=0,maximum=3,description=Steps of the recovery ladder until SMB says RDMA capable."`
}

// ScenarioFile is a file. What it holds is a text, by which its hash is told.
type ScenarioFile struct {
	Path      string        `json:"path" yaml:"path" jsonschema:"required,pattern=^[A-Za-z]:[\\\\].+$"`
	Content   string        `json:"content,omitempty" yaml:"content"`
	Signature string        `json:"signature,omitempty" yaml:"signature" jsonschema:"enum=Valid,enum=NotSigned,enum=HashMismatch,enum=NotTrusted,enum=UnknownError,default=NotSigned,description=What Get-AuthenticodeSignature says."`
	Signer    string        `json:"signer,omitempty" yaml:"signer" jsonschema:"description=Subject of the signer's certificate."`
	Driver    *DriverOfFile `json:"driver,omitempty" yaml:"driver" jsonschema:"description=The driver package that this INF describes."`
}

// ScenarioLbfoTeam is a classic team (facts.md 21).
type ScenarioLbfoTeam struct {
	Name    string   `json:"name" yaml:"name"`
	Members []string `json:"members" yaml:"members"`
}

// ScenarioKey is a registry key of HKEY_LOCAL_MACHINE.
type ScenarioKey struct {
	Path   string          `json:"path" yaml:"path" jsonschema:"description=Without the hive: SOFTWARE\\\\Example."`
	SDDL   string          `json:"sddl,omitempty" yaml:"sddl"`
	Owner  string          `json:"owner,omitempty" yaml:"owner"`
	Values []ScenarioValue `json:"values,omitempty" yaml:"values"`
}

// ScenarioValue is a registry value.
type ScenarioValue struct {
	Name string `json:"name" yaml:"name"`
	Kind string `json:"kind" yaml:"kind" jsonschema:"enum=String,enum=ExpandString,enum=Binary,enum=DWord,enum=MultiString,enum=QWord"`
	Data string `json:"data" yaml:"data"`
}

// defaultScenario holds what a scenario file need not say.
func defaultScenario() *Scenario {
	return &Scenario{
		Credentials: Credentials{
			Host:  ScenarioLogin{Username: "Administrator", Password: "Lab-Host-1!"},
			Guest: ScenarioLogin{Username: "Administrator", Password: "Lab-Guest-1!"},
		},
		Timing: Timing{VFAllocation: 20, VFDataPath: 20, SMBRefresh: 20, GuestBoot: 50, VMShutdown: 20, VMShutdownLimit: 2000, LinkUp: 10, HostBoot: 50, DriverInstall: 20},
		Unknowns: Unknowns{
			RdmaWeightOnRunningVM: "apply", RdmaWeightZeroUnderIov: "reject", IovWithBandwidthMode: "ignore", GuestRdmaRegistryNeeds: "net_adapter",
			InboxVFDriverRdma: "yes", DownLevelGuestRdma: "yes", IovBlockers: []string{"port_acl", "extended_acl", "port_mirroring"},
			SavedVMHardware: "reject", NanoServerRunner: "yes", HostIPOnNewSwitch: "keep",
			DcbCmdletsWithoutFeature: "absent", DcbFeatureRestart: "no", TrafficClassAlgorithm: "name",
			FirewallSubnetForm: "mask", HostVNicRename: "follows",
		},
	}
}
