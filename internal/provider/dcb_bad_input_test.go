package provider_test

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

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
