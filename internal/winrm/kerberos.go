package winrm

import (
	"context"
	"crypto/md5" //nolint:gosec // what RFC 4121 4.1.1.2 asks for
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// KerberosConfig says how tickets are got. All fields may be left out: then the system's krb5.conf, Config.User and
// Config.Password say everything.
type KerberosConfig struct {
	// Realm of the user; by default the part of the user behind "@", else the default realm of krb5.conf.
	Realm string
	// KDC lists key distribution centers, each host or host:port, port 88. Without it and without ConfigFile, DNS is
	// asked (SRV records) where a realm is known.
	KDC []string
	// ConfigFile is a krb5.conf in place of $KRB5_CONFIG and /etc/krb5.conf.
	ConfigFile string
	// KeytabFile holds the user's keys in place of a password.
	KeytabFile string
	// CCacheFile holds tickets that kinit got, in place of user and password. Nobody renews them.
	CCacheFile string
	// SPN is the service's name; HTTP/address unless given.
	SPN string
}

// tickets is one user's Kerberos client for one host, shared by all connections to it: a ticket is asked for once.
type tickets struct {
	settings       KerberosConfig
	user, password string
	spn            string

	turn       chan struct{} // holds a token while nobody uses what follows
	client     *client.Client
	realm      string
	generation int
	last       time.Time // of the newest authenticator
}

func newTickets(c Config) *tickets {
	t := &tickets{user: c.User, password: c.Password, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	if c.Kerberos != nil {
		t.settings = *c.Kerberos
	}
	if t.spn = t.settings.SPN; t.spn == "" {
		t.spn = "HTTP/" + c.Address
	}
	return t
}

// check finds mistakes that need no KDC.
func (t *tickets) check() error {
	if t.settings.SPN == "" && net.ParseIP(strings.TrimPrefix(t.spn, "HTTP/")) != nil {
		return &ConfigError{FieldKerberos, errors.New("kerberos knows hosts by name: use the host's DNS name as address, or give its service principal name (HTTP/name)")}
	}
	<-t.turn
	defer func() { t.turn <- struct{}{} }()
	_, _, err := t.newClient()
	return err
}

// newClient reads what the configuration names. Errors are *ConfigError.
func (t *tickets) newClient() (*client.Client, string, error) {
	fail := func(err error) (*client.Client, string, error) { return nil, "", &ConfigError{FieldKerberos, err} }
	conf, err := t.config()
	if err != nil {
		return fail(err)
	}
	name, realm, _ := strings.Cut(t.user, "@")
	name, _ = splitUser(name)
	realm = strings.ToUpper(realm)
	if t.settings.Realm != "" {
		realm = t.settings.Realm
	}
	if realm == "" {
		realm = conf.LibDefaults.DefaultRealm
	}
	if file := t.settings.CCacheFile; file != "" {
		cache, err := credentials.LoadCCache(strings.TrimPrefix(file, "FILE:"))
		if err != nil {
			return fail(fmt.Errorf("credential cache %s: %w", file, err))
		}
		holder, holderRealm := cache.GetClientPrincipalName().PrincipalNameString(), cache.GetClientRealm()
		if name != "" && !strings.EqualFold(holder, name) {
			return fail(fmt.Errorf("credential cache %s holds tickets of %s@%s and not of %s", file, holder, holderRealm, t.user))
		}
		c, err := client.NewFromCCache(cache, conf, client.DisablePAFXFAST(true))
		if err != nil {
			return fail(fmt.Errorf("credential cache %s: %w", file, err))
		}
		return c, holderRealm, nil
	}
	if name == "" {
		return fail(errors.New("kerberos needs a user, or a credential cache"))
	}
	if realm == "" {
		return fail(errors.New("kerberos needs a realm: give it as realm, behind the user's name (user@REALM), or in krb5.conf (default_realm)"))
	}
	if file := t.settings.KeytabFile; file != "" {
		kt, err := keytab.Load(file)
		if err != nil {
			return fail(fmt.Errorf("keytab %s: %w", file, err))
		}
		return client.NewWithKeytab(name, realm, kt, conf, client.DisablePAFXFAST(true)), realm, nil
	}
	return client.NewWithPassword(name, realm, t.password, conf, client.DisablePAFXFAST(true)), realm, nil
}

// config is what krb5.conf says, or would have to say. FAST is left out of all of it: Active Directory refuses
// what the library sends for it.
func (t *tickets) config() (*config.Config, error) {
	file := t.settings.ConfigFile
	if file == "" && t.settings.Realm == "" && len(t.settings.KDC) == 0 {
		if file = os.Getenv("KRB5_CONFIG"); file == "" {
			if _, err := os.Stat("/etc/krb5.conf"); err == nil {
				file = "/etc/krb5.conf"
			}
		}
	}
	if file != "" {
		c, err := config.Load(file)
		var unsupported config.UnsupportedDirective
		if err != nil && !errors.As(err, &unsupported) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return c, nil
	}
	realm := t.settings.Realm
	if _, behind, ok := strings.Cut(t.user, "@"); realm == "" && ok {
		realm = strings.ToUpper(behind)
	}
	var text strings.Builder
	// TCP: tickets of Active Directory seldom fit into a datagram. AES only: nothing weaker by default.
	const types = "aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96 aes256-cts-hmac-sha384-192 aes128-cts-hmac-sha256-128"
	fmt.Fprintf(&text, "[libdefaults]\n default_realm = %s\n dns_lookup_kdc = %t\n udp_preference_limit = 1\n", realm, len(t.settings.KDC) == 0)
	for _, use := range []string{"default_tkt_enctypes", "default_tgs_enctypes", "permitted_enctypes"} {
		fmt.Fprintf(&text, " %s = %s\n", use, types)
	}
	c, err := config.NewFromString(text.String())
	if err != nil {
		return nil, err
	}
	if len(t.settings.KDC) > 0 {
		entry := config.Realm{Realm: realm, DefaultDomain: strings.ToLower(realm)}
		for _, kdc := range t.settings.KDC {
			if _, _, err := net.SplitHostPort(kdc); err != nil {
				kdc = net.JoinHostPort(kdc, "88")
			}
			entry.KDC = append(entry.KDC, kdc)
		}
		c.Realms = append(c.Realms, entry)
	}
	return c, nil
}

// token makes the token for one HTTP request, bound to the host's certificate. The generation is for renew.
func (t *tickets) token(ctx context.Context, binding []byte) ([]byte, int, error) {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
	type result struct {
		token      []byte
		generation int
		err        error
	}
	done := make(chan result, 1)
	// The library cannot be cancelled; it gives up after some seconds.
	go func() {
		defer func() { t.turn <- struct{}{} }()
		token, err := t.make(binding)
		done <- result{token, t.generation, err}
	}()
	select {
	case r := <-done:
		return r.token, r.generation, r.err
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

// make runs with the turn.
func (t *tickets) make(binding []byte) ([]byte, error) {
	if t.client == nil {
		var err error
		if t.client, t.realm, err = t.newClient(); err != nil {
			return nil, err
		}
	}
	if err := t.client.AffirmLogin(); err != nil {
		return nil, t.failure(err)
	}
	ticket, key, err := t.client.GetServiceTicket(t.spn)
	if err != nil {
		return nil, t.failure(err)
	}
	token, err := t.request(ticket, key, binding)
	if err != nil {
		return nil, t.failure(err)
	}
	return token, nil
}

// request is a SPNEGO token with an AP_REQ. The library's own has no channel binding.
func (t *tickets) request(ticket messages.Ticket, key types.EncryptionKey, binding []byte) ([]byte, error) {
	mech, err := spnego.NewKRB5TokenAPREQ(t.client, ticket, key, nil, nil)
	if err != nil {
		return nil, err
	}
	auth, err := types.NewAuthenticator(t.client.Credentials.Domain(), t.client.Credentials.CName())
	if err != nil {
		return nil, err
	}
	now := t.stamp(time.Now())
	auth.CTime, auth.Cusec = now, now.Nanosecond()/1000
	auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: gssChecksum(binding)}
	if mech.APReq, err = messages.NewAPReq(ticket, key, auth); err != nil {
		return nil, err
	}
	body, err := mech.Marshal()
	if err != nil {
		return nil, err
	}
	token := spnego.SPNEGOToken{Init: true, NegTokenInit: spnego.NegTokenInit{
		MechTypes: []asn1.ObjectIdentifier{gssapi.OIDKRB5.OID()}, MechTokenBytes: body,
	}}
	return token.Marshal()
}

// stamp is the time for the next authenticator. A service takes two of the same microsecond for a replay; but where the
// clock was set back, what it says now counts: a time that is minutes ahead is refused.
func (t *tickets) stamp(now time.Time) time.Time {
	now = now.UTC().Truncate(time.Microsecond)
	if ahead := t.last.Sub(now); ahead >= 0 && ahead < time.Second {
		now = t.last.Add(time.Microsecond)
	}
	t.last = now
	return now
}

// gssChecksum is the field of an authenticator that carries flags and channel binding (RFC 4121 4.1.1).
func gssChecksum(binding []byte) []byte {
	sum := make([]byte, 24)
	binary.LittleEndian.PutUint32(sum, 16)
	if binding != nil {
		// gss_channel_bindings_struct: two addresses of no kind, then the data.
		b := make([]byte, 20, 20+len(binding))
		binary.LittleEndian.PutUint32(b[16:], uint32(len(binding))) //nolint:gosec // a hash and its name
		hash := md5.Sum(append(b, binding...))                      //nolint:gosec // see above
		copy(sum[4:], hash[:])
	}
	binary.LittleEndian.PutUint32(sum[20:], gssapi.ContextFlagInteg|gssapi.ContextFlagConf)
	return sum
}

// renew forgets the tickets of a generation, because the service did not take one: it may have new keys.
func (t *tickets) renew(ctx context.Context, generation int) {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return
	}
	defer func() { t.turn <- struct{}{} }()
	if t.generation == generation {
		t.drop()
	}
}

func (t *tickets) drop() {
	t.generation++
	if t.client != nil {
		t.client.Destroy()
		t.client = nil
	}
}

// forget drops the tickets and what renews them.
func (t *tickets) forget() {
	<-t.turn
	defer func() { t.turn <- struct{}{} }()
	t.drop()
}
