package provider_test

import (
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// A confirmation that comes when the host has taken the change back already confirms nothing: there is no switch, and
// nobody says that there were one.
func TestLateConfirmation(t *testing.T) {
	l := startLab(t, "intel-x722", throughRdmaPort)
	h := l.hastyHarness()
	s := h.resource(switchType)
	// The first to remove the record of what takes the change back is the provider.
	l.fault(door.Rule{Cmdlet: "Remove-ItemProperty", Object: ".undo", Effect: door.Delay, DelayMS: int((2*rollback() + time.Second).Milliseconds())})
	mustFail(t, s, pathSwitch(nil), "taken the change back by itself")
	if left := l.server.Faults(); len(left) > 0 {
		t.Errorf("it was not late: %v", left)
	}
	if name, ip := l.ownIP(); name != "iWARP 1" || len(ip.DNS) != 2 {
		t.Errorf("the host's own configuration: %s %+v", name, ip)
	}
	l.noJob()
	mustApply(t, s, pathSwitch(nil))
	s.settled(pathSwitch(nil))
}
