package hyperv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// DriverPackageSpec is a driver package as it is wanted in a host or a guest.
type DriverPackageSpec struct {
	Target    TargetRef
	Source    string // folder on the target that holds the INF and its files
	Inf       string // file name of the INF
	Version   string // of the driver, as Windows reads it from the INF
	SHA256    string // of the package, "" for any
	Signer    string // subject of the certificate that the catalogs must be signed with, "" for any that Windows trusts
	Published string // oem3.inf; "" on create
}

// DriverPackage is what Windows says of the package.
type DriverPackage struct {
	VM              *VM // nil on the host
	Published       string
	Inf             string
	Version         string
	Provider        string
	SHA256          string   // on create alone
	Signer          string   // on create alone
	NetAdapters     []string // that run with it
	Before          []string // what they ran with before, on create alone
	Ours            bool     // the provider put it into the driver store
	RestartRequired bool
	Err             error // why the guest could not be asked
	Notes           []Note
}

// storedDriver is an object of Get-WindowsDriver (objects.md).
type storedDriver struct {
	Driver           string `json:"Driver"`
	OriginalFileName string `json:"OriginalFileName"`
	ProviderName     string `json:"ProviderName"`
	Version          string `json:"Version"`
}

func (d storedDriver) inf() string {
	return d.OriginalFileName[strings.LastIndexByte(d.OriginalFileName, '\\')+1:]
}

type windowsInfo struct {
	WindowsDirectory string    `json:"WindowsDirectory"`
	LastBootUpTime   time.Time `json:"LastBootUpTime"`
	LocalDateTime    time.Time `json:"LocalDateTime"`
}

const settingPackage = "driver package"

func driverPackageAbout(s *DriverPackageSpec) string {
	return fmt.Sprintf("driver package %q of %s", s.Inf, s.Target.about())
}

// driverPackageObject names a package in the ledger by target and INF: one resource owns all versions of it there.
func driverPackageObject(vm *VM, inf string) string {
	return "driver package " + targetID(vm) + " " + strings.ToLower(inf)
}

// packageRead is one look at a target's driver store.
type packageRead struct {
	drivers *found[storedDriver]
	nics    *found[NetAdapter]
	windows *found[windowsInfo]
}

func (t *target) readDriverStore(b *batch) *packageRead {
	always := tolerating(anyError)
	return &packageRead{
		drivers: find[storedDriver](b, t.in(wire.Call{Cmdlet: "Get-WindowsDriver", Parameters: map[string]any{"Online": true}}), always),
		nics:    t.readAdapters(b),
		windows: find[windowsInfo](b, t.in(wire.Call{Cmdlet: "Get-CimInstance", Parameters: map[string]any{"ClassName": "Win32_OperatingSystem"}}), always),
	}
}

// failure is why the target could not be asked.
func (r *packageRead) failure(t *target, op string, vm *VM) error {
	for _, e := range [][]wire.CommandError{r.drivers.Errors, r.windows.Errors, r.nics.Errors, nil} {
		if err := t.failure(op, vm, e); err != nil {
			return err
		}
	}
	if len(r.windows.Items) == 0 {
		return &Error{Kind: Other, Op: op, Host: t.host.Name, Object: t.ref.about(), Cause: "Windows did not say where it is installed.", Fix: "Check WMI there: Get-CimInstance Win32_OperatingSystem."}
	}
	return nil
}

// find gives the package of an INF and a version.
func (r *packageRead) find(inf, version string) *storedDriver {
	for _, d := range r.drivers.Items {
		if strings.EqualFold(d.inf(), inf) && d.Version == version {
			return &d
		}
	}
	return nil
}

func (r *packageRead) published(name string) *storedDriver {
	for _, d := range r.drivers.Items {
		if strings.EqualFold(d.Driver, name) {
			return &d
		}
	}
	return nil
}

// using are the net adapters that run with a driver. Windows says it by the driver's provider and version.
func (r *packageRead) using(d *storedDriver) []string {
	var out []string
	for _, n := range r.nics.Items {
		if strings.EqualFold(n.DriverProvider, d.ProviderName) && n.DriverVersion == d.Version {
			out = append(out, n.Name)
		}
	}
	sort.Strings(out)
	return out
}

// describe is what the look says of a package.
func (r *packageRead) describe(d *storedDriver, vm *VM, l *ledger) *DriverPackage {
	out := &DriverPackage{VM: vm, Published: d.Driver, Inf: d.inf(), Version: d.Version, Provider: d.ProviderName, NetAdapters: r.using(d)}
	object := driverPackageObject(vm, d.inf())
	if was, known := l.before(object, settingPackage); known {
		out.Ours = was.Value == nil
	}
	for _, debt := range l.debts() {
		if debt.Owner == object && r.windows.Items[0].LastBootUpTime.Before(debt.Since) {
			out.RestartRequired = true
		}
	}
	return out
}

// ReadDriverPackage looks for the package that a resource knows by its published name. A guest that cannot be reached is
// no error: the result says so.
func (h *Host) ReadDriverPackage(ctx context.Context, spec DriverPackageSpec) (*DriverPackage, error) {
	c := &packageChange{host: h, op: "read the driver package", spec: &spec}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	if err := c.store.failure(c.target, c.op, c.vm); err != nil {
		if c.vm == nil {
			return nil, err
		}
		return &DriverPackage{VM: c.vm, Err: err}, nil
	}
	d := c.store.published(spec.Published)
	if d == nil || spec.Inf != "" && !strings.EqualFold(d.inf(), spec.Inf) { // Windows gives the numbers away again
		return nil, &Error{Kind: NotFound, Op: c.op, Host: h.Name, Object: driverPackageAbout(&spec), Value: spec.Published,
			Cause: "The driver store has no such package.", Fix: "Look at Get-WindowsDriver -Online there for its published name."}
	}
	return c.store.describe(d, c.vm, c.inv.ledger), nil
}

// stagedFile is a file of a package in its folder.
type stagedFile struct {
	FullName  string `json:"FullName"`
	Extension string `json:"Extension"`
}

type fileHash struct {
	Path string `json:"Path"`
	Hash string `json:"Hash"`
}

type fileSignature struct {
	Path   string `json:"Path"`
	Status string `json:"Status"`
	Signer struct {
		Subject string `json:"Subject"`
	} `json:"SignerCertificate"`
}

// packageHash is one hash for all files of a folder: SHA-256 of the lines "hash, two spaces, path in the folder" (both in lower
// case, the path with slashes), sorted by path, each ended by a line feed.
func packageHash(folder string, files []fileHash) string {
	lines := map[string]string{}
	for _, f := range files {
		name := f.Path
		if len(name) > len(folder) {
			name = name[len(folder)+1:]
		}
		lines[strings.ToLower(strings.ReplaceAll(name, `\`, "/"))] = strings.ToLower(f.Hash)
	}
	sum := sha256.New()
	for _, name := range sorted(lines) {
		fmt.Fprintf(sum, "%s  %s\n", lines[name], name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
