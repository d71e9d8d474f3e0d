package powershell

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

func TestCommandLine(t *testing.T) {
	line := CommandLine()
	// cmd.exe's limit is 8191; a limit of ours keeps room.
	if len(line) > 2000 {
		t.Errorf("the command line has %d characters", len(line))
	}
	for _, want := range []string{"-NonInteractive", "-NoProfile", "-OutputFormat Text"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	for _, r := range line {
		if strings.ContainsRune("&|<>^%!\"'", r) {
			t.Fatalf("the command line holds %q, which means something to cmd.exe", r)
		}
	}
}

func TestScriptInput(t *testing.T) {
	for name, size := range map[string]int{"one send": 1 << 20, "many": 5000, "smaller than a line": 700} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, send := range scriptInput(size) {
				if len(send) > size {
					t.Errorf("a send has %d bytes", len(send))
				}
				text.WriteString(send)
			}
			body, ok := strings.CutSuffix(text.String(), "\n"+wire.ScriptEnd+"\n")
			if !ok {
				t.Fatal("the script has no end")
			}
			got, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, "\n", ""))
			if err != nil || string(got) != runnerScript {
				t.Errorf("the script did not come out as it went in: %v", err)
			}
		})
	}
}

// The runner runs in Windows PowerShell 5.1, so it must hold nothing that is newer. What is allowed
// is written down: node types and operators of 5.1's grammar that the scripts use, and the commands
// with those parameters that 5.1 has (checked against the reference pages of 5.1).
func TestScriptsAreFor51(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"bootstrap.ps1": bootstrap, "runner.ps1": runnerScript, "wire/job.ps1": wire.JobCall{}.Bootstrap()} {
		for i, r := range script {
			if r > 126 || r < 32 && r != '\n' {
				t.Errorf("%s: character %q at %d is not printable ASCII", name, r, i)
			}
		}
		if strings.Contains(strings.ToLower(script), "$input") {
			t.Errorf("%s: $input makes the host read stdin itself", name)
		}
		for _, word := range []string{"invoke-expression", "iex ", "convertto-json", "invokescript"} {
			if strings.Contains(strings.ToLower(script), word) {
				t.Errorf("%s: uses %s", name, word)
			}
		}
	}

	findings := check51(t, "bootstrap.ps1", "runner.ps1", "wire/job.ps1", "testdata/newer.ps1")
	for _, name := range []string{"bootstrap.ps1", "runner.ps1", "job.ps1"} {
		found, ok := findings[name]
		if !ok || len(found) > 0 {
			t.Errorf("%s is not Windows PowerShell 5.1:\n%s", name, strings.Join(found, "\n"))
		}
	}
	// The check itself must find each of these.
	newer := strings.Join(findings["newer.ps1"], "\n")
	for _, want := range []string{
		"TernaryExpressionAst", "PipelineChainAst", "QuestionQuestion", "null-conditional", "QuestionQuestionEquals",
		"ForEach-Object -Parallel", "Test-Json", "ConvertFrom-Json -AsHashtable", "Clean", "background",
	} {
		if !strings.Contains(newer, want) {
			t.Errorf("nothing about %s in:\n%s", want, newer)
		}
	}
}

// The table of commands and parameters that the check goes by must itself be true of 5.1.
func TestCommands51(t *testing.T) {
	var table map[string][]string
	readJSON(t, "testdata/commands51.json", &table)
	var reference struct {
		Cmdlets []struct {
			Name       string `json:"name"`
			Parameters []struct {
				Name string `json:"name"`
			} `json:"parameters"`
		} `json:"cmdlets"`
	}
	readJSON(t, "../simulator/catalog/cmdlets.json", &reference)
	known := map[string]map[string]bool{}
	for _, cmdlet := range reference.Cmdlets {
		known[cmdlet.Name] = map[string]bool{"ErrorAction": true} // a common parameter
		for _, p := range cmdlet.Parameters {
			known[cmdlet.Name][p.Name] = true
		}
	}
	for name, parameters := range table {
		for _, p := range parameters {
			if !known[name][p] {
				t.Errorf("%s has no -%s in 5.1", name, p)
			}
		}
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// check51 gives, for each script, what 5.1 does not know.
func check51(t *testing.T, scripts ...string) map[string][]string {
	t.Helper()
	args := []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-File"}
	for _, name := range append([]string{"testdata/check51.ps1"}, scripts...) {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	out, err := exec.CommandContext(t.Context(), powershellPath(t), args...).CombinedOutput() //nolint:gosec // a test
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var findings map[string][]string
	if err := json.Unmarshal(out, &findings); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return findings
}
