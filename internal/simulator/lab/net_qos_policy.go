package lab

import (
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const (
	classQosPolicy = "MSFT_NetQosPolicySettingData"
)

// registerNetQosPolicy: the module NetQos is there without the feature.
func registerNetQosPolicy(r registry) {
	r.onHost("Get-NetQosPolicy", func(c *call) {
		for _, p := range c.findPolicies() {
			c.emit(c.policyObject(p))
		}
	})
	r.onHost("New-NetQosPolicy", newNetQosPolicy)
	r.onHost("Set-NetQosPolicy", setNetQosPolicy)
	r.onHost("Remove-NetQosPolicy", removeNetQosPolicy)
}

// policyStore is the store of a call: without one the local group policy, by whatever name.
func (c *call) policyStore() string {
	if strings.EqualFold(c.str("PolicyStore"), activeStore) {
		return activeStore
	}
	return ""
}

// findPolicies takes policies by object or, in one store, by name, which takes patterns.
func (c *call) findPolicies() []*QosPolicy {
	var found []*QosPolicy
	if c.has("InputObject") {
		for _, o := range c.objects("InputObject") {
			_, id, _ := strings.Cut(o.Ref, ":")
			i := slices.IndexFunc(c.host.Dcb.Policies, func(p *QosPolicy) bool { return p.Store+":"+p.Name == id })
			if i < 0 {
				name, _ := o.Get("Name")
				c.fail(c.cimNotFound(classQosPolicy, "Name", text(name)))
				continue
			}
			found = append(found, c.host.Dcb.Policies[i])
		}
		return found
	}
	var stored []*QosPolicy
	for _, p := range c.host.Dcb.Policies {
		if p.Store == c.policyStore() {
			stored = append(stored, p)
		}
	}
	if !c.has("Name") {
		return stored
	}
	for _, want := range c.strs("Name") {
		matched := false
		for _, p := range stored {
			if matchesAny([]string{want}, p.Name) {
				matched = true
				if !slices.Contains(found, p) {
					found = append(found, p)
				}
			}
		}
		if !matched && !isWildcard(want) {
			c.fail(c.cimNotFound(classQosPolicy, "Name", want))
		}
	}
	return found
}

// policySettings are the parameters that become properties as they are.
func policySettings() map[string]string {
	return map[string]string{
		"AppPathNameMatchCondition": "AppPathNameMatchCondition", "DSCPAction": "DSCPAction", "IPDstPrefixMatchCondition": "IPDstPrefixMatchCondition",
		"IPPortMatchCondition": "IPPortMatchCondition", "IPProtocolMatchCondition": "IPProtocolMatchCondition", "IPSrcPrefixMatchCondition": "IPSrcPrefixMatchCondition",
		"MinBandwidthWeightAction": "MinBandwidthWeightAction", "ThrottleRateActionBitsPerSecond": "ThrottleRateAction", "URIMatchCondition": "URIMatchCondition",
		"UserMatchCondition": "UserMatchCondition", "IPDstPortStartMatchCondition": "IPDstPortStartMatchCondition", "IPDstPortEndMatchCondition": "IPDstPortEndMatchCondition",
		"IPSrcPortStartMatchCondition": "IPSrcPortStartMatchCondition", "IPSrcPortEndMatchCondition": "IPSrcPortEndMatchCondition",
	}
}

func (c *call) takePolicy(p *QosPolicy) {
	if c.has("PriorityValue8021Action") {
		p.Priority = c.integer("PriorityValue8021Action")
	}
	if c.has("NetDirectPortMatchCondition") {
		p.NetDirectPort = c.integer("NetDirectPortMatchCondition")
	}
	if c.has("TemplateMatchCondition") {
		p.Template = c.enum("TemplateMatchCondition")
	}
	for parameter, template := range map[string]string{"Cluster": "Cluster", "SMB": "SMB", "NFS": "NFS", "LiveMigration": "LiveMigration", "iSCSI": "iSCSI", "FCOE": "FCoE", "Default": "Default"} {
		if c.boolean(parameter) {
			p.Template = template
		}
	}
	if c.has("Precedence") {
		p.Precedence = c.integer("Precedence")
	}
	if c.has("NetworkProfile") {
		p.Profile = c.enum("NetworkProfile")
	}
	set := func(name, value string) {
		if p.Settings == nil {
			p.Settings = map[string]string{}
		}
		p.Settings[name] = value
	}
	for parameter, property := range policySettings() {
		if c.has(parameter) {
			set(property, c.str(parameter))
		}
	}
	for _, side := range []string{"Dst", "Src"} {
		if port := "IP" + side + "PortMatchCondition"; c.has(port) {
			set("IP"+side+"PortStartMatchCondition", c.str(port))
			set("IP"+side+"PortEndMatchCondition", c.str(port))
		}
	}
}

// newNetQosPolicy: the text of the error for a name that exists was seen in public, its id was not (errors.md 5).
func newNetQosPolicy(c *call) {
	p := &QosPolicy{Name: c.str("Name"), Store: c.policyStore(), Priority: -1, Precedence: 127, Profile: "All"}
	for _, other := range c.host.Dcb.Policies {
		if other.Store == p.Store && strings.EqualFold(other.Name, p.Name) {
			c.fail(c.cimSystemError(183, classQosPolicy, "Cannot create policy because it already exists."))
			return
		}
	}
	c.takePolicy(p)
	if c.refusesPolicy(p) {
		return
	}
	c.host.Dcb.Policies = append(c.host.Dcb.Policies, p)
	c.emit(c.policyObject(p))
}

func (c *call) refusesPolicy(p *QosPolicy) bool {
	if p.Priority < -1 || p.Priority > 7 {
		c.fail(c.cimSystemError(87, classQosPolicy, "The parameter is incorrect."))
		return true
	}
	return false
}

func setNetQosPolicy(c *call) {
	for _, p := range c.findPolicies() {
		changed := *p
		changed.Settings = nil
		for k, v := range p.Settings {
			if changed.Settings == nil {
				changed.Settings = map[string]string{}
			}
			changed.Settings[k] = v
		}
		c.takePolicy(&changed)
		if c.refusesPolicy(&changed) {
			continue
		}
		*p = changed
		if c.boolean("PassThru") {
			c.emit(c.policyObject(p))
		}
	}
}

func removeNetQosPolicy(c *call) {
	for _, p := range c.findPolicies() {
		if c.boolean("PassThru") {
			c.emit(c.policyObject(p))
		}
		c.host.Dcb.Policies = slices.DeleteFunc(c.host.Dcb.Policies, func(x *QosPolicy) bool { return x == p })
	}
}

// templateNumber counts the members of the enumeration in the order of the documentation.
func templateNumber(name string) int {
	return max(0, slices.Index([]string{"None", "Default", "iSCSI", "FCoE", "SMB", "NFS", "LiveMigration", "Cluster"}, name))
}

// policyObject has the class's names and the short ones that are printed (objects.md 1). That an absent priority is -1 and
// an absent port 0 follows from their types only.
func (c *call) policyObject(p *QosPolicy) *cmdlet.Object {
	owner, template := "Group Policy (Machine)", p.Template
	if p.Store == activeStore {
		owner = "PowerShell / WMI"
	}
	if template == "" {
		template = "None"
	}
	setting := func(name string) any {
		if v, ok := p.Settings[name]; ok {
			return v
		}
		return nil
	}
	return standardCim(classQosPolicy, "qospolicy:"+p.Store+":"+p.Name, classQosPolicy+" (Name = \""+p.Name+"\")",
		prop("Name", p.Name), prop("Owner", owner), prop("NetworkProfile", cdxmlEnum("NetQoS", "NetworkProfile", p.Profile, int64(max(0, slices.Index([]string{"Domain", "Public", "Private", "All"}, p.Profile))))),
		prop("Precedence", u32(p.Precedence)), prop("Template", cdxmlEnum("NetQoS", "Template", template, int64(templateNumber(template)))), prop("TemplateMatchCondition", u32(templateNumber(template))),
		prop("NetDirectPort", u16(p.NetDirectPort)), prop("NetDirectPortMatchCondition", u16(p.NetDirectPort)), prop("PriorityValue", i8(p.Priority)), prop("PriorityValue8021Action", i8(p.Priority)),
		prop("AppPathNameMatchCondition", setting("AppPathNameMatchCondition")), prop("IPSrcPrefixMatchCondition", setting("IPSrcPrefixMatchCondition")),
		prop("IPDstPrefixMatchCondition", setting("IPDstPrefixMatchCondition")), prop("UserMatchCondition", setting("UserMatchCondition")), prop("URIMatchCondition", setting("URIMatchCondition")),
		prop("IPPortMatchCondition", u16(number(p.Settings["IPPortMatchCondition"]))), prop("IPProtocolMatchCondition", setting("IPProtocolMatchCondition")),
		prop("IPDstPortStartMatchCondition", u16(number(p.Settings["IPDstPortStartMatchCondition"]))), prop("IPDstPortEndMatchCondition", u16(number(p.Settings["IPDstPortEndMatchCondition"]))),
		prop("IPSrcPortStartMatchCondition", u16(number(p.Settings["IPSrcPortStartMatchCondition"]))), prop("IPSrcPortEndMatchCondition", u16(number(p.Settings["IPSrcPortEndMatchCondition"]))),
		prop("DSCPAction", setting("DSCPAction")), prop("MinBandwidthWeightAction", setting("MinBandwidthWeightAction")), prop("ThrottleRateAction", setting("ThrottleRateAction")),
		prop("JobObjectMatchCondition", nil), prop("Version", "2.0"),
	)
}
