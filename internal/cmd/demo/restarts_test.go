package main

import "testing"

func TestCountRestarts(t *testing.T) {
	lab, err := devicesOf([]byte(`{"hosts": [
		{"name": "hv1", "devices": [
			{"segment": 0, "bus": 3, "number": 0, "ports": [{"name": "p1"}, {"name": "p2"}]},
			{"segment": 0, "bus": 4, "number": 0, "ports": [{"name": "q1"}]}]},
		{"name": "hv2", "devices": [{"segment": 0, "bus": 3, "number": 0, "ports": [{"name": "p1"}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	restart := func(host, port string) entry { return entry{Host: host, Event: "net_adapter_restart", Object: port} }
	guest := func(cmdlet, id string) entry {
		return entry{Host: "hv1", Target: "guest:VM", Cmdlet: cmdlet, Error: id}
	}
	for name, c := range map[string]struct {
		journal []entry
		want    restarts
	}{
		"nothing":                          {nil, restarts{}},
		"both ports of a device":           {[]entry{restart("hv1", "p1"), restart("hv1", "P2")}, restarts{NetAdapter: 1}},
		"two devices":                      {[]entry{restart("hv1", "p1"), restart("hv1", "q1")}, restarts{NetAdapter: 2}},
		"the same name on another host":    {[]entry{restart("hv1", "p1"), restart("hv2", "p1")}, restarts{NetAdapter: 2}},
		"one port twice":                   {[]entry{restart("hv1", "p1"), restart("hv1", "p1")}, restarts{NetAdapter: 2}},
		"two bounces of two ports":         {[]entry{restart("hv1", "p1"), restart("hv1", "p2"), restart("hv1", "p2"), restart("hv1", "p1")}, restarts{NetAdapter: 2}},
		"a virtual adapter":                {[]entry{restart("hv1", "vEthernet (x)")}, restarts{NetAdapter: 1}},
		"other events":                     {[]entry{{Event: "link_flap", Object: "p1"}, {Event: "session_drop"}}, restarts{}},
		"VM and host":                      {[]entry{{Event: "vm_restart"}, {Event: "vm_restart"}, {Event: "host_restart"}}, restarts{VM: 2, Host: 1}},
		"guest RDMA off and on":            {[]entry{guest("Disable-NetAdapterRdma", ""), guest("Enable-NetAdapterRdma", "")}, restarts{GuestRdma: 1}},
		"guest RDMA refused":               {[]entry{guest("Disable-NetAdapterRdma", "Windows System Error 5")}, restarts{}},
		"RDMA off on the host is no guest": {[]entry{{Host: "hv1", Target: "host", Cmdlet: "Disable-NetAdapterRdma"}}, restarts{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := countRestarts(c.journal, lab); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTooManyRestarts(t *testing.T) {
	lab := devices{portKey("hv1", "p1"): "hv1 0:3.0", portKey("hv1", "p2"): "hv1 0:3.0"}
	restart := func(port string) entry { return entry{Host: "hv1", Event: "net_adapter_restart", Object: port} }
	vm := entry{Host: "hv1", Event: "vm_restart", Object: "vm1"}
	for name, c := range map[string]struct {
		journal []entry
		want    string
	}{
		"a bounce of both ports, and a VM": {[]entry{restart("p1"), restart("p2"), vm}, ""},
		"a device twice":                   {[]entry{restart("p1"), restart("p2"), restart("p1"), restart("p2")}, "more than one restart during apply: net_adapter hv1 0:3.0 2 times"},
		"a VM twice":                       {[]entry{vm, vm}, "more than one restart during apply: vm hv1 vm1 2 times"},
		"two VMs":                          {[]entry{vm, {Host: "hv1", Event: "vm_restart", Object: "vm2"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, targets := countRestarts(c.journal, lab)
			got := ""
			if err := targets.tooMany("apply"); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
