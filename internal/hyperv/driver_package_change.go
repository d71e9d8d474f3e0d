package hyperv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// packageChange is a driver package on its way into a host or guest, or out of it.
type packageChange struct {
	host   *Host
	op     string
	spec   *DriverPackageSpec
	target *target
	vm     *VM
	inv    *Inventory
	store  *packageRead
	unlock func()
}

// packageSDDL: nobody but administrators may change what runs as SYSTEM.
const packageSDDL = "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

// Exit codes of pnputil (learn.microsoft.com, PnPUtil return values).
const (
	exitDone             = 0
	exitNoDevice         = 259
	exitRestartInitiated = 1641
	exitRestartRequired  = 3010
)

// read looks at the target's driver store and at the ledger.
func (c *packageChange) read(ctx context.Context) (err error) {
	if c.target, err = c.host.target(c.op, c.spec.Target); err != nil {
		return err
	}
	b := c.host.batch(c.op, driverPackageAbout(c.spec))
	after := b.readParts(append(c.target.parts(), partLedger)...)
	c.store = c.target.readDriverStore(b)
	if err := b.run(ctx); err != nil {
		return err
	}
	if c.inv, err = after(); err != nil {
		return err
	}
	if c.vm, err = c.target.vm(ctx, c.inv, c.op); err != nil {
		return err
	}
	if c.vm != nil {
		c.target.guest.VMID = c.vm.ID
	}
	return nil
}

