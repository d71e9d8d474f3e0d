package winrm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// Op names a WS-Management operation.
type Op string

// Operations on a shell.
const (
	OpCreate  Op = "create shell"
	OpCommand Op = "start command"
	OpSend    Op = "send input"
	OpReceive Op = "receive output"
	OpSignal  Op = "terminate command"
	OpDelete  Op = "delete shell"
)

// Codes of faults that mean something to this package. Texts are localised and never looked at.
const (
	CodeAccessDenied     = 5          // ERROR_ACCESS_DENIED: authenticated, but not allowed to use WinRM
	CodeBusy             = 170        // ERROR_BUSY: the last Send is still being processed
	CodeAborted          = 995        // ERROR_OPERATION_ABORTED: the process or the shell is going away
	CodeKeyDeleted       = 2147943418 // 0x800703FA: the user's registry hive was unloaded under the shell
	CodeOperationTimeout = 2150858793 // 0x80338029: nothing within OperationTimeout
	CodeInvalidSelectors = 2150858843 // 0x8033805B: no such shell or command
	CodeMaxShells        = 2150859173 // 0x803381A5: MaxShellsPerUser
	CodeMaxOperations    = 2150859174 // 0x803381A6: MaxConcurrentOperationsPerUser
	CodeShellClosed      = 2150859082 // 0x8033814A
	CodeCommandClosed    = 2150859087 // 0x8033814F
)

// Fault is a SOAP fault of the WS-Management service.
type Fault struct {
	Code    uint32 // WSManFault/@Code, or MSFT_WmiError/error_Code where there is no WSManFault
	Subcode string // as in w:TimedOut
	Reason  string // in the host's language
	Status  int    // of HTTP
}

func (f *Fault) Error() string {
	if f.Code == CodeMaxShells {
		return fmt.Sprintf("the host refuses another shell, the quota MaxShellsPerUser is used up (fault %d): %s", f.Code, f.Reason)
	}
	return fmt.Sprintf("WS-Management fault %d (0x%08X) %s: %s", f.Code, f.Code, f.Subcode, f.Reason)
}

// IsFault says whether err is, or wraps, a Fault with one of the codes.
func IsFault(err error, codes ...uint32) bool {
	var f *Fault
	if !errors.As(err, &f) {
		return false
	}
	for _, code := range codes {
		if f.Code == code {
			return true
		}
	}
	return false
}

// HTTPError is an answer that is no SOAP message, as from a proxy or some other service.
type HTTPError struct {
	URL    string
	Status int
}

func (e *HTTPError) Error() string {
	return fmt.Sprintf("%s answered with HTTP status %d and no WS-Management message", e.URL, e.Status)
}

