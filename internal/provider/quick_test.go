package provider_test

import (
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
)

// quick waits for what the simulator does in milliseconds, not for what Windows does in seconds.
func quick(o *provider.Options) {
	o.Poll, o.VFWait, o.Settle = 50*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
	o.RestartWait = 5 * time.Second
	o.InventoryAge = time.Nanosecond // tests change the lab behind the provider's back
}
