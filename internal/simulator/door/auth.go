package door

import (
	"crypto/subtle"
	"net/http"
)

// Connection is one TCP connection. An authenticator that keeps state by connection (NTLM, Kerberos)
// finds it here as a stable pointer.
type Connection struct {
	Secure bool // HTTPS
	Remote string
}

type connectionKey struct{}

func connectionOf(r *http.Request) *Connection {
	c, _ := r.Context().Value(connectionKey{}).(*Connection)
	if c == nil {
		c = &Connection{Remote: r.RemoteAddr, Secure: r.TLS != nil}
	}
	return c
}

// Authenticator is one authentication scheme of the WinRM service.
type Authenticator interface {
	// Challenge is the value for WWW-Authenticate on this connection; "" where the scheme is not offered.
	Challenge(c *Connection) string
	// Authenticate returns the user that the request proves, and false where it proves none.
	Authenticate(c *Connection, r *http.Request) (user string, ok bool)
}

// Basic is Basic authentication. As on Windows it is refused over HTTP unless the service allows
// unencrypted traffic, and then it is not offered either.
type Basic struct {
	Username, Password string
	AllowUnencrypted   bool
}

func (b Basic) usable(c *Connection) bool { return c.Secure || b.AllowUnencrypted }

// Challenge implements Authenticator.
func (b Basic) Challenge(c *Connection) string {
	if !b.usable(c) {
		return ""
	}
	return `Basic realm="WSMAN"`
}

// Authenticate implements Authenticator.
func (b Basic) Authenticate(c *Connection, r *http.Request) (string, bool) {
	user, password, ok := r.BasicAuth()
	if !ok || !b.usable(c) || b.Username == "" {
		return "", false
	}
	same := subtle.ConstantTimeCompare([]byte(user), []byte(b.Username)) & subtle.ConstantTimeCompare([]byte(password), []byte(b.Password))
	return b.Username, same == 1
}

// String hides the password wherever the value is printed.
func (b Basic) String() string { return "basic " + b.Username }

// GoString hides the password from %#v.
func (b Basic) GoString() string { return b.String() }

func (d *Door) authenticate(c *Connection, r *http.Request) (string, bool) {
	for _, a := range d.cfg.Authenticators {
		if user, ok := a.Authenticate(c, r); ok {
			return user, true
		}
	}
	return "", false
}

// unauthorized answers as http.sys does: no body and no content type. A Windows host offers Negotiate
// whatever else it offers.
func (d *Door) unauthorized(w http.ResponseWriter, c *Connection) {
	w.Header().Add("WWW-Authenticate", "Negotiate")
	for _, a := range d.cfg.Authenticators {
		if v := a.Challenge(c); v != "" {
			w.Header().Add("WWW-Authenticate", v)
		}
	}
	w.Header()["Content-Type"] = nil
	w.WriteHeader(http.StatusUnauthorized)
}
