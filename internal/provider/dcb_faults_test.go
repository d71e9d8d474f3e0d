package provider_test

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// dcbUnknown tries data center bridging in every position of a switch.
func dcbUnknown(set func(*lab.Unknowns, string), positions ...string) []unknownCase {
	var out []unknownCase
	for _, p := range positions {
		out = append(out, unknownCase{position: p, presets: roce(), set: func(u *lab.Unknowns) { set(u, p) }, instead: tryDcb})
	}
	return out
}

// tryDcb: up and down, or an error that says to restart the host, with nothing changed but the feature.
func tryDcb(t *testing.T, x unknownCase) {
	l := startLab(t, "mellanox-cx3pro", dcbOff, func(s *lab.Scenario) { x.set(&s.Unknowns) })
	before := l.state()
	s := l.harness("hv1").resource(dcbType)
	if d := s.apply(roceDcb()).errors(); len(d) > 0 {
		if x.position != "yes" || !strings.Contains(d.String(), "Restart the host") {
			t.Fatal(d)
		}
		before = strings.Replace(before, `"feature": "Available"`, `"feature": "UninstallPending"`, 1)
		l.cmdlet("hv1", "host", "Restart-Computer", object{})
		for _, vm := range []string{"vm1", "vm2"} { // saved by the restart
			l.cmdlet("hv1", "host", "Start-VM", object{"Name": vm})
		}
		mustApply(t, s, roceDcb())
	}
	s.settled(roceDcb())
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// A host that Windows wants to restart is not restarted: the apply stops, and goes on once somebody did it.
func TestDcbFeatureNeedsRestart(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro", dcbOff, func(s *lab.Scenario) { s.Unknowns.DcbFeatureRestart = "yes" })
	before := l.state()
	s := l.harness("hv1").resource(dcbType)
	for range 2 { // again, before anybody restarted the host
		d := s.apply(roceDcb()).errors()
		if !strings.Contains(d.String(), "must restart") || !strings.Contains(d.String(), "install_feature") {
			t.Fatalf("want an error that says to restart the host: %s", d)
		}
	}
	if restarts(l.journal())["host_restart"] != 0 {
		t.Fatal("the host was restarted")
	}
	l.cmdlet("hv1", "host", "Restart-Computer", object{})
	l.settledState("")
	mustApply(t, s, roceDcb())
	s.settled(roceDcb())
	d := s.apply(nil)
	if len(d.errors()) > 0 {
		t.Fatal(d)
	}
	if !strings.Contains(d.warnings().String(), "must restart") {
		t.Errorf("nothing says that the feature goes with the next restart: %s", d)
	}
	if got := restarts(l.journal())["host_restart"]; got != 1 {
		t.Errorf("%d restarts of the host, want the one by hand", got)
	}
	l.cmdlet("hv1", "host", "Restart-Computer", object{})
	for _, vm := range []string{"vm1", "vm2"} { // saved by the restart
		l.cmdlet("hv1", "host", "Start-VM", object{"Name": vm})
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// A create that fails on its way takes back what it did.
func TestDcbCreateFails(t *testing.T) {
	for _, cmdlet := range []string{"New-NetQosPolicy", "Enable-NetQosFlowControl", "Set-NetQosDcbxSetting", "Enable-NetAdapterQos", "New-NetQosTrafficClass", "Install-WindowsFeature"} {
		t.Run(cmdlet, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "mellanox-cx3pro", dcbOff)
			before := l.state()
			s := l.harness("hv1").resource(dcbType)
			l.fault(door.Rule{Cmdlet: cmdlet, Effect: door.ErrorRecordEffect, Error: &door.ErrorRecord{ID: "Windows System Error 1450," + cmdlet, Category: "NotSpecified", Message: "no"}})
			if d := s.apply(roceDcb()).errors(); len(d) == 0 {
				t.Fatal("no error")
			}
			if s.state != nil {
				t.Error("there is a state")
			}
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
			mustApply(t, s, roceDcb())
			s.settled(roceDcb())
		})
	}
}

// A session that is lost in the middle leaves no state; the next apply goes on from what is there.
func TestDcbSessionLost(t *testing.T) {
	for _, effect := range []door.Effect{door.KillProcess, door.KillShell} {
		for _, cmdlet := range []string{"Set-ItemProperty", "New-NetQosTrafficClass", "Enable-NetQosFlowControl", "Enable-NetAdapterQos", "Enable-NetAdapter"} {
			t.Run(string(effect)+" "+cmdlet, func(t *testing.T) {
				t.Parallel()
				l := startLab(t, "mellanox-cx3pro", dcbOff)
				before := l.state()
				s := l.harness("hv1").resource(dcbType)
				l.fault(door.Rule{Cmdlet: cmdlet, Effect: effect})
				s.apply(roceDcb())
				s.h = l.harness("hv1") // Terraform runs again
				mustApply(t, s, roceDcb())
				s.settled(roceDcb())
				mustApply(t, s, nil)
				if after := l.settledState(before); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			})
		}
	}
}
