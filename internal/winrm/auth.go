package winrm

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
)

// maxBody bounds an answer; a well-behaved service never exceeds EnvelopeSize.
const maxBody = 16 << 20

const contentTypeSOAP = "application/soap+xml;charset=UTF-8"

// Answer is what came back for one SOAP message, after decryption where messages are sealed.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// TLS is nil over HTTP.
	TLS *tls.ConnectionState

	conn net.Conn // that it came over
}

// Authenticator sends SOAP messages as an authenticated user. It owns whatever it needs around one
// message: headers, a handshake of several requests, sealing. It is never used concurrently, and its
// connection is the only one (NTLM and Kerberos contexts belong to a TCP connection).
type Authenticator interface {
	// Kind is one of the Auth constants.
	Kind() string
	// Post sends one message. A 401 that a new handshake cannot cure is an Answer, not an error.
	Post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error)
	// Reset forgets what belonged to a connection that is gone.
	Reset()
}

// newAuthenticator expects a configuration that withDefaults has checked.
func newAuthenticator(c Config) (Authenticator, error) {
	switch c.Auth {
	case AuthBasic:
		return basic{c.User, c.Password}, nil
	case AuthNTLM:
		return newNTLM(c), nil
	case AuthKerberos:
		return newKerberos(c)
	case AuthCertificate:
		return newCertificate(c)
	case AuthAuto:
		return newAuto(c)
	}
	return nil, &ConfigError{FieldAuth, fmt.Errorf("%q is not supported", c.Auth)}
}

// checkAuth says what the kind of authentication lacks.
func (c Config) checkAuth() error {
	switch c.Auth {
	case AuthBasic:
		if !c.HTTPS && !c.AllowUnencrypted {
			return &ConfigError{FieldAuth, ErrUnencrypted}
		}
	case AuthKerberos:
		if !c.HTTPS {
			return &ConfigError{FieldAuth, ErrKerberosHTTP}
		}
	case AuthCertificate:
		if !c.HTTPS {
			return &ConfigError{FieldAuth, ErrCertificateHTTP}
		}
	case AuthAuto:
		switch {
		case !c.HTTPS && len(c.ClientCert) > 0:
			return &ConfigError{FieldAuth, ErrCertificateHTTP}
		case !c.HTTPS && c.Kerberos != nil:
			return &ConfigError{FieldAuth, ErrKerberosHTTP}
		}
	}
	return nil
}

type basic struct{ user, password string }

func (basic) Kind() string { return AuthBasic }
func (basic) Reset()       {}

func (b basic) Post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	return exchange(ctx, rt, url, message, func(r *http.Request) { r.SetBasicAuth(b.user, b.password) })
}

// exchange posts one HTTP request and reads the whole answer.
func exchange(ctx context.Context, rt http.RoundTripper, url string, body []byte, change func(*http.Request)) (Answer, error) {
	var conn net.Conn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { conn = i.Conn }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", contentTypeSOAP)
	change(req)
	// The RoundTripper itself: a redirect must never carry the password elsewhere.
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return Answer{}, err
	}
	if len(text) > maxBody {
		return Answer{}, fmt.Errorf("answer of more than %d bytes", maxBody)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: text, TLS: resp.TLS, conn: conn}, nil
}

// unsentError is a failure before the message itself was on its way: in a handshake, which carries none.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// probe posts nothing as nobody, to learn what the service offers and which certificate it has.
func probe(ctx context.Context, rt http.RoundTripper, url string) (Answer, error) {
	answer, err := exchange(ctx, rt, url, nil, func(*http.Request) {})
	if err != nil {
		return answer, unsentError{err}
	}
	return answer, nil
}

// offeredSchemes are the names of the authentication schemes of a 401.
func offeredSchemes(h http.Header) []string {
	var schemes []string
	for _, value := range h.Values("WWW-Authenticate") {
		if fields := strings.Fields(value); len(fields) > 0 {
			schemes = append(schemes, fields[0])
		}
	}
	return schemes
}

// schemesFor are the HTTP schemes by which a service offers a kind of authentication. A client
// certificate is asked for in TLS and offered by none.
func schemesFor(kind string) []string {
	switch kind {
	case AuthBasic:
		return []string{"Basic"}
	case AuthNTLM:
		return []string{"Negotiate"}
	case AuthKerberos:
		return []string{"Negotiate", "Kerberos"}
	}
	return nil
}

func offers(offered []string, kind string) bool {
	for _, scheme := range schemesFor(kind) {
		for _, o := range offered {
			if strings.EqualFold(o, scheme) {
				return true
			}
		}
	}
	return false
}
