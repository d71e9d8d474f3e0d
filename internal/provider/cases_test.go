package provider_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// The cases are reports of people who did this job: what went wrong, and what a provider does about it. Each has a
// test that begins with the failing state, holds the message against it, and goes on to the state after the fix.

// TestCasesAreTested: every case that this provider takes on has a test with its number in the name.
func TestCasesAreTested(t *testing.T) {
	numbered := regexp.MustCompile(`^TestCase(\d\d)[A-Z]`)
	tests := map[string][]string{}
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	for _, name := range files {
		source, err := os.ReadFile(name)
		must(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		must(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			if m := numbered.FindStringSubmatch(f.Name.Name); m != nil {
				tests[m[1]] = append(tests[m[1]], f.Name.Name)
			}
		}
	}
	for _, number := range []string{"01", "04", "07", "08", "10", "11", "14", "18", "19", "20", "21", "26", "27", "33", "34", "35", "43", "44", "45", "47", "48", "49", "50", "57", "59", "60", "61"} {
		if len(tests[number]) == 0 {
			t.Errorf("case %s has no test", number)
		}
		t.Logf("case %s: %s", number, strings.Join(tests[number], ", "))
	}
}

// says fails the test unless the text says all of it.
func says(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not said by\n%s", w, text)
		}
	}
}

// Case 4: IovEnabled is true and nothing works, since the platform has no SR-IOV.
func TestCase04IovEnabledButNotSupported(t *testing.T) {
	reasons := []string{"The system BIOS must be updated.", "No interrupt remapping."}
	platform := func(support bool) func(*lab.Scenario) {
		return func(s *lab.Scenario) {
			s.Hosts[0].Iov = &lab.ScenarioIov{Support: support}
			if !support {
				s.Hosts[0].Iov.Reasons = reasons
			}
		}
	}
	config := object{"name": "S", "net_adapter_names": list{"MyRDMANIC"}, "profile": "mellanox_cx3pro"}
	strict := object{"name": "S", "net_adapter_names": list{"MyRDMANIC"}, "profile": "mellanox_cx3pro", "require_iov_support": true}

	l := startLab(t, "mellanox-cx3pro", platform(false))
	h := l.harness("hv1")
	before := l.state()
	s := h.resource(switchType)
	d := mustApply(t, s, config)
	says(t, d.warnings().String(), append(reasons, "require_iov_support = true")...)
	if actual(s, "iov_enabled") != true || actual(s, "iov_support") != false {
		t.Errorf("actual %v, want enabled and not supported", s.state["actual"])
	}
	s.settled(config)
	mustApply(t, s, nil)
	mustFail(t, s, strict, append(reasons, "require_iov_support = true", "BIOS")...)
	if after := l.settledState(before); after != before {
		t.Errorf("the switch was not removed again:\n%s", textDiff(before, after))
	}
	host, d := h.data("hyperv_rdma_host", object{})
	if len(d) > 0 || host["iov_support"] != false || fmt.Sprint(host["iov_support_reasons"]) != fmt.Sprint(reasons) {
		t.Errorf("the data source says %v, %v: %s", host["iov_support"], host["iov_support_reasons"], d)
	}

	fixed := startLab(t, "mellanox-cx3pro", platform(true)).harness("hv1").resource(switchType)
	if d := mustApply(t, fixed, strict); len(d) > 0 {
		t.Errorf("after the fix: %s", d)
	}
	fixed.settled(strict)
}

// Case 7: the net adapter belongs to another external switch already.
func TestCase07NetAdapterInUse(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch)
	h := l.harness("hv1")
	second := h.resource(switchType)
	config := object{"name": "B", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false}
	var said string
	l.unchanged(func() {
		d := second.apply(config).errors()
		if len(d) != 1 || second.state != nil {
			t.Fatalf("%s, state %v", d, second.state)
		}
		said = d.String()
	})
	says(t, said, "net_adapter_names = iWARP 1", `bound to the switch "RDMA" already`, "facts.md 24", "Import that switch")

	t.Run("import as it says", func(t *testing.T) {
		id := regexp.MustCompile(`\(id ([0-9a-fA-F-]{36})\)`).FindStringSubmatch(said)
		if id == nil {
			t.Fatalf("no id in\n%s", said)
		}
		first := h.resource(switchType)
		if d := first.importID("hv1/" + id[1]).errors(); len(d) > 0 {
			t.Fatal(d)
		}
		first.settled(object{"name": "RDMA", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false})
	})
	t.Run("name another net adapter", func(t *testing.T) {
		config["net_adapter_names"] = list{"iWARP 2"}
		mustApply(t, second, config)
		second.settled(config)
	})
	t.Run("a switch that moves there", func(t *testing.T) {
		l.unchanged(func() {
			mustFail(t, second, object{"name": "B", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false}, `bound to the switch "RDMA" already`)
		})
		second.settled(config)
	})
	t.Run("remove the other switch", func(t *testing.T) {
		mustApply(t, second, nil)
		l.cmdlet("hv1", "host", "Disconnect-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R"})
		l.cmdlet("hv1", "host", "Remove-VMSwitch", object{"Name": "RDMA", "Force": true})
		config["net_adapter_names"] = list{"iWARP 1"}
		mustApply(t, second, config)
		second.settled(config)
	})
}

