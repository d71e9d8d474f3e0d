package provider_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	tfstate "github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// wrapped matches a text as Terraform prints it, broken into lines anywhere.
func wrapped(texts ...string) *regexp.Regexp {
	for i, text := range texts {
		texts[i] = strings.Join(strings.Fields(regexp.QuoteMeta(text)), `[\s│]+`)
	}
	return regexp.MustCompile(`(?s)` + strings.Join(texts, ".*"))
}

// refused runs a cmdlet on a host out of band, and gives the id of the error that it must end with.
func (l *testLab) refused(host, name string, parameters object) string {
	l.t.Helper()
	body, err := json.Marshal(object{"host": host, "target": "host", "cmdlet": name, "parameters": parameters})
	must(l.t, err)
	resp, err := http.Post(l.ready.Control+"/cmdlet", "application/json", bytes.NewReader(body))
	must(l.t, err)
	defer resp.Body.Close()
	var answer struct {
		Errors []struct {
			ID string `json:"id"`
		} `json:"errors"`
	}
	must(l.t, json.NewDecoder(resp.Body).Decode(&answer))
	if len(answer.Errors) == 0 {
		l.t.Fatalf("%s %v was not refused", name, parameters)
	}
	return answer.Errors[0].ID
}

// actualIs checks a value of the attribute actual.
func actualIs(address, name string, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New("actual").AtMapKey(name), want)
}

// Case 1: a switch with SR-IOV can be made, reads back as one, and plans nothing the second time; one without
// cannot be turned into one.
func TestCase01IovSwitch(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	const address = switchType + ".x"
	config := func(name, port string) string {
		return l.hcl("hv1") + fmt.Sprintf(`
resource "hyperv_iov_switch" "x" {
  name                = %q
  net_adapter_names   = [%q]
  allow_management_os = false
}
`, name, port)
	}
	acceptance(t,
		resource.TestStep{ // the ordinary switch that is there keeps its name, and cannot get SR-IOV
			Config:      config("LAN", "iWARP 1"),
			ExpectError: wrapped("Attribute: name = LAN", "exists already", "SR-IOV cannot be turned on later (facts.md 8)"),
		},
		resource.TestStep{
			Config: config("iov", "iWARP 1"),
			ConfigStateChecks: []statecheck.StateCheck{
				actualIs(address, "iov_enabled", knownvalue.Bool(true)), actualIs(address, "iov_support", knownvalue.Bool(true)),
				actualIs(address, "bandwidth_reservation_mode", knownvalue.StringExact("None")),
			},
		},
		resource.TestStep{
			ResourceName: address, ImportState: true, ImportStateId: "hv1/LAN",
			ExpectError: wrapped("IovEnabled false", "SR-IOV cannot be turned on later (facts.md 8)"),
		},
		resource.TestStep{
			Config:           config("iov", "iWARP 1"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		},
	)
	made := 0
	for _, e := range l.journal() {
		if e.Cmdlet == "New-VMSwitch" {
			made++
			if e.Parameters["EnableIov"] != true {
				t.Errorf("New-VMSwitch %v", e.Parameters)
			}
		}
	}
	if made != 1 {
		t.Errorf("%d switches were made, want 1", made)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// Case 18: SR-IOV and a bandwidth mode do not go together; asked for both, Windows keeps SR-IOV off and says nothing.
func TestCase18BandwidthMode(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro")
	before := l.state()
	const address = switchType + ".x"
	config := func(mode string) string {
		return l.hcl("hv1") + fmt.Sprintf(`
resource "hyperv_iov_switch" "x" {
  name                   = "iov"
  net_adapter_names      = ["MyRDMANIC"]
  allow_management_os    = false
  minimum_bandwidth_mode = %q
}
`, mode)
	}
	var steps []resource.TestStep
	for _, mode := range []string{"Weight", "Absolute"} {
		steps = append(steps, resource.TestStep{
			Config: config(mode), PlanOnly: true,
			ExpectError: wrapped("minimum_bandwidth_mode", mode, "facts.md 10"),
		})
	}
	steps = append(steps,
		resource.TestStep{
			PreConfig: func() {
				if c := changes(l.journal()); len(c) > 0 {
					t.Errorf("a plan that was refused changed something:\n%s", strings.Join(c, "\n"))
				}
			},
			Config: config("None"),
			ConfigStateChecks: []statecheck.StateCheck{
				actualIs(address, "iov_enabled", knownvalue.Bool(true)), actualIs(address, "bandwidth_reservation_mode", knownvalue.StringExact("None")),
			},
		},
		resource.TestStep{ // what a migration of a classic team would do
			Config: config("Weight"), PlanOnly: true,
			ExpectError: wrapped("minimum_bandwidth_mode", "facts.md 10"),
		},
		resource.TestStep{Config: config("None"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}})
	acceptance(t, steps...)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// chain is everything from a net adapter's settings to RDMA in vm1. Each attribute's value is HCL.
func chain(guest string) string {
	return fmt.Sprintf(`
resource "hyperv_nic_rdma_settings" "x" {
  net_adapter_names = ["iWARP 1"]
  rdma_max_vfs      = 8
}
resource "hyperv_iov_switch" "x" {
  name                = "RDMA"
  net_adapter_names   = hyperv_nic_rdma_settings.x.net_adapter_names
  allow_management_os = false
}
resource "hyperv_vm_network_adapter" "x" {
  vm_name     = "vm1"
  name        = "R"
  switch_name = hyperv_iov_switch.x.name
}
resource "hyperv_vm_network_adapter_rdma" "x" {
  vm_name               = hyperv_vm_network_adapter.x.vm_name
  vm_network_adapter_id = hyperv_vm_network_adapter.x.adapter_id
  iov_weight            = 100
  rdma_weight           = 100
}
resource "hyperv_guest_rdma_enablement" "x" {
  vm_name               = "vm1"
  vm_network_adapter_id = hyperv_vm_network_adapter_rdma.x.adapter_id
  %s
}
`, guest)
}

// Case 48: after all steps SMB still says no, until things are turned off and on in the right order. Only the steps
// that are named are taken, the plan shows them, and the state says which were.
func TestCase48RecoveryLadder(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) { s.Hosts[0].VMs[0].Guest.RecoveryNeeded = 2 })
	const address = guestType + ".x"
	restart := func(kind string) knownvalue.Check {
		return knownvalue.ObjectPartial(map[string]knownvalue.Check{"kind": knownvalue.StringExact(kind), "condition": knownvalue.StringExact("if_recovery_needed")})
	}
	var seq int64
	acceptance(t,
		resource.TestStep{ // by default the first step alone, which disturbs nobody
			Config:      l.hcl("hv1") + chain(""),
			ExpectError: wrapped("Stopped before stage smb_rdma_capable", "Recovery steps taken: guest_rdma.", `left: "net_adapter", "vm_restart"`, "facts.md 66"),
		},
		resource.TestStep{
			PreConfig: func() { seq = l.seq() },
			Config:    l.hcl("hv1") + chain(`recovery = ["vm_restart", "net_adapter", "guest_rdma"]`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectKnownValue(address, tfjsonpath.New("planned_restarts"), knownvalue.ListExact([]knownvalue.Check{restart("guest_rdma"), restart("net_adapter"), restart("vm")})),
			}},
			ConfigStateChecks: []statecheck.StateCheck{
				actualIs(address, "stage", knownvalue.StringExact("smb_rdma_capable")),
				actualIs(address, "recovery_steps", knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("guest_rdma"), knownvalue.StringExact("net_adapter")})),
			},
			Check: func(*tfstate.State) error {
				if got := restarts(l.since(seq)); got["net_adapter_restart"] != 2 || got["vm_restart"] != 0 {
					return fmt.Errorf("restarts %v, want both ports once and no VM", got)
				}
				return nil
			},
		},
	)
}

