package door

import (
	"context"
	"io"
	"net/http"
	"time"
)

// answer performs the request, once for each MessageID.
func (d *Door) answer(r *http.Request, op string, req *request) (reply, bool) {
	return d.answers.do(r.Context(), req.Header.MessageID, func(ctx context.Context) (reply, bool) {
		return d.perform(ctx, op, req)
	})
}

// before applies the part of a fault that comes ahead of processing; true where the request is answered.
func (d *Door) before(w http.ResponseWriter, r *http.Request, conn *Connection, req *request, rule *Rule, entry *Entry) bool {
	if rule.DelayMS > 0 {
		select {
		case <-time.After(rule.Delay()):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	refuse := func(f fault) bool {
		answer := d.fault(req, f)
		entry.Status, entry.Fault = answer.status, answer.fault
		req.write(w, answer)
		return true
	}
	switch rule.Effect {
	case DropBefore:
		panic(http.ErrAbortHandler)
	case Blackout:
		d.BlackOut(rule.Duration())
		panic(http.ErrAbortHandler)
	case Unauthorized:
		d.counters.unauthorized.Add(1)
		entry.Status = http.StatusUnauthorized
		d.unauthorized(w, conn, "")
		return true
	case UnauthorizedHTML:
		d.counters.unauthorized.Add(1)
		entry.Status = http.StatusUnauthorized
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "<html><body>401 Unauthorized</body></html>")
		return true
	case Unavailable:
		entry.Status = http.StatusServiceUnavailable
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	case TooMany:
		entry.Status = http.StatusTooManyRequests
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	case TimedOut:
		return refuse(faultTimedOut())
	case Busy:
		return refuse(faultBusy())
	case Quota:
		return refuse(faultMaxShells(d.limits.MaxShells))
	case QuotaOperations:
		return refuse(faultMaxOperations(d.limits.MaxOperations))
	case ShellGone:
		return refuse(faultNoShell())
	case Aborted:
		return refuse(faultAborted())
	case KeyDeleted:
		return refuse(faultKeyDeleted())
	case KillShell, KillProcess:
		d.killFor(req, rule.Effect)
	}
	return false
}

func (d *Door) killFor(req *request, effect Effect) {
	sh := d.enter(req.shellID())
	if sh == nil {
		return
	}
	defer sh.leave()
	if effect == KillShell {
		d.removeShell(sh)
	} else {
		sh.killProcesses()
	}
}

// after applies the part of a fault that takes the place of a good answer.
func (d *Door) after(w http.ResponseWriter, r *http.Request, req *request, answer reply, rule *Rule) {
	switch rule.Effect {
	case DropAfter:
		panic(http.ErrAbortHandler)
	case DropMid:
		body := req.head(w, answer)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Stall:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}
