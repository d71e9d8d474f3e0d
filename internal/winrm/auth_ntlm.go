package winrm

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/bodgit/ntlmssp"
)

// Flags of NTLM messages (MS-NLMP 2.2.2.5) that the service has to agree to.
const (
	ntlmUnicode          = 0x00000001
	ntlmSign             = 0x00000010
	ntlmSeal             = 0x00000020
	ntlmExtendedSecurity = 0x00080000
	ntlmTargetInfo       = 0x00800000
	ntlm128              = 0x20000000
	ntlmKeyExchange      = 0x40000000
)

// ntlm is NTLMv2. Over HTTPS the handshake is bound to the host's certificate and TLS protects the
// messages; over HTTP every message is sealed, and nothing is ever sent or taken unsealed.
type ntlm struct {
	user, domain, password string
	secure                 bool // HTTPS

	// session is that of an authenticated connection.
	session *ntlmssp.SecuritySession
	conn    net.Conn
}

func newNTLM(c Config) *ntlm {
	user, domain := splitUser(c.User)
	return &ntlm{user: user, domain: domain, password: c.Password, secure: c.HTTPS}
}

// splitUser takes DOMAIN\user apart; user@domain stays whole.
func splitUser(s string) (user, domain string) {
	if d, u, ok := strings.Cut(s, `\`); ok {
		return u, d
	}
	return s, ""
}

func (n *ntlm) Kind() string { return AuthNTLM }
func (n *ntlm) Reset()       { n.session, n.conn = nil, nil }

func (n *ntlm) Post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	answer, err := n.post(ctx, rt, url, message)
	if err != nil {
		n.Reset() // the connection is gone, or nobody knows what state its other end is in
	}
	return answer, err
}

func (n *ntlm) post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	for first := true; ; first = false {
		fresh := n.session == nil
		if fresh {
			answer, err := n.handshake(ctx, rt, url)
			if err != nil {
				return Answer{}, unsentError{err}
			}
			if answer.Status != http.StatusOK {
				return answer, nil
			}
		}
		answer, err := n.send(ctx, rt, url, message)
		if err != nil || answer.Status != http.StatusUnauthorized {
			return answer, err
		}
		// Not carried out: this is another connection than the one that was authenticated, or one that has
		// forgotten who it belongs to.
		same := answer.conn == n.conn
		n.Reset()
		if fresh && same || !first {
			return answer, nil
		}
	}
}

// handshake authenticates the connection by two requests without a message. An answer other than 200 is
// the service's refusal.
func (n *ntlm) handshake(ctx context.Context, rt http.RoundTripper, url string) (Answer, error) {
	client, err := ntlmssp.NewClient(ntlmssp.SetUserInfo(n.user, n.password), ntlmssp.SetDomain(n.domain), ntlmssp.SetVersion(ntlmssp.DefaultVersion()))
	if err != nil {
		return Answer{}, err
	}
	negotiate, err := client.Authenticate(nil, nil)
	if err != nil {
		return Answer{}, err
	}
	offer, err := exchange(ctx, rt, url, nil, withToken(negotiate))
	if err != nil || offer.Status != http.StatusUnauthorized {
		return offer, refuse200(err, url, offer)
	}
	challenge, ok := negotiateToken(offer.Header)
	if !ok {
		return offer, nil
	}
	if err := n.checkChallenge(challenge); err != nil {
		return Answer{}, &SecurityError{URL: url, Auth: AuthNTLM, Err: err}
	}
	var bindings *ntlmssp.ChannelBindings
	if data := offer.binding(); data != nil {
		bindings = &ntlmssp.ChannelBindings{ApplicationData: data}
	}
	proof, err := client.Authenticate(challenge, bindings)
	if err != nil {
		return Answer{}, &SecurityError{URL: url, Auth: AuthNTLM, Err: fmt.Errorf("the host's NTLM challenge cannot be read: %w", err)}
	}
	answer, err := exchange(ctx, rt, url, nil, withToken(proof))
	if err != nil {
		return Answer{}, err
	}
	if answer.conn != offer.conn {
		// Whatever this answer says is about a proof without its challenge.
		return Answer{}, errors.New("the connection was closed during the NTLM handshake")
	}
	if answer.Status == http.StatusOK {
		if n.session, n.conn = client.SecuritySession(), answer.conn; n.session == nil {
			return Answer{}, &SecurityError{URL: url, Auth: AuthNTLM, Err: errors.New("the handshake gave no keys")}
		}
	}
	return answer, nil
}

// refuse200 makes an error of a 200 that nobody has earned: a WinRM service asks who wants to use it.
func refuse200(err error, url string, answer Answer) error {
	if err == nil && answer.Status == http.StatusOK {
		return &HTTPError{URL: url, Status: answer.Status}
	}
	return err
}

func withToken(token []byte) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(token))
	}
}

// negotiateToken is the token of a Negotiate challenge.
func negotiateToken(h http.Header) ([]byte, bool) {
	for _, value := range h.Values("WWW-Authenticate") {
		scheme, text, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Negotiate") {
			continue
		}
		if token, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil && len(token) > 0 {
			return token, true
		}
	}
	return nil, false
}

var errWeakChallenge = errors.New("the host, or somebody in between, does not agree to what protects the messages (NTLMv2, signing and sealing with 128-bit keys)")

// checkChallenge refuses a challenge by which the library would leave messages unprotected (it takes over
// the flags as they come) or would read past the end of a value.
func (n *ntlm) checkChallenge(m []byte) error {
	if len(m) < 48 || !bytes.HasPrefix(m, []byte("NTLMSSP\x00\x02\x00\x00\x00")) {
		return errors.New("the host's answer is no NTLM challenge")
	}
	want := uint32(ntlmUnicode | ntlmExtendedSecurity | ntlmTargetInfo)
	if !n.secure {
		want |= ntlmSign | ntlmSeal | ntlm128 | ntlmKeyExchange
	}
	if binary.LittleEndian.Uint32(m[20:])&want != want {
		return errWeakChallenge
	}
	length, offset := int(binary.LittleEndian.Uint16(m[40:])), int(binary.LittleEndian.Uint32(m[44:]))
	if offset > len(m) || length > len(m)-offset {
		return errors.New("the host's NTLM challenge is cut off")
	}
	for info := m[offset : offset+length]; ; {
		if len(info) < 4 {
			return errors.New("the host's NTLM challenge has no end")
		}
		id, size := binary.LittleEndian.Uint16(info), int(binary.LittleEndian.Uint16(info[2:]))
		if id == 0 {
			return nil
		}
		fixed := map[uint16]int{6: 4, 7: 8} // flags and time (MS-NLMP 2.2.2.1)
		if want, ok := fixed[id]; len(info)-4 < size || ok && size != want {
			return errors.New("the host's NTLM challenge has a value of a wrong size")
		}
		info = info[4+size:]
	}
}

func (n *ntlm) send(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	if n.secure {
		return exchange(ctx, rt, url, message, func(*http.Request) {})
	}
	data, signature, err := n.session.Wrap(message)
	if err != nil {
		return Answer{}, unsentError{err}
	}
	if bytes.Equal(data, message) || len(signature) != signatureSize {
		return Answer{}, unsentError{&SecurityError{URL: url, Auth: AuthNTLM, Err: errors.New("the message was not sealed")}}
	}
	answer, err := exchange(ctx, rt, url, frame(data, signature), func(r *http.Request) { r.Header.Set("Content-Type", sealedType) })
	if err != nil || answer.Status == http.StatusUnauthorized {
		return answer, err
	}
	if !isSealed(answer.Header) {
		if answer.Status == http.StatusOK {
			return Answer{}, &SecurityError{URL: url, Auth: AuthNTLM, Err: errors.New("the host answered a sealed message with an unsealed one")}
		}
		// Anybody can have written it, so only the status counts.
		answer.Body = nil
		return answer, nil
	}
	if answer.Body, err = n.open(answer.Body); err != nil {
		return Answer{}, &SecurityError{URL: url, Auth: AuthNTLM, Err: err}
	}
	return answer, nil
}

func (n *ntlm) open(body []byte) ([]byte, error) {
	data, signature, err := unframe(body)
	if err != nil {
		return nil, err
	}
	plain, err := n.session.Unwrap(data, signature)
	if err != nil {
		return nil, fmt.Errorf("the sealed answer was changed on its way: %w", err)
	}
	return plain, nil
}
