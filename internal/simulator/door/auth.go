package door

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// Connection is one TCP connection. An authenticator that keeps state by connection (NTLM, Kerberos)
// finds it here as a stable pointer.
type Connection struct {
	Secure bool // HTTPS
	Remote string

	binding []byte // of the listener's certificate, for channel binding tokens
	ntlm    ntlmState
}

type connectionKey struct{}

func connectionOf(r *http.Request) *Connection {
	c, _ := r.Context().Value(connectionKey{}).(*Connection)
	if c == nil {
		c = &Connection{Remote: r.RemoteAddr, Secure: r.TLS != nil}
	}
	return c
}

// Verdict is what an authenticator makes of a request.
type Verdict struct {
	// User is who the request proves to be; "" where it proves nobody.
	User string
	// Token is what the authenticator says next: in the middle of a handshake, or as its last word.
	Token string
	// Sealed is for bodies that are sealed; nil where the user's messages need no sealing of their own.
	Sealed *sealing
	// Unencrypted allows messages that neither TLS nor sealing protects.
	Unencrypted bool
}

// Authenticator is one authentication scheme of the WinRM service.
type Authenticator interface {
	// Challenges are the values for WWW-Authenticate on this connection; none where the scheme is not offered.
	Challenges(c *Connection) []string
	// Authenticate looks at a request.
	Authenticate(c *Connection, r *http.Request) Verdict
}

// Basic is Basic authentication. As on Windows it is refused over HTTP unless the service allows
// unencrypted traffic, and then it is not offered either.
type Basic struct {
	Username, Password string
	AllowUnencrypted   bool
}

func (b Basic) usable(c *Connection) bool { return c.Secure || b.AllowUnencrypted }

// Challenges implements Authenticator.
func (b Basic) Challenges(c *Connection) []string {
	if !b.usable(c) {
		return nil
	}
	return []string{`Basic realm="WSMAN"`}
}

// Authenticate implements Authenticator.
func (b Basic) Authenticate(c *Connection, r *http.Request) Verdict {
	user, password, ok := r.BasicAuth()
	if !ok || !b.usable(c) || b.Username == "" {
		return Verdict{}
	}
	same := subtle.ConstantTimeCompare([]byte(user), []byte(b.Username)) & subtle.ConstantTimeCompare([]byte(password), []byte(b.Password))
	if same != 1 {
		return Verdict{}
	}
	return Verdict{User: b.Username, Unencrypted: true}
}

// String hides the password wherever the value is printed.
func (b Basic) String() string { return "basic " + b.Username }

// GoString hides the password from %#v.
func (b Basic) GoString() string { return b.String() }

func (d *Door) authenticate(c *Connection, r *http.Request) Verdict {
	for _, a := range d.cfg.Authenticators {
		if v := a.Authenticate(c, r); v.User != "" || v.Token != "" {
			return v
		}
	}
	return Verdict{}
}

// unauthorized answers as http.sys does: no body and no content type. In the middle of a handshake
// nothing is offered but to go on with it.
func (d *Door) unauthorized(w http.ResponseWriter, c *Connection, token string) {
	offered := []string{token}
	if token == "" {
		offered = nil
		for _, a := range d.cfg.Authenticators {
			for _, challenge := range a.Challenges(c) {
				if !slices.Contains(offered, challenge) {
					offered = append(offered, challenge)
				}
			}
		}
	}
	w.Header()["Www-Authenticate"] = offered
	w.Header()["Content-Type"] = nil
	w.WriteHeader(http.StatusUnauthorized)
}

// authorization takes the header of a request apart.
func authorization(r *http.Request) (scheme, rest string) {
	scheme, rest, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	return scheme, strings.TrimSpace(rest)
}
