package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadOptions(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want options
		err  string
	}{
		"defaults":           {nil, options{lab: "intel-iwarp", engine: "native", scenario: "intel-x722"}, ""},
		"the other lab":      {map[string]string{"LAB": "mellanox-roce", "KEEP": "1"}, options{lab: "mellanox-roce", engine: "native", scenario: "mellanox-cx3pro", keep: true}, ""},
		"another scenario":   {map[string]string{"SCENARIO": "intel-e810"}, options{lab: "intel-iwarp", engine: "native", scenario: "intel-e810"}, ""},
		"unknown lab":        {map[string]string{"LAB": "x"}, options{}, `LAB is "x"`},
		"unknown engine":     {map[string]string{"ENGINE": "x"}, options{}, `ENGINE is "x"`},
		"odd KEEP":           {map[string]string{"KEEP": "maybe"}, options{}, `KEEP is "maybe"`},
		"missing PowerShell": {map[string]string{"ENGINE": "powershell", "HYPERVSIM_POWERSHELL": "/no/such/pwsh"}, options{}, "HYPERVSIM_POWERSHELL"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readOptions(func(k string) string { return c.env[k] })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestLabVariables(t *testing.T) {
	one := host{Name: "hv1", Address: "127.0.0.1", HTTPSPort: 5986, Username: "admin", Password: "p w", CAFile: "/ca.pem"}
	guest := &credential{"g", "q"}
	file, secrets, err := labVariables(ready{Hosts: []host{one}, GuestCredential: guest})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "guest_username": "g",
  "hosts": {
    "hv1": {
      "address": "127.0.0.1",
      "port": 5986,
      "username": "admin",
      "ca_file": "/ca.pem"
    }
  }
}`
	if string(file) != want {
		t.Errorf("got %s", file)
	}
	if !slices.Equal(secrets, []string{"TF_VAR_password=p w", "TF_VAR_guest_password=q"}) {
		t.Errorf("secrets: %d of them, or others than expected", len(secrets))
	}
	other, plain := one, one
	other.Password, plain.CAFile = "other", ""
	for name, line := range map[string]ready{
		"two passwords":       {Hosts: []host{one, other}, GuestCredential: guest},
		"no CA":               {Hosts: []host{plain}, GuestCredential: guest},
		"no guest credential": {Hosts: []host{one}},
	} {
		if _, _, err := labVariables(line); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCopyConfigurationLeavesStateBehind(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, name := range []string{"main.tf", "tests/a.tftest.hcl", "terraform.tfstate", "terraform.tfstate.backup", "own.tfvars", ".terraform/modules.json", ".terraform.lock.hcl"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyConfiguration(from, to); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pattern := range []string{"*", ".*", "tests/*"} {
		found, err := filepath.Glob(filepath.Join(to, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			relative, _ := filepath.Rel(to, f)
			got = append(got, relative)
		}
	}
	if want := []string{"main.tf", "tests", "tests/a.tftest.hcl"}; !slices.Equal(got, want) {
		t.Errorf("copied %v, want %v", got, want)
	}
}

func TestFirstDifference(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"a line":      {"a\n b\nc", "a\n x\nc", "line 2 was b and is x"},
		"shorter":     {"a\nb", "a", "line 2 was b and is (end)"},
		"longer":      {"a", "a\nb", "line 2 was (end) and is b"},
		"indentation": {"a\n b", "a\nb", "only white space differs"},
	} {
		if got := firstDifference([]byte(c.before), []byte(c.after)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestShellQuote(t *testing.T) {
	for value, want := range map[string]string{"a b": `'a b'`, `it's $(x)`: `'it'\''s $(x)'`} {
		if got := shellQuote(value); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAllReady(t *testing.T) {
	for name, c := range map[string]struct {
		guests map[string]readiness
		err    string
	}{
		"no guest":           {nil, "no guest"},
		"ready":              {map[string]readiness{"a": {"ready": true}}, ""},
		"one is not":         {map[string]readiness{"a": {"ready": true}, "b": {"ready": false}}, "not ready: b"},
		"says nothing of it": {map[string]readiness{"a": {"stage": "smb"}}, "not ready: a"},
	} {
		err := allReady(c.guests)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
	}
}
