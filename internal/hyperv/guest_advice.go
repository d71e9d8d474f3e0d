package hyperv

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// buildCreators is Windows 10 1703: from it on a guest needs RdmaWeight (facts.md 5).
const buildCreators = 15063

// stuck explains at which stage the way to RDMA stopped, by what host and guest show, and what to do.
func (c *guestChange) stuck(ctx context.Context) error {
	_, missing := c.g.Stage()
	a := c.g.Adapter
	taken := ""
	if len(c.steps) > 0 {
		taken = " Recovery steps taken: " + strings.Join(c.steps, ", ") + "."
	}
	fail := func(cause, fix string) error {
		return c.failed(missing, "verification", "require", cause+taken, fix)
	}
	hints := c.hostHints(ctx, missing)
	switch missing {
	case StageAssigned:
		return fail(c.noVF()+" IovUsage of the VM's network adapter is 0. "+whyNoVF(a)+hints, "Free a virtual function, or correct what the host says, then apply again.")
	case StageDriver, StageAdapters:
		return fail(c.driverCause()+hints, c.driverFix())
	case StageRdma:
		return fail(c.rdmaCause()+hints, c.rdmaFix())
	}
	cause := fmt.Sprintf("RDMA is on on %q and %q, but SMB (Get-SmbServerNetworkInterface) does not say RDMA capable (facts.md 92).", c.g.Synthetic.Name, c.g.VF.Name)
	if !c.g.Synthetic.SMBListed {
		cause = fmt.Sprintf("SMB does not list the interface of %q at all: it has no IP address, or no link (facts.md 63, 92).", c.g.Synthetic.Name)
	}
	if c.g.VF.QueuePairs == 0 {
		cause += fmt.Sprintf(" %q has no queue pairs (MaxQueuePairCount 0 in Get-NetAdapterRdma): it was allocated without RDMA, or its driver does none (facts.md 47a, 90).", c.g.VF.Name)
	}
	if c.g.OS != nil && c.g.OS.OperatingSystemSKU == 48 {
		cause += " The guest is Windows Pro, which has no SMB Direct (facts.md 71)."
	}
	return fail(cause+hints, c.ladderFix())
}

// ladderFix names the recovery steps that are left, or where to look when none is.
func (c *guestChange) ladderFix() string {
	var left []string
	for _, step := range RecoverySteps() {
		if !contains(c.steps, step) {
			left = append(left, strconv.Quote(step))
		}
	}
	if len(left) == 0 {
		return "Look at the guest's System log and at the net adapter's driver; a restart of the host renews SMB's table (facts.md 66)."
	}
	fix := "Add the next recovery step to recovery (left: " + strings.Join(left, ", ") + "), or take it by hand, then apply again (facts.md 66)."
	if !contains(c.steps, RecoverVM) {
		fix += " A weight that was set while the VM ran may count only from its next start on (facts.md 45, 47a)."
	}
	return fix
}

func (c *guestChange) driverCause() string {
	if !c.g.Reachable {
		said := ""
		if c.g.Err != nil {
			said = " " + c.g.Err.Error()
		}
		return fmt.Sprintf("The VM has a virtual function (IovUsage %d), but the guest cannot be reached.%s", c.g.Adapter.IovUsage, said)
	}
	if c.g.VF == nil {
		text := c.noVF()
		for _, p := range c.g.Problems {
			text += fmt.Sprintf(" The guest has a device that does not work: %q, %s, problem code %d", p.FriendlyName, p.InstanceID, p.ConfigManagerErrorCode)
			if p.ConfigManagerErrorCode == 28 {
				text += " (no driver)"
			}
			text += "."
		}
		return text
	}
	if c.g.Synthetic == nil {
		return fmt.Sprintf("The guest shows the virtual function %q, but no Hyper-V network adapter with MAC %s.", c.g.VF.Name, macDashes(c.g.Adapter.MacAddress))
	}
	return fmt.Sprintf("The guest shows the virtual function %q (driver %s %s by %s), but its data path is not active (VFDataPathActive false; status %s): the driver does not bring it up (facts.md 55).",
		c.g.VF.Name, c.g.VF.DriverFileName, c.g.VF.DriverVersion, c.g.VF.DriverProvider, strings.Join(c.g.Adapter.Status, ", "))
}

func (c *guestChange) driverFix() string {
	if !c.g.Reachable {
		return "Wait until the guest has started, check guest_credentials, then apply again; raise the timeout if the guest needs longer."
	}
	return "Install the vendor's VF driver in the guest, of a version that fits the host's (facts.md 6, 99), then apply again."
}

