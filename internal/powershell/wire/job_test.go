package wire

import (
	"strings"
	"testing"
)

func TestJobBootstrap(t *testing.T) {
	id, hash := strings.Repeat("0a", 16), strings.Repeat("F0", 32)
	for _, part := range []string{JobPayload, JobUndo} {
		want := JobCall{ID: id, Hash: hash, Part: part}
		got, ok := ParseJobBootstrap(want.Bootstrap())
		if !ok || got != want {
			t.Errorf("%s: got %+v, %t", part, got, ok)
		}
	}
	whole := JobCall{ID: id, Hash: hash, Part: JobPayload}.Bootstrap()
	for name, script := range map[string]string{
		"another script":    "Get-VM",
		"something added":   whole + "Get-VM\n",
		"something changed": strings.Replace(whole, "-cne", "-ceq", 1),
		"no id":             JobCall{ID: "x' + (Get-VM) + '", Hash: hash, Part: JobPayload}.Bootstrap(),
		"another part":      JobCall{ID: id, Hash: hash, Part: JobScript}.Bootstrap(),
	} {
		if got, ok := ParseJobBootstrap(script); ok {
			t.Errorf("%s: taken for %+v", name, got)
		}
	}
}
