package hyperv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Kinds of objects that the provider makes, by the resource's type.
const (
	kindSwitch  = "hyperv_iov_switch"
	kindAdapter = "hyperv_vm_network_adapter"
)

// intent is written ahead of the creation of an object, and its id behind it in a record of its own. A provider that
// is killed before Terraform has stored the state leaves both, and the next create of the same resource then takes
// the object over instead of refusing it as somebody else's (decision 0013).
type intent struct {
	Kind     string    `json:"kind"`
	Name     string    `json:"name"`
	VMID     string    `json:"vm_id,omitempty"`
	MadeFrom string    `json:"made_from"`         // of the configuration of the object
	Members  []string  `json:"members,omitempty"` // interface GUIDs of a switch's net adapters
	Since    time.Time `json:"since,omitzero"`    // the host's clock, where it was read
}

func (in intent) key() []string {
	if in.VMID != "" {
		return []string{in.Kind, in.VMID, in.Name}
	}
	return []string{in.Kind, in.Name}
}

func (in intent) record() string     { return recordName("intent", in.key()...) }
func (in intent) madeRecord() string { return recordName("made", in.key()...) }

// madeFrom is a short text that is another one for another configuration.
func madeFrom(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // specs are plain structs
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// intent finds the one for the same object, with the id of what was made, "" where that is not known.
func (l *ledger) intent(of intent) (found intent, made string, ok bool) {
	raw, there := l.values[of.record()]
	if !there || json.Unmarshal([]byte(raw), &found) != nil {
		return intent{}, "", false
	}
	return found, l.values[of.madeRecord()], true
}

// intents lists all of a kind.
func (l *ledger) intents(kind string) []intent {
	var out []intent
	for name, raw := range l.values {
		var in intent
		if strings.HasPrefix(name, "intent.") && json.Unmarshal([]byte(raw), &in) == nil && in.Kind == kind {
			out = append(out, in)
		}
	}
	return out
}

// isMade says that the provider made the object of this id.
func (l *ledger) isMade(id string) bool {
	for name, value := range l.values {
		if strings.HasPrefix(name, "made.") && value != "" && strings.EqualFold(value, id) {
			return true
		}
	}
	return false
}

// intend writes the intent down, ahead of the creation. An id of an earlier attempt is forgotten.
func (w *ledgerWrites) intend(in intent) {
	w.set(in.record(), in)
	delete(w.remove, in.madeRecord())
	w.put[in.madeRecord()] = ""
}

// noteMade adds the call that writes down the id of the object saved under a name, right behind its creation.
func (b *batch) noteMade(in intent, saved string) {
	b.change(wire.Call{Cmdlet: "Set-ItemProperty", Parameters: map[string]any{"LiteralPath": ledgerPath, "Name": in.madeRecord(), "Value": wire.FirstProperty(saved, "Id"), "Type": "String"}})
}

// dropIntent takes the intent back: nothing was made, or it was removed.
func (w *ledgerWrites) dropIntent(in intent) {
	w.drop(in.record())
	w.drop(in.madeRecord())
}

// dropMade takes out everything about the making of an object that goes, whatever its name was then.
func (w *ledgerWrites) dropMade(id string) {
	for name, value := range w.from.values {
		key, ok := strings.CutPrefix(name, "made.")
		if ok && value != "" && strings.EqualFold(value, id) {
			w.drop(name)
			w.drop("intent." + key)
		}
	}
}

// dropStored takes out intents of an object whose state Terraform has stored: it was read, changed or deleted by its
// state. That the provider made it stays known while the object is there, where that is asked for later.
func (w *ledgerWrites) dropStored(in intent, id string) {
	for _, name := range w.from.storedBy(in, id) {
		w.drop(name)
	}
}

func (l *ledger) storedBy(in intent, id string) []string {
	var out []string
	for name, value := range l.values {
		key, ok := strings.CutPrefix(name, "made.")
		ours := ok && (value != "" && strings.EqualFold(value, id) || value == "" && name == in.madeRecord())
		if !ours {
			continue
		}
		if _, there := l.values["intent."+key]; there {
			out = append(out, "intent."+key)
			if in.Kind == kindAdapter && value != "" {
				continue
			}
		}
		if in.Kind != kindAdapter || value == "" {
			out = append(out, name)
		}
	}
	return out
}

// dropGoneIntents takes out intents of objects that are not there and that nobody is making: their creation never
// came to be, or somebody removed what it made.
func (w *ledgerWrites) dropGoneIntents(h *Host, inv *Inventory, allVMs bool) {
	for _, in := range w.from.intents(kindAdapter) {
		if !h.making.has(in.record()) && inv.hasNoAdapter(in, allVMs) {
			w.dropIntent(in)
		}
	}
	if inv.Switches == nil {
		return
	}
	for _, in := range w.from.intents(kindSwitch) {
		there := false
		for _, s := range inv.Switches {
			there = there || strings.EqualFold(s.Name, in.Name)
		}
		if !there && !h.making.has(in.record()) {
			w.dropIntent(in)
		}
	}
}

func (inv *Inventory) hasNoAdapter(in intent, allVMs bool) bool {
	for i := range inv.VMs {
		if !sameGUID(inv.VMs[i].ID, in.VMID) {
			continue
		}
		for _, a := range inv.adaptersOfVM(&inv.VMs[i]) {
			if strings.EqualFold(a.Name, in.Name) {
				return false
			}
		}
		return true
	}
	return allVMs
}

// stored are the records of intents whose states Terraform has.
type stored struct {
	mu      *sync.Mutex
	records map[string]bool
}

func (s stored) add(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		s.records[n] = true
	}
}

