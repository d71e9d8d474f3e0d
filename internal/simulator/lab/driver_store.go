package lab

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// DriverOfFile is the driver that an INF describes.
type DriverOfFile struct {
	Profile  string `json:"profile" yaml:"profile" jsonschema:"required,description=Kind of the devices that it drives."`
	VF       bool   `json:"vf,omitempty" yaml:"vf" jsonschema:"description=It drives the device's virtual functions\\, in a guest."`
	Provider string `json:"provider" yaml:"provider" jsonschema:"required"`
	Version  string `json:"version" yaml:"version" jsonschema:"required"`
	Date     string `json:"date" yaml:"date" jsonschema:"required,pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`
	FileName string `json:"file_name" yaml:"file_name" jsonschema:"required,description=The driver's .sys file."`
	Catalog  string `json:"catalog,omitempty" yaml:"catalog" jsonschema:"description=Its .cat file\\, beside the INF."`
	Restart  bool   `json:"restart,omitempty" yaml:"restart" jsonschema:"description=The driver runs only from the next start of Windows (exit code 3010)."`
}

// DriverPackage is a package of the driver store, of those that did not come with Windows. The drivers that a scenario's
// devices start with are not listed.
type DriverPackage struct {
	Published string       `json:"published"` // oem0.inf
	Original  string       `json:"original"`
	Hash      string       `json:"hash"` // of the INF
	Driver    DriverOfFile `json:"driver"`
}

// storePath is where the store keeps the package.
func (p *DriverPackage) storePath() string {
	return fmt.Sprintf(`C:\Windows\System32\DriverStore\FileRepository\%s_amd64_%s\%s`, strings.ToLower(p.Original), strings.ToLower(p.Hash[:16]), strings.ToLower(p.Original))
}

func (d *DriverOfFile) plain(service string) Driver {
	return Driver{FileName: d.FileName, Version: d.Version, Date: d.Date, Provider: d.Provider, Service: service}
}

func registerWindowsDriver(r registry) { r.both("Get-WindowsDriver", getWindowsDriver) }

// getWindowsDriver lists the store (objects.md: BasicDriverObject). Without -All the packages of Windows itself are left out.
func getWindowsDriver(c *call) {
	if !c.boolean("Online") {
		c.fail(&cmdlet.Error{ID: "Get-WindowsDriver,Microsoft.Dism.Commands.GetWindowsDriverCommand", Category: "NotSpecified", Exception: "System.IO.DirectoryNotFoundException",
			Message: "The path specified in the -Path parameter does not exist."})
		return
	}
	for _, p := range c.disk().Drivers {
		if only := c.str("Driver"); only != "" && !strings.EqualFold(only, p.Published) {
			continue
		}
		c.emit(&cmdlet.Object{Types: []string{"Microsoft.Dism.Commands.BasicDriverObject", "Microsoft.Dism.Commands.DismObject", "System.Object"}, Ref: "driver:" + p.Published, Text: p.Published,
			Properties: []cmdlet.Property{prop("Driver", p.Published), prop("OriginalFileName", p.storePath()), prop("Inbox", false), prop("CatalogFile", p.Driver.Catalog), prop("ClassName", "Net"),
				prop("BootCritical", false), prop("ProviderName", p.Driver.Provider), prop("Date", p.Driver.Date), prop("Version", p.Driver.Version), prop("Online", true)}})
	}
}

func (d *Disk) stored(published string) *DriverPackage {
	for _, p := range d.Drivers {
		if strings.EqualFold(p.Published, published) {
			return p
		}
	}
	return nil
}

// store adds a package, or gives the one that is there with the same INF.
func (d *Disk) store(inf *File) *DriverPackage {
	for _, p := range d.Drivers {
		if strings.EqualFold(p.Original, baseName(inf.Path)) && p.Hash == inf.hash() {
			return p
		}
	}
	p := &DriverPackage{Original: baseName(inf.Path), Hash: inf.hash(), Driver: *inf.Driver}
	for n := 0; ; n++ {
		if p.Published = fmt.Sprintf("oem%d.inf", n); d.stored(p.Published) == nil {
			break
		}
	}
	d.Drivers = append(d.Drivers, p)
	return p
}

// newer: of two drivers for a device Windows takes the one of the later date, then of the higher version
// (learn.microsoft.com, How Windows ranks driver packages).
func newer(a, b Driver) bool {
	if a.Date != b.Date {
		return a.Date > b.Date
	}
	x, y := strings.Split(a.Version, "."), strings.Split(b.Version, ".")
	for i := 0; i < len(x) && i < len(y); i++ {
		if number(x[i]) != number(y[i]) {
			return number(x[i]) > number(y[i])
		}
	}
	return len(x) > len(y)
}

// best is the newest driver of the store for a kind of device; the device's own, own, where that is newer.
func (d *Disk) best(profile string, vf bool, own Driver) Driver {
	best := own
	for _, p := range d.Drivers {
		if p.Driver.Profile == profile && p.Driver.VF == vf {
			if x := p.Driver.plain(own.Service); newer(x, best) {
				best = x
			}
		}
	}
	return best
}
