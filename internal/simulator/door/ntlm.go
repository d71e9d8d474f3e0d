package door

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Flags of NTLM messages (MS-NLMP 2.2.2.5).
const (
	ntlmUnicode     = 0x00000001
	ntlmTarget      = 0x00000004
	ntlmSign        = 0x00000010
	ntlmSeal        = 0x00000020
	ntlmNTLM        = 0x00000200
	ntlmAlwaysSign  = 0x00008000
	ntlmServer      = 0x00020000
	ntlmExtended    = 0x00080000
	ntlmTargetInfo  = 0x00800000
	ntlmVersion     = 0x02000000
	ntlm128         = 0x20000000
	ntlmKeyExchange = 0x40000000
	ntlm56          = 0x80000000
)

// Values of a target information (MS-NLMP 2.2.2.1).
const (
	avEnd          = 0
	avComputer     = 1
	avDomain       = 2
	avDNSComputer  = 3
	avDNSDomain    = 4
	avFlags        = 6
	avTimestamp    = 7
	avBindings     = 10
	avFlagMIC      = 0x2
	micOffset      = 72 // in an AUTHENTICATE message with a version field
	ntlmBeforeInfo = 28 // of a client's NTLMv2 blob, ahead of its target information
)

// NTLM is NTLMv2 as HTTP carries it: a handshake of three messages authenticates the TCP connection. Over
// HTTP the messages that follow must be sealed, unless the service allows unencrypted traffic.
type NTLM struct {
	Computer           string // the host's name
	Username, Password string // DOMAIN\user for a user of a domain
	AllowUnencrypted   bool
	Hardening          Hardening
}

// ntlmState is what a connection has come to.
type ntlmState struct {
	negotiate, challenge []byte // the messages of a handshake that is going on
	nonce                []byte
	user                 string
	sealing              *sealing
}

// String hides the password wherever the value is printed.
func (n NTLM) String() string { return "ntlm " + n.Username }

// GoString hides the password from %#v.
func (n NTLM) GoString() string { return n.String() }

// Challenges implements Authenticator.
func (n NTLM) Challenges(*Connection) []string { return []string{"Negotiate"} }

// Authenticate implements Authenticator.
func (n NTLM) Authenticate(c *Connection, r *http.Request) Verdict {
	scheme, text := authorization(r)
	state := &c.ntlm
	if scheme == "" {
		if state.user == "" {
			return Verdict{}
		}
		return n.verdict(c)
	}
	if !strings.EqualFold(scheme, "Negotiate") && !strings.EqualFold(scheme, "NTLM") {
		return Verdict{}
	}
	message, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(message) < 32 || !bytes.HasPrefix(message, []byte("NTLMSSP\x00")) {
		return Verdict{}
	}
	switch binary.LittleEndian.Uint32(message[8:]) {
	case 1:
		*state = ntlmState{negotiate: message, nonce: make([]byte, 8)}
		_, _ = rand.Read(state.nonce) // it never fails
		state.challenge = n.challenge(state.nonce, binary.LittleEndian.Uint32(message[12:]))
		return Verdict{Token: scheme + " " + base64.StdEncoding.EncodeToString(state.challenge)}
	case 3:
		before := *state
		*state = ntlmState{} // a challenge is good for one answer
		user, seal, err := n.prove(c, before, message)
		if err != nil {
			return Verdict{}
		}
		state.user, state.sealing = user, seal
		return n.verdict(c)
	}
	return Verdict{}
}

func (n NTLM) verdict(c *Connection) Verdict {
	return Verdict{User: c.ntlm.user, Sealed: c.ntlm.sealing, Unencrypted: n.AllowUnencrypted}
}

