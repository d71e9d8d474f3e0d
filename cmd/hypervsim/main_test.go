package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/lab"
)

// run runs a command line in this process.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	parser, err := newParser(streams{strings.NewReader(stdin), &out, &errs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return "", err
	}
	err = ctx.Run()
	return out.String(), err
}

func TestServeUntilTheEndOfItsTime(t *testing.T) {
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		c := serve{Scenario: "intel-x722", Listen: "127.0.0.1:0", Engine: "native", TLS: true}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := c.serve(ctx, streams{nil, writer, io.Discard})
		_ = writer.CloseWithError(err)
		done <- err
	}()
	var ready simulator.Ready
	if err := json.NewDecoder(reader).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	if len(ready.Hosts) != 2 || ready.GuestCredential == nil {
		t.Errorf("ready line %+v", ready)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
}

func TestEnv(t *testing.T) {
	const odd = `p'w"$(x)` + "`;[x]* ü"
	ready := simulator.Ready{
		Hosts: []simulator.ReadyHost{
			{Name: "hv1", Address: "127.0.0.1", HTTPPort: 5985, HTTPSPort: 5986, Username: "Administrator", Password: odd, CAFile: "/tmp/ca.pem"},
			{Name: "hv2", Address: "127.0.0.1", HTTPPort: 5987, Username: "u", Password: "p"},
		},
		GuestCredential: &simulator.Credential{Username: "g", Password: odd},
	}
	ready.Hosts[0].ClientCertificateFile, ready.Hosts[0].ClientKeyFile = "/tmp/c.pem", "/tmp/c.key"
	line, err := json.Marshal(ready)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ready.json")
	if err := os.WriteFile(file, append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		stdin string
		args  []string
		want  map[string]string
	}{
		{"first host, from stdin", string(line) + "\n", nil, map[string]string{
			"HYPERV_HOST": "127.0.0.1", "HYPERV_PORT": "5986", "HYPERV_HTTPS": "true", "HYPERV_AUTH": "auto", "HYPERV_USER": "Administrator",
			"HYPERV_PASSWORD": odd, "HYPERV_CA_FILE": "/tmp/ca.pem", "HYPERV_CLIENT_CERTIFICATE_FILE": "/tmp/c.pem", "HYPERV_CLIENT_KEY_FILE": "/tmp/c.key", "HYPERV_GUEST_USER": "g", "HYPERV_GUEST_PASSWORD": odd,
		}},
		{"second host without HTTPS, from a file", "", []string{"--ready", file, "--host", "HV2"}, map[string]string{
			"HYPERV_PORT": "5987", "HYPERV_HTTPS": "false", "HYPERV_ALLOW_UNENCRYPTED": "", "HYPERV_USER": "u", "HYPERV_PASSWORD": "p", "HYPERV_CA_FILE": "",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := run(t, tt.stdin, append([]string{"env"}, tt.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range tt.want {
				// A shell must read the value as it was written.
				sh := exec.Command("sh", "-c", out+"printf %s \"$"+name+`"`)
				sh.Env = []string{"PATH=" + os.Getenv("PATH")}
				got, err := sh.Output()
				if err != nil || string(got) != want {
					t.Errorf("%s is %q (%v), want %q", name, got, err, want)
				}
			}
		})
	}
	for name, args := range map[string][]string{"unknown host": {"env", "--host", "hv3"}, "no such file": {"env", "--ready", file + "x"}} {
		if _, err := run(t, string(line)+"\n", args...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := run(t, "", "env"); err == nil {
		t.Error("no ready line: no error")
	}
}

func TestScenarios(t *testing.T) {
	list, err := run(t, "", "presets")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(list)
	for _, want := range []string{"mellanox-cx3pro", "intel-x722", "intel-e810"} {
		if !strings.Contains("\n"+list, "\n"+want+"\n") {
			t.Errorf("%s is not among %v", want, names)
		}
	}
	for _, name := range names {
		text, err := run(t, "", "preset", name)
		if err != nil {
			t.Fatal(err)
		}
		// What is printed must be the same lab when it is read again.
		again, err := lab.ParseScenario([]byte(text))
		if err != nil {
			t.Fatalf("preset %s: %v", name, err)
		}
		built, err := lab.LoadScenario(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(built, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("preset %s: %s", name, diff)
		}
	}
	if _, err := run(t, "", "preset", "nothing"); err == nil {
		t.Error("unknown preset: no error")
	}
	text, err := run(t, "", "schema")
	if err != nil || !json.Valid([]byte(text)) {
		t.Errorf("schema: %v %.100s", err, text)
	}
}

func TestCommandLine(t *testing.T) {
	for name, args := range map[string][]string{
		"engine":       {"serve", "--engine", "python"},
		"ttl":          {"serve", "--ttl", "-1s"},
		"scenario":     {"serve", "--scenario", "no-such-scenario"},
		"not loopback": {"serve", "--listen", "192.0.2.1:0", "--ttl", "1s"},
		"no command":   {},
	} {
		if _, err := run(t, "", args...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFindPowerShell(t *testing.T) {
	dir := t.TempDir()
	program := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flag, variable, onPath := program("flag"), program("variable"), program("pwsh")
	for _, tt := range []struct {
		name, flag, env, path, want string
	}{
		{"flag", flag, variable, dir, flag},
		{"variable", "", variable, dir, variable},
		{"PATH", "", "", dir, onPath},
		{"none", "", "", t.TempDir(), ""},
		{"flag names nothing", filepath.Join(dir, "x"), variable, dir, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", tt.path)
			got, err := findPowerShell(tt.flag, func(string) string { return tt.env })
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
