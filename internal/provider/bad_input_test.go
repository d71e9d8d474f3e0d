package provider_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// refusal is what an error about bad input has to say.
type refusal struct {
	attribute string // the path that it is at, or that its text names
	value     string
	rule      string
	fix       string
}

// check applies what must be refused: one error at least that names attribute, value, rule and fix, no state, and
// nothing changed on the lab.
func (r refusal) check(t testing.TB, l *testLab, i *instance, config object) {
	t.Helper()
	l.unchanged(func() {
		t.Helper()
		d := i.apply(config).errors()
		if len(d) == 0 {
			t.Fatalf("no error; state %v", i.state)
		}
		r.says(t, d)
		if i.state != nil {
			t.Errorf("a failed create left a state: %v", i.state)
		}
	})
}

func (r refusal) says(t testing.TB, d diagnostics) {
	t.Helper()
	if len(d) == 0 {
		t.Fatal("no error")
	}
	text := d.String()
	for what, want := range map[string]string{"attribute": r.attribute, "value": r.value, "rule": r.rule, "fix": r.fix} {
		if want == "" {
			t.Fatalf("the test does not say which %s is expected", what)
		}
		if !strings.Contains(text, want) {
			t.Errorf("the error does not name the %s %q:\n%s", what, want, text)
		}
	}
}