// fromBetween says whether the answer may come from something that had passed the request on.
func (e *HTTPError) fromBetween() bool {
	switch e.Status {
	case http.StatusOK, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// AuthError is 401: the service does not accept the user, the password or the kind of authentication.
type AuthError struct {
	URL     string
	Auth    string   // Config.Auth
	User    string   // Config.User
	TLS     bool     // over HTTPS
	Offered []string // schemes that the service offers: Negotiate, Kerberos, Basic
}

func (e *AuthError) Error() string {
	offered := "nothing"
	if len(e.Offered) > 0 {
		offered = strings.Join(e.Offered, ", ")
	}
	return fmt.Sprintf("%s rejected user %q with %s authentication (401); it offers %s", e.URL, e.User, e.Auth, offered)
}

// OffersAuth says whether the service offers a scheme that the kind of authentication needs.
// If not, no password would be right. A client certificate needs none; AuthAuto found none.
func (e *AuthError) OffersAuth() bool {
	return e.Auth == AuthCertificate || offers(e.Offered, e.Auth)
}

// ClientCertificateError is a host that never asked for the client certificate, and then refused the
// request. Status is 0 where it closed the connection.
type ClientCertificateError struct {
	URL        string
	TLSVersion uint16
	Status     int
	Err        error
}

func (e *ClientCertificateError) Error() string {
	text := fmt.Sprintf("%s did not ask for the client certificate", e.URL)
	if e.TLSVersion == tls.VersionTLS13 {
		text += "; with TLS 1.3 it can do so only in the first handshake"
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP status %d)", e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}
func (e *ClientCertificateError) Unwrap() error { return e.Err }

// SecurityError is a host, or somebody in between, that does not keep to what makes the authentication safe.
// Nothing that matters was sent, or nothing that came was believed.
type SecurityError struct {
	URL, Auth string
	Err       error
}

func (e *SecurityError) Error() string {
	return fmt.Sprintf("%s authentication with %s was broken off: %v", e.Auth, e.URL, e.Err)
}
func (e *SecurityError) Unwrap() error { return e.Err }

// CertificateProblem is what is wrong with a host's certificate.
type CertificateProblem string

// Problems of certificates.
const (
	CertificateUnknownAuthority CertificateProblem = "unknown authority" // self-signed, or the wrong CACert
	CertificateWrongName        CertificateProblem = "wrong name"
	CertificateInvalid          CertificateProblem = "invalid" // expired, or not for servers
)

// CertificateError is a certificate that was not accepted. Trying again does not help.
type CertificateError struct {
	URL         string
	Problem     CertificateProblem
	CustomCA    bool // Config.CACert was given
	Certificate *x509.Certificate
	Err         error
}

func (e *CertificateError) Error() string {
	return fmt.Sprintf("the certificate of %s was not accepted (%s): %v", e.URL, e.Problem, e.Err)
}
func (e *CertificateError) Unwrap() error { return e.Err }

// NetError is a request without a whole answer.
type NetError struct {
	Op  Op
	URL string
	Err error
	// Sent is false if the request surely did not reach the service: no connection, or no TLS.
	Sent bool
}

func (e *NetError) Error() string { return fmt.Sprintf("%s at %s: %v", e.Op, e.URL, e.Err) }
func (e *NetError) Unwrap() error { return e.Err }

// Refused says whether nothing listens at the address.
func (e *NetError) Refused() bool { return errors.Is(e.Err, syscall.ECONNREFUSED) }

// NotTLS says whether something answers there that does not speak TLS (an HTTP port, mostly).
func (e *NetError) NotTLS() bool {
	var record tls.RecordHeaderError
	return errors.As(e.Err, &record)
}

// TLSRefused says whether the host ended the TLS handshake with an alert: no common version or cipher.
func (e *NetError) TLSRefused() bool {
	var remote *net.OpError
	return errors.As(e.Err, &remote) && remote.Op == "remote error"
}

// NoSuchName says whether the address is a name that does not exist.
func (e *NetError) NoSuchName() bool {
	var dns *net.DNSError
	return errors.As(e.Err, &dns) && dns.IsNotFound
}

// OpError is an operation that failed for good: what the last try gave, and how it came to that.
type OpError struct {
	Op      Op
	Tries   int
	Elapsed time.Duration
	// Sent is true if any try may have been carried out by the service.
	Sent bool
	// Contact is what was known of the way to the host.
	Contact Contact
	Err     error
}

func (e *OpError) Error() string {
	if e.Tries < 2 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v (%s was tried %d times in %v)", e.Err, e.Op, e.Tries, e.Elapsed.Round(100*time.Millisecond))
}
func (e *OpError) Unwrap() error { return e.Err }

// certificateError gives nil for an error that is not about the certificate.
func certificateError(url string, customCA bool, err error) error {
	e := &CertificateError{URL: url, CustomCA: customCA, Err: err}
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) && len(verification.UnverifiedCertificates) > 0 {
		e.Certificate = verification.UnverifiedCertificates[0]
	}
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &authority):
		e.Problem = CertificateUnknownAuthority
	case errors.As(err, &name):
		e.Problem = CertificateWrongName
	case errors.As(err, &invalid), verification != nil:
		e.Problem = CertificateInvalid
	default:
		return nil
	}
	return e
}
