package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// match picks entries of the journal.
type match func(lab.JournalEntry) bool

// call matches a cmdlet, on a host or in a guest, and parameters by "Name=value".
func call(cmdlet string, parameters ...string) match {
	return func(e lab.JournalEntry) bool {
		if !strings.EqualFold(e.Cmdlet, cmdlet) || e.Error != "" {
			return false
		}
		for _, p := range parameters {
			name, want, _ := strings.Cut(p, "=")
			if got, ok := e.Parameters[name]; !ok || strings.Trim(fmt.Sprint(got), "[]") != want {
				return false
			}
		}
		return true
	}
}

// keyword matches the setting of an advanced property to a value.
func keyword(name, value string) match {
	set := call("Set-NetAdapterAdvancedProperty", "RegistryValue="+value)
	return func(e lab.JournalEntry) bool {
		return set(e) && strings.EqualFold(fmt.Sprint(object1(e, "InputObject")["RegistryKeyword"]), name)
	}
}

func event(name string) match { return func(e lab.JournalEntry) bool { return e.Event == name } }

// object1 is the first object that a call was given.
func object1(e lab.JournalEntry, parameter string) object {
	v := e.Parameters[parameter]
	if many, ok := v.(list); ok && len(many) > 0 {
		v = many[0]
	}
	o, _ := v.(object)
	return o
}

// objectNames are the names of all objects that a call was given.
func objectNames(e lab.JournalEntry, parameter string) []string {
	many, ok := e.Parameters[parameter].(list)
	if !ok {
		many = list{e.Parameters[parameter]}
	}
	var out []string
	for _, v := range many {
		if o, ok := v.(object); ok {
			_, name, _ := strings.Cut(fmt.Sprint(o["$object"]), " ")
			out = append(out, name)
		}
	}
	return out
}

// vmOf is the VM that an entry is about, "" for the host itself.
func vmOf(e lab.JournalEntry) string {
	if vm, ok := strings.CutPrefix(e.Target, "guest:"); ok {
		return vm
	}
	if e.Event != "" {
		vm, _, _ := strings.Cut(e.Object, "/")
		return vm
	}
	for _, p := range []string{"VMNetworkAdapter", "VM"} {
		if o := object1(e, p); o != nil {
			return fmt.Sprint(o["VMName"])
		}
	}
	return ""
}

// orderRule says that on each host, or for each VM, what matches first comes before what matches then. Both
// must be there.
type orderRule struct {
	name        string
	perVM       bool
	first, then match
}

// procedureA is the order of the RoCE lab on ConnectX-3 Pro, going up.
func procedureA(team bool) []orderRule {
	rules := []orderRule{
		{"A3 before A4: the registry value, then the restart (facts.md 36)", false, call("Set-ItemProperty", "Name=EnableGuestRdma", "Value=1"), call("Disable-NetAdapter")},
		{"A3 before A5: settings are written when the switch is made (facts.md 8, 27)", false, call("Set-ItemProperty", "Name=EnableGuestRdma", "Value=1"), call("New-VMSwitch", "EnableIov=true")},
		{"A5 before A4: one restart for all", false, call("New-VMSwitch", "EnableIov=true"), call("Disable-NetAdapter")},
		{"A4 before A7: no restart under guests that have a virtual function", false, event("net_adapter_restart"), call("Add-VMNetworkAdapter")},
		{"A8 before the virtual function: the VLAN on the host's side (facts.md 60)", true, call("Set-VMNetworkAdapterVlan", "Access=true", "VlanId=101"), call("Set-VMNetworkAdapter", "IovWeight=100")},
		{"A7 before A9", true, call("Set-VMNetworkAdapter", "IovWeight=100"), event("vf_assigned")},
		{"A14 before A9: DCB before there is traffic (facts.md 85)", false, call("Enable-NetQosFlowControl", "Priority=3"), event("vf_assigned")},
		{"A9 before A12: RDMA in the guest once the virtual function is there", true, event("vf_assigned"), call("Enable-NetAdapterRdma")},
	}
	if team {
		rules = append(rules, orderRule{"A6 before the virtual function: the mapping decides where it comes from (facts.md 22)", true, call("Set-VMNetworkAdapterTeamMapping", "PhysicalNetAdapterName=MyRDMANIC"), call("Set-VMNetworkAdapter", "IovWeight=100")})
	}
	return rules
}

