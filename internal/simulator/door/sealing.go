package door

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // NTLM is made of it
	"crypto/rc4" //nolint:gosec // NTLM is made of it
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

const (
	sealedProtocol = "application/HTTP-SPNEGO-session-encrypted"
	sealedType     = `multipart/encrypted;protocol="` + sealedProtocol + `";boundary="Encrypted Boundary"`
	sealedBoundary = "--Encrypted Boundary"
	sealedStream   = "\tContent-Type: application/octet-stream\r\n"
	signatureSize  = 16
)

// sealing seals and opens the messages of one authenticated connection (MS-NLMP 3.4, MS-WSMV 2.2.9.1).
type sealing struct {
	in, out     direction
	keyExchange bool
}

// direction is one way of a connection: a stream cipher and a count of messages.
type direction struct {
	sign   []byte
	cipher *rc4.Cipher
	count  uint32
}

func newSealing(session []byte, flags uint32) *sealing {
	weak := session
	switch {
	case flags&ntlm128 != 0:
	case flags&ntlm56 != 0:
		weak = session[:7]
	default:
		weak = session[:5]
	}
	way := func(name string) direction {
		key := func(base []byte, use string) []byte {
			sum := md5.Sum(append(bytes.Clone(base), "session key to "+name+" "+use+" key magic constant\x00"...)) //nolint:gosec // see above
			return sum[:]
		}
		return direction{sign: key(session, "signing"), cipher: newRC4(key(weak, "sealing"))}
	}
	return &sealing{in: way("client-to-server"), out: way("server-to-client"), keyExchange: flags&ntlmKeyExchange != 0}
}

// signature is for the next message of a direction, after its text went through the cipher.
func (s *sealing) signature(d *direction, plain []byte) []byte {
	count := binary.LittleEndian.AppendUint32(nil, d.count)
	sum := hmacMD5(d.sign, count, plain)[:8]
	if s.keyExchange {
		d.cipher.XORKeyStream(sum, sum)
	}
	d.count++
	return append(append([]byte{1, 0, 0, 0}, sum...), count...)
}

// seal puts a body into the form that goes on the wire.
func (s *sealing) seal(plain []byte) []byte {
	data := make([]byte, len(plain))
	s.out.cipher.XORKeyStream(data, plain)
	var b bytes.Buffer
	b.WriteString(sealedBoundary + "\r\n\tContent-Type: " + sealedProtocol + "\r\n\tOriginalContent: type=" + contentType + ";Length=" +
		strconv.Itoa(len(plain)) + "\r\n" + sealedBoundary + "\r\n" + sealedStream)
	b.Write([]byte{signatureSize, 0, 0, 0})
	b.Write(s.signature(&s.out, plain))
	b.Write(data)
	b.WriteString(sealedBoundary + "--\r\n")
	return b.Bytes()
}

var errSealed = errors.New("the sealed message cannot be opened")

// open gives the plain body of a sealed request and its content type.
func (s *sealing) open(body []byte) ([]byte, string, error) {
	head, rest, ok := bytes.Cut(body, []byte(sealedStream))
	if !ok {
		return nil, "", errSealed
	}
	rest = bytes.TrimSuffix(rest, []byte(sealedBoundary+"--\r\n"))
	if len(rest) < 4+signatureSize || binary.LittleEndian.Uint32(rest) != signatureSize {
		return nil, "", errSealed
	}
	signature, data := rest[4:4+signatureSize], rest[4+signatureSize:]
	plain := make([]byte, len(data))
	s.in.cipher.XORKeyStream(plain, data)
	if !hmac.Equal(s.signature(&s.in, plain), signature) {
		return nil, "", errSealed // another connection's, out of order, or changed
	}
	_, original, _ := strings.Cut(string(head), "OriginalContent: type=")
	kind, length, _ := strings.Cut(strings.TrimSpace(strings.SplitN(original, "\r\n", 2)[0]), ";Length=")
	if n, err := strconv.Atoi(length); err != nil || n != len(plain) {
		return nil, "", errSealed
	}
	return plain, kind, nil
}

func isSealed(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/encrypted")
}
