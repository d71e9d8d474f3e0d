package door_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/masterzen/winrm"
	"github.com/masterzen/winrm/soap"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
)

const (
	user     = `LAB\admin`
	password = `p@ss"w'ö<&>`
)

// programs starts small programs made for these tests.
type programs struct {
	mu      sync.Mutex
	started []string
	env     []string
}

func (p *programs) Start(_, commandLine string, env []string) (process.Process, error) {
	p.mu.Lock()
	p.started = append(p.started, commandLine)
	p.env = env
	p.mu.Unlock()
	return start(commandLine), nil
}

type program struct {
	stdin          io.WriteCloser
	stdout, stderr io.Reader
	killed         chan struct{}
	once           sync.Once
	done           chan int
	closers        []io.Closer
}

func (p *program) Stdin() io.WriteCloser { return p.stdin }
func (p *program) Stdout() io.Reader     { return p.stdout }
func (p *program) Stderr() io.Reader     { return p.stderr }
func (p *program) Wait() int             { return <-p.done }
func (p *program) Kill() {
	p.once.Do(func() {
		close(p.killed)
		for _, c := range p.closers {
			_ = c.Close()
		}
	})
}

// start runs one of: "cat" (stdin to stdout), "print N" (N bytes and an end on both streams), "exit N",
// "deaf" (reads nothing, ends when killed).
func start(line string) *program {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	p := &program{stdin: inW, stdout: outR, stderr: errR, killed: make(chan struct{}), done: make(chan int, 1), closers: []io.Closer{inR, outW, errW}}
	go func() {
		code := 0
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "cat":
			_, _ = io.Copy(outW, inR)
		case "print":
			n := 0
			_, _ = fmt.Sscan(rest, &n)
			_, _ = io.WriteString(outW, pattern(n))
			_, _ = io.WriteString(errW, "warned")
		case "exit":
			_, _ = fmt.Sscan(rest, &code)
		case "deaf":
			<-p.killed
		default:
			_, _ = fmt.Fprintf(errW, "'%s' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n", verb)
			code = 1
		}
		select {
		case <-p.killed:
			code = 1
		default:
		}
		_ = outW.Close()
		_ = errW.Close()
		_ = inR.Close()
		p.done <- code
	}()
	return p
}

func pattern(n int) string {
	return strings.Repeat("0123456789abcdef", n/16+1)[:n]
}

// bench is a door with a client of its own.
type bench struct {
	*testing.T
	door     *door.Door
	rules    *door.Rules
	programs *programs
	client   *http.Client
	url      string
	par      *winrm.Parameters
	user     string
	password string
}

func open(t *testing.T, change func(*door.Config)) *bench {
	t.Helper()
	b := &bench{T: t, rules: &door.Rules{}, programs: &programs{}, user: user, password: password, par: winrm.NewParameters("PT2S", "en-US", 153600)}
	cfg := door.Config{
		Host: "hv1", Starter: b.programs, Rules: b.rules,
		Authenticators: []door.Authenticator{door.Basic{Username: user, Password: password, AllowUnencrypted: true}},
	}
	if change != nil {
		change(&cfg)
	}
	d, err := door.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	b.door = d
	b.url = fmt.Sprintf("http://127.0.0.1:%d/wsman", d.HTTPPort())
	b.client = &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	t.Cleanup(b.client.CloseIdleConnections)
	return b
}

// until waits for what happens soon.
func (b *bench) until(what string, happened func() bool) {
	b.Helper()
	for deadline := time.Now().Add(5 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("never: %s", what)
		}
	}
}

type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a answer) fault() uint32 {
	var e struct {
		WSMan struct {
			Code uint32 `xml:"Code,attr"`
		} `xml:"Body>Fault>Detail>WSManFault"`
		WMI uint32 `xml:"Body>Fault>Detail>MSFT_WmiError>error_Code"`
	}
	if xml.Unmarshal([]byte(a.body), &e) != nil {
		return 0
	}
	return e.WSMan.Code + e.WMI
}

func (b *bench) post(m *soap.SoapMessage) answer {
	return b.raw(m.String(), "application/soap+xml;charset=UTF-8")
}

func (b *bench) raw(body, contentType string) answer {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, b.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if b.user != "" {
		req.SetBasicAuth(b.user, b.password)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err}
}

func (b *bench) shell() string {
	b.Helper()
	a := b.post(winrm.NewOpenShellRequest(b.url, b.par))
	id, err := winrm.ParseOpenShellResponse(a.body)
	if err != nil || id == "" {
		b.Fatalf("no shell: %d %v %v %s", a.status, a.err, err, a.body)
	}
	return id
}

