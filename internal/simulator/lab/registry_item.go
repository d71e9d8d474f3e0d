package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerItems(r registry) {
	r.both("New-Item", newItem)
	r.both("Get-Item", getItem)
	r.both("Remove-Item", removeItem)
	r.both("Get-ChildItem", getChildItem)
	r.both("Test-Path", testPath)
}

// newItem creates a key. -Force makes missing parents, and empties a key that exists.
func newItem(c *call) {
	if c.onDisk() {
		c.newFolder()
		return
	}
	paths := c.strs("Path")
	if len(paths) == 0 {
		c.fail(c.argumentError("Path", "The path is empty."))
		return
	}
	for _, typed := range paths {
		if name := c.str("Name"); name != "" {
			typed = strings.TrimRight(typed, `\`) + `\` + name
		}
		path, ok := keyPath(typed)
		if !ok {
			c.fail(c.driveNotFound(typed))
			continue
		}
		c.makeItem(path, typed)
	}
}

func (c *call) makeItem(path, typed string) {
	keys := c.keys()
	force := c.boolean("Force")
	if hasKey(*keys, path) {
		if !force {
			c.fail(c.alreadyThere(typed, "A key in this path already exists."))
			return
		}
		removeKey(keys, path)
	} else if i := strings.LastIndexByte(path, '\\'); i >= 0 && !force && !hasKey(*keys, path[:i]) {
		c.fail(&cmdlet.Error{
			ID: "System.ArgumentException," + c.coreTail(), Category: "InvalidArgument", Target: typed, TargetType: "String",
			Exception: "System.ArgumentException", Message: "The registry key at the specified path does not exist.",
		})
		return
	}
	key := makeKey(keys, path)
	if c.has("Value") {
		if kind, data, err := registryData(c.inv.Parameters["Value"], "", ""); err == "" {
			key.set("", kind, data)
		}
	}
	c.emit(c.keyObject(key.Path))
}

func getItem(c *call) {
	if c.onDisk() {
		c.getFile()
		return
	}
	for _, path := range c.paths() {
		c.emit(c.keyObject(path))
	}
}

// removeItem deletes keys. One that has keys below it needs -Recurse; without it PowerShell asks, which a
// non-interactive one cannot.
func removeItem(c *call) {
	if c.onDisk() {
		c.removeFile()
		return
	}
	for _, path := range c.paths() {
		if len(childKeys(*c.keys(), path)) > 0 && !c.boolean("Recurse") {
			c.fail(&cmdlet.Error{
				ID: "InvalidOperation,Microsoft.PowerShell.Commands.RemoveItemCommand", Category: "InvalidOperation", Target: localMachine + `\` + path,
				TargetType: "String", Exception: "System.Management.Automation.PSInvalidOperationException",
				Message: "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.",
			})
			continue
		}
		removeKey(c.keys(), path)
	}
}

func getChildItem(c *call) {
	if c.onDisk() {
		c.childFiles()
		return
	}
	paths := c.paths()
	if len(c.strs("Path")) == 0 && len(c.strs("LiteralPath")) == 0 {
		c.fail(c.driveNotFound("C"))
		return
	}
	for _, path := range paths {
		c.children(path, path)
	}
}

func (c *call) children(top, path string) {
	for _, k := range childKeys(*c.keys(), path) {
		name := k.Path[strings.LastIndexByte(k.Path, '\\')+1:]
		if c.selected(name) {
			if c.boolean("Name") {
				c.emit(scalar("System.String", strings.TrimPrefix(k.Path[len(top):], `\`)))
			} else {
				c.emit(c.keyObject(k.Path))
			}
		}
		if c.boolean("Recurse") {
			c.children(top, k.Path)
		}
	}
}

// selected applies -Include and -Exclude.
func (c *call) selected(name string) bool {
	if include := c.strs("Include"); len(include) > 0 && !matchesAny(include, name) {
		return false
	}
	return !matchesAny(c.strs("Exclude"), name)
}

func testPath(c *call) {
	if c.onDisk() {
		c.testFile()
		return
	}
	answer := func(exists bool) {
		c.emit(scalar("System.Boolean", exists && !strings.EqualFold(c.enum("PathType"), "Leaf")))
	}
	for _, literal := range c.strs("LiteralPath") {
		path, ok := keyPath(literal)
		answer(ok && hasKey(*c.keys(), path))
	}
	for _, pattern := range c.strs("Path") {
		path, ok := keyPath(pattern)
		if !ok || !isWildcard(path) {
			answer(ok && hasKey(*c.keys(), unescape(path)))
			continue
		}
		found := false
		for _, k := range *c.keys() {
			found = found || strings.Count(k.Path, `\`) == strings.Count(path, `\`) && matchSegments(path, k.Path)
		}
		answer(found)
	}
}
