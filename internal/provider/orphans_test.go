package provider_test

import (
	"strings"
	"testing"
)

// TestOrphans: an object that a killed run had made is taken over, as it is or made again; one of anybody else is not.
func TestOrphans(t *testing.T) {
	sw := func(more object) object {
		return merged(object{"host": "hv1", "name": "S 'x'", "net_adapter_names": list{"iWARP 1"}, "allow_management_os": false}, more)
	}
	nic := func(more object) object {
		return merged(object{"host": "hv1", "vm_name": "vm1", "name": "R 'x'", "vlan": object{"access_vlan_id": 101}}, more)
	}
	for name, x := range map[string]struct {
		typ         string
		first, next object
		somebody    func(*testLab) // between the two runs
		orderly     bool           // the first run was not killed
		says        []string       // the second create is refused
		same        bool           // the second run has the object of the first
	}{
		"switch, same configuration":        {typ: switchType, first: sw(nil), next: sw(nil), same: true},
		"switch, restarts by hand":          {typ: switchType, first: sw(nil), next: sw(object{"restart_policy": "manual"}), same: true},
		"switch, name in other letters":     {typ: switchType, first: sw(nil), next: sw(object{"name": "s 'X'"}), same: true},
		"switch, other notes":               {typ: switchType, first: sw(object{"notes": "old"}), next: sw(nil)},
		"switch, other net adapter":         {typ: switchType, first: sw(nil), next: sw(object{"net_adapter_names": list{"iWARP 2"}})},
		"switch, state stored":              {typ: switchType, first: sw(nil), next: sw(nil), orderly: true, says: []string{"exists already", "terraform import"}},
		"switch, removed meanwhile":         {typ: switchType, first: sw(nil), next: sw(nil), somebody: removeSwitch},
		"switch, another one in its place":  {typ: switchType, first: sw(nil), next: sw(nil), somebody: replaceSwitch, says: []string{"exists already", "terraform import"}},
		"adapter, same configuration":       {typ: adapterType, first: nic(nil), next: nic(nil), same: true},
		"adapter, other VLAN":               {typ: adapterType, first: nic(nil), next: nic(object{"vlan": object{"access_vlan_id": 7}})},
		"adapter, VLAN no longer managed":   {typ: adapterType, first: nic(nil), next: nic(object{"vlan": nil})},
		"adapter, changed meanwhile":        {typ: adapterType, first: nic(nil), next: nic(nil), somebody: untagAdapter},
		"adapter, state stored":             {typ: adapterType, first: nic(nil), next: nic(nil), orderly: true, says: []string{"already", "terraform import"}},
		"adapter, removed meanwhile":        {typ: adapterType, first: nic(nil), next: nic(nil), somebody: removeAdapter},
		"adapter, another one in its place": {typ: adapterType, first: nic(nil), next: nic(nil), somebody: replaceAdapter, says: []string{"already", "terraform import"}},
		"adapter, another one of its name":  {typ: adapterType, first: nic(nil), next: nic(nil), somebody: addAdapter, says: []string{"already", "terraform import"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722")
			killed := l.harness("hv1")
			first := killed.resource(x.typ)
			mustApply(t, first, x.first)
			says(t, killed.resource(x.typ).apply(x.first).errors().String(), "already") // a second one of the same run is none of it
			if x.orderly {
				killed.close()
			}
			if x.somebody != nil {
				x.somebody(l)
			}
			h := l.harness("hv1")
			next := h.resource(x.typ)
			if len(x.says) > 0 {
				l.unchanged(func() { says(t, next.apply(x.next).errors().String(), x.says...) })
				return
			}
			mustApply(t, next, x.next)
			next.settled(x.next)
			id := map[string]string{switchType: "switch_id", adapterType: "adapter_id"}[x.typ]
			if same := next.state[id] == first.state[id]; same != x.same {
				t.Errorf("it is the object of the killed run: %t, want %t", same, x.same)
			}
			h.close()
			if strings.Contains(l.state(), `"intent.`+x.typ+`.`+strings.ToLower(intentKey(next.state))) {
				t.Error("the intent is still there after the end of the run")
			}
			again := l.harness("hv1")
			gone := again.resource(x.typ)
			gone.state, gone.private = next.state, next.private
			mustApply(t, gone, nil)
			if strings.Contains(l.state(), ledgerKey) {
				t.Error("the ledger is still there")
			}
		})
	}
}

// intentKey is how the name of a record goes on behind the type, up to the first character that is written otherwise.
func intentKey(state object) string {
	if vm, ok := state["vm_id"].(string); ok {
		return vm
	}
	return "s%20"
}

func removeSwitch(l *testLab) { l.cmdlet("hv1", "host", "Remove-VMSwitch", object{"Name": "S 'x'"}) }

func replaceSwitch(l *testLab) {
	removeSwitch(l)
	l.cmdlet("hv1", "host", "New-VMSwitch", object{"Name": "S 'x'", "NetAdapterName": list{"iWARP 1"}, "EnableIov": true, "AllowManagementOS": false})
}

func removeAdapter(l *testLab) {
	l.cmdlet("hv1", "host", "Remove-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R 'x'"})
}

func addAdapter(l *testLab) {
	l.cmdlet("hv1", "host", "Add-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R 'x'"})
}

func replaceAdapter(l *testLab) {
	removeAdapter(l)
	addAdapter(l)
}

func untagAdapter(l *testLab) {
	l.cmdlet("hv1", "host", "Set-VMNetworkAdapterVlan", object{"VMName": "vm1", "VMNetworkAdapterName": "R 'x'", "Untagged": true})
}
