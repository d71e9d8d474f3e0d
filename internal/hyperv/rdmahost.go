package hyperv

import (
	"context"
	"strconv"
	"strings"
)

// RdmaHost is what a host can do for RDMA.
type RdmaHost struct {
	OS            OSInfo
	Edition       string
	IovSupport    bool
	IovReasons    []string // in the host's language
	HasRdmaWeight bool     // Set-VMNetworkAdapterRdma exists (facts.md 4)
	Devices       []RdmaDevice
	// Read is false where what is not in Findings could not be read: the host is set up in part only.
	Read     bool
	Findings []Finding
}

// RdmaDevice is a PCI device whose driver offers Network Direct.
type RdmaDevice struct {
	Device
	Technology string // of *NetworkDirectTechnology, or empty
	RdmaMaxVFs *int64 // the driver's keyword, where it has one
	RdmaVFs    int64  // VM adapters on its switches that ask for RDMA
	PortInfo   []RdmaPort
}

// RdmaPort is one port of such a device.
type RdmaPort struct {
	NetAdapter   NetAdapter
	Function     int
	RdmaEnabled  bool
	SriovEnabled bool
	SriovSupport string
	NumVFs       int64 // offered
	VFsInUse     int64
	SwitchName   string            // the virtual switch that it is bound to
	Keywords     map[string]string // registry keyword -> value
}

// ReadRdmaHost describes the host from the shared inventory. A host that answers and is set up in part only is no
// error: what is wrong is in the findings, what can be read all the same beside them.
func (h *Host) ReadRdmaHost(ctx context.Context) (*RdmaHost, error) {
	inv, err := h.Inventory(ctx)
	whole := err == nil
	if err != nil {
		if constrained(err) {
			return &RdmaHost{Findings: []Finding{languageFinding()}}, nil
		}
		var e *Error
		if !asError(err, &e) || e.Command == nil {
			return nil, err
		}
		if inv, err = h.readWhatWorks(ctx); err != nil {
			return nil, err
		}
	}
	out := &RdmaHost{Read: whole, HasRdmaWeight: inv.HasRdmaWeight}
	if inv.OS != nil {
		out.OS, out.Edition = *inv.OS, edition(inv.OS.OperatingSystemSKU)
	}
	if inv.Host != nil {
		out.IovSupport, out.IovReasons = inv.Host.IovSupport, inv.Host.IovSupportReasons
	}
	seen := map[string]bool{}
	for _, hw := range inv.Hardware {
		d, ok := inv.device(hw.Name, "")
		if !ok || seen[d.Location] || !inv.offersRdma(d) {
			continue
		}
		seen[d.Location] = true
		out.Devices = append(out.Devices, inv.describeDevice(d))
	}
	out.Findings, err = h.diagnose(ctx, inv, out)
	return out, err
}

// edition names the SKUs on which Hyper-V and SMB Direct matter (facts.md 71); others by their number.
func edition(sku int) string {
	names := map[int]string{4: "Enterprise", 7: "Standard Server", 8: "Datacenter Server", 12: "Datacenter Server (Core)", 13: "Standard Server (Core)",
		42: "Hyper-V Server", 48: "Pro", 143: "Datacenter Nano Server", 144: "Standard Nano Server", 145: "Datacenter Server (annual channel)", 161: "Pro for Workstations", 175: "Enterprise multi-session", 406: "Azure Stack HCI", 407: "Datacenter: Azure Edition"}
	if n, ok := names[sku]; ok {
		return n
	}
	return "SKU " + strconv.Itoa(sku)
}

func (inv *Inventory) offersRdma(d *Device) bool {
	for _, p := range d.Ports {
		if len(inv.valueOnPorts(d, keywordRdma)) > 0 || listedRdma(inv.Rdma, p.Name) {
			return true
		}
	}
	return false
}

func (inv *Inventory) describeDevice(d *Device) RdmaDevice {
	out := RdmaDevice{Device: *d}
	switches := map[string]bool{}
	for _, p := range d.Ports {
		port := RdmaPort{NetAdapter: p, Keywords: map[string]string{}, RdmaEnabled: enabledRdma(inv.Rdma, p.Name)}
		if hw, ok := inv.hardware(p.Name); ok {
			port.Function = hw.FunctionNumber
		}
		for _, prop := range inv.Properties {
			if strings.EqualFold(prop.Name, p.Name) {
				port.Keywords[prop.RegistryKeyword] = strings.Join(prop.RegistryValue, ",")
			}
		}
		for _, s := range inv.Sriov {
			if strings.EqualFold(s.Name, p.Name) {
				port.SriovEnabled, port.SriovSupport, port.NumVFs = s.Enabled, s.SriovSupport, int64(s.NumVFs)
			}
		}
		for _, vf := range inv.VFs {
			if strings.EqualFold(vf.Name, p.Name) {
				port.VFsInUse++
			}
		}
		for _, s := range inv.Switches {
			for _, guid := range s.NetAdapterInterfaceGuid {
				if sameGUID(guid, p.InterfaceGuid) {
					port.SwitchName = s.Name
					switches[s.ID] = true
				}
			}
		}
		out.PortInfo = append(out.PortInfo, port)
	}
	first := out.PortInfo[0].Keywords
	if v, ok := lookup(first, keywordTechnology); ok {
		for name, number := range Technologies() {
			if number == v {
				out.Technology = name
			}
		}
	}
	if v, ok := lookup(first, d.Profile.MaxVFsKeyword); ok && d.Profile.MaxVFsKeyword != "" {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			out.RdmaMaxVFs = &n
		}
	}
	for _, a := range inv.Adapters {
		if !switches[a.SwitchID] || a.IovWeight == 0 {
			continue
		}
		for _, r := range inv.RdmaSettings {
			if strings.EqualFold(r.AdapterID, a.ID) && r.RdmaWeight > 0 {
				out.RdmaVFs++
			}
		}
	}
	return out
}
