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
	if d.isDark() || d.down() {
		panic(http.ErrAbortHandler)
	}
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
	verdict := d.authenticate(conn, r)
	if verdict.User == "" {
		if verdict.Token != "" {
			d.counters.challenges.Add(1)
		} else {
			d.counters.unauthorized.Add(1)
		}
		entry.Status = http.StatusUnauthorized
		d.unauthorized(w, conn, verdict.Token)
		return
	}
	if verdict.Token != "" {
		w.Header().Set("WWW-Authenticate", verdict.Token)
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
	if len(body) == 0 { // by this clients end a handshake
		refuse(http.StatusOK)
		return
	}
	kind := r.Header.Get("Content-Type")
	var sealed *sealing
	if isSealed(r) {
		if sealed = verdict.Sealed; sealed == nil {
			refuse(http.StatusBadRequest)
			return
		}
		if body, kind, err = sealed.open(body); err != nil {
			refuse(http.StatusBadRequest)
			return
		}
	} else if !conn.Secure && !verdict.Unencrypted {
		refuse(http.StatusInternalServerError) // with an empty body: the service takes no message that is not encrypted
		return
	}
	if !strings.HasPrefix(kind, "application/soap+xml") {
		refuse(http.StatusUnsupportedMediaType)
		return
	}
	req, err := parseRequest(body)
	if err != nil {
		refuse(http.StatusBadRequest)
		return
	}
	req.user, req.url, req.sealed = verdict.User, requestURL(r), sealed
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
	if d.down() {
		panic(http.ErrAbortHandler) // it went away meanwhile, and the answer with it
	}
	if rule != nil {
		d.after(w, r, req, answer, rule)
	}
	entry.Status, entry.Fault = answer.status, answer.fault
	req.write(w, answer)
}

func requestURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + r.URL.Path
}

// write answers a request in the form that it came in.
func (r *request) write(w http.ResponseWriter, answer reply) {
	body := r.head(w, answer)
	_, _ = w.Write(body) // the client may be gone; nobody is left to tell
}

// head writes all of an answer but its body, which it returns.
func (r *request) head(w http.ResponseWriter, answer reply) []byte {
	body, kind := []byte(answer.body), contentType
	if r.sealed != nil && len(body) > 0 {
		body, kind = r.sealed.seal(body), sealedType
	}
	if len(body) > 0 {
		w.Header().Set("Content-Type", kind)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(answer.status)
	return body
}

// discardLog silences http.Server about broken handshakes and connections: faults make many of them.
func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
