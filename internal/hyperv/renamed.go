package hyperv

import (
	"fmt"
	"slices"
	"strings"
)

// KnownPorts are the interface GUIDs of net adapters, by the names (in lower case) that a configuration has for them.
// A net adapter that is renamed stays the same one, with all that was changed on it.
type KnownPorts map[string]string

func (k KnownPorts) guid(name string) (string, bool) {
	guid, ok := k[strings.ToLower(name)]
	return guid, ok
}

// nowCalled is what the net adapters of a configuration are called now. One of which nothing is known, or that is
// gone, keeps its name: another one may have it by now, as after a net adapter was replaced.
func nowCalled(nics []NetAdapter, names []string, known KnownPorts) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		if guid, ok := known.guid(name); ok {
			if i := slices.IndexFunc(nics, func(n NetAdapter) bool { return sameGUID(n.InterfaceGuid, guid) }); i >= 0 {
				name = nics[i].Name
			}
		}
		if !containsFold(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// knowPorts adds to what is known the net adapters that a configuration names, and forgets what it names no more.
func knowPorts(nics []NetAdapter, names []string, known KnownPorts) KnownPorts {
	out := KnownPorts{}
	for _, name := range names {
		if guid, ok := known.guid(name); ok {
			out[strings.ToLower(name)] = guid
		}
		now := nowCalled(nics, []string{name}, known)[0]
		if i := slices.IndexFunc(nics, func(n NetAdapter) bool { return strings.EqualFold(n.Name, now) }); i >= 0 {
			out[strings.ToLower(name)] = nics[i].InterfaceGuid
		}
	}
	return out
}

// lockedBy is what the devices of net adapters are locked by: by name, and by interface GUID where that is known.
func (k KnownPorts) lockedBy(names []string) []string {
	out := slices.Clone(names)
	for _, name := range names {
		if guid, ok := k.guid(name); ok {
			out = append(out, guidKey(guid))
		}
	}
	return out
}

func guidKey(guid string) string { return "guid:" + strings.ToLower(strings.Trim(guid, "{}")) }

// refuseSwapped refuses to change settings where a name of the configuration has gone over from one net adapter to
// another that is there too: nobody can say which of the two is meant.
func (h *Host) refuseSwapped(nics []NetAdapter, op string, names []string, known KnownPorts) error {
	for _, name := range names {
		now := nowCalled(nics, []string{name}, known)[0]
		taken := slices.ContainsFunc(nics, func(n NetAdapter) bool { return strings.EqualFold(n.Name, name) })
		if taken && !strings.EqualFold(now, name) {
			return &Error{Kind: Conflict, Op: op, Host: h.Name, Object: fmt.Sprintf("net adapter %q", name), Attribute: "net_adapter_names", Value: name,
				Cause: fmt.Sprintf("The net adapter that had this name is called %q now, and another one took its name.", now),
				Fix:   fmt.Sprintf("Write %q in the configuration if that one is still meant, or give the net adapters their names back (Rename-NetAdapter).", now)}
		}
	}
	return nil
}

// MembersAs are the names of the switch's net adapters as a configuration has them: those that were renamed since by their
// former names.
func (s *Switch) MembersAs(names []string, known KnownPorts) []string {
	out := make([]string, 0, len(s.Members))
	for _, nic := range s.Members {
		called := nic.Name
		for _, name := range names {
			if guid, ok := known.guid(name); ok && sameGUID(guid, nic.InterfaceGuid) {
				called = name
			}
		}
		out = append(out, called)
	}
	return out
}

// KnownMembers says which net adapters the names of a configuration mean.
func (s *Switch) KnownMembers(names []string, known KnownPorts) KnownPorts {
	return knowPorts(s.Members, names, known)
}