func (b *bench) command(shell, line string) string {
	b.Helper()
	a := b.post(winrm.NewExecuteCommandRequest(b.url, shell, line, nil, b.par))
	id, err := winrm.ParseExecuteCommandResponse(a.body)
	if err != nil || id == "" {
		b.Fatalf("no command: %d %v %v %s", a.status, a.err, err, a.body)
	}
	return id
}

func (b *bench) receive(shell, command string) *soap.SoapMessage {
	return winrm.NewGetOutputRequest(b.url, shell, command, "stdout stderr", b.par)
}

func (b *bench) send(shell, command, text string) *soap.SoapMessage {
	return winrm.NewSendInputRequest(b.url, shell, command, []byte(text), false, b.par)
}

// drain receives until Done and returns the largest envelope too.
func (b *bench) drain(shell, command string) (stdout, stderr string, code, largest int) {
	b.Helper()
	var out, errs bytes.Buffer
	for {
		a := b.post(b.receive(shell, command))
		if a.status != 200 {
			b.Fatalf("Receive: %d %v %s", a.status, a.err, a.body)
		}
		largest = max(largest, len(a.body))
		done, code, err := winrm.ParseSlurpOutputErrResponse(a.body, &out, &errs)
		if err != nil {
			b.Fatal(err)
		}
		if done {
			return out.String(), errs.String(), code, largest
		}
	}
}

func TestConversation(t *testing.T) {
	b := open(t, nil)
	sh := b.shell()
	cmd := b.command(sh, "cat")
	for _, text := range []string{"plain\n", "ümläut 日本 😀 ' \" $(x) `; [x]*\n", strings.Repeat("x", 60000)} {
		if a := b.post(b.send(sh, cmd, text)); a.status != 200 {
			t.Fatalf("Send: %d %s", a.status, a.body)
		}
		var out, errs bytes.Buffer
		for out.Len() < len(text) {
			if _, _, err := winrm.ParseSlurpOutputErrResponse(b.post(b.receive(sh, cmd)).body, &out, &errs); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != text {
			t.Errorf("sent %.40q, received %.40q", text, out.String())
		}
	}
	b.client.CloseIdleConnections() // shells belong to the host, not to a connection
	if a := b.post(winrm.NewSendInputRequest(b.url, sh, cmd, nil, true, b.par)); a.status != 200 {
		t.Fatalf("end of input: %d %s", a.status, a.body)
	}
	if _, _, code, _ := b.drain(sh, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if a := b.post(b.receive(sh, cmd)); a.fault() != door.CodeInvalidSelector {
		t.Errorf("Receive after Done: %d %s", a.status, a.body)
	}
	if a := b.post(winrm.NewSignalRequest(b.url, sh, cmd, b.par)); a.status != 200 {
		t.Errorf("Signal after Done: %d %s", a.status, a.body)
	}
	if a := b.post(b.send(sh, cmd, "x")); a.fault() != door.CodeInvalidSelector {
		t.Errorf("Send to a terminated command: %d %s", a.status, a.body)
	}
	if a := b.post(winrm.NewDeleteShellRequest(b.url, sh, b.par)); a.status != 200 {
		t.Errorf("Delete: %d %s", a.status, a.body)
	}
	if a := b.post(b.receive(sh, cmd)); a.fault() != door.CodeInvalidSelector {
		t.Errorf("Receive in a deleted shell: %d %s", a.status, a.body)
	}
	m := b.door.Metrics()
	if m.Shells != 0 || m.ShellsCreated != 1 || m.Processes != 1 || m.Operations[door.OpCreate] != 1 || m.Operations[door.OpSignal] != 1 {
		t.Errorf("metrics %+v", m)
	}
}

func TestMasterzenClient(t *testing.T) {
	b := open(t, nil)
	ep := winrm.NewEndpoint("127.0.0.1", b.door.HTTPPort(), false, false, nil, nil, nil, 10*time.Second)
	c, err := winrm.NewClient(ep, user, password)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, errs, code, err := c.RunWithContextWithString(ctx, "print 300000", "")
	if err != nil || code != 0 || out != pattern(300000) || errs != "warned" {
		t.Errorf("print: %v, code %d, %d bytes, stderr %q", err, code, len(out), errs)
	}
	_, errs, code, err = c.RunWithContextWithString(ctx, "no-such-program /x", "")
	if err != nil || code != 1 || !strings.Contains(errs, "is not recognized") {
		t.Errorf("unknown program: %v, code %d, stderr %q", err, code, errs)
	}
}

func TestHTTPS(t *testing.T) {
	ca, err := door.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Certificate("hv 1 [x]", "hv1.lab.example")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, func(c *door.Config) {
		c.Certificate = &cert
		c.Authenticators = []door.Authenticator{door.Basic{Username: user, Password: password}}
	})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	b.url = fmt.Sprintf("https://127.0.0.1:%d/wsman", b.door.HTTPSPort())
	for _, tt := range []struct {
		name   string
		config *tls.Config
		ok     bool
	}{
		{"address", &tls.Config{RootCAs: pool}, true},
		{"localhost", &tls.Config{RootCAs: pool, ServerName: "localhost"}, true},
		{"host's own name", &tls.Config{RootCAs: pool, ServerName: "hv1.lab.example"}, true},
		{"another name", &tls.Config{RootCAs: pool, ServerName: "hv2.lab.example"}, false},
		{"authority unknown", &tls.Config{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.client = &http.Client{Transport: &http.Transport{TLSClientConfig: tt.config}}
			defer b.client.CloseIdleConnections()
			a := b.post(winrm.NewOpenShellRequest(b.url, b.par))
			if ok := a.err == nil && a.status == 200; ok != tt.ok {
				t.Errorf("status %d, error %v", a.status, a.err)
			}
		})
	}
}

func TestAuthentication(t *testing.T) {
	for _, tt := range []struct {
		name        string
		unencrypted bool
		user, pass  string
		status      int
		offered     string
	}{
		{"right", true, user, password, 200, ""},
		{"wrong password", true, user, "x", 401, `Negotiate,Basic realm="WSMAN"`},
		{"empty password", true, user, "", 401, `Negotiate,Basic realm="WSMAN"`},
		{"no credential", true, "", "", 401, `Negotiate,Basic realm="WSMAN"`},
		{"right, but unencrypted traffic is not allowed", false, user, password, 401, "Negotiate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := open(t, func(c *door.Config) {
				c.Authenticators = []door.Authenticator{
					door.NTLM{Computer: "hv1", Username: user, Password: password, AllowUnencrypted: tt.unencrypted},
					door.Basic{Username: user, Password: password, AllowUnencrypted: tt.unencrypted},
				}
			})
			b.user, b.password = tt.user, tt.pass
			a := b.post(winrm.NewOpenShellRequest(b.url, b.par))
			if a.status != tt.status || strings.Join(a.header.Values("WWW-Authenticate"), ",") != tt.offered {
				t.Errorf("status %d, offered %q", a.status, a.header.Values("WWW-Authenticate"))
			}
			if want := int64(tt.status / 401); b.door.Metrics().Unauthorized != want {
				t.Errorf("unauthorized counted %d, want %d", b.door.Metrics().Unauthorized, want)
			}
			if tt.status == 401 && (a.body != "" || a.header.Get("Content-Type") != "") {
				t.Errorf("body %q, content type %q", a.body, a.header.Get("Content-Type"))
			}
		})
	}
	if s := fmt.Sprintf("%v %+v %#v", door.Basic{Username: user, Password: password}, door.Basic{Password: password}, door.Basic{Password: password}); strings.Contains(s, password) {
		t.Errorf("the password is printed: %s", s)
	}
}

