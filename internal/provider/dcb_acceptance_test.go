package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
)

// TestAccDcb is procedure step A14's DCB with a real Terraform on both engines: from a host without the feature to RoCE's
// settings, and back. Names are text, whatever they look like.
func TestAccDcb(t *testing.T) {
	for _, engine := range []string{simulator.EngineNative, simulator.EnginePowerShell} {
		t.Run(engine, func(t *testing.T) { accDcb(t, startLabOn(t, engine, "mellanox-cx3pro", dcbOff)) })
	}
}

func accDcb(t *testing.T, l *testLab) {
	before := l.state()
	const odd = `'; $(exit) "[1]*" é`
	config := func(policies, lossless, classes, adapters string) string {
		return l.hcl("hv1") + fmt.Sprintf(`
resource "hyperv_dcb" "x" {
  install_feature = true
  policies = {
    %s
  }
  flow_control_priorities = [%s]
  traffic_classes = {
    %s
  }
  dcbx_willing      = false
  net_adapter_names = [%s]
}
`, policies, lossless, classes, adapters)
	}
	name := hclValue(t, odd)
	first := config(name+` = { net_direct_port = 445, priority = 3 }`, "3", name+` = { priorities = [3], bandwidth_percentage = 50 }`, `"MyRDMANIC"`)
	second := config(name+` = { net_direct_port = 445, priority = 4 }, "1" = { template = "Cluster", priority = 7 }`, "4",
		name+` = { priorities = [4], bandwidth_percentage = 40 }, "[Def]*" = { priorities = [7], bandwidth_percentage = 2 }`, `"MyRDMANIC", "MyRDMANIC 2"`)
	in, actual := dcbType+".x", func(of string) tfjsonpath.Path { return tfjsonpath.New("actual").AtMapKey(of) }
	acceptance(t,
		resource.TestStep{
			Config:      config(name+` = { net_direct_port = 445, priority = 3 }`, "3, 4, 5, 6", name+` = { priorities = [3], bandwidth_percentage = 50 }`, `"MyRDMANIC"`),
			ExpectError: regexp.MustCompile(`facts\.md\s+87`),
		},
		resource.TestStep{
			Config: first,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(in, actual("feature"), knownvalue.StringExact("Installed")),
				statecheck.ExpectKnownValue(in, actual("default_bandwidth_percentage"), knownvalue.Int64Exact(50)),
				statecheck.ExpectKnownValue(in, actual("other_policies"), knownvalue.ListSizeExact(0)),
				statecheck.ExpectKnownValue(in, tfjsonpath.New("planned_restarts"), knownvalue.ListSizeExact(1)),
			},
		},
		resource.TestStep{
			Config: second,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(in, plancheck.ResourceActionUpdate),
				plancheck.ExpectKnownValue(in, tfjsonpath.New("planned_restarts").AtSliceIndex(0).AtMapKey("target"), knownvalue.StringExact("MyRDMANIC 2")),
			}},
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(in, actual("default_bandwidth_percentage"), knownvalue.Int64Exact(58))},
		},
		resource.TestStep{ResourceName: in, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"install_feature", "planned_restarts", "restart_trigger"}},
		resource.TestStep{
			PreConfig: func() {
				l.cmdlet("hv1", "host", "Disable-NetQosFlowControl", object{"Priority": 4})
				l.cmdlet("hv1", "host", "Set-NetQosPolicy", object{"Name": "1", "PriorityValue8021Action": 6})
			},
			Config: second,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(in, plancheck.ResourceActionUpdate),
				plancheck.ExpectKnownValue(in, tfjsonpath.New("planned_restarts"), knownvalue.ListSizeExact(0)),
			}},
		},
	)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
	if got := restarts(l.journal())["host_restart"]; got != 0 {
		t.Errorf("%d restarts of the host", got)
	}
}
