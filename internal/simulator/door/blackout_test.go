package door_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// A blackout resets what is open and what is opened meanwhile, over HTTP and HTTPS; then everything is as it was.
func TestBlackout(t *testing.T) {
	const length = 300 * time.Millisecond
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "HTTP", true: "HTTPS"}[secure], func(t *testing.T) {
			ca, err := door.NewAuthority()
			if err != nil {
				t.Fatal(err)
			}
			cert, err := ca.Certificate("hv1", "127.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			b := open(t, func(c *door.Config) { c.Certificate = &cert })
			if secure {
				trusted := x509.NewCertPool()
				trusted.AppendCertsFromPEM(ca.PEM())
				b.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}, Timeout: 10 * time.Second}
				b.url = fmt.Sprintf("https://127.0.0.1:%d/wsman", b.door.HTTPSPort())
				t.Cleanup(b.client.CloseIdleConnections)
			}
			sh := b.shell()
			cmd := b.command(sh, "cat")
			b.rules.Add(door.Rule{Operation: door.OpSend, Effect: door.Blackout, DurationMS: int(length.Milliseconds())})
			begun := time.Now()
			for i := 0; ; i++ {
				a := b.post(b.send(sh, cmd, "line"))
				if a.err == nil {
					if i == 0 || time.Since(begun) < length {
						t.Errorf("reached after %d tries in %v", i, time.Since(begun))
					}
					if a.status != 200 {
						t.Errorf("status %d", a.status)
					}
					return
				}
				if time.Since(begun) > 10*length {
					t.Fatalf("never over: %v", a.err)
				}
				time.Sleep(length / 20)
			}
		})
	}
}

// A rule that lasts hits every request from its first hit on, for its time.
func TestRuleThatLasts(t *testing.T) {
	var rules door.Rules
	rules.Add(door.Rule{Request: 2, Effect: "401_html", DurationMS: 100})
	hit := func() bool { return rules.Request("HV1", door.OpSend) != nil }
	if hit() {
		t.Error("the first request is hit")
	}
	for range 3 {
		if !hit() || len(rules.Pending()) != 1 {
			t.Error("a request within the time is not hit")
		}
	}
	time.Sleep(110 * time.Millisecond)
	if hit() || len(rules.Pending()) != 0 {
		t.Error("a request after the time is hit")
	}
}
