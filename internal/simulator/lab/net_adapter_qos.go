package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const (
	classAdapterQos = "MSFT_NetAdapterQosSettingData"
	keywordQos      = "*QOS" // objects.md 1, facts.md 78
)

// registerNetAdapterQos: guests have the cmdlets, and no adapter with an object of the class (facts.md 60).
func registerNetAdapterQos(r registry) {
	r.both("Get-NetAdapterQos", func(c *call) {
		for _, a := range c.find(classAdapterQos, hasQos) {
			c.emit(c.adapterQosObject(a))
		}
	})
	r.both("Enable-NetAdapterQos", func(c *call) { c.setAdapterQos(new(true)) })
	r.both("Disable-NetAdapterQos", func(c *call) { c.setAdapterQos(new(false)) })
	r.both("Set-NetAdapterQos", func(c *call) {
		var on *bool
		if c.has("Enabled") {
			on = new(c.boolean("Enabled"))
		}
		c.setAdapterQos(on)
	})
}

func hasQos(a *netAdapter) bool { return a.port != nil && a.port.keyword(keywordQos) != nil }

// setAdapterQos turns DCB of an adapter on or off, by its keyword: the adapter restarts unless -NoRestart is given (facts.md 33, 85c).
func (c *call) setAdapterQos(on *bool) {
	for _, a := range c.find(classAdapterQos, hasQos) {
		if on != nil {
			c.setKeyword(a, a.port.keyword(keywordQos), map[bool]string{true: "1", false: "0"}[*on])
			if !c.boolean("NoRestart") {
				c.restart(a, c.inv.Cmdlet)
			}
		}
		if c.boolean("PassThru") {
			c.emit(c.adapterQosObject(a))
		}
	}
}

// qosEnabled is what the running miniport has, or the registry of one that does not run.
func (a *netAdapter) qosEnabled() bool {
	if a.port.up() {
		return a.port.runs(keywordQos, "1")
	}
	return a.port.keyword(keywordQos).Registry == "1"
}

// qosInForce says whether the adapter holds the host's configuration: DCB is on, the host does not take the switch's,
// and the hardware has as many lossless priorities and traffic classes as are asked for (facts.md 85a, 85b, 87).
func (c *call) qosInForce(a *netAdapter) bool {
	d := &c.host.Dcb
	return d.Feature == featureInstalled && a.qosEnabled() && !d.Willing && d.lossless() <= a.device.PfcClasses && len(d.classes()) <= classesOfHardware
}

func (c *call) adapterQosObject(a *netAdapter) *cmdlet.Object {
	source := 3
	if a.port.up() {
		source = 2
	}
	pfc, classes := a.device.PfcClasses, classesOfHardware
	hardware := qosCapabilities(classes, pfc)
	if !a.qosEnabled() {
		pfc, classes = 0, 0
	}
	return c.settingData(classAdapterQos, a, source, prop("Enabled", a.qosEnabled()), prop("HardwareCapabilities", hardware),
		prop("CurrentCapabilities", qosCapabilities(classes, pfc)), prop("OperationalSettings", c.qosSettings(a)), prop("RemoteSettings", nil))
}

func qosCapabilities(classes, pfc int) *cmdlet.Object {
	return standardCim("MSFT_NetAdapter_QosCapabilities", "", "MSFT_NetAdapter_QosCapabilities", prop("NumberOfTrafficClasses", u8(classes)),
		prop("NumberOfEtsCapableTrafficClasses", u8(classes)), prop("NumberOfPfcEnabledTrafficClasses", u8(pfc)),
		prop("CeeDcbxSupported", false), prop("IeeeDcbxSupported", false), prop("MacSecBypassSupported", false))
}

// qosSettings is what the adapter does; nil while DCB is off.
func (c *call) qosSettings(a *netAdapter) any {
	if !a.qosEnabled() {
		return nil
	}
	assignment, bandwidth, algorithm, lossless := make([]byte, 8), make([]byte, 8), make([]byte, 8), make([]any, 8)
	flow := c.qosInForce(a) && c.host.Dcb.lossless() > 0
	for p, on := range c.host.Dcb.FlowControl {
		lossless[p] = flow && on
	}
	if c.qosInForce(a) {
		for i, class := range c.host.Dcb.classes() {
			bandwidth[i], algorithm[i] = byte(class.Bandwidth), byte(algorithmNumber(class.Algorithm))
			for _, p := range class.Priorities {
				assignment[p] = byte(i)
			}
		}
	}
	return standardCim("MSFT_NetAdapter_QosSettings", "", "MSFT_NetAdapter_QosSettings", prop("PriorityAssignmentTable", assignment),
		prop("BandwidthAssignmentTable", bandwidth), prop("TsaAssignmentTable", algorithm), prop("FlowControlEnabled", flow),
		prop("PriorityFlowControlEnableArray", lossless), prop("TransmissionSelectionEnabled", c.qosInForce(a)))
}
