package powershell

import (
	"errors"
	"testing"
)

func checkLost(t *testing.T, err error, started bool) {
	t.Helper()
	var lost *LostError
	if !errors.As(err, &lost) {
		t.Fatalf("got %v, want a LostError", err)
	}
	if lost.Started != started {
		t.Errorf("Started is %v: %v", lost.Started, err)
	}
}
