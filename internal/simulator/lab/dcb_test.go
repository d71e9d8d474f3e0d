package lab

import (
	"slices"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func withDcb(s *Scenario) { s.Hosts[0].Dcb = &ScenarioDcb{Installed: true} }

func algorithm(name string) cmdlet.Enum { return cdxmlEnum("DcbQos", "Algorithm", name, 0) }

func number64(numbers ...int64) []any {
	out := []any{}
	for _, n := range numbers {
		out = append(out, n)
	}
	return out
}

// The rules of facts.md 85b, and what a name in brackets means.
func TestFact85bTrafficClasses(t *testing.T) {
	class := func(name string, bandwidth int64, priorities ...int64) params {
		return params{"Name": name, "Algorithm": algorithm("ETS"), "BandwidthPercentage": bandwidth, "Priority": number64(priorities...)}
	}
	for name, x := range map[string]struct {
		cmdlet string
		p      params
		id     string // "" for no error
		after  string // names, bandwidth and priorities
	}{
		"new":                              {"New-NetQosTrafficClass", class("B", 39, 4), "", "[Default] 1 0,1,2,5,6,7; A 60 3; B 39 4"},
		"above 99 percent":                 {"New-NetQosTrafficClass", class("B", 40, 4), "Windows System Error 87,New-NetQosTrafficClass", ""},
		"a priority that is taken":         {"New-NetQosTrafficClass", class("B", 1, 3), "Windows System Error 87,New-NetQosTrafficClass", ""},
		"a name that is taken":             {"New-NetQosTrafficClass", class("a", 1, 4), "Windows System Error 87,New-NetQosTrafficClass", ""},
		"a priority that there is not":     {"New-NetQosTrafficClass", class("B", 1, 8), "Windows System Error 87,New-NetQosTrafficClass", ""},
		"strict priority with a bandwidth": {"New-NetQosTrafficClass", params{"Name": "B", "Algorithm": algorithm("Strict"), "BandwidthPercentage": int64(1), "Priority": number64(4)}, "Windows System Error 87,New-NetQosTrafficClass", ""},
		"strict priority":                  {"New-NetQosTrafficClass", params{"Name": "B", "Algorithm": algorithm("Strict"), "Priority": number64(4)}, "", "[Default] 40 0,1,2,5,6,7; A 60 3; B 0 4"},
		"change":                           {"Set-NetQosTrafficClass", params{"Name": list("a"), "BandwidthPercentage": int64(99)}, "", "[Default] 1 0,1,2,4,5,6,7; A 99 3"},
		"change too far":                   {"Set-NetQosTrafficClass", params{"Name": list("A"), "BandwidthPercentage": int64(100)}, "Windows System Error 87,Set-NetQosTrafficClass", ""},
		"remove":                           {"Remove-NetQosTrafficClass", params{"Name": list("A")}, "", "[Default] 100 0,1,2,3,4,5,6,7"},
		"remove the default class":         {"Remove-NetQosTrafficClass", params{"Name": list("*")}, "Windows System Error 87,Remove-NetQosTrafficClass", "[Default] 100 0,1,2,3,4,5,6,7"},
		"[Default] is a pattern":           {"Remove-NetQosTrafficClass", params{"Name": list("[Default]")}, "", "[Default] 100 0,1,2,3,4,5,6,7"}, // one of these letters: A is one
		"a name that is not there":         {"Remove-NetQosTrafficClass", params{"Name": list("B")}, "CmdletizationQuery_NotFound_Name,Remove-NetQosTrafficClass", ""},
		"of one net adapter":               {"Get-NetQosTrafficClass", params{"InterfaceAlias": "MyRDMANIC"}, "Windows System Error 50,Get-NetQosTrafficClass", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "mellanox-cx3pro", withDcb)
			b.run("New-NetQosTrafficClass", class("A", 60, 3))
			out := b.on("host", x.cmdlet, x.p)
			id := ""
			if len(out.Errors) > 0 {
				id = out.Errors[0].ID
			}
			if id != x.id {
				t.Errorf("error %q, want %q", id, x.id)
			}
			if x.after == "" {
				x.after = "[Default] 40 0,1,2,4,5,6,7; A 60 3"
			}
			var got []string
			for _, o := range b.run("Get-NetQosTrafficClass", nil) {
				raw, _ := o.Get("Priority")
				var priorities []string
				for _, p := range raw.([]byte) {
					priorities = append(priorities, text(int64(p)))
				}
				got = append(got, get(o, "Name")+" "+get(o, "BandwidthPercentage")+" "+strings.Join(priorities, ","))
			}
			if s := strings.Join(got, "; "); s != x.after {
				t.Errorf("classes %q, want %q", s, x.after)
			}
		})
	}
}

