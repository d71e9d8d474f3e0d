package lab

import (
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/commandline"
)

// Exit codes of pnputil (learn.microsoft.com, PnPUtil return values). Those for a file that is not there and for a package
// whose catalog is not signed are the codes of Windows and of SetupAPI; that pnputil passes them on is inferred.
const (
	exitDone         = 0
	exitNoFile       = 2
	exitBadArguments = 87
	exitNoDevice     = 259
	exitRestart      = 3010
	exitNotSigned    = 0xE0000242 // ERROR_NO_AUTHENTICODE_CATALOG of SetupAPI
)

// runProgram runs a task's program if it is one that the lab knows. It runs on its own; nobody waits for it.
func (l *Lab) runProgram(h *Host, t *ScheduledTask, a TaskAction) bool {
	if !strings.EqualFold(baseName(a.Execute), "pnputil.exe") {
		return false
	}
	_, args := commandline.Split(a.Execute + " " + a.Arguments)
	about, started := h.Name, h.OS.LastBoot
	if t.vm != nil {
		about, started = t.vm.Name, t.vm.StartedAt
	}
	l.event(h.Name, "program_start", about, baseName(a.Execute)+" "+a.Arguments)
	t.Running, t.LastTaskResult = true, taskRunning
	time.AfterFunc(l.timing.DriverInstall.Duration(), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.host(h.Name) != h {
			return
		}
		t.Running = false
		booted := h.OS.LastBoot
		if t.vm != nil {
			booted = t.vm.StartedAt
		}
		if l.down(h) || !booted.Equal(started) || t.vm != nil && t.vm.State != stateRunning { // what ran when Windows went down did not end
			t.LastTaskResult = taskTerminated
			return
		}
		t.LastTaskResult = l.pnputil(h, t.vm, args)
		l.event(h.Name, "program_end", about, baseName(a.Execute))
	})
	return true
}

func (l *Lab) pnputil(h *Host, vm *VM, args []string) uint32 {
	if len(args) < 2 {
		return exitBadArguments
	}
	install, uninstall := false, false
	for _, a := range args[2:] {
		switch strings.ToLower(a) {
		case "/install":
			install = true
		case "/uninstall":
			uninstall = true
		default:
			return exitBadArguments
		}
	}
	switch strings.ToLower(args[0]) {
	case "/add-driver":
		return l.addDriver(h, vm, cleanPath(args[1]), install)
	case "/delete-driver":
		return l.deleteDriver(h, vm, args[1], uninstall)
	}
	return exitBadArguments
}

func (l *Lab) addDriver(h *Host, vm *VM, path string, install bool) uint32 {
	d := h.diskOf(vm)
	inf := d.find(path)
	if inf == nil || inf.Driver == nil {
		return exitNoFile
	}
	if catalog := d.find(parentPath(path) + `\` + inf.Driver.Catalog); inf.Driver.Catalog == "" || catalog == nil || catalog.Signature != "Valid" {
		return exitNotSigned
	}
	p := d.store(inf)
	l.event(h.Name, "driver_stored", p.Published, "pnputil")
	if !install {
		return exitDone
	}
	return l.useBest(h, vm, &p.Driver, exitNoDevice)
}

func (l *Lab) deleteDriver(h *Host, vm *VM, published string, uninstall bool) uint32 {
	d := h.diskOf(vm)
	p := d.stored(published)
	if p == nil {
		return exitNoFile
	}
	if !uninstall && l.inUse(h, vm, p) {
		return exitBadArguments // the real code is not known; it is none of success
	}
	kept := []*DriverPackage{}
	for _, x := range d.Drivers {
		if x != p {
			kept = append(kept, x)
		}
	}
	d.Drivers = kept
	if len(kept) == 0 {
		d.Drivers = nil
	}
	l.event(h.Name, "driver_removed", published, "pnputil")
	return l.useBest(h, vm, &p.Driver, exitDone)
}

func (l *Lab) inUse(h *Host, vm *VM, p *DriverPackage) bool {
	if vm != nil {
		return p.Driver.VF && vm.Guest.VFDriver.Driver == p.Driver.plain(vm.Guest.VFDriver.Driver.Service)
	}
	for _, device := range h.Devices {
		if !p.Driver.VF && device.Profile == p.Driver.Profile && device.Driver == p.Driver.plain(device.Driver.Service) {
			return true
		}
	}
	return false
}

// useBest gives the devices of a driver's kind the best driver that there is now. Where none changes, the code is nothing.
func (l *Lab) useBest(h *Host, vm *VM, changed *DriverOfFile, nothing uint32) uint32 {
	d, code := h.diskOf(vm), nothing
	if vm != nil {
		if changed.VF && l.useInGuest(h, vm, d, changed.Profile) && vm.hasVF() {
			return exitDone
		}
		return nothing // a virtual function that comes later gets the best driver then
	}
	for _, device := range h.Devices {
		if changed.VF || device.Profile != changed.Profile {
			continue
		}
		own := device.Driver
		if device.ownDriver != nil {
			own = *device.ownDriver
		}
		now, best := device.Driver, d.best(device.Profile, false, own)
		if device.NewDriver != nil {
			now = *device.NewDriver
		}
		if best == now {
			continue
		}
		device.ownDriver = &own
		if best == own {
			device.ownDriver = nil
		}
		if changed.Restart { // in use from the next start of Windows
			device.NewDriver, code = &best, exitRestart
			if best == device.Driver {
				device.NewDriver = nil
			}
			continue
		}
		device.Driver = best
		if code != exitRestart {
			code = exitDone
		}
		for _, port := range device.Ports { // a device whose driver is replaced stops and starts
			l.restartPort(h, device, port, "driver replaced")
		}
	}
	return code
}

func (vm *VM) hasVF() bool {
	for _, a := range vm.Adapters {
		if a.Allocated != nil {
			return true
		}
	}
	return false
}

// useInGuest is useBest for the virtual functions of a guest.
func (l *Lab) useInGuest(h *Host, vm *VM, d *Disk, profile string) bool {
	g := vm.Guest
	fits := false
	for _, device := range h.Devices {
		fits = fits || device.Profile == profile && device.SriovSupport == 1
	}
	if !fits {
		return false
	}
	own := g.VFDriver
	if g.ownDriver != nil {
		own = *g.ownDriver
	}
	floor := own.Driver
	if own.Kind != driverVendor { // any vendor's package ranks above the driver that came with Windows
		floor.Date = ""
	}
	next := own
	if best := d.best(profile, true, floor); best != floor {
		next = GuestDriver{Kind: driverVendor, Driver: best}
	}
	if next == g.VFDriver {
		return false
	}
	g.ownDriver = &own
	if next == own {
		g.ownDriver = nil
	}
	g.VFDriver = next
	for _, a := range g.Adapters {
		if a.VF && a.Present {
			a.load(l.clock())
			l.event(h.Name, "guest_net_adapter_restart", vm.Name+"/"+a.Name, "driver replaced")
		}
	}
	return true
}
