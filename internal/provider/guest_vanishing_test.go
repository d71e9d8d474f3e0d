package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// TestGuestChangesUnderDestroy: while a destroy puts a guest back, its virtual function goes away, or the VM does. What is
// still there is put back.
func TestGuestChangesUnderDestroy(t *testing.T) {
	moments := map[string]door.Rule{
		"before its RDMA is looked up":    {Cmdlet: "Get-NetAdapterRdma", Request: 2},
		"before RDMA is turned off":       {Cmdlet: "Disable-NetAdapterRdma"},
		"before its keyword is looked up": {Cmdlet: "Get-NetAdapterAdvancedProperty", Request: 2},
		"before its keyword is set":       {Cmdlet: "Set-NetAdapterAdvancedProperty"},
	}
	adapterR := object{"VMName": "vm1", "Name": "R"}
	for name, tt := range map[string]struct {
		somebody func(*testLab)
		says     []string // the destroy fails; nil: it succeeds
		forget   bool
		back     func(*testLab) // before the destroy is tried again
		left     bool           // the guest's Hyper-V adapter is there to look at
	}{
		"IovWeight 0": {somebody: func(l *testLab) {
			l.cmdlet("hv1", "host", "Set-VMNetworkAdapter", plus(adapterR, object{"IovWeight": 0}))
		}, left: true},
		"the adapter is removed":      {somebody: func(l *testLab) { l.cmdlet("hv1", "host", "Remove-VMNetworkAdapter", adapterR) }},
		"the VM is off":               {somebody: turnOff, says: []string{"The VM is off", `on_unreachable = "forget"`}, back: start, left: true},
		"the VM is off, to be forgot": {somebody: turnOff, forget: true},
	} {
		for moment, rule := range moments {
			t.Run(name+"/"+moment, func(t *testing.T) {
				t.Parallel()
				l, h := guestLab(t)
				i := h.resource(guestType)
				config := guestConfig(nil)
				if tt.forget {
					config["on_unreachable"] = "forget"
				}
				mustApply(t, i, config)
				rule.Effect, rule.DelayMS = door.Delay, 500
				l.fault(rule)
				done := make(chan struct{})
				go func() {
					defer close(done)
					time.Sleep(250 * time.Millisecond)
					tt.somebody(l)
				}()
				d := i.applyPlan(i.plan(nil))
				<-done
				if n := len(l.server.Faults()); n > 0 {
					t.Fatal("the destroy was not held up")
				}
				if tt.says == nil && (len(d.errors()) > 0 || i.state != nil) {
					t.Fatalf("state %v: %s", i.state, d)
				}
				if tt.says != nil {
					says(t, d.errors().String(), tt.says...)
					if i.state == nil {
						t.Fatal("a destroy that failed lost the state")
					}
					tt.back(l)
					mustApply(t, i, nil)
				}
				if tt.left {
					seen := h.resource(guestType)
					if d := seen.importID("hv1/vm1/R").errors(); len(d) > 0 {
						t.Fatal(d)
					}
					if got := fmt.Sprint(actual(seen, "net_adapter_rdma_enabled")); got != "false" {
						t.Errorf("RDMA of the guest's Hyper-V adapter: %s, want it off as it was", got)
					}
				}
				if l.ledgerSays("guest rdma") {
					t.Errorf("the ledger still knows of the guest")
				}
			})
		}
	}
}

func turnOff(l *testLab) { l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "TurnOff": true}) }

func start(l *testLab) {
	l.cmdlet("hv1", "host", "Start-VM", object{"Name": "vm1"})
	time.Sleep(300 * time.Millisecond)
}

// ledgerSays says whether a text is in the ledger of any host.
func (l *testLab) ledgerSays(text string) bool {
	_, ledger, _ := strings.Cut(l.state(), "TerraformProviderHyperV")
	return strings.Contains(ledger, `\"object\":\"`+text)
}
