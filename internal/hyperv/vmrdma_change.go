package hyperv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// rdmaChange is a change of an adapter's settings on its way.
type rdmaChange struct {
	host   *Host
	op     string
	inv    *Inventory
	now    *VMAdapter
	object string
	want   rdmaValues
	w      *ledgerWrites
	rules  RestartRules
	notes  []Note
	// written are the ledger's records that this change adds
	written []string
}

// ApplyAdapterRdma makes the adapter hold the spec and puts back what an earlier spec managed and this one leaves
// out. old is what was managed before, nil on create. configured says how the configuration names the adapter.
// It ends with the change made, or with everything as it was.
func (h *Host) ApplyAdapterRdma(ctx context.Context, ref, configured AdapterRef, spec AdapterRdmaSpec, old *AdapterRdmaSpec, rules RestartRules) (*VMAdapter, []Note, error) {
	const op = "change the RDMA settings of the network adapter"
	unlock, err := h.lockVM(ctx, ref.VMName)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	inv, err := h.read(ctx, op, adapterAbout(ref), partHost, partSwitchList, partLedger, partVM(ref.VMID, ref.VMName))
	if err != nil {
		return nil, nil, err
	}
	now, err := inv.findAdapter(h, op, ref)
	if err != nil {
		return nil, nil, h.elaborate(ctx, ref, err)
	}
	if old != nil {
		if err := h.checkVMName(op, configured.VMName, now); err != nil {
			return nil, nil, err
		}
	}
	if err := h.checkRdma(op, now, spec); err != nil {
		return nil, nil, err
	}
	object, claimant := adapterObject(now), rdmaClaimant(configured)
	if old == nil {
		if err := h.checkClaim(inv, op, object, claimant, "hyperv_vm_network_adapter_rdma", now); err != nil {
			return nil, nil, err
		}
	}
	c := &rdmaChange{host: h, op: op, inv: inv, now: now, object: object, w: inv.ledger.writes(), rules: rules}
	c.prepare(spec.managed(), old)
	c.remember(spec.managed())
	c.w.claim(object, claimant)
	c.w.dropGone(inv, false)
	c.written = sorted(c.w.put)
	out, err := c.run(ctx)
	if err != nil {
		return out, c.notes, c.undo(ctx, old == nil, err)
	}
	h.claimed.add(object)
	c.noteVF(ctx, out)
	return out, c.notes, nil
}

// checkClaim refuses a second resource for the same object, by the ledger and by what this process did.
func (h *Host) checkClaim(inv *Inventory, op, object, claimant, resource string, a *VMAdapter) error {
	have, ok := inv.ledger.claim(object)
	if (!ok || have == claimant) && !h.claimed.has(object) {
		return nil
	}
	if have == "" {
		have = claimant
	}
	return &Error{Kind: Conflict, Op: op, Host: h.Name, Object: adapterAbout(a.ByID()), Attribute: "vm_network_adapter_name", Value: a.Name,
		Cause: "The settings belong to another resource already: " + have + " (by the ledger on the host).",
		Fix:   fmt.Sprintf("Keep one resource per network adapter. If the other one was lost with its state, import it: terraform import %s.<name> '%s/%s/%s'.", resource, h.Name, strings.ToLower(a.VM.ID), a.GUID)}
}

// prepare computes what every setting shall be: as managed, else as it was before us, else as it is.
func (c *rdmaChange) prepare(managed map[string]string, old *AdapterRdmaSpec) {
	values := rdmaValuesOf(c.now)
	c.want = values
	was := map[string]string{}
	if old != nil {
		was = old.managed()
	}
	for _, setting := range rdmaSettings() {
		if value, ok := managed[setting]; ok {
			c.want.put(setting, value)
			continue
		}
		value, ours := was[setting]
		r, known := c.w.from.before(c.object, setting)
		switch {
		case known && r.Value != nil:
			// IovWeight is also written down around a change of another setting: left at 0 by a crash, it goes back
			if ours || old == nil || setting == settingIov && values.iov == 0 {
				c.want.put(setting, *r.Value)
			}
			c.w.forget(c.object, setting)
		case ours && strings.EqualFold(value, values.get(setting)) && value != defaultRdmaValue(setting):
			c.notes = append(c.notes, Note{fmt.Sprintf("%s of %s stays as it is", setting, adapterAbout(c.now.ByID())),
				fmt.Sprintf("Nothing is known of what it was before this resource (it was imported, or had this value already), so it keeps %s.", value)})
		}
	}
}

