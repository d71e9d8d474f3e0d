package hyperv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dcbChange is one change of a host's data center bridging on its way.
type dcbChange struct {
	host  *Host
	inv   *Inventory
	dcb   *Dcb
	op    string
	spec  *DcbSpec
	claim string
	w     *ledgerWrites

	started   bool // something was changed on the host
	classes   []classStep
	policies  []policyStep
	flowOn    []int64
	flowOff   []int64
	willing   *bool
	adapters  []adapterSwitch
	devices   []*Device // of net adapters that DCB is, or was, turned on for
	uninstall bool
	notes     []Note

	unlock  func() // of the devices
	removal bool   // the resource goes
	unpaid  bool   // a restart that was due failed
}

// policyStep is one call on the way from the policies that are there to those that shall be.
type policyStep struct {
	verb   string // Remove, Set, New
	policy QosPolicy
}

type adapterSwitch struct {
	name string
	on   bool
}

// ApplyDcb makes the host hold the spec, and puts back what was changed before and is no longer wanted. old is what was
// managed so far, nil on create: a create that fails takes back what it did.
func (h *Host) ApplyDcb(ctx context.Context, spec DcbSpec, old *DcbSpec) (*Dcb, error) {
	const op = "change data center bridging"
	claim, names := spec.claimant(), spec.NetAdapters
	c, unlock, err := h.beginDcb(ctx, op, &spec, old)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c.claim = claim
	if err := h.refuseSwapped(c.inv.NetAdapters, op, names, spec.Known); err != nil {
		return nil, err
	}
	if have, ok := c.inv.ledger.claim(dcbObject); old == nil && (ok && have != claim || h.claimed.has(dcbObject)) {
		return nil, &Error{Kind: Conflict, Op: op, Host: h.Name, Object: dcbAbout, Attribute: "host", Value: h.Name,
			Cause: "Data center bridging of this host belongs to another resource already: " + have + " (by the ledger on the host).",
			Fix:   fmt.Sprintf("Keep one hyperv_dcb per host. If the other one was lost with its state, import it: terraform import hyperv_dcb.<name> '%s'.", h.Name)}
	}
	out, err := c.apply(ctx, old)
	if err == nil {
		h.claimed.add(dcbObject)
		out.Known = knowPorts(c.inv.NetAdapters, names, spec.Known)
		return out, nil
	}
	if old == nil && c.started && KindOf(err) != SessionLost {
		err = h.takeBackDcb(ctx, err)
	}
	return nil, err
}

func (c *dcbChange) apply(ctx context.Context, old *DcbSpec) (*Dcb, error) {
	if err := c.ensureFeature(ctx); err != nil {
		return nil, err
	}
	if err := c.check(old); err != nil {
		return nil, err
	}
	c.w.claim(dcbObject, c.claim)
	c.prepare()
	out, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	out.Notes = append(out.Notes, out.notes(c.spec)...)
	return out, nil
}

// remembered are the settings of the host's DCB of which the ledger knows what was there before, with that value.
func (c *dcbChange) remembered() map[string]*string {
	out := map[string]*string{}
	for name, raw := range c.w.from.values {
		var r before
		if strings.HasPrefix(name, "before.") && json.Unmarshal([]byte(raw), &r) == nil && r.Object == dcbObject {
			out[r.Setting] = r.Value
		}
	}
	return out
}

// remember keeps what a setting is; nil stands for absent.
func (c *dcbChange) remember(setting string, now any) {
	var value *string
	switch v := now.(type) {
	case nil:
	case string:
		value = &v
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err) // plain structs
		}
		text := string(raw)
		value = &text
	}
	c.w.remember(before{Object: dcbObject, Setting: setting, Value: value, About: dcbAbout})
}

func was[T any](value *string) (T, bool) {
	var out T
	return out, value != nil && json.Unmarshal([]byte(*value), &out) == nil
}

// prepare lists what is to be written: for the spec, and to put back what it does not have.
func (c *dcbChange) prepare() {
	c.prepareClasses()
	c.preparePolicies()
	if c.dcb.cmdlets {
		c.prepareFlowControl()
		c.prepareWilling()
	} else {
		c.forgetAll(settingWilling, settingFlowControl)
	}
	c.prepareAdapters()
	c.prepareFeature()
}