// Case 50: on the way down the VF goes before its RDMA weight does, or Windows refuses: guest, IovWeight 0,
// RdmaWeight 0, adapter, switch, settings.
func TestCase50DestroyOrder(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) { s.Unknowns.RdmaWeightZeroUnderIov = "reject" })
	before := l.state()
	var seq int64
	acceptance(t,
		resource.TestStep{
			Config:            l.hcl("hv1") + chain(""),
			ConfigStateChecks: []statecheck.StateCheck{actualIs(guestType+".x", "stage", knownvalue.StringExact("smb_rdma_capable"))},
		},
		resource.TestStep{
			PreConfig: func() { // the failing state is real: Windows refuses it in the other order
				seq = l.seq()
				if id := l.refused("hv1", "Set-VMNetworkAdapterRdma", object{"VMName": "vm1", "VMNetworkAdapterName": "R", "RdmaWeight": 0}); !strings.HasPrefix(id, "InvalidParameter") {
					t.Errorf("RdmaWeight 0 under IovWeight 100: %q", id)
				}
			},
			Config: l.hcl("hv1") + chain(""), Destroy: true,
		},
	)
	var order []string
	for _, e := range l.since(seq) {
		if e.OutOfBand || e.Cmdlet == "" {
			continue
		}
		if e.Error != "" && !readsOnly(e.Cmdlet) {
			t.Errorf("%s %v: %s", e.Cmdlet, e.Parameters, e.Error)
		}
		step := e.Cmdlet
		for _, p := range []string{"IovWeight", "RdmaWeight"} {
			if v, ok := e.Parameters[p]; ok {
				step = fmt.Sprintf("%s %v", p, v)
			}
		}
		order = append(order, step)
	}
	want := []string{"Disable-NetAdapterRdma", "IovWeight 0", "RdmaWeight 0", "Remove-VMNetworkAdapter", "Remove-VMSwitch", "Set-NetAdapterAdvancedProperty"}
	for i, at := 0, -1; i < len(want); i++ {
		// the VF's keyword in the guest is an advanced property too: the device's own comes last
		next := slices.Index(order[at+1:], want[i])
		if next < 0 {
			t.Fatalf("%s does not come after %v in\n%s", want[i], want[:i], strings.Join(order, "\n"))
		}
		at += 1 + next
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
