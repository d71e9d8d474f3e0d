package provider_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// oddNames are the names of one lab's objects, and of others that must not be taken for them: as a wildcard
// pattern each name matches its decoy, or nothing at all.
type oddNames struct {
	port, sw, vm, adapter string
	decoy                 string // of the LAN's net adapter, its switch, the other VM, and the VM's LAN adapter
}

func same(name, decoy string) oddNames { return oddNames{name, name, name, name, decoy} }

// TestNames: whatever Windows takes as a name works as a name, means exactly one object, and never runs.
func TestNames(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	code := fmt.Sprintf("New-Item -ItemType File -Path %s", marker)
	tables := map[string]map[string]oddNames{
		simulator.EngineNative: {
			"apostrophe":             same("it's", "its"),
			"quotation marks":        same(`say "x" “y” ‘z’`, `say x y z`),
			"substitution":           same("$("+code+")", "$()"),
			"end of a string":        same("'; "+code+"; '", "; ;"),
			"end of a text":          same(`"; `+code+`; "`, "; ;"),
			"backtick":               same("a`b`$c`", "ab$c"),
			"semicolon and operator": same("a;b & c | d > e", "a"),
			"set of characters":      same("[x]", "x"),
			"open set":               same("a[b", "ab"),
			"star":                   same("*", "anything"),
			"question mark":          same("a?b", "axb"),
			"spaces":                 same("two  words", "two words"),
			"accents":                same("caf\u00e9", "cafe\u0301"),
			"beyond ASCII":           same("Öffnung 開 🚀", "Öffnung"),
			"a parameter":            same("-Force", "Force"),
			"templates":              same("%41 ${x} %{y} {{z}}", "A"),
			"a number":               same("0", "00"),
		},
		simulator.EnginePowerShell: {
			"everything": {
				port: "'; " + code + "; '[1]*", sw: `"; ` + code + `; "[1]*`, vm: "$(" + code + ") [1]*", adapter: "`n; " + code + " é 開 🚀 [1]*",
				decoy: "'; " + code + "; '1",
			},
		},
	}
	for engine, table := range tables {
		for name, n := range table {
			t.Run(engine+" "+name, func(t *testing.T) {
				t.Parallel()
				n.upAndDown(t, startLabOn(t, engine, "intel-x722", n.rename))
				if _, err := os.Stat(marker); err == nil {
					t.Error("a name ran as code")
				}
			})
		}
	}
}

// rename gives the lab's objects their names.
func (n oddNames) rename(s *lab.Scenario) {
	h := &s.Hosts[0]
	h.Devices[1].Ports[0].Name, h.Devices[0].Ports[1].Name = n.port, n.decoy
	h.Switches[0].Name, h.Switches[0].Ports[0] = n.decoy, n.decoy
	h.VMs[0].Name, h.VMs[1].Name = n.vm, n.decoy
	for i := range h.VMs {
		h.VMs[i].Adapters[0].Name, h.VMs[i].Adapters[0].Switch = n.decoy, n.decoy
	}
}

func (n oddNames) upAndDown(t *testing.T, l *testLab) {
	before, others := l.state(), n.others(l)
	h := l.harness("hv1")
	c := oneVM{preset: "intel-x722", port: n.port, sw: n.sw, vm: n.vm, adapter: n.adapter, more: map[string]object{
		nicType:     {"advanced_properties": object{"*JumboPacket": "9014"}},
		switchType:  {"notes": n.sw},
		adapterType: {"vlan": object{"access_vlan_id": 7}},
	}}.make(t, h)
	if c.stopped != "" {
		t.Fatal(c.said)
	}
	c.settled(t)
	if now := n.others(l); now != others {
		t.Errorf("another object was touched:\n%s", textDiff(others, now))
	}
	part := strings.NewReplacer("%", "%25", "/", "%2F").Replace
	adapter := "hv1/" + part(n.vm) + "/" + part(n.adapter)
	for typ, id := range map[string]string{nicType: "hv1/" + part(n.port), switchType: "hv1/" + part(n.sw), adapterType: adapter, rdmaType: adapter, guestType: adapter} {
		i := h.resource(typ)
		if d := i.importID(id).errors(); len(d) > 0 {
			t.Errorf("import of %s %q: %s", typ, id, d)
		} else if want := c.of(typ).state["id"]; i.state["id"] != want {
			t.Errorf("import of %s %q gave %v, want %v", typ, id, i.state["id"], want)
		}
	}
	c.destroy(t)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	known(t, l.journal())
}

// others are the objects of hv1 that nothing is asked of.
func (n oddNames) others(l *testLab) string {
	var all lab.State
	must(l.t, json.Unmarshal([]byte(l.state()), &all))
	vm, err := json.MarshalIndent(all.Hosts[0].VMs[1], "", " ")
	must(l.t, err)
	return l.lan() + string(vm)
}
