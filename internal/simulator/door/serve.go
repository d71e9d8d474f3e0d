package door

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const contentType = "application/soap+xml;charset=UTF-8"

// serve answers one HTTP request: authentication, size, shape, injected faults, then the operation.
func (d *Door) serve(w http.ResponseWriter, r *http.Request) {
	d.counters.requests.Add(1)
	entry := Entry{Time: time.Now(), Host: d.cfg.Host, Remote: r.RemoteAddr}
	if d.cfg.Log != nil {
		defer func() { // also where the connection is dropped, which unwinds by panic
			entry.Duration = time.Since(entry.Time)
			d.cfg.Log(entry)
		}()
	}
	w.Header().Set("Server", "Microsoft-HTTPAPI/2.0")
	refuse := func(status int) {
		entry.Status = status
		w.WriteHeader(status)
	}
	if r.URL.Path != "/wsman" {
		refuse(http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		refuse(http.StatusMethodNotAllowed)
		return
	}
	conn := connectionOf(r)
	user, ok := d.authenticate(conn, r)
	if !ok {
		d.counters.unauthorized.Add(1)
		entry.Status = http.StatusUnauthorized
		d.unauthorized(w, conn)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(d.limits.MaxEnvelope)))
	entry.Bytes = len(body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refuse(http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		return // the client went away while it sent
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/soap+xml") {
		refuse(http.StatusUnsupportedMediaType)
		return
	}
	req, err := parseRequest(body)
	if err != nil {
		refuse(http.StatusBadRequest)
		return
	}
	req.user, req.url = user, requestURL(r)
	req.clientIP, _, _ = net.SplitHostPort(r.RemoteAddr)
	op := req.operation()
	entry.Operation, entry.MessageID = op, req.Header.MessageID
	if op != "" {
		d.counters.operation(op)
	}

	rule := d.cfg.Rules.Request(d.cfg.Host, op)
	if rule != nil {
		entry.Effect = rule.Effect
		if d.before(w, r, conn, req, rule, &entry) {
			return
		}
	}
	answer, ok := d.answer(r, op, req)
	if !ok {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if rule != nil {
		d.after(w, r, answer, rule)
	}
	entry.Status, entry.Fault = answer.status, answer.fault
	write(w, answer)
}

func requestURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + r.URL.Path
}

func write(w http.ResponseWriter, answer reply) {
	if answer.body != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.body)))
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.body) // the client may be gone; nobody is left to tell
}

// discardLog silences http.Server about broken handshakes and connections: faults make many of them.
func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
