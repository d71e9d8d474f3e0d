package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
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

// What the host or its net adapters cannot do is refused with the attribute and the rule, and nothing is changed.
func TestDcbBadInput(t *testing.T) {
	one := func(attribute string, value any) object { return object{attribute: value} }
	class := func(more object) object {
		return object{"A": but(object{"priorities": list{3}, "bandwidth_percentage": 50}, more)}
	}
	for name, x := range map[string]struct {
		preset string
		change func(*lab.Scenario)
		config object
		want   []string
	}{
		"a priority above 7":               {config: one("flow_control_priorities", list{8}), want: []string{"flow_control_priorities", "7"}},
		"a priority below 0":               {config: one("policies", object{"A": object{"net_direct_port": 445, "priority": -1}}), want: []string{"priority", "0"}},
		"a port of 0":                      {config: one("policies", object{"A": object{"net_direct_port": 0, "priority": 3}}), want: []string{"net_direct_port", "65535"}},
		"a policy without a match":         {config: one("policies", object{"A": object{"priority": 3}}), want: []string{"net_direct_port", "template"}},
		"a policy with two":                {config: one("policies", object{"A": object{"net_direct_port": 445, "template": "SMB", "priority": 3}}), want: []string{"net_direct_port", "template"}},
		"an unknown template":              {config: one("policies", object{"A": object{"template": "FTP", "priority": 3}}), want: []string{"template", "LiveMigration"}},
		"one name in two spellings":        {config: one("policies", object{"A": object{"template": "SMB", "priority": 3}, "a": object{"template": "NFS", "priority": 3}}), want: []string{`"A"`, `"a"`, "case"}},
		"one port in two policies":         {config: one("policies", object{"A": object{"net_direct_port": 445, "priority": 3}, "B": object{"net_direct_port": 445, "priority": 4}}), want: []string{"445", "facts.md 86"}},
		"ETS without a bandwidth":          {config: one("traffic_classes", object{"A": object{"priorities": list{3}}}), want: []string{"bandwidth_percentage"}},
		"Strict with one":                  {config: one("traffic_classes", class(object{"algorithm": "Strict"})), want: []string{"bandwidth_percentage", "Strict"}},
		"a bandwidth of 100":               {config: one("traffic_classes", class(object{"bandwidth_percentage": 100})), want: []string{"bandwidth_percentage", "99"}},
		"a class without priorities":       {config: one("traffic_classes", class(object{"priorities": list{}})), want: []string{"priorities"}},
		"a priority in two classes":        {config: one("traffic_classes", object{"A": object{"priorities": list{3}, "bandwidth_percentage": 1}, "B": object{"priorities": list{2, 3}, "bandwidth_percentage": 1}}), want: []string{"3", "facts.md 85b"}},
		"more than 99 percent":             {config: one("traffic_classes", object{"A": object{"priorities": list{3}, "bandwidth_percentage": 50}, "B": object{"priorities": list{2}, "bandwidth_percentage": 50}}), want: []string{"traffic_classes", "100 %", "facts.md 85b"}},
		"the default class":                {config: one("traffic_classes", object{"[default]": object{"priorities": list{3}, "bandwidth_percentage": 1}}), want: []string{"[default]", "default class"}},
		"a name of blanks":                 {config: one("policies", object{" ": object{"template": "SMB", "priority": 3}}), want: []string{"policies", "name"}},
		"the same net adapter twice":       {config: one("net_adapter_names", list{"MyRDMANIC", "MyRDMANIC"}), want: []string{"net_adapter_names"}},
		"no such net adapter":              {config: one("net_adapter_names", list{"nobody"}), want: []string{"nobody", `"MyRDMANIC"`}},
		"a net adapter without DCB":        {config: one("net_adapter_names", list{"Ethernet"}), want: []string{"Ethernet", "DCB", `"MyRDMANIC"`}},
		"a host vNIC":                      {change: dcbInstalled(nil), config: one("net_adapter_names", list{"vEthernet (X)"}), want: []string{"vEthernet (X)"}},
		"the feature is missing":           {config: one("dcbx_willing", false), want: []string{"install_feature", "Data-Center-Bridging", "facts.md 85"}},
		"more lossless than the NIC has":   {change: dcbInstalled(nil), config: object{"flow_control_priorities": list{3, 4, 5, 6}, "net_adapter_names": list{"MyRDMANIC"}}, want: []string{"flow_control_priorities", "MyRDMANIC", "3 priorities", "facts.md 87"}},
		"RoCE on a priority that loses":    {change: dcbInstalled(nil), config: object{"policies": object{"A": object{"net_direct_port": 445, "priority": 4}}, "flow_control_priorities": list{3}, "net_adapter_names": list{"MyRDMANIC"}}, want: []string{"flow_control_priorities", "RoCE", "facts.md 85"}},
		"another's policy of that name":    {change: othersDcb, config: one("policies", object{"X": object{"template": "SMB", "priority": 3}}), want: []string{"did not make", "terraform import hyperv_dcb"}},
		"another's policy for that port":   {change: othersDcb, config: one("policies", object{"A": object{"net_direct_port": 9000, "priority": 3}}), want: []string{"9000", `"*"`, "facts.md 86", "facts.md 87"}},
		"another's class of that name":     {change: othersDcb, config: one("traffic_classes", object{"[X]* IT'S": object{"priorities": list{5}, "bandwidth_percentage": 11}}), want: []string{"did not make", "10 %"}},
		"another's class has the priority": {change: othersDcb, config: one("traffic_classes", object{"A": object{"priorities": list{5}, "bandwidth_percentage": 1}}), want: []string{"[x]* it's", "facts.md 85b"}},
		"with another's class above 99":    {change: othersDcb, config: one("traffic_classes", object{"A": object{"priorities": list{3}, "bandwidth_percentage": 90}}), want: []string{"[x]* it's", "100 %", "facts.md 85b"}},
		"a Windows client": {change: func(s *lab.Scenario) { s.Hosts[0].OS = lab.ScenarioOS{Name: "windows-11-pro"} }, config: object{"install_feature": true, "dcbx_willing": false},
			want: []string{"Get-WindowsFeature", "Windows Server"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []func(*lab.Scenario)
			if x.change != nil {
				changes = append(changes, x.change)
			}
			l := startLab(t, "mellanox-cx3pro", changes...)
			h := l.harness("hv1")
			l.unchanged(func() {
				d := h.resource(dcbType).apply(x.config).errors()
				if len(d) == 0 {
					t.Fatal("no error")
				}
				for _, w := range x.want {
					if !strings.Contains(d.String(), w) {
						t.Errorf("the error does not say %q:\n%s", w, d)
					}
				}
			})
		})
	}
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

// dcbUnknown tries data center bridging in every position of a switch.
func dcbUnknown(set func(*lab.Unknowns, string), positions ...string) []unknownCase {
	var out []unknownCase
	for _, p := range positions {
		out = append(out, unknownCase{position: p, presets: roce(), set: func(u *lab.Unknowns) { set(u, p) }, instead: tryDcb})
	}
	return out
}

// tryDcb: up and down, or an error that says to restart the host, with nothing changed but the feature.
func tryDcb(t *testing.T, x unknownCase) {
	l := startLab(t, "mellanox-cx3pro", dcbOff, func(s *lab.Scenario) { x.set(&s.Unknowns) })
	before := l.state()
	s := l.harness("hv1").resource(dcbType)
	if d := s.apply(roceDcb()).errors(); len(d) > 0 {
		if x.position != "yes" || !strings.Contains(d.String(), "Restart the host") {
			t.Fatal(d)
		}
		before = strings.Replace(before, `"feature": "Available"`, `"feature": "UninstallPending"`, 1)
		l.cmdlet("hv1", "host", "Restart-Computer", object{})
		for _, vm := range []string{"vm1", "vm2"} { // saved by the restart
			l.cmdlet("hv1", "host", "Start-VM", object{"Name": vm})
		}
		mustApply(t, s, roceDcb())
	}
	s.settled(roceDcb())
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// A host that Windows wants to restart is not restarted: the apply stops, and goes on once somebody did it.
func TestDcbFeatureNeedsRestart(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff, func(s *lab.Scenario) { s.Unknowns.DcbFeatureRestart = "yes" })
	before := l.state()
	s := l.harness("hv1").resource(dcbType)
	for range 2 { // again, before anybody restarted the host
		d := s.apply(roceDcb()).errors()
		if !strings.Contains(d.String(), "must restart") || !strings.Contains(d.String(), "install_feature") {
			t.Fatalf("want an error that says to restart the host: %s", d)
		}
	}
	if restarts(l.journal())["host_restart"] != 0 {
		t.Fatal("the host was restarted")
	}
	l.cmdlet("hv1", "host", "Restart-Computer", object{})
	l.settledState("")
	mustApply(t, s, roceDcb())
	s.settled(roceDcb())
	d := s.apply(nil)
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if !strings.Contains(d.warnings().String(), "must restart") {
		t.Errorf("nothing says that the feature goes with the next restart: %s", d)
	}
	if got := restarts(l.journal())["host_restart"]; got != 1 {
		t.Errorf("%d restarts of the host, want the one by hand", got)
	}
	l.cmdlet("hv1", "host", "Restart-Computer", object{})
	for _, vm := range []string{"vm1", "vm2"} { // saved by the restart
		l.cmdlet("hv1", "host", "Start-VM", object{"Name": vm})
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// A create that fails on its way takes back what it did.
func TestDcbCreateFails(t *testing.T) {
	for _, cmdlet := range []string{"New-NetQosPolicy", "Enable-NetQosFlowControl", "Set-NetQosDcbxSetting", "Enable-NetAdapterQos", "New-NetQosTrafficClass", "Install-WindowsFeature"} {
		t.Run(cmdlet, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "mellanox-cx3pro", dcbOff)
			before := l.state()
			s := l.harness("hv1").resource(dcbType)
			l.fault(door.Rule{Cmdlet: cmdlet, Effect: door.ErrorRecordEffect, Error: &door.ErrorRecord{ID: "Windows System Error 1450," + cmdlet, Category: "NotSpecified", Message: "no"}})
			if d := s.apply(roceDcb()).errors(); len(d) == 0 {
				t.Fatal("no error")
			}
			if s.state != nil {
				t.Error("there is a state")
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
			mustApply(t, s, roceDcb())
			s.settled(roceDcb())
		})
	}
}

// A session that is lost in the middle leaves no state; the next apply goes on from what is there.
func TestDcbSessionLost(t *testing.T) {
	for _, effect := range []door.Effect{door.KillProcess, door.KillShell} {
		for _, cmdlet := range []string{"Set-ItemProperty", "New-NetQosTrafficClass", "Enable-NetQosFlowControl", "Enable-NetAdapterQos", "Enable-NetAdapter"} {
			t.Run(string(effect)+" "+cmdlet, func(t *testing.T) {
				t.Parallel()
				l := startLab(t, "mellanox-cx3pro", dcbOff)
				before := l.state()
				s := l.harness("hv1").resource(dcbType)
				l.fault(door.Rule{Cmdlet: cmdlet, Effect: effect})
				s.apply(roceDcb())
				s.h = l.harness("hv1") // Terraform runs again
				mustApply(t, s, roceDcb())
				s.settled(roceDcb())
				mustApply(t, s, nil)
				if after := l.settledState(before); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			})
		}
	}
}

func TestDcbRestartsByHand(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff)
	s := l.harness("hv1").resource(dcbType)
	config := but(roceDcb(), object{"restart_policy": "manual"})
	seq := l.seq()
	mustApply(t, s, config)
	s.settled(config)
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 0 {
		t.Errorf("%d ports restarted by hand", got)
	}
	if pending, _ := s.state["pending_restarts"].(list); len(pending) != 1 {
		t.Errorf("pending_restarts: %v", s.state["pending_restarts"])
	}
	p := s.plan(roceDcb())
	if !strings.Contains(p.warnings().String(), "MyRDMANIC, MyRDMANIC 2") {
		t.Errorf("the plan does not show the owed restart: %s", p.diagnostics)
	}
	mustApply(t, s, roceDcb())
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
		t.Errorf("%d ports restarted, want both once", got)
	}
	s.settled(roceDcb())
	if pending, _ := s.state["pending_restarts"].(list); len(pending) != 0 {
		t.Errorf("pending_restarts: %v", pending)
	}
}

