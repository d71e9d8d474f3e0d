package winrm

import (
	"errors"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/krberror"
)

// No two authenticators have the same time, whatever the clock does; and none is far from what the clock says.
func TestAuthenticatorTimes(t *testing.T) {
	k := newTickets(Config{Address: "hv1"})
	begin := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
	seen := map[time.Time]bool{}
	for _, c := range []struct {
		name  string
		clock time.Time
		times int
	}{
		{"as it goes", begin, 1}, {"stands still", begin, 5}, {"a moment back", begin.Add(-10 * time.Millisecond), 3},
		{"an hour ahead", begin.Add(time.Hour), 3}, {"set back by an hour", begin.Add(time.Second), 3}, {"set back by a day", begin.Add(-24 * time.Hour), 3},
	} {
		for range c.times {
			at := k.stamp(c.clock)
			if seen[at] {
				t.Errorf("%s: %v twice", c.name, at)
			}
			seen[at] = true
			if d := at.Sub(c.clock); d > time.Second || d < -time.Millisecond {
				t.Errorf("%s: %v at %v", c.name, at, c.clock)
			}
		}
	}
}

// The library keeps codes in its texts only. These are the forms that it writes.
func TestKerberosProblems(t *testing.T) {
	k := newTickets(Config{Address: "hv1", User: "u"})
	for text, c := range map[string]struct {
		want   KerberosProblem
		ofUser bool
		tried  bool // again
	}{
		"KRB Error: (24) KDC_ERR_PREAUTH_FAILED Pre-authentication information was invalid":             {KerberosWrongPassword, true, false},
		"KRB Error: (6) KDC_ERR_C_PRINCIPAL_UNKNOWN Client not found in Kerberos database":              {KerberosUnknownUser, true, false},
		"KRB Error: (18) KDC_ERR_CLIENT_REVOKED Clients credentials have been revoked":                  {KerberosDisabled, true, false},
		"KRB Error: (23) KDC_ERR_KEY_EXPIRED Password has expired; change password to reset":            {KerberosDisabled, true, false},
		"KRB Error: (7) KDC_ERR_S_PRINCIPAL_UNKNOWN Server not found in Kerberos database":              {KerberosUnknownHost, false, false},
		"KRB Error: (37) KRB_AP_ERR_SKEW Clock skew too great":                                          {KerberosClock, false, false},
		"KRB Error: (32) KRB_AP_ERR_TKT_EXPIRED Ticket expired":                                         {KerberosExpired, true, false},
		"KRB Error: (14) KDC_ERR_ETYPE_NOSUPP KDC has no support for encryption type":                   {KerberosEncryption, false, false},
		"KRB Error: (60) KRB_ERR_GENERIC Generic error (description in e-text)":                         {KerberosOther, false, false},
		"[Root cause: Networking_Error] Networking_Error: AS Exchange Error: failed sending AS_REQ":     {KerberosUnreachable, false, true},
		"[Root cause: Decrypting_Error] Decrypting_Error: error decrypting AS_REP encrypted part":       {KerberosWrongPassword, true, false},
		"client does not have a valid existing session: no valid existing session, no user credentials": {KerberosExpired, true, false},
	} {
		err := k.failure(errors.New(text))
		var e *KerberosError
		if !errors.As(err, &e) || e.Problem != c.want || e.OfUser() != c.ofUser {
			t.Errorf("%s: %+v", text, e)
		}
		for _, op := range []Op{OpCreate, OpCommand, OpSend, OpReceive, OpSignal, OpDelete} {
			if again := judge(op, err) == again; again != c.tried {
				t.Errorf("%s: tried again %v", text, again)
			}
		}
	}
	var e *KerberosError
	if err := k.failure(krberror.Krberror{RootCause: krberror.NetworkingError}); !errors.As(err, &e) || e.Problem != KerberosUnreachable {
		t.Errorf("%+v", e)
	}
}
