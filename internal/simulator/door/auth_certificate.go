package door

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"net/http"
	"strings"
)

// certificateScheme in place of a scheme says that the user is in the TLS connection.
const certificateScheme = "http://schemas.dmtf.org/wbem/wsman/1/wsman/secprofile/https/mutual"

// ClientCertificate maps client certificates to a user, as entries of WSMan:\localhost\ClientCertificate do: by
// the issuer and the user principal name in the certificate. The listener asks for the certificate in the
// first handshake, as http.sys does after "netsh http add sslcert … clientcertnegotiation=enable".
type ClientCertificate struct {
	Issuers  *x509.CertPool
	Subject  string // user principal name in the certificate
	Username string // who that is
}

// Challenges implements Authenticator: a certificate is not offered by HTTP.
func (ClientCertificate) Challenges(*Connection) []string { return nil }

// Authenticate implements Authenticator.
func (a ClientCertificate) Authenticate(_ *Connection, r *http.Request) Verdict {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || r.Header.Get("Authorization") != certificateScheme {
		return Verdict{}
	}
	cert, between := r.TLS.PeerCertificates[0], x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		between.AddCert(c)
	}
	options := x509.VerifyOptions{Roots: a.Issuers, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := cert.Verify(options); err != nil || !strings.EqualFold(principalName(cert), a.Subject) {
		return Verdict{}
	}
	return Verdict{User: a.Username}
}

// clientAuth asks for a certificate where one may be of use. None is required: other schemes do without.
func (d *Door) clientAuth() tls.ClientAuthType {
	for _, a := range d.cfg.Authenticators {
		if _, ok := a.(ClientCertificate); ok {
			return tls.RequestClientCert
		}
	}
	return tls.NoClientCert
}

// Names of Microsoft's user principal name among the alternative names of a certificate.
func oidAlternativeName() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{2, 5, 29, 17} }
func oidPrincipalName() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 20, 2, 3}
}

// otherName is a name of a kind of its own (RFC 5280 4.2.1.6).
type otherName struct {
	ID    asn1.ObjectIdentifier
	Value struct {
		Text string `asn1:"utf8"`
	} `asn1:"tag:0"`
}

// principalName is the user principal name in a certificate; "" where it has none.
func principalName(cert *x509.Certificate) string {
	for _, e := range cert.Extensions {
		if !e.Id.Equal(oidAlternativeName()) {
			continue
		}
		var names []asn1.RawValue
		if _, err := asn1.Unmarshal(e.Value, &names); err != nil {
			return ""
		}
		for _, n := range names {
			var name otherName
			if n.Class != asn1.ClassContextSpecific || n.Tag != 0 {
				continue
			}
			if _, err := asn1.UnmarshalWithParams(n.FullBytes, &name, "tag:0"); err == nil && name.ID.Equal(oidPrincipalName()) {
				return name.Value.Text
			}
		}
	}
	return ""
}
