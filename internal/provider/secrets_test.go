package provider_test

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// secret is a password whose middle is found in whatever form it is written.
type secret struct {
	name, middle string
	forms        [][]byte
}

// newSecret makes one up: a constant would be found in the test's own program.
func newSecret(name string) secret {
	middle := "Zx" + rand.Text()[:20] + "xZ"
	wide := make([]byte, 0, 2*len(middle))
	for _, c := range utf16.Encode([]rune(middle)) {
		wide = append(wide, byte(c), byte(c>>8))
	}
	s := secret{name: name, middle: middle, forms: [][]byte{[]byte(middle), wide}}
	for _, text := range [][]byte{[]byte(middle), wide} {
		for before := range 3 { // base64 of something longer looks different for each position in a group of three
			encoded := base64.StdEncoding.EncodeToString(append(make([]byte, before), text...))
			first, last := (before*8+5)/6, (before+len(text))*8/6
			s.forms = append(s.forms, []byte(encoded[first:last]))
		}
	}
	return s
}

// password has what breaks quoting around the middle.
func (s secret) password() string { return `é'"$(x)` + s.middle + "`;%{y} " }

// in says whether the secret is in data, in clear or as UTF-16 or base64.
func (s secret) in(data []byte) bool {
	for _, form := range s.forms {
		if bytes.Contains(data, form) {
			return true
		}
	}
	return false
}

// TestSecretIsFound: the search finds what it looks for, in every form.
func TestSecretIsFound(t *testing.T) {
	s := newSecret("x")
	password := s.password()
	quoted, err := json.Marshal(password)
	must(t, err)
	var wide []byte
	for _, c := range utf16.Encode([]rune(password)) {
		wide = append(wide, byte(c), byte(c>>8))
	}
	for name, data := range map[string][]byte{
		"in clear": []byte("a" + password), "in JSON": quoted, "UTF-16": wide,
		"Basic header":       []byte(base64.StdEncoding.EncodeToString([]byte("user:" + password))),
		"base64, shifted":    []byte(base64.StdEncoding.EncodeToString([]byte("userx:" + password + "."))),
		"base64, shifted2":   []byte(base64.StdEncoding.EncodeToString([]byte("useryz:" + password + ".."))),
		"an encoded command": []byte(base64.StdEncoding.EncodeToString(append([]byte{1, 0}, wide...))),
	} {
		if !s.in(data) {
			t.Errorf("not found: %s", name)
		}
		if newSecret("y").in(data) {
			t.Errorf("another one is found: %s", name)
		}
	}
}

// search looks for secrets in everything that a run leaves.
type search struct {
	t       *testing.T
	secrets []secret
	since   time.Time
}

func (s search) data(where string, data []byte) {
	s.t.Helper()
	for _, x := range s.secrets {
		if x.in(data) {
			s.t.Errorf("the %s password is in %s", x.name, where)
		}
	}
}

// folder looks into every file that was written since the test began; a plan file is an archive.
func (s search) folder(dir string) (files int) {
	s.t.Helper()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // others' files come and go
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.ModTime().Before(s.since) || info.Size() > 64<<20 {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		files++
		s.data(path, data)
		if archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
			for _, f := range archive.File {
				s.archived(path, f)
			}
		}
		return nil
	})
	return files
}

func (s search) archived(path string, f *zip.File) {
	s.t.Helper()
	r, err := f.Open()
	must(s.t, err)
	defer r.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	must(s.t, err)
	s.data(path+" "+f.Name, b.Bytes())
}

