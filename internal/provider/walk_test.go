package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// mortal lets a provider die at one of its HTTP requests: that one and all behind it reach no host, and what the
// provider says from then on is heard by nobody, as with SIGKILL.
type mortal struct {
	deadAt int64 // 0: never
	seen   atomic.Int64
	dead   atomic.Bool
	kill   func()
}

func (m *mortal) alive() bool { return !m.dead.Load() }

// world is a lab, a configuration for it, and the state that Terraform would have stored: a small Terraform that
// plans and applies a whole folder of examples in-process, one resource after the other.
type world struct {
	t         testing.TB
	lab       *testLab
	example   string
	variables object
	config    *configuration
	state     map[string]*instance
	data      map[string]object
	planned   map[string]object
	// inFlight is what a provider that died was at.
	inFlight string
	// ends are the numbers of the requests that the first change of each type of resource ended with, in the last walk.
	ends map[string]int64
}

// sweepLab is a lab that does everything at once and takes passwords as they are: what is swept is many runs.
func sweepLab(t testing.TB, preset string) *testLab {
	t.Helper()
	return startLab(t, preset, func(s *lab.Scenario) {
		s.Timing = lab.Timing{}
		for i := range s.Hosts {
			s.Hosts[i].Listener.Basic, s.Hosts[i].Listener.AllowUnencrypted = true, true
		}
	})
}

func newWorld(t testing.TB, l *testLab, example string, variables object) *world {
	t.Helper()
	w := &world{t: t, lab: l, example: example, variables: variables, state: map[string]*instance{}}
	w.config = readConfiguration(t, "../../examples/"+example, l.labVariables(variables))
	w.config.known = func(address string) (object, bool) {
		if v, ok := w.planned[address]; ok {
			return v, true
		}
		if i, ok := w.state[address]; ok {
			return i.state, true
		}
		v, ok := w.data[address]
		return v, ok
	}
	return w
}

// walk runs f with a provider of its own, as Terraform starts one for each walk over its graph, and ends it. It says
// whether the provider lived to the end.
func (w *world) walk(m *mortal, f func(*harness)) bool {
	w.t.Helper()
	config := w.lab.config()
	var proxies []*httptest.Server
	for _, ready := range w.lab.ready.Hosts {
		h := config["hosts"].(object)[ready.Name].(object)
		target := &url.URL{Scheme: "http", Host: fmt.Sprintf("%s:%d", ready.Address, ready.HTTPPort)}
		forward := httputil.NewSingleHostReverseProxy(target)
		transport := &http.Transport{MaxIdleConnsPerHost: 8}
		defer transport.CloseIdleConnections()
		forward.Transport = transport
		forward.ErrorHandler = func(rw http.ResponseWriter, _ *http.Request, _ error) { panic(http.ErrAbortHandler) }
		p := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if n := m.seen.Add(1); m.deadAt > 0 && n >= m.deadAt {
				if m.dead.CompareAndSwap(false, true) {
					go m.kill()
				}
				panic(http.ErrAbortHandler) // closes the connection
			}
			forward.ServeHTTP(rw, r)
		}))
		proxies = append(proxies, p)
		address := strings.Split(strings.TrimPrefix(p.URL, "http://"), ":")
		delete(h, "ca_file")
		var port int
		_, err := fmt.Sscan(address[1], &port)
		must(w.t, err)
		merged(h, object{"address": address[0], "port": port, "https": false, "auth": "basic", "allow_unencrypted": true, "max_sessions": 1})
	}
	h := startServer(w.t, func(o *provider.Options) {
		quick(o)
		o.Poll, o.VFWait = 2*time.Millisecond, 100*time.Millisecond
		o.InventoryAge = 0
	})
	living, end := context.WithCancel(context.Background())
	defer end()
	m.kill = func() {
		end()
		h.server.Close(living)
	}
	if d := h.configure(config).errors(); len(d) > 0 {
		w.t.Fatal(d)
	}
	f(h)
	closing, cancel := context.WithTimeout(living, 10*time.Second)
	defer cancel()
	h.server.Close(closing)
	for _, p := range proxies {
		p.CloseClientConnections()
		p.Close()
	}
	return m.alive()
}

// change is one planned change.
type change struct {
	configInstance
	plan plan
	kind string // create, update, replace, delete
}

// changes are what a plan changes.
type changeSet []change

func (s changeSet) String() string {
	out := make([]string, len(s))
	for i, c := range s {
		out[i] = c.kind + " " + c.address
	}
	return strings.Join(out, "\n")
}

// plan refreshes the state and plans, with a provider of its own.
func (w *world) plan(destroy bool) (changes changeSet) {
	w.t.Helper()
	w.walk(&mortal{}, func(h *harness) { changes = w.planWith(h, destroy) })
	return changes
}

