package lab

import (
	"fmt"
	"net/netip"
	"sort"
	"strings"
	"time"
)

// builder turns a scenario into the state of a lab.
type builder struct {
	scenario *Scenario
	now      time.Time
}

// build makes the state that a scenario describes; now is when the lab starts, long after its machines did.
func (s *Scenario) build(now time.Time) (*State, error) {
	b := &builder{scenario: s, now: now}
	state := &State{}
	seen := map[string]bool{}
	for i := range s.Hosts {
		h, err := b.host(i, &s.Hosts[i])
		if err != nil {
			return nil, fmt.Errorf("host %q: %w", s.Hosts[i].Name, err)
		}
		if seen[strings.ToLower(h.Name)] {
			return nil, fmt.Errorf("host %q: there are two of that name", h.Name)
		}
		seen[strings.ToLower(h.Name)] = true
		state.Hosts = append(state.Hosts, h)
	}
	return state, nil
}

func buildListener(s ScenarioListener) Listener {
	l := Listener{
		Basic: s.Basic, Negotiate: s.Negotiate == nil || *s.Negotiate, Certificate: s.Certificate,
		AllowUnencrypted: s.AllowUnencrypted, CbtHardening: s.CbtHardening,
	}
	if s.Kerberos != nil {
		l.KeytabFile = s.Kerberos.KeytabFile
	}
	if l.CbtHardening == "" {
		l.CbtHardening = "Relaxed"
	}
	return l
}

func (b *builder) host(i int, s *ScenarioHost) (*Host, error) {
	h := &Host{
		Name: s.Name, Address: s.Address, Login: Login(b.scenario.Credentials.Host), Listener: buildListener(s.Listener), Setup: buildSetup(s.Setup), Firewall: buildFirewall(s.Firewall), OS: buildOS(s.OS, b.now),
		Iov: IovSupport{Support: true, Reasons: []string{}}, Devices: []*Device{}, Switches: []*Switch{}, HostVNics: []*HostVNic{}, VMs: []*VM{},
		NetworkDirectAcrossIPSubnets: orBlocked(s.Routing),
	}
	if h.Address == "" {
		h.Address = fmt.Sprintf("192.0.2.%d", 11+i)
	}
	if s.Iov != nil {
		h.Iov = IovSupport{Support: s.Iov.Support, Reasons: append([]string{}, s.Iov.Reasons...)}
	}
	for n := range s.Devices {
		if err := b.device(h, n, &s.Devices[n]); err != nil {
			return nil, err
		}
	}
	if err := b.dcb(h, s.Dcb); err != nil {
		return nil, fmt.Errorf("dcb: %w", err)
	}
	b.registry(h, s.Registry)
	h.Disk.add(s.Files)
	for n := range s.Switches {
		if err := b.addSwitch(h, &s.Switches[n]); err != nil {
			return nil, fmt.Errorf("switch %q: %w", s.Switches[n].Name, err)
		}
	}
	for _, t := range s.LbfoTeams {
		team := &LbfoTeam{Name: t.Name}
		for _, name := range t.Members {
			_, port := h.portByName(name)
			if port == nil {
				return nil, fmt.Errorf("team %q: no net adapter %q", t.Name, name)
			}
			team.Members = append(team.Members, port.InterfaceGuid)
		}
		h.LbfoTeams = append(h.LbfoTeams, team)
	}
	for n := range s.VMs {
		if err := b.vm(h, s, &s.VMs[n]); err != nil {
			return nil, fmt.Errorf("vm %q: %w", s.VMs[n].Name, err)
		}
	}
	return h, nil
}

func (b *builder) device(h *Host, n int, s *ScenarioDevice) error {
	profile := profileOf(s.Profile)
	d := &Device{
		Segment: 0, Bus: 2 + n, Number: 0, Profile: s.Profile, Driver: profile.driver, MaxVFs: profile.maxVFs, QueuePairs: profile.queuePairs,
		Rdma: profile.rdma,
	}
	if profile.sriov {
		d.SriovSupport = 1
	}
	if s.DriverVersion != "" {
		d.Driver.Version = s.DriverVersion
	}
	if s.DriverVendor != "" {
		d.Driver.Provider = s.DriverVendor
	}
	if s.MaxVFs != nil {
		d.MaxVFs = *s.MaxVFs
	}
	if s.QueuePairs != nil {
		d.QueuePairs = *s.QueuePairs
	}
	if s.SriovSupport != nil {
		d.SriovSupport = *s.SriovSupport
	}
	if profile.rdma {
		d.PfcClasses = pfcClasses
	}
	if s.PfcClasses != nil {
		d.PfcClasses = *s.PfcClasses
	}
	h.Devices = append(h.Devices, d)
	for function := range s.Ports {
		if err := b.port(h, d, profile, function, &s.Ports[function]); err != nil {
			return fmt.Errorf("net adapter %q: %w", s.Ports[function].Name, err)
		}
	}
	return nil
}

