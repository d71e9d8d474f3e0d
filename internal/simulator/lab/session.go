package lab

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// guestSession is an open PowerShell Direct session. It belongs to one boot of its VM: what stops or restarts
// the VM breaks it.
type guestSession struct {
	id       int
	instance string
	name     string
	host     string
	vm       string
	boot     int
}

// newPSSession is New-PSSession -VMId or -VMName, PowerShell Direct.
func newPSSession(c *call) {
	if !c.has("VMId") && !c.has("VMName") {
		c.fail(c.sessionError("PSSessionOpenFailed", "OpenError", "System.Management.Automation.Remoting.PSRemotingTransportException", "",
			"Connecting to a remote server failed: the lab has sessions to virtual machines only."))
		return
	}
	if c.host.Setup.HyperVModule == moduleMissing { // errors.md 6
		e := c.sessionError("HyperVModuleNotAvailable,"+c.coreTail(), "NotInstalled", "System.ArgumentException", "", "The Hyper-V Module for PowerShell is not available on this machine.")
		e.Terminating = true
		c.fail(e)
		return
	}
	names := c.strs("Name")
	for i, vm := range c.directTargets() {
		if err := c.reachGuest(vm); err != nil {
			c.fail(err)
			continue
		}
		c.sessions.last++
		s := &guestSession{id: c.sessions.last, instance: c.newGUID(c.host.Name, "session"), host: c.host.Name, vm: vm.ID, boot: vm.Boot}
		s.name = fmt.Sprint("Runspace", s.id)
		if i < len(names) {
			s.name = names[i]
		}
		c.sessions.put(s)
		c.emit(c.sessionObject(s, vm))
	}
}

// directTargets finds the VMs that a session is asked for; each id or name must mean exactly one (errors.md 6).
func (c *call) directTargets() []*VM {
	var found []*VM
	for _, id := range c.strs("VMId") {
		vm := c.host.vmByID(id)
		if vm == nil || !c.seesVMs() {
			c.fail(c.sessionArgument("InvalidVMIdNotSingle", id, "The input VMId %s does not resolve to a single virtual machine.", id))
			continue
		}
		found = append(found, vm)
	}
	for _, name := range c.strs("VMName") {
		var named []*VM
		for _, vm := range c.host.VMs {
			if strings.EqualFold(vm.Name, name) && c.seesVMs() {
				named = append(named, vm)
			}
		}
		if len(named) != 1 {
			c.fail(c.sessionArgument("InvalidVMNameNotSingle", name, "The input VMName %s does not resolve to a single virtual machine.", name))
			continue
		}
		found = append(found, named[0])
	}
	return found
}

// seesVMs says whether the user sees virtual machines at all; without the right the list is empty (errors.md 6).
func (c *call) seesVMs() bool {
	s := c.host.Setup
	return s.VMMS == vmmsRunning && (s.UserRights == rightsAdministrator || s.UserRights == rightsHyperV)
}

// reachGuest says why no session to a guest comes about (errors.md 6).
func (c *call) reachGuest(vm *VM) *cmdlet.Error {
	if vm.State != stateRunning {
		return c.sessionArgument("InvalidVMState", vm.Name, "The virtual machine %s is not in running state.", vm.Name)
	}
	if vm.Guest == nil || vm.Guest.Linux || !c.guestRuns(vm) || (c.unknowns.NanoServerRunner == "no" && vm.Guest.OS.nano()) {
		return c.sessionError("PSSessionOpenFailed", "OpenError", "System.Management.Automation.Remoting.PSRemotingDataStructureException", vm.Name,
			"A failure occurred while attempting to connect to the target virtual machine.")
	}
	credential, _ := c.inv.Parameters["Credential"].(cmdlet.Credential)
	if !strings.EqualFold(userPart(credential.User), vm.Guest.Login.Username) || credential.Password != vm.Guest.Login.Password {
		return c.sessionError("PSSessionOpenFailed", "OpenError", "System.Management.Automation.Remoting.PSDirectException", vm.Name, "The credential is invalid.")
	}
	return nil
}

