package hyperv

import (
	"context"
	"errors"
	"strings"
)

// readLocked reads parts of the host (net adapters among them) and locks the devices of the ports (by name, or by guidKey), so
// that what was read stays true until the caller unlocks. Where a device lies is remembered: the next caller
// locks first and reads once.
func (h *Host) readLocked(ctx context.Context, op, about string, ports []string, parts ...part) (*Inventory, func(), error) {
	var unlocks []func()
	unlock := func() {
		for i := len(unlocks) - 1; i >= 0; i-- {
			unlocks[i]()
		}
		unlocks = nil
	}
	lockAll := func(locations map[string]bool) error {
		for _, loc := range sorted(locations) {
			free, err := h.locks.lock(ctx, "device:"+loc)
			if err != nil {
				return err
			}
			unlocks = append(unlocks, free)
		}
		return nil
	}
	known, all := h.knownLocations(ports)
	if !all {
		defer h.locks.want(anyDevice)()
	}
	if all {
		if err := lockAll(known); err != nil {
			unlock()
			return nil, nil, err
		}
		inv, err := h.read(ctx, op, about, parts...)
		if err != nil {
			unlock()
			return nil, nil, err
		}
		h.rememberLocations(inv)
		if now, _ := h.knownLocations(ports); sameKeys(now, known) {
			return inv, unlock, nil
		}
		unlock() // the hardware changed: start over with what is there now
	}
	defer h.locks.want(anyDevice)()
	epoch := h.currentEpoch()
	inv, err := h.read(ctx, op, about, parts...)
	if err != nil {
		return nil, nil, err
	}
	h.rememberLocations(inv)
	locations, _ := h.knownLocations(ports)
	if err := lockAll(locations); err != nil {
		unlock()
		return nil, nil, err
	}
	if h.currentEpoch() != epoch { // something of ours changed the host meanwhile
		if inv, err = h.read(ctx, op, about, parts...); err != nil {
			unlock()
			return nil, nil, err
		}
	}
	return inv, unlock, nil
}

func sameKeys(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

func (h *Host) currentEpoch() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

func (h *Host) rememberLocations(inv *Inventory) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.locations = map[string]string{}
	for _, hw := range inv.Hardware {
		h.locations[strings.ToLower(hw.Name)] = hw.location()
		if nic, ok := inv.netAdapter(hw.Name); ok {
			h.locations[guidKey(nic.InterfaceGuid)] = hw.location()
		}
	}
}

// knownLocations gives the devices of the ports; all says that every port's is known.
func (h *Host) knownLocations(ports []string) (map[string]bool, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out, all := map[string]bool{}, true
	for _, p := range ports {
		if loc, ok := h.locations[strings.ToLower(p)]; ok {
			out[loc] = true
		} else {
			all = false
		}
	}
	return out, all
}

func asError(err error, e **Error) bool { return errors.As(err, e) }