// goodConfigs is a configuration of each resource that would work on hv1 of the Intel preset.
func goodConfigs() map[string]object {
	return map[string]object{
		nicType:     {"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8},
		switchType:  {"name": "S", "net_adapter_names": list{"iWARP 2"}, "allow_management_os": false},
		adapterType: {"vm_name": "vm1", "name": "A", "switch_name": "RDMA"},
		rdmaType:    {"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100},
		guestType:   {"vm_name": "vm1", "vm_network_adapter_name": "R"},
	}
}

// badLab is hv1 with what bad input can hit: two VMs, two switches and two adapters of one name, an IOV switch.
func badLab(s *lab.Scenario) {
	onIovSwitch(s)
	h := &s.Hosts[0]
	twin := h.VMs[1]
	twin.Name = "twin"
	linux := h.VMs[1]
	linux.Name, linux.Guest = "linux", &lab.ScenarioGuest{OS: lab.ScenarioOS{Name: "linux"}}
	linux.Adapters = []lab.ScenarioAdapter{{Name: "R", Switch: "RDMA", IovWeight: 100}}
	off := h.VMs[1]
	off.Name, off.State = "off", "Off"
	off.Adapters = []lab.ScenarioAdapter{{Name: "R", Switch: "RDMA", IovWeight: 100}}
	h.VMs = append(h.VMs, twin, twin, linux, off)
	h.VMs[1].Adapters = append(h.VMs[1].Adapters, lab.ScenarioAdapter{Name: "same"}, lab.ScenarioAdapter{Name: "Same"})
	h.Switches = append(h.Switches, lab.ScenarioSwitch{Name: "double", Type: "Internal"}, lab.ScenarioSwitch{Name: "Double", Type: "Internal"})
}

// TestBadInput: input that names what is not there, or twice there, or that breaks a rule.
func TestBadInput(t *testing.T) {
	l := startLab(t, "intel-x722", badLab)
	h := l.harness()
	for name, x := range map[string]struct {
		typ    string
		change object // of the good configuration
		want   refusal
	}{
		"a VM that is missing, for an adapter":     {adapterType, object{"vm_name": "nope"}, refusal{"vm_name", "nope", "no VM of this name", `VMs of the host: "linux", "off", "twin", "twin", "vm1", "vm2"`}},
		"a VM that is missing, for weights":        {rdmaType, object{"vm_name": "nope"}, refusal{"vm_name", "nope", "no VM of this name", "VMs of the host"}},
		"a VM that is missing, for a guest":        {guestType, object{"vm_name": "nope"}, refusal{"vm_name", "nope", "no VM of this name", "VMs of the host"}},
		"a VM of another host":                     {adapterType, object{"vm_name": "vm3"}, refusal{"vm_name", "vm3", "no VM of this name", "VMs of the host"}},
		"a pattern is no VM":                       {adapterType, object{"vm_name": "vm*"}, refusal{"vm_name", "vm*", "no VM of this name", "VMs of the host"}},
		"two VMs, for an adapter":                  {adapterType, object{"vm_name": "Twin"}, refusal{"vm_name", "Twin", "2 VMs have this name: ", "Rename one of them"}},
		"two VMs, for weights":                     {rdmaType, object{"vm_name": "twin"}, refusal{"vm_name", "twin", "2 VMs have this name: ", "Rename one of them"}},
		"two VMs, for a guest":                     {guestType, object{"vm_name": "twin"}, refusal{"vm_name", "twin", "2 VMs have this name: ", "Rename one of them"}},
		"a switch that is missing":                 {adapterType, object{"switch_name": "nope"}, refusal{"switch_name", "nope", "no switch of this name", `"LAN", "RDMA"`}},
		"two switches":                             {adapterType, object{"switch_name": "DOUBLE"}, refusal{"switch_name", "DOUBLE", "2 switches have this name: ", "Rename one of them"}},
		"an adapter that is missing, for weights":  {rdmaType, object{"vm_network_adapter_name": "nope"}, refusal{"vm_network_adapter_name", "nope", "no such network adapter", `"Network Adapter"`}},
		"an adapter that is missing, for a guest":  {guestType, object{"vm_network_adapter_name": "nope"}, refusal{"vm_network_adapter_name", "nope", "no such network adapter", `"Network Adapter"`}},
		"two adapters, for weights":                {rdmaType, object{"vm_name": "vm2", "vm_network_adapter_name": "SAME"}, refusal{"vm_network_adapter_name", "SAME", "2 network adapters of the VM have this name (facts.md 49)", "Name one by its id: "}},
		"two adapters, for a guest":                {guestType, object{"vm_name": "vm2", "vm_network_adapter_name": "SAME"}, refusal{"vm_network_adapter_name", "SAME", "2 network adapters of the VM have this name (facts.md 49)", "Name one by its id: "}},
		"weight on an ordinary switch":             {rdmaType, object{"vm_network_adapter_name": "Network Adapter"}, refusal{"iov_weight", "100", "without SR-IOV", "hyperv_iov_switch"}},
		"a net adapter that is missing, settings":  {nicType, object{"net_adapter_names": list{"nope"}}, refusal{"net_adapter_names", "nope", "no net adapter of this name", `"iWARP 1"`}},
		"a net adapter that is missing, a switch":  {switchType, object{"net_adapter_names": list{"nope"}}, refusal{"net_adapter_names", "nope", "no net adapter of this name", `"iWARP 1"`}},
		"a pattern is no net adapter":              {switchType, object{"net_adapter_names": list{"iWARP ?"}}, refusal{"net_adapter_names", "iWARP ?", "no net adapter of this name", `"iWARP 1"`}},
		"ports of two devices":                     {nicType, object{"net_adapter_names": list{"iWARP 1", "Ethernet"}}, refusal{"net_adapter_names", "Ethernet", "two PCI devices", `make a second resource for "Ethernet"`}},
		"more virtual functions than there can be": {nicType, object{"rdma_max_vfs": 33}, refusal{"rdma_max_vfs", "33", "between 0 and 32", "between 0 and 32"}},
		"fewer than none":                          {nicType, object{"rdma_max_vfs": -1}, refusal{"rdma_max_vfs", "-1", "between 0 and 32", "between 0 and 32"}},
		"a keyword that the driver lacks":          {nicType, object{"advanced_properties": object{"*RoceMaxFrameSize": "1024"}}, refusal{"advanced_properties", "1024", "no keyword *RoceMaxFrameSize", "Keywords of this driver: "}},
		"a guest without a virtual function":       {guestType, nil, refusal{"vm_network_adapter_name", "R", "no VF adapter with MAC", "iov_weight = 100"}},
		"a guest's adapter on an ordinary switch":  {guestType, object{"vm_network_adapter_name": "Network Adapter"}, refusal{"vm_network_adapter_name", "Network Adapter", "no VF adapter with MAC", "iov_weight = 100"}},
		"a guest that is off":                      {guestType, object{"vm_name": "off"}, refusal{"vm_name", "off", "only while it runs", "Start the VM"}},
		"a guest that is no Windows":               {guestType, object{"vm_name": "linux"}, refusal{"guest_credentials", "linux", "PowerShell Direct did not open a session", "guest_credentials"}},
		"a credential that is missing":             {guestType, object{"credential": "nope"}, refusal{"credential", "nope", "no credential", `"lab"`}},
	} {
		t.Run(name, func(t *testing.T) {
			config := merged(merged(goodConfigs()[x.typ], object{"host": "hv1"}), x.change)
			x.want.check(t, l, h.resource(x.typ), config)
		})
	}
	for typ, config := range goodConfigs() {
		t.Run("a host that is missing, "+typ, func(t *testing.T) {
			refusal{"host", "hv9", "has no host", `Use one of "hv1", "hv2"`}.check(t, l, h.resource(typ), merged(object{"host": "hv9"}, config))
		})
		t.Run("no host where there are two, "+typ, func(t *testing.T) {
			refusal{"host", "2 hosts", "must say which is meant", `"hv1", "hv2"`}.check(t, l, h.resource(typ), config)
		})
	}
	t.Run("a host that is missing, data source", func(t *testing.T) {
		_, d := h.data("hyperv_rdma_host", object{"host": "hv9"})
		refusal{"host", "hv9", "has no host", `Use one of "hv1", "hv2"`}.says(t, d.errors())
	})
}

// TestBadImportIDs: ids that do not have the form, or name what is not there.
func TestBadImportIDs(t *testing.T) {
	l := startLab(t, "intel-x722", badLab)
	h := l.harness()
	type id struct {
		id   string
		want []string
	}
	form := func(bad, form, example string, why string) id {
		return id{bad, []string{"Malformed import id", fmt.Sprintf("%q", bad), form, why, example, `"hv1", "hv2"`}}
	}
	two := func(form3, example string) []id {
		return []id{
			form("", form3, example, "it has 1 parts, not 2"), form("hv1", form3, example, "it has 1 parts, not 2"), form("hv1/a/b", form3, example, "it has 3 parts, not 2"),
			form("hv1/", form3, example, "is empty"), form("/x", form3, example, "is empty"), form("hv1/50%", form3, example, `"%" is no escape`),
		}
	}
	three := []id{}
	for bad, why := range map[string]string{"": "it has 1 parts, not 3", "hv1/vm1": "it has 2 parts, not 3", "hv1/vm1/a/b": "it has 4 parts, not 3", "hv1//R": "is empty", "hv1/vm1/%zz": `"%ZZ" is no escape`} {
		three = append(three, form(bad, "host/vm/adapter", "hv1/vm1/RDMA", why))
	}
	three = append(three,
		id{"hv9/vm1/R", []string{`"hv9"`, `no host "hv9"`, `"hv1", "hv2"`}},
		id{"hv1/nope/R", []string{`"nope"`, "no VM of this name", "VMs of the host"}},
		id{"hv1/twin/Network Adapter", []string{"2 VMs have this name", "Rename one of them"}},
		id{"hv1/vm1/nope", []string{`"nope"`, "no such network adapter", `"Network Adapter"`}},
		id{"hv1/vm2/same", []string{"2 network adapters of the VM have this name", "Name one by its id"}},
	)
	for typ, ids := range map[string][]id{
		adapterType: three, rdmaType: three, guestType: three,
		nicType: append(two("host/net adapter", "hv1/iWARP 1"),
			id{"hv9/iWARP 1", []string{`"hv9"`, `no host "hv9"`, `"hv1", "hv2"`}}, id{"hv1/nope", []string{`"nope"`, "no net adapter of this name", `"iWARP 1"`}}),
		switchType: append(two("host/switch", "hv1/W2K16-Switch"),
			id{"hv9/RDMA", []string{`"hv9"`, `no host "hv9"`, `"hv1", "hv2"`}}, id{"hv1/nope", []string{`"nope"`, "no switch of this name or id", `"LAN"`}},
			id{"hv1/double", []string{`"double"`, "2 switches have this name", "Use an id"}}, id{"hv1/LAN", []string{`"LAN"`, "IovEnabled false", "facts.md 8", "Remove the switch"}}),
	} {
		t.Run(typ, func(t *testing.T) {
			for _, x := range ids {
				l.unchanged(func() {
					i := h.resource(typ)
					d := i.importID(x.id).errors()
					if len(d) == 0 || i.state != nil {
						t.Fatalf("import of %q: %s, state %v", x.id, d, i.state)
					}
					says(t, d.String(), x.want...)
				})
			}
		})
	}
}

// TestHostOutOfReach: every kind of failure on the way to a host shows within seconds, names the host, and says what
// to do; nothing is changed on the host that can be reached.
func TestHostOutOfReach(t *testing.T) {
	t.Parallel()
	l := startLab(t, "intel-x722", onIovSwitch)
	closed := closedPort(t)
	for name, x := range map[string]struct {
		config object
		want   refusal
	}{
		"nobody listens":           {with(l.config("hv1"), "port", closed), refusal{"port", fmt.Sprintf(":%d", closed), "Nothing listens at this address and port", "winrm quickconfig"}},
		"no such name":             {with(l.config("hv1"), "address", "no-such-host.invalid"), refusal{"address", "no-such-host.invalid", "a name that does not exist", "Correct address of the host"}},
		"HTTP where HTTPS is":      {with(l.config("hv1"), "port", l.ready.Hosts[0].HTTPPort), refusal{"port", fmt.Sprintf(":%d", l.ready.Hosts[0].HTTPPort), "does not speak TLS", "https = false"}},
		"wrong password":           {with(l.config("hv1"), "password", "wrong-secret"), refusal{"password", `"Administrator"`, "User or password is wrong", "Check user and password of the host"}},
		"wrong user":               {with(l.config("hv1"), "user", "nobody"), refusal{"user", `"nobody"`, "User or password is wrong", "Check user and password of the host"}},
		"untrusted certificate":    {with(l.config("hv1"), "ca_file", nil), refusal{"ca_file", "unknown authority", "self-signed or issued by an authority that this machine does not trust", "in ca_cert or ca_file"}},
		"another authority":        {with(with(l.config("hv1"), "ca_file", nil), "ca_cert", certificate(t)), refusal{"ca_cert", "unknown authority", "not issued by an authority in ca_cert or ca_file", "Give the certificate of the authority"}},
		"a certificate of another": {with(l.config("hv1"), "tls_server_name", "other.example"), refusal{"tls_server_name", "wrong name", "for another name than the address", "give it as tls_server_name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, x.config)
			begun := time.Now()
			for _, typ := range sortedKeys(goodConfigs()) { // the first one waits, the others do not begin anew
				x.want.check(t, l, h.resource(typ), goodConfigs()[typ])
			}
			_, d := h.data("hyperv_rdma_host", object{"host": "hv1"})
			x.want.says(t, d.errors())
			for _, typ := range []string{nicType, switchType} {
				x.want.says(t, h.resource(typ).importID("hv1/x").errors())
			}
			says(t, d.String(), "Host: hv1")
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// closedPort is a port of loopback on which nobody listens.
func closedPort(t testing.TB) int {
	t.Helper()
	n, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer n.Close()
	return n.Addr().(*net.TCPAddr).Port
}