func (b *builder) port(h *Host, d *Device, profile profile, function int, s *ScenarioPort) error {
	if _, other := h.portByName(s.Name); other != nil {
		return fmt.Errorf("there are two of that name")
	}
	port := &Port{
		Name: s.Name, InterfaceDescription: b.description(h, profile.description), InterfaceGuid: interfaceGuid(h.Name, "port", s.Name),
		InterfaceIndex: h.nextIndex(), MacAddress: mac(profile.macPrefix, h.Name, s.Name), Function: function,
		Enabled: !s.Disabled, PnpEnabled: true, LinkUp: !s.LinkDown, LinkSpeed: profile.linkSpeed, VlanID: s.VlanID,
		NumVFs: Dual{Registry: d.MaxVFs, Running: d.MaxVFs}, Bounced: true, RoutesRdma: h.NetworkDirectAcrossIPSubnets == acrossAllowed,
	}
	if d.Profile == profileCX3Pro && b.scenario.Unknowns.ConnectX3PortsShareFunction {
		port.Function = 0
	}
	if s.LinkSpeed != 0 {
		port.LinkSpeed = s.LinkSpeed
	}
	for _, k := range profile.keywords() {
		if !matchesExactly(s.Without, k.Keyword) {
			port.Keywords = append(port.Keywords, k)
		}
	}
	for _, name := range sortedKeys(s.Keywords) {
		k := port.keyword(name)
		if k == nil {
			k = &Keyword{Keyword: name, DisplayName: name, Default: s.Keywords[name]}
			port.Keywords = append(port.Keywords, k)
		}
		k.Registry, k.Running = s.Keywords[name], s.Keywords[name]
	}
	if k := port.keyword(keywordVlan); k != nil && s.VlanID != 0 {
		k.Registry = fmt.Sprint(s.VlanID)
		k.Running = k.Registry
	}
	var err error
	address := s.Address
	if s.Manage && address == "" {
		address = h.Address + "/24"
	}
	if port.IP, err = ipConfig(address, s.Gateway, s.DNS); err != nil {
		return err
	}
	d.Ports = append(d.Ports, port)
	return nil
}

// description gives the second adapter of a kind its #2, as Windows does.
func (b *builder) description(h *Host, text string) string {
	count := 0
	for _, d := range h.Devices {
		for _, port := range d.Ports {
			if port.InterfaceDescription == text || strings.HasPrefix(port.InterfaceDescription, text+" #") {
				count++
			}
		}
	}
	if count == 0 {
		return text
	}
	return fmt.Sprintf("%s #%d", text, count+1)
}

func (b *builder) registry(h *Host, keys []ScenarioKey) {
	h.Registry = windowsKeys(h.OS, h.Name)
	setValue(&h.Registry, `SYSTEM\CurrentControlSet\Services\vmms`, "Start", "DWord", "2")
	for _, d := range h.Devices {
		if d.Driver.Service == "mlx4_bus" {
			makeKey(&h.Registry, guestRdmaKey)
		}
	}
	for _, k := range keys {
		key := makeKey(&h.Registry, k.Path)
		key.Owner, key.SDDL = k.Owner, k.SDDL
		for _, v := range k.Values {
			setValue(&h.Registry, k.Path, v.Name, v.Kind, v.Data)
		}
	}
	for _, d := range h.Devices {
		v := findValue(h.Registry, guestRdmaKey, guestRdmaValue)
		d.GuestRdmaRunning = d.Driver.Service == "mlx4_bus" && v != nil && v.Kind == "DWord" && v.Data == "1"
	}
}

