package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// restartRow is a change and what must restart for it: no more and no less.
type restartRow struct {
	name   string // attribute, before and after, state of the VM, and the fact that decides
	preset string // without: intel-x722
	lab    func(*lab.Scenario)
	others map[string]object // resources that are there before, in the order of the chain
	typ    string
	before object // nil: the change makes it
	after  object // nil: the change destroys it

	planned  []string // kind, target and condition as planned_restarts shows them; "unknown"
	restarts []string // kind and port or VM, each once
	owed     []string // kind and target that are owed under manual; without: what is planned as always
	autoOnly bool     // what goes first goes by its own policy
	fails    []string // the change cannot be made by an apply, and why not
}

const (
	x722Device = "net_adapter iWARP 1, iWARP 2 always"
	mlxDevice  = "net_adapter MyRDMANIC, MyRDMANIC 2 always"
)

func x722Ports() []string { return []string{"net_adapter iWARP 1", "net_adapter iWARP 2"} }
func mlxPorts() []string {
	return []string{"net_adapter MyRDMANIC", "net_adapter MyRDMANIC 2"}
}

// chainOrder is the order in which the other resources of a row are made.
func chainOrder() []string {
	return []string{nicType, switchType, "hyperv_net_adapter_restart", adapterType, rdmaType, guestType}
}

func TestRestartTable(t *testing.T) {
	rows := restartRows()
	if len(rows) < 40 {
		t.Errorf("%d rows", len(rows))
	}
	names := map[string]bool{}
	for _, row := range rows {
		if names[row.name] {
			t.Errorf("%q stands twice", row.name)
		}
		names[row.name] = true
		t.Run("auto/"+row.name, func(t *testing.T) {
			t.Parallel()
			row.auto(t)
		})
		if row.after != nil && row.fails == nil && !row.autoOnly {
			t.Run("manual/"+row.name, func(t *testing.T) {
				t.Parallel()
				row.manual(t)
			})
		}
	}
}

// start makes what is there before the change.
func (row restartRow) start(t *testing.T) (*testLab, *instance) {
	t.Helper()
	preset := row.preset
	if preset == "" {
		preset = "intel-x722"
	}
	l := startLab(t, preset, func(s *lab.Scenario) {
		if row.lab != nil {
			row.lab(s)
		}
	})
	h := l.harness("hv1")
	for _, typ := range chainOrder() {
		if config, ok := row.others[typ]; ok {
			mustApply(t, h.resource(typ), config)
		}
	}
	r := h.resource(row.typ)
	if row.before != nil {
		mustApply(t, r, row.before)
		r.settled(row.before)
	}
	return l, r
}

func (row restartRow) auto(t *testing.T) {
	l, r := row.start(t)
	seq := len(l.journal())
	p := r.plan(row.after)
	if len(p.errors()) > 0 && row.fails == nil {
		t.Fatal(p.errors())
	}
	if len(p.replace) > 0 { // what Terraform plans for the second half of it
		p = r.planFrom(nil, row.after)
	}
	switch {
	case row.after != nil && r.state != nil && p.empty(r.state):
		if len(row.planned) > 0 {
			t.Errorf("the plan is empty, want %q", row.planned)
		}
	case row.after != nil:
		if got := planned(p); !sameSet(got, row.planned) {
			t.Errorf("planned %q, want %q", got, row.planned)
		}
		if warned := len(p.warnings()) > 0; warned != (len(row.planned) > 0) {
			t.Errorf("warned: %v, planned: %q: %s", warned, row.planned, p.warnings())
		}
	default:
		for _, want := range row.planned { // a destroy can only warn
			kind, rest, _ := strings.Cut(want, " ")
			at := strings.LastIndex(rest, " ")
			says(t, p.warnings().String(), fmt.Sprintf("- %s %q, %s: ", kind, rest[:at], strings.ReplaceAll(rest[at+1:], "_", " ")))
		}
		if len(row.planned) == 0 && len(p.warnings()) > 0 {
			t.Errorf("nothing restarts, and the plan warns: %s", p.warnings())
		}
	}
	if row.fails != nil {
		mustFail(t, r, row.after, row.fails...)
	} else {
		mustApply(t, r, row.after)
	}
	if got := restarted(l.journal()[seq:]); !slices.Equal(got, sorted(row.restarts)) {
		t.Errorf("restarted %q, want %q", got, sorted(row.restarts))
	}
	if row.after != nil && row.fails == nil {
		if got := pending(r); len(got) > 0 {
			t.Errorf("still owed: %q", got)
		}
		r.settled(row.after)
	}
}

