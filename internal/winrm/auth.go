package winrm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody bounds an answer; a well-behaved service never exceeds EnvelopeSize.
const maxBody = 16 << 20

// Answer is what came back for one SOAP message, after decryption where messages are sealed.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
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

func newAuthenticator(c Config) (Authenticator, error) {
	switch c.Auth {
	case AuthBasic:
		if !c.HTTPS && !c.AllowUnencrypted {
			return nil, &ConfigError{"authentication", ErrUnencrypted}
		}
		return basic{c.User, c.Password}, nil
	}
	return nil, &ConfigError{"authentication", fmt.Errorf("%q is not supported", c.Auth)}
}

type basic struct{ user, password string }

func (basic) Kind() string { return AuthBasic }
func (basic) Reset()       {}

func (b basic) Post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(message))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", "application/soap+xml;charset=UTF-8")
	req.SetBasicAuth(b.user, b.password)
	// The RoundTripper itself: a redirect must never carry the password elsewhere.
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return Answer{}, err
	}
	if len(body) > maxBody {
		return Answer{}, fmt.Errorf("answer of more than %d bytes", maxBody)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
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
