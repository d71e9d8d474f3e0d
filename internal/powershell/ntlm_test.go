package powershell

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/native"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// NTLM authenticates connections, so connections that are mixed up are refused: forty callers at once, through as many
// sessions as there may be, are not, and no call runs twice.
func TestDoorNTLMInParallel(t *testing.T) {
	for _, https := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTPS %v", https), func(t *testing.T) {
			t.Parallel()
			l := &lab{rules: &door.Rules{}, model: &countingModel{sets: map[string]int{}, delay: 5 * time.Millisecond}}
			engine, err := native.New(l.model, native.Options{})
			if err != nil {
				t.Fatal(err)
			}
			authority, err := door.NewAuthority()
			if err != nil {
				t.Fatal(err)
			}
			certificate, err := authority.Certificate("hv1")
			if err != nil {
				t.Fatal(err)
			}
			l.door, err = door.Open(door.Config{
				Host: "HV1", Starter: engine, Rules: l.rules, Certificate: &certificate,
				Authenticators: []door.Authenticator{door.NTLM{Computer: "HV1", Username: "user", Password: doorPassword, Hardening: door.HardeningStrict}},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.door.Close)
			l.cfg = winrm.Config{Address: "127.0.0.1", Port: l.door.HTTPPort(), Auth: winrm.AuthNTLM, User: "user", Password: doorPassword, CACert: authority.PEM()}
			if https {
				l.cfg.HTTPS, l.cfg.Port = true, l.door.HTTPSPort()
			}
			const callers, sessions = 40, 10
			pool := NewPool(l.cfg, PoolOptions{MaxSessions: sessions, MaxBatches: 3})
			var group sync.WaitGroup
			for i := range callers {
				group.Go(func() {
					for j := range 2 {
						if _, err := pool.Do(t.Context(), setNotes(fmt.Sprint(i, j)), getSwitch()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			if err := pool.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for i := range callers {
				for j := range 2 {
					if n := l.model.set(fmt.Sprint(i, j)); n != 1 {
						t.Errorf("call %d of %d ran %d times", j, i, n)
					}
				}
			}
			m := l.door.Metrics()
			if m.Unauthorized != 0 || m.Shells != 0 || m.Challenges != m.Connections || m.Connections < sessions {
				t.Errorf("%+v", m)
			}
		})
	}
}
