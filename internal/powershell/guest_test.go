package powershell

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

const (
	guestPassword = `p"a's$(1)s`
	runningVM     = "00000000-0000-0000-0000-000000000001"
	stoppedVM     = "00000000-0000-0000-0000-000000000002"
	nonsenseVM    = "00000000-0000-0000-0000-000000000003"
	noJSONVM      = "00000000-0000-0000-0000-000000000004"
)

func in(vm any, c Call) Call {
	c.Guest = &wire.Guest{VMID: vm, Credential: wire.Credential{User: "u", Password: guestPassword}}
	return c
}

func onErrorContinue(c Call) Call {
	c.OnError = wire.OnErrorContinue
	return c
}

func TestGuests(t *testing.T) {
	t.Parallel()
	r := startRunner(t, "guests.ps1")
	opened := func() string {
		t.Helper()
		return output(run(t, r, call("Get-Opened", nil))[0])
	}
	checkSession := func(t *testing.T, result wire.Result, started bool) {
		t.Helper()
		for _, e := range result.Errors {
			if !e.Session || e.Started != started {
				t.Errorf("Session %v, Started %v: %+v", e.Session, e.Started, e)
			}
		}
	}

	t.Run("results stand where their calls do", func(t *testing.T) {
		results := run(t, r,
			call("Get-Value", params{"Value": "h1"}),
			in(runningVM, call("Get-Value", params{"Value": hostile})),
			in(runningVM, call("Get-Row", nil)),
			call("Get-Value", params{"Value": "h2"}),
			in(runningVM, call("Get-BoundTo", params{"Credential": wire.Credential{User: "x", Password: `'"$(1)`}, "Id": wire.GUID(runningVM)})),
		)
		if len(results) != 5 {
			t.Fatalf("%d results: %+v", len(results), results)
		}
		if !strings.Contains(output(results[0]), `"h1"`) || !strings.Contains(output(results[3]), `"h2"`) {
			t.Errorf("%s\n%s", output(results[0]), output(results[3]))
		}
		want := asJSON(t, params{"Value": hostile, "Type": "System.Object[]", "Other": nil})
		if got := output(results[1]); !sameJSON(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if len(results[2].Output) != 3 {
			t.Errorf("%+v", results[2])
		}
		if got := output(results[4]); !sameJSON(got, `{"Texts":null,"Number":0,"Mode":null,"Id":"`+runningVM+`","Flag":false,"Keys":[],"User":"x","Password":"'\"$(1)"}`) {
			t.Error(got)
		}
		if got := opened(); got != "1" {
			t.Errorf("%s sessions", got)
		}
	})
	t.Run("names are the guest's own", func(t *testing.T) {
		saved := call("Get-Row", nil).with(func(w *wire.Call) { w.Save = "rows" })
		useSaved := call("Get-Value", params{"Value": wire.FirstProperty("rows", "Name")})
		results := run(t, r,
			in(runningVM, saved),
			onErrorContinue(useSaved),
			in(runningVM, useSaved), // the host's call in between does not matter
			in(runningVM, call("Get-Piped", nil).with(func(w *wire.Call) { w.Input = "rows" })),
		)
		checkErrors(t, results[1], wire.ErrorReferenceEmpty)
		if got := output(results[2]); !strings.Contains(got, "vSwitch [1]*") {
			t.Error(got)
		}
		if len(results[3].Output) != 3 {
			t.Errorf("%+v", results[3])
		}
		groups, err := r.doGroups(t.Context(), [][]Call{{in(runningVM, saved)}, {in(runningVM, useSaved)}})
		if err != nil {
			t.Fatal(err)
		}
		checkErrors(t, groups[1][0], wire.ErrorReferenceEmpty)
	})
	t.Run("errors inside", func(t *testing.T) {
		bad := call("Write-Trouble", params{"Kind": "two"})
		results := run(t, r, in(runningVM, onErrorContinue(bad)), in(runningVM, bad), in(runningVM, bad), call("Get-Row", nil))
		if len(results) != 2 {
			t.Fatalf("%d results", len(results))
		}
		checkErrors(t, results[1], "FirstId", "SecondId")
		if results[1].Errors[0].Session {
			t.Error("an error of the call counts as one of the session")
		}
	})
	t.Run("the machine from a reference", func(t *testing.T) {
		vm := call("Get-Value", params{"Value": wire.GUID(runningVM)}).with(func(w *wire.Call) { w.Save = "vm" })
		results := run(t, r, vm, in(wire.FirstProperty("vm", "Value"), call("Get-Row", nil)))
		if len(results) != 2 || len(results[1].Output) != 3 {
			t.Errorf("%+v", results)
		}
		results = run(t, r, in(wire.FirstProperty("vm", "Value"), call("Get-Row", nil)))
		checkErrors(t, results[0], wire.ErrorReferenceEmpty)
	})
	t.Run("no machine", func(t *testing.T) {
		result := run(t, r, in("no guid", call("Get-Row", nil)))[0]
		if len(result.Errors) != 1 {
			t.Fatalf("%+v", result)
		}
	})
	for _, c := range []struct {
		name, vm, password, id string
	}{
		{"stopped", stoppedVM, guestPassword, "InvalidVMState"},
		{"wrong password", runningVM, "wrong", "PSSessionOpenFailed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			guest := call("Get-Row", nil)
			guest.Guest = &wire.Guest{VMID: c.vm, Credential: wire.Credential{User: "u", Password: c.password}}
			results := run(t, r, onErrorContinue(guest), guest, call("Get-Row", nil))
			if len(results) != 2 {
				t.Fatalf("%d results", len(results))
			}
			for _, result := range results {
				checkErrors(t, result, c.id)
				checkSession(t, result, false)
			}
			if text := asJSON(t, results); strings.Contains(text, c.password) {
				t.Error("the password is in the answer")
			}
		})
	}
	t.Run("a session that broke before is opened again", func(t *testing.T) {
		before := opened()
		run(t, r, in(runningVM, call("Stop-Session", nil)))
		results := run(t, r, in(runningVM, call("Get-Row", nil)))
		if len(results[0].Output) != 3 || len(results[0].Errors) != 0 {
			t.Errorf("%+v", results[0])
		}
		if got := opened(); got != "2" || before != "1" {
			t.Errorf("%s sessions before, %s after", before, got)
		}
	})
	t.Run("a session that breaks meanwhile is not used again", func(t *testing.T) {
		results := run(t, r, onErrorContinue(in(runningVM, call("Stop-Session", params{"Now": true}))), in(runningVM, call("Get-Row", nil)))
		if len(results) != 2 {
			t.Fatalf("%+v", results)
		}
		for _, result := range results {
			checkErrors(t, result, "JobFailure")
			checkSession(t, result, true)
		}
		if got := opened(); got != "2" {
			t.Errorf("%s sessions", got)
		}
		if results := run(t, r, in(runningVM, call("Get-Row", nil))); len(results[0].Output) != 3 {
			t.Errorf("%+v", results[0])
		}
	})
	for name, vm := range map[string]string{"no single text": nonsenseVM, "no JSON": noJSONVM} {
		t.Run("an answer that is "+name, func(t *testing.T) {
			results := run(t, r, onErrorContinue(in(vm, call("Get-Row", nil))), onErrorContinue(in(vm, call("Get-Row", nil))), call("Get-Value", params{"Value": "h"}))
			if len(results) != 3 {
				t.Fatalf("%+v", results)
			}
			checkErrors(t, results[0], wire.ErrorGuestAnswer)
			checkErrors(t, results[1], wire.ErrorGuestAnswer)
			if !strings.Contains(output(results[2]), `"h"`) {
				t.Errorf("%+v", results[2])
			}
		})
	}
}
