// Package hyperv knows what a Hyper-V host and its guests can do for RDMA: switches, net adapters and
// their devices, VM network adapters, guests, restarts, and the ledger that remembers what was there
// before. It speaks in cmdlet calls (internal/powershell) and knows nothing of Terraform or WinRM.
package hyperv

import (
	"context"
	"sync"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
)

// Options of a Host. The zero value gives the defaults.
type Options struct {
	// Reads runs batches that only read, gathered with those of concurrent callers. Nil: the executor itself.
	Reads powershell.Executor
	// InventoryAge is how long one bulk read of the host serves every Read that asks (default 5 s).
	InventoryAge time.Duration
	// Poll is the pause between two looks while waiting for something (default 1 s).
	Poll time.Duration
	// RestartWait is how long a bounced net adapter may take to be up again (default 2 min).
	RestartWait time.Duration
	// VFWait is how long a changed adapter's virtual function is waited for before a warning says that there is none (default 5 s).
	VFWait time.Duration
	// Settle is how long SMB in a guest may take to follow a change before the next recovery step (default 45 s).
	Settle time.Duration
	// Address is what the session was opened to, to know which net adapters carry it.
	Address string
	// RollbackAfter is how long a host that a change cut off may stay out of reach before it takes the change back by
	// itself (default 2 min).
	RollbackAfter time.Duration
	// GuestCredential finds the credential of a guest: the one named (if name is not empty), else the
	// VM's own, else the default.
	GuestCredential func(vmName, name string) (user, password string, err error)
}

// Host is one Hyper-V host. Methods are safe for concurrent use.
type Host struct {
	Name string

	exec  powershell.Executor
	reads powershell.Executor
	opts  Options
	locks keyedLocks
	// claimed are the objects whose settings a resource of this process owns: two resources that are
	// configured alike look like one repeated after a crash in the ledger, but not here.
	claimed claims
	// making are the intents of this process: what they are about is no orphan of a killed one.
	making claims
	stored stored

	// ledgerEmptying is held for writing while the ledger's key is removed because nothing is left in
	// it, for reading while a record is written: so the key never goes away under a record.
	ledgerEmptying sync.RWMutex

	mu        sync.Mutex
	epoch     int                         // counts our writes: an inventory read before one is not used after it
	shared    map[string]*sharedInventory // bulk reads by what they read
	extra     map[string][]part           // what single resources of this run read besides, by key
	lastRead  *Inventory                  // the last bulk read of everything, however old
	locations map[string]string           // net adapter name in lower case -> PCI location
}

// NewHost makes a host out of something that runs its batches.
func NewHost(name string, exec powershell.Executor, opts Options) *Host {
	if opts.InventoryAge == 0 {
		opts.InventoryAge = 5 * time.Second
	}
	if opts.Poll == 0 {
		opts.Poll = time.Second
	}
	if opts.VFWait == 0 {
		opts.VFWait = 5 * time.Second
	}
	if opts.Settle == 0 {
		opts.Settle = 45 * time.Second
	}
	if opts.RollbackAfter == 0 {
		opts.RollbackAfter = 2 * time.Minute
	}
	if opts.RestartWait == 0 {
		opts.RestartWait = 2 * time.Minute
	}
	return &Host{Name: name, exec: exec, reads: opts.Reads, opts: opts, locks: newKeyedLocks(), claimed: claims{mu: &sync.Mutex{}, objects: map[string]bool{}},
		making: claims{mu: &sync.Mutex{}, objects: map[string]bool{}}, stored: stored{mu: &sync.Mutex{}, records: map[string]bool{}}}
}

// invalidate forgets the shared inventory: something of ours is changing the host.
func (h *Host) invalidate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.epoch++
	h.shared = nil
}

// wait pauses between two looks.
func (h *Host) wait(ctx context.Context) error { return sleep(ctx, h.opts.Poll) }

// claims is a set of objects.
type claims struct {
	mu      *sync.Mutex
	objects map[string]bool
}

func (c claims) has(object string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[object]
}

func (c claims) add(object string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[object] = true
}

func (c claims) remove(object string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, object)
}