// commandLines looks at the command lines of all processes until it is stopped, and gives how many it saw.
func (s search) commandLines() (stop func() int) {
	s.t.Helper()
	if runtime.GOOS != "linux" {
		s.t.Log("command lines are looked at on Linux only")
		return func() int { return 1 }
	}
	var wg sync.WaitGroup
	done, seen := make(chan struct{}), map[string]bool{}
	wg.Go(func() {
		for {
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, f := range files {
				if data, err := os.ReadFile(f); err == nil && len(data) > 0 && !seen[string(data)] {
					seen[string(data)] = true
					s.data("a command line: "+strings.ReplaceAll(string(data), "\x00", " "), data)
				}
			}
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return func() int {
		close(done)
		wg.Wait()
		return len(seen)
	}
}

// TestSecrets: through a whole life of a lab no password gets into a log, a state, a saved plan, the simulator's
// journal, a command line or a temporary file.
func TestSecrets(t *testing.T) {
	for _, engine := range []string{simulator.EngineNative, simulator.EnginePowerShell} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			secretsOn(t, engine)
		})
	}
}

func secretsOn(t *testing.T, engine string) {
	host, guest, wrong := newSecret("host's"), newSecret("guest's"), newSecret("wrong")
	s := search{t: t, secrets: []secret{host, guest, wrong}, since: time.Now().Add(-time.Second)}
	l := startLabOn(t, engine, "intel-x722", func(sc *lab.Scenario) {
		sc.Credentials.Host.Password, sc.Credentials.Guest.Password = host.password(), guest.password()
	})
	logs := t.TempDir()
	h := l.ready.Hosts[0]
	x := newInstalled(t, fmt.Sprintf(`
variable "password" {
  type      = string
  sensitive = true
  ephemeral = true
}
variable "guest_password" {
  type      = string
  sensitive = true
  ephemeral = true
}
terraform {
  required_providers {
    hyperv = { source = "hyperv-rdma/hyperv" }
  }
}
provider "hyperv" {
  hosts             = { hv1 = { address = %q, port = %d, user = %q, password = var.password, ca_file = %q } }
  guest_credentials = { lab = { user = %q, password = var.guest_password } }
}
`, h.Address, h.HTTPSPort, h.Username, h.CAFile, l.ready.GuestCredential.Username)+chain(""),
		"TF_LOG=trace", "TF_LOG_PATH="+filepath.Join(logs, "terraform.log"), "TF_VAR_password="+host.password(), "TF_VAR_guest_password="+guest.password())
	stop := s.commandLines()
	look := func() {
		t.Helper()
		for _, dir := range []string{x.dir, logs, os.TempDir()} {
			if n := s.folder(dir); n == 0 {
				t.Errorf("no file in %s", dir)
			}
		}
		s.data("what Terraform printed", x.output.Bytes())
		journal, err := json.Marshal(l.journal())
		must(t, err)
		s.data("the simulator's journal", journal)
		s.data("the simulator's state", []byte(l.state()))
	}

	for name, variable := range map[string]string{"host": "TF_VAR_password=", "guest": "TF_VAR_guest_password="} { // what goes wrong says more than what goes well
		if engine != simulator.EngineNative {
			break // it fails on the client's side of either
		}
		args := []string{"apply", "-auto-approve", "-input=false"}
		if out, err := x.run([]string{variable + wrong.password()}, args...); err == nil {
			t.Errorf("wrong password of the %s: no error\n%s", name, out)
		}
	}
	x.must("plan", "-input=false", "-out=lab.tfplan")
	x.must("apply", "-input=false", "lab.tfplan")
	if out := x.must("plan", "-input=false", "-detailed-exitcode", "-out=second.tfplan"); !strings.Contains(out, "No changes") {
		t.Errorf("the second plan is not empty:\n%s", out)
	}
	look()
	x.must("destroy", "-auto-approve", "-input=false")
	if n := stop(); n == 0 {
		t.Error("no command line was seen")
	}
	look()

	log, err := os.ReadFile(filepath.Join(logs, "terraform.log"))
	must(t, err)
	says(t, string(log), "PowerShell process started", "hyperv_guest_rdma_enablement", "ApplyResourceChange") // the provider's own log is in it
	for _, file := range []string{"terraform.tfstate", "terraform.tfstate.backup", "lab.tfplan", "second.tfplan"} {
		if _, err := os.Stat(filepath.Join(x.dir, file)); err != nil {
			t.Error(err)
		}
	}
}
