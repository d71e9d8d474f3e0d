package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const vnicType = "hyperv_management_vnic_rdma"

// onTeam gives hv1 a team (Switch Embedded Teaming) of both iWARP ports, named "SET".
func onTeam(s *lab.Scenario) {
	s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "SET", Type: "External", Ports: []string{"iWARP 1", "iWARP 2"}, Iov: true})
}

func TestManagementVnicRdmaLifecycle(t *testing.T) {
	for _, rename := range []string{"follows", "stays"} {
		t.Run("net adapter "+rename, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", onTeam, func(s *lab.Scenario) { s.Unknowns.HostVNicRename = rename })
			before := l.state()
			h := l.harness("hv1")
			v := h.resource(vnicType)
			config := object{"switch_name": "set", "name": "SMB_1", "vlan": object{"access_vlan_id": 11}, "team_mapping": "iwarp 2"}
			seq := l.seq()
			mustApply(t, v, config)
			if got, want := cmdlets(l.since(seq)), []string{"Add-VMNetworkAdapter", "Set-VMNetworkAdapterVlan", "Set-VMNetworkAdapterTeamMapping", "Enable-NetAdapterRdma"}; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			for name, want := range map[string]any{"net_adapter_name": "vEthernet (SMB_1)", "net_adapter_name_matches": true, "rdma_offered": true, "vlan_mode": "Access"} {
				if got := actual(v, name); got != want {
					t.Errorf("actual.%s is %v, want %v", name, got, want)
				}
			}
			v.settled(config)

			renamed := plus(config, object{"name": "SMB 'a' [1]*"})
			if d := mustApply(t, v, renamed); len(d.warnings()) > 0 || actual(v, "net_adapter_name") != "vEthernet (SMB 'a' [1]*)" {
				t.Errorf("net adapter %v: %s", actual(v, "net_adapter_name"), d)
			}
			v.settled(renamed)

			isolated := object{"switch_name": "SET", "name": "SMB 'a' [1]*", "isolation": object{"vlan_id": 12, "allow_untagged_traffic": true}}
			mustApply(t, v, isolated)
			if actual(v, "vlan_mode") != "Untagged" || actual(v, "isolation_mode") != "Vlan" {
				t.Errorf("actual %v", v.state["actual"])
			}
			v.settled(isolated)
			bare := object{"switch_name": "SET", "name": "SMB 'a' [1]*", "rdma": false}
			if w := v.plan(bare).warnings().String(); !strings.Contains(w, "restarts") {
				t.Errorf("the plan does not say that the adapter restarts: %s", w)
			}
			mustApply(t, v, bare)
			if actual(v, "isolation_mode") != "None" || v.state["rdma"] != false {
				t.Errorf("state %v", v.state)
			}
			v.settled(bare)
			mustApply(t, v, renamed)
			v.settled(renamed)
			for _, id := range []string{"hv1/SET/SMB 'a' [1]*", v.state["id"].(string)} {
				imported := h.resource(vnicType)
				if d := imported.importID(id).errors(); len(d) > 0 {
					t.Fatal(d)
				}
				if imported.state["id"] != v.state["id"] || imported.state["rdma"] != true || fmt.Sprint(imported.state["vlan"]) != fmt.Sprint(v.state["vlan"]) {
					t.Errorf("import of %q gave %v", id, imported.state)
				}
			}
			mustApply(t, v, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

func TestManagementVnicRdmaDrift(t *testing.T) {
	l := startLab(t, "intel-x722", onTeam)
	before := l.state()
	h := l.harness("hv1")
	v, other := h.resource(vnicType), h.resource(vnicType)
	config := object{"switch_name": "SET", "name": "SMB_1", "vlan": object{"access_vlan_id": 11}, "team_mapping": "iWARP 1"}
	mustApply(t, v, config)
	mustApply(t, other, object{"switch_name": "SET", "name": "SMB_?"})
	mine := func(more object) object {
		return plus(more, object{"ManagementOS": true, "VMNetworkAdapterName": "SMB_1"})
	}
	for name, x := range map[string]struct {
		cmdlet     string
		parameters object
		want       []string
	}{
		"RDMA off":                       {"Disable-NetAdapterRdma", object{"Name": "vEthernet (SMB_1)"}, []string{"rdma"}},
		"another VLAN":                   {"Set-VMNetworkAdapterVlan", mine(object{"Access": true, "VlanId": 12}), []string{"vlan"}},
		"untagged":                       {"Set-VMNetworkAdapterVlan", mine(object{"Untagged": true}), []string{"vlan"}},
		"the VLAN is moved to isolation": {"Set-VMNetworkAdapterIsolation", mine(object{"IsolationMode": "Vlan", "DefaultIsolationID": 11}), []string{"vlan"}},
		"mapped to the other":            {"Set-VMNetworkAdapterTeamMapping", mine(object{"PhysicalNetAdapterName": "iWARP 2"}), []string{"team_mapping"}},
		"not mapped":                     {"Remove-VMNetworkAdapterTeamMapping", mine(nil), []string{"team_mapping"}},
		"renamed":                        {"Rename-VMNetworkAdapter", object{"ManagementOS": true, "Name": "SMB_1", "NewName": "SMB_2"}, []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			l.cmdlet("hv1", "host", x.cmdlet, x.parameters)
			if d := v.refresh().errors(); len(d) > 0 {
				t.Fatal(d)
			}
			if got := drifted(v.state, v.plan(config).state); !slices.Equal(got, x.want) {
				t.Errorf("the plan changes %v, want %v", got, x.want)
			}
			mustApply(t, v, config)
			v.settled(config)
		})
	}
	t.Run("the net adapter is renamed: no drift, and told", func(t *testing.T) {
		l.cmdlet("hv1", "host", "Rename-NetAdapter", object{"Name": "vEthernet (SMB_1)", "NewName": "Storage"})
		v.settled(config)
		if actual(v, "net_adapter_name") != "Storage" || actual(v, "net_adapter_name_matches") != false {
			t.Errorf("actual %v", v.state["actual"])
		}
		l.cmdlet("hv1", "host", "Disable-NetAdapterRdma", object{"Name": "Storage"})
		if w := mustApply(t, v, config).warnings().String(); !strings.Contains(w, `"Storage"`) || !strings.Contains(w, "facts.md 88") {
			t.Errorf("said %s", w)
		}
		v.settled(config)
		mustApply(t, v, plus(config, object{"name": "SMB_3"}))
		if actual(v, "net_adapter_name") != "Storage" {
			t.Errorf("a name that somebody chose became %v", actual(v, "net_adapter_name"))
		}
		mustApply(t, v, config)
	})
	t.Run("the switch is renamed", func(t *testing.T) {
		l.cmdlet("hv1", "host", "Rename-VMSwitch", object{"Name": "SET", "NewName": "TES"})
		v.settled(config)
		mustApply(t, v, plus(config, object{"vlan": object{"access_vlan_id": 13}}))
		if actual(v, "switch_name") != "TES" {
			t.Errorf("actual %v", v.state["actual"])
		}
		l.cmdlet("hv1", "host", "Rename-VMSwitch", object{"Name": "TES", "NewName": "SET"})
		mustApply(t, v, config)
	})
	t.Run("RDMA of the members is turned off", func(t *testing.T) {
		off := func(value string) {
			l.cmdlet("hv1", "host", "Set-NetAdapterAdvancedProperty", object{"Name": list{"iWARP 1", "iWARP 2"}, "RegistryKeyword": "`*NetworkDirect", "RegistryValue": list{value}})
		}
		off("0")
		if d := v.refresh().errors(); len(d) > 0 || v.state["rdma"] != false {
			t.Errorf("rdma %v: %s", v.state["rdma"], d)
		}
		mustFail(t, v, config, "offers no RDMA", "hyperv_nic_rdma_settings", `"iWARP 1"`)
		off("1")
		mustApply(t, v, config)
		v.settled(config)
	})
	t.Run("removed", func(t *testing.T) {
		l.cmdlet("hv1", "host", "Remove-VMNetworkAdapter", object{"ManagementOS": true, "Name": "SMB_1"})
		if d := v.refresh().errors(); len(d) > 0 || v.state != nil {
			t.Fatalf("state %v: %s", v.state, d)
		}
		mustApply(t, v, config)
	})
	other.settled(object{"switch_name": "SET", "name": "SMB_?"})
	mustApply(t, v, nil)
	mustApply(t, other, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestManagementVnicRdmaStops(t *testing.T) {
	onLan := object{"switch_name": "LAN", "name": "SMB_1"}
	for name, x := range map[string]struct {
		change func(*lab.Scenario)
		config object
		want   []string
	}{
		"before Windows Server 2016": {func(s *lab.Scenario) { onTeam(s); s.Hosts[0].OS.Build = 9600 }, object{"switch_name": "SET", "name": "SMB_1"}, []string{"9600", "Windows Server 2016", "A15"}},
		"a switch on a classic team": {func(s *lab.Scenario) {
			s.Hosts[0].LbfoTeams = []lab.ScenarioLbfoTeam{{Name: "Team", Members: []string{"iWARP 1"}}}
			s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "SET", Type: "External", Ports: []string{"iWARP 1"}})
		}, object{"switch_name": "SET", "name": "SMB_1"}, []string{"LBFO", `"Team"`, "facts.md 21", "Switch Embedded Teaming"}},
		"adapters without RDMA": {nil, onLan, []string{"offers no RDMA", `"Ethernet 2"`, "facts.md 88"}},
		"no such switch":        {nil, object{"switch_name": "nope", "name": "SMB_1"}, []string{"switch_name = nope", `"LAN"`}},
		"a pattern is a name":   {nil, object{"switch_name": "LA*", "name": "SMB_1"}, []string{"switch_name = LA*"}},
		"named like the switch": {onTeam, object{"switch_name": "SET", "name": "set"}, []string{"allow_management_os", "facts.md 16"}},
		"mapped to no member":   {onTeam, object{"switch_name": "SET", "name": "SMB_1", "team_mapping": "Ethernet"}, []string{"team_mapping = Ethernet", `"iWARP 1", "iWARP 2"`}},
		"VLAN and isolation":    {onTeam, object{"switch_name": "SET", "name": "SMB_1", "vlan": object{"access_vlan_id": 1}, "isolation": object{"vlan_id": 1}}, []string{"isolation", "vlan"}},
		"no VLAN":               {onTeam, object{"switch_name": "SET", "name": "SMB_1", "vlan": object{"access_vlan_id": 4095}}, []string{"4095"}},
		"two switches of that name": {func(s *lab.Scenario) {
			for _, port := range []string{"iWARP 1", "iWARP 2"} {
				s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "SET", Type: "External", Ports: []string{port}})
			}
		}, object{"switch_name": "SET", "name": "SMB_1"}, []string{"2 switches"}},
		"a private switch has no adapter": {func(s *lab.Scenario) {
			s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "P", Type: "Private"})
		}, object{"switch_name": "P", "name": "SMB_1"}, []string{"private"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", func(s *lab.Scenario) {
				if x.change != nil {
					x.change(s)
				}
			})
			before := l.state()
			mustFail(t, l.harness("hv1").resource(vnicType), x.config, x.want...)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

func TestManagementVnicRdmaConflict(t *testing.T) {
	l := startLab(t, "intel-x722", onTeam)
	h := l.harness("hv1")
	mustApply(t, h.resource(vnicType), object{"switch_name": "SET", "name": "SMB_1"})
	l.unchanged(func() {
		mustFail(t, h.resource(vnicType), object{"switch_name": "SET", "name": "smb_1"}, "already", "terraform import", "'hv1/SET/")
	})
	l.cmdlet("hv1", "host", "Add-VMNetworkAdapter", object{"ManagementOS": true, "SwitchName": "SET", "Name": "SMB_1"})
	if d := h.resource(vnicType).importID("hv1/SET/SMB_1").errors().String(); !strings.Contains(d, "2 adapters") || !strings.Contains(d, "import by id") {
		t.Errorf("said %s", d)
	}
}

// A create whose process dies in the middle leaves no adapter.
func TestManagementVnicRdmaIsUndone(t *testing.T) {
	for _, cmdlet := range []string{"Set-VMNetworkAdapterVlan", "Enable-NetAdapterRdma", "Get-VMNetworkAdapterTeamMapping"} {
		t.Run(cmdlet, func(t *testing.T) {
			l := startLab(t, "intel-x722", onTeam)
			h := l.harness("hv1")
			v := h.resource(vnicType)
			config := object{"switch_name": "SET", "name": "SMB_1", "vlan": object{"access_vlan_id": 11}}
			before := l.state()
			l.fault(door.Rule{Cmdlet: cmdlet, Effect: door.KillProcess})
			if d := v.apply(config).errors(); len(d) > 0 || v.state == nil {
				if after := l.settledState(before); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
				mustApply(t, v, config)
			}
			v.settled(config)
			mustApply(t, v, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// The adapter that the host is reached through is never removed.
func TestManagementVnicRdmaOfTheHostsOwnWay(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort)
	h := l.harness("hv1")
	sw := h.resource(switchType)
	mustApply(t, sw, object{"name": "RDMA", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": true, "preserve_host_ip_config": true})
	v := h.resource(vnicType)
	if d := v.importID("hv1/RDMA/RDMA").errors(); len(d) > 0 {
		t.Fatal(d)
	}
	mustApply(t, v, object{"switch_name": "RDMA", "name": "RDMA"})
	l.unchanged(func() {
		if d := v.applyPlan(v.plan(nil)).errors().String(); !strings.Contains(d, "reached through this adapter") || v.state == nil {
			t.Errorf("said %s", d)
		}
	})
}

func TestManagementVnicRdmaRequests(t *testing.T) {
	l := startLab(t, "intel-x722", onTeam)
	h := l.harness("hv1")
	config := object{"host": "hv1", "switch_name": "SET", "name": "SMB_1", "vlan": object{"access_vlan_id": 11}}
	v := h.resource(vnicType)
	mustApply(t, v, config)
	mustApply(t, v, nil)
	for _, x := range []struct {
		name string
		most int64
		f    func()
	}{
		{"create", 4, func() { v.applyPlan(v.plan(config)) }},
		{"read", 2, func() { v.refresh() }},
		{"update", 4, func() { v.applyPlan(v.plan(plus(config, object{"vlan": object{"access_vlan_id": 12}, "rdma": false}))) }},
		{"delete", 4, func() { v.applyPlan(v.plan(nil)) }},
	} {
		if n := l.requests(x.f); n > x.most {
			t.Errorf("%s: %d requests, at most %d", x.name, n, x.most)
		}
	}
	t.Run("reads are shared", func(t *testing.T) {
		p := l.patientHarness("hv1")
		var all []*instance
		for _, name := range []string{"A", "B", "C"} {
			i := p.resource(vnicType)
			mustApply(t, i, object{"host": "hv1", "switch_name": "SET", "name": name})
			all = append(all, i)
		}
		n := l.requests(func() {
			for _, i := range all {
				if d := i.refresh().errors(); len(d) > 0 {
					t.Fatal(d)
				}
			}
		})
		if n > 2 {
			t.Errorf("3 reads made %d HTTP requests, want one batch of 2", n)
		}
	})
}

func TestAccManagementVnicRdma(t *testing.T) {
	const sw = "S'$$${x}\"R; [1]*"
	l := startLab(t, "intel-x722")
	before := l.state()
	config := func(first, second string) string {
		return l.hcl("hv1") + fmt.Sprintf(`
resource "hyperv_iov_switch" "set" {
  name                    = %[1]q
  net_adapter_names       = ["iWARP 1", "iWARP 2"]
  enable_embedded_teaming = true
  allow_management_os     = false
}
resource "hyperv_management_vnic_rdma" "first" {
  switch_name  = hyperv_iov_switch.set.name
  team_mapping = "iWARP 1"
  %[2]s
}
resource "hyperv_management_vnic_rdma" "second" {
  switch_name  = hyperv_iov_switch.set.name
  team_mapping = "iWARP 2"
  %[3]s
}
`, sw, first, second)
	}
	const first, second = vnicType + ".first", vnicType + ".second"
	one, two := "name = \"v'm;$(x) [1]* é\"\n  vlan = { access_vlan_id = 11 }", "name = \"SMB_2\"\n  isolation = { vlan_id = 12 }"
	offered := func(at string) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(at, tfjsonpath.New("actual").AtMapKey("rdma_offered"), knownvalue.Bool(true))
	}
	acceptance(t,
		resource.TestStep{Config: config(one, two), ConfigStateChecks: []statecheck.StateCheck{offered(first), offered(second)}},
		resource.TestStep{
			Config: config("name = \"SMB_1\"\n  vlan = { access_vlan_id = 21 }", two),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(first, plancheck.ResourceActionUpdate), plancheck.ExpectResourceAction(second, plancheck.ResourceActionNoop),
			}},
		},
		resource.TestStep{ResourceName: first, ImportState: true, ImportStateVerify: true},
		resource.TestStep{ResourceName: second, ImportState: true, ImportStateVerify: true},
		resource.TestStep{
			PreConfig: func() {
				l.cmdlet("hv1", "host", "Disable-NetAdapterRdma", object{"Name": "vEthernet (SMB_2)"})
			},
			Config: config("name = \"SMB_1\"\n  vlan = { access_vlan_id = 21 }", two),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(first, plancheck.ResourceActionNoop), plancheck.ExpectResourceAction(second, plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(switchType+".set", plancheck.ResourceActionNoop),
			}},
		},
	)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// The configuration follows a switch that was renamed: the adapter stays. Another switch is another adapter.
func TestManagementVnicFollowsItsSwitch(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722", onTeam)
	before := l.state()
	v := l.harness("hv1").resource(vnicType)
	mustApply(t, v, object{"switch_name": "SET", "name": "SMB_1"})
	id := v.state["adapter_id"]
	l.cmdlet("hv1", "host", "Rename-VMSwitch", object{"Name": "SET", "NewName": "Team 'x'"})
	follows := object{"switch_name": "team 'X'", "name": "SMB_1"}
	if d := v.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	for name, other := range map[string]bool{"team 'X'": false, "SET": false, "Other": true, unknown: true} {
		if p := v.plan(object{"switch_name": name, "name": "SMB_1"}); len(p.replace) > 0 != other {
			t.Errorf("switch_name %q: replaced because of %v", name, p.replace)
		}
	}
	l.unchanged(func() { mustApply(t, v, follows) })
	if v.state["adapter_id"] != id {
		t.Error("another adapter was made")
	}
	v.settled(follows)
	mustApply(t, v, nil)
	l.cmdlet("hv1", "host", "Rename-VMSwitch", object{"Name": "Team 'x'", "NewName": "SET"})
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
