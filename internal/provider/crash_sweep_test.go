package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// crashStride names the environment variable that says how many requests lie between two at which the provider dies;
// with 1 it dies at each, which takes about ten minutes of processor time. sweepStride is what it is without. In any
// case it dies at the last request of the first change of each type: what that did is done, and nobody knows.
const (
	crashStride = "HYPERVSIM_CRASH_STRIDE"
	sweepStride = 47
)

// crashLab is an example to sweep.
type crashLab struct {
	example, preset string
	variables       object
}

func crashLabs() []crashLab {
	return []crashLab{{"labs/intel-iwarp", "intel-x722", nil}, {"labs/mellanox-roce", "mellanox-cx3pro", nil}}
}

// undisturbed is what a run that nothing disturbs does.
type undisturbed struct {
	end                  string // the lab when it is up, as like
	requestsUp, requests int64  // of the apply, and of the destroy
	endsUp, ends         map[string]int64
	bouncesUp, bounces   map[string]int
}

// TestCrashSweep: the provider dies at its k-th request of the apply, or of the destroy, of a whole lab. The next plan
// owes just what is missing, the next apply ends where an undisturbed one does, the plan after is empty, the destroy
// leaves the lab as it was, and at most one restart of a device more than needed happened.
func TestCrashSweep(t *testing.T) {
	stride := int64(sweepStride)
	if text := os.Getenv(crashStride); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, want a number of requests", crashStride, text)
		}
		stride = n
	}
	for _, x := range crashLabs() {
		t.Run(x.example, func(t *testing.T) {
			t.Parallel()
			want := x.undisturbed(t)
			for _, k := range crashPoints(stride, want.requestsUp, want.endsUp) {
				t.Run(fmt.Sprintf("apply dies at request %d", k), func(t *testing.T) { x.diesAtApply(t, k, want) })
			}
			for _, k := range crashPoints(stride, want.requests, want.ends) {
				t.Run(fmt.Sprintf("destroy dies at request %d", k), func(t *testing.T) { x.diesAtDestroy(t, k, want) })
			}
		})
	}
}

