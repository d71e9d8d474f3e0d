package winrm

import (
	"crypto"
	_ "crypto/sha512" // of certificates
	"crypto/x509"
)

// endPointBinding is the channel binding of RFC 5929 (tls-server-end-point): it ties an authentication to
// the certificate of the connection, so that nobody in between can pass it on. The hash is the one of
// the certificate's signature, with SHA-256 in place of MD5 and SHA-1. Nil: a signature without a hash of its
// own has no such binding.
func endPointBinding(cert *x509.Certificate) []byte {
	var hash crypto.Hash
	switch cert.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		hash = crypto.SHA384
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		hash = crypto.SHA512
	case x509.PureEd25519, x509.UnknownSignatureAlgorithm:
		return nil
	default:
		hash = crypto.SHA256
	}
	h := hash.New()
	h.Write(cert.Raw)
	return h.Sum([]byte("tls-server-end-point:"))
}

// binding is the channel binding of the connection that an answer came over; nil over HTTP.
func (a Answer) binding() []byte {
	if a.TLS == nil || len(a.TLS.PeerCertificates) == 0 {
		return nil
	}
	return endPointBinding(a.TLS.PeerCertificates[0])
}
