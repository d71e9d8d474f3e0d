package lab

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"

const classVmq = "MSFT_NetAdapterVmqSettingData"

func registerNetAdapterVmq(r registry) {
	r.both("Get-NetAdapterVmq", func(c *call) {
		for _, a := range c.find(classVmq, hasVmq) {
			c.emit(c.vmqObject(a))
		}
	})
	r.both("Enable-NetAdapterVmq", func(c *call) { c.setVmq(new(true)) })
	r.both("Disable-NetAdapterVmq", func(c *call) { c.setVmq(new(false)) })
	r.both("Set-NetAdapterVmq", func(c *call) {
		var on *bool
		if c.has("Enabled") {
			on = new(c.boolean("Enabled"))
		}
		c.setVmq(on)
	})
}

func hasVmq(a *netAdapter) bool { return a.port != nil && a.port.keyword(keywordVmq) != nil }

// vmqKeywords are the processor settings of Set-NetAdapterVmq: keywords of the registry that the advanced
// properties do not list.
func vmqKeywords() []struct{ parameter, keyword string } {
	return []struct{ parameter, keyword string }{
		{"BaseProcessorGroup", "*RssBaseProcGroup"}, {"BaseProcessorNumber", "*RssBaseProcNumber"}, {"MaxProcessors", "*MaxRssProcessors"},
		{"MaxProcessorNumber", "*RssMaxProcNumber"}, {"NumaNode", "*NumaNodeId"},
	}
}

func (c *call) setVmq(on *bool) {
	for _, a := range c.find(classVmq, hasVmq) {
		changed := on != nil
		if on != nil {
			c.setKeyword(a, a.port.keyword(keywordVmq), map[bool]string{true: "1", false: "0"}[*on])
		}
		for _, k := range vmqKeywords() {
			if c.has(k.parameter) {
				a.port.hiddenKeyword(k.keyword).Registry = c.str(k.parameter)
				changed = true
			}
		}
		if changed && !c.boolean("NoRestart") {
			c.restart(a, c.inv.Cmdlet)
		}
		if c.boolean("PassThru") {
			c.emit(c.vmqObject(a))
		}
	}
}

func (p *Port) hiddenKeyword(name string) *Keyword {
	if k := p.keyword(name); k != nil {
		return k
	}
	k := &Keyword{Keyword: name, DisplayName: name, Hidden: true}
	p.Keywords = append(p.Keywords, k)
	return k
}

func (c *call) vmqObject(a *netAdapter) *cmdlet.Object {
	source, enabled := 3, a.port.keyword(keywordVmq).Registry == "1"
	if a.port.up() {
		source, enabled = 2, a.port.runs(keywordVmq, "1")
	}
	queues := 0
	if enabled {
		queues = a.device.QueuePairs
	}
	of := func(keyword string) int {
		if k := a.port.keyword(keyword); k != nil {
			return number(k.Running)
		}
		return 0
	}
	return c.settingData(classVmq, a, source,
		prop("Enabled", enabled), prop("NumberOfReceiveQueues", u32(queues)), prop("BaseProcessorGroup", u16(of("*RssBaseProcGroup"))),
		prop("BaseProcessorNumber", u8(of("*RssBaseProcNumber"))), prop("MaxProcessors", u32(of("*MaxRssProcessors"))),
		prop("MaxProcessorNumber", u8(of("*RssMaxProcNumber"))), prop("NumaNode", u16(of("*NumaNodeId"))), prop("VlanFilteringSupported", true),
		prop("AnyVlanSupported", true), prop("TotalNumberOfMacAddresses", u32(queues)),
	)
}
