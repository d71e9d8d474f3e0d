package powershell

import (
	"encoding/json"
	"reflect"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// reference is a saved name that a value refers to, and how many objects must stand before the one it means.
type reference struct {
	call  string
	index int
}

// references are the saved names that a call, or a value, refers to. They are looked for in its JSON, which
// is all that a runner ever sees of it.
func references(v any) []reference {
	var found []reference
	if call, ok := v.(wire.Call); ok {
		if call.Input != "" {
			found = append(found, reference{call: call.Input})
		}
		v = call.Parameters
	}
	data, err := json.Marshal(v)
	if err != nil {
		return found // it cannot be sent either, and the sender says so
	}
	var plain any
	if json.Unmarshal(data, &plain) != nil {
		return found
	}
	return append(found, referencesIn(plain)...)
}

func referencesIn(v any) []reference {
	var found []reference
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = append(found, referencesIn(e)...)
		}
	case map[string]any:
		for key, e := range v {
			form, ok := e.(map[string]any)
			if !ok || len(v) != 1 || key != wire.KeyRef && key != wire.KeySecurityDescriptor {
				found = append(found, referencesIn(e)...)
				continue
			}
			call, _ := form["call"].(string)
			index, _ := form["index"].(float64)
			found = append(found, reference{call, int(index)})
		}
	}
	return found
}

// savedBy is the last of the calls to a target that saved a name, or -1. The target nil is the host.
func savedBy(calls []Call, guest *wire.Guest, name string) int {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].Save == name && sameGuest(calls[i].Guest, guest) {
			return i
		}
	}
	return -1
}

func sameGuest(a, b *wire.Guest) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(*a, *b)
}
