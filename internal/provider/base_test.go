package provider_test

import (
	"strings"
	"testing"
)

// aSwitch is a configuration of a resource that is planned without contacting a host.
func aSwitch(host any) object {
	c := object{"name": "SW", "net_adapter_names": []string{"NIC1"}, "profile": "mellanox_cx3pro"}
	if host != nil {
		c["host"] = host
	}
	return c
}

func hostsConfig(names ...string) object {
	hosts := object{}
	for _, n := range names {
		// Nothing answers there: a test that contacts a host fails.
		hosts[n] = object{"address": "127.0.0.1", "port": 1, "user": "u", "password": "p"}
	}
	return object{"hosts": hosts}
}

func TestPlanHost(t *testing.T) {
	unknownAddress := object{"hosts": object{"hv1": object{"address": unknown, "user": "u", "password": "p"}}}
	tests := []struct {
		name     string
		provider object
		host     any
		want     any
		errors   []string
	}{
		{"named", hostsConfig("hv1", "hv2"), "hv2", "hv2", nil},
		{"the only one", hostsConfig("hv1"), nil, "hv1", nil},
		{"name with special characters", hostsConfig("h'v \"$(1)`;[x]*ä%"), nil, "h'v \"$(1)`;[x]*ä%", nil},
		{"known after apply", hostsConfig("hv1"), unknown, unknown, nil},
		{"left out with two", hostsConfig("hv1", "hv2"), nil, nil, []string{`AttributeName\("host"\)(.|\n)*Set host to one of "hv1", "hv2"`}},
		{"no such host", hostsConfig("hv1", "hv2"), "hv3", nil, []string{`AttributeName\("host"\)(.|\n)*no host "hv3"(.|\n)*"hv1", "hv2"`}},
		{"no hosts", object{}, nil, nil, []string{`HYPERV_HOST`}},
		{"hosts known after apply", object{"hosts": unknown}, nil, unknown, nil},
		{"hosts known after apply, named", object{"hosts": unknown}, "hv1", "hv1", nil},
		{"address known after apply", unknownAddress, nil, "hv1", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newHarness(t, tt.provider).resource("hyperv_iov_switch").plan(aSwitch(tt.host))
			expect(t, "error", p.errors(), tt.errors)
			if len(p.errors()) == 0 && p.state["host"] != tt.want {
				t.Errorf("host is planned as %v, not %v", p.state["host"], tt.want)
			}
		})
	}
}

// TestUnknownProviderConfiguration: what exists stays as it is in the state, nothing is contacted, and
// an apply that would need the host says why it cannot.
func TestUnknownProviderConfiguration(t *testing.T) {
	h := newHarness(t, object{"hosts": object{"hv1": object{"address": unknown, "user": "u", "password": "p"}}})
	r := h.resource("hyperv_iov_switch")
	p := r.plan(aSwitch(nil))
	if len(p.errors()) > 0 {
		t.Fatal(p.diagnostics)
	}
	r.state = object{}
	for name, v := range p.state {
		if v != unknown {
			r.state[name] = v
		}
	}
	before := r.state
	if d := r.refresh(); len(d) > 0 {
		t.Errorf("read: %s", d)
	}
	for name, v := range before {
		if d := differences(v, r.state[name], name); len(d) > 0 {
			t.Errorf("read changed the state: %v", d)
		}
	}
	create := h.resource("hyperv_iov_switch")
	expect(t, "error", create.applyPlan(create.plan(aSwitch(nil))).errors(), []string{`known only after apply(.|\n)*terraform apply -target`})
}

// TestUnreachableHost: what a person gets to see who mistyped an address.
func TestUnreachableHost(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until connecting is given up")
	}
	h := newHarness(t, object{"hosts": object{"hv1": object{"address": "does-not-exist.invalid", "user": "u", "password": "p"}}})
	d := h.resource("hyperv_iov_switch").apply(aSwitch(nil))
	expect(t, "error", d.errors(), []string{`Host: hv1\n(.|\n)*does-not-exist.invalid(.|\n)*Next: Correct address`})
	if strings.Contains(d.String(), `"p"`) {
		t.Error("the password is in the message")
	}
}
