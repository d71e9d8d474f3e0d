package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// resources lists every resource, in the order of the procedures.
func resources() []func() resource.Resource {
	return []func() resource.Resource{
		newNicRdmaSettingsResource,
		newDriverPackageResource,
		newDcbResource,
		newIovSwitchResource,
		newNetAdapterRestartResource,
		newVMNetworkAdapterResource,
		newVMNetworkAdapterRdmaResource,
		newGuestRdmaEnablementResource,
		newNetworkDirectRoutingResource,
		newIwarpFirewallRuleResource,
		newManagementVnicRdmaResource,
	}
}

// dataSources lists every data source.
func dataSources() []func() datasource.DataSource {
	return []func() datasource.DataSource{newRdmaHostDataSource}
}

// actions lists every action. Terraform has them from 1.14 on; older versions, and OpenTofu, never ask for them.
func actions() []func() action.Action {
	return []func() action.Action{newRestartNetAdapterAction, newRestartVMAction, newReenableGuestRdmaAction}
}
