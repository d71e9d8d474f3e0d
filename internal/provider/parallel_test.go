package provider_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// TestParallelNTLM: forty operations at once over NTLM, which authenticates connections and not requests: none is
// refused, each change is made once, and every connection proves itself once.
func TestParallelNTLM(t *testing.T) {
	t.Parallel()
	const many = 40
	for _, https := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTPS %v", https), func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", listeners(lab.ScenarioListener{CbtHardening: "Strict"}))
			config := with(with(l.config("hv1"), "auth", "ntlm"), "max_sessions", 10)
			if !https {
				config = l.http(config)
			}
			h := newHarness(t, config)
			var all [many]*instance
			for i := range all {
				all[i] = h.resource(adapterType)
			}
			together := func(what string, f func(i int) diagnostics) {
				t.Helper()
				var group sync.WaitGroup
				begin := make(chan struct{})
				for i := range many {
					group.Go(func() {
						<-begin
						if d := f(i).errors(); len(d) > 0 {
							t.Errorf("%s %d: %s", what, i, d)
						}
					})
				}
				close(begin)
				group.Wait()
			}
			adapter := func(i int) object { return object{"host": "hv1", "vm_name": "vm2", "name": fmt.Sprintf("A %d", i)} }
			together("create", func(i int) diagnostics { return all[i].apply(adapter(i)) })
			together("refresh", func(i int) diagnostics { return all[i].refresh() })
			together("delete", func(i int) diagnostics { return all[i].apply(nil) }) // reads while others go away
			h.close()
			for cmdlet, n := range map[string]int{"Add-VMNetworkAdapter": many, "Remove-VMNetworkAdapter": many} {
				if got := l.calls(cmdlet); got != n {
					t.Errorf("%s was called %d times instead of %d", cmdlet, got, n)
				}
			}
			m := l.metrics()
			if m.Unauthorized != 0 || m.Challenges == 0 || m.Challenges != m.Connections || m.Shells != 0 || m.ShellsCreated < 2 {
				t.Errorf("%+v", m.Metrics)
			}
		})
	}
}
