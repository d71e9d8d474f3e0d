package winrm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/krberror"
)

// KerberosProblem is what kept Kerberos from giving a ticket.
type KerberosProblem string

// Problems of Kerberos.
const (
	KerberosUnreachable   KerberosProblem = "no KDC answers"
	KerberosWrongPassword KerberosProblem = "wrong password or key"
	KerberosUnknownUser   KerberosProblem = "unknown user"
	KerberosDisabled      KerberosProblem = "user disabled or locked"
	KerberosUnknownHost   KerberosProblem = "unknown service"
	KerberosClock         KerberosProblem = "clocks differ"
	KerberosExpired       KerberosProblem = "tickets expired"
	KerberosEncryption    KerberosProblem = "no common encryption"
	KerberosOther         KerberosProblem = "refused"
)

// KerberosError is a failure to get a ticket. The host itself was not asked.
type KerberosError struct {
	Problem     KerberosProblem
	User, Realm string
	SPN         string
	Err         error
}

func (e *KerberosError) Error() string {
	return fmt.Sprintf("no Kerberos ticket of user %q in realm %s for %s (%s): %v", e.User, e.Realm, e.SPN, e.Problem, e.Err)
}
func (e *KerberosError) Unwrap() error { return e.Err }

// OfUser says whether it is the user that the KDC refuses: with another credential it might work.
func (e *KerberosError) OfUser() bool {
	switch e.Problem {
	case KerberosWrongPassword, KerberosUnknownUser, KerberosDisabled, KerberosExpired:
		return true
	}
	return false
}

// kdcCode finds the code in an error of the library, which keeps it in its text only.
var kdcCode = regexp.MustCompile(`\((\d+)\) K(?:DC|RB)_`)

func (t *tickets) failure(err error) error {
	e := &KerberosError{Problem: KerberosOther, User: t.user, Realm: t.realm, SPN: t.spn, Err: err}
	text := err.Error()
	code := int64(-1)
	if m := kdcCode.FindStringSubmatch(text); m != nil {
		code, _ = strconv.ParseInt(m[1], 10, 32)
	}
	var detail krberror.Krberror
	switch code {
	case int64(errorcode.KDC_ERR_PREAUTH_FAILED):
		e.Problem = KerberosWrongPassword
	case int64(errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN):
		e.Problem = KerberosUnknownUser
	case int64(errorcode.KDC_ERR_CLIENT_REVOKED), int64(errorcode.KDC_ERR_KEY_EXPIRED), int64(errorcode.KDC_ERR_NAME_EXP):
		e.Problem = KerberosDisabled
	case int64(errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN):
		e.Problem = KerberosUnknownHost
	case int64(errorcode.KRB_AP_ERR_SKEW):
		e.Problem = KerberosClock
	case int64(errorcode.KRB_AP_ERR_TKT_EXPIRED):
		e.Problem = KerberosExpired
	case int64(errorcode.KDC_ERR_ETYPE_NOSUPP):
		e.Problem = KerberosEncryption
	case -1:
		switch {
		case errors.As(err, &detail) && detail.RootCause == krberror.NetworkingError, strings.Contains(text, krberror.NetworkingError),
			strings.Contains(text, "no KDC SRV records"), strings.Contains(text, "KDCs for"):
			e.Problem = KerberosUnreachable
		case strings.Contains(text, "password/keytab incorrect"), strings.Contains(text, krberror.DecryptingError),
			strings.Contains(text, "getting key from credentials"):
			e.Problem = KerberosWrongPassword
		case strings.Contains(text, "no valid existing session"), strings.Contains(text, "no user credentials available"):
			e.Problem = KerberosExpired
		}
	}
	return e
}