// userPart drops the domain or computer of a user name: .\user, GUEST\user.
func userPart(user string) string { return user[strings.LastIndex(user, `\`)+1:] }

// nano says whether an installation is a Nano Server: Windows' own SKU numbers for it.
func (os OS) nano() bool { return os.SKU == 143 || os.SKU == 144 }

func (c *call) sessionError(id, category, exception, target, message string) *cmdlet.Error {
	return &cmdlet.Error{ID: id, Category: category, Exception: exception, Target: target, TargetType: "String", Message: message}
}

// sessionArgument is a target that cannot be meant: an ArgumentException of the cmdlet itself.
func (c *call) sessionArgument(id, target, format string, args ...any) *cmdlet.Error {
	return c.sessionError(id+","+c.coreTail(), "InvalidArgument", "System.ArgumentException", target, fmt.Sprintf(format, args...))
}

func (c *call) sessionObject(s *guestSession, vm *VM) *cmdlet.Object {
	state, availability := "Opened", "Available"
	if c.sessionBroken(s) {
		state, availability = "Broken", "None"
	}
	return &cmdlet.Object{
		Types: []string{"System.Management.Automation.Runspaces.PSSession"}, Ref: refSession + s.instance, Text: "[PSSession]" + s.name,
		Properties: []cmdlet.Property{
			prop("State", state), prop("IdleTimeout", nil), prop("OutputBufferingMode", nil), prop("DisconnectedOn", nil), prop("ExpiresOn", nil),
			prop("ComputerType", "VirtualMachine"), prop("ComputerName", vm.Name), prop("ContainerId", nil), prop("VMName", vm.Name),
			prop("VMId", cmdlet.GUID(strings.ToLower(vm.ID))), prop("ConfigurationName", ""), prop("InstanceId", cmdlet.GUID(s.instance)),
			prop("Id", int64(s.id)), prop("Name", s.name), prop("Availability", availability), prop("Transport", "VMBus"),
			prop("Target", "guest:"+vm.ID), // how the engines address this guest
		},
	}
}

// getPSSession is Get-PSSession: the sessions of this host, by name, id or VM.
func getPSSession(c *call) {
	for _, s := range c.matchingSessions() {
		if vm := c.host.vmByID(s.vm); vm != nil {
			c.emit(c.sessionObject(s, vm))
		}
	}
}

// removePSSession is Remove-PSSession.
func removePSSession(c *call) {
	for _, o := range c.objects("Session") {
		c.sessions.drop(strings.TrimPrefix(o.Ref, refSession))
	}
	if c.has("Session") {
		return
	}
	for _, s := range c.matchingSessions() {
		c.sessions.drop(s.instance)
	}
}

func (c *call) matchingSessions() []*guestSession {
	var found []*guestSession
	for _, s := range c.sessions.all() {
		vm := c.host.vmByID(s.vm)
		if s.host != c.host.Name || vm == nil {
			continue
		}
		if (c.has("Name") && !matchesAny(c.strs("Name"), s.name)) || (c.has("Id") && !matchesExactly(c.strs("Id"), fmt.Sprint(s.id))) ||
			(c.has("InstanceId") && !matchesExactly(c.strs("InstanceId"), s.instance)) || (c.has("VMId") && !matchesExactly(c.strs("VMId"), vm.ID)) ||
			(c.has("VMName") && !matchesExactly(c.strs("VMName"), vm.Name)) {
			continue
		}
		found = append(found, s)
	}
	return found
}

// sessionBroken says whether the VM stopped or started again since the session was opened.
func (l *Lab) sessionBroken(s *guestSession) bool {
	h := l.host(s.host)
	if h == nil {
		return true
	}
	vm := h.vmByID(s.vm)
	return vm == nil || vm.State != stateRunning || vm.Boot != s.boot
}

// SessionOpen says whether a PowerShell Direct session is still open: what a script sees as PSSession.State,
// without a call into the guest.
func (l *Lab) SessionOpen(host, target, session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions.get(session)
	return s != nil && strings.EqualFold(s.host, host) && strings.EqualFold("guest:"+s.vm, target) && !l.sessionBroken(s)
}

// guestCall says why a call to a guest does not get there: its session broke, or, from the control door, which
// has no session, the guest does not run.
func (c *call) guestCall() *cmdlet.Error {
	if c.vm == nil {
		return nil
	}
	if s := c.sessions.get(c.inv.Session); s != nil {
		if !strings.EqualFold(s.vm, c.vm.ID) || c.sessionBroken(s) {
			return c.brokenSession()
		}
		return nil
	}
	if c.inv.Session != "" && c.sessions.closed(c.inv.Session) {
		return c.brokenSession()
	}
	if !c.guestRuns(c.vm) {
		return c.sessionError("PSSessionStateBroken", "OpenError", "System.Management.Automation.Remoting.PSRemotingDataStructureException", c.vm.Name,
			"The guest of virtual machine "+c.vm.Name+" does not answer.")
	}
	return nil
}

// brokenSession is what PowerShell says of a call in a session that is gone.
func (c *call) brokenSession() *cmdlet.Error {
	return c.sessionError("PSSessionStateBroken", "OpenError", "System.Management.Automation.Remoting.PSRemotingTransportException", c.vm.Name,
		"The session with virtual machine "+c.vm.Name+" is broken.")
}

// sessionTable holds the open sessions of a lab, and the ids of closed ones.
type sessionTable struct {
	last  int
	open  []*guestSession
	ended map[string]bool
}

func (t *sessionTable) put(s *guestSession) { t.open = append(t.open, s) }

func (t *sessionTable) all() []*guestSession { return append([]*guestSession{}, t.open...) }

func (t *sessionTable) get(instance string) *guestSession {
	for _, s := range t.open {
		if s.instance == instance {
			return s
		}
	}
	return nil
}

func (t *sessionTable) drop(instance string) {
	var kept []*guestSession
	for _, s := range t.open {
		if s.instance == instance {
			if t.ended == nil {
				t.ended = map[string]bool{}
			}
			t.ended[instance] = true
			continue
		}
		kept = append(kept, s)
	}
	t.open = kept
}

func (t *sessionTable) closed(instance string) bool { return t.ended[instance] }
