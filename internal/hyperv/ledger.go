package hyperv

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// The ledger is one registry key on the host that remembers what Terraform's state cannot: a provider
// that is killed in the middle of an apply leaves no state. One value per record: its name says what it
// is about, its data is JSON. Only SYSTEM and Administrators may read or write it.
const (
	ledgerParent = `HKLM:\SOFTWARE`
	ledgerName   = "TerraformProviderHyperV"
	ledgerPath   = ledgerParent + `\` + ledgerName
	ledgerSDDL   = "O:BAG:BAD:P(A;OICI;KA;;;SY)(A;OICI;KA;;;BA)"
)

// RestartKind says what is restarted.
type RestartKind string

// Kinds of restarts.
const (
	RestartNetAdapter RestartKind = "net_adapter" // disable and enable all ports of a device
	RestartVM         RestartKind = "vm"
	RestartGuestRdma  RestartKind = "guest_rdma" // disable and enable RDMA on the guest's adapters
	RestartHost       RestartKind = "host"
)

// Conditions of a planned restart.
const (
	Always           = "always"
	IfRunning        = "if_running"
	IfRecoveryNeeded = "if_recovery_needed"
	IfGeneration1    = "if_generation_1" // if the VM runs and is of Generation 1
	IfOwed           = "if_owed"         // if a change that is made before it waits for it
)

// Restart is a restart that a change will need.
type Restart struct {
	Kind      RestartKind
	Target    string
	Condition string
	Reason    string // names the rule
}

// Debt is a restart that is owed: a change was made that has no effect before it.
type Debt struct {
	Kind     RestartKind `json:"kind"`
	Target   string      `json:"target"`    // for people: port names, VM name
	TargetID string      `json:"target_id"` // device location, VM id
	Reason   string      `json:"reason"`
	Owner    string      `json:"owner"`          // the resource that made the change
	Since    time.Time   `json:"since,omitzero"` // the host's clock; zero: not known
}

// before is the value that a setting had before the provider first changed it. Value nil: it was not there.
type before struct {
	Object  string  `json:"object"`
	Setting string  `json:"setting"`
	Value   *string `json:"value"`
	About   string  `json:"about"` // for people who look into the registry
}

// claim says which resource owns an object's settings.
type claim struct {
	Object string `json:"object"`
	Owner  string `json:"owner"`
	// RequireIovSupport is kept of a switch that owes a restart: what it supports counts only afterwards.
	RequireIovSupport bool `json:"require_iov_support,omitempty"`
}

// ledger is the key as it was read.
type ledger struct {
	exists bool
	values map[string]string
	jobs   map[string]bool // ids of jobs that nobody has confirmed yet
}

// ledgerQuery is the ledger of a batch that has yet to run.
type ledgerQuery struct {
	host   *Host
	op     string
	values *answer
	acl    *found[aclInfo]
}

type aclInfo struct {
	Owner string `json:"Owner"`
	Sddl  string `json:"Sddl"`
}

// readLedger adds the calls that read the ledger.
func (b *batch) readLedger() *ledgerQuery {
	q := &ledgerQuery{host: b.host, op: b.op}
	missing := absent()
	q.values = b.add(wire.Call{Cmdlet: "Get-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath}, Depth: 1}, true, missing)
	q.acl = find[aclInfo](b, wire.Call{Cmdlet: "Get-Acl", Parameters: map[string]any{"LiteralPath": ledgerPath}}, missing)
	return q
}

// result decodes the ledger and refuses a key that others may write: its records would be theirs.
func (q *ledgerQuery) result() (*ledger, error) {
	l := &ledger{values: map[string]string{}, jobs: map[string]bool{}}
	if len(q.acl.Items) == 0 {
		return l, nil
	}
	l.exists = true
	if why := foreignACL(q.acl.Items[0].Sddl); why != "" {
		return nil, &Error{Kind: Conflict, Op: q.op, Host: q.host.Name, Object: "registry key " + ledgerPath, Value: q.acl.Items[0].Sddl,
			Cause: "The provider's ledger key exists with rights that the provider did not give it: " + why + ".",
			Fix:   "Find out who made the key. If nothing in it is needed, remove it (Remove-Item) and apply again; the provider makes it anew for SYSTEM and Administrators only."}
	}
	for _, raw := range q.values.raw {
		var all map[string]any
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, err
		}
		for name, v := range all {
			if s, ok := v.(string); ok && strings.Contains(name, ".") && !strings.HasPrefix(name, "job.") {
				l.values[name] = s
			}
			if parts := strings.Split(name, "."); len(parts) == 3 && parts[0] == "job" {
				l.jobs[parts[1]] = true
			}
		}
	}
	// A key without records may go any moment, with the job that it was made for: whoever writes makes it again.
	l.exists = len(l.values) > 0
	return l, nil
}

// foreignACL reads the owner, the protection and the trustees of an SDDL text. It says what is wrong, or "".
func foreignACL(sddl string) string {
	owner, rest, _ := strings.Cut(strings.TrimPrefix(sddl, "O:"), "G:")
	if owner != "BA" && owner != "SY" && owner != "S-1-5-32-544" && owner != "S-1-5-18" {
		return "its owner is " + owner
	}
	_, dacl, ok := strings.Cut(rest, "D:")
	if !ok {
		return "it has no access list"
	}
	dacl, _, _ = strings.Cut(dacl, "S:(")
	flags, aces, _ := strings.Cut(dacl, "(")
	if !strings.Contains(flags, "P") {
		return "it inherits rights from its parent"
	}
	for _, ace := range strings.Split(strings.TrimSuffix(aces, ")"), ")(") {
		parts := strings.Split(ace, ";")
		if len(parts) != 6 {
			return "its access list cannot be read"
		}
		switch parts[5] {
		case "SY", "BA", "S-1-5-32-544", "S-1-5-18":
		default:
			return "it gives rights to " + parts[5]
		}
	}
	return ""
}

// recordName joins parts into a value name without characters that are wildcards, path separators or dots, in lower
// case: registry values, keywords and names of net adapters ignore case, so a record must too.
func recordName(kind string, parts ...string) string {
	var b strings.Builder
	b.WriteString(kind)
	for _, p := range parts {
		b.WriteByte('.')
		for _, c := range []byte(strings.ToLower(p)) {
			switch {
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	return b.String()
}

func beforeName(object, setting string) string { return recordName("before", object, setting) }
func debtName(kind RestartKind, target, owner string) string {
	return recordName("debt", string(kind), target, owner)
}
func claimName(object string) string { return recordName("claim", object) }

// before finds what a setting was before the provider changed it.
func (l *ledger) before(object, setting string) (before, bool) {
	var r before
	raw, ok := l.values[beforeName(object, setting)]
	return r, ok && json.Unmarshal([]byte(raw), &r) == nil
}

// claim finds who owns an object's settings.
func (l *ledger) claim(object string) (string, bool) {
	var r claim
	raw, ok := l.values[claimName(object)]
	return r.Owner, ok && json.Unmarshal([]byte(raw), &r) == nil && r.Owner != ""
}

// debts lists what is owed, in a stable order.
func (l *ledger) debts() []Debt {
	var out []Debt
	for name, raw := range l.values {
		var d Debt
		if strings.HasPrefix(name, "debt.") && json.Unmarshal([]byte(raw), &d) == nil {
			out = append(out, d)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Kind != out[j].Kind {
			return out[i].Kind < out[j].Kind
		}
		if out[i].TargetID != out[j].TargetID {
			return out[i].TargetID < out[j].TargetID
		}
		return out[i].Owner < out[j].Owner
	})
	return out
}

// ledgerWrites gathers what a batch changes in the ledger, so that it stands ahead of the change itself.
type ledgerWrites struct {
	from   *ledger
	put    map[string]string
	remove map[string]bool
}

func (l *ledger) writes() *ledgerWrites {
	return &ledgerWrites{from: l, put: map[string]string{}, remove: map[string]bool{}}
}

func (w *ledgerWrites) set(name string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // records are plain structs
	}
	delete(w.remove, name)
	w.put[name] = string(raw)
}

// remember keeps what a setting is now, unless an earlier change of ours is remembered already: a
// retry after a crash must not take a half-changed value for what was there before.
func (w *ledgerWrites) remember(r before) {
	if _, known := w.from.before(r.Object, r.Setting); !known {
		w.set(beforeName(r.Object, r.Setting), r)
	}
}

func (w *ledgerWrites) forget(object, setting string) { w.drop(beforeName(object, setting)) }

func (w *ledgerWrites) owe(d Debt)    { w.set(debtName(d.Kind, d.TargetID, d.Owner), d) }
func (w *ledgerWrites) settle(d Debt) { w.drop(debtName(d.Kind, d.TargetID, d.Owner)) }

func (w *ledgerWrites) claim(object, owner string) {
	if have, ok := w.from.claim(object); !ok || have != owner {
		w.set(claimName(object), claim{Object: object, Owner: owner})
	}
}

func (w *ledgerWrites) release(object string) { w.drop(claimName(object)) }

func (w *ledgerWrites) drop(name string) {
	delete(w.put, name)
	if _, ok := w.from.values[name]; ok {
		w.remove[name] = true
	}
}

// addPuts adds the calls that write records: before the change that they are about. The key is made, with its
// rights, before the first value is written.
func (w *ledgerWrites) addPuts(b *batch) {
	if len(w.put) == 0 {
		return
	}
	if !w.from.exists {
		w.addKey(b)
	}
	for _, name := range sorted(w.put) {
		b.change(wire.Call{Cmdlet: "Set-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": name, "Value": w.put[name], "Type": "String"}})
	}
}

// addRemoves adds the calls that remove records: behind the change that made them needless. When
// nothing is left the key goes too, so that a destroyed lab is as it was.
func (w *ledgerWrites) addRemoves(b *batch) {
	if len(w.remove) == 0 {
		return
	}
	gone := tolerating(func(c wire.CommandError) bool {
		return commandKind(c) == NotFound || strings.HasPrefix(idHead(c), "System.Management.Automation.PSArgumentException")
	})
	names := sorted(w.remove)
	b.change(wire.Call{Cmdlet: "Remove-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": names}}, gone)
	if len(w.put) == 0 { // the host decides whether it was the last: others may be removing theirs at this moment
		addRemoveEmptyLedger(b)
	}
}

// addRemoveEmptyLedger removes the key if nothing is left in it.
func addRemoveEmptyLedger(b *batch) {
	gone := absent()
	b.add(wire.Call{Cmdlet: "Get-Item", Parameters: map[string]any{"LiteralPath": ledgerPath}, Save: "empty ledger",
		Where: []wire.Condition{{Property: "ValueCount", Equals: []string{"0"}}, {Property: "SubKeyCount", Equals: []string{"0"}}}, Select: []wire.Field{{Name: "ValueCount"}}}, true, gone)
	b.change(wire.Call{Cmdlet: "Remove-Item", Input: "empty ledger", Parameters: map[string]any{"Confirm": false}}, gone)
}

// addKey makes the ledger's key, with its rights, unless it is there.
func (w *ledgerWrites) addKey(b *batch) {
	exists := tolerating(func(c wire.CommandError) bool { return c.Category == "ResourceExists" })
	b.change(wire.Call{Cmdlet: "New-Item", Parameters: map[string]any{"Path": ledgerParent, "Name": ledgerName}, Select: fieldsOf[named]()}, exists)
	b.add(wire.Call{Cmdlet: "Get-Acl", Parameters: map[string]any{"LiteralPath": ledgerPath}, Select: fieldsOf[aclInfo](), Save: "ledger acl"}, true)
	b.change(wire.Call{Cmdlet: "Set-Acl", Parameters: map[string]any{"LiteralPath": ledgerPath, "AclObject": wire.SecurityDescriptor{Call: "ledger acl", SDDL: ledgerSDDL}}})
}

// guard holds the ledger against being emptied under a record that is being written. Call it before the
// batch runs, the result after.
func (w *ledgerWrites) guard(h *Host) func() {
	if len(w.remove) > 0 && len(w.put) == 0 {
		h.ledgerEmptying.Lock()
		return h.ledgerEmptying.Unlock
	}
	h.ledgerEmptying.RLock()
	return h.ledgerEmptying.RUnlock
}

// apply brings the ledger in memory up to the writes, for code that goes on with it.
func (w *ledgerWrites) apply() {
	for n := range w.remove {
		delete(w.from.values, n)
	}
	for n, v := range w.put {
		w.from.values[n] = v
	}
	switch {
	case len(w.put) > 0:
		w.from.exists = true
	case len(w.remove) > 0 && len(w.from.values) == 0:
		w.from.exists = false
	}
	w.put, w.remove = map[string]string{}, map[string]bool{}
}

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
