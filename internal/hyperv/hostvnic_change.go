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

// buildServer2016 is the first Windows with RDMA on a virtual adapter of the host (procedures.md A15).
const buildServer2016 = 14393

// hostVNicChange is a change of such an adapter on its way.
type hostVNicChange struct {
	host *Host
	op   string
	inv  *Inventory
	sw   *VMSwitch
	spec *HostVNicSpec
}

func (c *hostVNicChange) invalid(kind Kind, attribute, value, cause, fix string) error {
	return &Error{Kind: kind, Op: c.op, Host: c.host.Name, Object: hostVNicAbout(c.spec.Name), Attribute: attribute, Value: value, Cause: cause, Fix: fix}
}

// begin locks the switch, reads, and checks every rule before anything is changed.
// ref is the adapter that is there already: its switch is then known by it, whatever the switch is named by now.
func (h *Host) beginHostVNic(ctx context.Context, op string, spec *HostVNicSpec, ref *HostVNicRef) (*hostVNicChange, func(), error) {
	unlock, err := h.locks.lock(ctx, "switch:"+strings.ToLower(spec.SwitchName))
	if err != nil {
		return nil, nil, err
	}
	c := &hostVNicChange{host: h, op: op, spec: spec}
	if c.inv, err = h.read(ctx, op, hostVNicAbout(spec.Name), hostVNicParts()...); err == nil {
		err = c.check(ref)
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return c, unlock, nil
}

func (c *hostVNicChange) check(ref *HostVNicRef) error {
	if os := c.inv.OS; os != nil && c.spec.Rdma {
		if build, err := strconv.Atoi(os.BuildNumber); err == nil && build < buildServer2016 {
			return c.invalid(Unsupported, "rdma", "true", fmt.Sprintf("The host is %s (build %d). RDMA on a virtual adapter of the host exists from Windows Server 2016 on; before it SMB Direct and a virtual switch exclude each other (procedures.md A15).", os.Caption, build),
				"Use a host with Windows Server 2016 or later, or RDMA of the physical adapter without a switch.")
		}
	}
	own := ""
	if ref != nil {
		v, err := c.inv.findHostVNic(c.host, c.op, *ref)
		if err != nil {
			return err
		}
		own = v.SwitchID
	}
	var ids []string
	for i := range c.inv.Switches {
		if s := &c.inv.Switches[i]; own != "" && sameGUID(s.ID, own) || own == "" && strings.EqualFold(s.Name, c.spec.SwitchName) {
			c.sw, ids = s, append(ids, s.ID)
		}
	}
	switch {
	case len(ids) == 0:
		return c.invalid(NotFound, "switch_name", c.spec.SwitchName, "The host has no switch of this name.", "Switches of the host: "+quoteList(switchNames(c.inv.Switches))+".")
	case len(ids) > 1:
		return c.invalid(Ambiguous, "switch_name", c.spec.SwitchName, fmt.Sprintf("%d switches have this name: %s.", len(ids), strings.Join(ids, ", ")), "Rename one of them, so that the name says which is meant.")
	case strings.EqualFold(c.sw.SwitchType, "Private"):
		return c.invalid(Unsupported, "switch_name", c.spec.SwitchName, "The switch is private: the host has no adapter on it.", "Use an external switch.")
	}
	if err := c.checkTeam(); err != nil {
		return err
	}
	return c.checkMapping()
}

// checkTeam refuses a switch on a classic team: RDMA does not pass it (facts.md 21, procedures.md A15).
func (c *hostVNicChange) checkTeam() error {
	if !c.spec.Rdma {
		return nil
	}
	for _, guid := range c.sw.NetAdapterInterfaceGuid {
		nic, ok := c.inv.netAdapterByGUID(guid)
		if !ok {
			continue
		}
		team := ""
		for _, m := range c.inv.lbfo {
			if strings.EqualFold(m.Name, nic.Name) {
				team = m.Team
			}
		}
		if strings.HasPrefix(nic.InterfaceDescription, "Microsoft Network Adapter Multiplexor") {
			team = nic.Name
		}
		if team != "" {
			return c.invalid(Unsupported, "switch_name", c.sw.Name, fmt.Sprintf("The switch is on the classic team (LBFO) %q, which passes no RDMA (facts.md 21).", team),
				"Make the switch on the adapters themselves, with Switch Embedded Teaming: net_adapter_names of hyperv_iov_switch takes several.")
		}
	}
	return nil
}

// checkMapping checks that the physical net adapter is a member of the switch.
func (c *hostVNicChange) checkMapping() error {
	want := c.spec.TeamMapping
	if want == nil {
		return nil
	}
	nic, ok := c.inv.netAdapter(*want)
	member := false
	for _, guid := range c.sw.NetAdapterInterfaceGuid {
		member = member || ok && sameGUID(guid, nic.InterfaceGuid)
	}
	if !member {
		return c.invalid(Invalid, "team_mapping", *want, "The net adapter is no member of the switch, so nothing can be mapped to it (facts.md 88).", "Members of the switch: "+quoteList(c.members())+".")
	}
	name := nic.Name
	c.spec.TeamMapping = &name
	return nil
}

func (c *hostVNicChange) members() []string {
	var out []string
	for _, guid := range c.sw.NetAdapterInterfaceGuid {
		if m, ok := c.inv.netAdapterByGUID(guid); ok {
			out = append(out, m.Name)
		}
	}
	return out
}

// CreateHostVNic adds a virtual adapter for the host to the switch, gives it its settings and turns its RDMA on. It ends
// with the adapter as it is wanted, or with none.
func (h *Host) CreateHostVNic(ctx context.Context, spec HostVNicSpec) (*HostVNic, error) {
	c, unlock, err := h.beginHostVNic(ctx, "create the network adapter of the management operating system", &spec, nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	there := map[string]bool{}
	for _, m := range c.inv.Management {
		there[m.ID] = true
		if strings.EqualFold(m.Name, spec.Name) && sameGUID(m.SwitchID, c.sw.ID) {
			return nil, c.invalid(Conflict, "name", spec.Name, "The host has an adapter of this name on the switch already.",
				fmt.Sprintf("Import it (terraform import hyperv_management_vnic_rdma.<name> '%s/%s/%s'), or choose another name.", h.Name, c.sw.Name, hostVNicGUID(m.ID)))
		}
	}
	if strings.EqualFold(spec.Name, c.sw.Name) {
		return nil, c.invalid(Invalid, "name", spec.Name, "The adapter that is named like the switch is the switch's own (allow_management_os; facts.md 16).",
			"Choose another name. For RDMA on the switch's own adapter let hyperv_iov_switch make it, and import it here.")
	}
	out, err := c.create(ctx, there)
	if err != nil {
		return nil, c.undoCreate(ctx, there, err)
	}
	return out, nil
}

func (c *hostVNicChange) create(ctx context.Context, there map[string]bool) (*HostVNic, error) {
	b := c.host.batch(c.op, hostVNicAbout(c.spec.Name))
	p := map[string]any{"ManagementOS": true, "Name": c.spec.Name, "SwitchName": c.sw.Name, "Passthru": true, "Confirm": false}
	added := changeAndRead[ManagementAdapter](b, wire.Call{Cmdlet: "Add-VMNetworkAdapter", Parameters: p, Save: "vnic"})
	// a switch's first host vNIC may take the VLAN of its net adapter over (facts.md 23): what is asked for is written in any case
	c.addSettings(b, &HostVNic{IsolationMode: "None"}, nil)
	net := hostVNicNetName(c.spec.Name)
	if _, taken := c.inv.netAdapter(net); !taken && c.spec.Rdma { // the name that Windows gives is nobody else's
		find[named](b, wire.Call{Cmdlet: "Get-NetAdapterRdma", Save: "rdma", Where: []wire.Condition{{Property: "Name", Equals: []string{net}}}}, tolerating(anyError))
		b.change(wire.Call{Cmdlet: "Enable-NetAdapterRdma", Input: "rdma", Parameters: map[string]any{"Confirm": false}})
	}
	after := b.readParts(hostVNicParts()...)
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	if len(added.Items) == 0 {
		return nil, &Error{Kind: Other, Op: c.op, Host: c.host.Name, Object: hostVNicAbout(c.spec.Name), Cause: "Add-VMNetworkAdapter returned no adapter."}
	}
	inv, err := after()
	if err != nil {
		return nil, err
	}
	c.inv = inv
	return c.finish(ctx, HostVNicRef{SwitchName: c.sw.Name, Name: c.spec.Name, ID: added.Items[0].ID})
}

// undoCreate removes an adapter that was added and could not be finished: the one of that name that was not there before.
func (c *hostVNicChange) undoCreate(ctx context.Context, there map[string]bool, cause error) error {
	ctx, cancel := c.host.cleanUp(ctx)
	defer cancel()
	inv, err := c.host.read(ctx, c.op, hostVNicAbout(c.spec.Name), partSwitches)
	if err != nil {
		return cause // the host cannot be asked: the next plan finds an adapter of this name, if it is there
	}
	for _, m := range inv.Management {
		if there[m.ID] || !strings.EqualFold(m.Name, c.spec.Name) || !sameGUID(m.SwitchID, c.sw.ID) {
			continue
		}
		if err := c.host.removeHostVNic(ctx, m); err != nil {
			return errors.Join(cause, fmt.Errorf("removing the unfinished adapter %s failed too: %w", m.ID, err))
		}
	}
	return cause
}

// addSettings adds the calls that bring the adapter saved as "vnic" from what it is to what is wanted. old is what was
// managed before: what it managed and the spec does not goes back to Windows' default.
func (c *hostVNicChange) addSettings(b *batch, now *HostVNic, old *HostVNicSpec) {
	s := c.spec
	on := func(cmdlet string, more map[string]any) {
		p := map[string]any{"VMNetworkAdapter": wire.First("vnic"), "Confirm": false}
		for k, v := range more {
			p[k] = v
		}
		b.change(wire.Call{Cmdlet: cmdlet, Parameters: p})
	}
	managed := old != nil && (old.IsolationID != nil || old.AccessVlanID != nil)
	switch {
	case s.IsolationID != nil:
		if now.VlanMode != "Untagged" {
			on("Set-VMNetworkAdapterVlan", map[string]any{"Untagged": true})
		}
		if !now.Isolated() || now.IsolationID != *s.IsolationID || now.Untagged != s.Untagged {
			on("Set-VMNetworkAdapterIsolation", map[string]any{"IsolationMode": "Vlan", "DefaultIsolationID": *s.IsolationID, "AllowUntaggedTraffic": s.Untagged})
		}
	case s.AccessVlanID != nil || managed:
		if now.Isolated() {
			on("Set-VMNetworkAdapterIsolation", map[string]any{"IsolationMode": "None", "DefaultIsolationID": 0, "AllowUntaggedTraffic": false})
		}
		switch {
		case s.AccessVlanID != nil && (now.VlanMode != "Access" || now.AccessVlanID != *s.AccessVlanID):
			on("Set-VMNetworkAdapterVlan", map[string]any{"Access": true, "VlanId": *s.AccessVlanID})
		case s.AccessVlanID == nil && now.VlanMode != "Untagged":
			on("Set-VMNetworkAdapterVlan", map[string]any{"Untagged": true})
		}
	}
	switch {
	case s.TeamMapping != nil && !strings.EqualFold(now.TeamMapping, *s.TeamMapping):
		on("Set-VMNetworkAdapterTeamMapping", map[string]any{"PhysicalNetAdapterName": *s.TeamMapping})
	case s.TeamMapping == nil && old != nil && old.TeamMapping != nil && now.TeamMapping != "":
		on("Remove-VMNetworkAdapterTeamMapping", nil)
	}
}

// finish waits until Windows has made the net adapter, gives it its RDMA and its name, and holds everything against what
// is wanted.
func (c *hostVNicChange) finish(ctx context.Context, ref HostVNicRef) (*HostVNic, error) {
	deadline := time.Now().Add(c.host.opts.RestartWait)
	for changes := 0; ; {
		v, err := c.inv.findHostVNic(c.host, c.op, ref)
		if err != nil {
			return nil, err
		}
		switch {
		case v.Net == nil && time.Now().After(deadline):
			return nil, &Error{Kind: TimedOut, Op: c.op, Host: c.host.Name, Object: hostVNicAbout(v.Name), Cause: "Windows has made no net adapter for it.", Fix: "Look at Device Manager of the host, then apply again."}
		case v.Net == nil:
			if err := c.host.wait(ctx); err != nil {
				return nil, err
			}
		case c.rdmaDiffers(v) && changes < 2:
			changes++
			if err := c.setRdma(ctx, v); err != nil {
				return nil, err
			}
			continue
		default:
			return v, c.verify(v)
		}
		if c.inv, err = c.host.read(ctx, c.op, hostVNicAbout(v.Name), hostVNicParts()...); err != nil {
			return nil, err
		}
	}
}

func (c *hostVNicChange) rdmaDiffers(v *HostVNic) bool {
	return v.RdmaListed && v.RdmaEnabled != c.spec.Rdma
}

// setRdma turns RDMA of the net adapter on or off (facts.md 48, 88). It is found by its description, which Windows keeps
// unique and no rename changes.
func (c *hostVNicChange) setRdma(ctx context.Context, v *HostVNic) error {
	b := c.host.batch(c.op, hostVNicAbout(v.Name))
	c.addRdma(b, v)
	after := b.readParts(hostVNicParts()...)
	if err := b.run(ctx); err != nil {
		return err
	}
	inv, err := after()
	c.inv = inv
	return err
}

func (c *hostVNicChange) addRdma(b *batch, v *HostVNic) {
	find[named](b, wire.Call{Cmdlet: "Get-NetAdapterRdma", Save: "rdma", Where: []wire.Condition{{Property: "InterfaceDescription", Equals: []string{v.Net.InterfaceDescription}}}})
	cmdlet := map[bool]string{true: "Enable-NetAdapterRdma", false: "Disable-NetAdapterRdma"}[c.spec.Rdma]
	b.change(wire.Call{Cmdlet: cmdlet, Input: "rdma", Parameters: map[string]any{"Confirm": false}})
}

// verify holds what was read back against what is wanted.
func (c *hostVNicChange) verify(v *HostVNic) error {
	s := c.spec
	if s.Rdma && !v.RdmaListed {
		return c.invalid(Unsupported, "rdma", "true", fmt.Sprintf("The net adapter %q offers no RDMA (Get-NetAdapterRdma does not list it): no member of the switch does RDMA, or theirs is off (facts.md 88).", v.Net.Name),
			fmt.Sprintf("Members of the switch: %s. Turn their RDMA on (rdma of hyperv_nic_rdma_settings; Intel needs sriov and vmq too, facts.md 32), or use a switch on adapters that do RDMA.", quoteList(c.members())))
	}
	check := func(attribute, want, got string) error {
		if strings.EqualFold(want, got) {
			return nil
		}
		return c.invalid(Other, attribute, want, fmt.Sprintf("%s was set to %q and reads %q.", attribute, want, got), "Something else changes the adapter: find out what, or leave the attribute out.")
	}
	all := []error{check("name", s.Name, v.Name)}
	if v.RdmaListed {
		all = append(all, check("rdma", strconv.FormatBool(s.Rdma), strconv.FormatBool(v.RdmaEnabled)))
	}
	if s.AccessVlanID != nil {
		all = append(all, check("vlan.access_vlan_id", fmt.Sprint(*s.AccessVlanID), fmt.Sprint(v.AccessVlanID)), check("vlan", "None", v.IsolationMode))
	}
	if s.IsolationID != nil {
		all = append(all, check("isolation.vlan_id", fmt.Sprint(*s.IsolationID), fmt.Sprint(v.IsolationID)), check("isolation", "Vlan", v.IsolationMode))
	}
	if s.TeamMapping != nil {
		all = append(all, check("team_mapping", *s.TeamMapping, v.TeamMapping))
	}
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	v.Notes = c.notes(v)
	return nil
}

// notes say what a person should know of an adapter that is as it is wanted.
func (c *hostVNicChange) notes(v *HostVNic) []Note {
	var out []Note
	if c.spec.Rdma && v.QueuePairs == 0 {
		out = append(out, Note{fmt.Sprintf("RDMA of %q is on, but has no queue pairs", v.NetName()),
			"MaxQueuePairCount is 0: the driver of the switch's net adapters does no RDMA really (facts.md 90). A restart of theirs may be owed."})
	}
	if v.NetName() != hostVNicNetName(v.Name) {
		out = append(out, Note{fmt.Sprintf("The net adapter of %q is named %q", v.Name, v.NetName()),
			fmt.Sprintf("Windows names it %q; somebody renamed it, or it kept an older name (facts.md 88). It is found by its device, so nothing here depends on the name; scripts that go by names may.", hostVNicNetName(v.Name))})
	}
	return out
}