// A device that DCB and other settings share is taken down with one restart, by the last of them.
func TestDcbLastOnTheDevicePays(t *testing.T) {
	for name, first := range map[string]string{"DCB goes last": nicType, "DCB goes first": dcbType} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, "mellanox-cx3pro", dcbOff)
			before := l.state()
			h := l.harness("hv1")
			all := map[string]*instance{nicType: h.resource(nicType), dcbType: h.resource(dcbType)}
			mustApply(t, all[nicType], object{"net_adapter_names": list{"MyRDMANIC"}, "vmq": false, "restart_policy": "manual"})
			mustApply(t, all[dcbType], but(roceDcb(), object{"restart_policy": "manual"}))
			seq := l.seq()
			mustApply(t, all[first], nil)
			if got := restarts(l.since(seq))["net_adapter_restart"]; got != 0 {
				t.Errorf("%d ports restarted by the first that goes", got)
			}
			delete(all, first)
			for _, last := range all {
				mustApply(t, last, nil)
			}
			if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
				t.Errorf("%d ports restarted, want both once", got)
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

func TestDcbNoRestartOnDestroy(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff)
	s := l.harness("hv1").resource(dcbType)
	mustApply(t, s, but(roceDcb(), object{"restart_on_destroy": false}))
	seq := l.seq()
	d := s.apply(nil)
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 0 || !strings.Contains(d.warnings().String(), "stays owed") {
		t.Errorf("%d ports restarted: %s", got, d)
	}
}

