package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// bounce disables all ports of a device and enables them again, in one batch: the list is recorded before
// anything goes down (facts.md 37), and no request stands between the two (facts.md 73). It then waits until
// every port is as it was and its RDMA is listed again. Callers hold the device's lock.
//
// Where the device carries the way to the host, the batch runs as a job, and the host enables the ports by itself
// unless it is reached again.
func (h *Host) bounce(ctx context.Context, d *Device, l *ledger, more ...func(*bounceOptions)) error {
	opts := bounceOptions{wait: h.opts.RestartWait, progress: func(string) {}}
	for _, f := range more {
		f(&opts)
	}
	op, about := "restart the net adapters", "net adapters "+quoteList(d.PortNames())
	b := h.batch(op, about)
	ports := find[NetAdapter](b, d.portsCall("ports"))
	rdma := find[NetAdapterRdma](b, wire.Call{Cmdlet: "Get-NetAdapterRdma"}, absent())
	disabled := b.addBounce(&target{host: h}, "ports")
	if err := h.runBounce(ctx, b, d, l); err != nil {
		return err
	}
	if disabled.failed() {
		return b.commandError(wire.Call{Cmdlet: "Disable-NetAdapter"}, disabled.Errors[0])
	}
	if len(ports.Items) == 0 {
		ports.Items = d.Ports
	}
	opts.progress("Disabled and enabled again. Waiting until every port is up and its RDMA is listed.")
	return h.awaitPorts(ctx, d, ports.Items, rdma.Items, opts.wait)
}

// addBounce adds the calls that disable and enable the net adapters saved under a name, and gives the answer of the first.
// Nothing behind it may stop the batch before Enable has run.
func (b *batch) addBounce(t *target, saved string) *answer {
	disabled := b.change(t.in(wire.Call{Cmdlet: "Disable-NetAdapter", Input: saved, Parameters: map[string]any{"Confirm": false}}), tolerating(anyError))
	// Disable returns before the adapter is down, and Enable right behind it fails (errors.md 5)
	b.add(t.in(wire.Call{Cmdlet: "Start-Sleep", Parameters: map[string]any{"Milliseconds": int(t.host.opts.Poll.Milliseconds() / 2)}}), false, tolerating(anyError))
	b.change(t.in(wire.Call{Cmdlet: "Enable-NetAdapter", Input: saved, Parameters: map[string]any{"Confirm": false}}), tolerating(anyError))
	return disabled
}

// bounceOptions are what a caller of bounce may change.
type bounceOptions struct {
	wait     time.Duration // how long the ports may take to be up again
	progress func(string)
}

// runBounce runs the batch, as a job if the way to the host goes through the device.
func (h *Host) runBounce(ctx context.Context, b *batch, d *Device, l *ledger) error {
	inv, err := h.read(ctx, b.op, b.about, partPath)
	if err != nil {
		return err
	}
	if len(h.managementPath(inv, d.Ports)) == 0 {
		if err := b.run(ctx); KindOf(err) != SessionLost {
			return err
		}
		return nil // the ports show what became of it
	}
	j, err := b.away(ctx, l.writes(), inv.Now(), func(undo *batch) {
		find[NetAdapter](undo, d.portsCall("ports"))
		undo.change(wire.Call{Cmdlet: "Enable-NetAdapter", Input: "ports", Parameters: map[string]any{"Confirm": false}}, tolerating(anyError))
	})
	if j == nil {
		return err
	}
	return errors.Join(err, j.forget(ctx)) // what takes a restart back is how it ends
}

// awaitPorts waits until the ports have their status back and RDMA is listed where it was; a port that
// is still disabled is enabled again.
func (h *Host) awaitPorts(ctx context.Context, d *Device, was []NetAdapter, rdma []NetAdapterRdma, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		b := h.batch("wait for the restarted net adapters", "net adapters "+quoteList(d.PortNames()))
		now := find[NetAdapter](b, d.portsCall("ports"))
		listed := find[NetAdapterRdma](b, wire.Call{Cmdlet: "Get-NetAdapterRdma"}, absent())
		if err := b.run(ctx); err != nil {
			return err
		}
		missing := portsNotBack(was, now.Items, rdma, listed.Items)
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return &Error{Kind: TimedOut, Op: "restart the net adapters", Host: h.Name, Object: "net adapters " + quoteList(d.PortNames()),
				Cause: fmt.Sprintf("%s after %s.", strings.Join(missing, "; "), wait),
				Fix:   "Look at the adapter in Device Manager and at the cable; enable it with Enable-NetAdapter, then apply again."}
		}
		if disabled := stillDisabled(was, now.Items); len(disabled) > 0 {
			again := h.batch("enable the net adapters", "net adapters "+quoteList(disabled))
			find[NetAdapter](again, d.portsCall("ports"))
			again.change(wire.Call{Cmdlet: "Enable-NetAdapter", Input: "ports", Parameters: map[string]any{"Confirm": false}}, tolerating(anyError))
			if err := again.run(ctx); err != nil {
				return err
			}
		}
		if err := h.wait(ctx); err != nil {
			return err
		}
	}
}

func stillDisabled(was, now []NetAdapter) []string {
	var out []string
	for _, p := range now {
		for _, w := range was {
			if sameGUID(p.InterfaceGuid, w.InterfaceGuid) && w.Status != "Disabled" && p.Status == "Disabled" {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// portsNotBack says what is missing compared with before the bounce. A port that was disabled before is
// expected to be enabled now: enabling all ports is part of a bounce.
func portsNotBack(was, now []NetAdapter, rdmaWas, rdmaNow []NetAdapterRdma) []string {
	var out []string
	for _, w := range was {
		found := false
		for _, p := range now {
			if !sameGUID(p.InterfaceGuid, w.InterfaceGuid) {
				continue
			}
			found = true
			if p.Status == "Disabled" || p.Status == "Not Present" || (w.Status == "Up" && p.Status != "Up") {
				out = append(out, fmt.Sprintf("net adapter %q is %s", p.Name, p.Status))
			}
		}
		if !found {
			out = append(out, fmt.Sprintf("net adapter %q is gone", w.Name))
		}
		if enabledRdma(rdmaWas, w.Name) && !listedRdma(rdmaNow, w.Name) {
			out = append(out, fmt.Sprintf("net adapter %q does not list RDMA yet", w.Name))
		}
	}
	return out
}

func listedRdma(list []NetAdapterRdma, name string) bool {
	for _, r := range list {
		if strings.EqualFold(r.Name, name) {
			return true
		}
	}
	return false
}

func enabledRdma(list []NetAdapterRdma, name string) bool {
	for _, r := range list {
		if strings.EqualFold(r.Name, name) {
			return r.Enabled
		}
	}
	return false
}

// payDevice bounces the device and settles every debt of it, whoever made it.
func (h *Host) payDevice(ctx context.Context, d *Device, l *ledger, more ...func(*bounceOptions)) error {
	if err := h.bounce(ctx, d, l, more...); err != nil {
		return err
	}
	return h.settle(ctx, l, d.owes)
}

// settle takes debts out of the ledger.
func (h *Host) settle(ctx context.Context, l *ledger, which func(Debt) bool) error {
	w := l.writes()
	for _, x := range l.debts() {
		if which(x) {
			w.settle(x)
		}
	}
	if len(w.remove) == 0 {
		return nil
	}
	b := h.batch("settle the restarts in the ledger", "")
	w.addRemoves(b)
	defer w.guard(h)()
	if err := b.run(ctx); err != nil {
		return err
	}
	w.apply()
	return nil
}