func TestRefused(t *testing.T) {
	b := open(t, func(c *door.Config) { c.Limits.MaxEnvelope = 20000 })
	sh := b.shell()
	good := b.receive(sh, "x").String()
	for _, tt := range []struct {
		name, body, contentType string
		status                  int
		fault                   uint32
	}{
		{"too large", good + strings.Repeat(" ", 20000), "application/soap+xml", 413, 0},
		{"no XML", "hello", "application/soap+xml", 400, 0},
		{"content type", good, "text/xml", 415, 0},
		{"unknown action", strings.Replace(good, "shell/Receive<", "shell/Connect<", 1), "application/soap+xml", 500, door.CodeAction},
		{"resource", strings.Replace(good, "shell/cmd<", "shell/other<", 1), "application/soap+xml", 500, door.CodeResource},
		{"no such command", good, "application/soap+xml", 500, door.CodeInvalidSelector},
		{"no such shell", b.receive("4CF9C3A8-0000-0000-0000-000000000000", "x").String(), "application/soap+xml", 500, door.CodeInvalidSelector},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := b.raw(tt.body, tt.contentType); a.status != tt.status || a.fault() != tt.fault {
				t.Errorf("status %d (%v), fault %d, want %d and %d: %s", a.status, a.err, a.fault(), tt.status, tt.fault, a.body)
			}
		})
	}
}

