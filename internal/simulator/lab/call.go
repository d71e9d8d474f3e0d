package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// call is one running cmdlet: its target, its parameters, and the streams it writes to.
type call struct {
	*Lab
	inv  cmdlet.Invocation
	host *Host
	vm   *VM // the VM whose guest is the target; nil on the host
	out  cmdlet.Output
}

// guest is the target's guest operating system, nil on the host.
func (c *call) guest() *Guest {
	if c.vm == nil {
		return nil
	}
	return c.vm.Guest
}

// has says whether a parameter was given.
func (c *call) has(name string) bool {
	_, ok := c.inv.Parameters[name]
	return ok
}

// str is a parameter as text: "" when it was not given.
func (c *call) str(name string) string { return text(c.inv.Parameters[name]) }

// strs is a parameter as a list of texts: nil when it was not given.
func (c *call) strs(name string) []string {
	switch v := c.inv.Parameters[name].(type) {
	case nil:
		return nil
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			out = append(out, text(e))
		}
		return out
	default:
		return []string{text(v)}
	}
}

// boolean is a switch or a Boolean parameter.
func (c *call) boolean(name string) bool {
	b, _ := c.inv.Parameters[name].(bool)
	return b
}

// integer is a whole number: 0 when it was not given.
func (c *call) integer(name string) int {
	switch v := c.inv.Parameters[name].(type) {
	case int64:
		return int(v)
	case uint64:
		return int(v)
	case float64:
		return int(v)
	case cmdlet.Enum:
		return int(v.Number)
	}
	return 0
}

// enum is the name of an enumeration value: "" when it was not given.
func (c *call) enum(name string) string {
	switch v := c.inv.Parameters[name].(type) {
	case cmdlet.Enum:
		return v.Name
	case string:
		return v
	}
	return ""
}

// objects are the objects passed to a parameter.
func (c *call) objects(name string) []*cmdlet.Object {
	switch v := c.inv.Parameters[name].(type) {
	case *cmdlet.Object:
		return []*cmdlet.Object{v}
	case []any:
		var out []*cmdlet.Object
		for _, e := range v {
			if o, ok := e.(*cmdlet.Object); ok {
				out = append(out, o)
			}
		}
		return out
	}
	return nil
}

func (c *call) emit(o *cmdlet.Object) { c.out.Objects = append(c.out.Objects, o) }
func (c *call) fail(e *cmdlet.Error)  { c.out.Errors = append(c.out.Errors, c.localise(e)) }
func (c *call) warn(message string)   { c.out.Warnings = append(c.out.Warnings, message) }
func (c *call) failed() bool          { return len(c.out.Errors) > 0 }
func (c *call) event(name, object, reason string) {
	c.Lab.event(c.host.Name, name, object, reason)
}

// wait lets time pass inside a cmdlet; other calls run meanwhile.
func (c *call) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	c.mu.Unlock()
	time.Sleep(d)
	c.mu.Lock()
	c.settle()
}

// text is how PowerShell turns a bound value into a string.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case cmdlet.GUID:
		return string(v)
	case cmdlet.Enum:
		return v.Name
	case bool:
		if v {
			return "True"
		}
		return "False"
	case cmdlet.Typed:
		return text(v.Value)
	case *cmdlet.Object:
		return v.Text
	case []any:
		parts := make([]string, 0, len(v))
		for _, e := range v {
			parts = append(parts, text(e))
		}
		return strings.Join(parts, " ")
	default:
		return fmt.Sprint(v)
	}
}
