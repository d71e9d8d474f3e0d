package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

const packageType = "hyperv_driver_package"

const publisher = "CN=Microsoft Windows Hardware Compatibility Publisher"

// driver is a driver for the lab's device, or with vf for its virtual functions.
func driver(vf bool, version, date string) lab.DriverOfFile {
	return lab.DriverOfFile{Profile: "intel_x722", VF: vf, Provider: "Intel", Version: version, Date: date, FileName: "i40ea68.sys", Catalog: "net.cat"}
}

// withPackage puts a package into a folder of hv1 and of the guest of vm1.
func withPackage(folder, inf string, d lab.DriverOfFile, signature string) func(*lab.Scenario) {
	return func(s *lab.Scenario) {
		for _, vf := range []bool{false, true} {
			d.VF = vf
			list := &s.Hosts[0].Files
			if vf {
				list = &s.Hosts[0].VMs[0].Guest.Files
			}
			x := d
			*list = append(*list, lab.ScenarioFile{Path: folder + `\` + inf, Content: "inf " + d.Version, Driver: &x},
				lab.ScenarioFile{Path: folder + `\net.cat`, Content: "cat " + d.Version, Signature: signature, Signer: publisher}, lab.ScenarioFile{Path: folder + `\sub\net.sys`, Content: "sys"})
		}
	}
}

// withVF gives vm1 a virtual function.
func withVF(s *lab.Scenario) {
	s.Hosts[0].Switches = append(s.Hosts[0].Switches, lab.ScenarioSwitch{Name: "iov", Ports: []string{"iWARP 1"}, Iov: true})
	s.Hosts[0].VMs[0].Adapters[0].Switch, s.Hosts[0].VMs[0].Adapters[0].IovWeight = "iov", 100
}

func newer() lab.DriverOfFile { return driver(false, "1.99.0.0", "2026-01-01") }

func packageConfig(more object) object {
	return plus(object{"source_path": `C:\Drivers\new`, "inf": "net.inf", "version": "1.99.0.0"}, more)
}

func TestDriverPackageLifecycle(t *testing.T) {
	for target, at := range targets() {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			l, h := targetLab(t, target, withPackage(`C:\Drivers\new`, "net.inf", newer(), "Valid"), withPackage(`C:\Other`, "net.inf", newer(), "Valid"), withVF)
			running := strings.Replace(l.state(), `"data_path": false`, `"data_path": true`, 1)
			before := l.settledState(running)
			r := h.resource(packageType)
			config := packageConfig(at)
			if w := r.plan(config).diagnostics.warnings().String(); !strings.Contains(w, "stops and starts") {
				t.Errorf("the plan says %s", w)
			}
			d := mustApply(t, r, config)
			if w := d.warnings().String(); strings.Contains(w, "No net adapter runs") {
				t.Error(w)
			}
			if actual(r, "installed_by_provider") != true || actual(r, "restart_required") != false || actual(r, "driver_provider") != "Intel" || fmt.Sprint(actual(r, "net_adapter_names")) == "[]" {
				t.Errorf("state %v", r.state)
			}
			if r.state["published_name"] != "oem0.inf" || r.state["signer"] != publisher || len(fmt.Sprint(r.state["sha256"])) != 64 || !strings.Contains(fmt.Sprint(r.state["drivers_before"]), "Intel") {
				t.Errorf("state %v", r.state)
			}
			if s := l.state(); strings.Contains(s, "TerraformProviderHyperV-Driver") || strings.Contains(s, `Windows\\TerraformProviderHyperV`) {
				t.Error("a task or a folder is left behind")
			}
			r.settled(config)
			seq := l.seq()
			pinned := plus(config, object{"source_path": `C:\Other`, "sha256": r.state["sha256"], "signer": publisher})
			mustApply(t, r, pinned)
			if got := cmdlets(l.since(seq)); len(got) > 0 {
				t.Errorf("another path did %v", got)
			}
			r.settled(pinned)
			again := h.resource(packageType)
			id := map[bool]string{true: "hv1/oem0.inf", false: "hv1/vm1/oem0.inf"}[target == "host"]
			if d := again.importID(id).errors(); len(d) > 0 {
				t.Error(d)
			}
			if again.state["inf"] != "net.inf" || again.state["version"] != "1.99.0.0" {
				t.Errorf("imported %v", again.state)
			}
			mustApply(t, r, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
			if d := again.refresh(); len(d.errors()) > 0 || again.state != nil {
				t.Errorf("a package that is gone: %v %s", again.state, d)
			}
		})
	}
}

// A package that is not what was asked for is never installed, and leaves nothing behind.
func TestDriverPackageRefused(t *testing.T) {
	older := driver(false, "1.98.0.0", "2026-01-01")
	for name, x := range map[string]struct {
		config object
		want   string
	}{
		"no folder":     {object{"source_path": `C:\Drivers\gone`}, "source_path"},
		"no inf":        {object{"inf": "other.inf"}, "inf"},
		"sha256":        {object{"sha256": strings.Repeat("0", 64)}, "sha256"},
		"signer":        {object{"signer": "CN=Somebody"}, "signer"},
		"not signed":    {object{"source_path": `C:\Drivers\unsigned`}, "NotSigned"},
		"other version": {object{"source_path": `C:\Drivers\older`}, "1.98.0.0"},
	} {
		for _, target := range []string{"host", "powershell_direct"} {
			t.Run(name+" "+target, func(t *testing.T) {
				t.Parallel()
				l, h := targetLab(t, target, withPackage(`C:\Drivers\new`, "net.inf", newer(), "Valid"), withPackage(`C:\Drivers\unsigned`, "net.inf", newer(), "NotSigned"), withPackage(`C:\Drivers\older`, "net.inf", older, "Valid"))
				before := l.state()
				r := h.resource(packageType)
				seq := l.seq()
				if d := r.apply(packageConfig(plus(targets()[target], x.config))); !strings.Contains(d.errors().String(), x.want) {
					t.Errorf("said %s, want %q", d, x.want)
				}
				if r.state != nil {
					t.Errorf("state %v", r.state)
				}
				for _, e := range l.since(seq) {
					if strings.Contains(fmt.Sprint(e), "net_adapter_restart") {
						t.Errorf("something restarted: %v", e)
					}
				}
				if after := l.settledState(before); after != before {
					t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
				}
			})
		}
	}
}

// Values that are never right are refused before anything is sent.
func TestDriverPackageBadInput(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	for name, x := range map[string]object{
		"inf": {"inf": `sub\net.inf`}, "inf ": {"inf": "net.exe"}, "inf  ": {"inf": "%TEMP%.inf"}, "inf   ": {"inf": "$(Arg0).inf"}, "inf    ": {"inf": "*.inf"}, "inf     ": {"inf": "a\".inf"},
		"source_path": {"source_path": `\\server\share\x`}, "source_path ": {"source_path": `Drivers`}, "source_path  ": {"source_path": "C:\\a\nb"},
		"version": {"version": "newest"}, "sha256": {"sha256": "abc"}, "signer": {"signer": ""},
	} {
		if d := h.validate(packageType, packageConfig(x)).errors(); len(d) == 0 || !strings.Contains(d.String(), strings.TrimSpace(name)) {
			t.Errorf("%s %v: %s", name, x, d)
		}
	}
}

// Odd names reach Windows as they are.
func TestDriverPackageNames(t *testing.T) {
	for _, name := range []string{`it's`, `a [1] b`, "back`tick; $x", `ñandú 网`, `a & b (c)`, `trailing dot.x`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, inf := `C:\Users\`+name+` %TEMP% $(x)`, name+".inf"
			l, h := targetLab(t, "host", withPackage(folder, inf, newer(), "Valid"))
			before := l.state()
			r := h.resource(packageType)
			config := packageConfig(object{"source_path": folder, "inf": inf})
			mustApply(t, r, config)
			r.settled(config)
			mustApply(t, r, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// What runs already, what Windows ranks lower, and what needs a restart of Windows.
func TestDriverPackageOutcomes(t *testing.T) {
	restart := newer()
	restart.Restart = true
	for name, x := range map[string]struct {
		driver   lab.DriverOfFile
		version  string
		warning  string
		required bool
		used     bool
	}{
		"older than what runs": {driver(false, "1.0.0.0", "2001-01-01"), "1.0.0.0", "exit code 259", false, false},
		"from the next start":  {restart, "1.99.0.0", "exit code 3010", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, h := targetLab(t, "host", withPackage(`C:\Drivers\new`, "net.inf", x.driver, "Valid"))
			before := l.state()
			r := h.resource(packageType)
			config := packageConfig(object{"version": x.version})
			if w := mustApply(t, r, config).warnings().String(); !strings.Contains(w, x.warning) {
				t.Errorf("said %s", w)
			}
			if actual(r, "restart_required") != x.required {
				t.Errorf("state %v", r.state)
			}
			r.settled(config)
			if x.required {
				l.cmdlet("hv1", "host", "Restart-Computer", object{"Force": true})
				if d := eventually("", func() string { return r.refresh().errors().String() }); d != "" {
					t.Fatal(d)
				}
				if actual(r, "restart_required") != false || fmt.Sprint(actual(r, "net_adapter_names")) == "[]" {
					t.Errorf("after the restart: %v", r.state)
				}
			}
			mustApply(t, r, nil)
			if after := l.settledState(before); after != before && !x.required {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

// A package that was there before stays; a folder that others may write to is refused.
func TestDriverPackageFoundThere(t *testing.T) {
	l, h := targetLab(t, "host", withPackage(`C:\Drivers\new`, "net.inf", newer(), "Valid"))
	first, second := h.resource(packageType), h.resource(packageType)
	mustApply(t, first, packageConfig(nil))
	if d := second.apply(packageConfig(nil)).errors().String(); !strings.Contains(d, "Another resource") {
		t.Errorf("said %s", d)
	}
	mustApply(t, first, nil)
	l.cmdlet("hv1", "host", "New-Item", object{"Path": `C:\Windows\TerraformProviderHyperV`, "ItemType": "Directory"})
	l.unchanged(func() {
		if d := second.apply(packageConfig(nil)).errors().String(); !strings.Contains(d, "rights that the provider did not give it") {
			t.Errorf("said %s", d)
		}
	})
}

// cases.md 59: a program that takes long is not waited for in the session. One whose end nobody saw is found again and not
// started a second time; what its exit code said is not lost.
func TestDriverPackageOutlivesTheProvider(t *testing.T) {
	restart := newer()
	restart.Restart = true
	l, h := targetLab(t, "host", withPackage(`C:\Drivers\new`, "net.inf", restart, "Valid"), func(s *lab.Scenario) { s.Timing.DriverInstall = 1500 })
	before := l.state()
	r := h.resource(packageType)
	// The first run puts the package into the store, the second one is cut off.
	if d := r.apply(packageConfig(object{"timeouts": object{"create": "2500ms"}})).errors().String(); !strings.Contains(d, "scheduled task TerraformProviderHyperV-Driver-") {
		t.Fatalf("said %s", d)
	}
	if r.state != nil {
		t.Errorf("state %v", r.state)
	}
	config := packageConfig(nil)
	mustApply(t, r, config)
	if actual(r, "restart_required") != true {
		t.Errorf("state %v", r.state)
	}
	r.settled(config)
	running, most := 0, 0
	for _, e := range l.journal() {
		text := fmt.Sprint(e)
		if strings.Contains(text, "program_start") {
			running++
		}
		if strings.Contains(text, "program_end") {
			running--
		}
		most = max(most, running)
	}
	if most != 1 {
		t.Errorf("%d programs ran at once", most)
	}
	mustApply(t, r, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// A guest that is off keeps its package: destroy says so, and how to leave it; a VM that is gone takes it along.
func TestDriverPackageGuestUnreachable(t *testing.T) {
	l, h := targetLab(t, "powershell_direct", withPackage(`C:\Drivers\new`, "net.inf", newer(), "Valid"))
	r := h.resource(packageType)
	config := packageConfig(object{"host": "hv1", "vm_name": "vm1"})
	mustApply(t, r, config)
	l.cmdlet("hv1", "host", "Stop-VM", object{"Name": "vm1", "Force": true})
	if d := r.refresh(); len(d.errors()) > 0 || len(d.warnings()) == 0 || r.state == nil {
		t.Fatalf("refresh: %s", d)
	}
	r.settled(config)
	if d := r.applyPlan(r.plan(nil)).errors(); !strings.Contains(d.String(), `on_unreachable = "forget"`) || r.state == nil {
		t.Fatalf("destroy: %s", d)
	}
	kept := r.state
	r.state = plus(kept, object{"on_unreachable": "forget"})
	if d := r.applyPlan(r.plan(nil)); len(d.errors()) > 0 || !strings.Contains(d.warnings().String(), "left as it is") {
		t.Fatalf("destroy: %s", d)
	}
	if strings.Contains(l.state(), "TerraformProviderHyperV") {
		t.Error("the ledger still knows the package")
	}
	if d := h.resource(packageType).apply(config).errors(); len(d) == 0 {
		t.Error("installed in a guest that is off")
	}
	l.cmdlet("hv1", "host", "Remove-VM", object{"Name": "vm1", "Force": true})
	r.state = kept
	if d := r.applyPlan(r.plan(nil)).errors(); len(d) > 0 {
		t.Errorf("destroy: %s", d)
	}
	r.state = kept
	if d := r.refresh().errors(); len(d) > 0 || r.state != nil {
		t.Errorf("state %v: %s", r.state, d)
	}
}

// The driver of the net adapter that carries the connection is replaced: the connection breaks, the install goes on.
func TestDriverPackageOnManagementPath(t *testing.T) {
	d := newer()
	d.Profile = "generic"
	l, h := targetLab(t, "host", withPackage(`C:\Drivers\new`, "net.inf", d, "Valid"))
	before := l.state()
	r := h.resource(packageType)
	mustApply(t, r, packageConfig(nil))
	if restarts(l.journal())["session_drop"] == 0 && !strings.Contains(fmt.Sprint(l.journal()), "session_drop") {
		t.Error("the connection did not break")
	}
	if !strings.Contains(fmt.Sprint(actual(r, "net_adapter_names")), "Ethernet") {
		t.Errorf("state %v", r.state)
	}
	r.settled(packageConfig(nil))
	mustApply(t, r, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

// What Windows refuses in the middle leaves nothing behind, and is told with what it said.
func TestDriverPackageFaults(t *testing.T) {
	for _, cmdlet := range []string{"Set-Acl", "Copy-Item", "Get-FileHash", "Get-AuthenticodeSignature", "Register-ScheduledTask", "Start-ScheduledTask"} {
		t.Run(cmdlet, func(t *testing.T) {
			t.Parallel()
			l, h := targetLab(t, "host", withPackage(`C:\Drivers\new`, "net.inf", newer(), "Valid"))
			before := l.state()
			l.fault(door.Rule{Host: "hv1", Cmdlet: cmdlet, Effect: door.ErrorRecordEffect, Count: 1, Error: &door.ErrorRecord{ID: "Windows System Error 1," + cmdlet, Category: "NotSpecified", Message: "Incorrect function."}})
			r := h.resource(packageType)
			if d := r.apply(packageConfig(nil)).errors(); len(d) == 0 || r.state != nil {
				t.Fatalf("said %s, state %v", d, r.state)
			}
			mustApply(t, r, packageConfig(nil)) // the fault is over
			r.settled(packageConfig(nil))
			mustApply(t, r, nil)
			if after := l.settledState(before); after != before {
				t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
			}
		})
	}
}

func TestDriverPackageRequests(t *testing.T) {
	l, h := targetLab(t, "host", withPackage(`C:\Drivers\new`, "net.inf", newer(), "Valid"))
	r := h.resource(packageType)
	mustApply(t, r, packageConfig(nil))
	if n := l.requests(func() { r.refresh() }); n > 2 {
		t.Errorf("a read makes %d requests, at most 2", n)
	}
}
