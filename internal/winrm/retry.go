package winrm

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/masterzen/winrm/soap"
)

// quotaWait is how long to wait for somebody else's shell to go away.
const quotaWait = 60 * time.Second

// verdict is what follows from an error.
type verdict int

const (
	fail        verdict = iota
	again               // the same message once more
	againOnce           // the same, but only after the first failure of this kind
	againQuota          // the same, for at most quotaWait
	settled             // as good as success
	settleOnce          // once more, and then as good as success
	restart             // Create and Command: delete the shell and begin with a new one
	restartOnce         // the same, but only the first time
)

// judge is the whole table of what to do with an error.
//
// Sent without an answer: Create is posted again with the same MessageID; if the service does not
// recognise it, a second shell is left behind and idleTimeout bounds its life. Command is not, since
// a process that starts twice would share the shell. Send carries lines that may arrive twice, and
// for a repeated Receive the caller is told.
func judge(op Op, err error) verdict {
	starting := op == OpCreate || op == OpCommand
	ending := op == OpSignal || op == OpDelete

	var network *NetError
	var status *HTTPError
	var auth *AuthError
	var fault *Fault
	var kerberos *KerberosError
	switch {
	case errors.As(err, &kerberos):
		if kerberos.Problem == KerberosUnreachable {
			return again
		}
		return fail
	case errors.As(err, &network):
		switch {
		case network.NotTLS(), network.TLSRefused(), op == OpCreate && network.NoSuchName():
			return fail
		case network.Sent && op == OpCommand:
			return restart
		}
		return again
	case errors.As(err, &status):
		if status.Status == http.StatusServiceUnavailable || status.Status == http.StatusTooManyRequests {
			return again
		}
		return fail
	case errors.As(err, &auth):
		if op == OpCreate || op == OpCommand {
			return fail
		}
		// The same credentials were good before, so the connection lost its authentication.
		return againOnce
	case !errors.As(err, &fault):
		return fail
	}

	switch fault.Code {
	case CodeOperationTimeout:
		switch op {
		case OpSend:
			return again
		case OpSignal:
			return settled
		case OpDelete:
			return settleOnce
		}
	case CodeBusy:
		switch {
		case op == OpSignal:
			return settled
		case op == OpDelete:
			return settleOnce
		case !starting:
			return again
		}
	case CodeAborted:
		switch {
		case op == OpDelete:
			return settleOnce
		case ending:
			return settled
		case starting:
			return restart
		}
	case CodeInvalidSelectors, CodeShellClosed, CodeCommandClosed:
		if ending {
			return settled
		}
		if starting {
			return restart
		}
	case CodeKeyDeleted:
		if ending {
			return settled
		}
		if starting {
			return restartOnce
		}
	case CodeMaxShells:
		if starting {
			return againQuota
		}
	case CodeMaxOperations:
		if starting {
			return restartOnce
		}
	}
	if op == OpDelete {
		return againOnce // or the shell stays until its idle timeout is over
	}
	return fail
}

// mayHaveRun says whether the service may have carried out a request that gave this error.
func mayHaveRun(err error) bool {
	var network *NetError
	var status *HTTPError
	var security *SecurityError
	switch {
	case errors.As(err, &network):
		return network.Sent
	case errors.As(err, &status):
		return status.fromBetween()
	case errors.As(err, &security):
		return true // there was an answer, which is not believed
	}
	// Aborted: the input may have been handed over before the process went away.
	return IsFault(err, CodeOperationTimeout, CodeAborted)
}

// outOfReach says whether a host that a shell is to be opened on has had its time to be reached. Only failures of
// the connection count: a host that answers is there.
func (t *Transport) outOfReach(op Op, err error, start time.Time) bool {
	var network *NetError
	var kerberos *KerberosError
	return op == OpCreate && (errors.As(err, &network) || errors.As(err, &kerberos)) && time.Since(start) >= t.cfg.ContactBudget
}

// tried is how posting went.
type tried struct {
	body    string
	verdict verdict // of the error: fail, settled, restart or restartOnce
	// lost is true if a try before the last one may have been carried out without its answer
	// having arrived.
	lost bool
}

// post sends m until it is answered, the error leaves no hope, or the budget is used up. The error
// is an *OpError.
func (t *Transport) post(ctx context.Context, op Op, m *soap.SoapMessage) (tried, error) {
	var result tried
	start, tries, sent, waiting := time.Now(), 0, false, time.Time{}
	onceUsed := false
	delays := &delays{ExponentialBackOff: backoff.NewExponentialBackOff()}
	delays.InitialInterval, delays.Multiplier, delays.MaxInterval = 100*time.Millisecond, 2, min(5*time.Second, t.cfg.ReturnGrace/6)

	attempt := func() (string, error) {
		tries++
		result.lost = sent
		body, err := t.Do(ctx, op, m)
		t.note(err)
		if err == nil {
			return body, nil
		}
		sent = sent || mayHaveRun(err) || ctx.Err() != nil
		first := judge(op, err)
		result.verdict, delays.least = t.comingBack(op, err, first)
		if first == againOnce && !onceUsed {
			onceUsed, delays.least = true, 0 // what is right without a loss of the network is right behind one
			result.verdict = again
		}
		switch {
		case ctx.Err() != nil:
			result.verdict = fail
		case result.verdict == again && !t.outOfReach(op, err, start):
			return "", err
		case result.verdict == settleOnce && !onceUsed:
			onceUsed = true
			return "", err
		case result.verdict == againQuota:
			if waiting.IsZero() {
				waiting = time.Now()
			}
			if time.Since(waiting) < t.quotaWait {
				return "", err
			}
		}
		return "", backoff.Permanent(err)
	}

	body, err := backoff.Retry(ctx, attempt,
		backoff.WithBackOff(delays),
		backoff.WithMaxElapsedTime(t.budget()),
		backoff.WithNotify(func(err error, delay time.Duration) {
			t.cfg.Log(ctx, "WinRM request failed, trying again", map[string]any{
				"operation": string(op), "error": err.Error(), "delay": delay.String(), "try": tries,
			})
			// A half-dead connection must not be used again.
			t.Reset()
		}))
	if err == nil {
		result.body = body
		return result, nil
	}
	if ctx.Err() == nil && (result.verdict == settled || result.verdict == settleOnce) {
		return result, nil
	}
	t.Reset()
	return result, &OpError{Op: op, Tries: tries, Elapsed: time.Since(start), Sent: sent, Contact: t.contact(), Err: err}
}

// budget is how long the next operation may be tried again.
func (t *Transport) budget() time.Duration {
	if t.until.IsZero() {
		return t.cfg.RetryBudget
	}
	// 0 would mean without end.
	return max(min(t.cfg.RetryBudget, time.Until(t.until)), time.Nanosecond)
}

// delays are exponential, but never less than least.
type delays struct {
	*backoff.ExponentialBackOff
	least time.Duration
}

func (d *delays) NextBackOff() time.Duration {
	return max(d.ExponentialBackOff.NextBackOff(), d.least)
}