// procedureB is the order of the iWARP lab, going up.
func procedureB() []orderRule {
	return []orderRule{
		{"B4 before B5: the keyword, then the restart (facts.md 35)", false, keyword("RdmaMaxVfsEnabled", "8"), call("Disable-NetAdapter")},
		{"B4 before B3: settings first (facts.md 8)", false, keyword("RdmaMaxVfsEnabled", "8"), call("New-VMSwitch", "EnableIov=true")},
		{"B3 before B5: the switch, then the restart (facts.md 25)", false, call("New-VMSwitch", "EnableIov=true"), call("Disable-NetAdapter")},
		{"B5 before B6: no restart under guests that have a virtual function", false, event("net_adapter_restart"), call("Add-VMNetworkAdapter")},
		{"B6 before B7", true, call("Add-VMNetworkAdapter"), call("Set-VMNetworkAdapterRdma", "RdmaWeight=100")},
		{"B7 before B8: RdmaWeight before IovWeight (facts.md 44)", true, call("Set-VMNetworkAdapterRdma", "RdmaWeight=100"), call("Set-VMNetworkAdapter", "IovWeight=100")},
		{"B8 before B10", true, event("vf_assigned"), keyword("RdmaVfEnabled", "1")},
		{"B10: the keyword before RDMA (facts.md 65)", true, keyword("RdmaVfEnabled", "1"), call("Enable-NetAdapterRdma")},
	}
}

// downA and downB are the order of taking the labs down.
func downA() []orderRule {
	return []orderRule{
		{"the guest before its virtual function", true, call("Disable-NetAdapterRdma"), call("Set-VMNetworkAdapter", "IovWeight=0")},
		{"the virtual function before its adapter", true, call("Set-VMNetworkAdapter", "IovWeight=0"), call("Remove-VMNetworkAdapter")},
		{"adapters before their switch (facts.md 62)", false, call("Remove-VMNetworkAdapter"), call("Remove-VMSwitch")},
		{"the switch before the settings", false, call("Remove-VMSwitch"), call("Remove-ItemProperty", "Name=EnableGuestRdma")},
	}
}

func downB() []orderRule {
	return []orderRule{
		{"the guest before its virtual function", true, call("Disable-NetAdapterRdma"), call("Set-VMNetworkAdapter", "IovWeight=0")},
		{"B8: IovWeight 0 before RdmaWeight 0 (facts.md 44)", true, call("Set-VMNetworkAdapter", "IovWeight=0"), call("Set-VMNetworkAdapterRdma", "RdmaWeight=0")},
		{"weights before the adapter", true, call("Set-VMNetworkAdapterRdma", "RdmaWeight=0"), call("Remove-VMNetworkAdapter")},
		{"adapters before their switch (facts.md 62)", false, call("Remove-VMNetworkAdapter"), call("Remove-VMSwitch")},
		{"switches before the settings", false, call("Remove-VMSwitch"), keyword("RdmaMaxVfsEnabled", "0")},
	}
}

// inOrder checks rules on a journal, for each host and for each of its VMs.
func inOrder(t testing.TB, journal []lab.JournalEntry, vms map[string][]string, rules []orderRule) {
	t.Helper()
	for _, host := range sortedKeys(vms) {
		for _, rule := range rules {
			groups := []string{""}
			if rule.perVM {
				groups = vms[host]
			}
			for _, vm := range groups {
				var first, then []int64
				for _, e := range journal {
					if e.OutOfBand || e.Host != host || rule.perVM && !strings.EqualFold(vmOf(e), vm) {
						continue
					}
					if rule.first(e) {
						first = append(first, e.Seq)
					}
					if rule.then(e) {
						then = append(then, e.Seq)
					}
				}
				switch at := fmt.Sprintf("%s %s: %s", host, vm, rule.name); {
				case len(first) == 0:
					t.Errorf("%s: the first never happens", at)
				case len(then) == 0:
					t.Errorf("%s: the second never happens", at)
				case slices.Max(first) > slices.Min(then):
					t.Errorf("%s: out of order: %v, then %v", at, first, then)
				}
			}
		}
	}
}

