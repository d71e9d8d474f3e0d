package hyperv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// GuestRdmaSpec is how RDMA inside a guest shall be.
type GuestRdmaSpec struct {
	Credential string   // name of a guest credential, "" for the VM's own or the default
	Enabled    bool     // RDMA on both adapters, and the VF's keyword where its driver has one
	Require    bool     // fail unless SMB says RDMA capable; otherwise only warn
	Recovery   []string // steps that may be taken: guest_rdma, net_adapter, vm_restart
	// DriverMatch is what is done about drivers of host and guest that do not fit: strict, warn or off.
	DriverMatch string
	Restarts    RestartRules
}

// Recovery steps, in the order in which they are taken (facts.md 66).
const (
	RecoverGuestRdma  = "guest_rdma"  // RDMA off and on on both guest adapters
	RecoverNetAdapter = "net_adapter" // all ports of the host's device disabled and enabled
	RecoverVM         = "vm_restart"
)

// RecoverySteps lists them in order.
func RecoverySteps() []string { return []string{RecoverGuestRdma, RecoverNetAdapter, RecoverVM} }

// GuestAdapter is a net adapter inside a guest.
type GuestAdapter struct {
	NetAdapter
	RdmaListed  bool // Get-NetAdapterRdma knows it: its driver offers RDMA
	RdmaEnabled bool
	QueuePairs  int64 // MaxQueuePairCount: 0 means that the driver does no RDMA really (facts.md 90)
	SMBListed   bool
	SMBCapable  bool
	Keyword     string // the VF driver's own switch for RDMA (facts.md 65), "" where it has none
	KeywordOn   bool
	KeywordText string
}

// GuestRdma is what host and guest say about a VM adapter's RDMA.
type GuestRdma struct {
	Adapter   *VMAdapter
	Asked     bool // the guest was asked
	Reachable bool
	Err       error // why it is not reachable
	OS        *OSInfo
	Synthetic *GuestAdapter
	VF        *GuestAdapter
	Problems  []PnpDevice // devices of the guest that do not work
	Steps     []string    // recovery steps taken
	Notes     []Note
}

// PnpDevice is Get-PnpDevice.
type PnpDevice struct {
	FriendlyName           string `json:"FriendlyName"`
	InstanceID             string `json:"InstanceId"`
	Status                 string `json:"Status"`
	ConfigManagerErrorCode int    `json:"ConfigManagerErrorCode"` // 28: no driver
}

// Stages on the way to RDMA in a guest, in order (facts.md 55, 90-92).
const (
	StageRequested = "vf_requested"     // IovWeight above 0
	StageAssigned  = "vf_assigned"      // IovUsage above 0
	StageDriver    = "vf_driver"        // the VF's data path is active
	StageAdapters  = "guest_adapters"   // the guest shows a VF adapter with the VM adapter's MAC
	StageRdma      = "rdma_enabled"     // RDMA is on on both adapters
	StageCapable   = "smb_rdma_capable" // SMB says RDMA capable
	StageNone      = "none"
)

// Stage is the last stage that was reached, and the one that it stands before ("" at the end).
func (g *GuestRdma) Stage() (reached, missing string) {
	a := g.Adapter
	checks := []struct {
		stage string
		ok    bool
	}{
		{StageRequested, a.IovWeight > 0},
		{StageAssigned, a.IovUsage > 0},
		{StageDriver, a.VFDataPathActive},
		{StageAdapters, g.Synthetic != nil && g.VF != nil},
		{StageRdma, g.Enabled() && g.VF != nil && g.VF.RdmaListed},
		{StageCapable, g.Capable()},
	}
	reached = StageNone
	for _, c := range checks {
		if !c.ok {
			return reached, c.stage
		}
		reached = c.stage
	}
	return reached, ""
}

// Enabled says whether RDMA is on on every adapter of the pair that is there, and the VF's keyword with it. A VF
// that is not there says nothing: its own resource shows that.
func (g *GuestRdma) Enabled() bool {
	if g.Synthetic == nil || (g.Synthetic.RdmaListed || g.VF != nil) && !g.Synthetic.RdmaEnabled {
		return false
	}
	return g.VF == nil || g.VF.RdmaEnabled && (g.VF.Keyword == "" || g.VF.KeywordOn)
}

// Capable says whether SMB in the guest calls the adapter RDMA capable. IP, and so SMB's row, is on the Hyper-V
// adapter (facts.md 63); a row of the VF counts too.
func (g *GuestRdma) Capable() bool {
	return g.Synthetic != nil && g.Synthetic.SMBCapable || g.VF != nil && g.VF.SMBCapable
}

// guestRead is what one look into a guest gives.
type guestRead struct {
	adapters   *found[NetAdapter]
	rdma       *found[NetAdapterRdma]
	properties *found[AdvancedProperty]
	smb        *found[SMBInterface]
	os         *found[OSInfo]
	pnp        *found[PnpDevice]
}

// readGuest adds the calls that look into a guest. None of them fails the batch: what the host says counts too,
// and why the guest could not be asked is in the result.
func (b *batch) readGuest(g wire.Guest) *guestRead {
	in := func(cmdlet string, parameters map[string]any) wire.Call {
		return wire.Call{Cmdlet: cmdlet, Parameters: parameters, Guest: &g}
	}
	always := tolerating(anyError)
	return &guestRead{
		adapters:   find[NetAdapter](b, in("Get-NetAdapter", nil), always),
		rdma:       find[NetAdapterRdma](b, in("Get-NetAdapterRdma", nil), always),
		properties: find[AdvancedProperty](b, in("Get-NetAdapterAdvancedProperty", map[string]any{"AllProperties": true}), always),
		smb:        find[SMBInterface](b, in("Get-SmbServerNetworkInterface", nil), always),
		os:         find[OSInfo](b, in("Get-CimInstance", map[string]any{"ClassName": "Win32_OperatingSystem"}), always),
		pnp:        find[PnpDevice](b, in("Get-PnpDevice", map[string]any{"PresentOnly": true}), always),
	}
}