// manual makes the same change under restart_policy = "manual", which restarts nothing and owes it; the same under auto then
// pays that, and nothing else.
func (row restartRow) manual(t *testing.T) {
	if row.before != nil {
		row.before = merged(maps.Clone(row.before), object{"restart_policy": "auto"})
	}
	l, r := row.start(t)
	if !hasAttribute(r, "restart_policy") {
		t.Skip("it has no policy")
	}
	owed := row.owed
	if owed == nil {
		for _, x := range row.planned {
			if target, always := strings.CutSuffix(x, " always"); always {
				owed = append(owed, target)
			}
		}
	}
	seq := len(l.journal())
	config := merged(maps.Clone(row.after), object{"restart_policy": "manual"})
	if config["verification"] == nil && row.typ == guestType {
		config["verification"] = "warn"
	}
	d := r.apply(config)
	if len(d.errors()) > 0 && len(row.planned) > 0 && len(owed) == 0 {
		return // what may need a restart is refused: the rows of its own resource say with which words
	}
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if got := restarted(l.journal()[seq:]); len(got) > 0 {
		t.Errorf("restarted %q by hand", got)
	}
	r.refresh()
	if got := pending(r); !sameSet(got, owed) {
		t.Errorf("owed %q, want %q", got, owed)
	}
	r.settled(config)
	seq = len(l.journal())
	config = merged(maps.Clone(config), object{"restart_policy": "auto"})
	mustApply(t, r, config)
	want := sorted(row.restarts)
	if len(owed) == 0 && row.typ != guestType { // RDMA of a guest owes nothing, and goes on with the steps that it may take now
		want = nil
	}
	if got := restarted(l.journal()[seq:]); !slices.Equal(got, want) {
		t.Errorf("with auto again restarted %q, want %q", got, want)
	}
	if got := pending(r); len(got) > 0 {
		t.Errorf("still owed: %q", got)
	}
	r.settled(config)
}

func hasAttribute(i *instance, name string) bool {
	return slices.ContainsFunc(attributesOf(i.h.block(i.typ).Attributes), func(a namedAttribute) bool { return a.name == name })
}

func planned(p plan) []string {
	if p.state["planned_restarts"] == unknown {
		return []string{"unknown"}
	}
	return restartTexts(p.state["planned_restarts"], "kind", "target", "condition")
}

func pending(i *instance) []string {
	return restartTexts(i.state["pending_restarts"], "kind", "target")
}

func restartTexts(v any, fields ...string) []string {
	var out []string
	entries, _ := v.([]any)
	for _, e := range entries {
		var parts []string
		for _, f := range fields {
			parts = append(parts, fmt.Sprint(e.(object)[f]))
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

// restarted are the restarts of the journal, each as often as it happened: net adapters of the host, VMs, RDMA in guests, hosts.
func restarted(entries []lab.JournalEntry) []string {
	var out []string
	for _, e := range entries {
		switch e.Event {
		case "net_adapter_restart":
			out = append(out, "net_adapter "+e.Object)
		case "vm_restart":
			out = append(out, "vm "+e.Object)
		case "host_restart", "bus_device_restart", "guest_restart":
			out = append(out, strings.TrimSuffix(e.Event, "_restart")+" "+e.Object)
		}
	}
	return sorted(out)
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func sameSet(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }
