package hyperv

import (
	"context"
	"errors"
	"time"
)

// cancelledCleanUp bounds what is put in order for somebody who cancelled the run and waits for its end.
const cancelledCleanUp = 15 * time.Second

// cleanUp is a context with time of its own for putting in order what a failed change left: the change may have failed
// for lack of time.
func (h *Host) cleanUp(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := h.opts.RestartWait
	if errors.Is(ctx.Err(), context.Canceled) {
		limit = min(limit, cancelledCleanUp)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
