package lab

import (
	"testing"
	"time"
)

func TestFact63PairsShareTheMac(t *testing.T) {
	b, _ := intelUp(t, nil)
	g := b.machine("vm1").Guest
	synthetic, vf := g.pair(b.nic("vm1", "rdma").ID)
	if synthetic.InterfaceDescription != "Microsoft Hyper-V Network Adapter #2" || vf.InterfaceDescription != "Intel(R) Ethernet Virtual Function X722" {
		t.Errorf("%s, %s", synthetic.InterfaceDescription, vf.InterfaceDescription)
	}
	if synthetic.RdmaEnabled || vf.RdmaEnabled {
		t.Error("RDMA is on before anybody turned it on (procedures.md B10)")
	}
	macs := map[string]string{}
	for _, o := range b.must("guest:"+b.machine("vm1").ID, "Get-NetAdapter", nil) {
		macs[get(o, "Name")] = get(o, "MacAddress")
	}
	if macs[synthetic.Name] == "" || macs[synthetic.Name] != macs[vf.Name] || macs[vf.Name] != dashed(b.nic("vm1", "rdma").MacAddress) {
		t.Errorf("%v", macs)
	}
}

// What SMB says when one condition is missing.
func TestFact64And65GuestRdmaNeedsAllOfIt(t *testing.T) {
	all := func(b *bench) (synthetic, vf *GuestAdapter) {
		return b.machine("vm1").Guest.pair(b.nic("vm1", "rdma").ID)
	}
	for name, test := range map[string]struct {
		change func(*bench)
		want   bool
	}{
		"all of it":                      {want: true},
		"fact 64: synthetic adapter off": {change: func(b *bench) { s, _ := all(b); s.RdmaEnabled = false }},
		"fact 64: VF off":                {change: func(b *bench) { _, v := all(b); v.RdmaEnabled = false }},
		"VF disabled":                    {change: func(b *bench) { _, v := all(b); v.Enabled = false }},
		"fact 65: keyword off":           {change: func(b *bench) { _, v := all(b); findKeyword(v.Keywords, keywordVFEnabled).Running = "0" }},
		"VF born without RDMA":           {change: func(b *bench) { b.nic("vm1", "rdma").Allocated.Rdma = false }},
		"fact 55: data path not yet": {change: func(b *bench) {
			b.timing.VFDataPath = 1e8
			a := b.nic("vm1", "rdma").Allocated
			a.DataPath, a.At = false, b.now
		}},
		"fact 6: in-box driver of Intel": {change: func(b *bench) { b.machine("vm1").Guest.VFDriver.Kind = driverInbox }},
		"no VF":                          {change: func(b *bench) { b.weights(b.read("vm1", "rdma"), -1, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := intelUp(t, nil)
			b.enableGuest()
			if test.change != nil {
				test.change(b)
				b.settled()
			}
			if got := b.capable(); got != test.want {
				t.Errorf("RDMA capable %v, want %v", got, test.want)
			}
		})
	}
}

func TestSection7InboxDriverOfConnectX3(t *testing.T) {
	for answer, want := range map[string]bool{"yes": true, "no": false} {
		t.Run(answer, func(t *testing.T) {
			b := newBench(t, "mellanox-cx3pro", func(s *Scenario) {
				s.Hosts[0].VMs[0].Guest.VFDriver = driverInbox
				s.Unknowns.InboxVFDriverRdma = answer
				s.Hosts[0].Registry = []ScenarioKey{{Path: guestRdmaKey, Values: []ScenarioValue{{Name: guestRdmaValue, Kind: "DWord", Data: "1"}}}}
			})
			b.iovSwitch("S", "MyRDMANIC")
			b.weights(b.rdmaAdapter("vm1", "rdma", "S"), -1, 100)
			b.settled()
			_, vf := b.machine("vm1").Guest.pair(b.nic("vm1", "rdma").ID)
			if got := b.vfOffersRdma(b.state.Hosts[0], b.machine("vm1"), vf); got != want {
				t.Errorf("the VF offers RDMA: %v, want %v", got, want)
			}
		})
	}
}

// Fact 66: which steps help a guest that needs so many.
func TestFact66RecoveryLadder(t *testing.T) {
	cycle := func(b *bench) {
		guest := "guest:" + b.machine("vm1").ID
		b.must(guest, "Disable-NetAdapterRdma", params{"Name": list(b.rdmaNames()...)})
		b.must(guest, "Enable-NetAdapterRdma", params{"Name": list(b.rdmaNames()...)})
	}
	bounce := func(b *bench) { b.bounce("iWARP 1", "iWARP 2") }
	restart := func(b *bench) {
		b.run("Stop-VM", params{"Name": list("vm1")})
		b.run("Start-VM", params{"Name": list("vm1")})
	}
	again := func(b *bench) {
		b.weights(b.read("vm1", "rdma"), -1, 0)
		b.weights(b.read("vm1", "rdma"), -1, 100)
	}
	for name, test := range map[string]struct {
		needed int
		steps  []func(*bench)
		want   bool
	}{
		"none needed":                       {0, nil, true},
		"1 needed, none taken":              {1, nil, false},
		"1 needed, 1 taken":                 {1, []func(*bench){cycle}, true},
		"2 needed, 1 taken":                 {2, []func(*bench){cycle}, false},
		"2 needed, 1 and 2 taken":           {2, []func(*bench){cycle, bounce}, true},
		"3 needed, 1 and 2 taken":           {3, []func(*bench){cycle, bounce}, false},
		"3 needed, all taken":               {3, []func(*bench){cycle, bounce, restart}, true},
		"fact 46: a VF given up forgets it": {1, []func(*bench){cycle, again}, false},
		"fact 46: and can be helped again":  {1, []func(*bench){cycle, again, cycle}, true},
		"1 needed, bounced before":          {1, []func(*bench){again}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := intelUp(t, func(s *Scenario) { s.Hosts[0].VMs[0].Guest.RecoveryNeeded = test.needed })
			b.enableGuest()
			for _, step := range test.steps {
				step(b)
				b.settled()
			}
			if got := b.capable(); got != test.want {
				t.Errorf("RDMA capable %v, want %v", got, test.want)
			}
		})
	}
}

func TestVFComesBackWithItsSettings(t *testing.T) {
	b, _ := intelUp(t, nil)
	b.enableGuest()
	b.must("guest:"+b.machine("vm1").ID, "Rename-NetAdapter", params{"Name": list(b.rdmaNames()[1]), "NewName": "VF of mine"})
	b.bounce("iWARP 1", "iWARP 2")
	b.settled()
	_, vf := b.machine("vm1").Guest.pair(b.nic("vm1", "rdma").ID)
	if vf == nil || vf.Name != "VF of mine" || !vf.RdmaEnabled {
		t.Errorf("%+v", vf)
	}
	if !b.capable() {
		t.Error("not RDMA capable after a bounce")
	}
}

func TestGuestFollowsItsVMsAdapters(t *testing.T) {
	b := newBench(t, "intel-x722", nil)
	a := b.rdmaAdapter("vm1", "it's [one]", "LAN")
	if got := names(b.must("guest:"+b.machine("vm1").ID, "Get-NetAdapter", nil), "Name"); got != "Ethernet, Ethernet 2" {
		t.Error(got)
	}
	b.run("Remove-VMNetworkAdapter", params{"VMNetworkAdapter": []any{a}})
	b.pass(time.Second)
	if got := names(b.must("guest:"+b.machine("vm1").ID, "Get-NetAdapter", nil), "Name"); got != "Ethernet" {
		t.Error(got)
	}
}