// windowsKeys are the keys of an installation that scripts look at.
func windowsKeys(os OS, name string) []*Key {
	keys := []*Key{}
	const current = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	kind := "Server"
	if os.ProductType == 1 {
		kind = "Client"
	}
	setValue(&keys, current, "ProductName", "String", strings.TrimPrefix(os.Caption, "Microsoft "))
	setValue(&keys, current, "CurrentBuild", "String", fmt.Sprint(os.Build))
	setValue(&keys, current, "CurrentBuildNumber", "String", fmt.Sprint(os.Build))
	setValue(&keys, current, "UBR", "DWord", fmt.Sprint(os.UBR))
	setValue(&keys, current, "InstallationType", "String", kind)
	setValue(&keys, `SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName`, "ComputerName", "String", strings.ToUpper(name))
	return keys
}

func (b *builder) addSwitch(h *Host, s *ScenarioSwitch) error {
	sw := &Switch{
		ID: guid(h.Name, "switch", s.Name), Name: s.Name, Notes: s.Notes, Type: s.Type, IovEnabled: s.Iov, BandwidthMode: s.BandwidthMode,
		EmbeddedTeaming: len(s.Ports) > 1, Ports: []string{},
	}
	if sw.Type == "" {
		sw.Type = "External"
	}
	if sw.BandwidthMode == "" { // facts.md 10
		sw.BandwidthMode = "Absolute"
		if s.Iov {
			sw.BandwidthMode = "None"
		}
	}
	if sw.EmbeddedTeaming {
		sw.LoadBalancing = "HyperVPort"
	}
	if (sw.Type == "External") != (len(s.Ports) > 0) {
		return fmt.Errorf("an external switch has net adapters, another has none")
	}
	for _, name := range s.Ports {
		_, port := h.portByName(name)
		switch {
		case port == nil:
			return fmt.Errorf("no net adapter %q", name)
		case h.switchOf(port) != nil:
			return fmt.Errorf("net adapter %q is bound to switch %q", name, h.switchOf(port).Name) // facts.md 24
		}
		sw.Ports = append(sw.Ports, port.InterfaceGuid)
	}
	h.Switches = append(h.Switches, sw)
	if !s.ManagementOS {
		return nil
	}
	v := &HostVNic{
		ID: "Microsoft:" + strings.ToUpper(guid(h.Name, "vnic", s.Name)), Name: s.Name, DeviceID: interfaceGuid(h.Name, "vnic", s.Name),
		InterfaceIndex: h.nextIndex(), SwitchID: sw.ID, MacAddress: vmMac(h.Name, "vnic", s.Name), Enabled: true,
		Vlan: Vlan{Mode: "Untagged"}, Isolation: Isolation{Mode: "None"},
	}
	if len(sw.Ports) > 0 { // the first port's address and MAC move to the host vNIC (facts.md 16, 28)
		_, port := h.port(sw.Ports[0])
		v.MacAddress, v.IP, port.IP = port.MacAddress, port.IP, IPConfig{}
	}
	h.HostVNics = append(h.HostVNics, v)
	return nil
}

