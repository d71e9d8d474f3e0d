package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const (
	classTrafficClass = "MSFT_NetQosTrafficClassSettingData"
	classFlowControl  = "MSFT_NetQosFlowControlSettingData"
	classDcbx         = "MSFT_NetQosDcbxSettingData"
)

// registerDcbQos registers the module DcbQos, which comes with the feature; whether it is there before is a switch.
func registerDcbQos(r registry) {
	for name, run := range map[string]handler{
		"Get-NetQosDcbxSetting": func(c *call) { c.emit(c.dcbxObject()) }, "Set-NetQosDcbxSetting": setNetQosDcbxSetting,
		"Get-NetQosFlowControl":     func(c *call) { c.eachPriority(func(p int) { c.emit(c.flowControlObject(p)) }) },
		"Enable-NetQosFlowControl":  func(c *call) { c.setFlowControl(true) },
		"Disable-NetQosFlowControl": func(c *call) { c.setFlowControl(false) },
		"Set-NetQosFlowControl": func(c *call) {
			if c.has("Enabled") {
				c.setFlowControl(c.boolean("Enabled"))
			}
		},
		"Get-NetQosTrafficClass": getNetQosTrafficClass, "New-NetQosTrafficClass": newNetQosTrafficClass, "Set-NetQosTrafficClass": setNetQosTrafficClass,
		"Remove-NetQosTrafficClass": removeNetQosTrafficClass,
	} {
		r.onHost(name, func(c *call) {
			if c.has("InterfaceAlias") || c.has("InterfaceIndex") { // settings of single adapters are not modelled
				c.fail(c.cimSystemError(50, classTrafficClass, "The request is not supported."))
				return
			}
			run(c)
		})
		r[strings.ToLower(name)].present = func(l *Lab, h *Host) bool {
			return h.Dcb.Feature == featureInstalled || h.Dcb.Feature == featureUninstallPending || l.unknowns.DcbCmdletsWithoutFeature == "present"
		}
	}
}

func (c *call) dcbxObject() *cmdlet.Object {
	return standardCim(classDcbx, "dcbx:", classDcbx, prop("Willing", c.host.Dcb.Willing), prop("InterfaceAlias", nil), prop("InterfaceIndex", u32(0)), prop("PolicySet", u8(0)))
}

func setNetQosDcbxSetting(c *call) {
	c.host.Dcb.Willing = c.boolean("Willing")
	if c.boolean("PassThru") {
		c.emit(c.dcbxObject())
	}
}

// eachPriority takes the priorities that are given, by number or as objects, or all eight.
func (c *call) eachPriority(do func(int)) {
	var wanted []string
	switch {
	case c.has("InputObject"):
		for _, o := range c.objects("InputObject") {
			_, p, _ := strings.Cut(o.Ref, ":")
			wanted = append(wanted, p)
		}
	case c.has("Priority"):
		wanted = c.strs("Priority")
	default:
		for p := range 8 {
			do(p)
		}
		return
	}
	for _, p := range wanted {
		if n := number(p); n >= 0 && n <= 7 && text(int64(n)) == p {
			do(n)
			continue
		}
		c.fail(c.cimNotFound(classFlowControl, "Priority", p))
	}
}

func (c *call) flowControlObject(p int) *cmdlet.Object {
	return standardCim(classFlowControl, fmt.Sprintf("flowcontrol:%d", p), classFlowControl, prop("Name", text(int64(p))), prop("Priority", u8(p)),
		prop("Enabled", c.host.Dcb.FlowControl[p]), prop("InterfaceAlias", nil), prop("InterfaceIndex", u32(0)), prop("PolicySet", u8(0)))
}

func (c *call) setFlowControl(on bool) {
	c.eachPriority(func(p int) {
		c.host.Dcb.FlowControl[p] = on
		if c.boolean("PassThru") {
			c.emit(c.flowControlObject(p))
		}
	})
}

// algorithmNumber is the number that the class has (objects.md 1); it is that of IEEE 802.1Qaz.
func algorithmNumber(name string) int {
	if name == "ETS" {
		return 2
	}
	return 0
}