// failure is why the guest could not be asked, nil if it could.
func (r *guestRead) failure(h *Host, op, about string) error {
	if len(r.adapters.Errors) == 0 {
		return nil
	}
	first := r.adapters.Errors[0]
	if !unanswered(first) {
		return nil // it answered: it has no net adapter, or refuses to list them
	}
	return h.unreachable(op, about, first)
}

// join pairs the guest's net adapters with the VM's adapter by MAC address, afresh at every look: names and
// numbers in the guest may change (facts.md 63, 84).
func (r *guestRead) join(h *Host, op string, a *VMAdapter) *GuestRdma {
	out := &GuestRdma{Adapter: a, Asked: true, Err: r.failure(h, op, vmAbout(a.VM.Name)), OS: one(r.os.Items)}
	out.Reachable = out.Err == nil
	for _, p := range r.pnp.Items {
		if p.ConfigManagerErrorCode != 0 && p.ConfigManagerErrorCode != 22 { // 22: somebody disabled it
			out.Problems = append(out.Problems, p)
		}
	}
	for _, n := range r.adapters.Items {
		if macDigits(n.MacAddress) != macDigits(a.MacAddress) || n.Status == "Not Present" {
			continue
		}
		g := r.describe(n)
		if strings.HasPrefix(n.InterfaceDescription, "Microsoft Hyper-V Network Adapter") {
			out.Synthetic = g
		} else {
			out.VF = g
			r.describeKeyword(g)
		}
	}
	return out
}

func (r *guestRead) describe(n NetAdapter) *GuestAdapter {
	g := &GuestAdapter{NetAdapter: n}
	for _, x := range r.rdma.Items {
		if x.InterfaceDescription == n.InterfaceDescription {
			g.RdmaListed, g.RdmaEnabled, g.QueuePairs = true, x.Enabled, x.MaxQueuePairCount
		}
	}
	for _, s := range r.smb.Items { // one row for each address
		if s.InterfaceIndex == n.InterfaceIndex {
			g.SMBListed, g.SMBCapable = true, g.SMBCapable || s.RdmaCapable
		}
	}
	return g
}

// describeKeyword finds the keyword by which a VF driver switches its RDMA; only drivers that have one get it (facts.md 65).
func (r *guestRead) describeKeyword(g *GuestAdapter) {
	for _, p := range r.properties.Items {
		if !strings.EqualFold(p.Name, g.Name) {
			continue
		}
		for _, profile := range Profiles() {
			if profile.GuestKeyword != "" && strings.EqualFold(p.RegistryKeyword, profile.GuestKeyword) {
				g.Keyword, g.KeywordText = p.RegistryKeyword, strings.Join(p.RegistryValue, ",")
				g.KeywordOn = g.KeywordText == "1"
			}
		}
	}
}

// guestTarget is the guest of a VM as the target of calls.
func (h *Host) guestTarget(op string, ref AdapterRef, vmID any, credential string) (wire.Guest, error) {
	if h.opts.GuestCredential == nil {
		return wire.Guest{}, &Error{Kind: Invalid, Op: op, Host: h.Name, Object: vmAbout(ref.VMName), Attribute: "credential", Value: credential,
			Cause: "No guest credential is configured.", Fix: "Set guest_credentials of the provider."}
	}
	user, password, err := h.opts.GuestCredential(ref.VMName, credential)
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Host == "" {
			e.Host = h.Name
		}
		return wire.Guest{}, err
	}
	state := wire.FirstProperty("vms", "State")
	return wire.Guest{Name: ref.VMName, VMID: vmID, Credential: wire.Credential{User: user, Password: password}, State: &state}, nil
}

// ReadGuestRdma reads the host's side from the shared inventory and looks into the guest of a running VM. A guest
// that cannot be reached is no error: the result says so.
func (h *Host) ReadGuestRdma(ctx context.Context, ref AdapterRef, credential string) (*GuestRdma, error) {
	const op = "read RDMA of the guest"
	inv, err := h.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	a, err := inv.findAdapter(h, op, ref)
	if err != nil {
		return nil, h.elaborate(ctx, ref, err)
	}
	if a.VM.State != "Running" {
		return &GuestRdma{Adapter: a, Err: notRunning(h, op, &a.VM)}, nil
	}
	target, err := h.guestTarget(op, ref, a.VM.ID, credential)
	if err != nil {
		return nil, err
	}
	b := h.batch(op, vmAbout(a.VM.Name))
	guest := b.readGuest(target)
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return guest.join(h, op, a), nil
}

func notRunning(h *Host, op string, vm *VM) error {
	return &Error{Kind: Unreachable, Op: op, Host: h.Name, Object: vmAbout(vm.Name), Attribute: "vm_name", Value: vm.Name,
		Cause: fmt.Sprintf("The VM is %s, so nothing inside it can be reached.", strings.ToLower(vm.State)),
		Fix:   "Start the VM, then apply again."}
}

const guestObjectPrefix = "guest rdma "

// guestObjectOf names a guest's RDMA in the ledger.
func guestObjectOf(vmID, adapterID string) string {
	return guestObjectPrefix + strings.ToLower(vmID) + "/" + adapterGUID(adapterID)
}
