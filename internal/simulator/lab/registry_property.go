package lab

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func registerItemProperties(r registry) {
	r.both("Get-ItemProperty", getItemProperty)
	r.both("Get-ItemPropertyValue", getItemPropertyValue)
	r.both("Set-ItemProperty", setItemProperty)
	r.both("New-ItemProperty", newItemProperty)
	r.both("Remove-ItemProperty", removeItemProperty)
}

// chosenValues are the values of a key that -Name picks: names are patterns; an exact one without a value is an error.
func (c *call) chosenValues(path string, names []string) []*Value {
	key := findKey(*c.keys(), path)
	if key == nil {
		return nil
	}
	if len(names) == 0 {
		return key.Values
	}
	var out []*Value
	for _, name := range names {
		found := false
		for _, v := range key.Values {
			if matchesAny([]string{name}, shownName(v.Name)) {
				out, found = append(out, v), true
			}
		}
		if !found && !isWildcard(name) {
			c.fail(c.propertyMissing(name, path))
		}
	}
	return out
}

// getItemProperty gives one object per key; a key without values gives nothing.
func getItemProperty(c *call) {
	for _, path := range c.paths() {
		if values := c.chosenValues(path, c.strs("Name")); len(values) > 0 {
			c.emit(valuesObject(path, values...))
		}
	}
}

func getItemPropertyValue(c *call) {
	for _, path := range c.paths() {
		for _, v := range c.chosenValues(path, c.strs("Name")) {
			dotnet := map[string]string{"DWord": "System.Int32", "QWord": "System.Int64", "Binary": "System.Byte[]", "MultiString": "System.String[]"}[v.Kind]
			if dotnet == "" {
				dotnet = "System.String"
			}
			c.emit(scalar(dotnet, v.read()))
		}
	}
}

func valuesObject(path string, values ...*Value) *cmdlet.Object {
	o := &cmdlet.Object{Types: []string{"System.Management.Automation.PSCustomObject", "System.Object"}, Ref: "key:" + path}
	for _, v := range values {
		o.Properties = append(o.Properties, prop(shownName(v.Name), v.read()))
	}
	o.Properties = append(o.Properties, location(path)...)
	return o
}

// read gives a value in the type that .NET reads it with.
func (v *Value) read() any {
	switch v.Kind {
	case "DWord":
		n, _ := strconv.ParseUint(v.Data, 10, 32)
		if n > math.MaxInt32 {
			return cmdlet.Typed{Type: "System.UInt32", Value: int64(n)}
		}
		return i32(int(n))
	case "QWord":
		n, _ := strconv.ParseUint(v.Data, 10, 64)
		return cmdlet.Typed{Type: "System.Int64", Value: int64(n)}
	case "MultiString":
		if v.Data == "" {
			return []any{}
		}
		return list(strings.Split(v.Data, "\n")...)
	case "Binary":
		raw, _ := hex.DecodeString(v.Data)
		out := make([]any, 0, len(raw))
		for _, b := range raw {
			out = append(out, u8(int(b)))
		}
		return out
	default:
		return v.Data
	}
}

// setItemProperty writes a value and creates it where it is missing; the key must exist.
func setItemProperty(c *call) {
	for _, path := range c.paths() {
		key := makeKey(c.keys(), path)
		if !c.has("Name") {
			c.fail(c.argumentError("InputObject", "Only -Name with -Value is modelled for the registry."))
			return
		}
		c.write(key, c.str("Name"), c.enum("Type"))
	}
}

// newItemProperty refuses a value that exists, unless -Force is given.
func newItemProperty(c *call) {
	for _, path := range c.paths() {
		key := makeKey(c.keys(), path)
		name := c.str("Name")
		if key.value(storedName(name)) != nil && !c.boolean("Force") {
			c.fail(c.alreadyThere(localMachine+`\`+path, "The property already exists."))
			continue
		}
		if v := c.write(key, name, c.enum("PropertyType")); v != nil {
			c.emit(valuesObject(path, v))
		}
	}
}

func (c *call) write(key *Key, name, kind string) *Value {
	name = storedName(name)
	old := ""
	if v := key.value(name); v != nil {
		old = v.Kind
	}
	kind, data, problem := registryData(c.inv.Parameters["Value"], kind, old)
	if problem != "" {
		c.fail(&cmdlet.Error{
			ID: "System.ArgumentException," + c.coreTail(), Category: "InvalidArgument", Target: localMachine + `\` + key.Path, TargetType: "String",
			Exception: "System.ArgumentException", Message: problem,
		})
		return nil
	}
	key.set(name, kind, data)
	return key.value(name)
}

func removeItemProperty(c *call) {
	for _, path := range c.paths() {
		for _, v := range c.chosenValues(path, c.strs("Name")) {
			findKey(*c.keys(), path).remove(v)
		}
	}
}

// registryData turns an argument into kind and text. Without -Type a value keeps the kind that it has; a new
// one gets the kind of its .NET type.
func registryData(value any, kind, old string) (string, string, string) {
	if typed, ok := value.(cmdlet.Typed); ok {
		value = typed.Value
	}
	if kind == "" || strings.EqualFold(kind, "Unknown") {
		kind = old
	}
	if kind == "" {
		kind = kindOf(value)
	}
	const mismatch = "The type of the value object did not match the specified RegistryValueKind or the object could not be properly converted."
	switch strings.ToLower(kind) {
	case "dword":
		n, ok := wholeNumber(value)
		if !ok || n < math.MinInt32 || n > math.MaxUint32 {
			return "", "", mismatch
		}
		return "DWord", strconv.FormatUint(uint64(uint32(n)), 10), ""
	case "qword":
		n, ok := wholeNumber(value)
		if !ok {
			return "", "", mismatch
		}
		return "QWord", strconv.FormatUint(uint64(n), 10), ""
	case "multistring":
		all, ok := value.([]any)
		if !ok {
			all = []any{value}
		}
		var texts []string
		for _, e := range all {
			texts = append(texts, text(e))
		}
		return "MultiString", strings.Join(texts, "\n"), ""
	case "binary":
		all, ok := value.([]any)
		if !ok {
			return "", "", mismatch
		}
		raw := make([]byte, 0, len(all))
		for _, e := range all {
			n, ok := wholeNumber(e)
			if !ok || n < 0 || n > 255 {
				return "", "", mismatch
			}
			raw = append(raw, byte(n))
		}
		return "Binary", hex.EncodeToString(raw), ""
	case "string":
		return "String", text(value), ""
	case "expandstring":
		return "ExpandString", text(value), ""
	default:
		return "", "", fmt.Sprintf("Cannot process argument because the value of argument \"type\" is not valid: %s.", kind)
	}
}

func kindOf(value any) string {
	switch v := value.(type) {
	case int64:
		if v < math.MinInt32 || v > math.MaxInt32 {
			return "QWord"
		}
		return "DWord"
	case uint64:
		return "QWord"
	case []any:
		for _, e := range v {
			if _, ok := e.(string); !ok {
				return "String"
			}
		}
		return "MultiString"
	default:
		return "String"
	}
}

func wholeNumber(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case float64:
		return int64(v), v == math.Trunc(v)
	case cmdlet.Typed:
		return wholeNumber(v.Value)
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case string:
		n, err := strconv.ParseInt(v, 0, 64)
		return n, err == nil
	}
	return 0, false
}