// remember writes down, ahead of the change, what every setting was that the change touches, IovWeight
// around a change of another one included: a crash in between must not make 0 the value that was there before.
func (c *rdmaChange) remember(managed map[string]string) {
	values := rdmaValuesOf(c.now)
	note := func(setting string) {
		value := values.get(setting)
		if _, ok := managed[setting]; ok || c.want.get(setting) == value {
			c.w.remember(before{Object: c.object, Setting: setting, Value: &value, About: adapterAbout(c.now.ByID())})
		}
	}
	for _, s := range rdmaSteps(values, c.want, c.now.VM.State != "Off") {
		for setting := range s.set {
			note(setting)
		}
		if s.rdmaWeight != nil {
			note(settingRdma)
		}
	}
}

func defaultRdmaValue(setting string) string {
	return map[string]string{settingIov: "0", settingRdma: "0", settingQueuePairs: "1", settingModeration: "Default"}[setting]
}

// run makes the change: on a running VM first. Where VMMS refuses that (facts.md 45, 47) and restarts are allowed,
// the VM is shut down, changed and started again.
func (c *rdmaChange) run(ctx context.Context) (*VMAdapter, error) {
	out, err := c.batch(ctx, c.now)
	if err == nil {
		return c.startAgain(ctx, out)
	}
	if !invalidState(err) || c.now.VM.State == "Off" {
		return out, err
	}
	if c.rules.Policy == RestartManual {
		return out, c.refused(err, `With restart_policy = "manual" the VM is never restarted: shut it down, apply, and start it again; or set restart_policy = "auto".`)
	}
	if c.now.VM.State != "Running" {
		return out, c.refused(err, "Resume or shut down the VM, then apply again: only a running VM can be restarted.")
	}
	r := &vmRestart{host: c.host, vm: c.now.VM, options: c.rules.VM.withDefaults(), ledger: c.inv.ledger, now: c.inv.Now(),
		reason: "Hyper-V refused a change of its network adapter while it was running"}
	err = r.run(ctx, func(ctx context.Context) error {
		read, err := c.reread(ctx)
		if err == nil {
			out, err = c.batch(ctx, read)
		}
		return err
	})
	c.notes = append(c.notes, r.notes...)
	if err != nil {
		return out, err
	}
	c.notes = append(c.notes, Note{fmt.Sprintf("The VM %q was restarted", r.vm.Name),
		"Hyper-V refused the change of its network adapter while it was running (facts.md 45)."})
	return c.reread(ctx)
}

// startAgain starts a VM that an earlier run shut down and never started again.
func (c *rdmaChange) startAgain(ctx context.Context, out *VMAdapter) (*VMAdapter, error) {
	started, notes, err := c.host.startStopped(ctx, c.inv, &c.now.VM, c.rules)
	c.notes = append(c.notes, notes...)
	if err != nil || !started {
		return out, err
	}
	return c.reread(ctx)
}

func (c *rdmaChange) refused(err error, fix string) error {
	var e *Error
	if asError(err, &e) {
		e.Attribute = "rdma_weight"
		e.Cause = fmt.Sprintf("Hyper-V refuses to change the adapter while the VM is %s (facts.md 45, 47).", strings.ToLower(c.now.VM.State))
		e.Fix = fix
	}
	return err
}

