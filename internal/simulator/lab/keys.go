package lab

import (
	"sort"
	"strings"
)

// findKey finds a registry key, ignoring case.
func findKey(keys []*Key, path string) *Key {
	for _, k := range keys {
		if strings.EqualFold(k.Path, path) {
			return k
		}
	}
	return nil
}

// hasKey says whether a key exists, be it only as the parent of another.
func hasKey(keys []*Key, path string) bool { return path == "" || findKey(keys, path) != nil }

// makeKey creates a key and its parents and gives the key.
func makeKey(keys *[]*Key, path string) *Key {
	if k := findKey(*keys, path); k != nil {
		return k
	}
	if i := strings.LastIndexByte(path, '\\'); i > 0 {
		parent := makeKey(keys, path[:i])
		path = parent.Path + path[i:] // the spelling of what exists stays
	}
	k := &Key{Path: path, Values: []*Value{}}
	*keys = append(*keys, k)
	sort.SliceStable(*keys, func(i, j int) bool { return strings.ToLower((*keys)[i].Path) < strings.ToLower((*keys)[j].Path) })
	return k
}

// removeKey deletes a key with everything below it.
func removeKey(keys *[]*Key, path string) {
	kept := make([]*Key, 0, len(*keys))
	for _, k := range *keys {
		if !strings.EqualFold(k.Path, path) && !below(path, k.Path) {
			kept = append(kept, k)
		}
	}
	*keys = kept
}

// below says whether path lies somewhere below parent.
func below(parent, path string) bool {
	return len(path) > len(parent)+1 && path[len(parent)] == '\\' && strings.EqualFold(path[:len(parent)], parent)
}

// childKeys are the keys directly below a path.
func childKeys(keys []*Key, path string) []*Key {
	var out []*Key
	for _, k := range keys {
		switch {
		case path == "" && !strings.Contains(k.Path, `\`):
			out = append(out, k)
		case path != "" && below(path, k.Path) && !strings.Contains(k.Path[len(path)+1:], `\`):
			out = append(out, k)
		}
	}
	return out
}

// value finds a value of a key by its exact name, ignoring case.
func (k *Key) value(name string) *Value {
	for _, v := range k.Values {
		if strings.EqualFold(v.Name, name) {
			return v
		}
	}
	return nil
}

// set writes a value.
func (k *Key) set(name, kind, data string) {
	if v := k.value(name); v != nil {
		v.Kind, v.Data = kind, data
		return
	}
	k.Values = append(k.Values, &Value{Name: name, Kind: kind, Data: data})
	sort.SliceStable(k.Values, func(i, j int) bool { return strings.ToLower(k.Values[i].Name) < strings.ToLower(k.Values[j].Name) })
}

// remove deletes a value.
func (k *Key) remove(v *Value) {
	kept := make([]*Value, 0, len(k.Values))
	for _, other := range k.Values {
		if other != v {
			kept = append(kept, other)
		}
	}
	k.Values = kept
}

// setValue writes a value and creates the key where it is missing.
func setValue(keys *[]*Key, path, name, kind, data string) { makeKey(keys, path).set(name, kind, data) }

// findValue finds a value by key and name.
func findValue(keys []*Key, path, name string) *Value {
	if k := findKey(keys, path); k != nil {
		return k.value(name)
	}
	return nil
}

// effectiveSDDL is the security of a key: its own, or what the nearest parent hands down, or what Windows
// has at the top of HKLM\SOFTWARE and HKLM\SYSTEM.
func effectiveSDDL(keys []*Key, path string) string {
	for {
		if k := findKey(keys, path); k != nil && k.SDDL != "" {
			return k.SDDL
		}
		i := strings.LastIndexByte(path, '\\')
		if i < 0 {
			return defaultSDDL
		}
		path = path[:i]
	}
}

// defaultSDDL: users read, administrators and SYSTEM own; everything inherited.
const defaultSDDL = "O:BAG:SYD:AI(A;CIID;KR;;;BU)(A;CIID;KA;;;BA)(A;CIID;KA;;;SY)(A;CIIOID;KA;;;CO)(A;CIID;KR;;;AC)"
