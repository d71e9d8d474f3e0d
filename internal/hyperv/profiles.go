package hyperv

import (
	"sort"
	"strings"
)

// Profile is what a vendor's driver needs for guest RDMA. The table below is the only place that knows
// vendors; everything else asks the profile.
type Profile struct {
	Name string
	// DriverFiles are the host driver's file names in lower case (facts.md 80).
	DriverFiles []string
	// MaxVFsKeyword is the advanced property that says how many VFs do RDMA on the whole device; all
	// PFs hold the same value. Empty: the driver has none (facts.md 35, 82, 83).
	MaxVFsKeyword string
	// GuestRdmaService and GuestRdmaValue name a REG_DWORD below the service's Parameters key that
	// allows guest RDMA (facts.md 36). Empty: none is known.
	GuestRdmaService string
	GuestRdmaValue   string
	// GuestKeyword is the VF driver's advanced property in the guest (facts.md 65). Only drivers that
	// have it get it.
	GuestKeyword string
	// RebindAfterSwitch: making or removing a switch on the device needs a bounce of all its PFs (facts.md 25).
	RebindAfterSwitch bool
	// NeedsTeamMapping: with SET only the first port carries guest RDMA, so the VM's adapter must be mapped (facts.md 22, 81).
	NeedsTeamMapping bool
	// SameDriverVersion: host and guest need the same version of the driver (facts.md 99).
	SameDriverVersion bool
	// InboxVFDriver: the procedure begins with Windows' own driver for the VF (procedures.md A9).
	InboxVFDriver bool
	// UnsupportedGuestRdma: the vendor does not support guest RDMA with it; an experiment (facts.md 3).
	UnsupportedGuestRdma bool
}

// GenericProfile is for drivers that the table does not know.
const GenericProfile = "generic"

// Profiles is the vendor table (facts.md section 2), by name.
func Profiles() map[string]Profile {
	const enableGuestRdma = "EnableGuestRdma"
	list := []Profile{
		{Name: "intel_x722", DriverFiles: []string{"i40eb65.sys", "i40eb68.sys", "i40ea65.sys", "i40ea68.sys"}, MaxVFsKeyword: "RdmaMaxVfsEnabled", GuestKeyword: "RdmaVfEnabled", RebindAfterSwitch: true},
		{Name: "intel_e810", DriverFiles: []string{"icea.sys", "icea65.sys", "icea68.sys"}, MaxVFsKeyword: "RdmaMaxVfsEnabled", GuestKeyword: "RdmaVfEnabled", RebindAfterSwitch: true},
		{Name: "mellanox_cx3pro", DriverFiles: []string{"mlx4eth63.sys"}, GuestRdmaService: "mlx4_bus", GuestRdmaValue: enableGuestRdma, NeedsTeamMapping: true, SameDriverVersion: true, InboxVFDriver: true, UnsupportedGuestRdma: true},
		{Name: "mellanox_mlx5", DriverFiles: []string{"mlx5.sys"}, SameDriverVersion: true},
		{Name: "chelsio_t6", DriverFiles: []string{"chnetx64.sys"}},
		{Name: "marvell_fastlinq", DriverFiles: []string{"qevbda.sys", "qenda.sys"}},
		{Name: "broadcom_netxtreme", DriverFiles: []string{"bnxtnd.sys", "ocndnd.sys"}},
		{Name: GenericProfile},
	}
	out := make(map[string]Profile, len(list))
	for _, p := range list {
		out[p.Name] = p
	}
	return out
}

// ProfileNames lists the table's names, sorted.
func ProfileNames() []string {
	var out []string
	for n := range Profiles() {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// profileOf chooses by name if one is given, else by the driver's file.
func profileOf(name, driverFile string) Profile {
	all := Profiles()
	if p, ok := all[name]; ok {
		return p
	}
	for _, p := range all {
		for _, f := range p.DriverFiles {
			if strings.EqualFold(f, driverFile) {
				return p
			}
		}
	}
	return all[GenericProfile]
}

// guestRdmaServices are the services whose Parameters key may allow guest RDMA.
func guestRdmaServices() []Profile {
	var out []Profile
	for _, n := range ProfileNames() {
		if p := Profiles()[n]; p.GuestRdmaService != "" {
			out = append(out, p)
		}
	}
	return out
}