// A net adapter has the host's settings only with the feature, DCB on, Willing off, and hardware for them (facts.md 85a, 87).
func TestFact85aSettingsInForce(t *testing.T) {
	steps := map[string]func(*bench){
		"feature": func(b *bench) { b.run("Install-WindowsFeature", params{"Name": list(dcbFeature)}) },
		"pfc":     func(b *bench) { b.run("Enable-NetQosFlowControl", params{"Priority": number64(3)}) },
		"willing": func(b *bench) { b.run("Set-NetQosDcbxSetting", params{"Willing": false}) },
		"adapter": func(b *bench) { b.run("Enable-NetAdapterQos", params{"Name": list("MyRDMANIC")}) },
		"more":    func(b *bench) { b.run("Enable-NetQosFlowControl", params{"Priority": number64(4, 5, 6)}) },
		"off":     func(b *bench) { b.run("Disable-NetAdapterQos", params{"Name": list("MyRDMANIC")}) },
		"no PFC":  func(b *bench) { b.run("Disable-NetQosFlowControl", nil) },
	}
	for _, x := range []struct {
		name  string
		steps []string
		want  bool
	}{
		{"everything", []string{"feature", "pfc", "willing", "adapter"}, true},
		{"willing", []string{"feature", "pfc", "adapter"}, false},
		{"DCB of the adapter off", []string{"feature", "pfc", "willing"}, false},
		{"turned off again", []string{"feature", "pfc", "willing", "adapter", "off"}, false},
		{"no priority", []string{"feature", "pfc", "willing", "adapter", "no PFC"}, false},
		{"more than the hardware has", []string{"feature", "pfc", "willing", "adapter", "more"}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBench(t, "mellanox-cx3pro", func(s *Scenario) { s.Hosts[0].Devices[1].Ports[0].Keywords = map[string]string{keywordQos: "0"} })
			for _, s := range x.steps {
				steps[s](b)
			}
			on := false
			settings, _ := b.run("Get-NetAdapterQos", params{"Name": list("MyRDMANIC")})[0].Get("OperationalSettings")
			if o, ok := settings.(*cmdlet.Object); ok {
				v, _ := o.Get("PriorityFlowControlEnableArray")
				on = v.([]any)[3].(bool)
			}
			if on != x.want {
				t.Errorf("priority 3 is lossless: %v, want %v", on, x.want)
			}
		})
	}
}

// Turning DCB of an adapter on restarts it, unless -NoRestart: then it is written and not in force (facts.md 33, 85c).
func TestFact85cAdapterRestarts(t *testing.T) {
	for _, noRestart := range []bool{false, true} {
		b := newBench(t, "mellanox-cx3pro", nil)
		b.run("Disable-NetAdapterQos", params{"Name": list("MyRDMANIC"), "NoRestart": noRestart})
		want := map[bool]string{false: "False", true: "True"}[noRestart]
		if got := get(b.run("Get-NetAdapterQos", params{"Name": list("MyRDMANIC")})[0], "Enabled"); got != want {
			t.Errorf("-NoRestart %v: enabled %s, want %s", noRestart, got, want)
		}
		restarted := slices.ContainsFunc(b.Journal(), func(e JournalEntry) bool { return e.Event == "net_adapter_restart" })
		if restarted == noRestart {
			t.Errorf("-NoRestart %v: restarted %v", noRestart, restarted)
		}
	}
}