// crashPoints are the requests at which the provider dies, out of all of a walk.
func crashPoints(stride, all int64, ends map[string]int64) []int64 {
	points := slices.Collect(maps.Values(ends))
	for k := (stride + 1) / 2; k <= all; k += stride {
		points = append(points, k)
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// undisturbed runs the lab up and down, and holds it against what both must be.
func (x crashLab) undisturbed(t *testing.T) undisturbed {
	t.Helper()
	l := sweepLab(t, x.preset)
	before := l.state()
	w := newWorld(t, l, x.example, x.variables)
	up, down := &mortal{}, &mortal{}
	w.apply(up, w.plan(false))
	var out undisturbed
	out.end, out.requestsUp, out.bouncesUp = like(l.state()), up.seen.Load(), portBounces(l.journal())
	out.endsUp = w.ends
	w.settled()
	w.ready()
	seq := l.seq()
	w.apply(down, w.plan(true))
	out.requests, out.bounces, out.ends = down.seen.Load(), portBounces(l.since(seq)), w.ends
	w.gone(before)
	if out.requestsUp < 50 || out.requests < 50 {
		t.Errorf("%d and %d requests: that is no lab", out.requestsUp, out.requests)
	}
	return out
}

func (x crashLab) diesAtApply(t *testing.T, k int64, want undisturbed) {
	l := sweepLab(t, x.preset)
	before := l.state()
	w := newWorld(t, l, x.example, x.variables)
	dies := &mortal{deadAt: k}
	if w.apply(dies, w.plan(false)) {
		t.Fatalf("the provider lived: %d requests", dies.seen.Load())
	}
	plan := w.plan(false)
	w.owes(plan)
	w.apply(&mortal{}, plan)
	w.settled()
	w.ready()
	if got := l.settledLike(want.end); got != want.end {
		t.Errorf("the end is another than without a crash:\n%s", textDiff(want.end, got))
	}
	mostBounces(t, want.bouncesUp, portBounces(l.journal()))
	seq := l.seq()
	w.down()
	mostBounces(t, want.bounces, portBounces(l.since(seq)))
	w.gone(before)
}

func (x crashLab) diesAtDestroy(t *testing.T, k int64, want undisturbed) {
	l := sweepLab(t, x.preset)
	before := l.state()
	w := newWorld(t, l, x.example, x.variables)
	w.up()
	seq := l.seq()
	dies := &mortal{deadAt: k}
	if w.apply(dies, w.plan(true)) {
		t.Fatalf("the provider lived: %d requests", dies.seen.Load())
	}
	left := w.plan(true)
	for _, c := range left {
		if w.state[c.address] == nil {
			t.Errorf("the plan destroys %s, which is gone", c.address)
		}
	}
	if k%2 == 0 { // or somebody thinks better of it
		plan := w.plan(false)
		w.owes(plan)
		w.apply(&mortal{}, plan)
		w.settled()
		w.ready()
		if got := l.settledLike(want.end); got != want.end {
			t.Errorf("the end is another than without a crash:\n%s", textDiff(want.end, got))
		}
		w.down()
		w.gone(before)
		return
	}
	w.apply(&mortal{}, left)
	mostBounces(t, want.bounces, portBounces(l.since(seq)))
	w.gone(before)
}

// ready fails the test unless every guest is.
func (w *world) ready() {
	w.t.Helper()
	readiness, _ := w.config.output("readiness").(object)
	if len(readiness) == 0 {
		w.t.Error("there are no guests")
	}
	for name, r := range readiness {
		if r.(object)["ready"] != true {
			w.t.Errorf("%s is not ready: %v", name, r)
		}
	}
}

// gone fails the test unless the state is empty and the lab as it was at the beginning.
func (w *world) gone(before string) {
	w.t.Helper()
	if len(w.state) > 0 {
		w.t.Errorf("still in the state: %q", slices.Sorted(maps.Keys(w.state)))
	}
	after := w.lab.settledState(before)
	if after != before {
		w.t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	if strings.Contains(after, ledgerKey) {
		w.t.Error("the ledger is still there")
	}
}

// owes fails the test unless the plan is just what is missing: a resource without state is made, one with its state is
// left alone unless its restart is owed or it was what the provider was at, and every restart that the ledger owes is
// announced.
func (w *world) owes(plan changeSet) {
	w.t.Helper()
	planned := map[string]change{}
	var announced []object
	for _, c := range plan {
		planned[c.address] = c
		restarts, _ := c.plan.state["planned_restarts"].(list)
		for _, r := range restarts {
			announced = append(announced, object{"host": c.plan.state["host"], "target": r.(object)["target"]})
		}
		if s := w.state[c.address]; s != nil && len(restarts) == 0 && c.address != w.inFlight {
			w.t.Errorf("the plan changes %s, which is as it shall be and owes nothing: %v", c.address, differences(s.state, c.plan.state, ""))
		}
	}
	for _, i := range w.config.instances() {
		if _, ok := planned[i.address]; !ok && !i.data() && w.state[i.address] == nil {
			w.t.Errorf("%s is not there, and the plan does not make it", i.address)
		}
	}
	for _, debt := range w.lab.debts() {
		if !slices.ContainsFunc(announced, func(r object) bool { return r["host"] == debt["host"] && sharePort(r["target"], debt["target"]) }) {
			w.t.Errorf("the ledger owes a restart that the plan does not announce: %v", debt)
		}
	}
}

func sharePort(a, b any) bool {
	x, y := strings.Split(fmt.Sprint(a), ", "), strings.Split(fmt.Sprint(b), ", ")
	return slices.ContainsFunc(x, func(p string) bool { return slices.Contains(y, p) })
}

// debts are the restarts that the ledgers of the lab owe.
func (l *testLab) debts() (out []object) {
	l.t.Helper()
	var all lab.State
	must(l.t, json.Unmarshal([]byte(l.state()), &all))
	for _, h := range all.Hosts {
		for _, key := range h.Registry {
			for _, v := range key.Values {
				if !strings.HasSuffix(key.Path, ledgerKey) || !strings.HasPrefix(v.Name, "debt.") {
					continue
				}
				var debt object
				must(l.t, json.Unmarshal([]byte(v.Data), &debt))
				out = append(out, merged(debt, object{"host": h.Name}))
			}
		}
	}
	return out
}

// portBounces counts the restarts of each port.
func portBounces(journal []lab.JournalEntry) map[string]int {
	out := map[string]int{}
	for _, e := range journal {
		if e.Event == "net_adapter_restart" {
			out[e.Host+"/"+e.Object]++
		}
	}
	return out
}

// mostBounces: no port more than one restart above the least, and that on one host only.
func mostBounces(t *testing.T, least, got map[string]int) {
	t.Helper()
	hosts := map[string]bool{}
	for port, n := range got {
		host, _, _ := strings.Cut(port, "/")
		if n > least[port] {
			hosts[host] = true
		}
		if n > least[port]+1 {
			t.Errorf("%s was restarted %d times; %d are needed", port, n, least[port])
		}
	}
	if len(hosts) > 1 {
		t.Errorf("ports of %d hosts were restarted once more than needed, after one crash: %v, needed %v", len(hosts), got, least)
	}
}

// settledLike is settledState for states that are alike.
func (l *testLab) settledLike(want string) string {
	l.t.Helper()
	return eventually(want, func() string { return like(l.state()) })
}

// like takes out of a lab's state what differs from one making of the same thing to the next: GUIDs and MAC addresses
// are numbered in the order in which they stand; indexes of interfaces, times, and what restarts did for a guest's
// recovery are left out.
func like(state string) string {
	seen := map[string]string{}
	ids := regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|00155D[0-9A-F]{6}`)
	state = regexp.MustCompile(`"(interface_index|recovery_done)": \d+`).ReplaceAllString(state, `"$1": 0`)
	state = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`).ReplaceAllString(state, "(time)")
	return ids.ReplaceAllStringFunc(state, func(id string) string {
		id = strings.ToLower(id)
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("#%d", len(seen)+1)
		}
		return seen[id]
	})
}