// batch writes the ledger, makes the steps and reads back, in one go.
func (c *rdmaChange) batch(ctx context.Context, from *VMAdapter) (*VMAdapter, error) {
	steps := rdmaSteps(rdmaValuesOf(from), c.want, from.VM.State != "Off")
	if len(steps) == 0 && len(c.w.put) == 0 && len(c.w.remove) == 0 {
		return from, nil
	}
	b := c.host.batch(c.op, adapterAbout(from.ByID()))
	c.w.addPuts(b)
	b.saveAdapter(from)
	b.addRdmaSteps(steps)
	c.w.addRemoves(b)
	if c.want.iov > 0 && from.VM.State == "Running" && len(steps) > 0 {
		// the virtual function comes a moment after its weight (facts.md 55)
		b.add(wire.Call{Cmdlet: "Start-Sleep", Parameters: map[string]any{"Milliseconds": int(c.host.opts.Poll.Milliseconds() / 2)}}, true)
	}
	after := b.readParts(partSwitchList, partVM(from.VM.ID, ""))
	release := c.w.guard(c.host)
	err := b.run(ctx)
	release()
	if err != nil {
		return nil, err
	}
	c.w.apply()
	inv, err := after()
	if err != nil {
		return nil, err
	}
	return c.check(inv)
}

// check holds what was read back against what was set.
func (c *rdmaChange) check(inv *Inventory) (*VMAdapter, error) {
	inv.OS, inv.ledger, inv.HasRdmaWeight = c.inv.OS, c.inv.ledger, c.inv.HasRdmaWeight
	out, err := inv.findAdapter(c.host, c.op, c.now.ByID())
	if err != nil {
		return nil, err
	}
	have := rdmaValuesOf(out)
	for _, setting := range rdmaSettings() {
		if got, want := have.get(setting), c.want.get(setting); !strings.EqualFold(got, want) {
			return out, &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: adapterAbout(out.ByID()), Attribute: attributeOf(setting), Value: want,
				Cause: fmt.Sprintf("%s was set to %s and reads %s.", setting, want, got), Fix: "Something else changes the adapter: find out what, or leave the attribute out."}
		}
	}
	return out, nil
}

func attributeOf(setting string) string {
	return map[string]string{settingIov: "iov_weight", settingRdma: "rdma_weight", settingQueuePairs: "iov_queue_pairs_requested", settingModeration: "iov_interrupt_moderation"}[setting]
}

// reread reads the adapter afresh.
func (c *rdmaChange) reread(ctx context.Context) (*VMAdapter, error) {
	inv, err := c.host.read(ctx, c.op, adapterAbout(c.now.ByID()), partSwitchList, partVM(c.now.VM.ID, ""))
	if err != nil {
		return nil, err
	}
	inv.OS, inv.ledger, inv.HasRdmaWeight = c.inv.OS, c.inv.ledger, c.inv.HasRdmaWeight
	return inv.findAdapter(c.host, c.op, c.now.ByID())
}

