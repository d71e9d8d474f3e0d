package hyperv

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// ensureFeature sees to the Windows feature, if the spec needs it. It is installed only if that is asked for, and no host is
// ever restarted for it.
func (c *dcbChange) ensureFeature(ctx context.Context) error {
	if !c.spec.needsFeature() {
		return nil
	}
	if c.spec.InstallFeature && c.dcb.Feature != "" && c.dcb.Feature != featurePending {
		c.remember(settingFeature, c.dcb.Feature)
	}
	switch {
	case c.dcb.Feature == featureInstalled, c.dcb.Feature == "" && c.dcb.cmdlets:
		return nil
	case c.dcb.Feature == "":
		return c.refuse(Unsupported, "host", c.host.Name, "This Windows has neither the cmdlets of data center bridging nor Get-WindowsFeature, as a Windows client or a Nano Server has not.",
			"Use Windows Server with the feature "+DcbFeature+" as the host.")
	case c.dcb.Feature == featurePending:
		return c.awaitsRestart()
	case !c.spec.InstallFeature:
		return c.refuse(Unsupported, "install_feature", "false", fmt.Sprintf("The Windows feature %s is not installed on this host (it is %s), so that the host has no traffic classes and no flow control of its own (facts.md 85).", DcbFeature, c.dcb.Feature),
			"Set install_feature = true, or install it: Install-WindowsFeature "+DcbFeature+".")
	}
	b := c.host.batch("install the Windows feature "+DcbFeature, dcbAbout)
	c.w.addPuts(b)
	result := changeAndRead[featureResult](b, wire.Call{Cmdlet: "Install-WindowsFeature", Parameters: map[string]any{"Name": []string{DcbFeature}, "Confirm": false}})
	after := b.readParts(dcbParts(c.spec)...)
	c.started = true
	release := c.w.guard(c.host)
	err := b.run(ctx)
	release()
	if err != nil {
		return err
	}
	if c.inv, err = after(); err != nil {
		return err
	}
	c.dcb, c.w = c.host.dcbOf(c.inv), c.inv.ledger.writes()
	if r := one(result.Items); r != nil && r.RestartNeeded == "Yes" || c.dcb.Feature != featureInstalled || !c.dcb.cmdlets {
		c.started = false // what is installed waits for the restart; taking it back may need one too
		return c.awaitsRestart()
	}
	return nil
}

func (c *dcbChange) awaitsRestart() error {
	return c.refuse(Unsupported, "install_feature", "true", fmt.Sprintf("The Windows feature %s is installed, but the host must restart before it can be used. The provider restarts no host for it.", DcbFeature),
		"Restart the host when it suits, then apply again. Nothing else was changed; the ledger on the host remembers that the provider installed the feature.")
}

// run writes, ledger first, and pays what the devices owe.
func (c *dcbChange) run(ctx context.Context) (*Dcb, error) {
	b := c.host.batch(c.op, dcbAbout)
	c.w.addPuts(b)
	c.addClasses(b)
	c.addPolicies(b)
	c.addHostSettings(b)
	c.addAdapters(b)
	var removed *found[featureResult]
	if c.uninstall {
		removed = changeAndRead[featureResult](b, wire.Call{Cmdlet: "Uninstall-WindowsFeature", Parameters: map[string]any{"Name": []string{DcbFeature}, "Confirm": false}})
	}
	c.w.addRemoves(b)
	after := b.readParts(dcbParts(c.spec)...)
	c.started = true
	release := c.w.guard(c.host)
	err := b.run(ctx)
	release()
	if err != nil {
		return nil, err
	}
	inv, err := after()
	if err != nil {
		return nil, err
	}
	if removed != nil {
		if r := one(removed.Items); r != nil && r.RestartNeeded == "Yes" {
			c.notes = append(c.notes, Note{"The host must restart to remove the feature " + DcbFeature, "Windows removes it at the next restart of the host. The provider restarts no host for it."})
		}
	}
	out := c.host.dcbOf(inv)
	if err := c.verify(out); err != nil {
		return nil, err
	}
	c.pay(ctx, inv)
	out.Debts, _ = inv.openDebts(func(x Debt) bool { return x.Owner == dcbOwner })
	out.Notes = c.notes
	return out, nil
}

