package winrm

import (
	"crypto/tls"
	"net/http"
	"sync"
)

// Contact is what was known of the way to the host when an operation failed: what somebody who looks for the
// cause asks first.
type Contact struct {
	URL string
	// Auth is the kind of authentication that was used; AuthAuto while none was chosen.
	Auth string
	// Auto says that AuthAuto chose it.
	Auto bool
	User string
	// HTTPS is whether TLS was to be used, Verified whether the certificate was to be verified, TLSVersion
	// what was agreed on, 0 where it never came to that.
	HTTPS, Verified bool
	TLSVersion      uint16
	// Offered are the schemes that the host offered when it last refused a request.
	Offered []string
}

func (t *Transport) contact() Contact {
	c := Contact{
		URL: t.url, Auth: t.auth.Kind(), Auto: t.cfg.Auth == AuthAuto, User: t.cfg.User,
		HTTPS: t.cfg.HTTPS, Verified: t.cfg.HTTPS && !t.cfg.InsecureSkipVerify,
	}
	c.TLSVersion, c.Offered = t.seen.told()
	return c
}

// observer notes what answers tell about the host.
type observer struct {
	next http.RoundTripper

	mu      sync.Mutex
	version uint16
	offered []string
}

func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err == nil {
		o.mu.Lock()
		if resp.TLS != nil {
			o.version = resp.TLS.Version
		}
		if schemes := offeredSchemes(resp.Header); resp.StatusCode == http.StatusUnauthorized && len(schemes) > 0 {
			o.offered = schemes
		}
		o.mu.Unlock()
	}
	return resp, err
}

func (o *observer) told() (version uint16, offered []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.version, o.offered
}

// TLSName is how a version of TLS is called.
func TLSName(version uint16) string {
	return tls.VersionName(version)
}