func (c *guestChange) rdmaCause() string {
	vf := c.g.VF
	switch {
	case vf.RdmaListed:
		return fmt.Sprintf("RDMA does not stay on: %q %s, %q %s.", c.g.Synthetic.Name, onOff(c.g.Synthetic.RdmaEnabled), vf.Name, onOff(vf.RdmaEnabled))
	case strings.HasPrefix(vf.DriverProvider, "Microsoft"):
		return fmt.Sprintf("The virtual function %q offers no RDMA (Get-NetAdapterRdma does not list it): it runs Windows' own driver, and in-box drivers do no guest RDMA (facts.md 6).", vf.Name)
	}
	return fmt.Sprintf("The virtual function %q offers no RDMA (Get-NetAdapterRdma does not list it): it was allocated without RDMA, or its driver %s %s does none (facts.md 6, 47a).", vf.Name, vf.DriverFileName, vf.DriverVersion)
}

func (c *guestChange) rdmaFix() string {
	if strings.HasPrefix(c.g.VF.DriverProvider, "Microsoft") {
		return "Install the vendor's VF driver in the guest, then apply again."
	}
	return "Check the host's settings (hyperv_nic_rdma_settings, rdma_weight). A weight that was set while the VM ran may count only from the next start of the VM, or the next restart of the net adapters, on (facts.md 45, 47a): " +
		"put \"net_adapter\" and \"vm_restart\" into recovery, or restart them, then apply again."
}

// hostHints is what the host shows of the reasons why a virtual function is not there or does no RDMA.
func (c *guestChange) hostHints(ctx context.Context, stage string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	inv, err := c.host.Inventory(ctx)
	if err != nil {
		return ""
	}
	var hints []string
	add := func(format string, args ...any) { hints = append(hints, fmt.Sprintf(format, args...)) }
	a := c.g.Adapter
	if inv.HasRdmaWeight && a.RdmaWeight == 0 && c.g.OS != nil && stage != StageAssigned {
		switch build, err := strconv.Atoi(c.g.OS.BuildNumber); {
		case err != nil:
		case build >= buildCreators:
			add("rdma_weight is 0, and a guest from Windows 10 1703 on needs it above 0 (facts.md 5).")
		default:
			add("rdma_weight is 0. Whether a guest before Windows 10 1703 gets RDMA with iov_weight alone is not certain (facts.md 3, 5): set rdma_weight too.")
		}
	}
	seen := map[string]bool{}
	for _, guid := range a.MembersOfTheSwitch {
		nic, ok := inv.netAdapterByGUID(guid)
		if !ok {
			continue
		}
		d, ok := inv.device(nic.Name, "")
		if !ok || seen[d.Location] {
			continue
		}
		seen[d.Location] = true
		c.deviceHints(inv, d, add)
		if d.Profile.NeedsTeamMapping && len(a.MembersOfTheSwitch) > 1 && !strings.EqualFold(a.TeamMapping, d.Ports[0].Name) {
			add("With this device only the first port (%q) carries guest RDMA, and the adapter is not mapped to it: set team_mapping (facts.md 22).", d.Ports[0].Name)
		}
	}
	if len(hints) == 0 {
		return ""
	}
	return " " + strings.Join(hints, " ")
}

func (c *guestChange) deviceHints(inv *Inventory, d *Device, add func(string, ...any)) {
	if open, _ := inv.openDebts(func(x Debt) bool { return x.Kind == RestartNetAdapter && x.TargetID == d.Location }); len(open) > 0 {
		add("A restart of the net adapters %s is owed: %s.", quoteList(d.PortNames()), open[0].Reason)
	}
	if d.Profile.MaxVFsKeyword != "" {
		values := map[string]bool{}
		for _, p := range inv.valueOnPorts(d, d.Profile.MaxVFsKeyword) {
			values[strings.Join(p.RegistryValue, ",")] = true
		}
		switch {
		case len(values) > 1:
			add("%s is not the same on all ports of %s (facts.md 35).", d.Profile.MaxVFsKeyword, quoteList(d.PortNames()))
		case values["0"]:
			add("%s is 0 on %s, so no virtual function does RDMA: set rdma_max_vfs (facts.md 35).", d.Profile.MaxVFsKeyword, quoteList(d.PortNames()))
		}
	}
	if s := d.Profile.GuestRdmaService; s != "" {
		v := inv.Registry[registrySetting((*GuestRdmaRegistry)(nil).orDefault(d.Profile))]
		switch {
		case v == nil || *v == 0:
			add("%s of %s is not 1: set guest_rdma_registry (facts.md 36).", d.Profile.GuestRdmaValue, s)
		case c.g.VF != nil && c.g.VF.QueuePairs == 0:
			add("%s of %s is 1, but the driver may take it only from a larger restart than that of the net adapters (procedure A4, facts.md 36): "+
				"disable and enable the system device of %s in the host's Device Manager (the net adapters on it go down meanwhile), or restart the host, then apply again.", d.Profile.GuestRdmaValue, s, s)
		}
	}
}
