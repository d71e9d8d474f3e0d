package powershell

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Job is a batch that runs in a process of its own, which outlives the session that started it. What it runs
// and what came of it are in registry values (package wire); its command line holds names and a hash only.
type Job struct {
	ID string // 128 random bits, as hexadecimal digits
}

// NewJob names a job.
func NewJob() (Job, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return Job{}, err
	}
	return Job{ID: hex.EncodeToString(id[:])}, nil
}

// JobProgram is what runs a job.
const JobProgram = "powershell.exe"

// Arguments are the program's arguments for a part of the job.
func (j Job) Arguments(part string) string {
	hash := sha256.Sum256([]byte(runnerScript))
	call := wire.JobCall{ID: j.ID, Hash: strings.ToUpper(hex.EncodeToString(hash[:])), Part: part}
	return "-NoLogo -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand " + encodeCommand(call.Bootstrap())
}

// JobScript is the value of the part wire.JobScript.
func JobScript() string { return base64.StdEncoding.EncodeToString([]byte(runnerScript)) }

// JobBatch is the value of a part that is a batch. A batch for a guest is refused: its credential would stay
// on the host.
func JobBatch(calls []Call) (string, error) {
	for _, c := range calls {
		if c.Guest != nil {
			return "", fmt.Errorf("a job cannot run %s in a guest: the credential would be kept on the host", c.Cmdlet)
		}
		for name, v := range c.Parameters {
			if _, secret := v.(wire.Credential); secret {
				return "", fmt.Errorf("a job cannot run %s: parameter %s is a credential, which would be kept on the host", c.Cmdlet, name)
			}
		}
	}
	data, err := json.Marshal(request([][]Call{calls}))
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

// JobResults reads the value of the part wire.JobResult.
func JobResults(calls []Call, value string) ([]wire.Result, error) {
	data, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, badReply("%v", err)
	}
	var reply wire.Reply
	if err := json.Unmarshal(data, &reply); err != nil {
		return nil, badReply("%v", err)
	}
	groups := [][]Call{calls}
	if err := checkReply(groups, reply); err != nil {
		return nil, err
	}
	return reply.Groups[0], nil
}