// forgetAll drops what the ledger remembers of settings that went away with the feature.
func (c *dcbChange) forgetAll(prefixes ...string) {
	for setting := range c.remembered() {
		for _, p := range prefixes {
			if strings.HasPrefix(setting, p) {
				c.w.forget(dcbObject, setting)
			}
		}
	}
}

// targetClasses are the host's traffic classes as they will be, without the default one.
func (c *dcbChange) targetClasses() []TrafficClass {
	target := slices.Clone(c.spec.TrafficClasses)
	recorded := map[string]*string{}
	for setting, value := range c.remembered() {
		if name, ok := strings.CutPrefix(setting, settingClass); ok {
			recorded[strings.ToLower(name)] = value
		}
	}
	for _, now := range c.dcb.TrafficClasses {
		if hasClass(target, now.Name) {
			continue
		}
		value, ours := recorded[strings.ToLower(now.Name)]
		if !ours {
			target = append(target, now)
		} else if class, ok := was[TrafficClass](value); ok {
			target = append(target, class)
		}
	}
	for _, name := range sorted(recorded) {
		if class, ok := was[TrafficClass](recorded[name]); ok && !hasClass(target, class.Name) {
			target = append(target, class) // there before the provider changed it, and gone since
		}
	}
	return target
}

func (c *dcbChange) prepareClasses() {
	target := c.targetClasses()
	if !c.dcb.cmdlets {
		c.forgetAll(settingClass)
		return
	}
	c.classes = classSteps(c.dcb.TrafficClasses, target)
	for _, want := range c.spec.TrafficClasses {
		if now, ok := c.dcb.class(want.Name); ok {
			c.remember(settingClass+want.Name, now)
		} else {
			c.remember(settingClass+want.Name, nil)
		}
	}
	for setting := range c.remembered() {
		if name, ok := strings.CutPrefix(setting, settingClass); ok && !hasClass(c.spec.TrafficClasses, name) {
			c.w.forget(dcbObject, setting)
		}
	}
}

func (c *dcbChange) preparePolicies() {
	for _, want := range c.spec.Policies {
		now, ok := c.dcb.policy(want.Name)
		if ok {
			c.remember(settingPolicy+want.Name, now)
		} else {
			c.remember(settingPolicy+want.Name, nil)
		}
		c.setPolicy(want)
	}
	recorded := c.remembered()
	for _, setting := range sorted(recorded) {
		name, ok := strings.CutPrefix(setting, settingPolicy)
		if !ok || hasPolicy(c.spec.Policies, name) {
			continue
		}
		c.w.forget(dcbObject, setting)
		if policy, existed := was[QosPolicy](recorded[setting]); existed {
			c.setPolicy(policy)
		} else if now, ok := c.dcb.policy(name); ok {
			c.policies = append(c.policies, policyStep{"Remove", now})
		}
	}
	// what goes, goes first: two policies never tag the same traffic on the way
	slices.SortStableFunc(c.policies, func(a, b policyStep) int {
		return strings.Compare(map[bool]string{true: "0", false: "1"}[a.verb == "Remove"], map[bool]string{true: "0", false: "1"}[b.verb == "Remove"])
	})
}

// setPolicy makes a policy what is wanted. One that matches other traffic is made anew: a condition cannot be taken off.
func (c *dcbChange) setPolicy(want QosPolicy) {
	now, exists := c.dcb.policy(want.Name)
	switch {
	case !exists:
		c.policies = append(c.policies, policyStep{"New", want})
	case now.same(want):
	case now.NetDirectPort == want.NetDirectPort && strings.EqualFold(now.Template, want.Template) && !now.Special:
		c.policies = append(c.policies, policyStep{"Set", want})
	default:
		c.policies = append(c.policies, policyStep{"Remove", now}, policyStep{"New", want})
	}
}

