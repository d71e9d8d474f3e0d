package hyperv

import "context"

// dcbKey is the key of the shared read of DCB.
const dcbKey = "dcb"

// inventoryWithDcb is the shared inventory together with DCB: the feature's own cmdlet is a slow one, and most hosts have
// nobody who asks.
func (h *Host) inventoryWithDcb(ctx context.Context) (*Inventory, error) {
	inv, own, err := h.inventoryWith(ctx, dcbKey, partDcb)
	if err != nil {
		return nil, err
	}
	whole := *inv
	whole.Dcb = own.Dcb
	return &whole, nil
}
