package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator"
)

// The door judged by clients that are not ours: pywinrm and Ansible, which uses it, on the powershell engine. Debian has them
// in python3-winrm and ansible.

const requireClients = "HYPERVSIM_REQUIRE_CLIENTS"

// absent ends a test whose client is not there.
func absent(t *testing.T, text string) {
	t.Helper()
	if os.Getenv(requireClients) != "" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// python is a Python with pywinrm and NTLM.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import winrm, requests_ntlm").Run() == nil {
			return name
		}
	}
	absent(t, "no Python with pywinrm and requests_ntlm (Debian: python3-winrm): not tested that they get on with the door")
	return ""
}

// legacyOpenSSL is an environment in which Python has MD4, which NTLM needs and OpenSSL 3 keeps apart.
func legacyOpenSSL(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "openssl.cnf")
	const text = "openssl_conf = init\n[init]\nproviders = providers\n[providers]\ndefault = on\nlegacy = on\n[on]\nactivate = 1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "OPENSSL_CONF="+file, "HOME="+dir, "LC_ALL=C.UTF-8")
}

// client runs a program to its end; what is secret comes to it by standard input or a file.
func client(t *testing.T, env []string, input string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, strings.NewReader(input), &out, &out
	err := cmd.Run()
	return out.String(), err
}

func clientBench(t *testing.T) *bench {
	t.Helper()
	return start(t, func(o *simulator.Options) {
		o.Engine, o.PowerShell = simulator.EnginePowerShell, findPowerShell(t)
		o.Scenario.Hosts[0].Listener.CbtHardening = "Strict"
	})
}

// pywinrm runs scripts and prints what each gave: exit code, standard output and error.
const pywinrm = `
import base64, json, sys
from winrm.protocol import Protocol
a = json.load(sys.stdin)
p = Protocol(endpoint=a["url"], transport=a["transport"], username=a["user"], password=a["password"], ca_trust_path=a["ca"],
    message_encryption=a["encryption"], operation_timeout_sec=20, read_timeout_sec=60)
shell, results = p.open_shell(), []
for script in a["scripts"]:
    encoded = base64.b64encode(script.encode("utf-16-le")).decode()
    command = p.run_command(shell, "powershell.exe", ["-NonInteractive", "-EncodedCommand", encoded])
    out, err, code = p.get_command_output(shell, command)
    p.cleanup_command(shell, command)
    results.append([code, out.decode(), err.decode()])
p.close_shell(shell)
print(json.dumps(results))
`

func TestPywinrm(t *testing.T) {
	program, env := python(t), legacyOpenSSL(t)
	b := clientBench(t)
	host := b.ready.Hosts[0]
	http, https := fmt.Sprintf("http://127.0.0.1:%d/wsman", host.HTTPPort), fmt.Sprintf("https://127.0.0.1:%d/wsman", host.HTTPSPort)
	type arguments struct {
		URL        string   `json:"url"`
		Transport  string   `json:"transport"`
		User       string   `json:"user"`
		Password   string   `json:"password"`
		CA         string   `json:"ca"`
		Encryption string   `json:"encryption"`
		Scripts    []string `json:"scripts"`
	}
	for _, tt := range []struct {
		name   string
		change func(*arguments)
		ok     bool
	}{
		{"NTLM over HTTP, sealed", func(a *arguments) { a.Transport, a.URL, a.Encryption = "ntlm", http, "always" }, true},
		{"NTLM over HTTP, not sealed", func(a *arguments) { a.Transport, a.URL, a.Encryption = "ntlm", http, "never" }, false},
		{"NTLM over HTTPS, bound to the certificate", func(a *arguments) { a.Transport = "ntlm" }, true},
		{"NTLM, wrong password", func(a *arguments) { a.Transport, a.Password = "ntlm", "wrong" }, false},
		{"Basic over HTTPS", func(*arguments) {}, true},
		{"Basic over HTTP", func(a *arguments) { a.URL = http }, false},
		{"Basic, wrong password", func(a *arguments) { a.Password = "wrong" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := arguments{URL: https, Transport: "basic", User: host.Username, Password: host.Password, CA: host.CAFile, Encryption: "auto",
				Scripts: []string{"(Get-VMSwitch).Name", "'it''s ä€'; [Console]::Error.WriteLine('bad'); exit 3"}}
			tt.change(&a)
			input, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			out, err := client(t, env, string(input), program, "-c", pywinrm)
			if !tt.ok {
				if err == nil {
					t.Errorf("it got in: %s", out)
				}
				return
			}
			var results [][3]any
			if err != nil || json.Unmarshal([]byte(out), &results) != nil || len(results) != 2 {
				t.Fatalf("%v: %s", err, out)
			}
			for i, want := range [][3]any{{0.0, "LAN", ""}, {3.0, "it's ä€", "bad"}} {
				for j, w := range want {
					if text, ok := results[i][j].(string); ok {
						results[i][j] = strings.TrimSpace(text)
					}
					if results[i][j] != w {
						t.Errorf("script %d gave %q, want %q", i, results[i], want)
						break
					}
				}
			}
		})
	}
	if n := b.server.Metrics().Shells; n != 0 {
		t.Errorf("%d shells are left", n)
	}
}

func TestAnsible(t *testing.T) {
	ansible := ""
	for _, name := range []string{"/usr/bin/ansible", "ansible"} { // the system's first: it sees the system's pywinrm
		if path, err := exec.LookPath(name); err == nil {
			ansible = path
			break
		}
	}
	if ansible == "" {
		absent(t, "no ansible (Debian: ansible): not tested that it gets on with the door")
	}
	python(t)
	env := append(legacyOpenSSL(t), "ANSIBLE_LOCALHOST_WARNING=false", "ANSIBLE_NOCOLOR=1", "ANSIBLE_RETRY_FILES_ENABLED=0")
	b := clientBench(t)
	host := b.ready.Hosts[0]
	for _, tt := range []struct{ name, variables string }{
		{"NTLM over HTTP", fmt.Sprintf("ansible_port=%d ansible_winrm_scheme=http ansible_winrm_transport=ntlm ansible_winrm_message_encryption=always", host.HTTPPort)},
		{"Basic over HTTPS", fmt.Sprintf("ansible_port=%d ansible_winrm_scheme=https ansible_winrm_transport=basic ansible_winrm_ca_trust_path=%s", host.HTTPSPort, host.CAFile)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inventory := filepath.Join(t.TempDir(), "hosts")
			text := fmt.Sprintf("hv1 ansible_host=127.0.0.1 ansible_connection=winrm ansible_shell_type=powershell ansible_user=%q ansible_password=%q %s\n", host.Username, host.Password, tt.variables)
			if err := os.WriteFile(inventory, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for module, arguments := range map[string][]string{
				"raw":                      {"-a", "(Get-VMSwitch).Name"},
				"ansible.windows.win_ping": {"-a", "data=well"},
			} {
				want := map[string]string{"raw": "LAN", "ansible.windows.win_ping": `"ping": "well"`}[module]
				out, err := client(t, env, "", ansible, append([]string{"all", "-i", inventory, "-m", module}, arguments...)...)
				if strings.Contains(out, "couldn't resolve module") {
					absent(t, "no Ansible collection ansible.windows (Debian: ansible): win_ping was not tested")
				}
				if err != nil || !strings.Contains(out, want) {
					t.Errorf("%s: %v: %s", module, err, out)
				}
			}
		})
	}
	if n := b.server.Metrics().Shells; n != 0 {
		t.Errorf("%d shells are left", n)
	}
}
