package provider_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestAdapterByNameOrID: an import cannot know whether the configuration names the adapter or has its id. Either means the
// same adapter: nothing is replaced, and nothing on the host or in the guest is set anew.
func TestAdapterByNameOrID(t *testing.T) {
	t.Parallel()
	for typ, config := range map[string]object{
		rdmaType:  {"vm_name": "vm1", "iov_weight": 100, "rdma_weight": 100},
		guestType: {"vm_name": "vm1"},
	} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			l, _ := guestLab(t)
			h := l.harness("hv1")
			first := h.resource(typ)
			if typ == guestType {
				mustApply(t, first, plus(config, object{"vm_network_adapter_name": "R"}))
			} else if d := first.importID("hv1/vm1/R").errors(); len(d) > 0 {
				t.Fatal(d)
			}
			vm, id := fmt.Sprint(first.state["vm_id"]), fmt.Sprint(first.state["adapter_id"])
			byName, byID := object{"vm_network_adapter_name": "R"}, object{"vm_network_adapter_id": id}
			for name, tt := range map[string]struct {
				from     []object // applied before, one after the other; nil: imported
				importID string
				to       object
				rename   string
				other    bool // another adapter: replaced
			}{
				"imported by names, configured by name":          {importID: "hv1/vm1/R", to: byName},
				"imported by names, configured by id":            {importID: "hv1/vm1/R", to: byID},
				"imported by ids, configured by name":            {importID: "hv1/" + vm + "/" + id, to: byName},
				"imported by ids, configured by id":              {importID: "hv1/" + vm + "/" + id, to: byID},
				"imported by names, id in braces, upper case":    {importID: "hv1/vm1/R", to: object{"vm_network_adapter_id": "{" + strings.ToUpper(id) + "}"}},
				"imported by names, id as the host writes it":    {importID: "hv1/vm1/R", to: object{"vm_network_adapter_id": `Microsoft:` + vm + `\` + id}},
				"imported by names, name in another case":        {importID: "hv1/vm1/R", to: object{"vm_network_adapter_name": "r"}},
				"from id to name":                                {importID: "hv1/vm1/R", from: []object{byID}, to: byName},
				"from name to id and back":                       {importID: "hv1/vm1/R", from: []object{byName, byID}, to: byName},
				"another id of the same form is another":         {importID: "hv1/vm1/R", to: object{"vm_network_adapter_id": strings.Repeat("0", 8) + id[8:]}, other: true},
				"another name":                                   {importID: "hv1/vm1/R", to: object{"vm_network_adapter_name": "S"}, other: true},
				"another name, the state has the id":             {importID: "hv1/vm1/R", from: []object{byID}, to: object{"vm_network_adapter_name": "S"}, other: true},
				"id that is known after apply":                   {importID: "hv1/vm1/R", to: object{"vm_network_adapter_id": unknown}, other: true},
				"the configuration follows a rename by its name": {importID: "hv1/vm1/R", from: []object{byName}, rename: "R 'x'", to: object{"vm_network_adapter_name": "r 'X'"}},
				"by id, renamed, then by its new name":           {importID: "hv1/vm1/R", from: []object{byID}, rename: "R [x]", to: object{"vm_network_adapter_name": "R [x]"}},
			} {
				t.Run(name, func(t *testing.T) {
					i := l.harness("hv1").resource(typ)
					if d := i.importID(tt.importID).errors(); len(d) > 0 {
						t.Fatal(d)
					}
					for _, from := range tt.from {
						mustApply(t, i, plus(config, from))
						i.settled(plus(config, from))
					}
					if tt.rename != "" {
						l.cmdlet("hv1", "host", "Rename-VMNetworkAdapter", object{"VMName": "vm1", "Name": "R", "NewName": tt.rename})
						defer l.cmdlet("hv1", "host", "Rename-VMNetworkAdapter", object{"VMName": "vm1", "Name": strings.NewReplacer("[", "`[", "]", "`]").Replace(tt.rename), "NewName": "R"})
						if d := i.refresh().errors(); len(d) > 0 {
							t.Fatal(d)
						}
					}
					p := i.plan(plus(config, tt.to))
					if len(p.errors()) > 0 {
						t.Fatal(p.diagnostics)
					}
					if (len(p.replace) > 0) != tt.other {
						t.Fatalf("replaced because of %v, want %t", p.replace, tt.other)
					}
					if tt.other {
						return
					}
					seq := l.seq()
					mustApply(t, i, plus(config, tt.to))
					for _, c := range changes(l.since(seq)) {
						if !strings.Contains(c, "TerraformProviderHyperV") {
							t.Errorf("changed: %s", c)
						}
					}
					i.settled(plus(config, tt.to))
				})
			}
		})
	}
}
