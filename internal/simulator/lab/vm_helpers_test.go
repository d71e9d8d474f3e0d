package lab

import (
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

func on() cmdlet.Enum  { return onOff(true) }
func off() cmdlet.Enum { return onOff(false) }

// iovSwitch makes an IOV switch without a host vNIC on the named ports.
func (b *bench) iovSwitch(name string, ports ...string) *cmdlet.Object {
	b.t.Helper()
	return b.run("New-VMSwitch", params{"Name": name, "NetAdapterName": list(ports...), "EnableIov": true, "AllowManagementOS": false})[0]
}

// rdmaAdapter adds an adapter to a VM, connected to a switch.
func (b *bench) rdmaAdapter(vm, name, sw string) *cmdlet.Object {
	b.t.Helper()
	return b.run("Add-VMNetworkAdapter", params{"VMName": list(vm), "Name": name, "SwitchName": sw, "Passthru": true})[0]
}

// weights sets RdmaWeight (where 0 or more) and then IovWeight.
func (b *bench) weights(adapter *cmdlet.Object, rdma, iov int) {
	b.t.Helper()
	if rdma >= 0 {
		b.run("Set-VMNetworkAdapterRdma", params{"VMNetworkAdapter": adapter, "RdmaWeight": int64(rdma)})
	}
	b.run("Set-VMNetworkAdapter", params{"VMNetworkAdapter": adapter, "IovWeight": int64(iov)})
}

// bounce disables and enables net adapters.
func (b *bench) bounce(ports ...string) {
	b.t.Helper()
	b.run("Disable-NetAdapter", params{"Name": list(ports...)})
	b.run("Enable-NetAdapter", params{"Name": list(ports...)})
	b.pass(time.Second)
}

// rdmaVFs sets the number of RDMA VFs on ports, without a restart.
func (b *bench) rdmaVFs(n string, ports ...string) {
	b.t.Helper()
	for _, p := range ports {
		b.run("Set-NetAdapterAdvancedProperty", params{"Name": list(p), "RegistryKeyword": list(keywordMaxVFs), "RegistryValue": list(n), "NoRestart": true})
	}
}

// nic finds an adapter in the state.
func (b *bench) nic(vm, name string) *VMAdapter {
	b.t.Helper()
	for _, a := range b.machine(vm).Adapters {
		if a.Name == name {
			return a
		}
	}
	b.t.Fatalf("no adapter %s in %s", name, vm)
	return nil
}

func (b *bench) machine(name string) *VM {
	b.t.Helper()
	for _, vm := range b.state.Hosts[0].VMs {
		if vm.Name == name {
			return vm
		}
	}
	b.t.Fatalf("no VM %s", name)
	return nil
}

// settled gives what happens by itself its time and brings the lab up to it.
func (b *bench) settled() {
	for range 3 { // the virtual function, its data path, SMB's table
		b.pass(time.Second)
		b.mu.Lock()
		b.settle()
		b.mu.Unlock()
	}
}

// read is Get-VMNetworkAdapter of one adapter.
func (b *bench) read(vm, name string) *cmdlet.Object {
	b.t.Helper()
	return b.run("Get-VMNetworkAdapter", params{"VMName": list(vm), "Name": name})[0]
}

// intelUp brings an Intel lab to a VF with RDMA for adapter "rdma" of vm1.
func intelUp(t *testing.T, change func(*Scenario)) (*bench, *cmdlet.Object) {
	t.Helper()
	b := newBench(t, "intel-x722", change)
	b.rdmaVFs("8", "iWARP 1", "iWARP 2")
	b.iovSwitch("IOV", "iWARP 1")
	b.bounce("iWARP 1", "iWARP 2")
	a := b.rdmaAdapter("vm1", "rdma", "IOV")
	b.weights(a, 100, 100)
	b.settled()
	return b, a
}

// enableGuest turns RDMA on in vm1's guest, with the VF's keyword first.
func (b *bench) enableGuest() {
	b.t.Helper()
	guest := "guest:" + b.machine("vm1").ID
	for _, a := range b.machine("vm1").Guest.Adapters {
		if a.VF && findKeyword(a.Keywords, keywordVFEnabled) != nil {
			b.must(guest, "Set-NetAdapterAdvancedProperty", params{"Name": list(a.Name), "RegistryKeyword": list(keywordVFEnabled), "RegistryValue": list("1")})
		}
	}
	b.settled()
	b.must(guest, "Enable-NetAdapterRdma", params{"Name": list(b.rdmaNames()...)})
	b.settled()
}

// rdmaNames are the net adapters of vm1's guest that belong to adapter "rdma".
func (b *bench) rdmaNames() []string {
	var out []string
	for _, a := range b.machine("vm1").Guest.Adapters {
		if a.VMAdapterID == b.nic("vm1", "rdma").ID {
			out = append(out, a.Name)
		}
	}
	return out
}

// capable says what SMB in vm1's guest says of the pair of adapter "rdma".
func (b *bench) capable() bool {
	b.t.Helper()
	synthetic, _ := b.machine("vm1").Guest.pair(b.nic("vm1", "rdma").ID)
	for _, row := range b.must("guest:"+b.machine("vm1").ID, "Get-SmbClientNetworkInterface", nil) {
		if get(row, "FriendlyName") == synthetic.Name {
			return get(row, "RdmaCapable") == "True"
		}
	}
	b.t.Fatal("no SMB row for the adapter")
	return false
}
