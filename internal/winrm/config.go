// Package winrm runs one process in one shell of a Windows host over WS-Management, and survives a
// network that goes away for a while. Messages come from github.com/masterzen/winrm; the HTTP
// transport, the faults and the rules for trying again are this package's own.
package winrm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// Kinds of authentication, for Config.Auth.
const (
	// AuthBasic sends the password with every message, inside TLS.
	AuthBasic = "basic"
	// AuthNTLM is NTLMv2: over HTTPS bound to the host's certificate, over HTTP with sealed messages.
	AuthNTLM = "ntlm"
	// AuthKerberos is Kerberos over HTTPS, bound to the host's certificate.
	AuthKerberos = "kerberos"
	// AuthCertificate is a client certificate that the host maps to a user, over HTTPS.
	AuthCertificate = "certificate"
	// AuthAuto is the safest of these that the host offers and that there are credentials for.
	AuthAuto = "auto"
)

// AuthKinds lists them.
func AuthKinds() []string {
	return []string{AuthBasic, AuthNTLM, AuthKerberos, AuthCertificate, AuthAuto}
}

// Ports of the WinRM service.
const (
	DefaultPort      = 5985
	DefaultPortHTTPS = 5986
)

// Limits of a WS-Management service (MaxTimeoutms; the envelope size that every version takes).
const (
	maxOperationTimeout = 60 * time.Second
	minEnvelopeSize     = 8192
	defaultEnvelopeSize = 153600
)

// Config says how to reach one host. The zero value of an optional field means its default.
type Config struct {
	// Address is a host name or an IP address, without port.
	Address string
	// Port is 5985, or 5986 with HTTPS, unless given.
	Port int

	HTTPS bool
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
	// CACert holds PEM certificates to trust instead of the system's.
	CACert []byte
	// ServerName is the name to expect in the certificate; Address unless given.
	ServerName string

	// MinTLS is tls.VersionTLS12, which is also the default, or tls.VersionTLS13.
	MinTLS uint16

	// Auth is one of the kinds; AuthBasic unless given.
	Auth           string
	User, Password string
	// ClientCert and ClientKey are PEM texts, for AuthCertificate; AuthAuto then means it.
	ClientCert, ClientKey []byte
	// Kerberos is for AuthKerberos; with it, AuthAuto means Kerberos.
	Kerberos *KerberosConfig
	// AllowUnencrypted permits Basic over HTTP, which shows the password and all data to the network.
	AllowUnencrypted bool

	// OperationTimeout is how long the service holds a request before it answers that there is
	// nothing yet. 20 s; at most 60 s.
	OperationTimeout time.Duration
	// AnswerGrace is how much longer than OperationTimeout an answer may take. 10 s.
	AnswerGrace time.Duration
	// ConnectTimeout bounds the TCP connection and the TLS handshake each. 10 s.
	ConnectTimeout time.Duration
	// EnvelopeSize bounds a SOAP message in bytes. 153600.
	EnvelopeSize int
	// RetryBudget is how long one operation is tried again while the host cannot be reached. 3 min.
	RetryBudget time.Duration
	// ContactBudget is how long opening a shell is tried again while the host cannot be reached. RetryBudget
	// unless given.
	ContactBudget time.Duration

	// ReturnGrace is how long after the network was lost an answer does not count that refuses credentials which
	// were good before, or that is no WS-Management message. 30 s.
	ReturnGrace time.Duration

	// Log gets what a person who looks for the cause of a delay wants to know. No secrets, no data.
	Log func(ctx context.Context, message string, fields map[string]any)

	shared *shared // see Shared
}

// Fields that a ConfigError of authentication names.
const (
	FieldAuth              = "authentication"
	FieldKerberos          = "Kerberos"
	FieldClientCertificate = "client certificate"
)

// ConfigError is a Config that cannot work.
type ConfigError struct {
	Field string
	Err   error
}

func (e *ConfigError) Error() string { return fmt.Sprintf("WinRM %s: %v", e.Field, e.Err) }
func (e *ConfigError) Unwrap() error { return e.Err }

