package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const dcbType = "hyperv_dcb"

// dcbOff is a ConnectX-3 whose ports have DCB off, so that turning it on is a change.
func dcbOff(s *lab.Scenario) {
	for i := range s.Hosts[0].Devices[1].Ports {
		p := &s.Hosts[0].Devices[1].Ports[i]
		if p.Keywords == nil {
			p.Keywords = map[string]string{}
		}
		p.Keywords["*QOS"] = "0"
	}
}

func dcbInstalled(change func(*lab.ScenarioDcb)) func(*lab.Scenario) {
	return func(s *lab.Scenario) {
		s.Hosts[0].Dcb = &lab.ScenarioDcb{Installed: true}
		if change != nil {
			change(s.Hosts[0].Dcb)
		}
	}
}

// roceDcb is what RoCE needs (facts.md 85), with a cluster class (facts.md 86).
func roceDcb() object {
	return object{
		"install_feature": true,
		"policies": object{
			"SMB Direct": object{"net_direct_port": 445, "priority": 3},
			"Cluster":    object{"template": "Cluster", "priority": 7},
			"Default":    object{"template": "Default", "priority": 0},
		},
		"flow_control_priorities": list{3},
		"traffic_classes": object{
			"SMB":     object{"priorities": list{3}, "bandwidth_percentage": 50, "algorithm": "ETS"},
			"Cluster": object{"priorities": list{7}, "bandwidth_percentage": 1},
		},
		"dcbx_willing":      false,
		"net_adapter_names": list{"MyRDMANIC"},
	}
}

func withOut(o object, names ...string) object {
	out := object{}
	for k, v := range o {
		if !slices.Contains(names, k) {
			out[k] = v
		}
	}
	return out
}

func but(o object, more object) object {
	out := withOut(o)
	for k, v := range more {
		out[k] = v
	}
	return out
}

