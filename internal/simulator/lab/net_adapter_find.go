package lab

import (
	"strings"
)

// find picks net adapters as CDXML cmdlets do: by objects, by -InterfaceDescription, by -Name or (only
// Get-NetAdapter) by -InterfaceIndex. What has no object of the class is not there: an exact value without a
// match is an error each, a pattern is none (errors.md 5).
func (c *call) find(class string, has func(*netAdapter) bool) []*netAdapter {
	var candidates []*netAdapter
	for _, a := range c.netAdapters(c.boolean("IncludeHidden")) {
		if has == nil || has(a) {
			candidates = append(candidates, a)
		}
	}
	switch {
	case c.has("InputObject"):
		return c.findByObject(class, candidates)
	case c.has("InterfaceIndex"):
		return c.pick(class, "InterfaceIndex", c.strs("InterfaceIndex"), candidates, func(a *netAdapter) string { return text(int64(a.index())) })
	case c.has("InterfaceDescription"):
		return c.pick(class, "InterfaceDescription", c.strs("InterfaceDescription"), candidates, c.description)
	case c.has("Name"):
		return c.pick(class, "Name", c.strs("Name"), candidates, (*netAdapter).name)
	default:
		return candidates
	}
}

func (c *call) pick(class, property string, wanted []string, candidates []*netAdapter, of func(*netAdapter) string) []*netAdapter {
	var found []*netAdapter
	taken := map[*netAdapter]bool{}
	for _, want := range wanted {
		matched := false
		for _, a := range candidates {
			if !matchesAny([]string{want}, of(a)) {
				continue
			}
			matched = true
			if !taken[a] {
				taken[a] = true
				found = append(found, a)
			}
		}
		if !matched && !isWildcard(want) {
			c.fail(c.cimNotFound(class, property, want))
		}
	}
	return found
}

// findByObject takes objects that an earlier call gave; what they stood for may be gone by now.
func (c *call) findByObject(class string, candidates []*netAdapter) []*netAdapter {
	var found []*netAdapter
	for _, o := range c.objects("InputObject") {
		_, id, _ := strings.Cut(o.Ref, ":")
		id, _, _ = strings.Cut(id, "::")
		matched := false
		for _, a := range candidates {
			if strings.EqualFold(a.guid(), id) {
				found, matched = append(found, a), true
			}
		}
		if !matched {
			name, _ := o.Get("Name")
			c.fail(c.cimNotFound(class, "Name", text(name)))
		}
	}
	return found
}
