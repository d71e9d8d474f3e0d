package catalog

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// unwrap drops what engines do not care about: the pinned type of a number that converts by itself,
// JSON's own number type, and the many integer types of Go.
func unwrap(v any) any {
	switch v := v.(type) {
	case cmdlet.Typed:
		return unwrap(v.Value)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint32:
		return int64(v)
	case uint16:
		return int64(v)
	case uint8:
		return int64(v)
	case []string:
		out := make([]any, 0, len(v))
		for _, s := range v {
			out = append(out, s)
		}
		return out
	case []*cmdlet.Object:
		out := make([]any, 0, len(v))
		for _, o := range v {
			out = append(out, o)
		}
		return out
	}
	return v
}

// plain gives a value of an untyped parameter its canonical form.
func plain(v any) any {
	switch v := unwrap(v).(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, plain(e))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
		return v
	case *cmdlet.Object:
		if s := SecurityOf(v); s != nil {
			return s
		}
		return v
	default:
		return v
	}
}

// ranges are the integer types with their limits.
var ranges = map[string]struct{ min, max *big.Int }{
	"System.SByte": {big.NewInt(math.MinInt8), big.NewInt(math.MaxInt8)}, "System.Byte": {big.NewInt(0), big.NewInt(math.MaxUint8)},
	"System.Int16": {big.NewInt(math.MinInt16), big.NewInt(math.MaxInt16)}, "System.UInt16": {big.NewInt(0), big.NewInt(math.MaxUint16)},
	"System.Int32": {big.NewInt(math.MinInt32), big.NewInt(math.MaxInt32)}, "System.UInt32": {big.NewInt(0), big.NewInt(math.MaxUint32)},
	"System.Int64": {big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)}, "System.UInt64": {big.NewInt(0), new(big.Int).SetUint64(math.MaxUint64)},
}

func isInteger(name string) bool { _, ok := ranges[name]; return ok }

func zeroOf(name string) any {
	if name == "System.UInt64" {
		return uint64(0)
	}
	return int64(0)
}

func toInteger(p *Parameter, v any) (any, *problem) {
	n, ok := integerOf(v)
	limits := ranges[p.Type]
	if !ok || n.Cmp(limits.min) < 0 || n.Cmp(limits.max) > 0 {
		return nil, noMessage(p, v)
	}
	if p.Type == "System.UInt64" {
		return n.Uint64(), nil
	}
	return n.Int64(), nil
}

var hexadecimal = regexp.MustCompile(`^([+-]?)0[xX]([0-9a-fA-F]+)$`)

// integerOf rounds to even, takes an empty text as 0, and understands the forms that PowerShell reads.
func integerOf(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v), true
	case uint64:
		return new(big.Int).SetUint64(v), true
	case bool:
		if v {
			return big.NewInt(1), true
		}
		return big.NewInt(0), true
	case cmdlet.Enum:
		return big.NewInt(v.Number), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		n, _ := big.NewFloat(math.RoundToEven(v)).Int(nil)
		return n, true
	case string:
		s := strings.TrimSpace(v)
		if s == "" {
			return big.NewInt(0), true
		}
		if m := hexadecimal.FindStringSubmatch(s); m != nil {
			n, ok := new(big.Int).SetString(m[1]+m[2], 16)
			return n, ok
		}
		if n, ok := new(big.Int).SetString(s, 10); ok {
			return n, true
		}
		if strings.ContainsAny(s, "_pPxXiInN") {
			return nil, false
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, false
		}
		return integerOf(f)
	}
	return nil, false
}

// toBoolean refuses texts, as the engine's binder does.
func toBoolean(p *Parameter, v any) (any, *problem) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case int64, uint64, cmdlet.Enum:
		n, _ := integerOf(v)
		return n.Sign() != 0, nil
	case float64:
		return v != 0, nil
	}
	return nil, cannot(p, v)
}

func (t *converter) toSwitch(p *Parameter, v any) (any, *problem) {
	if _, ok := v.(bool); !ok && t.function {
		return nil, cannot(p, v)
	}
	return toBoolean(p, v)
}

func toGUID(p *Parameter, v any) (any, *problem) {
	text, ok := v.(string)
	if g, is := v.(cmdlet.GUID); is {
		text, ok = string(g), true
	}
	if ok {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
			text = text[1 : len(text)-1]
		}
		if id, err := uuid.Parse(text); err == nil && !strings.HasPrefix(strings.ToLower(text), "urn:") {
			return cmdlet.GUID(id.String()), nil
		}
	}
	return nil, noMessage(p, v)
}

var timeSpan = regexp.MustCompile(`^(-?)(?:(\d+)\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?$`)

