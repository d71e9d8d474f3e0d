package hyperv

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// guestAdapters are the net adapters of a guest as they were read.
type guestAdapters struct {
	list []NetAdapter
	err  error // why the guest could not be asked
}

// readAdapters adds the call that lists the target's net adapters.
func (t *target) readAdapters(b *batch) *found[NetAdapter] {
	return find[NetAdapter](b, t.in(wire.Call{Cmdlet: "Get-NetAdapter"}), tolerating(anyError))
}

func (g *guestAdapters) names() []string {
	var out []string
	for _, n := range g.list {
		out = append(out, n.Name)
	}
	return out
}

func (g *guestAdapters) has(name string) bool { return containsFold(g.names(), name) }

// guids are the interface GUIDs of the named adapters; a name is a pattern to the cmdlets (facts.md 39).
func (g *guestAdapters) guids(names []string) []string {
	var out []string
	for _, n := range g.list {
		if containsFold(names, n.Name) {
			out = append(out, n.InterfaceGuid)
		}
	}
	return out
}

// bounce disables the named adapters and enables them again, in one batch (facts.md 37, 73), and waits until they are as
// they were.
func (g *guestAdapters) bounce(ctx context.Context, t *target, names []string) error {
	guids := g.guids(names)
	if len(guids) == 0 {
		return nil
	}
	op, about := "restart the net adapters", fmt.Sprintf("net adapters %s in %s", quoteList(names), t.ref.about())
	get := func(save string) wire.Call {
		return t.in(wire.Call{Cmdlet: "Get-NetAdapter", Save: save, Select: fieldsOf[NetAdapter](), Where: []wire.Condition{{Property: "InterfaceGuid", Equals: guids}}})
	}
	b := t.host.batch(op, about)
	find[NetAdapter](b, get("adapters"))
	disabled := b.addBounce(t, "adapters")
	err := b.run(ctx)
	if err != nil && KindOf(err) != SessionLost {
		return err
	}
	if err == nil && disabled.failed() && !disabled.Errors[0].Session {
		return b.commandError(wire.Call{Cmdlet: "Disable-NetAdapter"}, disabled.Errors[0])
	}
	return g.await(ctx, t, guids, get, op, about)
}

// await waits until the adapters are back; one that stays disabled is enabled again.
func (g *guestAdapters) await(ctx context.Context, t *target, guids []string, get func(string) wire.Call, op, about string) error {
	deadline := time.Now().Add(t.host.opts.RestartWait)
	for {
		b := t.host.batch(op, about)
		now := find[NetAdapter](b, get("adapters"), tolerating(anyError))
		if err := b.run(ctx); err != nil {
			return err
		}
		missing := portsNotBack(g.named(guids), now.Items, nil, nil)
		if now.failed() {
			missing = []string{"the guest does not answer: " + commandText(&now.Errors[0])}
		}
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return &Error{Kind: TimedOut, Op: op, Host: t.host.Name, Object: about, Cause: fmt.Sprintf("%s after %s.", strings.Join(missing, "; "), t.host.opts.RestartWait),
				Fix: "Enable the adapters in the guest (Enable-NetAdapter), then apply again."}
		}
		if len(stillDisabled(g.named(guids), now.Items)) > 0 {
			again := t.host.batch(op, about)
			find[NetAdapter](again, get("adapters"))
			again.change(t.in(wire.Call{Cmdlet: "Enable-NetAdapter", Input: "adapters", Parameters: map[string]any{"Confirm": false}}), tolerating(anyError))
			if err := again.run(ctx); err != nil {
				return err
			}
		}
		if err := t.host.wait(ctx); err != nil {
			return err
		}
	}
}

func (g *guestAdapters) named(guids []string) []NetAdapter {
	var out []NetAdapter
	for _, n := range g.list {
		if containsFold(guids, n.InterfaceGuid) {
			out = append(out, n)
		}
	}
	return out
}
