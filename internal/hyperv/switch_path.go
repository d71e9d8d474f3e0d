package hyperv

import (
	"context"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// switchChange is a batch that makes, changes or removes a switch. If the way to the host goes through one of
// its net adapters, it runs as a job, and the host's IP configuration is compared before and after (facts.md 28, 29, 73).
type switchChange struct {
	host     *Host
	batch    *batch
	records  *ledgerWrites // stand ahead of the change
	before   *Inventory
	path     []ipConfig // what the host is reached by, through the switch's net adapters
	preserve bool
	keep     bool   // a loss is told, but the change is kept: it cannot be taken back
	parts    []part // what to read afterwards
}

func (c *switchChange) away() bool { return len(c.path) > 0 }

// begin adds the records to the batch, unless it runs as a job: then they are written before.
func (c *switchChange) begin() {
	if !c.away() {
		c.records.addPuts(c.batch)
	}
}

// restore lets the batch give the host's configuration to the adapter that now stands for its own.
func (c *switchChange) restore(where ...wire.Condition) {
	if !c.preserve {
		return
	}
	for i, ip := range c.path {
		c.batch.restoreIP(ip, fmt.Sprintf("own adapter %d", i), where[min(i, len(where)-1)])
	}
}

// run runs the batch and reads the parts. undo adds the calls that take the change back; the configuration that
// each interface had is then put back too.
func (c *switchChange) run(ctx context.Context, undo func(*batch)) (*Inventory, error) {
	if !c.away() {
		after := c.batch.readParts(c.parts...)
		defer c.records.guard(c.host)()
		err := c.batch.run(ctx)
		c.records.apply()
		if err != nil {
			return nil, err
		}
		return after()
	}
	j, err := c.batch.away(ctx, c.records, c.before.Now(), func(back *batch) {
		undo(back)
		for i, ip := range c.path {
			back.restoreIP(ip, fmt.Sprintf("adapter %d", i), ip.home())
		}
	})
	c.records.apply()
	if j == nil {
		return nil, err
	}
	if err != nil {
		return nil, c.takeBack(ctx, j, err)
	}
	inv, lost, err := c.compare(ctx)
	if err != nil {
		return nil, err // the host takes it back
	}
	if len(lost) == 0 {
		return inv, j.confirm(ctx)
	}
	failure := c.lostError(lost)
	if c.keep {
		if err := j.confirm(ctx); err != nil {
			return nil, err
		}
		return inv, failure
	}
	return nil, c.takeBack(ctx, j, failure)
}

// looks is how often a loss must be seen: what moves from one adapter to another is on neither for a moment.
const looks = 4

// compare reads the parts, and what of the host's configuration is not there any more.
func (c *switchChange) compare(ctx context.Context) (*Inventory, []string, error) {
	for look := 1; ; look++ {
		inv, err := c.host.read(ctx, c.batch.op, c.batch.about, append([]part{partHostNetwork}, c.parts...)...)
		if err != nil {
			return nil, nil, err
		}
		lost := inv.lost(c.path)
		if len(lost) == 0 || look == looks {
			return inv, lost, nil
		}
		if err := c.host.wait(ctx); err != nil {
			return nil, nil, err
		}
	}
}

func (c *switchChange) takeBack(ctx context.Context, j *job, cause error) error {
	if err := j.rollBack(ctx); err != nil {
		return fmt.Errorf("%w; and taking the change back failed: %w", cause, err)
	}
	return cause
}

func (c *switchChange) lostError(lost []string) error {
	e := &Error{Kind: Conflict, Op: c.batch.op, Host: c.host.Name, Object: c.batch.about, Attribute: "preserve_host_ip_config", Value: fmt.Sprint(c.preserve),
		Cause: "The host reaches its network through this net adapter, and with the change it lost " + strings.Join(lost, ", ") + " (facts.md 29).",
		Fix:   "Set preserve_host_ip_config = true: static addresses, default gateways and DNS servers are then put back in the same step."}
	if c.preserve {
		e.Fix = "Give the host's adapter its configuration by hand (New-NetIPAddress, New-NetRoute, Set-DnsClientServerAddress), or use another net adapter for the switch."
	}
	if !c.keep {
		e.Cause += " The change was taken back."
	}
	return e
}
