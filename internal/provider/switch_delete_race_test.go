package provider_test

import (
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// Two destroys of one switch at once: the second still sees it, waits for its devices, and then finds it gone. Whichever
// of the two comes to the restart that the removal needs, it is paid once; where it fails for one, the other pays.
func TestSwitchGoneWhileItsRemovalWaited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ failing int }{
		"both come through":                {0},
		"the restart of one of them fails": {1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722")
			before := l.state()
			h := l.harness("hv1")
			first := h.resource(switchType)
			mustApply(t, first, object{"name": "S", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false})
			second := *first
			seq := l.seq()
			l.fault(door.Rule{Host: "hv1", Cmdlet: "Remove-VMSwitch", Effect: door.Delay, DelayMS: 700})
			if tt.failing > 0 {
				l.failBounce(tt.failing)
			}
			var wg sync.WaitGroup
			failed := make([]diagnostics, 2)
			for n, i := range []*instance{first, &second} {
				wg.Add(1)
				go func() {
					defer wg.Done()
					failed[n] = i.applyPlan(i.plan(nil)).errors()
				}()
				time.Sleep(250 * time.Millisecond) // the first is at its removal, and has not removed anything yet
			}
			wg.Wait()
			if n := len(failed[0]) + len(failed[1]); n != tt.failing {
				t.Errorf("%d of two failed, want %d: %s %s", n, tt.failing, failed[0], failed[1])
			}
			if n := restarts(l.since(seq))["net_adapter_restart"]; tt.failing == 0 && n != 2 {
				t.Errorf("%d ports restarted, want both ports of the device once", n)
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}
