package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerFiles(r registry) {
	r.both("Copy-Item", copyItem)
	r.both("Get-FileHash", getFileHash)
	r.both("Get-AuthenticodeSignature", getAuthenticodeSignature)
}

// newFolder makes folders; those above come with them. One that is there is an error without -Force.
func (c *call) newFolder() {
	for _, typed := range c.strs("Path") {
		path := cleanPath(typed)
		if name := c.str("Name"); name != "" {
			path += `\` + name
		}
		if kind := c.str("ItemType"); !strings.EqualFold(kind, "Directory") {
			c.fail(c.argumentError("ItemType", "Only folders are modelled, not %q.", kind))
			return
		}
		if c.disk().find(path) != nil && !c.boolean("Force") {
			e := c.alreadyThere(path, "An item with the specified name "+path+" already exists.")
			e.ID = "DirectoryExist," + c.coreTail()
			c.fail(e)
			continue
		}
		c.emit(c.fileObject(c.disk().folder(path)))
	}
}

func (c *call) getFile() {
	for _, f := range c.files() {
		c.emit(c.fileObject(f))
	}
}

// removeFile removes files, and folders with what is in them by -Recurse; without it PowerShell asks, which a
// non-interactive one cannot.
func (c *call) removeFile() {
	for _, f := range c.files() {
		if systemFolder(f.Path) {
			c.fail(&cmdlet.Error{ID: "RemoveFileSystemItemUnAuthorizedAccess," + c.coreTail(), Category: "PermissionDenied", Target: f.Path, TargetType: "DirectoryInfo",
				Exception: "System.UnauthorizedAccessException", Message: "Access to the path is denied."})
			continue
		}
		if len(c.disk().below(f.Path)) > 0 && !c.boolean("Recurse") {
			c.fail(&cmdlet.Error{ID: "InvalidOperation," + c.coreTail(), Category: "InvalidOperation", Target: f.Path, TargetType: "String",
				Exception: "System.Management.Automation.PSInvalidOperationException",
				Message:   "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available."})
			continue
		}
		c.disk().remove(f.Path)
	}
}

// childFiles lists a folder, or the file itself where a file is named.
func (c *call) childFiles() {
	for _, top := range c.files() {
		list := []*File{top}
		if top.Folder {
			list = c.disk().below(top.Path)
		}
		for _, f := range list {
			direct := !top.Folder || strings.EqualFold(parentPath(f.Path), top.Path)
			if !direct && !c.boolean("Recurse") || !c.selected(baseName(f.Path)) || c.boolean("File") && f.Folder || c.boolean("Directory") && !f.Folder {
				continue
			}
			if c.boolean("Name") {
				c.emit(scalar("System.String", strings.TrimPrefix(f.Path[len(top.Path):], `\`)))
				continue
			}
			c.emit(c.fileObject(f))
		}
	}
}

func (c *call) testFile() {
	for _, typed := range append(c.strs("LiteralPath"), c.strs("Path")...) {
		f := c.disk().find(cleanPath(typed))
		kind := c.enum("PathType")
		c.emit(scalar("System.Boolean", f != nil && (!strings.EqualFold(kind, "Leaf") || !f.Folder) && (!strings.EqualFold(kind, "Container") || f.Folder)))
	}
}

// copyItem copies files, and folders with -Recurse. A folder goes into a destination that is there, and becomes one that
// is not. What is copied gets the rights of where it is copied to.
func copyItem(c *call) {
	if !c.onDisk() {
		c.fail(c.driveNotFound(strings.Join(append(c.strs("LiteralPath"), c.strs("Path")...), "")))
		return
	}
	d := c.disk()
	to := cleanPath(c.str("Destination"))
	for _, f := range c.files() {
		target := to
		if at := d.find(to); at != nil && at.Folder {
			target = to + `\` + baseName(f.Path)
		}
		if d.find(parentPath(target)) == nil {
			c.fail(&cmdlet.Error{ID: "System.IO.DirectoryNotFoundException," + c.coreTail(), Category: "NotSpecified", TargetType: "String",
				Exception: "System.IO.DirectoryNotFoundException", Message: "Could not find a part of the path '" + target + "'."})
			continue
		}
		inside := d.below(f.Path)
		put := func(from *File, path string) {
			copied := *from
			copied.Path, copied.SDDL = path, ""
			if made := d.put(copied); c.boolean("PassThru") {
				c.emit(c.fileObject(made))
			}
		}
		put(f, target)
		if f.Folder && c.boolean("Recurse") {
			for _, x := range inside {
				put(x, target+x.Path[len(f.Path):])
			}
		}
	}
}

// getFileHash is a function in Windows PowerShell 5.1 and gives nothing for a folder.
func getFileHash(c *call) {
	algorithm := c.str("Algorithm")
	if algorithm == "" {
		algorithm = "SHA256"
	}
	for _, f := range c.files() {
		switch {
		case f.Folder:
		case !strings.EqualFold(algorithm, "SHA256"):
			c.fail(c.argumentError("Algorithm", "Only SHA256 is modelled."))
		default:
			c.emit(&cmdlet.Object{Types: []string{"Microsoft.PowerShell.Commands.FileHash", "System.Management.Automation.PSCustomObject", "System.Object"}, Ref: "hash:" + f.Path,
				Text: "@{Algorithm=SHA256; Hash=" + f.hash() + "; Path=" + f.Path + "}", Properties: []cmdlet.Property{prop("Algorithm", "SHA256"), prop("Hash", f.hash()), prop("Path", f.Path)}})
		}
	}
}

// signatureStatus are the numbers of System.Management.Automation.SignatureStatus.
var signatureStatus = map[string]int64{"Valid": 0, "UnknownError": 1, "NotSigned": 2, "HashMismatch": 3, "NotTrusted": 4}

func getAuthenticodeSignature(c *call) {
	for _, f := range c.files() {
		if f.Folder {
			continue
		}
		var certificate any
		if f.Signer != "" {
			certificate = &cmdlet.Object{Types: []string{"System.Security.Cryptography.X509Certificates.X509Certificate2", "System.Object"}, Ref: "certificate:" + f.Signer, Text: f.Signer,
				Properties: []cmdlet.Property{prop("Subject", f.Signer)}}
		}
		c.emit(&cmdlet.Object{Types: []string{"System.Management.Automation.Signature", "System.Object"}, Ref: "signature:" + f.Path, Text: "System.Management.Automation.Signature",
			Properties: []cmdlet.Property{prop("SignerCertificate", certificate),
				prop("Status", cmdlet.Enum{Type: "System.Management.Automation.SignatureStatus", Name: f.Signature, Number: signatureStatus[f.Signature]}),
				prop("StatusMessage", f.Signature), prop("Path", f.Path)}})
	}
}
