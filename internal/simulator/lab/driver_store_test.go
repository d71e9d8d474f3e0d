package lab

import (
	"fmt"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// driverFiles are an INF with its catalog.
func driverFiles(folder string, d DriverOfFile, signature string) []ScenarioFile {
	d.Catalog = "x.cat"
	return []ScenarioFile{{Path: folder + `\x.inf`, Content: fmt.Sprintf("inf %s %v", d.Version, d.VF), Driver: &d}, {Path: folder + `\x.cat`, Content: "cat " + d.Version, Signature: signature, Signer: "CN=Publisher"}}
}

func newE810(version, date string) DriverOfFile {
	return DriverOfFile{Profile: profileE810, Provider: "Intel", Version: version, Date: date, FileName: "icea.sys"}
}

func withFiles(files ...[]ScenarioFile) func(*Scenario) {
	return func(s *Scenario) {
		for _, list := range files {
			s.Hosts[0].Files = append(s.Hosts[0].Files, list...)
			for n := range s.Hosts[0].VMs {
				if s.Hosts[0].VMs[n].Guest == nil {
					s.Hosts[0].VMs[n].Guest = &ScenarioGuest{}
				}
				s.Hosts[0].VMs[n].Guest.Files = append(s.Hosts[0].VMs[n].Guest.Files, list...)
			}
		}
	}
}

// program runs a program by a task and gives its exit code.
func (b *bench) program(target, execute, arguments string) uint32 {
	b.t.Helper()
	action := b.must(target, "New-ScheduledTaskAction", params{"Execute": execute, "Argument": arguments})[0]
	b.must(target, "Register-ScheduledTask", params{"TaskName": "p", "Action": []any{action}})
	info := func() uint32 {
		v, _ := b.must(target, "Get-ScheduledTaskInfo", params{"TaskName": "p"})[0].Get("LastTaskResult")
		return uint32(v.(cmdlet.Typed).Value.(int64))
	}
	if info() != taskNotRun {
		b.t.Fatalf("a task that has not run says %#x", info())
	}
	b.must(target, "Start-ScheduledTask", params{"TaskName": "p"})
	if info() != taskRunning {
		b.t.Fatalf("a task that runs says %#x", info())
	}
	for deadline := time.Now().Add(5 * time.Second); info() == taskRunning; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatal("the program does not end")
		}
	}
	code := info()
	b.must(target, "Unregister-ScheduledTask", params{"TaskName": list("p")})
	return code
}

func TestPnputilOnHost(t *testing.T) {
	const pnputil = `C:\Windows\System32\pnputil.exe`
	restart := newE810("1.20.0.0", "2025-02-01")
	restart.Restart = true
	b := newBench(t, "intel-e810", withFiles(driverFiles(`C:\New`, newE810("1.16.0.0", "2024-05-01"), "Valid"), driverFiles(`C:\Old`, newE810("1.10.0.0", "2020-01-01"), "Valid"),
		driverFiles(`C:\Unsigned`, newE810("1.17.0.0", "2024-06-01"), "NotSigned"), driverFiles(`C:\Restart`, restart, "Valid"),
		driverFiles(`C:\Other`, DriverOfFile{Profile: profileX722, Provider: "Intel", Version: "1.19.0.0", Date: "2024-05-01", FileName: "i40ea68.sys"}, "Valid")))
	before, _ := b.State()
	runs := func() string {
		for _, d := range b.state.Hosts[0].Devices {
			if d.Profile == profileE810 {
				return d.Driver.Version
			}
		}
		return ""
	}
	was := runs()
	for _, step := range []struct {
		name, arguments string
		code            uint32
		runs            string
		stored          int
	}{
		{"no such file", `/add-driver C:\Gone\x.inf /install`, exitNoFile, was, 0},
		{"catalog not signed", `/add-driver C:\Unsigned\x.inf /install`, exitNotSigned, was, 0},
		{"older than what runs", `/add-driver C:\Old\x.inf /install`, exitNoDevice, was, 1},
		{"no such device", `/add-driver C:\Other\x.inf /install`, exitNoDevice, was, 2},
		{"stored, not installed", `/add-driver C:\New\x.inf`, exitDone, was, 3},
		{"newer", `/add-driver "C:\New\x.inf" /install`, exitDone, "1.16.0.0", 3},
		{"again", `/add-driver C:\New\x.inf /install`, exitNoDevice, "1.16.0.0", 3},
		{"from the next start", `/add-driver C:\Restart\x.inf /install`, exitRestart, "1.16.0.0", 4},
		{"removed before that", `/delete-driver oem3.inf /uninstall`, exitRestart, "1.16.0.0", 3},
		{"in use", `/delete-driver oem2.inf`, exitBadArguments, "1.16.0.0", 3},
		{"removed: the one before runs", `/delete-driver oem2.inf /uninstall`, exitDone, was, 2},
		{"not there", `/delete-driver oem2.inf /uninstall`, exitNoFile, was, 2},
		{"unknown option", `/add-driver C:\New\x.inf /force`, exitBadArguments, was, 2},
		{"the older one", `/delete-driver oem0.inf /uninstall`, exitDone, was, 1},
		{"the other one", `/delete-driver oem1.inf /uninstall`, exitDone, was, 0},
	} {
		if code := b.program("host", pnputil, step.arguments); code != step.code {
			t.Errorf("%s: exit code %#x, want %#x", step.name, code, step.code)
		}
		if v := runs(); v != step.runs {
			t.Errorf("%s: driver %s runs, want %s", step.name, v, step.runs)
		}
		if n := len(b.run("Get-WindowsDriver", params{"Online": true})); n != step.stored {
			t.Errorf("%s: %d packages, want %d", step.name, n, step.stored)
		}
	}
	if after, _ := b.State(); string(after) != string(before) {
		t.Error("the lab is not as it was")
	}
	if b.program("host", pnputil, `/add-driver C:\Restart\x.inf /install`) != exitRestart {
		t.Error("no restart asked for")
	}
	b.run("Restart-Computer", nil)
	if v := runs(); v != "1.20.0.0" {
		t.Errorf("driver %s runs after the restart", v)
	}
}

