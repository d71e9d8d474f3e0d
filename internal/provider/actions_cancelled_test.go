package provider_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// TestActionCancelledHalfWay: whoever cancels an action between off and on gets an answer soon, and nothing stays off.
func TestActionCancelledHalfWay(t *testing.T) {
	enabled := func(l *testLab, h *harness) {
		mustApply(l.t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
		mustApply(l.t, h.resource(rdmaType), weightsOfR(nil))
		mustApply(l.t, h.resource(guestType), guestConfig(nil))
	}
	for name, tt := range map[string]struct {
		typ     string
		config  object
		change  func(*lab.Scenario)
		before  func(*testLab, *harness)
		off, on string // the cmdlets
		target  string // where they run
	}{
		"net adapters": {typ: restartNetAdapter, config: object{"net_adapter_names": list{"iWARP 1"}},
			off: "Disable-NetAdapter", on: "Enable-NetAdapter", target: "host"},
		"net adapters through which the host is reached": {typ: restartNetAdapter, config: object{"net_adapter_names": list{"iWARP 1"}}, change: throughTheSwitch,
			off: "Disable-NetAdapter", on: "Enable-NetAdapter", target: "host"},
		"RDMA of a guest": {typ: reenableGuestRdma, config: guestConfig(nil), before: enabled,
			off: "Disable-NetAdapterRdma", on: "Enable-NetAdapterRdma", target: "guest"},
	} {
		for moment, cmdlet := range map[string]string{"at " + tt.off: tt.off, "at " + tt.on: tt.on} {
			t.Run(name+"/"+moment, func(t *testing.T) {
				t.Parallel()
				l := startLab(t, "intel-x722", onIovSwitch, nonNilChange(tt.change))
				h := l.impatientHarness(l.config("hv1"), func(o *provider.Options) { o.RollbackAfter = 4 * time.Second })
				if tt.before != nil {
					tt.before(l, h)
				}
				before := settledState(l)
				seq := l.seq()
				l.fault(door.Rule{Cmdlet: cmdlet, Effect: door.Delay, DelayMS: 1500})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { // somebody presses Ctrl-C while the call is held up
					for len(l.server.Faults()) > 0 && ctx.Err() == nil {
						time.Sleep(10 * time.Millisecond)
					}
					time.Sleep(100 * time.Millisecond)
					cancel()
				}()
				begun := time.Now()
				_, d := h.invoke(ctx, tt.typ, tt.config)
				if took := time.Since(begun); took > 15*time.Second {
					t.Errorf("the answer came after %s", took)
				}
				if len(d.errors()) == 0 {
					t.Log("it had come to its end before it was cancelled")
				}
				got := eventually("true", func() string {
					off, on := 0, 0
					for _, e := range l.since(seq) {
						if strings.HasPrefix(e.Target, tt.target) && e.Error == "" {
							switch e.Cmdlet {
							case tt.off:
								off++
							case tt.on:
								on++
							}
						}
					}
					if off > 0 && on > 0 || off == 0 {
						return "true"
					}
					return "false"
				})
				if got != "true" {
					t.Error("it was turned off, and never on again")
				}
				if tt.change != nil { // whoever cancels a job leaves it to the host to end it
					becomesTrue(t, "nothing of the job is left", func() bool { return !strings.Contains(l.state(), `"job.`) })
					l.noJob()
				}
				if after := eventually(before, func() string { return settledState(l) }); after != before {
					diff := textDiff(before, after)
					t.Errorf("the lab is not as it was:\n%s", diff[:min(len(diff), 2000)])
				}
			})
		}
	}
}
