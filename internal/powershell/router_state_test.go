package powershell

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// answers is an Executor whose host reads machines with a state.
type answers struct{ output string }

func (a answers) Do(_ context.Context, calls ...Call) ([]wire.Result, error) {
	results := make([]wire.Result, len(calls))
	for i := range calls {
		if a.output != "" {
			results[i].Output = []json.RawMessage{json.RawMessage(a.output)}
		}
	}
	return results, nil
}

// A guest whose machine does not run is not tried: what the batch read of it before is enough to know.
func TestRouterAsksTheHostForTheState(t *testing.T) {
	state := wire.FirstProperty("vms", "State")
	elsewhere := wire.FirstProperty("others", "State")
	for name, tt := range map[string]struct {
		host  string // what the host says of the machine
		state *wire.Ref
		want  []string // what came to the guest
		id    string
	}{
		"running":                         {`{"Id":"x","State":"Running"}`, &state, []string{"guest: Get-A Set-B"}, ""},
		"off":                             {`{"Id":"x","State":"Off"}`, &state, nil, wire.ErrorGuestNotRunning},
		"saved":                           {`{"Id":"x","State":"Saved"}`, &state, nil, wire.ErrorGuestNotRunning},
		"its state was not asked for":     {`{"Id":"x"}`, &state, []string{"guest: Get-A Set-B"}, ""},
		"the batch does not say where":    {`{"Id":"x","State":"Off"}`, nil, []string{"guest: Get-A Set-B"}, ""},
		"the batch does not read it":      {`{"Id":"x","State":"Off"}`, &elsewhere, []string{"guest: Get-A Set-B"}, ""},
		"the host found no such machine":  {``, &state, []string{"guest: Get-A Set-B"}, ""},
		"the host answers with no object": {`"Off"`, &state, []string{"guest: Get-A Set-B"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			router := NewRouter(answers{tt.host}, routes{&script{name: "guest", log: &log}})
			guest := &wire.Guest{Name: "own", VMID: runningVM, State: tt.state}
			in := func(c Call) Call { c.Guest = guest; return c }
			tolerated := in(call("Get-A", nil))
			tolerated.OnError = wire.OnErrorContinue
			results, err := router.Do(t.Context(), saved(read("Get-VM"), "vms"), tolerated, in(call("Set-B", nil)), call("Set-C", nil))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(log, tt.want) {
				t.Errorf("the guest got %q, want %q", log, tt.want)
			}
			want := 4
			if tt.id != "" {
				want = 3 // the batch stops where a call fails that nothing tolerates
			}
			if len(results) != want {
				t.Fatalf("%d results, want %d", len(results), want)
			}
			for _, r := range results[1:3] {
				if tt.id != "" && (len(r.Errors) != 1 || r.Errors[0].ID != tt.id || !r.Errors[0].Session) || tt.id == "" && len(r.Errors) > 0 {
					t.Errorf("errors %+v", r.Errors)
				}
			}
		})
	}
}