func TestPnputilInGuest(t *testing.T) {
	vf := newE810("1.16.0.0", "2024-05-01")
	vf.VF = true
	for _, kind := range []string{driverNone, driverInbox, driverVendor} {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t, "intel-e810", withFiles(driverFiles(`C:\New`, vf, "Valid"), driverFiles(`C:\Host`, newE810("1.16.0.0", "2024-05-01"), "Valid")))
			vm := b.state.Hosts[0].VMs[0]
			vf := vm.hasVF()
			vm.Guest.VFDriver = GuestDriver{Kind: kind, Driver: Driver{Version: "1.0.0.0", Date: "2019-01-01", Provider: "X"}}
			was := vm.Guest.VFDriver
			guest := "guest:" + vm.ID
			if code := b.program(guest, "pnputil.exe", `/add-driver C:\Host\x.inf /install`); code != exitNoDevice || vm.Guest.VFDriver != was {
				t.Errorf("the host's package: exit code %d, driver %+v", code, vm.Guest.VFDriver)
			}
			if code := b.program(guest, "pnputil.exe", `/add-driver C:\New\x.inf /install`); (code == exitDone) != vf || vm.Guest.VFDriver.Kind != driverVendor || vm.Guest.VFDriver.Driver.Version != "1.16.0.0" {
				t.Errorf("installed: exit code %d, driver %+v", code, vm.Guest.VFDriver)
			}
			if len(b.state.Hosts[0].Disk.Drivers) != 0 {
				t.Error("the guest's package is in the host's store")
			}
			if code := b.program(guest, "pnputil.exe", `/delete-driver oem1.inf /uninstall`); code != exitDone || vm.Guest.VFDriver != was {
				t.Errorf("removed: exit code %d, driver %+v", code, vm.Guest.VFDriver)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	b := newBench(t, "intel-e810", withFiles(driverFiles(`C:\Users\a [1]\dri'ver`, newE810("1.16.0.0", "2024-05-01"), "Valid")))
	const root = `C:\Windows\Ours`
	b.run("New-Item", params{"Path": list(root), "ItemType": "Directory"})
	if e := b.fails("New-Item", params{"Path": list(root), "ItemType": "Directory"}); e.ID != "DirectoryExist,Microsoft.PowerShell.Commands.NewItemCommand" || e.Category != "ResourceExists" {
		t.Errorf("a folder that is there: %v", e)
	}
	sddl := func(path string) string {
		v, _ := b.run("Get-Acl", params{"LiteralPath": list(path)})[0].Get("Sddl")
		return text(v)
	}
	if sddl(root) != windowsFolderSDDL {
		t.Errorf("inherited: %s", sddl(root))
	}
	b.run("Set-Acl", params{"LiteralPath": list(root), "AclObject": &cmdlet.Security{SDDL: "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"}})
	if got := sddl(root); got != "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)" {
		t.Errorf("own: %s", got)
	}
	b.run("Copy-Item", params{"LiteralPath": list(`C:\Users\a [1]\dri'ver`), "Destination": root + `\1`, "Recurse": true})
	if got := sddl(root + `\1\x.inf`); got != "O:BAG:SYD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)" {
		t.Errorf("of a copy: %s", got)
	}
	files := b.run("Get-ChildItem", params{"LiteralPath": list(root), "Recurse": true, "File": true})
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	status, _ := b.run("Get-AuthenticodeSignature", params{"LiteralPath": list(root + `\1\x.cat`)})[0].Get("Status")
	if text(status) != "Valid" {
		t.Errorf("signature %v", status)
	}
	hash, _ := b.run("Get-FileHash", params{"LiteralPath": list(fileProvider + "::" + root + `\1\x.inf`)})[0].Get("Hash")
	if text(hash) != (&File{Content: "inf 1.16.0.0 false"}).hash() {
		t.Errorf("hash %v", hash)
	}
	if e := b.fails("Get-FileHash", params{"LiteralPath": list(root + `\gone`)}); e.Category != "ObjectNotFound" {
		t.Errorf("no file: %v", e)
	}
	if e := b.fails("Remove-Item", params{"LiteralPath": list(root)}); e.Category != "InvalidOperation" {
		t.Errorf("a folder that is not empty: %v", e)
	}
	b.run("Remove-Item", params{"LiteralPath": list(root), "Recurse": true})
	if e := b.fails("Get-Item", params{"LiteralPath": list(root)}); e.Category != "ObjectNotFound" {
		t.Errorf("removed: %v", e)
	}
}
