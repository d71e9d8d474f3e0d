package powershell

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

func TestJobHoldsNoSecret(t *testing.T) {
	for name, call := range map[string]wire.Call{
		"a guest's credential": {Cmdlet: "Get-NetAdapter", Guest: &wire.Guest{Credential: wire.Credential{User: "u", Password: "secret"}}},
		"a parameter":          {Cmdlet: "New-PSSession", Parameters: map[string]any{"Credential": wire.Credential{User: "u", Password: "secret"}}},
	} {
		if text, err := JobBatch([]Call{{Call: call}}); err == nil {
			t.Errorf("%s: written as %s", name, text)
		}
	}
}

func TestJob(t *testing.T) {
	one, err := NewJob()
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewJob()
	if err != nil {
		t.Fatal(err)
	}
	if one.ID == other.ID || len(one.ID) != 32 {
		t.Errorf("ids %q and %q", one.ID, other.ID)
	}
	for _, part := range []string{wire.JobPayload, wire.JobUndo} {
		line := JobProgram + " " + one.Arguments(part)
		if len(line) > 8000 { // cmd.exe and the Task Scheduler take 8191
			t.Errorf("%s: the command line has %d characters", part, len(line))
		}
		if !strings.Contains(line, "-NonInteractive") || strings.ContainsAny(line, "&|<>^%!\"'") {
			t.Errorf("%s: %s", part, line)
		}
	}
	calls := []Call{{Call: wire.Call{Cmdlet: "Get-VM"}}}
	good := base64.StdEncoding.EncodeToString([]byte(`{"groups":[[{"output":[1],"errors":[],"warnings":[],"ms":1}]]}`))
	if r, err := JobResults(calls, good); err != nil || len(r) != 1 {
		t.Errorf("got %v, %v", r, err)
	}
	for name, text := range map[string]string{
		"no base64": "***", "no JSON": "eA==", "nothing": "",
		"too few results": base64.StdEncoding.EncodeToString([]byte(`{"groups":[[]]}`)),
		"a failure":       base64.StdEncoding.EncodeToString([]byte(`{"groups":[],"failure":{"id":"X","category":"Y","message":"Z"}}`)),
	} {
		if _, err := JobResults(calls, text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
