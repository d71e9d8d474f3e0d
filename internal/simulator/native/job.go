package native

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// jobStart is about what a PowerShell takes to begin: a job never runs before its starter has its answer.
const jobStart = 20 * time.Millisecond

// runJob is a process that runs a part of a job and ends. Nothing reaches it from outside.
func (e *Engine) runJob(host, target, id string, pid int64, job wire.JobCall) *running {
	p := printed("", 0)
	p.done = make(chan struct{})
	r := newRunner(e, host, target, id, pid, newBuffer())
	p.kill = func() { r.killed.Store(true) }
	go func() {
		defer close(p.done)
		time.Sleep(jobStart)
		if !r.job(job) {
			p.code = 1
		}
	}()
	return p
}

// job does what the job's bootstrap does: it reads the batch, holds the script against its hash, runs the batch
// and leaves the answer where the batch was.
func (r *runner) job(job wire.JobCall) bool {
	lock := r.engine.jobLock(r.host + "/" + job.ID)
	lock.Lock()
	defer lock.Unlock()
	script, err := base64.StdEncoding.DecodeString(r.jobValue(job.ID, wire.JobScript))
	if hash := sha256.Sum256(script); err != nil || !strings.EqualFold(hex.EncodeToString(hash[:]), job.Hash) {
		return false
	}
	batch := r.jobValue(job.ID, job.Part)
	if batch == "" {
		return false
	}
	answer := base64.StdEncoding.EncodeToString(r.batch(0, batch))
	if job.Part != wire.JobPayload || r.killed.Load() || r.jobValue(job.ID, wire.JobPayload) == "" {
		return true
	}
	_, failure := r.invoke("Set-ItemProperty", map[string]any{
		"LiteralPath": wire.JobKey, "Name": wire.JobValue(job.ID, wire.JobResult), "Value": answer, "Type": "String",
	}, nil, place{target: r.target, session: r.id})
	return failure == nil
}

// jobLock is the mutex that the parts of a job share.
func (e *Engine) jobLock(name string) *sync.Mutex {
	lock, _ := e.jobs.LoadOrStore(name, &sync.Mutex{})
	return lock.(*sync.Mutex) //nolint:forcetypeassert // nothing else is stored
}

func (r *runner) jobValue(id, part string) string {
	out, err := r.invoke("Get-ItemProperty", map[string]any{"LiteralPath": wire.JobKey}, nil, place{target: r.target, session: r.id})
	if err != nil {
		return ""
	}
	for _, v := range out.objects {
		if o, ok := v.(*cmdlet.Object); ok {
			if value, ok := o.Get(wire.JobValue(id, part)); ok {
				return catalog.Text(value)
			}
		}
	}
	return ""
}