// The switches about what nobody knows, in both positions.
func TestDcbUnknowns(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	if out := b.on("host", "Get-NetQosFlowControl", nil); len(out.Errors) != 1 || out.Errors[0].ID != "CommandNotFoundException" {
		t.Errorf("the feature's cmdlets without the feature: %v", out.Errors)
	}
	b = newBench(t, "mellanox-cx3pro", func(s *Scenario) { s.Unknowns.DcbCmdletsWithoutFeature = "present" })
	if n := len(b.run("Get-NetQosFlowControl", nil)); n != 8 {
		t.Errorf("%d priorities, want 8", n)
	}
	for _, x := range []struct{ position, needed, state string }{{"no", "No", featureInstalled}, {"yes", "Yes", featureInstallPending}} {
		b := newBench(t, "mellanox-cx3pro", func(s *Scenario) { s.Unknowns.DcbFeatureRestart = x.position })
		made := b.run("Install-WindowsFeature", params{"Name": list(dcbFeature)})[0]
		read := b.run("Get-WindowsFeature", params{"Name": list(dcbFeature)})[0]
		if get(made, "RestartNeeded") != x.needed || get(read, "InstallState") != x.state {
			t.Errorf("position %s: restart needed %s, state %s", x.position, get(made, "RestartNeeded"), get(read, "InstallState"))
		}
		b.run("Restart-Computer", nil)
		b.pass(1 << 40)
		if got := get(b.run("Get-WindowsFeature", params{"Name": list(dcbFeature)})[0], "InstallState"); got != featureInstalled {
			t.Errorf("position %s: %s after a restart", x.position, got)
		}
	}
	for position, want := range map[string]string{"name": "ETS", "number": "2"} {
		b := newBench(t, "mellanox-cx3pro", func(s *Scenario) { withDcb(s); s.Unknowns.TrafficClassAlgorithm = position })
		if got := get(b.run("Get-NetQosTrafficClass", nil)[0], "Algorithm"); got != want {
			t.Errorf("position %s: algorithm %s", position, got)
		}
	}
}

func TestNetQosPolicies(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", nil)
	b.run("New-NetQosPolicy", params{"Name": "SMB", "NetDirectPortMatchCondition": int64(445), "PriorityValue8021Action": int64(3)})
	b.run("New-NetQosPolicy", params{"Name": "SMB", "PolicyStore": activeStore, "SMB": true, "PriorityValue8021Action": int64(4)})
	if out := b.on("host", "New-NetQosPolicy", params{"Name": "smb", "Default": true}); len(out.Errors) != 1 {
		t.Error("a second policy of the name in one store")
	}
	p := b.run("Get-NetQosPolicy", nil)
	if len(p) != 1 || get(p[0], "NetDirectPortMatchCondition") != "445" || get(p[0], "PriorityValue8021Action") != "3" || get(p[0], "Template") != "None" || get(p[0], "Owner") != "Group Policy (Machine)" {
		t.Errorf("policies of the local group policy: %v", p)
	}
	b.run("Restart-Computer", nil)
	b.pass(1 << 40)
	if n := len(b.run("Get-NetQosPolicy", params{"PolicyStore": activeStore})); n != 0 {
		t.Errorf("%d policies of the active store outlived a restart", n)
	}
	b.run("Set-NetQosPolicy", params{"Name": list("SMB"), "PriorityValue8021Action": int64(5)})
	b.run("Remove-NetQosPolicy", params{"Name": list("[SMB]")}) // a pattern: one letter
	if got := names(b.run("Get-NetQosPolicy", nil), "PriorityValue"); got != "5" {
		t.Errorf("priority %s, want 5", got)
	}
}

// A guest has no DCB (facts.md 60).
func TestFact60NoDcbInAGuest(t *testing.T) {
	b := newBench(t, "mellanox-cx3pro", withDcb)
	for _, name := range []string{"Get-WindowsFeature", "Get-NetQosPolicy", "Get-NetQosFlowControl", "New-NetQosTrafficClass"} {
		if b.Available("hv1", "guest:"+b.machine("vm1").ID, name) {
			t.Errorf("a guest has %s", name)
		}
	}
	if out := b.on("guest:"+b.machine("vm1").ID, "Get-NetAdapterQos", nil); len(out.Objects)+len(out.Errors) != 0 {
		t.Errorf("DCB of a guest's net adapters: %v", out)
	}
}
