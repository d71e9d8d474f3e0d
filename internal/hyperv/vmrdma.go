package hyperv

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// AdapterRdmaSpec is what an adapter's SR-IOV and RDMA settings shall be. Nil fields are not managed.
type AdapterRdmaSpec struct {
	IovWeight              *int64
	RdmaWeight             *int64
	IovQueuePairsRequested *int64
	IovInterruptModeration *string
}

// Settings of an adapter in the ledger, in Windows' own words.
const (
	settingIov        = "IovWeight"
	settingRdma       = "RdmaWeight"
	settingQueuePairs = "IovQueuePairsRequested"
	settingModeration = "IovInterruptModeration"
)

// rdmaValues are the settings of an adapter, all of them.
type rdmaValues struct {
	iov, rdma, pairs int64
	moderation       string
}

func rdmaValuesOf(a *VMAdapter) rdmaValues {
	return rdmaValues{iov: a.IovWeight, rdma: a.RdmaWeight, pairs: a.IovQueuePairsRequested, moderation: a.IovInterruptModeration}
}

// get is a setting as the ledger writes it.
func (v rdmaValues) get(setting string) string {
	switch setting {
	case settingIov:
		return strconv.FormatInt(v.iov, 10)
	case settingRdma:
		return strconv.FormatInt(v.rdma, 10)
	case settingQueuePairs:
		return strconv.FormatInt(v.pairs, 10)
	}
	return v.moderation
}

// put is the reverse of get; a text that is no number changes nothing.
func (v *rdmaValues) put(setting, value string) {
	number := map[string]*int64{settingIov: &v.iov, settingRdma: &v.rdma, settingQueuePairs: &v.pairs}[setting]
	if number == nil {
		v.moderation = value
		return
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		*number = n
	}
}

// managed gives the settings that the spec manages, as the ledger writes them.
func (s AdapterRdmaSpec) managed() map[string]string {
	out := map[string]string{}
	for setting, n := range map[string]*int64{settingIov: s.IovWeight, settingRdma: s.RdmaWeight, settingQueuePairs: s.IovQueuePairsRequested} {
		if n != nil {
			out[setting] = strconv.FormatInt(*n, 10)
		}
	}
	if s.IovInterruptModeration != nil {
		out[settingModeration] = *s.IovInterruptModeration
	}
	return out
}

func rdmaSettings() []string {
	return []string{settingIov, settingRdma, settingQueuePairs, settingModeration}
}

// rdmaStep is one call of the way from one set of values to another: Set-VMNetworkAdapterRdma, or Set-VMNetworkAdapter
// with these parameters.
type rdmaStep struct {
	rdmaWeight *int64
	set        map[string]any
}

// rdmaSteps is the order of the calls. On the way up RdmaWeight comes before IovWeight, so that the VF is born with
// RDMA; on the way down IovWeight is 0 before RdmaWeight becomes 0 (facts.md 44). RdmaWeight and the queue pairs of
// a VF that is there have no effect until it is allocated again (facts.md 47a), so IovWeight goes to 0 and
// back around such a change: that takes the VF away and gives a new one, without a restart of the VM
// (facts.md 46). With the VM off there is no VF, and only the rule of the way down counts.
func rdmaSteps(now, want rdmaValues, live bool) []rdmaStep {
	var steps []rdmaStep
	iov := now.iov
	rdmaChanges, pairsChange := now.rdma != want.rdma, now.pairs != want.pairs
	reborn := live && (rdmaChanges || pairsChange) || rdmaChanges && want.rdma == 0
	if iov > 0 && (want.iov == 0 || reborn) {
		steps = append(steps, rdmaStep{set: map[string]any{settingIov: int64(0)}})
		iov = 0
	}
	if rdmaChanges {
		steps = append(steps, rdmaStep{rdmaWeight: &want.rdma})
	}
	set := map[string]any{}
	if pairsChange {
		set[settingQueuePairs] = want.pairs
	}
	if !strings.EqualFold(now.moderation, want.moderation) {
		set[settingModeration] = want.moderation
	}
	if iov != want.iov {
		set[settingIov] = want.iov
	}
	if len(set) > 0 {
		steps = append(steps, rdmaStep{set: set})
	}
	return steps
}

// addRdmaSteps adds the calls that change the adapter saved as "adapter".
func (b *batch) addRdmaSteps(steps []rdmaStep) {
	for _, s := range steps {
		p := map[string]any{"VMNetworkAdapter": wire.First("adapter"), "Confirm": false}
		cmdlet := "Set-VMNetworkAdapter"
		if s.rdmaWeight != nil {
			cmdlet = "Set-VMNetworkAdapterRdma"
			p[settingRdma] = *s.rdmaWeight
		}
		for k, v := range s.set {
			p[k] = v
		}
		b.change(wire.Call{Cmdlet: cmdlet, Parameters: p})
	}
}

const adapterObjectPrefix = "vm network adapter "

// adapterObject names an adapter in the ledger.
func adapterObject(a *VMAdapter) string { return adapterObjectOf(a.VM.ID, a.GUID) }

func adapterObjectOf(vmID, adapterID string) string {
	return adapterObjectPrefix + strings.ToLower(vmID) + "/" + adapterGUID(adapterID)
}

// rdmaClaimant names the resource that owns an adapter's settings by what its configuration says, which is all
// that is left of it after a crash.
func rdmaClaimant(ref AdapterRef) string {
	return fmt.Sprintf("hyperv_vm_network_adapter_rdma of %s", adapterAbout(ref))
}

// checkRdma checks every rule that can be known before anything is changed.
func (h *Host) checkRdma(op string, a *VMAdapter, spec AdapterRdmaSpec) error {
	fail := func(kind Kind, attribute string, value *int64, cause, fix string) error {
		e := &Error{Kind: kind, Op: op, Host: h.Name, Object: adapterAbout(a.ByID()), Attribute: attribute, Cause: cause, Fix: fix}
		if value != nil {
			e.Value = strconv.FormatInt(*value, 10)
		}
		return e
	}
	if a.IsLegacy {
		return fail(Unsupported, "iov_weight", spec.IovWeight, "It is a legacy (emulated) adapter, which never gets a virtual function (facts.md 61).",
			"Use a synthetic network adapter: hyperv_vm_network_adapter makes one.")
	}
	if spec.RdmaWeight != nil && !a.RdmaWeightCmdletHere {
		return fail(Unsupported, "rdma_weight", spec.RdmaWeight, "This host has no cmdlet Set-VMNetworkAdapterRdma: it came with Windows 10 1703 and Windows Server 1709 (facts.md 4).",
			"Leave rdma_weight out. A guest before Windows 10 1703 does not need it (facts.md 5); for a newer one, upgrade the host.")
	}
	if spec.IovWeight == nil || *spec.IovWeight == 0 {
		return nil
	}
	switch {
	case a.SwitchID == "":
		return fail(Invalid, "iov_weight", spec.IovWeight, "The adapter is not connected to a switch, so it can have no virtual function (facts.md 53).",
			"Connect it to a switch with SR-IOV (switch_name of hyperv_vm_network_adapter), and let this resource refer to that one so that it comes after it.")
	case !a.SwitchIovEnabled:
		return fail(Invalid, "iov_weight", spec.IovWeight, fmt.Sprintf("The adapter's switch %q was made without SR-IOV, which cannot be turned on later (facts.md 8): the weight would have no effect.", a.SwitchName),
			"Connect the adapter to a switch that was made with SR-IOV (hyperv_iov_switch), or set iov_weight = 0.")
	}
	return nil
}
