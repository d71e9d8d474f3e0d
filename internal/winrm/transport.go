package winrm

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/masterzen/winrm"
	"github.com/masterzen/winrm/soap"
)

// bodyTimeout bounds the time between the head of an answer and its end: an answer is one envelope.
const bodyTimeout = 30 * time.Second

// Transport posts SOAP messages to one host over one TCP connection at a time. It is half duplex:
// one caller, one message after the other.
type Transport struct {
	cfg       Config
	url       string
	http      *http.Transport
	auth      Authenticator
	seen      *observer
	open      atomic.Bool // there is, or was, a connection that nobody here has closed
	quotaWait time.Duration
	// until, if not zero, is when all trying again ends.
	until time.Time
}

var _ winrm.Transporter = (*Transport)(nil)

// NewTransport checks cfg; it does not connect.
func NewTransport(cfg Config) (*Transport, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Transport{cfg: cfg, quotaWait: quotaWait}
	return t, t.setUp()
}

func (t *Transport) setUp() error {
	tlsConfig, err := t.cfg.tlsConfig()
	if err != nil {
		return err
	}
	if t.auth, err = newAuthenticator(t.cfg); err != nil {
		return err
	}
	if c, ok := t.auth.(*clientCertificate); ok {
		c.prepare(tlsConfig)
	}
	t.url = t.cfg.url()
	t.http = &http.Transport{
		// No proxy from the environment: hosts are on private networks, and connection-bound
		// authentication does not pass a proxy.
		Proxy:               nil,
		TLSClientConfig:     tlsConfig,
		DialContext:         (&net.Dialer{Timeout: t.cfg.ConnectTimeout, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: t.cfg.ConnectTimeout,
		// Must exceed the time that the service may hold a Receive.
		ResponseHeaderTimeout: t.cfg.OperationTimeout + t.cfg.AnswerGrace,
		MaxConnsPerHost:       1,
		MaxIdleConnsPerHost:   1,
		DisableCompression:    true,
	}
	t.seen = &observer{next: t.http}
	return nil
}

// Transport takes host and TLS options from a masterzen endpoint; the rest stays as configured.
func (t *Transport) Transport(ep *winrm.Endpoint) error {
	t.Reset()
	t.cfg.Address, t.cfg.Port, t.cfg.HTTPS = ep.Host, ep.Port, ep.HTTPS
	t.cfg.InsecureSkipVerify, t.cfg.CACert, t.cfg.ServerName = ep.Insecure, ep.CACert, ep.TLSServerName
	t.cfg = t.cfg.Shared()
	if err := t.cfg.checkAuth(); err != nil {
		return err
	}
	return t.setUp()
}

// Post makes Transport usable by masterzen/winrm; this project calls Do.
func (t *Transport) Post(_ *winrm.Client, m *soap.SoapMessage) (string, error) {
	return t.Do(context.Background(), "post", m)
}

// Reset drops the connection and what authentication had bound to it.
func (t *Transport) Reset() {
	t.open.Store(false)
	t.http.CloseIdleConnections()
	t.auth.Reset()
}

var errNoAnswer = errors.New("the answer did not end in time")

// Do posts m once and returns the body of the answer. The same message may be posted again: it keeps
// its MessageID, by which the service knows it. Errors are *Fault, *HTTPError, *AuthError,
// *CertificateError, *ClientCertificateError, *SecurityError, *KerberosError, *ConfigError, *NetError,
// or the cause of ctx.
func (t *Transport) Do(ctx context.Context, op Op, m *soap.SoapMessage) (string, error) {
	limit := 2*t.cfg.ConnectTimeout + t.cfg.OperationTimeout + t.cfg.AnswerGrace + bodyTimeout
	post, cancel := context.WithTimeoutCause(ctx, limit, errNoAnswer)
	defer cancel()
	var connected atomic.Bool
	post = httptrace.WithClientTrace(post, &httptrace.ClientTrace{
		// The last GetConn counts: net/http starts over where nothing was written.
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(i httptrace.GotConnInfo) {
			connected.Store(true)
			if was := t.open.Swap(true); was && !i.Reused {
				t.cfg.shared.outage.noteLoss() // while nothing was asked
			}
		},
	})
	answer, err := t.auth.Post(post, t.seen, t.url, []byte(m.String()))
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if known := t.known(err); known != nil {
			return "", known
		}
		var unsent unsentError
		sent := connected.Load() && !errors.As(err, &unsent)
		if errors.Is(context.Cause(post), errNoAnswer) {
			err = errNoAnswer
		}
		return "", &NetError{Op: op, URL: t.url, Err: err, Sent: sent}
	}
	switch answer.Status {
	case http.StatusOK:
		if !bytes.Contains(answer.Body, []byte("Envelope")) {
			return "", &HTTPError{URL: t.url, Status: answer.Status} // a page in its place
		}
		return string(answer.Body), nil
	case http.StatusUnauthorized:
		return "", &AuthError{
			URL: t.url, Auth: t.auth.Kind(), User: t.cfg.User, TLS: t.cfg.HTTPS,
			Offered: offeredSchemes(answer.Header),
		}
	}
	if fault := parseFault(answer.Status, answer.Body); fault != nil {
		return "", fault
	}
	return "", &HTTPError{URL: t.url, Status: answer.Status}
}

// known is the part of an error that says more than that there was no answer; nil where there is none.
func (t *Transport) known(err error) error {
	if certErr := certificateError(t.url, len(t.cfg.CACert) > 0, err); certErr != nil {
		return certErr
	}
	var (
		client   *ClientCertificateError
		security *SecurityError
		kerberos *KerberosError
		config   *ConfigError
		page     *HTTPError
	)
	switch {
	case errors.As(err, &page):
		return page
	case errors.As(err, &client):
		return client
	case errors.As(err, &security):
		return security
	case errors.As(err, &kerberos):
		return kerberos
	case errors.As(err, &config):
		return config
	}
	return nil
}
