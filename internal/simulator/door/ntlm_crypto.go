package door

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // NTLM is made of it
	"crypto/rc4" //nolint:gosec // NTLM is made of it
	"encoding/binary"
	"time"
	"unicode/utf16"

	"golang.org/x/crypto/md4" //nolint:staticcheck,gosec // NTLM is made of it
)

func hmacMD5(key []byte, parts ...[]byte) []byte {
	h := hmac.New(md5.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func md4Sum(b []byte) []byte {
	h := md4.New()
	h.Write(b)
	return h.Sum(nil)
}

func rc4Once(key, data []byte) []byte {
	out := make([]byte, len(data))
	newRC4(key).XORKeyStream(out, data)
	return out
}

func newRC4(key []byte) *rc4.Cipher {
	c, err := rc4.NewCipher(key) //nolint:gosec // see above
	if err != nil {
		panic(err) // keys of 1 to 256 bytes never fail
	}
	return c
}

func utf16LE(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func text(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// filetime counts 100 ns since 1601.
func filetime(t time.Time) uint64 {
	return uint64(t.UnixNano()/100 + 116444736000000000) //nolint:gosec // after 1601
}