func (s stored) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := sorted(s.records)
	clear(s.records)
	return names
}

// noteStored remembers, from what was read for a resource by its state, that the intent of its object has served.
func (h *Host) noteStored(inv *Inventory, in intent, id string) {
	if inv.ledger != nil {
		h.stored.add(inv.ledger.storedBy(in, id)...)
	}
}

// holdIntent keeps others from taking the intent for that of a killed provider. What it gives ends that, unless the creation
// has come to its end: another resource of this run that is configured alike is not the same one.
func (h *Host) holdIntent(in intent, failed *error, again *bool) func() {
	h.making.add(in.record())
	return func() {
		if *failed != nil || *again {
			h.making.remove(in.record())
		}
	}
}

// made marks a creation that succeeded: its intent has served once Terraform has the answer. That is so when
// Terraform ends the provider in an orderly way, which Close is about.
func (h *Host) made(in intent) {
	names := []string{in.record()}
	if in.Kind != kindAdapter { // whose adapters are connected to a switch is asked later
		names = append(names, in.madeRecord())
	}
	h.stored.add(names...)
}

// Close takes the intents that have served out of the ledger. Call it when Terraform ends the provider: it then has
// every answer. One that stays behind does no harm: the next Read of its resource takes it out. It ends with ctx, also
// where a change that nobody waits for any more still holds the ledger.
func (h *Host) Close(ctx context.Context) error {
	names := h.stored.take()
	if len(names) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	l := &ledger{exists: true, values: map[string]string{}}
	for _, n := range names {
		l.values[n] = ""
	}
	w := l.writes()
	for _, n := range names {
		w.drop(n)
	}
	done := make(chan error, 1)
	go func() { done <- h.write(ctx, "note that the state is stored", "", w) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write changes the ledger alone.
func (h *Host) write(ctx context.Context, op, about string, w *ledgerWrites) error {
	if len(w.put)+len(w.remove) == 0 {
		return nil
	}
	b := h.batch(op, about)
	w.addPuts(b)
	w.addRemoves(b)
	defer w.guard(h)()
	if err := b.run(ctx); err != nil {
		return err
	}
	w.apply()
	return nil
}