// toTimeSpan gives seconds: a number counts ticks of 100 ns, a text is days or [d.]hh:mm[:ss[.f]].
func toTimeSpan(p *Parameter, v any) (any, *problem) {
	switch v := v.(type) {
	case int64:
		return float64(v) / 1e7, nil
	case string:
		s := strings.TrimSpace(v)
		if days, err := strconv.ParseInt(s, 10, 32); err == nil {
			return float64(days) * 86400, nil
		}
		if m := timeSpan.FindStringSubmatch(s); m != nil {
			return spanSeconds(m), nil
		}
	case cmdlet.Enum:
		return float64(v.Number) / 1e7, nil
	case time.Duration:
		return v.Seconds(), nil
	}
	return nil, noMessage(p, v)
}

func spanSeconds(m []string) float64 {
	number := func(s string) float64 {
		if s == "" {
			return 0
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0 // the pattern lets digits through only
		}
		return n
	}
	seconds := number(m[2])*86400 + number(m[3])*3600 + number(m[4])*60 + number(m[5])
	if m[6] != "" {
		seconds += number("0." + m[6])
	}
	if m[1] == "-" {
		return -seconds
	}
	return seconds
}

func toURI(p *Parameter, v any) (any, *problem) {
	switch v.(type) {
	case string, int64, uint64, float64:
		return Text(v), nil
	}
	return nil, noMessage(p, v)
}

// toTime reads ISO 8601 and the invariant culture's own form; a number counts ticks since year 1.
func toTime(p *Parameter, v any) (any, *problem) {
	switch v := v.(type) {
	case time.Time:
		return v.UTC(), nil
	case int64:
		if v >= 0 && v <= 3155378975999999999 {
			days := v / (864e9)
			return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(days)).Add(time.Duration(v%864e9) * 100), nil
		}
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.9999999", "2006-01-02 15:04:05", "2006-01-02", "01/02/2006 15:04:05", "01/02/2006"} {
			if t, err := time.Parse(layout, strings.TrimSpace(v)); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return nil, noMessage(p, v)
}

var version = regexp.MustCompile(`^\d+(\.\d+){1,3}$`)

func toVersion(p *Parameter, v any) (any, *problem) {
	if text := Text(v); version.MatchString(text) {
		if _, object := v.(*cmdlet.Object); !object {
			return text, nil
		}
	}
	return nil, noMessage(p, v)
}

func enumValue(e *Enum, m EnumMember) cmdlet.Enum {
	return cmdlet.Enum{Type: e.Name, Name: m.Name, Number: m.Number}
}

// toEnum takes a number that is a member, a name ignoring case, and the beginning of one name only.
func toEnum(p *Parameter, e *Enum, v any) (any, *problem) {
	switch v := v.(type) {
	case cmdlet.Enum:
		if m, ok := e.number(v.Number); ok {
			return enumValue(e, m), nil
		}
	case int64:
		if m, ok := e.number(v); ok {
			return enumValue(e, m), nil
		}
	case string:
		if m, ok := e.parse(v); ok {
			return enumValue(e, m), nil
		}
	}
	return nil, noMessage(p, v)
}

func (e *Enum) number(n int64) (EnumMember, bool) {
	for _, m := range e.Members {
		if m.Number == n {
			return m, true
		}
	}
	if !e.Flags || n == 0 {
		return EnumMember{}, false
	}
	var names []string
	rest := n
	for _, m := range e.Members {
		if m.Number != 0 && rest&m.Number == m.Number {
			names, rest = append(names, m.Name), rest&^m.Number
		}
	}
	return EnumMember{Name: strings.Join(names, ", "), Number: n}, rest == 0
}

// parse reads a list of names or numbers, which are or-ed together; the sum must be a member, or made of some.
func (e *Enum) parse(text string) (EnumMember, bool) {
	var sum int64
	for _, part := range strings.Split(text, ",") {
		name := strings.TrimSpace(part)
		m, ok := e.name(name)
		if !ok || name == "" && part != "" {
			return EnumMember{}, false
		}
		sum |= m
	}
	return e.number(sum)
}

func (e *Enum) name(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	var found []EnumMember
	for _, m := range e.Members {
		if strings.EqualFold(m.Name, text) {
			return m.Number, true
		}
		if begins(m.Name, text) {
			found = append(found, m)
		}
	}
	if len(found) == 1 {
		return found[0].Number, true
	}
	return 0, false
}

// ParseGUID reads the text forms of a System.Guid.
func ParseGUID(text string) (cmdlet.GUID, bool) {
	v, why := toGUID(&Parameter{Type: "System.Guid"}, text)
	if why != nil {
		return "", false
	}
	g, ok := v.(cmdlet.GUID)
	return g, ok
}

// SecurityOf is the security descriptor that an object of Get-Acl carries, nil for other objects.
func SecurityOf(o *cmdlet.Object) *cmdlet.Security {
	if o == nil || len(o.Types) == 0 || !strings.HasPrefix(o.Types[0], "System.Security.AccessControl.") {
		return nil
	}
	text := func(name string) string {
		v, _ := o.Get(name)
		return Text(v)
	}
	return &cmdlet.Security{Path: text("Path"), Owner: text("Owner"), SDDL: text("Sddl")}
}
