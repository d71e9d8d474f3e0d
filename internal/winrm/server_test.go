package winrm

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// step is how the server treats one request.
type step func(w http.ResponseWriter, r *http.Request, answer string)

func ok(w http.ResponseWriter, _ *http.Request, answer string) { _, _ = io.WriteString(w, answer) }

func status(code int, headers ...string) step {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(code)
	}
}

func faulty(code uint32) step {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, faultXML(fmt.Sprintf(`<f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="%d"><f:Message>text</f:Message></f:WSManFault>`, code)))
	}
}

func faultXML(detail string) string {
	return `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd"><s:Body><s:Fault>` +
		`<s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>w:X</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="">reason</s:Text></s:Reason>` +
		`<s:Detail>` + detail + `</s:Detail></s:Fault></s:Body></s:Envelope>`
}

// drop closes the connection without an answer.
func drop(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }

// half closes the connection in the middle of the answer.
func half(w http.ResponseWriter, _ *http.Request, answer string) {
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = io.WriteString(w, answer[:len(answer)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// stall never answers.
func stall(_ http.ResponseWriter, r *http.Request, _ string) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// seen is one request as the server saw it.
type seen struct {
	op                 Op
	message, shell, id string
	stdin, body        string
	remote             string
}

// server answers WS-Management requests; steps say what goes wrong, by operation and in order.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	steps  map[Op][]step
	seen   []seen
	shells int
	output string // of each Receive
}

func newServer(t *testing.T, steps map[Op][]step, tls bool) *server {
	t.Helper()
	s := &server{steps: steps, output: `<rsp:Stream Name="stdout">b3V0</rsp:Stream>`}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "user" || password != secret {
		status(401, "WWW-Authenticate: Negotiate", `WWW-Authenticate: Basic realm="WSMAN"`)(w, r, "")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m struct {
		Action  string `xml:"Header>Action"`
		ID      string `xml:"Header>MessageID"`
		Shell   string `xml:"Header>SelectorSet>Selector"`
		Command string `xml:"Body>CommandLine>Command"`
		Stdin   string `xml:"Body>Send>Stream"`
	}
	if err := xml.Unmarshal(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	op := map[string]Op{"Create": OpCreate, "Command": OpCommand, "Send": OpSend, "Receive": OpReceive, "Signal": OpSignal, "Delete": OpDelete}[m.Action[strings.LastIndex(m.Action, "/")+1:]]
	s.mu.Lock()
	s.seen = append(s.seen, seen{op: op, message: m.ID, shell: m.Shell, id: m.Command, stdin: m.Stdin, body: string(body), remote: r.RemoteAddr})
	next := step(ok)
	if steps := s.steps[op]; len(steps) > 0 {
		next, s.steps[op] = steps[0], steps[1:]
	}
	if op == OpCreate {
		s.shells++
	}
	answer := `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:rsp="http://schemas.microsoft.com/wbem/wsman/1/windows/shell">` +
		`<s:Header><a:Action>` + m.Action + `Response</a:Action></s:Header><s:Body>` + map[Op]string{
		OpCreate:  fmt.Sprintf(`<rsp:Shell><rsp:ShellId>S%d</rsp:ShellId></rsp:Shell>`, s.shells),
		OpCommand: `<rsp:CommandResponse><rsp:CommandId>C</rsp:CommandId></rsp:CommandResponse>`,
		OpReceive: `<rsp:ReceiveResponse>` + s.output + `</rsp:ReceiveResponse>`,
	}[op] + `</s:Body></s:Envelope>`
	s.mu.Unlock()
	next(w, r, answer)
}

// requests lists what was seen of an operation.
func (s *server) requests(op Op) []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []seen
	for _, r := range s.seen {
		if r.op == op {
			list = append(list, r)
		}
	}
	return list
}

const secret = `pa'ss"$(1)ä`

func (s *server) config(t *testing.T) Config {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Address: u.Hostname(), Port: port, HTTPS: u.Scheme == "https", AllowUnencrypted: true, User: "user", Password: secret,
		OperationTimeout: 200 * time.Millisecond, AnswerGrace: 200 * time.Millisecond, RetryBudget: 5 * time.Second,
		Log: func(_ context.Context, message string, fields map[string]any) {
			if text := fmt.Sprint(message, fields); strings.Contains(text, secret) {
				t.Errorf("the log holds the password: %s", text)
			}
		},
	}
}

func (s *server) transport(t *testing.T) *Transport {
	t.Helper()
	tr, err := NewTransport(s.config(t))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
