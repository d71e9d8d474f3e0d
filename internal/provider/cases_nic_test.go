package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// ports gives the ports of hv1's RDMA device.
func rdmaPorts(s *lab.Scenario) []lab.ScenarioPort { return s.Hosts[0].Devices[1].Ports }

// Case 20: a keyword that the driver does not expose cannot be made, only set.
func TestCase20KeywordMissing(t *testing.T) {
	const maxVFs = "RdmaMaxVfsEnabled"
	for name, x := range map[string]struct {
		preset  string
		without []int // ports whose driver lacks the keyword
		config  object
		want    []string
		fixed   object
	}{
		"the attribute's keyword": {"intel-x722", []int{0, 1}, object{"rdma_max_vfs": 8}, []string{"rdma_max_vfs = 8", maxVFs, "i40ea68.sys", "facts.md 38", "Keywords of this driver: ", "*SRIOV"}, object{"sriov": true}},
		"on one port alone":       {"intel-x722", []int{1}, object{"rdma_max_vfs": 8}, []string{"rdma_max_vfs = 8", maxVFs, `"iWARP 2"`, "facts.md 38"}, object{"sriov": true}},
		"another vendor's keyword": {"mellanox-cx3pro", nil, object{"rdma_max_vfs": 8}, []string{"rdma_max_vfs = 8", "profile mellanox_cx3pro", "facts.md 82", "Leave rdma_max_vfs out"},
			object{"guest_rdma_registry": object{"value": 1}}},
		"a free keyword": {"intel-x722", nil, object{"advanced_properties": object{"*NoSuch": "1"}}, []string{`advanced_properties["*NoSuch"] = 1`, "no keyword *NoSuch", "facts.md 38", "Keywords of this driver: ", "*JumboPacket"},
			object{"advanced_properties": object{"*JumboPacket": "9014"}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, x.preset, func(s *lab.Scenario) {
				for _, i := range x.without {
					rdmaPorts(s)[i].Without = []string{maxVFs}
				}
			})
			port := "iWARP 1"
			if x.preset == "mellanox-cx3pro" {
				port = "MyRDMANIC"
			}
			s := l.harness("hv1").resource(nicType)
			config := func(more object) object { return merged(object{"net_adapter_names": list{port}}, more) }
			l.unchanged(func() { mustFail(t, s, config(x.config), x.want...) })
			mustApply(t, s, config(x.fixed))
			s.settled(config(x.fixed))
		})
	}
}

// Case 21: the text that Device Manager shows, where the registry value is wanted.
func TestCase21WrongValueText(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	s := h.resource(nicType)
	config := func(keyword, value string) object {
		return object{"net_adapter_names": list{"iWARP 1"}, "advanced_properties": object{keyword: value}}
	}
	for name, x := range map[string]struct {
		keyword, value string
		want           []string
	}{
		"text":                            {"*QOS", "Enabled", []string{`advanced_properties["*QOS"] = Enabled`, "takes the registry values 0, 1", "facts.md 38", "not the text that Device Manager shows"}},
		"keywords ignore case":            {"*qos", "2", []string{`advanced_properties["*qos"] = 2`, "0, 1"}},
		"a keyword that has an attribute": {"*SRIOV", "Enabled", []string{"*SRIOV", "use the attribute sriov"}},
	} {
		t.Run(name, func(t *testing.T) {
			l.unchanged(func() { mustFail(t, s, config(x.keyword, x.value), x.want...) })
		})
	}
	mustApply(t, s, config("*QOS", "0"))
	s.settled(config("*QOS", "0"))
	t.Run("in an update", func(t *testing.T) {
		l.unchanged(func() { mustFail(t, s, config("*QOS", "Enabled"), "0, 1") })
		s.settled(config("*QOS", "0"))
	})
}

// Case 49: the ports of a device hold different numbers of RDMA virtual functions, and none does RDMA.
func TestCase49UnequalPorts(t *testing.T) {
	l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
		rdmaPorts(s)[0].Keywords = map[string]string{"RdmaMaxVfsEnabled": "8"}
		rdmaPorts(s)[1].Keywords = map[string]string{"RdmaMaxVfsEnabled": "0"}
	})
	h := l.harness("hv1")
	mustApply(t, h.resource(rdmaType), object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
	g := h.resource(guestType)
	mustFail(t, g, guestConfig(nil), "rdma_enabled", "RdmaMaxVfsEnabled is not the same on all ports", `"iWARP 1", "iWARP 2"`, "facts.md 35")

	before := settledState(l)
	s := h.resource(nicType)
	config := object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8}
	t.Run("an import shows it", func(t *testing.T) {
		i := h.resource(nicType)
		if d := i.importID("hv1/iWARP 1").errors(); len(d) > 0 {
			t.Fatal(d)
		}
		if got := fmt.Sprint(actual(i, "unequal")); got != "[RdmaMaxVfsEnabled]" {
			t.Errorf("unequal %s", got)
		}
		if p := i.plan(config); p.empty(i.state) {
			t.Error("what one port alone holds looks like what is wanted")
		}
	})
	repair := func(t *testing.T) {
		t.Helper()
		seq := l.seq()
		mustApply(t, s, config)
		if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
			t.Errorf("%d restarts of ports, want one of each", got)
		}
		s.settled(config)
		if got := fmt.Sprint(actual(s, "unequal")); got != "[]" {
			t.Errorf("unequal %s", got)
		}
	}
	repair(t)
	mustApply(t, g, guestConfig(nil))
	g.settled(guestConfig(nil))

	t.Run("drift of one port is drift of the device", func(t *testing.T) {
		l.cmdlet("hv1", "host", "Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 2", "RegistryKeyword": "RdmaMaxVfsEnabled", "RegistryValue": "0"})
		if d := s.refresh().errors(); len(d) > 0 {
			t.Fatal(d)
		}
		p := s.plan(config)
		if got := strings.Join(drifted(s.state, p.state), " "); got != "rdma_max_vfs" {
			t.Errorf("the plan changes %q, want rdma_max_vfs", got)
		}
		says(t, fmt.Sprint(p.state["planned_restarts"]), "net_adapter", "iWARP 1", "iWARP 2")
		repair(t)
	})
	t.Run("destroyed while they differ, each port gets back its own", func(t *testing.T) {
		mustApply(t, g, nil)
		l.cmdlet("hv1", "host", "Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 1", "RegistryKeyword": "RdmaMaxVfsEnabled", "RegistryValue": "4"})
		for range 2 {
			if d := s.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
		}
		mustApply(t, s, nil)
		if after := eventually(before, func() string { return settledState(l) }); after != before {
			t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
		}
	})
}
