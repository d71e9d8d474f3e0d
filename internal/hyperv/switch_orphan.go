package hyperv

import (
	"fmt"
	"strings"
)

// switchIntent is what is written down ahead of a New-VMSwitch.
func switchIntent(spec SwitchSpec, nics []NetAdapter) intent {
	in := intent{Kind: kindSwitch, Name: spec.Name}
	for _, n := range nics {
		in.Members = append(in.Members, strings.ToLower(strings.Trim(n.InterfaceGuid, "{}")))
	}
	in.MadeFrom = madeFrom(SwitchSpec{ // what the switch is made of, not how it is worked on
		Name: strings.ToLower(spec.Name), NetAdapterNames: in.Members, EnableEmbeddedTeaming: spec.EnableEmbeddedTeaming, AllowManagementOS: spec.AllowManagementOS,
		MinimumBandwidthMode: spec.MinimumBandwidthMode, Notes: spec.Notes, LoadBalancingAlgorithm: spec.LoadBalancingAlgorithm,
	})
	return in
}

// orphanSwitch finds the switch that a killed provider made for this same resource. A switch of this name that is
// anything else is an error.
func (h *Host) orphanSwitch(inv *Inventory, op string, spec SwitchSpec) (*Switch, error) {
	in, made, intended := inv.ledger.intent(intent{Kind: kindSwitch, Name: spec.Name})
	for _, s := range inv.Switches {
		if !strings.EqualFold(s.Name, spec.Name) {
			continue
		}
		if intended && !h.making.has(in.record()) && in.isSwitch(made, s) {
			return inv.describeSwitch(s), nil
		}
		return nil, &Error{Kind: Conflict, Op: op, Host: h.Name, Object: switchAbout(spec.Name), Attribute: "name", Value: spec.Name,
			Cause: "A switch of this name exists already.",
			Fix:   fmt.Sprintf("Import it (terraform import … '%s/%s'), choose another name, or remove it. SR-IOV cannot be turned on later (facts.md 8).", h.Name, s.ID)}
	}
	return nil, nil
}

// isSwitch says whether a switch is the one that was intended: by its id, where the host came to write it down, else
// by what it was to be. An orphan of a failed roll-back has no net adapters and is Private (facts.md 14).
func (in intent) isSwitch(made string, s VMSwitch) bool {
	if made != "" {
		return sameGUID(made, s.ID)
	}
	for _, guid := range s.NetAdapterInterfaceGuid {
		if !contains(in.Members, strings.ToLower(strings.Trim(guid, "{}"))) {
			return false
		}
	}
	return s.IovEnabled && (s.SwitchType == "External") == (len(s.NetAdapterInterfaceGuid) > 0)
}

// canTakeOver says that an orphan was made from this same configuration, and has become what it was to be: the rest is
// then done in place.
func canTakeOver(spec SwitchSpec, in intent, inv *Inventory, orphan *Switch) bool {
	was, _, _ := inv.ledger.intent(in)
	return was.MadeFrom == in.MadeFrom && len(orphan.NetAdapterNames) == len(spec.NetAdapterNames)
}

// pendingJobs says that the host is reached through these net adapters, and that a job of a killed provider stands to be
// taken back: the orphan is then no orphan for long.
func (h *Host) pendingJobs(inv *Inventory, nics []NetAdapter) bool {
	for id := range inv.ledger.jobs {
		if !h.making.has(taskPrefix + id) {
			return len(h.managementPath(inv, nics)) > 0
		}
	}
	return false
}
