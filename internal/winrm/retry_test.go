package winrm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

func (v verdict) String() string {
	return [...]string{"fail", "again", "againOnce", "againQuota", "settled", "settleOnce", "restart", "restartOnce"}[v]
}

// The whole table: a row for each error, a column for each operation.
func TestJudge(t *testing.T) {
	fault := func(code uint32) error { return &Fault{Code: code, Status: 500} }
	ops := []Op{OpCreate, OpCommand, OpSend, OpReceive, OpSignal, OpDelete}
	row := func(v ...verdict) []verdict { return v }
	for _, c := range []struct {
		name string
		err  error
		want []verdict
	}{
		{"dial failed", &NetError{Err: syscall.ECONNREFUSED}, row(again, again, again, again, again, again)},
		{"sent, no whole answer", &NetError{Err: syscall.ECONNRESET, Sent: true}, row(again, restart, again, again, again, again)},
		{"no such name", &NetError{Err: &net.DNSError{IsNotFound: true}}, row(fail, again, again, again, again, again)},
		{"name server does not answer", &NetError{Err: &net.DNSError{IsTimeout: true}}, row(again, again, again, again, again, again)},
		{"no TLS there", &NetError{Err: tls.RecordHeaderError{}}, row(fail, fail, fail, fail, fail, fail)},
		{"TLS alert", &NetError{Err: &net.OpError{Op: "remote error", Err: errors.New("alert")}}, row(fail, fail, fail, fail, fail, fail)},
		{"certificate", &CertificateError{}, row(fail, fail, fail, fail, fail, fail)},
		{"503", &HTTPError{Status: 503}, row(again, again, again, again, again, again)},
		{"429", &HTTPError{Status: 429}, row(again, again, again, again, again, again)},
		{"401", &AuthError{}, row(fail, fail, againOnce, againOnce, againOnce, againOnce)},
		{"413", &HTTPError{Status: 413}, row(fail, fail, fail, fail, fail, fail)},
		{"404", &HTTPError{Status: 404}, row(fail, fail, fail, fail, fail, fail)},
		{"operation timeout", fault(CodeOperationTimeout), row(fail, fail, again, fail, settled, settleOnce)},
		{"busy", fault(CodeBusy), row(fail, fail, again, again, settled, settleOnce)},
		{"no such shell", fault(CodeInvalidSelectors), row(restart, restart, fail, fail, settled, settled)},
		{"aborted", fault(CodeAborted), row(restart, restart, fail, fail, settled, settleOnce)},
		{"shell closed", fault(CodeShellClosed), row(restart, restart, fail, fail, settled, settled)},
		{"command closed", fault(CodeCommandClosed), row(restart, restart, fail, fail, settled, settled)},
		{"too many shells", fault(CodeMaxShells), row(againQuota, againQuota, fail, fail, fail, againOnce)},
		{"too many operations", fault(CodeMaxOperations), row(restartOnce, restartOnce, fail, fail, fail, againOnce)},
		{"key deleted", fault(CodeKeyDeleted), row(restartOnce, restartOnce, fail, fail, settled, settled)},
		{"access denied", fault(CodeAccessDenied), row(fail, fail, fail, fail, fail, againOnce)},
		{"unknown code", fault(2150858770), row(fail, fail, fail, fail, fail, againOnce)},
		{"given up", context.Canceled, row(fail, fail, fail, fail, fail, fail)},
	} {
		for i, op := range ops {
			t.Run(fmt.Sprintf("%s, %s", c.name, op), func(t *testing.T) {
				if got := judge(op, c.err); got != c.want[i] {
					t.Errorf("got %v, want %v", got, c.want[i])
				}
			})
		}
	}
}

func TestMayHaveRun(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"not connected", &NetError{}, false},
		{"no answer", &NetError{Sent: true}, true},
		{"operation timeout", &Fault{Code: CodeOperationTimeout}, true},
		{"aborted", &Fault{Code: CodeAborted}, true},
		{"busy", &Fault{Code: CodeBusy}, false},
		{"no such shell", &Fault{Code: CodeInvalidSelectors}, false},
		{"503", &HTTPError{Status: 503}, false},
		{"401", &AuthError{}, false},
		{"404", &HTTPError{Status: 404}, false},
		{"a page with 200", &HTTPError{Status: 200}, true},
		{"bad gateway", &HTTPError{Status: 502}, true},
		{"an answer that is not believed", &SecurityError{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mayHaveRun(c.err); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