func TestCommandLineLength(t *testing.T) {
	b := open(t, nil)
	sh := b.shell()
	_, errs, code, _ := b.drain(sh, b.command(sh, "exit 0 "+strings.Repeat("x", 8190)))
	if code != 1 || errs != "The command line is too long.\r\n" {
		t.Errorf("beyond cmd.exe: code %d, stderr %q", code, errs)
	}
	if len(b.programs.started) != 0 || b.door.Metrics().Processes != 0 {
		t.Errorf("a program was started")
	}
	if a := b.post(winrm.NewExecuteCommandRequest(b.url, sh, strings.Repeat("x", 33000), nil, b.par)); a.fault() != door.CodeTooLong {
		t.Errorf("beyond CreateProcess: %d %s", a.status, a.body)
	}
	if _, _, code, _ := b.drain(sh, b.command(sh, "exit 7")); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

func TestReceiveFillsTheEnvelope(t *testing.T) {
	b := open(t, nil)
	b.par = winrm.NewParameters("PT2S", "en-US", 16384)
	sh := b.shell()
	out, errs, _, largest := b.drain(sh, b.command(sh, "print 200000"))
	if out != pattern(200000) || errs != "warned" {
		t.Errorf("%d bytes, stderr %q", len(out), errs)
	}
	if largest > 16384 || largest < 16000 {
		t.Errorf("largest envelope %d, want just under 16384", largest)
	}
}

func TestTimedOut(t *testing.T) {
	b := open(t, nil)
	b.par = winrm.NewParameters("PT0.2S", "en-US", 153600)
	sh := b.shell()
	cmd := b.command(sh, "cat")
	if a := b.post(b.receive(sh, cmd)); a.fault() != door.CodeTimedOut {
		t.Errorf("Receive without output: %d %s", a.status, a.body)
	}
	deaf := b.command(sh, "deaf")
	if a := b.post(b.send(sh, deaf, "x")); a.fault() != door.CodeTimedOut {
		t.Errorf("Send to a program that does not read: %d %s", a.status, a.body)
	}
	if a := b.post(b.send(sh, deaf, "x")); a.fault() != door.CodeBusy {
		t.Errorf("Send while one is at work: %d %s", a.status, a.body)
	}
}

func TestQuotas(t *testing.T) {
	b := open(t, func(c *door.Config) { c.Limits.MaxShells, c.Limits.MaxOperations = 1, 2 })
	sh := b.shell()
	if a := b.post(winrm.NewOpenShellRequest(b.url, b.par)); a.fault() != door.CodeMaxShells {
		t.Errorf("second shell: %d %s", a.status, a.body)
	}
	b.command(sh, "exit 0")
	b.command(sh, "exit 0")
	a := b.post(winrm.NewExecuteCommandRequest(b.url, sh, "exit 0", nil, b.par))
	if a.fault() != door.CodeMaxOperations || strings.Contains(a.body, "WSManFault") {
		t.Errorf("third command: %d %s", a.status, a.body)
	}
}

func TestIdleShellExpires(t *testing.T) {
	b := open(t, func(c *door.Config) { c.Limits.IdleTimeout = 300 * time.Millisecond })
	sh := b.shell()
	cmd := b.command(sh, "cat")
	b.par = winrm.NewParameters("PT0.6S", "en-US", 153600)
	if a := b.post(b.receive(sh, cmd)); a.fault() != door.CodeTimedOut {
		t.Fatalf("a shell with a request at work is not idle: %d %s", a.status, a.body)
	}
	b.until("the idle shell goes", func() bool { return b.door.Metrics().Shells == 0 })
	if a := b.post(b.receive(sh, cmd)); a.fault() != door.CodeInvalidSelector {
		t.Errorf("Receive in an expired shell: %d %s", a.status, a.body)
	}
}

func TestKilled(t *testing.T) {
	b := open(t, nil)
	sh := b.shell()
	cmd := b.command(sh, "cat")
	pending := make(chan answer)
	poll := func() { go func() { pending <- b.post(b.receive(sh, cmd)) }() }
	poll()
	time.Sleep(50 * time.Millisecond)
	b.door.KillProcesses()
	if a := <-pending; !strings.Contains(a.body, "CommandState/Done") || !strings.Contains(a.body, "<rsp:ExitCode>1<") {
		t.Errorf("process killed: %d %s", a.status, a.body)
	}
	cmd = b.command(sh, "cat")
	poll()
	time.Sleep(50 * time.Millisecond)
	b.door.KillShells()
	if a := <-pending; a.fault() != door.CodeAborted {
		t.Errorf("shell removed under a long poll: %d %s", a.status, a.body)
	}
}
