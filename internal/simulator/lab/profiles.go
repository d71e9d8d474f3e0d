package lab

import "strconv"

// profile is what a kind of device brings with it: driver, advanced properties, limits, and what its
// virtual functions look like in a guest (facts.md section 2).
type profile struct {
	description  string // of the first port; the others get " #2" and so on
	vendor       string // PCI\VEN_…&DEV_…
	driver       Driver
	busDevice    string // friendly name of the bus device that carries the ports, "" when there is none
	maxVFs       int
	queuePairs   int
	rdma         bool
	sriov        bool
	linkSpeed    uint64
	macPrefix    string
	keywords     func() []*Keyword
	vf           string // interface description of a VF in the guest
	vfVendor     string
	vfDriver     Driver
	vfKeywords   func() []*Keyword
	sharesDriver bool // host and guest are expected to have the same driver version (facts.md 99)
}

const (
	profileGeneric = "generic"
	profileX722    = "intel_x722"
	profileE810    = "intel_e810"
	profileCX3Pro  = "mellanox_cx3pro"
)

// Keywords with rules of their own.
const (
	keywordSriov     = "*SRIOV"
	keywordVmq       = "*VMQ"
	keywordRdma      = "*NetworkDirect"
	keywordMaxVFs    = "RdmaMaxVfsEnabled"
	keywordVFEnabled = "RdmaVfEnabled"
	keywordVlan      = "VlanID"
)

// profileOf finds the profile of a device; the scenario's schema admits no other names.
func profileOf(name string) profile {
	switch name {
	case profileX722:
		return profile{
			description: "Intel(R) Ethernet Connection X722 for 10GbE SFP+", vendor: `PCI\VEN_8086&DEV_37D0`,
			driver: Driver{FileName: "i40ea68.sys", Version: "1.18.303.0", Date: "2023-08-08", Provider: "Intel"},
			maxVFs: 32, queuePairs: 64, rdma: true, sriov: true, linkSpeed: 10_000_000_000, macPrefix: "A4BF01", keywords: x722Keywords,
			vf: "Intel(R) Ethernet Virtual Function X722", vfVendor: `PCI\VEN_8086&DEV_37CD`,
			vfDriver:   Driver{FileName: "i40evf68.sys", Version: "1.15.4.0", Date: "2022-06-21", Provider: "Intel"},
			vfKeywords: intelVFKeywords,
		}
	case profileE810:
		return profile{
			description: "Intel(R) Ethernet Network Adapter E810-C-Q2", vendor: `PCI\VEN_8086&DEV_1592`,
			driver: Driver{FileName: "icea.sys", Version: "1.13.236.0", Date: "2023-04-13", Provider: "Intel"},
			maxVFs: 64, queuePairs: 256, rdma: true, sriov: true, linkSpeed: 100_000_000_000, macPrefix: "B49691", keywords: e810Keywords,
			vf: "Intel(R) Ethernet Adaptive Virtual Function", vfVendor: `PCI\VEN_8086&DEV_1889`,
			vfDriver:   Driver{FileName: "iavf.sys", Version: "1.15.4.0", Date: "2022-06-21", Provider: "Intel"},
			vfKeywords: intelVFKeywords,
		}
	case profileCX3Pro:
		driver := Driver{FileName: "mlx4eth63.sys", Version: "5.50.53000.0", Date: "2018-12-20", Provider: "Mellanox Technologies Ltd.", Service: "mlx4_bus"}
		return profile{
			description: "Mellanox ConnectX-3 Pro Ethernet Adapter", vendor: `PCI\VEN_15B3&DEV_1007`, driver: driver,
			busDevice: "Mellanox ConnectX-3 PRO VPI (MT04103) Network Adapter",
			maxVFs:    16, queuePairs: 32, rdma: true, sriov: true, linkSpeed: 40_000_000_000, macPrefix: "E41D2D", keywords: cx3Keywords,
			vf: "Mellanox ConnectX-3 Virtual Function Ethernet Adapter", vfVendor: `PCI\VEN_15B3&DEV_1004`,
			vfDriver: driver, vfKeywords: func() []*Keyword { return nil }, sharesDriver: true,
		}
	default:
		return profile{
			description: "Intel(R) I350 Gigabit Network Connection", vendor: `PCI\VEN_8086&DEV_1521`,
			driver:    Driver{FileName: "e1r68x64.sys", Version: "12.18.9.23", Date: "2018-11-14", Provider: "Intel"},
			linkSpeed: 1_000_000_000, macPrefix: "0CC47A", keywords: genericKeywords,
			vfKeywords: func() []*Keyword { return nil },
		}
	}
}

