package provider_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/kdctest"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// recorder is a wire that keeps every byte that went over it, by connection and direction.
type recorder struct {
	port  int
	mu    sync.Mutex
	calls []*recording
}

type recording struct {
	mu          sync.Mutex
	asked, told bytes.Buffer
}

// record puts a recorder in front of a port; it ends with the test.
func record(t testing.TB, to int) *recorder {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w := &recorder{port: ln.Addr().(*net.TCPAddr).Port}
	var open sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); open.Wait() })
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			host, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(to)))
			if err != nil {
				_ = client.Close()
				continue
			}
			c := &recording{}
			w.mu.Lock()
			w.calls = append(w.calls, c)
			w.mu.Unlock()
			for _, way := range []struct {
				from, to net.Conn
				tape     *bytes.Buffer
			}{{client, host, &c.asked}, {host, client, &c.told}} {
				open.Go(func() {
					_, _ = io.Copy(io.MultiWriter(way.to, locked{&c.mu, way.tape}), way.from)
					_ = way.from.Close()
					_ = way.to.Close()
				})
			}
		}
	}()
	return w
}

type locked struct {
	mu   *sync.Mutex
	tape *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tape.Write(p)
}

// all is everything, and each direction of each connection.
func (w *recorder) all() (everything []byte, asked, told [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		c.mu.Lock()
		asked, told = append(asked, bytes.Clone(c.asked.Bytes())), append(told, bytes.Clone(c.told.Bytes()))
		c.mu.Unlock()
	}
	return bytes.Join(append(asked[:len(asked):len(asked)], told...), []byte("\n")), asked, told
}

// bodies are those of what went over HTTP, with their types.
func (w *recorder) bodies(t testing.TB) (bodies [][]byte, kinds []string) {
	t.Helper()
	_, asked, told := w.all()
	take := func(h http.Header, body io.Reader) bool {
		data, err := io.ReadAll(body)
		if len(data) > 0 {
			bodies, kinds = append(bodies, data), append(kinds, h.Get("Content-Type"))
		}
		return err == nil
	}
	for i := range asked {
		requests, answers := bufio.NewReader(bytes.NewReader(asked[i])), bufio.NewReader(bytes.NewReader(told[i]))
		for {
			r, err := http.ReadRequest(requests)
			if err != nil || !take(r.Header, r.Body) {
				break
			}
			if a, err := http.ReadResponse(answers, r); err != nil || !take(a.Header, a.Body) {
				break
			}
		}
	}
	return bodies, kinds
}

// way is a way to prove oneself over a wire.
type way struct {
	name     string
	http     bool
	listener lab.ScenarioListener
	settings object // of the connection
	files    bool   // a client certificate
	inClear  bool   // this is the one that shows everything, and so shows that the search finds it
}

func ways(k *kdctest.KDC, keys string) []way {
	const spn = "HTTP/hv1.lab.example"
	no := false
	kerberos := lab.ScenarioListener{Kerberos: &lab.ScenarioKerberos{KeytabFile: keys}, CbtHardening: "Strict"}
	tickets := object{"realm": kdctest.Realm, "kdc": list{k.Address}, "spn": spn}
	return []way{
		{name: "Basic over HTTP, to be seen", http: true, listener: lab.ScenarioListener{Basic: true, AllowUnencrypted: true}, settings: object{"auth": "basic", "allow_unencrypted": true}, inClear: true},
		{name: "Basic over HTTPS", listener: lab.ScenarioListener{Basic: true, Negotiate: &no}, settings: object{"auth": "basic"}},
		{name: "NTLM over HTTP", http: true, listener: lab.ScenarioListener{Basic: true, AllowUnencrypted: true}, settings: object{"auth": "ntlm"}},
		{name: "NTLM over HTTPS", listener: lab.ScenarioListener{CbtHardening: "Strict"}, settings: object{"auth": "ntlm"}},
		{name: "Kerberos over HTTPS", listener: kerberos, settings: object{"auth": "kerberos", "kerberos": tickets}},
		{name: "certificate over HTTPS", listener: lab.ScenarioListener{Certificate: true}, settings: object{"auth": "certificate"}, files: true},
		{name: "auto over HTTP", http: true, listener: lab.ScenarioListener{Basic: true, AllowUnencrypted: true}},
		{name: "auto over HTTPS", listener: lab.ScenarioListener{Basic: true}},
		{name: "auto with Kerberos", listener: kerberos, settings: object{"kerberos": tickets}},
	}
}

// use writes the way into an entry of hosts or guests.
func (x way) use(entry object, w *recorder, caFile, certificate, key string) object {
	entry["port"], entry["https"], entry["ca_file"] = w.port, !x.http, nil
	if !x.http {
		entry["ca_file"] = caFile
	}
	for k, v := range x.settings {
		entry[k] = v
	}
	if x.files {
		entry["client_certificate_file"], entry["client_key_file"] = certificate, key
	}
	return entry
}

// port is that of a listener which the way uses.
func (x way) port(http, https int) int {
	if x.http {
		return http
	}
	return https
}

// holds looks for secrets and for messages in clear in what went over a wire.
func (x way) holds(t *testing.T, w *recorder, secrets ...secret) {
	t.Helper()
	everything, _, _ := w.all()
	if len(everything) < 5000 {
		t.Errorf("%d bytes: the wire was not used", len(everything))
	}
	parts := 0
	for _, part := range []string{"Envelope", "CommandLine", "powershell", "schemas.microsoft.com/wbem"} {
		if bytes.Contains(everything, []byte(part)) {
			parts++
		}
	}
	found := 0
	for _, s := range secrets {
		if s.in(everything) {
			found++
		}
	}
	switch {
	case x.inClear && (parts == 0 || found == 0):
		t.Errorf("what goes in clear was not found: %d, %d", parts, found)
	case !x.inClear && parts+found > 0:
		t.Errorf("%d passwords and %d parts of messages went over the wire", found, parts)
	}
	if !x.http {
		return
	}
	bodies, kinds := w.bodies(t)
	if len(bodies) < 10 {
		t.Errorf("%d bodies: they could not be read", len(bodies))
	}
	for i, kind := range kinds {
		if sealed := strings.HasPrefix(kind, "multipart/encrypted"); sealed == x.inClear {
			t.Errorf("a body of %d bytes: %q", len(bodies[i]), kind)
			break
		}
	}
}