func (w *world) planWith(h *harness, destroy bool) (changes changeSet) {
	w.t.Helper()
	w.planned, w.data = map[string]object{}, map[string]object{}
	all := w.config.instances()
	for _, i := range all {
		if s := w.state[i.address]; s != nil {
			s.h = h
			if d := s.refresh().errors(); len(d) > 0 {
				w.t.Fatalf("%s: %s", i.address, d)
			}
			if s.state == nil {
				delete(w.state, i.address)
			}
		}
	}
	for _, i := range all {
		s := w.state[i.address]
		switch {
		case i.data():
			if destroy {
				continue
			}
			v, d := h.data(i.typ(), w.config.config(i, h.schema.DataSourceSchemas[i.typ()].ValueType()))
			if len(d.errors()) > 0 {
				w.t.Fatalf("%s: %s", i.address, d)
			}
			w.data[i.address] = v
		case destroy && s != nil:
			p := s.plan(nil)
			w.check(i, p)
			changes = append(changes, change{i, p, "delete"})
		case destroy:
		default:
			config := w.config.config(i, h.block(i.typ()).ValueType())
			if d := h.validate(i.typ(), config).errors(); len(d) > 0 {
				w.t.Fatalf("%s: %s", i.address, d)
			}
			kind := "update"
			if s == nil {
				s, kind = h.resource(i.typ()), "create"
			}
			p := s.plan(config)
			w.check(i, p)
			if kind == "update" && p.empty(s.state) {
				continue
			}
			if len(p.replace) > 0 && kind == "update" { // planned once more, as something new
				kind = "replace"
				p = h.resource(i.typ()).plan(config)
				w.check(i, p)
			}
			w.planned[i.address] = p.state
			changes = append(changes, change{i, p, kind})
		}
	}
	if destroy {
		slices.Reverse(changes)
	}
	return changes
}

func (w *world) check(i configInstance, p plan) {
	w.t.Helper()
	if len(p.errors()) > 0 {
		w.t.Fatalf("%s: %s", i.address, p.diagnostics)
	}
}

// apply makes what was planned, with a provider of its own that may die on the way. What it had not answered by then
// is not in the state.
func (w *world) apply(m *mortal, changes changeSet) (lived bool) {
	w.t.Helper()
	w.planned, w.ends = map[string]object{}, map[string]int64{}
	return w.walk(m, func(h *harness) {
		for _, c := range changes {
			w.inFlight = c.address
			was := w.state[c.address]
			now := h.resource(c.typ())
			if was != nil {
				now.state, now.private = was.state, was.private
			}
			if c.kind == "replace" {
				d := now.change(now.plan(nil))
				if !m.alive() {
					return
				}
				if len(d.errors()) > 0 || now.state != nil {
					w.t.Fatalf("%s %s: %s", c.kind, c.address, d)
				}
				delete(w.state, c.address)
				now = h.resource(c.typ())
			}
			p := c.plan
			if c.kind != "delete" { // planned once more, with what is known by now
				p = now.plan(w.config.config(c.configInstance, h.block(c.typ()).ValueType()))
				if m.alive() {
					w.check(c.configInstance, p)
					diff := slices.DeleteFunc(differences(c.plan.state, p.state, ""), func(d string) bool { return strings.HasSuffix(d, ": unknown after apply") })
					if len(diff) > 0 {
						w.t.Errorf("%s: the provider produced an inconsistent final plan: %v", c.address, diff)
					}
				}
			}
			if !m.alive() {
				return
			}
			d := now.change(p)
			switch {
			case !m.alive():
				return
			case len(d.errors()) > 0:
				w.t.Fatalf("%s %s: %s", c.kind, c.address, d)
			case now.state == nil:
				delete(w.state, c.address)
			default:
				w.state[c.address] = now
			}
			if w.ends[c.typ()] == 0 {
				w.ends[c.typ()] = m.seen.Load()
			}
		}
		w.inFlight = ""
	})
}

// up plans and applies the whole configuration.
func (w *world) up() {
	w.t.Helper()
	w.apply(&mortal{}, w.plan(false))
}

// down plans and applies its end.
func (w *world) down() {
	w.t.Helper()
	w.apply(&mortal{}, w.plan(true))
}

// settled fails the test unless a plan changes nothing.
func (w *world) settled() {
	w.t.Helper()
	if changes := w.plan(false); len(changes) > 0 {
		for _, c := range changes {
			var prior object
			if s := w.state[c.address]; s != nil {
				prior = s.state
			}
			w.t.Errorf("the plan after is not empty: %s %s: %v", c.kind, c.address, differences(prior, c.plan.state, ""))
		}
	}
}
