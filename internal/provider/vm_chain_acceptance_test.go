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
)

// TestAccVMChain is a VM's adapter from nothing to RDMA in the guest and back, with a real Terraform.
func TestAccVMChain(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	config := func(adapter, rdma, guest string) string {
		return l.hcl("hv1") + fmt.Sprintf(`
resource "hyperv_nic_rdma_settings" "x" {
  net_adapter_names = ["iWARP 1"]
  rdma_max_vfs      = 8
}
resource "hyperv_iov_switch" "x" {
  name                = "S'$${x}' [1]"
  net_adapter_names   = hyperv_nic_rdma_settings.x.net_adapter_names
  allow_management_os = false
}
resource "hyperv_vm_network_adapter" "x" {
  vm_name     = "vm1"
  name        = "RDMA ü"
  switch_name = hyperv_iov_switch.x.name
  %s
}
resource "hyperv_vm_network_adapter_rdma" "x" {
  vm_name               = hyperv_vm_network_adapter.x.vm_name
  vm_network_adapter_id = hyperv_vm_network_adapter.x.adapter_id
  iov_weight            = 100
  %s
}
resource "hyperv_guest_rdma_enablement" "x" {
  vm_name               = "vm1"
  vm_network_adapter_id = hyperv_vm_network_adapter_rdma.x.adapter_id
  %s
}
`, adapter, rdma, guest)
	}
	const moves = "actual.vf_data_path_active" // follows a moment after the virtual function
	in := func(typ string) string { return typ + ".x" }
	capable := statecheck.ExpectKnownValue(in(guestType), tfjsonpath.New("actual").AtMapKey("stage"), knownvalue.StringExact("smb_rdma_capable"))
	acceptance(t,
		resource.TestStep{
			Config:            config(`vlan = { access_vlan_id = 11 }`, `rdma_weight = 100`, ``),
			ConfigStateChecks: []statecheck.StateCheck{capable},
		},
		resource.TestStep{ // the VF's resources change in place, and so does what stands on them
			Config: config(`vlan = { access_vlan_id = 12 }`, "rdma_weight = 50\n  iov_queue_pairs_requested = 2", `triggers = { again = "1" }`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(in(adapterType), plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(in(rdmaType), plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(in(guestType), plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(in(switchType), plancheck.ResourceActionNoop),
			}},
			ConfigStateChecks: []statecheck.StateCheck{capable},
		},
		resource.TestStep{ResourceName: in(adapterType), ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{moves}},
		resource.TestStep{ResourceName: in(rdmaType), ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"vm_network_adapter_id", "vm_network_adapter_name", "planned_restarts", moves}},
		resource.TestStep{ResourceName: in(guestType), ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"vm_network_adapter_id", "vm_network_adapter_name", "planned_restarts", "triggers"}},
		resource.TestStep{
			PreConfig: func() {
				l.cmdlet("hv1", "host", "Set-VMNetworkAdapter", object{"VMName": "vm1", "Name": "RDMA ü", "IovWeight": 0})
			},
			Config: config(`vlan = { access_vlan_id = 12 }`, "rdma_weight = 50\n  iov_queue_pairs_requested = 2", `triggers = { again = "1" }`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{ // exactly that drift
				plancheck.ExpectResourceAction(in(adapterType), plancheck.ResourceActionNoop),
				plancheck.ExpectResourceAction(in(rdmaType), plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(in(guestType), plancheck.ResourceActionNoop),
			}},
		},
		resource.TestStep{
			Config:      config(`minimum_bandwidth_weight = 5`, ``, ``),
			ExpectError: regexp.MustCompile(`facts\.md\s+52`),
		},
	)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