// Causes of a ConfigError of FieldAuth.
var (
	// ErrUnencrypted is Basic over HTTP without AllowUnencrypted.
	ErrUnencrypted = errors.New("basic authentication over HTTP sends the password and all data unencrypted; use HTTPS, or allow it explicitly")
	// ErrKerberosHTTP is Kerberos over HTTP.
	ErrKerberosHTTP = errors.New("kerberos over HTTP is not supported: messages would have to be sealed with Kerberos keys, and unsealed they are never sent; use HTTPS, or NTLM")
	// ErrCertificateHTTP is a client certificate without TLS.
	ErrCertificateHTTP = errors.New("a client certificate is part of TLS; use HTTPS")
)

// Check says whether the configuration can work, as far as that can be told without contact to the host.
func (c Config) Check() error {
	_, err := NewTransport(c)
	return err
}

// withDefaults fills in defaults and checks the rest.
func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Auth, AuthBasic)
	setDefault(&c.MinTLS, tls.VersionTLS12)
	if c.shared == nil {
		c = c.Shared()
	}
	setDefault(&c.OperationTimeout, 20*time.Second)
	setDefault(&c.AnswerGrace, 10*time.Second)
	setDefault(&c.ConnectTimeout, 10*time.Second)
	setDefault(&c.EnvelopeSize, defaultEnvelopeSize)
	setDefault(&c.RetryBudget, 3*time.Minute)
	setDefault(&c.ContactBudget, c.RetryBudget)
	setDefault(&c.ReturnGrace, 30*time.Second)
	if c.HTTPS {
		setDefault(&c.Port, DefaultPortHTTPS)
	} else {
		setDefault(&c.Port, DefaultPort)
	}
	if c.Log == nil {
		c.Log = func(context.Context, string, map[string]any) {}
	}
	switch {
	case c.Address == "":
		return c, &ConfigError{"address", errors.New("must not be empty")}
	case c.Port < 1 || c.Port > 65535:
		return c, &ConfigError{"port", fmt.Errorf("%d is not between 1 and 65535", c.Port)}
	case c.OperationTimeout < 0 || c.OperationTimeout > maxOperationTimeout:
		return c, &ConfigError{"operation timeout", fmt.Errorf("%v is not between 0 and %v", c.OperationTimeout, maxOperationTimeout)}
	case c.AnswerGrace < 0:
		return c, &ConfigError{"answer grace", fmt.Errorf("%v is negative", c.AnswerGrace)}
	case c.ConnectTimeout < 0:
		return c, &ConfigError{"connect timeout", fmt.Errorf("%v is negative", c.ConnectTimeout)}
	case c.RetryBudget < 0:
		return c, &ConfigError{"retry budget", fmt.Errorf("%v is negative", c.RetryBudget)}
	case c.ContactBudget < 0:
		return c, &ConfigError{"contact budget", fmt.Errorf("%v is negative", c.ContactBudget)}
	case c.ReturnGrace < 0:
		return c, &ConfigError{"return grace", fmt.Errorf("%v is negative", c.ReturnGrace)}
	case c.EnvelopeSize < minEnvelopeSize:
		return c, &ConfigError{"envelope size", fmt.Errorf("%d is less than %d", c.EnvelopeSize, minEnvelopeSize)}
	case c.MinTLS != tls.VersionTLS12 && c.MinTLS != tls.VersionTLS13:
		return c, &ConfigError{"minimum TLS version", errors.New("is neither 1.2 nor 1.3")}
	}
	return c, c.checkAuth()
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) url() string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(c.Address, strconv.Itoa(c.Port)), Path: "/wsman"}
	if c.HTTPS {
		u.Scheme = "https"
	}
	return u.String()
}

func (c Config) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{
		MinVersion:         c.MinTLS,
		ServerName:         c.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify, //nolint:gosec // the user's explicit choice
	}
	if len(c.CACert) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(c.CACert) {
			return nil, &ConfigError{"CA certificate", errors.New("no certificate in PEM form found")}
		}
	}
	return t, nil
}