// begin locks the target and reads it; a program that an earlier provider left running ends first.
func (c *packageChange) begin(ctx context.Context) error {
	t, err := c.host.target(c.op, c.spec.Target)
	if err != nil {
		return err
	}
	if c.unlock, err = t.lock(ctx, settingPackage); err != nil {
		return err
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	if err := c.store.failure(c.target, c.op, c.vm); err != nil {
		return err
	}
	if err := c.target.renamed(c.op, c.spec.Target.VMName, c.vm); err != nil {
		return err
	}
	p := c.program()
	code, found, err := p.await(ctx, false)
	if err != nil || !found {
		return err
	}
	if needsRestart(code) {
		if err := c.owe(ctx, driverPackageObject(c.vm, c.spec.Inf)); err != nil {
			return err
		}
	}
	return c.read(ctx)
}

func needsRestart(code uint32) bool {
	return code == exitRestartRequired || code == exitRestartInitiated
}

func (c *packageChange) free() {
	if c.unlock != nil {
		c.unlock()
	}
}

// id is the same for every run about one package, so that the next provider finds what a killed one left.
func (c *packageChange) id() string {
	sum := sha256.Sum256([]byte(driverPackageObject(c.vm, c.spec.Inf)))
	return hex.EncodeToString(sum[:8])
}

func (c *packageChange) program() *program {
	return &program{target: c.target, op: c.op, about: driverPackageAbout(c.spec), task: taskPrefix + "Driver-" + c.id()}
}

func (c *packageChange) windows() string { return c.store.windows.Items[0].WindowsDirectory }
func (c *packageChange) root() string    { return c.windows() + `\` + ledgerName }
func (c *packageChange) folder() string  { return c.root() + `\` + c.id() }
func (c *packageChange) pnputil() string { return c.windows() + `\System32\pnputil.exe` }

func (c *packageChange) failed(kind Kind, attribute, value, cause, fix string) error {
	return &Error{Kind: kind, Op: c.op, Host: c.host.Name, Object: driverPackageAbout(c.spec), Attribute: attribute, Value: value, Cause: cause, Fix: fix}
}

// InstallDriverPackage copies the package into a folder of administrators, checks it there, puts it into the driver store,
// and installs it on the devices that it fits.
func (h *Host) InstallDriverPackage(ctx context.Context, spec DriverPackageSpec) (*DriverPackage, error) {
	c := &packageChange{host: h, op: "install the driver package", spec: &spec}
	defer c.free()
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	object := driverPackageObject(c.vm, spec.Inf)
	if h.claimed.has(object) {
		return nil, c.failed(Conflict, "inf", spec.Inf, "Another resource of this configuration has the package already.", "Keep one resource for each INF on each host and in each guest.")
	}
	before := c.runsWith()
	hash, signer, err := c.stage(ctx)
	if err != nil {
		return nil, c.clean(ctx, err)
	}
	code, err := c.add(ctx)
	if err != nil {
		return nil, c.clean(ctx, err)
	}
	if err := c.clean(ctx, nil); err != nil {
		return nil, err
	}
	d := c.store.find(spec.Inf, spec.Version)
	if d == nil {
		return nil, c.failed(Other, "", "", "The package was installed and is not in the driver store any more.", "Something else removes it; look at C:\\Windows\\INF\\setupapi.dev.log there, then apply again.")
	}
	h.claimed.add(object)
	out := c.store.describe(d, c.vm, c.inv.ledger)
	out.SHA256, out.Signer, out.Before = hash, signer, before
	out.Notes = c.notes(out, code)
	return out, nil
}

// runsWith lists the net adapters with the drivers that they run with.
func (c *packageChange) runsWith() []string {
	var out []string
	for _, n := range c.store.nics.Items {
		out = append(out, fmt.Sprintf("%s: %s %s", n.Name, n.DriverProvider, n.DriverVersion))
	}
	sort.Strings(out)
	return out
}

func (c *packageChange) notes(out *DriverPackage, code uint32) []Note {
	var notes []Note
	switch {
	case out.RestartRequired:
		notes = append(notes, Note{"Windows must be restarted for " + driverPackageAbout(c.spec), fmt.Sprintf("pnputil ended with exit code %s: the driver runs from the next start of Windows. The provider does not restart %s; do it when it suits.", exitText(code), c.target.ref.about())})
	case len(out.NetAdapters) == 0:
		notes = append(notes, Note{"No net adapter runs with " + driverPackageAbout(c.spec),
			fmt.Sprintf("The package is in the driver store as %s. Either no device that it fits is there (a virtual function that comes later gets it then), or every one has a driver that Windows takes for better (a later date, then a higher version; exit code %s).", out.Published, exitText(code))})
	}
	if !out.Ours {
		notes = append(notes, Note{"The driver package was there already", fmt.Sprintf("%s has it as %s. It stays when the resource is destroyed.", c.target.ref.about(), out.Published)})
	}
	return notes
}

// stage copies the package and checks the copy, which nobody but administrators can change any more.
func (c *packageChange) stage(ctx context.Context) (hash, signer string, err error) {
	look := c.host.batch(c.op, driverPackageAbout(c.spec))
	acl := find[aclInfo](look, c.target.in(wire.Call{Cmdlet: "Get-Acl", Parameters: map[string]any{"LiteralPath": c.root()}}), absent())
	if err := look.run(ctx); err != nil {
		return "", "", err
	}
	if len(acl.Items) > 0 {
		if why := foreignACL(acl.Items[0].Sddl); why != "" {
			return "", "", c.failed(Conflict, "", acl.Items[0].Sddl, "The folder "+c.root()+" exists with rights that the provider did not give it: "+why+".",
				"Find out who made the folder. If nothing in it is needed, remove it and apply again; the provider makes it anew for SYSTEM and Administrators only.")
		}
	}
	b := c.host.batch(c.op, driverPackageAbout(c.spec))
	in := func(cmdlet string, parameters map[string]any) wire.Call {
		return c.target.in(wire.Call{Cmdlet: cmdlet, Parameters: parameters, Select: []wire.Field{{Name: "FullName"}}})
	}
	exists := tolerating(func(e wire.CommandError) bool { return e.Category == "ResourceExists" })
	b.change(in("New-Item", map[string]any{"Path": c.root(), "ItemType": "Directory"}), exists)
	read := in("Get-Acl", map[string]any{"LiteralPath": c.root()})
	read.Save = "folder acl"
	b.add(read, true)
	b.change(in("Set-Acl", map[string]any{"LiteralPath": c.root(), "AclObject": wire.SecurityDescriptor{Call: "folder acl", SDDL: packageSDDL}}))
	b.change(in("Remove-Item", map[string]any{"LiteralPath": c.folder(), "Recurse": true, "Force": true, "Confirm": false}), absent())
	missing := b.add(in("Get-Item", map[string]any{"LiteralPath": c.spec.Source}), true, absent())
	b.change(in("Copy-Item", map[string]any{"LiteralPath": c.spec.Source, "Destination": c.folder(), "Recurse": true, "Force": true, "Confirm": false}), absent())
	list := in("Get-ChildItem", map[string]any{"LiteralPath": c.folder(), "Recurse": true, "Force": true})
	list.Save, list.Select, list.Where = "files", nil, []wire.Condition{{Property: "PSIsContainer", Equals: []string{"false"}}}
	files := find[stagedFile](b, list, absent())
	hashes := find[fileHash](b, c.target.in(wire.Call{Cmdlet: "Get-FileHash", Input: "files", Parameters: map[string]any{"Algorithm": "SHA256"}}), absent())
	list.Save, list.Where = "catalogs", append(list.Where, wire.Condition{Property: "Extension", Equals: []string{".cat"}})
	find[stagedFile](b, list, absent())
	signatures := find[fileSignature](b, c.target.in(wire.Call{Cmdlet: "Get-AuthenticodeSignature", Input: "catalogs"}), absent())
	if err := b.run(ctx); err != nil {
		return "", "", err
	}
	switch {
	case missing.failed():
		return "", "", c.failed(NotFound, "source_path", c.spec.Source, "There is no such folder on "+c.target.ref.about()+".", "Give a folder that is there, with the INF and every file that it names.")
	case !slices.ContainsFunc(files.Items, func(f stagedFile) bool { return strings.EqualFold(f.FullName, c.folder()+`\`+c.spec.Inf) }):
		return "", "", c.failed(NotFound, "inf", c.spec.Inf, "The folder "+c.spec.Source+" has no such file.", "Give the name of the INF that lies in the folder itself.")
	case len(hashes.Items) != len(files.Items):
		return "", "", c.failed(Other, "", "", fmt.Sprintf("Windows gave %d hashes for %d files.", len(hashes.Items), len(files.Items)), "Apply again.")
	}
	hash = packageHash(c.folder(), hashes.Items)
	if c.spec.SHA256 != "" && !strings.EqualFold(hash, c.spec.SHA256) {
		return "", "", c.failed(Invalid, "sha256", c.spec.SHA256, "The package is another one: its SHA-256 is "+hash+".", "Find out why it differs. If the package is the right one, write its SHA-256.")
	}
	signer, err = c.signer(signatures.Items)
	return hash, signer, err
}

// signer checks the package's catalogs: all of them must be signed by somebody whom Windows trusts.
func (c *packageChange) signer(signatures []fileSignature) (string, error) {
	if len(signatures) == 0 {
		return "", c.failed(Invalid, "source_path", c.spec.Source, "The package has no catalog (.cat), so nothing says who made it.", "Take the package as the vendor ships it, with its catalog.")
	}
	for _, s := range signatures {
		if s.Status != "Valid" {
			return "", c.failed(Invalid, "source_path", c.spec.Source, fmt.Sprintf("The signature of the catalog %s is not valid there: %s.", s.Path[strings.LastIndexByte(s.Path, '\\')+1:], s.Status),
				"Take the package as the vendor ships it; for a certificate of your own, make the target trust it (Trusted Root and Trusted Publishers).")
		}
		if c.spec.Signer != "" && s.Signer.Subject != c.spec.Signer {
			return "", c.failed(Invalid, "signer", c.spec.Signer, fmt.Sprintf("The catalog is signed by %q.", s.Signer.Subject), "Find out why. If this signer is the right one, write it.")
		}
	}
	return signatures[0].Signer.Subject, nil
}

// clean removes the copy, and the folder of all copies where it is empty.
func (c *packageChange) clean(ctx context.Context, why error) error {
	if ctx.Err() != nil || KindOf(why) == TimedOut || changeLost(why) { // the next apply goes on with it
		return why
	}
	b := c.host.batch(c.op, driverPackageAbout(c.spec))
	if KindOf(why) != Conflict { // a folder of somebody else's stays as it is
		b.change(c.target.in(wire.Call{Cmdlet: "Remove-Item", Parameters: map[string]any{"LiteralPath": c.folder(), "Recurse": true, "Force": true, "Confirm": false}}), absent())
		b.change(c.target.in(wire.Call{Cmdlet: "Remove-Item", Parameters: map[string]any{"LiteralPath": c.root(), "Confirm": false}}), tolerating(anyError))
	}
	if err := b.run(ctx); err != nil && why == nil {
		return err
	}
	return why
}

// add puts the package into the driver store, checks there which version it is, and installs it.
func (c *packageChange) add(ctx context.Context) (uint32, error) {
	w := c.inv.ledger.writes()
	object := driverPackageObject(c.vm, c.spec.Inf)
	var was *string
	if d := c.store.find(c.spec.Inf, c.spec.Version); d != nil {
		was = &d.Driver
	}
	known := make(map[string]bool)
	for _, d := range c.store.drivers.Items {
		known[strings.ToLower(d.Driver)] = true
	}
	w.remember(before{Object: object, Setting: settingPackage, Value: was, About: driverPackageAbout(c.spec)})
	if err := c.record(ctx, w); err != nil {
		return 0, err
	}
	path := c.folder() + `\` + c.spec.Inf
	code, err := c.program().run(ctx, c.pnputil(), "/add-driver", path)
	if err != nil {
		return 0, err
	}
	if err := c.read(ctx); err != nil {
		return 0, err
	}
	if c.store.find(c.spec.Inf, c.spec.Version) == nil {
		err := c.rejected(code, "put the package into the driver store")
		for _, d := range c.store.drivers.Items {
			if strings.EqualFold(d.inf(), c.spec.Inf) && !known[strings.ToLower(d.Driver)] {
				if _, e := c.program().run(ctx, c.pnputil(), "/delete-driver", d.Driver); e != nil {
					return 0, e
				}
				err = c.failed(Invalid, "version", c.spec.Version, "The package is of version "+d.Version+".", "Write the version that the package has, or take another package.")
			}
		}
		w := c.inv.ledger.writes()
		w.dropObject(object)
		if e := c.record(ctx, w); e != nil {
			return 0, e
		}
		return 0, err
	}
	if code, err = c.program().run(ctx, c.pnputil(), "/add-driver", path, "/install"); err != nil {
		return 0, err
	}
	switch {
	case code == exitDone || code == exitNoDevice:
	case needsRestart(code):
		if err := c.owe(ctx, object); err != nil {
			return 0, err
		}
	default:
		return 0, c.rejected(code, "install it on the devices that it fits")
	}
	return code, c.read(ctx)
}

// owe writes down that Windows must start before the driver runs.
func (c *packageChange) owe(ctx context.Context, object string) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	w := c.inv.ledger.writes()
	d := Debt{Kind: RestartHost, Target: c.host.Name, TargetID: targetID(c.vm), Reason: "a driver package was installed or removed that runs from the next start of Windows", Owner: object, Since: c.store.windows.Items[0].LocalDateTime}
	if c.vm != nil {
		d.Kind, d.Target = RestartVM, c.vm.Name
	}
	w.owe(d)
	return c.record(ctx, w)
}

func (c *packageChange) rejected(code uint32, what string) error {
	if code == codeTerminated {
		return c.failed(Other, "", "", "Windows went down while pnputil was to "+what+".", "Apply again.")
	}
	return c.failed(Other, "", "", fmt.Sprintf("pnputil did not %s: exit code %s.", what, exitText(code)), `Look for the reason in C:\Windows\INF\setupapi.dev.log there.`)
}

// record writes to the ledger.
func (c *packageChange) record(ctx context.Context, w *ledgerWrites) error {
	b := c.host.batch(c.op, driverPackageAbout(c.spec))
	w.addPuts(b)
	w.addRemoves(b)
	release := w.guard(c.host)
	err := b.run(ctx)
	release()
	if err == nil {
		w.apply()
	}
	return err
}

// RemoveDriverPackage takes the package out of the driver store, if the provider put it there. Windows then gives the devices
// the best driver that is left: the one before.
func (h *Host) RemoveDriverPackage(ctx context.Context, spec DriverPackageSpec, forget bool) ([]Note, error) {
	c := &packageChange{host: h, op: "remove the driver package", spec: &spec}
	defer c.free()
	err := c.begin(ctx)
	if IsNotFound(err) && spec.Target.VMID != "" && c.vm == nil && c.inv != nil { // the VM is gone, and its guest with it
		object := driverPackageObject(&VM{ID: spec.Target.VMID}, spec.Inf)
		h.claimed.remove(object)
		return nil, h.forgetObject(ctx, c.op, c.inv, object, object)
	}
	if err != nil && c.vm != nil && c.store.failure(c.target, c.op, c.vm) != nil {
		note, err := c.target.forgetOrFail(err, forget, driverPackageAbout(&spec))
		if err != nil {
			return nil, err
		}
		object := driverPackageObject(c.vm, spec.Inf)
		h.claimed.remove(object)
		return []Note{note}, h.forgetObject(ctx, c.op, c.inv, object, object)
	}
	if err != nil {
		return nil, err
	}
	object := driverPackageObject(c.vm, spec.Inf)
	var notes []Note
	d := c.store.published(spec.Published)
	if d != nil && !strings.EqualFold(d.inf(), spec.Inf) {
		d = nil
	}
	was, known := c.inv.ledger.before(object, settingPackage)
	switch {
	case d == nil:
	case !known || was.Value != nil:
		notes = append(notes, Note{"The driver package stays", fmt.Sprintf("%s of %s was in the driver store before this resource.", d.Driver, c.target.ref.about())})
	default:
		code, err := c.program().run(ctx, c.pnputil(), "/delete-driver", d.Driver, "/uninstall")
		if err != nil {
			return nil, err
		}
		if err := c.read(ctx); err != nil {
			return nil, err
		}
		if left := c.store.published(spec.Published); left != nil && strings.EqualFold(left.inf(), spec.Inf) {
			return nil, c.rejected(code, "remove it")
		}
		if needsRestart(code) {
			notes = append(notes, Note{"Windows must be restarted", fmt.Sprintf("The package is removed. The driver before it runs from the next start of %s (exit code %s); the provider does not restart it.", c.target.ref.about(), exitText(code))})
		}
	}
	h.claimed.remove(object)
	return notes, h.forgetObject(ctx, c.op, c.inv, object, object)
}
