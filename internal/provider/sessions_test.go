package provider_test

import (
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// TestSessions: how hosts are reached, what a person gets to see who cannot, and that no shell is left.
func TestSessions(t *testing.T) {
	l := startLab(t, "intel-x722", func(s *lab.Scenario) {
		for i := range s.Hosts {
			s.Hosts[i].Listener = lab.ScenarioListener{Basic: true, AllowUnencrypted: true}
		}
	})
	host := l.hosts()[0]
	tests := []struct {
		name   string
		config object
		errors []string
	}{
		{"HTTPS with a CA", l.config(host), nil},
		{"HTTP", with(with(with(l.config(host), "https", false), "allow_unencrypted", true), "port", l.ready.Hosts[0].HTTPPort), nil},
		{"not verified", with(with(l.config(host), "ca_file", nil), "insecure_skip_verify", true), nil},
		{"wrong password", with(l.config(host), "password", "wrong-secret"), []string{`Host: ` + host + `\n(.|\n)*User or password is wrong`}},
		{"certificate not trusted", with(l.config(host), "ca_file", nil), []string{`ca_cert or ca_file`}},
		{"other authority", with(with(l.config(host), "ca_file", nil), "ca_cert", certificate(t)), []string{`not issued by an authority in ca_cert`}},
		{"wrong name in the certificate", with(l.config(host), "tls_server_name", "other.example"), []string{`tls_server_name`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, tt.config)
			d := h.resource("hyperv_iov_switch").importID(host + "/no such switch")
			if tt.errors == nil {
				if !strings.Contains(d.String(), "no such switch") || l.metrics().Shells == 0 {
					t.Errorf("the host was not reached: %d shells, %s", l.metrics().Shells, d)
				}
			} else {
				expect(t, "error", d.errors(), tt.errors)
			}
			if strings.Contains(d.String(), "wrong-secret") {
				t.Errorf("the password is in the message: %s", d)
			}
			h.close()
			if n := l.metrics().Shells; n != 0 {
				t.Errorf("%d shells are left", n)
			}
		})
	}
}

// TestOneProcess: with max_sessions = 1 one PowerShell process serves everything on a host.
func TestOneProcess(t *testing.T) {
	l := startLab(t, "intel-x722")
	host := l.hosts()[0]
	h := newHarness(t, with(l.config(host), "max_sessions", 1))
	for range 3 {
		d := h.resource("hyperv_iov_switch").importID(host + "/no such switch")
		expect(t, "error", d.errors(), []string{"no such switch"})
	}
	if m := l.metrics(); m.Processes != 1 || m.ShellsCreated != 1 {
		t.Errorf("%d processes in %d shells, not one", m.Processes, m.ShellsCreated)
	}
}