// The plan announces the restarts by the configuration alone.
func TestDcbPlannedRestarts(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff)
	s := l.harness("hv1").resource(dcbType)
	if p := s.plan(withOut(roceDcb(), "net_adapter_names")); len(p.state["planned_restarts"].(list)) != 0 {
		t.Errorf("planned_restarts without net adapters: %v", p.state["planned_restarts"])
	}
	p := s.plan(roceDcb())
	planned, _ := p.state["planned_restarts"].(list)
	if len(planned) != 1 || planned[0].(object)["target"] != "MyRDMANIC" || !strings.Contains(p.warnings().String(), "net_adapter \"MyRDMANIC\"") {
		t.Errorf("planned_restarts %v: %s", planned, p.diagnostics)
	}
	if p := s.plan(but(roceDcb(), object{"net_adapter_names": unknown})); p.state["planned_restarts"] != unknown {
		t.Errorf("planned_restarts with unknown net adapters: %v", p.state["planned_restarts"])
	}
	mustApply(t, s, roceDcb())
	if p := s.plan(nil); !strings.Contains(p.warnings().String(), "MyRDMANIC") {
		t.Errorf("the destroy announces no restart: %s", p.diagnostics)
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

// A guest that is taken for a host is refused with the reason.
func TestDcbInAGuest(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", func(s *lab.Scenario) {
		s.Hosts[0].VMs[0].Guest.Listener = &lab.ScenarioListener{Basic: true}
	})
	g, c := l.ready.Guests[0], l.ready.GuestCredential
	h := newHarness(t, object{"hosts": object{"vm1": object{"address": g.Address, "port": g.HTTPSPort, "user": c.Username, "password": c.Password, "ca_file": l.ready.Hosts[0].CAFile}}})
	d := h.resource(dcbType).apply(roceDcb()).errors()
	for _, w := range []string{"guest", "facts.md 60", "physical host"} {
		if !strings.Contains(d.String(), w) {
			t.Errorf("the error does not say %q:\n%s", w, d)
		}
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
