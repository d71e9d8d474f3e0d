package powershell

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// Each batch is told with the names of its cmdlets and how long it took, never with what it was given.
func TestBatchLog(t *testing.T) {
	const secret = `S3cr'et "$(x)`
	l := faultLab(t, door.Limits{})
	var mu sync.Mutex
	var batches []map[string]any
	l.cfg.Log = func(_ context.Context, message string, fields map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(fmt.Sprint(message, fields), secret) {
			t.Errorf("the log holds a parameter: %s %v", message, fields)
		}
		if strings.HasPrefix(message, "batch of cmdlets") {
			fields["message"] = message
			batches = append(batches, fields)
		}
	}
	p := l.pool(t)
	l.model.delay = 30 * time.Millisecond
	guest := Call{Call: wire.Call{Cmdlet: "Get-VMSwitch", Guest: &wire.Guest{VMID: "x", Credential: wire.Credential{User: "u", Password: secret}}, OnError: wire.OnErrorContinue}}
	if _, err := p.Do(t.Context(), getSwitch(), setNotes(secret), getSwitch(), guest); err != nil {
		t.Fatal(err)
	}
	l.rules.Add(door.Rule{Operation: door.OpReceive, Effect: door.KillShell})
	checkLost(t, doError(t, p, setNotes(secret)), true)
	mu.Lock()
	defer mu.Unlock()
	if len(batches) != 2 {
		t.Fatalf("%v", batches)
	}
	first, second := batches[0], batches[1]
	if first["message"] != "batch of cmdlets ran" || first["cmdlets"] != "Get-VMSwitch (2), Set-VMSwitch" || first["guest_cmdlets"] != "Get-VMSwitch" ||
		first["address"] != "127.0.0.1" || first["read_only"] != false || first["callers"] != 1 || first["error"] != nil {
		t.Errorf("%v", first)
	}
	if ms, ok := first["milliseconds"].(int64); !ok || ms < 90 || ms > 5000 {
		t.Errorf("%v", first)
	}
	if second["message"] != "batch of cmdlets failed" || second["cmdlets"] != "Set-VMSwitch" || second["guest_cmdlets"] != nil || second["error"] == nil {
		t.Errorf("%v", second)
	}
}

func doError(t *testing.T, p *Pool, calls ...Call) error {
	t.Helper()
	_, err := p.Do(t.Context(), calls...)
	return err
}
