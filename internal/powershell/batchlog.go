package powershell

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// logBatch tells which cmdlets ran and how long it took: names only, since parameters may be secret.
func (p *Pool) logBatch(ctx context.Context, groups [][]Call, results [][]wire.Result, err error, took time.Duration) {
	fields := map[string]any{
		"address": p.cfg.Address, "callers": len(groups), "read_only": readOnly(groups), "milliseconds": took.Milliseconds(),
	}
	onHost := func(c Call) bool { return c.Guest == nil }
	for field, names := range map[string]string{
		"cmdlets":       cmdletNames(groups, onHost),
		"guest_cmdlets": cmdletNames(groups, func(c Call) bool { return !onHost(c) }),
	} {
		if names != "" {
			fields[field] = names
		}
	}
	var busy int64
	for _, group := range results {
		for _, r := range group {
			busy += r.Milliseconds
		}
	}
	fields["cmdlet_milliseconds"] = busy
	message := "batch of cmdlets ran"
	if err != nil {
		message = "batch of cmdlets failed"
		fields["error"] = err.Error()
	}
	p.cfg.Log(ctx, message, fields)
}

// cmdletNames lists cmdlets in the order of their first call, with how often they are called.
func cmdletNames(groups [][]Call, which func(Call) bool) string {
	var names []string
	count := map[string]int{}
	for _, group := range groups {
		for _, c := range group {
			if !which(c) {
				continue
			}
			if count[c.Cmdlet]++; count[c.Cmdlet] == 1 {
				names = append(names, c.Cmdlet)
			}
		}
	}
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%s (%d)", name, n)
		}
	}
	return strings.Join(names, ", ")
}
