package winrm

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// certificateScheme in place of a scheme and a password says that the user is in the TLS connection
// (DSP0226, security profile for mutual certificates over HTTPS).
const certificateScheme = "http://schemas.dmtf.org/wbem/wsman/1/wsman/secprofile/https/mutual"

// clientCertificate proves the user by a certificate that the host maps to one of its users. Windows asks for it
// by renegotiation, once it has seen the request's header; TLS 1.3 has no renegotiation, and what replaces
// it is not in crypto/tls.
type clientCertificate struct {
	cert tls.Certificate
	// asked is whether the host has asked for the certificate on the present connection.
	asked atomic.Bool
	// worked is whether the host has ever taken it.
	worked bool
}

func newCertificate(c Config) (*clientCertificate, error) {
	cert, err := c.clientCertificate()
	if err != nil {
		return nil, err
	}
	return &clientCertificate{cert: cert}, nil
}

func (c Config) clientCertificate() (tls.Certificate, error) {
	if len(c.ClientCert) == 0 || len(c.ClientKey) == 0 {
		return tls.Certificate{}, &ConfigError{FieldClientCertificate, errors.New("certificate authentication needs a client certificate and its key, in PEM form")}
	}
	cert, err := tls.X509KeyPair(c.ClientCert, c.ClientKey)
	if err != nil {
		return tls.Certificate{}, &ConfigError{FieldClientCertificate, err}
	}
	return cert, nil
}

// prepare makes TLS ready for the certificate.
func (c *clientCertificate) prepare(t *tls.Config) {
	t.Renegotiation = tls.RenegotiateOnceAsClient
	if t.MinVersion < tls.VersionTLS13 {
		t.MaxVersion = tls.VersionTLS12
	}
	// Whatever issuers the host lists: a self-signed certificate that it maps to a user is in no list.
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c.asked.Store(true)
		return &c.cert, nil
	}
}

func (*clientCertificate) Kind() string { return AuthCertificate }
func (*clientCertificate) Reset()       {}

func (c *clientCertificate) Post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	fresh := false
	answer, err := c.post(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { fresh = !i.Reused }}), rt, url, message)
	if err != nil || answer.Status != http.StatusRequestEntityTooLarge || !fresh || len(message) == 0 {
		return answer, err
	}
	// A host that asks for the certificate when it has seen the header must keep the message until it has it, and may
	// have no room for a large one. So it is asked to ask for it first.
	if answer, err = c.post(ctx, rt, url, nil); err != nil {
		return answer, unsentError{err}
	}
	return c.post(ctx, rt, url, message)
}

func (c *clientCertificate) post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	var version uint16
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { c.asked.Store(false) },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			if err == nil {
				version = s.Version
			}
		},
	})
	answer, err := exchange(ctx, rt, url, message, func(r *http.Request) { r.Header.Set("Authorization", certificateScheme) })
	if answer.TLS != nil {
		version = answer.TLS.Version
	}
	switch {
	case c.asked.Load():
	case err != nil && version == tls.VersionTLS13 && !c.worked && ctx.Err() == nil,
		err == nil && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden):
		return Answer{}, &ClientCertificateError{URL: url, TLSVersion: version, Status: answer.Status, Err: err}
	}
	c.worked = c.worked || answer.Status == http.StatusOK
	return answer, err
}