func (c *call) trafficClassObject(class *TrafficClass) *cmdlet.Object {
	var algorithm any = class.Algorithm
	if c.unknowns.TrafficClassAlgorithm == "number" {
		algorithm = u8(algorithmNumber(class.Algorithm))
	}
	priorities := []byte{} // an array of uint8 is a byte array in .NET
	for _, p := range class.Priorities {
		priorities = append(priorities, byte(p))
	}
	return standardCim(classTrafficClass, "trafficclass:"+class.Name, classTrafficClass, prop("Name", class.Name), prop("Algorithm", algorithm),
		prop("BandwidthPercentage", u8(class.Bandwidth)), prop("Priority", priorities), prop("InterfaceAlias", nil), prop("InterfaceIndex", u32(0)), prop("PolicySet", u8(0)))
}

// findTrafficClasses takes classes by object or by name, which takes patterns: [Default] is one.
func (c *call) findTrafficClasses() []*TrafficClass {
	var found []*TrafficClass
	all := c.host.Dcb.classes()
	if c.has("InputObject") {
		for _, o := range c.objects("InputObject") {
			_, name, _ := strings.Cut(o.Ref, ":")
			i := slices.IndexFunc(all, func(x *TrafficClass) bool { return x.Name == name })
			if i < 0 {
				c.fail(c.cimNotFound(classTrafficClass, "Name", name))
				continue
			}
			found = append(found, all[i])
		}
		return found
	}
	if !c.has("Name") {
		return all
	}
	for _, want := range c.strs("Name") {
		matched := false
		for _, x := range all {
			if matchesAny([]string{want}, x.Name) {
				matched = true
				if !slices.Contains(found, x) {
					found = append(found, x)
				}
			}
		}
		if !matched && !isWildcard(want) {
			c.fail(c.cimNotFound(classTrafficClass, "Name", want))
		}
	}
	return found
}

func getNetQosTrafficClass(c *call) {
	for _, x := range c.findTrafficClasses() {
		c.emit(c.trafficClassObject(x))
	}
}

// priorities is the parameter -Priority, in order and once each.
func (c *call) priorities() []int {
	var out []int
	for _, p := range c.strs("Priority") {
		out = append(out, number(p))
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// newNetQosTrafficClass: what a host refuses is documented, with which error is not (errors.md 5).
func newNetQosTrafficClass(c *call) {
	class := &TrafficClass{Name: c.str("Name"), Algorithm: c.enum("Algorithm"), Bandwidth: c.integer("BandwidthPercentage"), Priorities: c.priorities()}
	if why := c.host.Dcb.refuses(class, nil); why != "" {
		c.fail(c.cimSystemError(87, classTrafficClass, "The parameter is incorrect: %s.", why))
		return
	}
	c.host.Dcb.TrafficClasses = append(c.host.Dcb.TrafficClasses, class)
	c.emit(c.trafficClassObject(class))
}

// setNetQosTrafficClass changes what is given and nothing else.
func setNetQosTrafficClass(c *call) {
	for _, x := range c.findTrafficClasses() {
		changed := *x
		if c.has("Algorithm") {
			changed.Algorithm = c.enum("Algorithm")
		}
		if c.has("BandwidthPercentage") {
			changed.Bandwidth = c.integer("BandwidthPercentage")
		}
		if c.has("Priority") {
			changed.Priorities = c.priorities()
		}
		why := c.host.Dcb.refuses(&changed, x)
		if x.Name == defaultClass {
			why = "the default class has what the others leave"
		}
		if why != "" {
			c.fail(c.cimSystemError(87, classTrafficClass, "The parameter is incorrect: %s.", why))
			continue
		}
		*x = changed
		if c.boolean("PassThru") {
			c.emit(c.trafficClassObject(x))
		}
	}
}

// removeNetQosTrafficClass: the default class cannot be removed (facts.md 85b).
func removeNetQosTrafficClass(c *call) {
	for _, x := range c.findTrafficClasses() {
		if x.Name == defaultClass {
			c.fail(c.cimSystemError(87, classTrafficClass, "The parameter is incorrect: the default class cannot be removed."))
			continue
		}
		if c.boolean("PassThru") {
			c.emit(c.trafficClassObject(x))
		}
		c.host.Dcb.TrafficClasses = slices.DeleteFunc(c.host.Dcb.TrafficClasses, func(y *TrafficClass) bool { return y == x })
	}
}
