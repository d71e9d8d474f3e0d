package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Settings of a guest in the ledger; the VF's keyword goes by its own name.
const (
	settingSyntheticRdma = "Rdma of the Hyper-V adapter"
	settingVFRdma        = "Rdma of the virtual function"
)

// guestChange brings RDMA in a guest to what is wanted, and waits until it works.
type guestChange struct {
	host   *Host
	op     string
	ref    AdapterRef // by ids
	spec   GuestRdmaSpec
	target wire.Guest
	object string
	claim  string
	ledger *ledger
	g      *GuestRdma

	written     []string // the ledger's records that this change added
	steps       []string // recovery steps taken
	unreachable int      // looks in a row that did not get into the guest
	lookedAt    time.Time
	began       time.Time

	ports   []NetAdapter // of the host, that may carry the virtual function
	matched bool         // their drivers were held against the guest's
}

// guestClaimant names the resource that owns a guest's RDMA by what its configuration says.
func guestClaimant(ref AdapterRef) string {
	return fmt.Sprintf("hyperv_guest_rdma_enablement of %s", adapterAbout(ref))
}

// ApplyGuestRdma turns RDMA on (or off) inside the guest and waits, stage by stage, until SMB says RDMA capable;
// recovery steps that the spec names are taken on the way. configured says how the configuration names the adapter.
// A create that fails puts back what it changed.
func (h *Host) ApplyGuestRdma(ctx context.Context, ref, configured AdapterRef, spec GuestRdmaSpec, create bool) (*GuestRdma, error) {
	const op = "enable RDMA in the guest"
	target, err := h.guestTarget(op, ref, wire.FirstProperty("vms", "Id"), spec.Credential)
	if err != nil {
		return nil, err
	}
	b := h.batch(op, adapterAbout(ref))
	after := b.readParts(partSwitchList, partNetAdapterList, partVM(ref.VMID, ref.VMName), partLedger)
	guest := b.readGuest(target)
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	inv, err := after()
	if err != nil {
		return nil, err
	}
	a, err := inv.findAdapter(h, op, ref)
	if err != nil {
		return nil, h.elaborate(ctx, ref, err)
	}
	object, claimant := guestObjectOf(a.VM.ID, a.GUID), guestClaimant(configured)
	if create {
		err = h.checkClaim(inv, op, object, claimant, "hyperv_guest_rdma_enablement", a)
	} else {
		err = h.checkVMName(op, configured.VMName, a)
	}
	if err != nil {
		return nil, err
	}
	target.VMID = a.VM.ID
	c := &guestChange{host: h, op: op, ref: a.ByID(), spec: spec, target: target, object: object, claim: claimant, ledger: inv.ledger,
		g: guest.join(h, op, a), lookedAt: time.Now(), began: time.Now(), ports: inv.physicalPorts(a)}
	if err := c.startAgain(ctx); err != nil {
		return nil, err
	}
	if spec.Enabled {
		err = c.reach(ctx)
	} else {
		err = c.turnOff(ctx)
	}
	c.g.Steps = c.steps
	if len(c.steps) > 0 {
		c.g.Notes = append(c.g.Notes, Note{fmt.Sprintf("Recovery steps were taken for the guest of VM %q", a.VM.Name),
			"SMB did not say RDMA capable at first (facts.md 66). Taken, in this order: " + strings.Join(c.steps, ", ") + "."})
	}
	switch {
	case err == nil:
	case spec.Require || !verification(err):
		if create {
			return nil, c.undo(ctx, err)
		}
		return c.g, err
	default:
		if failed := c.ownIt(ctx); failed != nil {
			return c.g, failed
		}
		c.g.Notes = append(c.g.Notes, verificationNote(err))
	}
	h.claimed.add(object)
	return c.g, nil
}

// verificationError is a verification that failed; anything else is an error whatever verification says.
type verificationError struct{ cause *Error }

func (e *verificationError) Error() string { return e.cause.Error() }

// Unwrap gives the error of the domain.
func (e *verificationError) Unwrap() error { return e.cause }

func verification(err error) bool {
	var v *verificationError
	return errors.As(err, &v)
}

func verificationNote(err error) Note {
	var v *verificationError
	if !errors.As(err, &v) {
		return Note{"RDMA in the guest does not work yet", err.Error()}
	}
	return Note{"RDMA in the guest does not work yet (" + v.cause.Object + ")", v.cause.Cause + "\n\nNext: " + v.cause.Fix}
}