// challenge is a CHALLENGE message that agrees to what the client can do.
func (n NTLM) challenge(nonce []byte, client uint32) []byte {
	const optional = ntlmSign | ntlmSeal | ntlmAlwaysSign | ntlm128 | ntlmKeyExchange | ntlm56
	flags := uint32(ntlmUnicode|ntlmTarget|ntlmNTLM|ntlmServer|ntlmExtended|ntlmTargetInfo|ntlmVersion) | client&optional
	name := utf16LE(n.Computer)
	var info []byte
	add := func(id uint16, value []byte) {
		info = binary.LittleEndian.AppendUint16(info, id)
		info = binary.LittleEndian.AppendUint16(info, uint16(len(value))) //nolint:gosec // names are short
		info = append(info, value...)
	}
	for _, id := range []uint16{avDomain, avComputer, avDNSDomain, avDNSComputer} {
		add(id, name)
	}
	add(avTimestamp, binary.LittleEndian.AppendUint64(nil, filetime(time.Now())))
	add(avEnd, nil)

	const head = 56
	m := append([]byte("NTLMSSP\x00"), 2, 0, 0, 0)
	field := func(value []byte, offset int) {
		m = binary.LittleEndian.AppendUint16(m, uint16(len(value))) //nolint:gosec // see above
		m = binary.LittleEndian.AppendUint16(m, uint16(len(value))) //nolint:gosec // see above
		m = binary.LittleEndian.AppendUint32(m, uint32(offset))     //nolint:gosec // see above
	}
	field(name, head)
	m = binary.LittleEndian.AppendUint32(m, flags)
	m = append(m, nonce...)
	m = append(m, make([]byte, 8)...)
	field(info, head+len(name))
	m = append(m, 10, 0, 0x63, 0x45, 0, 0, 0, 15) // a version of Windows 10 and later, NTLM revision 15
	return append(append(m, name...), info...)
}

// prove checks an AUTHENTICATE message: the response to the challenge, the integrity of the handshake where
// the client has protected it, and the binding to the TLS connection.
func (n NTLM) prove(c *Connection, state ntlmState, m []byte) (string, *sealing, error) {
	if state.challenge == nil {
		return "", nil, errors.New("no challenge was sent on this connection")
	}
	if len(m) < 64 {
		return "", nil, errors.New("too short")
	}
	response, domain, user, key := payload(m, 20), text(payload(m, 28)), text(payload(m, 36)), payload(m, 52)
	flags := binary.LittleEndian.Uint32(m[60:])
	if !n.knows(user, domain) {
		return "", nil, fmt.Errorf("unknown user %q", user)
	}
	if len(response) < 16+ntlmBeforeInfo || flags&ntlmExtended == 0 {
		return "", nil, errors.New("no NTLMv2 response")
	}
	owf := hmacMD5(md4Sum(utf16LE(n.Password)), utf16LE(strings.ToUpper(user)+domain))
	proof := hmacMD5(owf, state.nonce, response[16:])
	if !hmac.Equal(proof, response[:16]) {
		return "", nil, errors.New("wrong password")
	}
	session := hmacMD5(owf, proof)
	if flags&ntlmKeyExchange != 0 {
		if len(key) != 16 {
			return "", nil, errors.New("no session key")
		}
		session = rc4Once(session, key)
	}
	info := targetInfo(response[16+ntlmBeforeInfo:])
	if f := info[avFlags]; len(f) == 4 && binary.LittleEndian.Uint32(f)&avFlagMIC != 0 {
		if len(m) < micOffset+16 {
			return "", nil, errors.New("no integrity code")
		}
		plain := bytes.Clone(m)
		clear(plain[micOffset : micOffset+16])
		if !hmac.Equal(hmacMD5(session, state.negotiate, state.challenge, plain), m[micOffset:micOffset+16]) {
			return "", nil, errors.New("the handshake was changed on its way")
		}
	}
	if !n.Hardening.accepts(c, info[avBindings]) {
		return "", nil, errors.New("bound to another TLS connection")
	}
	var seal *sealing
	if flags&(ntlmSign|ntlmSeal) == ntlmSign|ntlmSeal {
		seal = newSealing(session, flags)
	}
	return n.Username, seal, nil
}

// knows says whether a client means the user of this host. A local user may come with the computer's name,
// a dot or nothing as domain.
func (n NTLM) knows(user, domain string) bool {
	wantDomain, wantUser, ok := strings.Cut(n.Username, `\`)
	if !ok {
		wantDomain, wantUser = n.Computer, n.Username
		if domain == "" || domain == "." {
			domain = wantDomain
		}
	}
	return user != "" && strings.EqualFold(user, wantUser) && strings.EqualFold(domain, wantDomain)
}

// payload is a field of a message; nil where it is not all there.
func payload(m []byte, at int) []byte {
	length, offset := int(binary.LittleEndian.Uint16(m[at:])), int(binary.LittleEndian.Uint32(m[at+4:]))
	if offset > len(m) || length > len(m)-offset {
		return nil
	}
	return m[offset : offset+length]
}

func targetInfo(b []byte) map[uint16][]byte {
	values := map[uint16][]byte{}
	for len(b) >= 4 {
		id, length := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		if id == avEnd || length > len(b)-4 {
			break
		}
		values[id] = b[4 : 4+length]
		b = b[4+length:]
	}
	return values
}
