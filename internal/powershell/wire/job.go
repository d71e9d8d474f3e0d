package wire

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed job.ps1
var jobBootstrap string

// Parts of a job: registry values of the ledger's key, "job.<id>.<part>".
const (
	JobPayload = "payload" // the batch, a Request as base64 of JSON
	JobUndo    = "undo"    // the batch that takes the change back
	JobScript  = "script"  // the runner script, base64 of UTF-8
	JobResult  = "result"  // the Reply, base64 of JSON: written when the payload has run
)

// JobKey is where a job's values are.
const JobKey = `HKLM:\SOFTWARE\TerraformProviderHyperV`

// JobValue is the name of a job's registry value.
func JobValue(id, part string) string { return "job." + id + "." + part }

// JobCall is what a job's bootstrap says: which part of which job is to run, by which script.
type JobCall struct {
	ID   string // 32 hexadecimal digits
	Hash string // SHA-256 of the script, upper-case hexadecimal
	Part string // JobPayload or JobUndo
}

// Bootstrap is the script that runs the part. It holds nothing but constants and the three names.
func (j JobCall) Bootstrap() string {
	return strings.NewReplacer("@ID@", j.ID, "@HASH@", j.Hash, "@PART@", j.Part).Replace(jobBootstrap)
}

// ParseJobBootstrap recognises the script that Bootstrap made; any other text is none.
func ParseJobBootstrap(script string) (JobCall, bool) {
	m := regexp.MustCompile(`'job\.([0-9a-f]{32})\.'`).FindStringSubmatch(script)
	hash := regexp.MustCompile(`-cne '([0-9A-F]{64})'`).FindStringSubmatch(script)
	if m == nil || hash == nil {
		return JobCall{}, false
	}
	for _, part := range []string{JobPayload, JobUndo} {
		if j := (JobCall{ID: m[1], Hash: hash[1], Part: part}); j.Bootstrap() == script {
			return j, true
		}
	}
	return JobCall{}, false
}