// reach goes from stage to stage until SMB says RDMA capable, changing in the guest what is missing.
func (c *guestChange) reach(ctx context.Context) error {
	ladder := c.ladder()
	began, settled := time.Now(), time.Time{}
	for changes := 0; ; {
		if err := c.letRestart(ctx); err != nil {
			return err
		}
		if err := c.hopeless(ctx); err != nil {
			return err
		}
		if err := c.matchDrivers(); err != nil {
			return err
		}
		if c.g.VF != nil && (c.differs() || !c.owned()) && changes < 5 {
			changes++
			if err := c.change(ctx); err != nil {
				return err
			}
			continue
		}
		if _, missing := c.g.Stage(); missing == "" {
			return nil
		}
		if c.g.VF != nil && settled.IsZero() {
			settled = time.Now()
		}
		switch waited := time.Since(settled); {
		case settled.IsZero():
			if c.g.Reachable && time.Since(began) > 3*c.host.opts.Settle {
				return c.stuck(ctx)
			}
		case waited > c.host.opts.Settle && len(ladder) > 0:
			if err := c.recover(ctx, ladder[0]); err != nil {
				return err
			}
			ladder, settled = ladder[1:], time.Now()
			if err := c.look(ctx); err != nil {
				return err
			}
			continue
		case waited > 2*c.host.opts.Settle:
			return c.stuck(ctx)
		}
		if err := c.host.wait(ctx); err != nil {
			return c.stuck(ctx)
		}
		if err := c.look(ctx); err != nil {
			if ctx.Err() != nil {
				return c.stuck(ctx)
			}
			return err
		}
	}
}

// turnOff is the way back for enabled = false.
func (c *guestChange) turnOff(ctx context.Context) error {
	if !c.g.Reachable {
		return c.g.Err
	}
	if !c.differs() && c.owned() {
		return nil
	}
	return c.change(ctx)
}

// owned says that the ledger knows this resource as the owner.
func (c *guestChange) owned() bool {
	have, ok := c.ledger.claim(c.object)
	return ok && have == c.claim
}

// ownIt writes the claim alone: for a resource that was accepted without a change in the guest.
func (c *guestChange) ownIt(ctx context.Context) error {
	if c.owned() {
		return nil
	}
	w := c.ledger.writes()
	w.claim(c.object, c.claim)
	b := c.host.batch(c.op, adapterAbout(c.ref))
	w.addPuts(b)
	defer w.guard(c.host)()
	if err := b.run(ctx); err != nil {
		return err
	}
	w.apply()
	return nil
}

// guestWish is what the guest's settings shall be; nil fields stay.
type guestWish struct {
	synthetic, vf *bool
	keyword       *string
}

// wish is what the spec asks for. RDMA is on on both adapters where the VF offers it (facts.md 64), and a keyword
// that switches it is on first (facts.md 65).
func (c *guestChange) wish() guestWish {
	on := c.spec.Enabled
	w := guestWish{synthetic: &on, vf: &on}
	if vf := c.g.VF; vf != nil && vf.Keyword != "" && on {
		one := "1"
		w.keyword = &one
	}
	if vf := c.g.VF; on && vf != nil && !vf.RdmaListed && (vf.Keyword == "" || vf.KeywordOn) {
		return guestWish{} // this VF offers none: nothing is turned on for nothing
	}
	return w
}

func (c *guestChange) differs() bool { return c.wish().differs(c.g) }

func (w guestWish) differs(g *GuestRdma) bool {
	return differsRdma(w.synthetic, g.Synthetic) || differsRdma(w.vf, g.VF) || w.keyword != nil && g.VF != nil && g.VF.Keyword != "" && g.VF.KeywordText != *w.keyword
}

func differsRdma(want *bool, a *GuestAdapter) bool {
	return want != nil && a != nil && a.RdmaListed && a.RdmaEnabled != *want
}

// change writes into the ledger what the guest holds now, changes it, and reads back, in one batch.
func (c *guestChange) change(ctx context.Context) error {
	unlock, err := c.host.lockVM(ctx, c.g.Adapter.VM.Name)
	if err != nil {
		return err
	}
	defer unlock()
	w := c.ledger.writes()
	wish := c.wish()
	c.remember(w, wish)
	w.claim(c.object, c.claim)
	c.written = append(c.written, sorted(w.put)...)
	b := c.host.batch(c.op, adapterAbout(c.ref))
	w.addPuts(b)
	c.addWish(b, wish)
	if err := c.runAndLook(ctx, b, w); err != nil {
		return err
	}
	return nil
}

// runAndLook runs a batch that changes the guest, with a look at the result behind it. A session into the guest
// that broke is no failure yet: the next look tells.
func (c *guestChange) runAndLook(ctx context.Context, b *batch, w *ledgerWrites) error {
	guest := b.readGuest(c.target)
	after := b.readParts(partSwitchList, partVM(c.ref.VMID, ""))
	release := w.guard(c.host)
	err := b.run(ctx)
	release()
	var e *Error
	if asError(err, &e) && e.Command != nil && e.Command.Session {
		w.apply() // the ledger stands ahead of the guest's calls
		return c.look(ctx)
	}
	if err != nil {
		return err
	}
	w.apply()
	return c.take(after, guest)
}