// pay restarts each device that owes a restart for DCB, or, where the last of our resources goes, for any.
func (c *dcbChange) pay(ctx context.Context, inv *Inventory) {
	epoch := c.host.currentEpoch()
	c.unlock() // others that change the device come first: one restart serves all
	var failed []string
	p := payment{own: ownedBy(dcbOwner), policy: c.spec.RestartPolicy, removal: c.removal, keep: c.spec.KeepOwedOnDelete, about: dcbAbout}
	for _, d := range c.devices {
		notes, err := c.host.payFor(ctx, d, inv, epoch, p)
		c.notes = append(c.notes, notes...)
		if err != nil {
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		c.unpaid = true
		c.notes = append([]Note{{"The restart of the net adapters failed", strings.Join(failed, "\n") + "\n\nThe settings are written. The restart stays owed and is tried again by the next apply."}}, c.notes...)
	}
}

// addClasses adds the calls for traffic classes. Each is found by its exact name: -Name takes patterns, and [Default] is one.
func (c *dcbChange) addClasses(b *batch) {
	for i, s := range c.classes {
		save := fmt.Sprintf("traffic class %d", i)
		values := map[string]any{"Priority": s.class.Priorities}
		if s.class.Algorithm == AlgorithmETS {
			values["BandwidthPercentage"] = s.class.Bandwidth
		}
		if s.verb == "New" {
			values["Name"], values["Algorithm"], values["Confirm"] = s.class.Name, s.class.Algorithm, false
			b.change(wire.Call{Cmdlet: "New-NetQosTrafficClass", Parameters: values, Select: fieldsOf[named]()})
			continue
		}
		find[named](b, wire.Call{Cmdlet: "Get-NetQosTrafficClass", Save: save, Where: []wire.Condition{{Property: "Name", Equals: []string{s.class.Name}}}})
		if s.verb == "Remove" {
			values = map[string]any{}
		}
		values["InputObject"], values["Confirm"] = wire.Ref{Call: save}, false
		b.change(wire.Call{Cmdlet: s.verb + "-NetQosTrafficClass", Parameters: values})
	}
}

// addPolicies adds the calls for policies: in the local group policy, which outlives a restart of the host (facts.md 85d).
func (c *dcbChange) addPolicies(b *batch) {
	for i, s := range c.policies {
		save := fmt.Sprintf("policy %d", i)
		if s.verb == "New" {
			values := map[string]any{"Name": s.policy.Name, "PriorityValue8021Action": s.policy.Priority, "Confirm": false}
			if s.policy.NetDirectPort != 0 {
				values["NetDirectPortMatchCondition"] = s.policy.NetDirectPort
			} else {
				values[QosTemplates()[s.policy.Template]] = true
			}
			b.change(wire.Call{Cmdlet: "New-NetQosPolicy", Parameters: values, Select: fieldsOf[named]()})
			continue
		}
		find[named](b, wire.Call{Cmdlet: "Get-NetQosPolicy", Save: save, Where: []wire.Condition{{Property: "Name", Equals: []string{s.policy.Name}}}})
		values := map[string]any{"InputObject": wire.Ref{Call: save}, "Confirm": false}
		if s.verb == "Set" {
			values["PriorityValue8021Action"] = s.policy.Priority
		}
		b.change(wire.Call{Cmdlet: s.verb + "-NetQosPolicy", Parameters: values})
	}
}

func (c *dcbChange) addHostSettings(b *batch) {
	if len(c.flowOff) > 0 {
		b.change(wire.Call{Cmdlet: "Disable-NetQosFlowControl", Parameters: map[string]any{"Priority": c.flowOff, "Confirm": false}})
	}
	if len(c.flowOn) > 0 {
		b.change(wire.Call{Cmdlet: "Enable-NetQosFlowControl", Parameters: map[string]any{"Priority": c.flowOn, "Confirm": false}})
	}
	if c.willing != nil {
		b.change(wire.Call{Cmdlet: "Set-NetQosDcbxSetting", Parameters: map[string]any{"Willing": *c.willing, "Confirm": false}})
	}
}

// addAdapters turns DCB of net adapters on or off without the restart that the cmdlet would make of each one: the device is
// bounced once, behind it (facts.md 33, 85c).
func (c *dcbChange) addAdapters(b *batch) {
	for _, on := range []bool{false, true} {
		var names []string
		for _, a := range c.adapters {
			if a.on == on {
				names = append(names, a.name)
			}
		}
		if len(names) == 0 {
			continue
		}
		save := fmt.Sprintf("adapters %t", on)
		find[named](b, wire.Call{Cmdlet: "Get-NetAdapterQos", Save: save, Where: []wire.Condition{{Property: "Name", Equals: names}}})
		b.change(wire.Call{Cmdlet: map[bool]string{true: "Enable-NetAdapterQos", false: "Disable-NetAdapterQos"}[on],
			Parameters: map[string]any{"InputObject": wire.Ref{Call: save}, "NoRestart": true, "Confirm": false}})
	}
}

// verify reads back: what Windows took and did not keep is an error, not a success.
func (c *dcbChange) verify(now *Dcb) error {
	fail := func(attribute, value, got string) error {
		return c.refuse(Other, attribute, value, fmt.Sprintf("It was set to %s and reads %s.", value, got),
			"Something else sets data center bridging of this host (Network ATC, a group policy of the domain, a vendor's service): stop it, or leave the setting out.")
	}
	for _, p := range c.spec.Policies {
		if got, ok := now.policy(p.Name); !ok || !got.same(p) {
			return fail(fmt.Sprintf("policies[%q]", p.Name), p.String(), got.String())
		}
	}
	for _, x := range c.spec.TrafficClasses {
		if got, ok := now.class(x.Name); !ok || !got.same(x) {
			return fail(fmt.Sprintf("traffic_classes[%q]", x.Name), x.String(), got.String())
		}
	}
	if c.spec.FlowControl != nil && !slices.Equal(c.spec.FlowControl, now.FlowControl) {
		return fail("flow_control_priorities", joinNumbers(c.spec.FlowControl), joinNumbers(now.FlowControl))
	}
	if w := c.spec.Willing; w != nil && (now.Willing == nil || *now.Willing != *w) {
		return fail("dcbx_willing", fmt.Sprint(*w), fmt.Sprint(!*w))
	}
	return nil
}

// takeBackDcb undoes a create that failed on its way. Nothing was bounced yet, so nothing needs to be again.
func (h *Host) takeBackDcb(ctx context.Context, cause error) error {
	ctx, cancel := h.cleanUp(ctx)
	defer cancel()
	inv, err := h.read(ctx, "take the change of data center bridging back", dcbAbout, dcbParts(&DcbSpec{})...)
	if err == nil {
		empty := &DcbSpec{RestartPolicy: RestartManual}
		c := &dcbChange{host: h, inv: inv, dcb: h.dcbOf(inv), op: "take the change of data center bridging back", spec: empty, w: inv.ledger.writes(), unlock: func() {}}
		c.prepare()
		for _, d := range inv.ledger.debts() {
			if d.Owner == dcbOwner {
				c.w.settle(d)
			}
		}
		for _, d := range c.devices { // what this writes too: nothing is in force yet
			c.w.settle(Debt{Kind: RestartNetAdapter, TargetID: d.Location, Owner: dcbOwner})
		}
		c.w.release(dcbObject)
		_, err = c.run(ctx)
	}
	if err == nil {
		return cause
	}
	return fmt.Errorf("%w\n\nWhat was changed before that could not be taken back (%w); the ledger on the host remembers it, and the next apply continues from there", cause, err)
}

// DeleteDcb puts back what was there before, as far as the ledger knows it: what an import found stays. spec is what the
// state knows.
func (h *Host) DeleteDcb(ctx context.Context, spec DcbSpec) ([]Note, error) {
	const op = "restore data center bridging"
	empty := &DcbSpec{RestartPolicy: spec.RestartPolicy, KeepOwedOnDelete: spec.KeepOwedOnDelete}
	c, unlock, err := h.beginDcb(ctx, op, empty, &spec)
	if err != nil {
		return nil, err
	}
	defer unlock()
	kept := c.unknownBefore(&spec)
	c.removal = true
	c.prepare()
	for _, d := range c.inv.devicesNamed(spec.NetAdapters) { // also where an earlier destroy put them back, and was cut off before it paid
		c.touch(d)
	}
	c.w.release(dcbObject)
	out, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	if c.unpaid {
		return nil, &Error{Kind: Other, Op: op, Host: h.Name, Object: dcbAbout, Cause: out.Notes[0].Detail, Fix: "Apply the destroy again: the restart is still owed."}
	}
	h.claimed.remove(dcbObject)
	if len(kept) > 0 {
		out.Notes = append(out.Notes, Note{"Settings of data center bridging stay as they are", strings.Join(kept, ", ") + ": the resource was imported, so what was there before it is not known."})
	}
	return out.Notes, nil
}

// unknownBefore lists the attributes of which the ledger does not know what was there before.
func (c *dcbChange) unknownBefore(spec *DcbSpec) []string {
	var out []string
	add := func(attribute, setting string) {
		if _, ok := c.inv.ledger.before(dcbObject, setting); !ok {
			out = append(out, attribute)
		}
	}
	for _, p := range spec.Policies {
		add(fmt.Sprintf("policies[%q]", p.Name), settingPolicy+p.Name)
	}
	for _, x := range spec.TrafficClasses {
		add(fmt.Sprintf("traffic_classes[%q]", x.Name), settingClass+x.Name)
	}
	if spec.FlowControl != nil {
		add("flow_control_priorities", settingFlowControl+"0")
	}
	if spec.Willing != nil {
		add("dcbx_willing", settingWilling)
	}
	for _, name := range spec.NetAdapters {
		if nic, ok := c.inv.netAdapter(name); ok {
			if _, known := c.inv.ledger.before(portObject(*nic), settingAdapterQos); !known {
				out = append(out, "net_adapter_names")
			}
		}
	}
	return unique(out)
}
