package winrm

import (
	"context"
	"net/http"
)

// auto takes the safest kind that the host offers and for which there are credentials. Whoever configures a client
// certificate or Kerberos means it: these are never replaced by less. A password goes over the wire only
// to a host whose certificate was verified. What has worked once stays: a host that offers less later
// is refused.
type auto struct {
	cfg    Config
	chosen Authenticator
}

func newAuto(c Config) (Authenticator, error) {
	if len(c.ClientCert) > 0 {
		return newCertificate(c)
	}
	if c.Kerberos != nil {
		if err := c.shared.tickets.check(); err != nil {
			return nil, err
		}
	}
	return &auto{cfg: c}, nil
}

func (a *auto) Kind() string {
	if a.chosen != nil {
		return a.chosen.Kind()
	}
	return AuthAuto
}

func (a *auto) Reset() {
	if a.chosen != nil {
		a.chosen.Reset()
	}
}

func (a *auto) Post(ctx context.Context, rt http.RoundTripper, url string, message []byte) (Answer, error) {
	if a.chosen == nil {
		kind := a.cfg.shared.kind()
		if kind == "" {
			answer, err := probe(ctx, rt, url)
			if err != nil || answer.Status != http.StatusUnauthorized {
				return answer, refuse200(err, url, answer)
			}
			offered := offeredSchemes(answer.Header)
			if kind = a.safest(offered); kind == "" {
				return answer, nil
			}
			a.cfg.Log(ctx, "WinRM authentication was chosen", map[string]any{"url": url, "offered": offered, "chosen": kind})
		}
		c := a.cfg
		c.Auth = kind
		var err error
		if a.chosen, err = newAuthenticator(c); err != nil {
			return Answer{}, unsentError{err}
		}
	}
	answer, err := a.chosen.Post(ctx, rt, url, message)
	if err == nil && answer.Status != http.StatusUnauthorized {
		a.cfg.shared.settle(a.chosen.Kind())
	}
	return answer, err
}

// safest is the best kind of authentication; "" where none will do.
func (a *auto) safest(offered []string) string {
	kinds := []string{AuthNTLM, AuthBasic}
	if a.cfg.Kerberos != nil {
		kinds = []string{AuthKerberos}
	}
	for _, kind := range kinds {
		if kind == AuthBasic && (!a.cfg.HTTPS || a.cfg.InsecureSkipVerify) {
			continue
		}
		if offers(offered, kind) {
			return kind
		}
	}
	return ""
}
