package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Disk is what a scenario says of the files and the driver store of a Windows. Folders of Windows itself are not listed.
type Disk struct {
	Files   []*File          `json:"files,omitempty"` // sorted by path
	Drivers []*DriverPackage `json:"driver_store,omitempty"`
}

// File is a file or a folder.
type File struct {
	Path      string        `json:"path"`
	Folder    bool          `json:"folder,omitempty"`
	SDDL      string        `json:"sddl,omitempty"` // "": inherited
	Content   string        `json:"content,omitempty"`
	Signature string        `json:"signature,omitempty"`
	Signer    string        `json:"signer,omitempty"`
	Driver    *DriverOfFile `json:"driver,omitempty"`
}

const fileProvider = `Microsoft.PowerShell.Core\FileSystem`

var diskPath = regexp.MustCompile(`^[A-Za-z]:(\\|/|$)`)

// systemFolder says whether a folder is one that every Windows has.
func systemFolder(path string) bool {
	switch strings.ToLower(path) {
	case `c:`, `c:\windows`, `c:\windows\system32`, `c:\windows\temp`, `c:\programdata`, `c:\program files`, `c:\users`:
		return true
	}
	return false
}

// disk is the disk of the target.
func (c *call) disk() *Disk { return c.host.diskOf(c.vm) }

func (h *Host) diskOf(vm *VM) *Disk {
	if vm != nil && vm.Guest != nil {
		return &vm.Guest.Disk
	}
	return &h.Disk
}

// add takes the files of a scenario, and makes their folders.
func (d *Disk) add(files []ScenarioFile) {
	for _, s := range files {
		f := File{Path: cleanPath(s.Path), Content: s.Content, Signature: s.Signature, Signer: s.Signer, Driver: s.Driver}
		if f.Signature == "" {
			f.Signature = "NotSigned"
		}
		d.folder(parentPath(f.Path))
		d.put(f)
	}
}

func (d *Disk) find(path string) *File {
	for _, f := range d.Files {
		if strings.EqualFold(f.Path, path) {
			return f
		}
	}
	if systemFolder(path) {
		return &File{Path: path, Folder: true}
	}
	return nil
}

func (d *Disk) put(f File) *File {
	if old := d.find(f.Path); old != nil && !systemFolder(f.Path) {
		f.Path, f.SDDL = old.Path, old.SDDL
		*old = f
		return old
	}
	d.Files = append(d.Files, &f)
	sort.SliceStable(d.Files, func(i, j int) bool { return strings.ToLower(d.Files[i].Path) < strings.ToLower(d.Files[j].Path) })
	return &f
}

// folder makes a folder and those above it.
func (d *Disk) folder(path string) *File {
	if f := d.find(path); f != nil {
		return f
	}
	d.folder(parentPath(path))
	return d.put(File{Path: path, Folder: true})
}

// below are the files and folders in a folder, at any depth.
func (d *Disk) below(path string) []*File {
	var out []*File
	for _, f := range d.Files {
		if below(path, f.Path) {
			out = append(out, f)
		}
	}
	return out
}

func (d *Disk) remove(path string) {
	var kept []*File
	for _, f := range d.Files {
		if !strings.EqualFold(f.Path, path) && !below(path, f.Path) {
			kept = append(kept, f)
		}
	}
	d.Files = kept
}

