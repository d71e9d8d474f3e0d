package provider_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
)

// acceptance runs steps with a real Terraform, in parallel with other tests (see TestMain for the CLI;
// without one it skips). The provider runs in this process.
func acceptance(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: factories(t), Steps: steps})
}

// factories serves the provider to Terraform. Terraform starts it once for each command; as a process
// would, each leaves no shell behind on a host when the next one starts.
func factories(t testing.TB) map[string]func() (tfprotov6.ProviderServer, error) {
	var mu sync.Mutex
	var last *provider.Server
	stop := func() {
		mu.Lock()
		defer mu.Unlock()
		if last == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		last.Close(ctx)
		last = nil
	}
	t.Cleanup(stop)
	return map[string]func() (tfprotov6.ProviderServer, error){"hyperv": func() (tfprotov6.ProviderServer, error) {
		stop()
		s := provider.NewServer("test", quick)
		mu.Lock()
		last = s
		mu.Unlock()
		return providerserver.NewProtocol6WithError(s.Provider())()
	}}
}
