package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// resources lists every resource, in the order of the procedures.
func resources() []func() resource.Resource {
	return []func() resource.Resource{
		newNicRdmaSettingsResource,
		newIovSwitchResource,
		newVMNetworkAdapterResource,
		newVMNetworkAdapterRdmaResource,
		newGuestRdmaEnablementResource,
		newNetworkDirectRoutingResource,
		newIwarpFirewallRuleResource,
	}
}

// dataSources lists every data source.
func dataSources() []func() datasource.DataSource {
	return []func() datasource.DataSource{newRdmaHostDataSource}
}
