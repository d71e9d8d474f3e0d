package winrm

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// outage is what is known of the network between here and one host: when it was last seen to fail, and whether the
// credentials were good before. Times are monotonic: a clock that is set does not matter.
type outage struct {
	mu       sync.Mutex
	lost     time.Time
	accepted bool
}

func (o *outage) noteLoss() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = time.Now()
}

func (o *outage) noteAccepted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.accepted = true
}

// within says whether the network was lost no longer ago than grace, on a host that took the credentials before.
func (o *outage) within(grace time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.accepted && !o.lost.IsZero() && time.Since(o.lost) < grace
}

// note takes in what one try says about the network.
func (t *Transport) note(err error) {
	var network *NetError
	var fault *Fault
	switch {
	case err == nil, errors.As(err, &fault):
		t.cfg.shared.outage.noteAccepted()
	case errors.As(err, &network) && !network.NotTLS() && !network.TLSRefused():
		t.cfg.shared.outage.noteLoss()
	}
}

// strange says whether an error may come of a host that is on its way back after its network was away: its WinRM
// service, its domain or its name are not there yet, or somebody else answers in its place.
func strange(op Op, err error) bool {
	var (
		auth     *AuthError
		status   *HTTPError
		client   *ClientCertificateError
		security *SecurityError
		network  *NetError
	)
	switch {
	case errors.As(err, &auth), errors.As(err, &client), errors.As(err, &security):
		return true
	case errors.As(err, &status):
		return status.Status != http.StatusRequestEntityTooLarge
	case errors.As(err, &network):
		return network.NotTLS() || network.TLSRefused() || op == OpCreate && network.NoSuchName()
	}
	return false
}

// comingBack changes the verdict on an error that says nothing while the host is on its way back. What refuses a
// credential is asked less often, since a host may lock out a user after some refusals.
func (t *Transport) comingBack(op Op, err error, v verdict) (verdict, time.Duration) {
	if v != fail && v != againOnce || !strange(op, err) || !t.cfg.shared.outage.within(t.cfg.ReturnGrace) {
		return v, 0
	}
	var auth *AuthError
	switch {
	case op == OpCommand && mayHaveRun(err):
		return restart, 0
	case errors.As(err, &auth):
		return again, t.cfg.ReturnGrace / 6
	}
	return again, 0
}
