package door

import (
	"bytes"
	"crypto"
	"crypto/md5"      //nolint:gosec // what RFC 2744 bindings are hashed with
	_ "crypto/sha256" // of certificates
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/binary"
)

// Hardening is how the service treats channel binding tokens (CbtHardeningLevel of winrm/config/service/auth).
type Hardening string

// Levels of hardening; the zero value means Relaxed, as on Windows.
const (
	HardeningNone    Hardening = "None"    // tokens are ignored
	HardeningRelaxed Hardening = "Relaxed" // a token must be right, none will do
	HardeningStrict  Hardening = "Strict"  // over HTTPS there must be a right one
)

// accepts judges what a client gave: the hash of its bindings, zero or empty for none.
func (h Hardening) accepts(c *Connection, given []byte) bool {
	if h == HardeningNone || c.binding == nil {
		return true
	}
	if len(bytes.Trim(given, "\x00")) == 0 {
		return h != HardeningStrict
	}
	return bytes.Equal(given, bindingHash(c.binding))
}

// endPointBinding is the tls-server-end-point binding of RFC 5929; nil where a certificate has none.
func endPointBinding(cert *x509.Certificate) []byte {
	hash := crypto.SHA256
	switch cert.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		hash = crypto.SHA384
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		hash = crypto.SHA512
	case x509.PureEd25519:
		return nil
	}
	h := hash.New()
	h.Write(cert.Raw)
	return append([]byte("tls-server-end-point:"), h.Sum(nil)...)
}

// bindingHash is the MD5 of a gss_channel_bindings_struct that has application data only.
func bindingHash(data []byte) []byte {
	var b bytes.Buffer
	b.Write(make([]byte, 16))                                         // two addresses, each a kind and a length
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) //nolint:gosec // a hash and its name
	b.Write(data)
	sum := md5.Sum(b.Bytes()) //nolint:gosec // see above
	return sum[:]
}