// choice is a keyword with a list of values: pairs of value and display text.
func choice(keyword, display, value string, pairs ...string) *Keyword {
	k := &Keyword{Keyword: keyword, DisplayName: display, Registry: value, Running: value, Default: value}
	for i := 0; i+1 < len(pairs); i += 2 {
		k.Valid = append(k.Valid, pairs[i])
		k.ValidDisplay = append(k.ValidDisplay, pairs[i+1])
	}
	return k
}

// toggle is a keyword that is Disabled or Enabled.
func toggle(keyword, display, value string) *Keyword {
	return choice(keyword, display, value, "0", "Disabled", "1", "Enabled")
}

// numeric is a keyword with a range.
func numeric(keyword, display string, value, low, high, step int) *Keyword {
	v := strconv.Itoa(value)
	return &Keyword{Keyword: keyword, DisplayName: display, Registry: v, Running: v, Default: v, Min: &low, Max: &high, Step: &step}
}

// hidden takes a keyword off the list of advanced properties (facts.md 31).
func hidden(k *Keyword) *Keyword {
	k.Hidden = true
	return k
}

func genericKeywords() []*Keyword {
	return []*Keyword{
		choice("*JumboPacket", "Jumbo Packet", "1514", "1514", "Disabled", "4088", "4088 Bytes", "9014", "9014 Bytes"),
		toggle("*RSS", "Receive Side Scaling", "1"),
		numeric(keywordVlan, "VLAN ID", 0, 0, 4094, 1),
	}
}

// sriovKeywords are what every SR-IOV device here has (facts.md 31, 76, 78).
func sriovKeywords() []*Keyword {
	return []*Keyword{
		toggle(keywordRdma, "NetworkDirect Functionality", "1"),
		toggle(keywordSriov, "SR-IOV", "1"),
		hidden(toggle("*SriovPreferred", "SR-IOV Preferred", "0")),
		toggle(keywordVmq, "Virtual Machine Queues", "1"),
		toggle("*QOS", "Quality of Service", "1"),
	}
}

func x722Keywords() []*Keyword {
	return append(sriovKeywords(),
		choice("*NetworkDirectTechnology", "NetworkDirect Technology", "1", "1", "iWARP"),
		numeric(keywordMaxVFs, "RDMA Max VFs Enabled", 0, 0, 32, 1),
		choice("RdmaVfPreferredResourceProfile", "RDMA VF Resource Profile", "0", "0", "Auto", "1", "Best effort", "2", "Balanced"),
		toggle("*VMQVlanFiltering", "VMQ VLAN Filtering", "1"),
		toggle("*RssOnHostVPorts", "RSS on Host VPorts", "1"),
		numeric("*EncapOverhead", "Encapsulation Overhead", 0, 0, 256, 32),
		choice("*JumboPacket", "Jumbo Packet", "1514", "1514", "Disabled", "4088", "4088 Bytes", "9014", "9014 Bytes"),
		numeric(keywordVlan, "VLAN ID", 0, 0, 4094, 1),
	)
}

func e810Keywords() []*Keyword {
	keywords := append(x722Keywords(),
		choice("RdmaRoceFrameSize", "RDMA RoCE Frame Size", "1024", "1024", "1024", "2048", "2048", "4096", "4096"),
		toggle("MDDAutoResetVFs", "Malicious Driver Detection Auto Reset VFs", "0"),
	)
	technology := findKeyword(keywords, "*NetworkDirectTechnology")
	technology.Valid, technology.ValidDisplay = append(technology.Valid, "4"), append(technology.ValidDisplay, "RoCEv2")
	return keywords
}

func cx3Keywords() []*Keyword {
	return append(sriovKeywords(),
		choice("*NetworkDirectTechnology", "NetworkDirect Technology", "3", "3", "RoCE", "4", "RoCEv2"),
		choice("*RoceMaxFrameSize", "Roce Frame Size", "1024", "256", "256", "512", "512", "1024", "1024", "2048", "2048", "4096", "4096"),
		numeric("*JumboPacket", "Jumbo Packet", 1514, 614, 9614, 1),
		numeric(keywordVlan, "VLAN ID", 0, 0, 4094, 1),
	)
}

// intelVFKeywords: without RdmaVfEnabled a VF does no RDMA (facts.md 65).
func intelVFKeywords() []*Keyword {
	return []*Keyword{
		toggle(keywordVFEnabled, "RDMA VF Enabled", "0"),
		toggle("*RSS", "Receive Side Scaling", "1"),
		choice("*JumboPacket", "Jumbo Packet", "1514", "1514", "Disabled", "4088", "4088 Bytes", "9014", "9014 Bytes"),
	}
}
