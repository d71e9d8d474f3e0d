package winrm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Sealed messages travel in a form that looks like MIME multipart and is none (MS-WSMV 2.2.9.1): headers are
// indented, and the sealed part has no line end of its own in front of the closing boundary.
const (
	sealedProtocol = "application/HTTP-SPNEGO-session-encrypted"
	sealedType     = `multipart/encrypted;protocol="` + sealedProtocol + `";boundary="Encrypted Boundary"`
	sealedBoundary = "--Encrypted Boundary"
	sealedStream   = "Content-Type: application/octet-stream\r\n"
	signatureSize  = 16 // of NTLM (MS-NLMP 2.2.2.9)
)

// frame puts a sealed message into the form that goes on the wire. Sealing with NTLM keeps the length.
func frame(data, signature []byte) []byte {
	var b bytes.Buffer
	b.WriteString(sealedBoundary + "\r\n" +
		"\tContent-Type: " + sealedProtocol + "\r\n" +
		"\tOriginalContent: type=" + contentTypeSOAP + ";Length=" + strconv.Itoa(len(data)) + "\r\n" +
		sealedBoundary + "\r\n\t" + sealedStream)
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(signature)))) //nolint:gosec // 16
	b.Write(signature)
	b.Write(data)
	b.WriteString(sealedBoundary + "--\r\n")
	return b.Bytes()
}

func isSealed(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "multipart/encrypted")
}

// unframe takes a sealed message out of its form. Where it ends is known by the length in front of it: what looks
// like a boundary may be part of it.
func unframe(body []byte) (data, signature []byte, err error) {
	head, rest, ok := bytes.Cut(body, []byte(sealedStream))
	if !ok {
		return nil, nil, errors.New("a sealed answer without a sealed part")
	}
	_, text, ok := strings.Cut(string(head), "Length=")
	text, _, _ = strings.Cut(text, "\r\n")
	length, err := strconv.Atoi(strings.TrimSpace(text))
	if !ok || err != nil || length < 0 {
		return nil, nil, fmt.Errorf("a sealed answer with the length %q", text)
	}
	const before = 4 + signatureSize
	if len(rest) < before || binary.LittleEndian.Uint32(rest) != signatureSize || len(rest)-before < length {
		return nil, nil, errors.New("a sealed answer that is too short")
	}
	// Some versions write a space into the closing boundary.
	tail := strings.ReplaceAll(string(rest[before+length:]), " ", "")
	if tail != strings.ReplaceAll(sealedBoundary, " ", "")+"--\r\n" {
		return nil, nil, errors.New("a sealed answer of another length than it says")
	}
	return rest[before : before+length], rest[4:before], nil
}
