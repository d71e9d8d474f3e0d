package lab

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// JournalEntry is a cmdlet call or, with Event set, something that happened. The two have JSON shapes of
// their own, which others script against.
type JournalEntry struct {
	Seq        int64
	Time       time.Time
	Host       string
	Target     string // host, or guest:<VM name>
	Cmdlet     string
	Parameters map[string]any
	Error      string // FullyQualifiedErrorId, or ""
	OutOfBand  bool

	Event  string // net_adapter_restart, session_drop, vm_start, …
	Object string
	Reason string
}

// MarshalJSON prints the shape of a call or of an event.
func (e JournalEntry) MarshalJSON() ([]byte, error) {
	at := e.Time.UTC().Format(time.RFC3339Nano)
	if e.Event != "" {
		return json.Marshal(struct {
			Seq    int64  `json:"seq"`
			Time   string `json:"time"`
			Host   string `json:"host"`
			Event  string `json:"event"`
			Object string `json:"object"`
			Reason string `json:"reason"`
		}{e.Seq, at, e.Host, e.Event, e.Object, e.Reason})
	}
	return json.Marshal(struct {
		Seq        int64          `json:"seq"`
		Time       string         `json:"time"`
		Host       string         `json:"host"`
		Target     string         `json:"target"`
		Cmdlet     string         `json:"cmdlet"`
		Parameters map[string]any `json:"parameters"`
		Error      string         `json:"error"`
		OutOfBand  bool           `json:"out_of_band"`
	}{e.Seq, at, e.Host, e.Target, e.Cmdlet, e.Parameters, e.Error, e.OutOfBand})
}

// Metrics counts what the model was asked.
type Metrics struct {
	Calls   int64            `json:"calls"`
	Errors  int64            `json:"errors"`
	Cmdlets map[string]int64 `json:"cmdlets"`
}

// Journal is every call and event so far, in order.
func (l *Lab) Journal() []JournalEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	out := make([]JournalEntry, 0, len(l.journal))
	for _, e := range l.journal {
		out = append(out, *e)
	}
	return out
}

// Metrics is a copy of the counters.
func (l *Lab) Metrics() Metrics {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.metrics
	m.Cmdlets = make(map[string]int64, len(l.metrics.Cmdlets))
	for name, n := range l.metrics.Cmdlets {
		m.Cmdlets[name] = n
	}
	return m
}

// event writes an event to the journal.
func (l *Lab) event(host, name, object, reason string) {
	l.seq++
	l.journal = append(l.journal, &JournalEntry{Seq: l.seq, Time: l.clock(), Host: host, Event: name, Object: object, Reason: reason})
}

// record writes a call to the journal, before it runs; its error follows.
func (l *Lab) record(inv cmdlet.Invocation, outOfBand bool) *JournalEntry {
	l.seq++
	l.metrics.Calls++
	l.metrics.Cmdlets[inv.Cmdlet]++
	parameters := make(map[string]any, len(inv.Parameters))
	for name, value := range inv.Parameters {
		parameters[name] = journalValue(value)
	}
	entry := &JournalEntry{
		Seq: l.seq, Time: l.clock(), Host: inv.Host, Target: l.targetName(inv), Cmdlet: inv.Cmdlet, Parameters: parameters, OutOfBand: outOfBand,
	}
	l.journal = append(l.journal, entry)
	return entry
}

func (l *Lab) targetName(inv cmdlet.Invocation) string {
	if h := l.host(inv.Host); h != nil {
		if vm, ok := h.target(inv.Target); ok && vm != nil {
			return "guest:" + vm.Name
		}
	}
	if inv.Target == "" {
		return "host"
	}
	return inv.Target
}

// journalValue makes a bound value fit for JSON; of a credential only the user remains.
func journalValue(v any) any {
	switch v := v.(type) {
	case cmdlet.Credential:
		return map[string]any{"user": v.User}
	case cmdlet.Enum:
		return v.Name
	case cmdlet.GUID:
		return string(v)
	case cmdlet.Typed:
		return journalValue(v.Value)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case *cmdlet.Object:
		return journalObject(v)
	case *cmdlet.Security:
		return map[string]any{"path": v.Path, "owner": v.Owner, "sddl": v.SDDL}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = journalValue(e)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, journalValue(e))
		}
		return out
	default:
		return v
	}
}

// journalObject names an object, with what tells apart objects of one name: the VM of a network adapter and
// its id, the keyword of an advanced property.
func journalObject(o *cmdlet.Object) map[string]any {
	out := map[string]any{"$object": objectName(o)}
	for _, property := range []string{"VMName", "RegistryKeyword"} {
		if v, ok := o.Get(property); ok && text(v) != "" {
			out[property] = text(v)
		}
	}
	if id, ok := o.Get("Id"); ok && out["VMName"] != nil {
		out["Id"] = text(id)
	}
	return out
}

// objectName is the short type name of an object with its name or id.
func objectName(o *cmdlet.Object) string {
	kind := "Object"
	if len(o.Types) > 0 {
		kind = o.Types[0][strings.LastIndexAny(o.Types[0], "./")+1:]
	}
	for _, property := range []string{"Name", "Id", "PSPath", "InstanceId", "InstanceID"} {
		if v, ok := o.Get(property); ok && text(v) != "" {
			return kind + " " + text(v)
		}
	}
	return strings.TrimSpace(kind + " " + o.Text)
}