// undo brings the adapter back to what it was when the change began, and takes out of the ledger what the
// change put into it.
func (c *rdmaChange) undo(ctx context.Context, create bool, cause error) error {
	ctx, cancel := c.host.cleanUp(ctx)
	defer cancel()
	inv, err := c.host.read(ctx, c.op, adapterAbout(c.now.ByID()), partSwitchList, partVM(c.now.VM.ID, ""), partLedger)
	if err != nil {
		return errors.Join(cause, fmt.Errorf("undoing it failed too: %w", err))
	}
	read, err := inv.findAdapter(c.host, c.op, c.now.ByID())
	if IsNotFound(err) {
		return cause
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	u := *c
	u.inv = &Inventory{OS: c.inv.OS, ledger: inv.ledger, HasRdmaWeight: c.inv.HasRdmaWeight}
	u.w, u.want = inv.ledger.writes(), rdmaValuesOf(c.now)
	for _, name := range c.written {
		u.w.drop(name)
	}
	if create {
		u.w.release(c.object)
	}
	if _, err := u.batch(ctx, read); err != nil {
		return errors.Join(cause, fmt.Errorf("undoing it failed too: %w", err))
	}
	return cause
}

// noteVF looks a little longer for the virtual function of a running VM. A VM without one runs on, silently, over
// the synthetic path (facts.md 56): a person should know.
func (c *rdmaChange) noteVF(ctx context.Context, out *VMAdapter) {
	deadline := time.Now().Add(c.host.opts.VFWait)
	for out.VM.State == "Running" && out.IovWeight > 0 && out.IovUsage == 0 && time.Now().Before(deadline) {
		if err := c.host.wait(ctx); err != nil {
			return
		}
		read, err := c.reread(ctx)
		if err != nil {
			return
		}
		*out = *read
	}
	if out.VM.State != "Running" || out.IovWeight == 0 || out.IovUsage > 0 {
		return
	}
	c.notes = append(c.notes, Note{fmt.Sprintf("No virtual function yet for %s", adapterAbout(out.ByID())),
		"IovWeight is set and the VM runs, but IovUsage is 0: it uses the synthetic path, without RDMA (facts.md 56). " + whyNoVF(out)})
}

// whyNoVF says what the host shows of the reason.
func whyNoVF(a *VMAdapter) string {
	said := ""
	if len(a.StatusDescription) > 0 {
		said = " Windows says of the adapter: " + strings.Join(a.StatusDescription, " ")
	}
	switch {
	case a.SwitchID == "":
		return "The adapter is not connected to a switch." + said
	case !a.SwitchIovEnabled:
		return fmt.Sprintf("The switch %q has no SR-IOV (facts.md 8).", a.SwitchName) + said
	case a.SwitchVFs == 0:
		return fmt.Sprintf("The switch %q offers no virtual functions: SR-IOV is off at its net adapter, not supported by the host, or waits for a restart of the adapter (facts.md 15).", a.SwitchName) + said
	case a.SwitchVFsInUse >= a.SwitchVFs:
		return fmt.Sprintf("All %d virtual functions of the switch %q are in use.", a.SwitchVFs, a.SwitchName) + said
	}
	return fmt.Sprintf("The switch %q uses %d of %d virtual functions; port policies of the adapter can keep one away (facts.md 58).", a.SwitchName, a.SwitchVFsInUse, a.SwitchVFs) + said
}

// RestoreAdapterRdma puts back what the adapter held before the resource and gives up the claim. An adapter or VM
// that is gone needs nothing but a clean ledger. What an import found has no before: it stays as it is.
func (h *Host) RestoreAdapterRdma(ctx context.Context, ref AdapterRef, managed AdapterRdmaSpec, rules RestartRules) ([]Note, error) {
	const op = "restore the RDMA settings of the network adapter"
	unlock, err := h.lockVM(ctx, ref.VMName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	inv, err := h.read(ctx, op, adapterAbout(ref), partHost, partSwitchList, partLedger, partVM(ref.VMID, ref.VMName))
	if err != nil {
		return nil, err
	}
	object := adapterObjectOf(ref.VMID, ref.AdapterID)
	now, err := inv.findAdapter(h, op, ref)
	if IsNotFound(err) {
		h.claimed.remove(object)
		return nil, h.forgetObject(ctx, op, inv, object)
	}
	if err != nil {
		return nil, err
	}
	c := &rdmaChange{host: h, op: op, inv: inv, now: now, object: object, w: inv.ledger.writes(), rules: rules}
	c.prepare(nil, &managed)
	c.w.release(object)
	if _, err := c.run(ctx); err != nil {
		return c.notes, err
	}
	h.claimed.remove(object)
	return c.notes, nil
}

// forgetObject takes everything about an object, and what its owners owe, out of the ledger.
func (h *Host) forgetObject(ctx context.Context, op string, inv *Inventory, object string, owners ...string) error {
	w := inv.ledger.writes()
	w.dropObject(object)
	for _, d := range inv.ledger.debts() {
		if contains(owners, d.Owner) {
			w.settle(d)
		}
	}
	if len(w.remove) == 0 {
		return nil
	}
	b := h.batch(op, object)
	w.addRemoves(b)
	defer w.guard(h)()
	return b.run(ctx)
}

// dropObject takes everything about an object out of the ledger.
func (w *ledgerWrites) dropObject(object string) {
	for name, raw := range w.from.values {
		var r struct {
			Object string `json:"object"`
		}
		if json.Unmarshal([]byte(raw), &r) == nil && r.Object == object {
			w.drop(name)
		}
	}
}

// remembers says whether the ledger knows what a setting of an object was before.
func (l *ledger) remembers(object string) bool {
	for name, raw := range l.values {
		var r before
		if strings.HasPrefix(name, "before.") && json.Unmarshal([]byte(raw), &r) == nil && r.Object == object {
			return true
		}
	}
	return false
}
