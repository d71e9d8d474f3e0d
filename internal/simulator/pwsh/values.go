package pwsh

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// tagged is a value that JSON cannot say: an object with one key that starts with a dollar.
func tagged(tag string, value any) map[string]any { return map[string]any{tag: value} }

// encode gives a value of the model the form in which it passes the door.
func encode(v any) any {
	switch v := v.(type) {
	case nil, string, bool:
		return v
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, json.Number:
		return v
	case float64:
		return tagged("$double", strconv.FormatFloat(v, 'g', -1, 64))
	case float32:
		return encode(float64(v))
	case time.Time:
		return tagged("$time", v.UTC().Format("2006-01-02T15:04:05.0000000Z"))
	case time.Duration:
		return tagged("$span", v.Nanoseconds()/100)
	case []byte:
		return tagged("$bytes", base64.StdEncoding.EncodeToString(v))
	case cmdlet.GUID:
		return tagged("$guid", string(v))
	case cmdlet.Enum:
		return tagged("$enum", []any{v.Type, v.Name, v.Number})
	case cmdlet.Typed:
		if d, ok := v.Value.(time.Duration); ok {
			return encode(d)
		}
		return tagged("$as", []any{v.Type, encode(v.Value)})
	case *cmdlet.Object:
		return encodeObject(v)
	case *cmdlet.Security:
		return encodeObject(&cmdlet.Object{Types: []string{"System.Security.AccessControl.RegistrySecurity"}, Properties: []cmdlet.Property{
			{Name: "Path", Value: v.Path}, {Name: "Owner", Value: v.Owner}, {Name: "Sddl", Value: v.SDDL},
		}})
	case []any:
		return encodeList(v)
	case []string:
		return encodeList(v)
	case []*cmdlet.Object:
		return encodeList(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = encode(e)
		}
		return tagged("$map", out)
	default:
		return catalog.Text(v)
	}
}

func encodeList[T any](list []T) any {
	out := make([]any, 0, len(list))
	for _, e := range list {
		out = append(out, encode(e))
	}
	return out
}

type object struct {
	Types      []string `json:"types"`
	Ref        string   `json:"ref,omitempty"`
	Text       string   `json:"text,omitempty"`
	Properties [][2]any `json:"properties"`
}

func encodeObject(o *cmdlet.Object) any {
	if o == nil {
		return nil
	}
	if v, ok := catalog.ScalarOf(o); ok {
		return encode(v)
	}
	properties := make([][2]any, 0, len(o.Properties))
	for _, p := range o.Properties {
		properties = append(properties, [2]any{p.Name, encode(p.Value)})
	}
	if len(o.Types) == 0 || o.Types[0] == "System.Management.Automation.PSCustomObject" {
		return tagged("$bag", properties)
	}
	return tagged("$object", object{Types: o.Types, Ref: o.Ref, Text: o.Text, Properties: properties})
}

// decode is the inverse of encode, for what processes send.
func decode(raw json.RawMessage) (any, error) {
	var v any
	if err := decodeJSON(raw, &v); err != nil {
		return nil, err
	}
	return fromTree(v)
}

func fromTree(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			x, err := fromTree(e)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return out, nil
	case map[string]any:
		if len(v) != 1 {
			return nil, fmt.Errorf("a value with %d keys", len(v))
		}
		for tag, value := range v {
			return fromTag(tag, value)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u, nil
		}
		return v.Float64()
	}
	return v, nil
}

func fromTag(tag string, value any) (any, error) {
	switch tag {
	case "$double":
		return strconv.ParseFloat(catalog.Text(value), 64)
	case "$time":
		return time.Parse(time.RFC3339Nano, catalog.Text(value))
	case "$span":
		ticks, err := strconv.ParseInt(catalog.Text(value), 10, 64)
		return time.Duration(ticks) * 100, err
	case "$guid":
		g, ok := catalog.ParseGUID(catalog.Text(value))
		if !ok {
			return nil, fmt.Errorf("bad GUID %v", value)
		}
		return g, nil
	case "$bytes":
		return base64.StdEncoding.DecodeString(catalog.Text(value))
	case "$map":
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("bad table %v", value)
		}
		out := make(map[string]any, len(fields))
		for name, e := range fields {
			x, err := fromTree(e)
			if err != nil {
				return nil, err
			}
			out[name] = x
		}
		return out, nil
	case "$object":
		return fromObject(value)
	case "$bag", "$security":
		properties, err := fromProperties(value)
		if err != nil {
			return nil, err
		}
		o := &cmdlet.Object{Properties: properties}
		if tag == "$security" {
			o.Types = []string{"System.Security.AccessControl.RegistrySecurity"}
		}
		return o, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("bad %s", tag)
	}
	switch {
	case tag == "$enum" && len(list) == 3:
		number, err := strconv.ParseInt(catalog.Text(list[2]), 10, 64)
		return cmdlet.Enum{Type: catalog.Text(list[0]), Name: catalog.Text(list[1]), Number: number}, err
	case tag == "$cred" && len(list) == 2:
		return cmdlet.Credential{User: catalog.Text(list[0]), Password: catalog.Text(list[1])}, nil
	case tag == "$as" && len(list) == 2:
		inner, err := fromTree(list[1])
		return cmdlet.Typed{Type: catalog.Text(list[0]), Value: inner}, err
	}
	return nil, fmt.Errorf("unknown value %s", tag)
}

func fromObject(value any) (any, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("bad object %v", value)
	}
	properties, err := fromProperties(fields["properties"])
	if err != nil {
		return nil, err
	}
	o := &cmdlet.Object{Ref: catalog.Text(fields["ref"]), Text: catalog.Text(fields["text"]), Properties: properties}
	types, _ := fields["types"].([]any)
	for _, t := range types {
		o.Types = append(o.Types, catalog.Text(t))
	}
	return o, nil
}

func fromProperties(value any) ([]cmdlet.Property, error) {
	list, _ := value.([]any)
	var out []cmdlet.Property
	for _, e := range list {
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("bad property %v", e)
		}
		v, err := fromTree(pair[1])
		if err != nil {
			return nil, err
		}
		out = append(out, cmdlet.Property{Name: catalog.Text(pair[0]), Value: v})
	}
	return out, nil
}
