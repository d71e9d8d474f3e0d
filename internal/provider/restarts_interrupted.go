package provider

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// interrupted says what a restart of the net adapters hits: running VMs and the way to the host itself. It comes from
// what was last read of the host, asks nothing, and may only go into a warning: what is planned must not depend on it.
func (b *baseResource) interrupted(host types.String, netAdapters types.List) string {
	if b.client == nil || host.ValueString() == "" || b.client.unknown(host.ValueString()) {
		return ""
	}
	h, err := b.client.host(host.ValueString())
	if err != nil {
		return ""
	}
	hit, known := h.Affected(namesOf(netAdapters))
	var lines []string
	if len(hit.RunningVMs) > 0 {
		lines = append(lines, fmt.Sprintf("It hits running virtual machines, whose network and virtual functions on these ports are gone meanwhile (facts.md 66): %s.", strings.Join(hit.RunningVMs, ", ")))
	}
	if known && len(hit.ManagementPath) > 0 {
		lines = append(lines, fmt.Sprintf("It hits the management path: the host is reached through %s, so the connection is lost meanwhile (facts.md 73). The host enables the ports by itself if it is not reached again.",
			strings.Join(hit.ManagementPath, ", ")))
	}
	return strings.Join(lines, "\n")
}

// warnDestroyPart announces what the destroy of a resource on a device restarts, or leaves owed (restart_on_destroy).
func warnDestroyPart(resp *resource.ModifyPlanResponse, about string, policy types.String, onDestroy types.Bool, restart hyperv.Restart, interrupted string) {
	restarts := []hyperv.Restart{restart}
	switch {
	case !onDestroy.IsNull() && !onDestroy.ValueBool():
		warnRestarts(resp, path.Empty(), "Destroying "+about+" will owe restarts",
			"With restart_on_destroy = false nothing is restarted. What is put back has no effect before:\n"+restartLines(restarts))
	case policy.ValueString() == hyperv.RestartManual:
		warnRestarts(resp, path.Empty(), "Destroying "+about+" will cause restarts, or owe them",
			"With restart_policy = \"manual\" the last resource on the device that is destroyed restarts it, once for all; while others are left it stays owed:\n"+
				restartLines(restarts)+interruptedBy(restarts, []string{interrupted}))
	default:
		warnDestroy(resp, about, policy, restarts, interrupted)
	}
}

// interruptedBy is the part of a warning that says what restarts of net adapters hit.
func interruptedBy(restarts []hyperv.Restart, interrupted []string) string {
	for _, r := range restarts {
		if r.Kind == hyperv.RestartNetAdapter && strings.Join(interrupted, "") != "" {
			return "\n" + strings.Join(interrupted, "\n")
		}
	}
	return ""
}