// Case 8: a host with several external switches, two of them with the same name.
func TestCase08SeveralSwitches(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) {
		s.Hosts[0].Switches = append(s.Hosts[0].Switches,
			lab.ScenarioSwitch{Name: "Twin", Type: "External", Ports: []string{"iWARP 1"}, Iov: true},
			lab.ScenarioSwitch{Name: "twin", Type: "External", Ports: []string{"iWARP 2"}, Iov: true})
	})
	h := l.harness("hv1")
	ids := regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}`)
	var found []string
	l.unchanged(func() {
		s := h.resource(switchType)
		d := s.importID("hv1/twin").errors()
		if len(d) != 1 || s.state != nil {
			t.Fatalf("%s, state %v", d, s.state)
		}
		says(t, d.String(), `"twin"`, "2 switches have this name", "Use an id instead of the name")
		found = ids.FindAllString(d.String(), -1)
	})
	if len(found) != 2 || strings.EqualFold(found[0], found[1]) {
		t.Fatalf("the error lists the ids %q, not those of both switches", found)
	}
	ports := map[string]bool{}
	var s *instance
	for _, id := range found {
		s = h.resource(switchType)
		if d := s.importID("hv1/" + id).errors(); len(d) > 0 {
			t.Fatalf("import by id: %s", d)
		}
		port := s.state["net_adapter_names"].([]any)
		ports[fmt.Sprint(port)] = true
		s.settled(object{"name": s.state["name"], "net_adapter_names": port, "allow_management_os": false})
	}
	if len(ports) != 2 {
		t.Errorf("two imports by id found the ports %v", ports)
	}
	t.Run("a VM's adapter cannot be connected by the name", func(t *testing.T) {
		l.unchanged(func() {
			a := h.resource(adapterType)
			mustFail(t, a, object{"vm_name": "vm1", "name": "A", "switch_name": "TWIN"}, append(found, "switch_name = TWIN", "2 switches have this name", "Rename one of them")...)
		})
	})
	t.Run("a third of the name cannot be made", func(t *testing.T) {
		l.unchanged(func() {
			mustFail(t, h.resource(switchType), object{"name": "tWIN", "net_adapter_names": list{"Ethernet"}}, "name = tWIN", "exists already")
		})
	})
	t.Run("renamed, the names say which is meant", func(t *testing.T) {
		other := object{"name": "other", "net_adapter_names": s.state["net_adapter_names"], "allow_management_os": false}
		mustApply(t, s, other)
		s.settled(other)
		a := h.resource(adapterType)
		config := object{"vm_name": "vm1", "name": "A", "switch_name": "twin"}
		mustApply(t, a, config)
		a.settled(config)
	})
}

// Case 14: adapters of the management operating system never get a virtual function, so nothing here is about them.
func TestCase14ManagementAdapter(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) { s.Hosts[0].Switches[1].ManagementOS = true })
	h := l.harness("hv1")
	hint := []string{"management operating system", "facts.md 48", "Enable-NetAdapterRdma", "vEthernet (RDMA)"}
	l.unchanged(func() {
		for _, typ := range []string{rdmaType, guestType} {
			mustFail(t, h.resource(typ), object{"vm_name": "vm1", "vm_network_adapter_name": "rdma"}, append(hint, "vm_network_adapter_name = rdma")...)
		}
		for _, typ := range []string{adapterType, rdmaType, guestType} {
			says(t, h.resource(typ).importID("hv1/vm1/RDMA").errors().String(), hint...)
		}
	})
	r := h.resource(rdmaType)
	config := object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100}
	mustApply(t, r, config)
	r.settled(config)
	for _, e := range l.journal() {
		if _, ok := e.Parameters["ManagementOS"]; ok && !readsOnly(e.Cmdlet) {
			t.Errorf("%s %v", e.Cmdlet, e.Parameters)
		}
	}
}

// Case 19: a switch with SR-IOV reserves no bandwidth, so a weight is refused before anything is changed, and the
// state never says that it was taken.
func TestCase19MinimumBandwidthOnIovSwitch(t *testing.T) {
	l := startLab(t, "intel-x722", twoSwitches, onIovSwitch)
	h := l.harness("hv1")
	rule := []string{"minimum_bandwidth_weight = 50", "mode is None", "facts.md 52", "facts.md 10", "Leave minimum_bandwidth_weight out"}
	a := h.resource(adapterType)
	refused := object{"vm_name": "vm1", "name": "A", "switch_name": "RDMA", "vlan": object{"access_vlan_id": 7}, "minimum_bandwidth_weight": 50}
	l.unchanged(func() { mustFail(t, a, refused, rule...) })
	fixed := object{"vm_name": "vm1", "name": "A", "switch_name": "RDMA", "vlan": object{"access_vlan_id": 7}}
	mustApply(t, a, fixed)
	a.settled(fixed)

	t.Run("in an update, with other changes", func(t *testing.T) {
		l.unchanged(func() {
			mustFail(t, a, object{"vm_name": "vm1", "name": "B", "switch_name": "RDMA", "vlan": object{"access_vlan_id": 8}, "minimum_bandwidth_weight": 50}, rule...)
		})
		a.settled(fixed)
	})
	t.Run("on the way to the switch", func(t *testing.T) {
		weighted := object{"vm_name": "vm1", "name": "A", "switch_name": "B $(x)`*", "minimum_bandwidth_weight": 50}
		mustApply(t, a, weighted)
		a.settled(weighted)
		l.unchanged(func() {
			mustFail(t, a, object{"vm_name": "vm1", "name": "A", "switch_name": "RDMA", "minimum_bandwidth_weight": 50}, rule...)
		})
		a.settled(weighted)
		mustApply(t, a, fixed)
		a.settled(fixed)
	})
	r := h.resource(rdmaType)
	offload := object{"vm_name": "vm1", "vm_network_adapter_name": "A", "iov_weight": 100, "rdma_weight": 100}
	mustApply(t, r, offload)
	r.settled(offload)
	if got := weights(l.since(0)); !slices.Contains(got, "iov=100") {
		t.Errorf("weights %q", got)
	}
}
