package lab

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// acrossAllowed is the value with which RDMA is routed (facts.md 68): by an adapter that has started since (procedures.md B14).
const acrossAllowed = "Allowed"

func registerNetOffload(r registry) {
	r.both("Get-NetOffloadGlobalSetting", func(c *call) { c.emit(c.offloadObject()) })
	r.both("Set-NetOffloadGlobalSetting", setNetOffloadGlobalSetting)
}

// acrossSubnets is the target's NetworkDirectAcrossIPSubnets: Allowed or Blocked (facts.md 68, 89).
func (c *call) acrossSubnets() *string {
	if g := c.guest(); g != nil {
		return &g.NetworkDirectAcrossIPSubnets
	}
	return &c.host.NetworkDirectAcrossIPSubnets
}

func (c *call) offloadObject() *cmdlet.Object {
	across, number := *c.acrossSubnets(), int64(0)
	if across == acrossAllowed {
		number = 1
	}
	return standardCim("MSFT_NetOffloadGlobalSetting", "offload:", "MSFT_NetOffloadGlobalSetting",
		prop("ReceiveSideScaling", enabledDisabled("EnabledDisabledEnum", true)), prop("ReceiveSegmentCoalescing", enabledDisabled("EnabledDisabledEnum", true)),
		prop("Chimney", cdxmlEnum("NetTCPIP", "ChimneyEnum", "Disabled", 0)), prop("TaskOffload", enabledDisabled("EnabledDisabledEnum", true)),
		prop("NetworkDirect", enabledDisabled("EnabledDisabledEnum", c.guest() != nil || c.host.Setup.NetworkDirect == networkDirectOn)),
		prop("NetworkDirectAcrossIPSubnets", cdxmlEnum("NetTCPIP", "AllowedBlockedEnum", across, number)),
		prop("PacketCoalescingFilter", enabledDisabled("EnabledDisabledEnum", false)),
	)
}

func orBlocked(across string) string {
	if across == "" {
		return "Blocked"
	}
	return across
}

// setNetOffloadGlobalSetting: only the settings that RDMA needs are ones that the lab keeps; the others
// may be set to what they are.
func setNetOffloadGlobalSetting(c *call) {
	fixed := map[string]string{
		"ReceiveSideScaling": "Enabled", "ReceiveSegmentCoalescing": "Enabled", "Chimney": "Disabled", "TaskOffload": "Enabled",
		"NetworkDirect": "Enabled", "PacketCoalescingFilter": "Disabled",
	}
	if c.guest() == nil { // on a host it can be turned off and on
		delete(fixed, "NetworkDirect")
		if c.has("NetworkDirect") {
			c.host.Setup.NetworkDirect = strings.ToLower(c.enum("NetworkDirect"))
		}
	}
	for name, value := range fixed {
		if c.has(name) && c.enum(name) != value {
			c.fail(c.cimSystemError(50, "MSFT_NetOffloadGlobalSetting", "The request is not supported."))
			return
		}
	}
	if c.has("NetworkDirectAcrossIPSubnets") {
		*c.acrossSubnets() = c.enum("NetworkDirectAcrossIPSubnets")
	}
	if c.boolean("PassThru") {
		c.emit(c.offloadObject())
	}
}