// TestWire: whatever the kind of authentication, no password goes over the wire to the host, neither its own nor that of
// a guest, which travels in messages; and over HTTP no message that is not sealed.
func TestWire(t *testing.T) {
	t.Parallel()
	host, guest := newSecret("host's"), newSecret("guest's")
	k := kdctest.Start(t)
	k.AddUser("Administrator", host.password())
	for _, x := range ways(k, k.AddService("HTTP/hv1.lab.example")) {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", onIovSwitch, listeners(x.listener), func(s *lab.Scenario) {
				s.Credentials.Host.Password, s.Credentials.Guest.Password = host.password(), guest.password()
			})
			ready := l.ready.Hosts[0]
			w := record(t, x.port(ready.HTTPPort, ready.HTTPSPort))
			config := l.config("hv1")
			entry := x.use(config["hosts"].(object)["hv1"].(object), w, ready.CAFile, ready.ClientCertificateFile, ready.ClientKeyFile)
			if x.files {
				entry["user"], entry["password"] = nil, nil
			}
			h := newHarness(t, config)
			prepareHost(t, h)
			enableInGuest(t, h)
			if n := l.metrics().CmdletCalls["New-PSSession"]; n == 0 {
				t.Error("no guest was reached through the host")
			}
			h.close()
			x.holds(t, w, host, guest)
			journal, err := json.Marshal(l.journal())
			must(t, err)
			for _, s := range []secret{host, guest} {
				if s.in(journal) || s.in([]byte(l.state())) {
					t.Errorf("the %s password is in the simulator's journal or state", s.name)
				}
			}
			if n := l.metrics().Shells; n != 0 {
				t.Errorf("%d shells are left", n)
			}
		})
	}
}

// prepareHost makes everything for RDMA in vm1 that is not in its guest.
func prepareHost(t *testing.T, h *harness) {
	t.Helper()
	mustApply(t, h.resource(nicType), object{"net_adapter_names": list{"iWARP 1"}, "rdma_max_vfs": 8})
	mustApply(t, h.resource(rdmaType), object{"vm_name": "vm1", "vm_network_adapter_name": "R", "iov_weight": 100, "rdma_weight": 100})
}

func enableInGuest(t *testing.T, h *harness) {
	t.Helper()
	g := h.resource(guestType)
	mustApply(t, g, guestConfig(nil))
	g.settled(guestConfig(nil))
	if got := actual(g, "stage"); got != "smb_rdma_capable" {
		t.Errorf("stage %v", got)
	}
}

// TestGuestAuthentication: a guest is reached by WinRM with each kind of authentication, as a host is; a wrong credential
// is told from a guest that cannot be reached; and no password and no message in clear goes over its wire either.
func TestGuestAuthentication(t *testing.T) {
	t.Parallel()
	guest, wrong := newSecret("guest's"), newSecret("wrong")
	k := kdctest.Start(t)
	k.AddUser("Administrator", guest.password())
	for _, x := range ways(k, k.AddService("HTTP/hv1.lab.example")) {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, "intel-x722", onIovSwitch, func(s *lab.Scenario) {
				s.Credentials.Guest.Password = guest.password()
				s.Hosts[0].VMs[0].Guest.Listener = &x.listener
			})
			ready := l.ready.Guests[0]
			w := record(t, x.port(ready.HTTPPort, ready.HTTPSPort))
			through := func(change func(entry, credential object)) *harness {
				config := l.config("hv1")
				entry := x.use(object{"credential": "lab", "transport": "winrm", "address": ready.Address}, w, l.ready.Hosts[0].CAFile, ready.ClientCertificateFile, ready.ClientKeyFile)
				config["guests"] = object{"vm1": entry}
				change(entry, config["guest_credentials"].(object)["lab"].(object))
				return newHarness(t, config)
			}
			prepareHost(t, l.harness("hv1"))
			stranger := clientPair(t)
			h := through(func(entry, credential object) {
				credential["password"] = wrong.password()
				if x.files {
					entry["client_certificate_file"], entry["client_key_file"] = nil, nil
					entry["client_certificate"], entry["client_key"] = stranger[0], stranger[1]
				}
			})
			want := []string{"GuestLogonRefused", "refused the guest credential", "Connection to the guest: "}
			if x.files {
				want = append(want, "mapped to no user")
			} else {
				want = append(want, "wrong")
			}
			mustFail(t, h.resource(guestType), guestConfig(nil), want...)
			if n := l.metrics().Guests["hv1/vm1"].Unauthorized; n > 4 {
				t.Errorf("a wrong password was tried %d times", n)
			}
			h.close()

			h = through(func(object, object) {})
			enableInGuest(t, h)
			if m := l.metrics(); m.CmdletCalls["New-PSSession"] != 0 || m.Guests["hv1/vm1"].ShellsCreated != 1 {
				t.Errorf("%+v", m)
			}
			h.close()
			x.holds(t, w, guest, wrong)
			for name, m := range l.metrics().Guests {
				if m.Shells != 0 {
					t.Errorf("%d shells are left in %s", m.Shells, name)
				}
			}
		})
	}
}
