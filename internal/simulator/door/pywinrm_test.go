package door_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/door"
)

// pywinrm drives the door as an independent client: it prints the exit code and the length of what it got.
const pywinrm = `
import sys
from winrm.protocol import Protocol
url, user, password = sys.argv[1:4]
p = Protocol(endpoint=url, transport="basic", username=user, password=password, operation_timeout_sec=2, read_timeout_sec=10)
shell = p.open_shell()
command = p.run_command(shell, "print", ["300000"])
out, err, code = p.get_command_output(shell, command)
p.cleanup_command(shell, command)
slow = p.run_command(shell, "exit", ["5"])
_, _, second = p.get_command_output(shell, slow)
p.cleanup_command(shell, slow)
p.close_shell(shell)
print(code, len(out), err.decode(), second)
`

func TestPywinrm(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import winrm").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		const text = "no Python with pywinrm (Debian: python3-winrm): not tested that pywinrm gets on with the door"
		if os.Getenv("HYPERVSIM_REQUIRE_CLIENTS") != "" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	// requests encodes credentials as Latin-1, so this password is plain ASCII.
	const plain = `p@ss"w'<&>`
	b := open(t, func(c *door.Config) {
		c.Authenticators = []door.Authenticator{door.Basic{Username: user, Password: plain, AllowUnencrypted: true}}
	})
	out, err := exec.Command(python, "-c", pywinrm, fmt.Sprintf("http://127.0.0.1:%d/wsman", b.door.HTTPPort()), user, plain).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "0 300000 warned 5" {
		t.Errorf("%v: %s", err, out)
	}
	if m := b.door.Metrics(); m.Shells != 0 || m.Processes != 2 {
		t.Errorf("metrics %+v", m)
	}
}
