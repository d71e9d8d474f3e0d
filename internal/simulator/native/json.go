package native

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// writer writes values as the runner's JSON writer does.
type writer struct{ depth int }

// value writes v. Level is that of the objects found here, the topmost being 1; below depth objects
// become text. Fields, unless nil, project the objects found here.
func (w writer) value(v any, level int, fields []wire.Field) json.RawMessage {
	v = list(v)
	if text, quoted, ok := scalar(v); ok {
		if quoted {
			return quote(text)
		}
		return json.RawMessage(text)
	}
	if elements, ok := v.([]any); ok {
		parts := make([]string, 0, len(elements))
		for _, e := range elements {
			parts = append(parts, string(w.value(e, level, fields)))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	}
	if fields == nil && level > w.depth {
		return quote(catalog.Text(v))
	}
	var parts []string
	add := func(name string, value json.RawMessage) { parts = append(parts, string(quote(name))+":"+string(value)) }
	switch v := v.(type) {
	case *cmdlet.Object:
		switch {
		case fields != nil:
			w.fields(add, v, level, fields)
		default:
			for _, p := range v.Properties {
				add(p.Name, w.value(p.Value, level+1, nil))
			}
		}
	case map[string]any:
		if fields != nil {
			w.fields(add, v, level, fields)
			break
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			add(name, w.value(v[name], level+1, nil))
		}
	default:
		if fields == nil {
			return quote(catalog.Text(v))
		}
		w.fields(add, v, level, fields)
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

func (w writer) fields(add func(string, json.RawMessage), v any, level int, fields []wire.Field) {
	for _, f := range fields {
		path := f.Path
		if path == "" {
			path = f.Name
		}
		inner := f.Fields
		if len(inner) == 0 {
			inner = nil
		}
		add(f.Name, w.value(walk(v, path), level+1, inner))
	}
}

func quote(text string) json.RawMessage {
	out, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return out
}

// scalar is the text of a value that is no object and no array, and whether JSON quotes it.
func scalar(v any) (text string, quoted, ok bool) {
	switch v := v.(type) {
	case nil:
		return "null", false, true
	case cmdlet.Typed:
		return typed(v)
	case string:
		return v, true, true
	case bool:
		return strconv.FormatBool(v), false, true
	case cmdlet.Enum:
		return v.Name, true, true
	case cmdlet.GUID:
		return strings.ToLower(string(v)), true, true
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.0000000Z"), true, true
	case time.Duration:
		return number(v.Seconds()), false, true
	case []byte:
		return base64.StdEncoding.EncodeToString(v), true, true
	case float64:
		return number(v), false, true
	case float32:
		return number(float64(v)), false, true
	case json.Number:
		return v.String(), false, true
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		out, err := json.Marshal(v)
		return string(out), false, err == nil
	}
	return "", false, false
}

// typed writes a pinned type: a time span is seconds, everything else what its value is.
func typed(v cmdlet.Typed) (text string, quoted, ok bool) {
	if d, is := v.Value.(time.Duration); is {
		return number(d.Seconds()), false, true
	}
	return scalar(v.Value)
}

// number is the round-trip form of a double.
func number(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "null"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// scalarText is how a condition compares a value.
func scalarText(v any) string {
	if v == nil {
		return ""
	}
	if text, _, ok := scalar(v); ok {
		return text
	}
	return catalog.Text(v)
}