// bounces counts the bounces of a device by the calls: all its ports are disabled before the first is enabled,
// the same ones are enabled again (facts.md 35, 37), and nothing else is done on the host meanwhile.
func bounces(t testing.TB, journal []lab.JournalEntry, host string, ports []string) int {
	t.Helper()
	var off, on []string
	n := 0
	for _, e := range journal {
		if e.Host != host || e.Target != "host" || e.OutOfBand || readsOnly(e.Cmdlet) || isLedger(e) {
			continue
		}
		switch names := objectNames(e, "InputObject"); {
		case e.Cmdlet == "Disable-NetAdapter" && len(on) == 0:
			off = append(off, names...)
		case e.Cmdlet == "Enable-NetAdapter":
			if on = append(on, names...); len(on) < len(off) {
				continue
			}
			slices.Sort(off)
			slices.Sort(on)
			if !slices.Equal(off, ports) || !slices.Equal(on, ports) {
				t.Errorf("%s: disabled %q and enabled %q, want all of %q", host, off, on, ports)
			}
			off, on = nil, nil
			n++
		case len(off) > 0:
			t.Errorf("%s: %s %v while ports of the device are disabled", host, e.Cmdlet, e.Parameters)
		}
	}
	if len(off) > 0 {
		t.Errorf("%s: %q stay disabled", host, off)
	}
	return n
}

// isLedger says that a call is about the ledger on the host.
func isLedger(e lab.JournalEntry) bool {
	return strings.Contains(fmt.Sprint(e.Parameters), ledgerKey)
}

const ledgerKey = "TerraformProviderHyperV"

// known fails the test where a call has a cmdlet, a parameter or a value that the reference lacks, or where
// one failed that is no mere look-up.
func known(t testing.TB, journal []lab.JournalEntry) {
	t.Helper()
	reference, err := catalog.Load()
	must(t, err)
	for _, e := range journal {
		if e.Cmdlet == "" || e.OutOfBand {
			continue
		}
		x := reference.Cmdlet(e.Cmdlet)
		if x == nil || x.Name != e.Cmdlet {
			t.Errorf("%d: the reference has no %s", e.Seq, e.Cmdlet)
			continue
		}
		for name, value := range e.Parameters {
			p := x.Parameter(name)
			if p == nil || p.Name != name {
				t.Errorf("%d: %s has no parameter %s in the reference", e.Seq, e.Cmdlet, name)
				continue
			}
			if enum := reference.Enum(p.Type); enum != nil && !slices.ContainsFunc(enum.Members, func(m catalog.EnumMember) bool { return fmt.Sprint(value) == m.Name }) {
				t.Errorf("%d: %s -%s %v is no value of %s", e.Seq, e.Cmdlet, name, value, enum.Name)
			}
		}
		if e.Error != "" && !lookUp(e) {
			t.Errorf("%d: %s %s %v failed: %s", e.Seq, e.Target, e.Cmdlet, e.Parameters, e.Error)
		}
	}
}

// lookUp says that an error only says that something is not there: no key, no value, no team, no feature yet.
func lookUp(e lab.JournalEntry) bool {
	switch e.Cmdlet {
	case "Get-ItemProperty":
		return strings.HasPrefix(e.Error, "PathNotFound,") || strings.HasPrefix(e.Error, "System.Management.Automation.PSArgumentException,")
	case "Get-Acl":
		return strings.HasPrefix(e.Error, "PathNotFound,")
	case "Get-NetQosDcbxSetting", "Get-NetQosFlowControl", "Get-NetQosTrafficClass":
		return e.Error == "CommandNotFoundException"
	case "Get-VMSwitchTeam":
		return strings.HasPrefix(e.Error, "InvalidParameter,")
	}
	return false
}
