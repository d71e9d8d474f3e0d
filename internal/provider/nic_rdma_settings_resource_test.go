package provider_test

import (
	"strings"
	"testing"
)

const nicType = "hyperv_nic_rdma_settings"

func TestNicRdmaSettingsLifecycle(t *testing.T) {
	l := startLab(t, "intel-x722")
	before := l.state()
	h := l.harness("hv2")
	s := h.resource(nicType)
	config := object{"net_adapter_names": list{"iwarp 1"}, "sriov": true, "vmq": true, "rdma_max_vfs": 8, "advanced_properties": object{"*JumboPacket": "9014"}}
	seq := l.seq()
	if d := s.apply(config).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
		t.Errorf("%d ports restarted, want both ports of the device once", got)
	}
	s.settled(config)
	imported := h.resource(nicType)
	if d := imported.importID("hv2/iWARP 2").errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if imported.state["id"] != s.state["id"] {
		t.Errorf("import by another port gave %v, want %v", imported.state["id"], s.state["id"])
	}
	t.Run("case 49: one port differs is drift of the device", func(t *testing.T) {
		l.cmdlet("hv2", "host", "Set-NetAdapterAdvancedProperty", object{"Name": "iWARP 2", "RegistryKeyword": "RdmaMaxVfsEnabled", "RegistryValue": "0"})
		seq := l.seq()
		if d := s.apply(config).errors(); len(d) > 0 {
			t.Fatal(d)
		}
		if got := restarts(l.since(seq))["net_adapter_restart"]; got != 2 {
			t.Errorf("%d ports restarted, want both once", got)
		}
		s.settled(config)
	})
	t.Run("what is left out is put back", func(t *testing.T) {
		less := object{"net_adapter_names": list{"iWARP 1", "iWARP 2"}, "sriov": true, "rdma_max_vfs": 16}
		if d := s.apply(less).errors(); len(d) > 0 {
			t.Fatal(d)
		}
		s.settled(less)
		if strings.Contains(l.state(), `"registry": "9014"`) {
			t.Error("*JumboPacket is not as it was")
		}
	})
	if d := s.apply(nil).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestNicRdmaSettingsRegistry(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro")
	before := l.state()
	h := l.harness("hv1")
	s := h.resource(nicType)
	config := object{"net_adapter_names": list{"MyRDMANIC"}, "guest_rdma_registry": object{"value": 1}}
	if d := s.apply(config).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	s.settled(config)
	l.cmdlet("hv1", "host", "Set-ItemProperty", object{"Path": `HKLM:\SYSTEM\CurrentControlSet\Services\mlx4_bus\Parameters`, "Name": "EnableGuestRdma", "Value": 0})
	if d := s.refresh().errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if p := s.plan(config); p.empty(s.state) {
		t.Error("a changed registry value is no drift")
	}
	if d := s.apply(config).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	s.settled(config)
	if d := s.apply(nil).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}

func TestNicRdmaSettingsBadInput(t *testing.T) {
	intel, mellanox := startLab(t, "intel-x722"), startLab(t, "mellanox-cx3pro")
	for name, x := range map[string]struct {
		l      *testLab
		config object
		want   []string
	}{
		"rdma_max_vfs = 33":                          {intel, object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 33}, []string{"33", "32"}},
		"case 20: a keyword that the driver lacks":   {intel, object{"net_adapter_names": list{"iWARP 1"}, "advanced_properties": object{"NoSuch": "1"}}, []string{"NoSuch", "facts.md 38"}},
		"case 20: rdma_max_vfs where none exists":    {mellanox, object{"net_adapter_names": list{"MyRDMANIC"}, "rdma_max_vfs": 8}, []string{"mellanox_cx3pro", "rdma_max_vfs"}},
		"case 21: the text instead of the value":     {intel, object{"net_adapter_names": list{"iWARP 1"}, "advanced_properties": object{"*QOS": "Enabled"}}, []string{"Enabled", "0"}},
		"a keyword that has an attribute":            {intel, object{"net_adapter_names": list{"iWARP 1"}, "advanced_properties": object{"*sriov": "1"}}, []string{"sriov"}},
		"ports of two devices":                       {intel, object{"net_adapter_names": list{"iWARP 1", "Ethernet"}, "sriov": true}, []string{`"Ethernet"`, "two PCI devices"}},
		"registry of a driver that has none":         {intel, object{"net_adapter_names": list{"iWARP 1"}, "guest_rdma_registry": object{"value": 1}}, []string{"guest_rdma_registry", "service"}},
		"a technology that the device does not list": {intel, object{"net_adapter_names": list{"iWARP 1"}, "technology": "InfiniBand"}, []string{"technology", "*NetworkDirectTechnology"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := x.l.harness("hv1")
			x.l.unchanged(func() {
				d := h.resource(nicType).apply(x.config).errors()
				if len(d) == 0 {
					t.Fatal("no error")
				}
				for _, w := range x.want {
					if !strings.Contains(d.String(), w) {
						t.Errorf("the error does not say %q:\n%s", w, d)
					}
				}
			})
		})
	}
}

func TestNicRdmaSettingsClaim(t *testing.T) {
	l := startLab(t, "intel-x722")
	h := l.harness("hv1")
	first := h.resource(nicType)
	if d := first.apply(object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8}).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	for name, ports := range map[string]list{"by another port": {"iWARP 2"}, "by the same port": {"iWARP 1"}} {
		t.Run(name, func(t *testing.T) {
			l.unchanged(func() {
				d := h.resource(nicType).apply(object{"net_adapter_names": ports, "rdma_max_vfs": 4}).errors()
				if !strings.Contains(d.String(), "another resource") {
					t.Errorf("a second resource on the device: %s", d)
				}
			})
		})
	}
}

// A value that no profile names is remembered and put back too.
func TestNicRdmaSettingsForeignRegistryValue(t *testing.T) {
	l := startLab(t, "mellanox-cx3pro")
	const key = `HKLM:\SYSTEM\CurrentControlSet\Services\mlx4_bus\Parameters`
	l.cmdlet("hv1", "host", "Set-ItemProperty", object{"Path": key, "Name": "Own-Value", "Value": 7, "Type": "DWord"})
	before := l.state()
	s := l.harness("hv1").resource(nicType)
	config := object{"net_adapter_names": list{"MyRDMANIC"}, "guest_rdma_registry": object{"service": "mlx4_bus", "value_name": "Own-Value", "value": 9}}
	mustApply(t, s, config)
	s.settled(config)
	mustApply(t, s, nil)
	if after := l.settledState(before); after != before {
		t.Errorf("the lab is not as it was:\n%s", textDiff(before, after))
	}
}
