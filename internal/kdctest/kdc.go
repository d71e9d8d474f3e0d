// Package kdctest runs a real MIT Kerberos key distribution center on loopback for tests, as an ordinary user and
// until the test ends. Debian has it in krb5-kdc and krb5-admin-server.
package kdctest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Realm is the realm of every KDC of this package.
const Realm = "LAB.EXAMPLE"

// Required is the environment variable that makes it an error, instead of a skipped test, that there is no KDC.
const Required = "HYPERVSIM_REQUIRE_KDC"

// KDC is a running KDC.
type KDC struct {
	// Address is host:port, for UDP and TCP.
	Address string
	// ConfigFile is a krb5.conf that leads to it.
	ConfigFile string

	t   testing.TB
	dir string
	env []string
	bin map[string]string
}

// Start starts a KDC with an empty realm. Without its programs the test is skipped.
func Start(t testing.TB) *KDC {
	t.Helper()
	k := &KDC{t: t, dir: t.TempDir(), bin: map[string]string{}}
	for _, name := range []string{"krb5kdc", "kdb5_util", "kadmin.local"} {
		path, ok := find(name)
		if !ok {
			text := fmt.Sprintf("no %s (Debian: krb5-kdc, krb5-admin-server): Kerberos was not tested", name)
			if os.Getenv(Required) != "" {
				t.Fatal(text)
			}
			t.Skip(text)
		}
		k.bin[name] = path
	}
	k.ConfigFile = k.path("krb5.conf")
	k.env = append(os.Environ(), "KRB5_CONFIG="+k.ConfigFile, "KRB5_KDC_PROFILE="+k.path("kdc.conf"))
	k.configure()
	master := make([]byte, 16)
	_, _ = rand.Read(master) // it never fails
	k.run("kdb5_util", "", "create", "-s", "-r", Realm, "-P", hex.EncodeToString(master))
	k.serve()
	return k
}

// find looks where daemons are, too: that is not on everybody's PATH.
func find(name string) (string, bool) {
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, true
		}
	}
	return "", false
}

func (k *KDC) path(name string) string { return filepath.Join(k.dir, name) }

func (k *KDC) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(k.path(name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *KDC) configure() {
	k.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		k.t.Fatal(err)
	}
	k.Address = ln.Addr().String()
	if err := ln.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.write("krb5.conf", fmt.Sprintf(`[libdefaults]
 default_realm = %[1]s
 dns_lookup_realm = false
 dns_lookup_kdc = false
 rdns = false
 udp_preference_limit = 1
[realms]
 %[1]s = {
  kdc = %[2]s
 }
`, Realm, k.Address))
	k.write("kdc.conf", fmt.Sprintf(`[kdcdefaults]
 kdc_listen = %[2]s
 kdc_tcp_listen = %[2]s
[realms]
 %[1]s = {
  database_name = %[3]s/principal
  key_stash_file = %[3]s/stash
  acl_file = %[3]s/acl
  max_life = 1h
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
  default_principal_flags = +preauth
 }
[logging]
 kdc = FILE:%[3]s/kdc.log
`, Realm, k.Address, k.dir))
}

// run runs one of the programs to its end.
func (k *KDC) run(name, input string, args ...string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.bin[name], args...)
	cmd.Env, cmd.Stdin = k.env, strings.NewReader(input)
	// kadmin.local ends well whatever became of its commands; com_err says "… while …" of a failure.
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte(" while ")) {
		k.t.Fatalf("%s: %v: %s", name, err, out)
	}
}

func (k *KDC) serve() {
	k.t.Helper()
	cmd := exec.Command(k.bin["krb5kdc"], "-n", "-P", k.path("pid"))
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = k.env, &out, &out
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	k.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", k.Address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ended:
			k.t.Fatalf("krb5kdc ended: %s", out.String())
		default:
		}
		if time.Now().After(deadline) {
			k.t.Fatal("krb5kdc does not answer")
		}
	}
}

// AddUser makes a user with a password. Its text goes over standard input, to be in no list of processes.
func (k *KDC) AddUser(name, password string) {
	k.t.Helper()
	k.run("kadmin.local", "add_principal -pw "+quote(password)+" "+name+"\n", "-r", Realm)
}

// AddService makes a service (HTTP/name) and writes its keys to a file.
func (k *KDC) AddService(name string) (keytab string) {
	k.t.Helper()
	keytab = k.path(strings.NewReplacer("/", "_").Replace(name) + ".keytab")
	k.run("kadmin.local", "add_principal -randkey "+name+"\nktadd -k "+keytab+" -norandkey "+name+"\n", "-r", Realm)
	return keytab
}

// Keytab writes the keys of a user to a file; the password stays good.
func (k *KDC) Keytab(user string) string {
	k.t.Helper()
	file := k.path(user + ".user.keytab")
	k.run("kadmin.local", "ktadd -k "+file+" -norandkey "+user+"\n", "-r", Realm)
	return file
}

// NewKeys gives a principal other keys: what its tickets were made with is void.
func (k *KDC) NewKeys(name, keytab string) {
	k.t.Helper()
	if err := os.Remove(keytab); err != nil {
		k.t.Fatal(err)
	}
	k.run("kadmin.local", "ktadd -k "+keytab+" "+name+"\n", "-r", Realm)
}

// Disable locks a user.
func (k *KDC) Disable(name string) {
	k.t.Helper()
	k.run("kadmin.local", "modify_principal -allow_tix "+name+"\n", "-r", Realm)
}

// CCache logs a user on with kinit (Debian: krb5-user) and gives the file of its credential cache.
func (k *KDC) CCache(user, password string) string {
	k.t.Helper()
	kinit, ok := find("kinit")
	if !ok {
		text := "no kinit (Debian: krb5-user): credential caches were not tested"
		if os.Getenv(Required) != "" {
			k.t.Fatal(text)
		}
		k.t.Skip(text)
	}
	k.bin["kinit"] = kinit
	file := k.path(user + ".ccache")
	k.run("kinit", password+"\n", "-c", "FILE:"+file, user)
	return file
}

// quote writes a word for kadmin: it knows double quotes, doubled inside.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