func (b *builder) vm(h *Host, host *ScenarioHost, s *ScenarioVM) error {
	vm := &VM{
		ID: guid(h.Name, "vm", s.Name), Name: s.Name, State: s.State, Generation: s.Generation, Clustered: s.Clustered, Checkpoints: s.Checkpoints,
		ShutdownIntegration: !s.NoShutdown, HangsOnShutdown: s.Hangs, Notes: s.Notes, Adapters: []*VMAdapter{}, StartedAt: b.now.Add(-time.Hour), Boot: 1,
	}
	if vm.State == "" {
		vm.State = "Running"
	}
	if vm.Generation == 0 {
		vm.Generation = 2
	}
	vm.Guest = b.guest(host, s)
	h.VMs = append(h.VMs, vm)
	for i := range s.Adapters {
		if err := b.adapter(h, vm, i, &s.Adapters[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) guest(host *ScenarioHost, s *ScenarioVM) *Guest {
	settings := ScenarioGuest{OS: host.OS}
	if s.Guest != nil {
		settings = *s.Guest
		if settings.OS.Name == "" {
			settings.OS.Name = host.OS.Name
		}
	}
	g := &Guest{
		OS: buildOS(settings.OS, b.now), Linux: settings.OS.Name == "linux", Login: Login(b.scenario.Credentials.Guest),
		VFDriver: GuestDriver{Kind: settings.VFDriver}, Adapters: []*GuestAdapter{}, RecoveryNeeded: settings.RecoveryNeeded,
		NetworkDirectAcrossIPSubnets: orBlocked(settings.Routing), Firewall: buildFirewall(settings.Firewall),
	}
	if settings.Listener != nil && !g.Linux {
		listener := buildListener(*settings.Listener)
		g.Listener = &listener
	}
	if g.VFDriver.Kind == "" {
		g.VFDriver.Kind = "vendor"
	}
	for _, d := range host.Devices { // the VF driver that was installed fits the host's SR-IOV device
		if p := profileOf(d.Profile); p.sriov && g.VFDriver.Kind != "none" {
			g.VFDriver.Driver = p.vfDriver
			if p.sharesDriver && d.DriverVersion != "" {
				g.VFDriver.Driver.Version = d.DriverVersion
			}
		}
	}
	if g.VFDriver.Kind == "inbox" || g.VFDriver.Kind == "inbox_bad" {
		g.VFDriver.Driver.Provider = "Microsoft"
	}
	if settings.VFDriverVersion != "" {
		g.VFDriver.Driver.Version = settings.VFDriverVersion
	}
	g.Disk.add(settings.Files)
	g.Registry = []*Key{}
	if !g.Linux {
		g.Registry = windowsKeys(g.OS, s.Name)
	}
	return g
}

func (b *builder) adapter(h *Host, vm *VM, i int, s *ScenarioAdapter) error {
	name := s.Name
	if name == "" {
		name = "Network Adapter"
	}
	a := &VMAdapter{
		ID: strings.ToUpper(guid(h.Name, "vm", vm.Name, "adapter", name, fmt.Sprint(i))), Name: name, MacAddress: s.MacAddress, DynamicMac: !s.StaticMac,
		Legacy: s.Legacy, IovWeight: s.IovWeight, IovQueuePairsRequested: 1, IovInterruptModeration: "Default", RdmaWeight: s.RdmaWeight,
		VmqWeight: 100, Policies: s.Policies, Vlan: Vlan{Mode: "Untagged"}, Isolation: Isolation{Mode: "None"},
	}
	if a.MacAddress == "" {
		a.MacAddress = vmMac(h.Name, vm.Name, name, fmt.Sprint(i))
	}
	if s.Switch != "" {
		for _, sw := range h.Switches {
			if strings.EqualFold(sw.Name, s.Switch) {
				a.SwitchID = sw.ID
			}
		}
		if a.SwitchID == "" {
			return fmt.Errorf("adapter %q: no switch %q", name, s.Switch)
		}
	}
	vm.Adapters = append(vm.Adapters, a)
	ip, err := ipConfig(s.Address, "", nil)
	if err != nil {
		return fmt.Errorf("adapter %q: %w", name, err)
	}
	g := syntheticAdapter(vm, a)
	g.IP = ip
	vm.Guest.Adapters = append(vm.Guest.Adapters, g)
	return nil
}

// syntheticAdapter is the net adapter that a guest sees of a VM network adapter (facts.md 63, 84).
func syntheticAdapter(vm *VM, a *VMAdapter) *GuestAdapter {
	g := vm.Guest
	description := "Microsoft Hyper-V Network Adapter"
	if a.Legacy {
		description = "Intel 21140-Based PCI Fast Ethernet Adapter (Emulated)"
	}
	count := 0
	for _, other := range g.Adapters {
		if strings.HasPrefix(other.InterfaceDescription, description) {
			count++
		}
	}
	if count > 0 {
		description = fmt.Sprintf("%s #%d", description, count+1)
	}
	return &GuestAdapter{
		Name: g.freeName(), InterfaceDescription: description, InterfaceGuid: interfaceGuid(vm.ID, a.ID, "synthetic"),
		InterfaceIndex: g.nextIndex(), VMAdapterID: a.ID, Present: true, Enabled: true, RoutesRdma: g.NetworkDirectAcrossIPSubnets == acrossAllowed,
	}
}

// ipConfig reads "192.0.2.11/24".
func ipConfig(address, gateway string, dns []string) (IPConfig, error) {
	c := IPConfig{Gateway: gateway, DNS: dns}
	if address == "" {
		return c, nil
	}
	prefix, err := netip.ParsePrefix(address)
	if err != nil {
		return c, err
	}
	c.Addresses = []IPAddress{{Address: prefix.Addr().String(), Prefix: prefix.Bits()}}
	return c, nil
}

func matchesExactly(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
