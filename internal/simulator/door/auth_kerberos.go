package door

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// clockSkew is how far the clocks of client and host may be apart.
const clockSkew = 5 * time.Minute

// Kerberos accepts tickets for the host, inside of SPNEGO. It seals no messages, so over HTTP nothing but the
// handshake gets through unless the service allows unencrypted traffic.
type Kerberos struct {
	keytab           *keytab.Keytab
	username         string
	allowUnencrypted bool
	hardening        Hardening

	mu   sync.Mutex
	seen map[string]time.Time // authenticators, against replay
}

// NewKerberos reads the host's keys. The user may log on by the part of his principal ahead of the realm.
func NewKerberos(keytabFile, username string, allowUnencrypted bool, hardening Hardening) (*Kerberos, error) {
	kt, err := keytab.Load(keytabFile)
	if err != nil {
		return nil, fmt.Errorf("keytab %s: %w", keytabFile, err)
	}
	return &Kerberos{keytab: kt, username: username, allowUnencrypted: allowUnencrypted, hardening: hardening, seen: map[string]time.Time{}}, nil
}

// String leaves out the keys.
func (k *Kerberos) String() string { return "kerberos " + k.username }

// GoString leaves out the keys.
func (k *Kerberos) GoString() string { return k.String() }

// Challenges implements Authenticator.
func (k *Kerberos) Challenges(*Connection) []string { return []string{"Negotiate", "Kerberos"} }

// Authenticate implements Authenticator.
func (k *Kerberos) Authenticate(c *Connection, r *http.Request) Verdict {
	scheme, text := authorization(r)
	if !strings.EqualFold(scheme, "Negotiate") && !strings.EqualFold(scheme, "Kerberos") {
		return Verdict{}
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return Verdict{}
	}
	request, err := apRequest(raw)
	if err != nil || k.verify(c, request) != nil {
		return Verdict{}
	}
	reply := spnego.NegTokenResp{NegState: asn1.Enumerated(spnego.NegStateAcceptCompleted), SupportedMech: gssapi.OIDKRB5.OID()}
	token, err := reply.Marshal()
	if err != nil {
		return Verdict{}
	}
	return Verdict{User: k.username, Token: scheme + " " + base64.StdEncoding.EncodeToString(token), Unencrypted: k.allowUnencrypted}
}

// apRequest takes the request out of SPNEGO, or as it stands.
func apRequest(raw []byte) (*messages.APReq, error) {
	var outer spnego.SPNEGOToken
	if outer.Unmarshal(raw) == nil {
		if !outer.Init || len(outer.NegTokenInit.MechTypes) == 0 {
			return nil, errors.New("no token that begins a negotiation")
		}
		if first := outer.NegTokenInit.MechTypes[0]; !first.Equal(gssapi.OIDKRB5.OID()) && !first.Equal(gssapi.OIDMSLegacyKRB5.OID()) {
			return nil, errors.New("not Kerberos")
		}
		raw = outer.NegTokenInit.MechTokenBytes
	}
	var inner spnego.KRB5Token
	if err := inner.Unmarshal(raw); err != nil {
		return nil, err
	}
	if !inner.IsAPReq() {
		return nil, errors.New("no AP_REQ")
	}
	return &inner.APReq, nil
}

func (k *Kerberos) verify(c *Connection, request *messages.APReq) error {
	if ok, err := request.Verify(k.keytab, clockSkew, types.HostAddress{}, nil); err != nil || !ok {
		return fmt.Errorf("ticket: %w", err)
	}
	auth := request.Authenticator
	_, user, ok := strings.Cut(k.username, `\`)
	if !ok {
		user = k.username
	}
	if !strings.EqualFold(auth.CName.PrincipalNameString(), user) {
		return fmt.Errorf("%s may not log on", auth.CName.PrincipalNameString())
	}
	// Lgth, Bnd and Flags of RFC 4121 4.1.1.
	sum := auth.Cksum.Checksum
	if auth.Cksum.CksumType != chksumtype.GSSAPI || len(sum) < 24 || binary.LittleEndian.Uint32(sum) != 16 {
		return errors.New("no GSS-API authenticator")
	}
	if !k.hardening.accepts(c, sum[4:20]) {
		return errors.New("bound to another TLS connection")
	}
	return k.remember(fmt.Sprintf("%s@%s %s %d %d", auth.CName.PrincipalNameString(), auth.CRealm, request.Ticket.SName.PrincipalNameString(), auth.CTime.Unix(), auth.Cusec))
}

// remember refuses an authenticator that came before.
func (k *Kerberos) remember(authenticator string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	for a, t := range k.seen {
		if now.Sub(t) > 2*clockSkew {
			delete(k.seen, a)
		}
	}
	if _, again := k.seen[authenticator]; again {
		return errors.New("replay")
	}
	k.seen[authenticator] = now
	return nil
}
