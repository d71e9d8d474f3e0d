package provider_test

import (
	"fmt"
	"os"
	"testing"
)

// labVariables are the variables of an example lab for the simulator.
func (l *testLab) labVariables(more object) object {
	hosts := object{}
	for _, h := range l.ready.Hosts {
		hosts[h.Name] = object{"address": h.Address, "port": h.HTTPSPort, "username": h.Username, "ca_file": h.CAFile}
	}
	v := object{"hosts": hosts, "password": l.ready.Hosts[0].Password, "guest_username": l.ready.GuestCredential.Username, "guest_password": l.ready.GuestCredential.Password}
	for name, value := range more {
		v[name] = value
	}
	return v
}

func TestDebugLab(t *testing.T) {
	ex, preset := "labs/intel-iwarp", "intel-x722"
	if os.Getenv("L") != "" {
		ex, preset = "labs/mellanox-roce", "mellanox-cx3pro"
	}
	l := startLab(t, preset)
	tf := newTerraform(t, ex, l.labVariables(nil))
	before := l.state()
	tf.apply(0)
	for _, e := range l.journal() {
		if e.Event != "" {
			fmt.Println(e.Seq, e.Host, "EVENT", e.Event, e.Object, e.Reason)
		} else {
			fmt.Println(e.Seq, e.Host, e.Target, e.Cmdlet, e.Parameters, e.Error)
		}
	}
	seq := l.seq()
	tf.settled()
	tf.apply(0)
	fmt.Println(changes(l.since(seq)))
	seq = l.seq()
	fmt.Println(tf.outputs())
	for a, r := range tf.state() {
		fmt.Println(a, r.AttributeValues["id"])
	}
	tf.destroy(0)
	fmt.Println("DESTROY")
	for _, e := range l.since(seq) {
		if e.Event != "" {
			fmt.Println(e.Seq, e.Host, "EVENT", e.Event, e.Object, e.Reason)
		} else {
			fmt.Println(e.Seq, e.Host, e.Target, e.Cmdlet, e.Parameters, e.Error)
		}
	}
	if after := l.state(); after != before {
		t.Error(textDiff(before, after))
	}
}