func cleanPath(path string) string {
	path = strings.TrimPrefix(path, fileProvider+"::")
	return strings.TrimRight(strings.ReplaceAll(path, "/", `\`), `\`)
}

func parentPath(path string) string {
	if i := strings.LastIndexByte(path, '\\'); i > 0 {
		return path[:i]
	}
	return path
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '\\')+1:] }

func (f *File) hash() string {
	sum := sha256.Sum256([]byte(f.Content))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// onDisk says whether a call names files, not registry keys.
func (c *call) onDisk() bool {
	for _, parameter := range []string{"LiteralPath", "Path", "FilePath"} {
		for _, p := range c.strs(parameter) {
			if diskPath.MatchString(p) || strings.HasPrefix(p, fileProvider+"::") {
				return true
			}
		}
	}
	for _, o := range c.objects("InputObject") {
		if strings.HasPrefix(o.Ref, "file:") {
			return true
		}
	}
	return false
}

// files resolves the paths of a call, as paths does for keys.
func (c *call) files() []*File {
	var out []*File
	one := func(typed string) {
		if f := c.disk().find(cleanPath(typed)); f != nil {
			out = append(out, f)
			return
		}
		c.fail(c.pathNotFound(typed))
	}
	for _, o := range c.objects("InputObject") {
		if path, ok := strings.CutPrefix(o.Ref, "file:"); ok {
			one(path)
		}
	}
	for _, literal := range c.strs("LiteralPath") {
		one(literal)
	}
	for _, pattern := range append(c.strs("Path"), c.strs("FilePath")...) {
		if !isWildcard(pattern) {
			one(unescape(pattern))
			continue
		}
		clean := cleanPath(pattern)
		for _, f := range c.disk().Files {
			if strings.Count(f.Path, `\`) == strings.Count(clean, `\`) && matchSegments(clean, f.Path) {
				out = append(out, f)
			}
		}
	}
	return out
}

func (c *call) fileObject(f *File) *cmdlet.Object {
	base, kind := baseName(f.Path), "System.IO.FileInfo"
	extension := ""
	if i := strings.LastIndexByte(base, '.'); i >= 0 {
		extension = base[i:]
	}
	if f.Folder {
		kind = "System.IO.DirectoryInfo"
	}
	o := &cmdlet.Object{
		Types: []string{kind, "System.IO.FileSystemInfo", "System.MarshalByRefObject", "System.Object"}, Ref: "file:" + f.Path, Text: f.Path,
		Properties: []cmdlet.Property{prop("Name", base), prop("FullName", f.Path), prop("Extension", extension)},
	}
	if !f.Folder {
		o.Properties = append(o.Properties, prop("Length", cmdlet.Typed{Type: "System.Int64", Value: int64(len(f.Content))}), prop("DirectoryName", parentPath(f.Path)))
	}
	o.Properties = append(o.Properties, prop("PSPath", fileProvider+"::"+f.Path), prop("PSParentPath", fileProvider+"::"+parentPath(f.Path)), prop("PSChildName", base),
		prop("PSDrive", f.Path[:1]), prop("PSProvider", fileProvider), prop("PSIsContainer", f.Folder))
	return o
}

// windowsFolderSDDL is what a new folder in the folder of Windows inherits: anybody may read, administrators may write.
const windowsFolderSDDL = "O:BAG:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;0x1200a9;;;BU)"

// fileSDDL is the descriptor in force: a file's own, or what it inherits.
func (c *call) fileSDDL(f *File) string {
	if f.SDDL != "" {
		return f.SDDL
	}
	for at := f.Path; strings.Contains(at, `\`); {
		at = parentPath(at)
		up := c.disk().find(at)
		if up == nil || up.SDDL == "" {
			continue
		}
		var aces strings.Builder
		for _, ace := range acePattern.FindAllStringSubmatch(up.SDDL, -1) {
			if strings.Contains(ace[2], "OI") && strings.Contains(ace[2], "CI") {
				flags := "ID"
				if f.Folder {
					flags = "OICIID"
				}
				aces.WriteString("(" + ace[1] + ";" + flags + ";" + ace[3] + ")")
			}
		}
		return "O:BAG:SYD:AI" + aces.String()
	}
	return windowsFolderSDDL
}

func (c *call) fileAcl(f *File) *cmdlet.Object {
	kind, sddl := "FileSecurity", c.fileSDDL(f)
	if f.Folder {
		kind = "DirectorySecurity"
	}
	return &cmdlet.Object{
		Types: []string{
			"System.Security.AccessControl." + kind, "System.Security.AccessControl.FileSystemSecurity", "System.Security.AccessControl.NativeObjectSecurity",
			"System.Security.AccessControl.CommonObjectSecurity", "System.Security.AccessControl.ObjectSecurity", "System.Object",
		},
		Ref: "acl:" + f.Path, Text: "System.Security.AccessControl." + kind,
		Properties: []cmdlet.Property{
			prop("Path", fileProvider+"::"+f.Path), prop("Owner", accountName(sddlPart(sddl, "O:"))), prop("Group", accountName(sddlPart(sddl, "G:"))),
			prop("Sddl", sddl), prop("AreAccessRulesProtected", strings.Contains(sddlPart(sddl, "D:"), "P")),
		},
	}
}
