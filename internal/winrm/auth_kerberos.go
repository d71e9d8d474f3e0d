package winrm

import (
	"context"
	"fmt"
	"net/http"
)

// kerberos sends a ticket with every message, over HTTPS only. The ticket is bound to the host's certificate, so the
// certificate has to be known first: one request without a message tells it, and what the service offers.
type kerberos struct {
	tickets *tickets
	binding []byte
	ready   bool // binding is known
}

func newKerberos(c Config) (*kerberos, error) {
	if err := c.shared.tickets.check(); err != nil {
		return nil, err
	}
	return &kerberos{tickets: c.shared.tickets}, nil
}

func (*kerberos) Kind() string { return AuthKerberos }

// Reset keeps the binding: it belongs to the host's certificate, not to a connection.
func (*kerberos) Reset() {}

func (k *kerberos) Post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	for first := true; ; first = false {
		if !k.ready {
			answer, err := probe(ctx, rt, url)
			if err != nil || answer.Status != http.StatusUnauthorized || !offers(offeredSchemes(answer.Header), AuthKerberos) {
				return answer, refuse200(err, url, answer)
			}
			k.binding, k.ready = answer.binding(), true
		}
		token, generation, err := k.tickets.token(ctx, k.binding)
		if err != nil {
			return Answer{}, unsentError{fmt.Errorf("kerberos: %w", err)}
		}
		answer, err := exchange(ctx, rt, url, message, withToken(token))
		if err != nil || answer.Status != http.StatusUnauthorized || !first {
			return answer, err
		}
		// The host may have a new certificate or a new key.
		k.ready = false
		k.tickets.renew(ctx, generation)
	}
}