func (c *guestChange) take(after func() (*Inventory, error), guest *guestRead) error {
	inv, err := after()
	if err != nil {
		return err
	}
	a, err := inv.findAdapter(c.host, c.op, c.ref)
	if err != nil {
		return err
	}
	steps, notes := c.g.Steps, c.g.Notes
	c.g = guest.join(c.host, c.op, a)
	c.g.Steps, c.g.Notes, c.lookedAt = steps, notes, time.Now()
	c.unreachable++
	if c.g.Reachable {
		c.unreachable = 0
	}
	return nil
}

// look reads host and guest again.
func (c *guestChange) look(ctx context.Context) error {
	b := c.host.batch(c.op, adapterAbout(c.ref))
	after := b.readParts(partSwitchList, partVM(c.ref.VMID, ""))
	guest := b.readGuest(c.target)
	if err := b.run(ctx); err != nil {
		return err
	}
	return c.take(after, guest)
}

// remember writes down what a setting is before the wish changes it.
func (c *guestChange) remember(w *ledgerWrites, wish guestWish) {
	note := func(setting, value string) {
		w.remember(before{Object: c.object, Setting: setting, Value: &value, About: adapterAbout(c.ref)})
	}
	keywordChanges := wish.keyword != nil && c.g.VF != nil && c.g.VF.Keyword != "" && c.g.VF.KeywordText != *wish.keyword
	if differsRdma(wish.synthetic, c.g.Synthetic) {
		note(settingSyntheticRdma, strconv.FormatBool(c.g.Synthetic.RdmaEnabled))
	}
	if keywordChanges || differsRdma(wish.vf, c.g.VF) { // behind its keyword an adapter does not say whether RDMA is on: it is not
		note(settingVFRdma, strconv.FormatBool(c.g.VF.RdmaEnabled))
	}
	if keywordChanges {
		note(c.g.VF.Keyword, c.g.VF.KeywordText)
	}
}

// addWish adds the calls inside the guest. They act on objects that are found by what Windows keeps unique and no
// rename changes: the interface description. The order is that of the procedure (B10) on the way up and its
// reverse on the way down.
func (c *guestChange) addWish(b *batch, w guestWish) {
	g := c.g
	off := append(c.descriptions(w.synthetic, g.Synthetic, false), c.descriptions(w.vf, g.VF, false)...)
	on := append(c.descriptions(w.synthetic, g.Synthetic, true), c.descriptions(w.vf, g.VF, true)...)
	c.addRdma(b, "Disable-NetAdapterRdma", off)
	if w.keyword != nil && g.VF != nil && g.VF.Keyword != "" && g.VF.KeywordText != *w.keyword {
		c.in(b, wire.Call{Cmdlet: "Get-NetAdapterAdvancedProperty", Parameters: map[string]any{"AllProperties": true}, Save: "keyword", Select: fieldsOf[named](),
			Where: []wire.Condition{{Property: "InterfaceDescription", Equals: []string{g.VF.InterfaceDescription}}, {Property: "RegistryKeyword", Equals: []string{g.VF.Keyword}}}})
		// as a parameter: piped in, the object would bring its own DisplayValue along
		c.in(b, wire.Call{Cmdlet: "Set-NetAdapterAdvancedProperty", Parameters: map[string]any{"InputObject": wire.Ref{Call: "keyword"}, "RegistryValue": []string{*w.keyword}, "Confirm": false}})
	}
	c.addRdma(b, "Enable-NetAdapterRdma", on)
}

// descriptions is the adapter's, if the wish is to switch it this way. On the way up a VF that is listed only
// behind its keyword belongs to it too.
func (c *guestChange) descriptions(want *bool, a *GuestAdapter, on bool) []string {
	if want == nil || *want != on || a == nil || a.RdmaEnabled == on || (!on && !a.RdmaListed) {
		return nil
	}
	return []string{a.InterfaceDescription}
}

func (c *guestChange) addRdma(b *batch, cmdlet string, descriptions []string) {
	if len(descriptions) == 0 {
		return
	}
	c.in(b, wire.Call{Cmdlet: "Get-NetAdapterRdma", Save: cmdlet, Select: fieldsOf[named](),
		Where: []wire.Condition{{Property: "InterfaceDescription", Equals: descriptions}}})
	c.in(b, wire.Call{Cmdlet: cmdlet, Input: cmdlet, Parameters: map[string]any{"Confirm": false}})
}

// in adds a call inside the guest.
func (c *guestChange) in(b *batch, call wire.Call) {
	call.Guest = &c.target
	b.add(call, strings.HasPrefix(call.Cmdlet, "Get-"))
}
