package lab

import (
	"bytes"
	"testing"
)

// Both procedures as an engineer does them by hand, up and down again: SMB says RDMA capable at the top, and the
// lab is what it was at the bottom.
func TestProceduresUpAndDown(t *testing.T) {
	t.Run("intel (procedures.md B)", func(t *testing.T) {
		b := newBench(t, "intel-x722", nil)
		before, _ := b.State()
		b.rdmaVFs("8", "iWARP 1", "iWARP 2")
		b.iovSwitch("IOV", "iWARP 1")
		b.bounce("iWARP 1", "iWARP 2")
		a := b.rdmaAdapter("vm1", "rdma", "IOV")
		b.weights(a, 100, 100)
		b.settled()
		b.enableGuest()
		if !b.capable() {
			t.Fatal("SMB does not say RDMA capable")
		}
		guest := "guest:" + b.machine("vm1").ID
		b.must(guest, "Disable-NetAdapterRdma", params{"Name": list(b.rdmaNames()...)})
		for _, g := range b.machine("vm1").Guest.Adapters {
			if g.VF {
				b.must(guest, "Set-NetAdapterAdvancedProperty", params{"Name": list(g.Name), "RegistryKeyword": list(keywordVFEnabled), "RegistryValue": list("0")})
			}
		}
		b.weights(a, -1, 0)
		b.run("Set-VMNetworkAdapterRdma", params{"VMNetworkAdapter": a, "RdmaWeight": int64(0)})
		b.run("Remove-VMNetworkAdapter", params{"VMNetworkAdapter": []any{a}})
		b.run("Remove-VMSwitch", params{"Name": list("IOV"), "Force": true})
		b.rdmaVFs("0", "iWARP 1", "iWARP 2")
		b.bounce("iWARP 1", "iWARP 2")
		if after, _ := b.State(); !bytes.Equal(before, after) {
			t.Errorf("the lab differs afterwards:\n%s", firstDifference(before, after))
		}
	})
	t.Run("mellanox (procedures.md A)", func(t *testing.T) {
		b := newBench(t, "mellanox-cx3pro", nil)
		before, _ := b.State()
		key := `HKLM:\` + guestRdmaKey
		b.run("New-ItemProperty", params{"Path": list(key), "Name": guestRdmaValue, "PropertyType": "DWord", "Value": int64(1)})
		b.bounce("MyRDMANIC", "MyRDMANIC 2")
		b.iovSwitch("W2K16-Switch", "MyRDMANIC")
		a := b.rdmaAdapter("vm1", "rdma", "W2K16-Switch")
		b.weights(a, -1, 100)
		b.settled()
		b.enableGuest()
		if !b.capable() {
			t.Fatal("SMB does not say RDMA capable")
		}
		b.must("guest:"+b.machine("vm1").ID, "Disable-NetAdapterRdma", params{"Name": list(b.rdmaNames()...)})
		b.weights(a, -1, 0)
		b.run("Remove-VMNetworkAdapter", params{"VMNetworkAdapter": []any{a}})
		b.run("Remove-VMSwitch", params{"Name": list("W2K16-Switch"), "Force": true})
		b.run("Remove-ItemProperty", params{"Path": list(key), "Name": list(guestRdmaValue)})
		b.bounce("MyRDMANIC", "MyRDMANIC 2")
		if after, _ := b.State(); !bytes.Equal(before, after) {
			t.Errorf("the lab differs afterwards:\n%s", firstDifference(before, after))
		}
	})
}

func firstDifference(a, b []byte) string {
	one, two := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(one), len(two)) {
		if !bytes.Equal(one[i], two[i]) {
			from := max(i-6, 0)
			return string(bytes.Join(one[from:min(i+6, len(one))], []byte("\n"))) + "\n--- became ---\n" + string(bytes.Join(two[from:min(i+6, len(two))], []byte("\n")))
		}
	}
	return "one is longer"
}