func (c *dcbChange) prepareFlowControl() {
	recorded := c.remembered()
	for p := range int64(8) {
		setting := settingFlowControl + strconv.FormatInt(p, 10)
		now := slices.Contains(c.dcb.FlowControl, p)
		want := now
		if c.spec.FlowControl != nil {
			c.remember(setting, now)
			want = slices.Contains(c.spec.FlowControl, p)
		} else if value, ok := recorded[setting]; ok {
			c.w.forget(dcbObject, setting)
			if on, ok := was[bool](value); ok {
				want = on
			}
		}
		switch {
		case want && !now:
			c.flowOn = append(c.flowOn, p)
		case !want && now:
			c.flowOff = append(c.flowOff, p)
		}
	}
}

func (c *dcbChange) prepareWilling() {
	now := c.dcb.Willing != nil && *c.dcb.Willing
	want := now
	if c.spec.Willing != nil {
		c.remember(settingWilling, now)
		want = *c.spec.Willing
	} else if value, ok := c.remembered()[settingWilling]; ok {
		c.w.forget(dcbObject, settingWilling)
		if on, ok := was[bool](value); ok {
			want = on
		}
	}
	if want != now {
		c.willing = &want
	}
}

// prepareAdapters turns DCB of net adapters on, or back; their devices start anew (facts.md 85c).
func (c *dcbChange) prepareAdapters() {
	for _, a := range c.dcb.Adapters {
		nic, ok := c.inv.netAdapter(a.Name)
		if !ok {
			continue
		}
		wanted := containsFold(c.spec.NetAdapters, a.Name)
		_, claimed := c.w.from.claim(dcbPort(nic.InterfaceGuid))
		r, recorded := c.w.from.before(portObject(*nic), settingAdapterQos)
		if !wanted && !claimed && !recorded {
			continue
		}
		d, ok := c.inv.device(a.Name, "")
		if !ok {
			continue
		}
		c.touch(d)
		want := a.Enabled
		if wanted {
			text := strconv.FormatBool(a.Enabled)
			c.w.remember(before{Object: portObject(*nic), Setting: settingAdapterQos, Value: &text, About: nic.Name})
			c.w.claim(dcbPort(nic.InterfaceGuid), dcbOwner)
			want = true
		} else {
			c.w.forget(portObject(*nic), settingAdapterQos)
			c.w.release(dcbPort(nic.InterfaceGuid))
			if on, ok := was[bool](r.Value); ok {
				want = on
			}
		}
		if want == a.Enabled {
			continue
		}
		c.adapters = append(c.adapters, adapterSwitch{a.Name, want})
		c.w.owe(Debt{Kind: RestartNetAdapter, Target: d.Title(), TargetID: d.Location, Owner: dcbOwner, Since: c.inv.Now(),
			Reason: "DCB of a net adapter changed: the driver reads its settings when the adapters start (facts.md 33, 85c)"})
	}
	for _, x := range c.w.from.debts() { // left owed by an earlier change
		for _, hw := range c.inv.Hardware {
			if d, ok := c.inv.device(hw.Name, ""); ok && x.Owner == dcbOwner && d.owes(x) {
				c.touch(d)
			}
		}
	}
}

func (c *dcbChange) touch(d *Device) {
	if !hasDevice(c.devices, d.Location) {
		c.devices = append(c.devices, d)
	}
}

// prepareFeature removes the feature that the provider installed, unless others have settings in it by now.
func (c *dcbChange) prepareFeature() {
	value, ok := c.remembered()[settingFeature]
	if !ok || c.spec.InstallFeature {
		return
	}
	c.w.forget(dcbObject, settingFeature)
	if c.dcb.Feature != featureInstalled && c.dcb.Feature != featurePending || value != nil && *value == featureInstalled {
		return
	}
	left := slices.DeleteFunc(slices.Clone(c.dcb.FlowControl), func(p int64) bool { return slices.Contains(c.flowOff, p) })
	if classes := c.targetClasses(); len(classes)+len(left)+len(c.flowOn) > 0 || c.spec.needsFeature() {
		c.notes = append(c.notes, Note{"The feature " + DcbFeature + " stays", "The provider installed it, but the host has settings in it that are not the provider's (traffic classes or flow control). Remove it when nobody needs them: Uninstall-WindowsFeature " + DcbFeature + "."})
		return
	}
	c.uninstall = true
}