func TestDcbLifecycle(t *testing.T) {
	for name, change := range map[string]func(*lab.Scenario){
		"fresh host":                             dcbOff,
		"cmdlets without the feature":            func(s *lab.Scenario) { dcbOff(s); s.Unknowns.DcbCmdletsWithoutFeature = "present" },
		"algorithms as numbers":                  func(s *lab.Scenario) { dcbOff(s); s.Unknowns.TrafficClassAlgorithm = "number" },
		"host in use, with other settings there": func(s *lab.Scenario) { dcbOff(s); othersDcb(s) },
		"DCB of the net adapters is on already":  func(*lab.Scenario) {},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "mellanox-cx3pro", change)
			before := l.state()
			s := l.harness("hv1").resource(dcbType)
			config := roceDcb()
			if strings.HasPrefix(name, "host in use") {
				config["flow_control_priorities"] = list{3, 5}
			}
			seq := l.seq()
			mustApply(t, s, config)
			bounced := 2 // both ports of the device, once
			if strings.HasPrefix(name, "DCB of") {
				bounced = 0
			}
			if got := restarts(l.since(seq))["net_adapter_restart"]; got != bounced {
				t.Errorf("%d ports restarted, want %d", got, bounced)
			}
			if got := restarts(l.since(seq))["host_restart"]; got != 0 {
				t.Error("the host was restarted")
			}
			s.settled(config)
			changed := but(config, object{
				"policies": object{"SMB Direct": object{"net_direct_port": 445, "priority": 4}, "Live": object{"template": "LiveMigration", "priority": 5}},
				"traffic_classes": object{
					"SMB":  object{"priorities": list{4}, "bandwidth_percentage": 60, "algorithm": "ETS"},
					"Live": object{"priorities": list{7}, "algorithm": "Strict"},
				},
				"flow_control_priorities": list{4},
				"net_adapter_names":       list{"mYrdmanic", "MyRDMANIC 2"},
			})
			mustApply(t, s, changed)
			s.settled(changed)
			less := object{"policies": changed["policies"], "install_feature": true, "dcbx_willing": false}
			mustApply(t, s, less)
			s.settled(less)
			mustApply(t, s, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// othersDcb are settings of somebody else on the host.
func othersDcb(s *lab.Scenario) {
	dcbInstalled(func(d *lab.ScenarioDcb) {
		d.FlowControl = []int{5}
		d.TrafficClasses = []lab.ScenarioTrafficClass{{Name: "[x]* it's", Bandwidth: 10, Priorities: []int{5}}}
		d.Policies = []lab.ScenarioQosPolicy{{Name: "x", Template: "NFS", Priority: new(5)}, {Name: "*", NetDirectPort: 9000, Priority: new(5)}}
	})(s)
}

// An iWARP adapter needs no lossless priority, and what equals another's setting is taken as it is. Case 54: a host that is
// willing to take its settings from the switch is warned about.
func TestDcbTakesWhatIsEqual(t *testing.T) {
	l := startLab(t, "intel-x722", othersDcb)
	before := l.state()
	s := l.harness("hv1").resource(dcbType)
	config := object{
		"policies":          object{"SMB": object{"net_direct_port": 445, "priority": 3}, "*": object{"net_direct_port": 9000, "priority": 5}},
		"traffic_classes":   object{"[x]* it's": object{"priorities": list{5}, "bandwidth_percentage": 10}},
		"net_adapter_names": list{"iWARP 1"},
	}
	d := s.apply(config)
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if !strings.Contains(d.warnings().String(), "dcbx_willing = false") {
		t.Errorf("nothing says that the settings are not in force: %s", d)
	}
	s.settled(config)
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// The order of the calls on the way: whatever classes become of whatever classes, the host refuses none.
func TestDcbTrafficClassMoves(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro")
	before := l.state()
	s := l.harness("hv1").resource(dcbType)
	class := func(bandwidth int, priorities ...any) object {
		return object{"bandwidth_percentage": bandwidth, "priorities": priorities}
	}
	for _, classes := range []object{
		{"A": class(90, 1, 2), "B": class(9, 3)},
		{"A": class(9, 3), "B": class(90, 1, 2)},  // all priorities change hands
		{"A": class(9, 3, 2), "B": class(90, 1)},  // one moves
		{"A": class(50, 2), "C": class(49, 1, 3)}, // one goes, another takes
		{"A": object{"algorithm": "Strict", "priorities": list{2}}, "C": class(99, 1, 3)},
		{"A": class(1, 0), "B": class(1, 1), "C": class(1, 2), "D": class(1, 3), "E": class(1, 4), "F": class(1, 5), "G": class(93, 6, 7)},
		{"a": class(1, 0), "H": class(1, 1), "I": class(1, 2), "J": class(1, 3), "K": class(1, 4), "L": class(1, 5), "M": class(93, 6, 7)},
	} {
		config := object{"install_feature": true, "dcbx_willing": false, "traffic_classes": classes}
		mustApply(t, s, config)
		s.settled(config)
	}
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestDcbDrift(t *testing.T) {
	for name, x := range map[string]struct {
		cmdlet string
		with   object
	}{
		"a policy is gone":              {"Remove-NetQosPolicy", object{"Name": "SMB Direct"}},
		"a policy has another priority": {"Set-NetQosPolicy", object{"Name": "SMB Direct", "PriorityValue8021Action": 5}},
		"a policy has a condition":      {"Set-NetQosPolicy", object{"Name": "SMB Direct", "AppPathNameMatchCondition": "x.exe"}},
		"a class is gone":               {"Remove-NetQosTrafficClass", object{"Name": "SMB"}},
		"a class is smaller":            {"Set-NetQosTrafficClass", object{"Name": "SMB", "BandwidthPercentage": 20}},
		"a priority is lossy":           {"Disable-NetQosFlowControl", object{"Priority": 3}},
		"another priority is lossless":  {"Enable-NetQosFlowControl", object{"Priority": 6}},
		"the host is willing":           {"Set-NetQosDcbxSetting", object{"Willing": true}},
		"DCB of a net adapter is off":   {"Disable-NetAdapterQos", object{"Name": "MyRDMANIC"}},
		"the feature is gone":           {"Uninstall-WindowsFeature", object{"Name": "Data-Center-Bridging"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "mellanox-cx3pro", dcbOff)
			before := l.state()
			s := l.harness("hv1").resource(dcbType)
			config := roceDcb()
			mustApply(t, s, config)
			l.cmdlet("hv1", "host", x.cmdlet, x.with)
			if d := s.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if p := s.plan(config); p.empty(s.state) {
				t.Error("it is no drift")
			}
			mustApply(t, s, config)
			s.settled(config)
			mustApply(t, s, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// What drifted away and is then left out leaves no record behind.
func TestDcbDriftThenGone(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff)
	before := l.state()
	s := l.harness("hv1").resource(dcbType)
	mustApply(t, s, roceDcb())
	l.cmdlet("hv1", "host", "Remove-NetQosPolicy", object{"Name": "*"})
	l.cmdlet("hv1", "host", "Remove-NetQosTrafficClass", object{"Name": "SMB"})
	l.cmdlet("hv1", "host", "Disable-NetAdapterQos", object{"Name": "MyRDMANIC"})
	if d := s.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestDcbImport(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", othersDcb)
	before := l.state()
	h := l.harness("hv1")
	s := h.resource(dcbType)
	if d := s.importID("hv1").errors(); len(d) > 0 {
		t.Fatal(d)
	}
	config := object{
		"policies":                object{"x": object{"template": "NFS", "priority": 5}, "*": object{"net_direct_port": 9000, "priority": 5}},
		"traffic_classes":         object{"[x]* it's": object{"priorities": list{5}, "bandwidth_percentage": 10}},
		"flow_control_priorities": list{5}, "dcbx_willing": true, "net_adapter_names": list{"MyRDMANIC", "MyRDMANIC 2"},
	}
	s.settled(config)
	d := s.apply(nil) // what was there before is not known
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if !strings.Contains(d.warnings().String(), "imported") || !strings.Contains(d.warnings().String(), "flow_control_priorities") {
		t.Errorf("nothing says what stays: %s", d)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	s = h.resource(dcbType) // from the first change on, it is
	if d := s.importID("hv1").errors(); len(d) > 0 {
		t.Fatal(d)
	}
	changed := but(config, object{
		"policies":        object{"x": object{"template": "NFS", "priority": 4}, "*": object{"net_direct_port": 9000, "priority": 5}},
		"traffic_classes": object{"[x]* it's": object{"priorities": list{4, 5}, "bandwidth_percentage": 30}},
		"dcbx_willing":    false, "flow_control_priorities": list{4, 5},
	})
	mustApply(t, s, changed)
	s.settled(changed)
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestDcbClaim(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro")
	h := l.harness("hv1")
	mustApply(t, h.resource(dcbType), object{"policies": object{"A": object{"net_direct_port": 445, "priority": 3}}})
	for name, other := range map[string]*harness{"in the same run": h, "in another": l.harness("hv1")} {
		t.Run(name, func(t *testing.T) {
			l.unchanged(func() {
				d := other.resource(dcbType).apply(object{"policies": object{"B": object{"template": "NFS", "priority": 4}}}).errors()
				if !strings.Contains(d.String(), "another resource") {
					t.Errorf("a second resource on the host: %s", d)
				}
			})
		})
	}
}

// The host and its guests share the priority of SMB Direct (facts.md 87): both sides are told.
func TestDcbSharedWithGuests(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", onIovSwitch, dcbInstalled(nil), func(s *lab.Scenario) {
		for i := range s.Hosts[0].VMs[0].Adapters {
			s.Hosts[0].VMs[0].Adapters[i].IovWeight = 100
		}
	})
	s := l.harness("hv1").resource(dcbType)
	d := s.apply(object{"policies": object{"SMB": object{"net_direct_port": 445, "priority": 3}}, "flow_control_priorities": list{3}, "dcbx_willing": false})
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if text := d.warnings().String(); !strings.Contains(text, `"vm1"`) || !strings.Contains(text, "priority 3") || !strings.Contains(text, "facts.md 87") {
		t.Errorf("no warning of the shared priority: %s", text)
	}
	if guests := s.state["actual"].(object)["guests_with_rdma"]; len(guests.(list)) != 1 {
		t.Errorf("guests_with_rdma: %v", guests)
	}
}

func TestDcbCounts(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbInstalled(nil))
	h := l.patientHarness("hv1")
	s, nic := h.resource(dcbType), h.resource(nicType)
	mustApply(t, nic, object{"host": "hv1", "net_adapter_names": list{"MyRDMANIC"}, "sriov": true})
	config := but(roceDcb(), object{"host": "hv1"})
	p := s.plan(config)
	if n := l.requests(func() {
		if d := s.applyPlan(p).errors(); len(d) > 0 {
			t.Fatal(d)
		}
	}); n > 4 {
		t.Errorf("create made %d HTTP requests, at most 2 batches of 2", n)
	}
	if n := l.requests(func() {
		for _, i := range []*instance{nic, s, nic, s} {
			if d := i.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
		}
	}); n > 2 {
		t.Errorf("the reads made %d HTTP requests, want one batch of 2", n)
	}
}
