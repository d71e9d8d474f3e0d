package hyperv

import (
	"context"
	"time"
)

// askTime is how long a shared read waits before it settles what it reads: resources that ask for more do so in the
// same moment.
const askTime = 5 * time.Millisecond

// everythingAsked is everything, and DCB where a resource manages it: the feature's own cmdlet is a slow one, and most
// hosts have nobody who asks.
func (h *Host) everythingAsked() []part {
	time.Sleep(askTime)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dcbAsked {
		return append(everything(), partDcb)
	}
	return everything()
}

func (h *Host) askDcb() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dcbAsked = true
}

// inventoryWithDcb is the shared inventory. A read that began before anybody asked for DCB is completed by one of DCB alone.
func (h *Host) inventoryWithDcb(ctx context.Context) (*Inventory, error) {
	h.askDcb()
	inv, err := h.Inventory(ctx)
	if err != nil || inv.Dcb != nil {
		return inv, err
	}
	own, err := h.read(ctx, "read data center bridging", dcbAbout, partDcb)
	if err != nil {
		return nil, err
	}
	whole := *inv
	whole.Dcb = own.Dcb
	return &whole, nil
}
