package lab

import (
	"regexp"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerAcl(r registry) {
	r.both("Get-Acl", getAcl)
	r.both("Set-Acl", setAcl)
}

func getAcl(c *call) {
	if c.onDisk() {
		for _, f := range c.files() {
			c.emit(c.fileAcl(f))
		}
		return
	}
	for _, o := range c.objects("InputObject") {
		if path, ok := strings.CutPrefix(o.Ref, "key:"); ok {
			c.emit(c.acl(path))
		}
	}
	for _, path := range c.paths() {
		c.emit(c.acl(path))
	}
}

// acl is the RegistrySecurity of a key.
func (c *call) acl(path string) *cmdlet.Object {
	sddl := c.sddl(path)
	owner := accountName(sddlPart(sddl, "O:"))
	return &cmdlet.Object{
		Types: []string{
			"System.Security.AccessControl.RegistrySecurity", "System.Security.AccessControl.NativeObjectSecurity",
			"System.Security.AccessControl.CommonObjectSecurity", "System.Security.AccessControl.ObjectSecurity", "System.Object",
		},
		Ref: "acl:" + path, Text: "System.Security.AccessControl.RegistrySecurity",
		Properties: append([]cmdlet.Property{
			prop("Path", registryProvider+localMachine+`\`+path), prop("Owner", owner), prop("Group", accountName(sddlPart(sddl, "G:"))),
			prop("Sddl", sddl), prop("AreAccessRulesProtected", strings.Contains(sddlPart(sddl, "D:"), "P")),
		}, location(path)...),
	}
}

// sddl is the security descriptor of a key as Windows prints it.
func (c *call) sddl(path string) string {
	key := findKey(*c.keys(), path)
	var sddl string
	if key != nil && key.SDDL != "" {
		sddl = key.SDDL
	} else {
		sddl = inheritedSDDL(*c.keys(), path)
	}
	owner, group, dacl := sddlPart(sddl, "O:"), sddlPart(sddl, "G:"), sddl[strings.Index(sddl, "D:"):]
	if key != nil && key.Owner != "" {
		owner = key.Owner
	}
	if owner == "" {
		owner = "BA"
	}
	if group == "" {
		group = "SY"
	}
	return "O:" + owner + "G:" + group + dacl
}

// inheritedSDDL is what a key without security of its own gets from its parent.
func inheritedSDDL(keys []*Key, path string) string {
	own := effectiveSDDL(keys, path)
	if own == defaultSDDL {
		return own
	}
	var aces strings.Builder
	for _, ace := range acePattern.FindAllStringSubmatch(own, -1) {
		if !strings.Contains(ace[2], "CI") {
			continue
		}
		flags := ace[2]
		if !strings.Contains(flags, "ID") {
			flags += "ID"
		}
		aces.WriteString("(" + ace[1] + ";" + flags + ";" + ace[3] + ")")
	}
	return "D:AI" + aces.String()
}

var acePattern = regexp.MustCompile(`\(([^;()]*);([^;()]*);([^()]*)\)`)

// sddlPart is the text of one section of a security descriptor, without the entries of a list.
func sddlPart(sddl, name string) string {
	i := strings.Index(sddl, name)
	if i < 0 {
		return ""
	}
	rest := sddl[i+len(name):]
	end := len(rest)
	for _, next := range []string{"O:", "G:", "D:", "S:(", "("} {
		if j := strings.Index(rest, next); j >= 0 && j < end {
			end = j
		}
	}
	return rest[:end]
}

// accountName is how Get-Acl prints well-known accounts.
func accountName(sid string) string {
	switch sid {
	case "BA", "S-1-5-32-544":
		return `BUILTIN\Administrators`
	case "SY", "S-1-5-18":
		return `NT AUTHORITY\SYSTEM`
	case "BU", "S-1-5-32-545":
		return `BUILTIN\Users`
	case "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464":
		return `NT SERVICE\TrustedInstaller`
	}
	return "O:" + sid
}

// setAcl writes a descriptor. Windows marks a protected list as PAI when it is read back, and keeps an owner
// that the descriptor does not name.
func setAcl(c *call) {
	sddl := ""
	switch v := c.inv.Parameters["AclObject"].(type) {
	case *cmdlet.Security:
		sddl = v.SDDL
	case *cmdlet.Object:
		if s, ok := v.Get("Sddl"); ok {
			sddl = text(s)
		}
	}
	if !strings.Contains(sddl, "D:") {
		c.fail(c.argumentError("AclObject", "The security descriptor has no access control list."))
		return
	}
	if c.onDisk() {
		for _, f := range c.files() {
			f.SDDL = writtenSDDL(c.fileSDDL(f), sddl)
		}
		return
	}
	paths := c.paths()
	for _, o := range c.objects("InputObject") {
		if path, ok := strings.CutPrefix(o.Ref, "key:"); ok {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		key := makeKey(c.keys(), path)
		key.SDDL = writtenSDDL(c.sddl(path), sddl)
		key.Owner = sddlPart(key.SDDL, "O:")
		if c.boolean("PassThru") {
			c.emit(c.acl(path))
		}
	}
}

// writtenSDDL is what a descriptor reads as once it is written over an old one.
func writtenSDDL(old, sddl string) string {
	owner, group := sddlPart(sddl, "O:"), sddlPart(sddl, "G:")
	if owner == "" {
		owner = sddlPart(old, "O:")
	}
	if group == "" {
		group = sddlPart(old, "G:")
	}
	list := sddl[strings.Index(sddl, "D:")+len("D:"):]
	if flags := sddlPart(sddl, "D:"); strings.Contains(flags, "P") && !strings.Contains(flags, "AI") {
		list = strings.Replace(list, flags, flags+"AI", 1)
	}
	return "O:" + owner + "G:" + group + "D:" + list
}
