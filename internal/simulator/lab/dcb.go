package lab

import (
	"fmt"
	"slices"
	"strings"
)

// Dcb is a host's data center bridging: the Windows feature and what is set for the whole host (facts.md 85, 85a). What
// single net adapters may be given besides (-InterfaceAlias) is not modelled.
type Dcb struct {
	Feature        string          `json:"feature"` // Available, InstallPending, Installed, UninstallPending
	Willing        bool            `json:"willing"`
	FlowControl    [8]bool         `json:"flow_control"` // by priority
	TrafficClasses []*TrafficClass `json:"traffic_classes"`
	Policies       []*QosPolicy    `json:"policies"`
}

// TrafficClass is one of the classes beside the default one, which has what they leave (facts.md 85b).
type TrafficClass struct {
	Name       string `json:"name"`
	Algorithm  string `json:"algorithm"` // ETS or Strict
	Bandwidth  int    `json:"bandwidth"` // percent
	Priorities []int  `json:"priorities"`
}

// QosPolicy is a policy of one store.
type QosPolicy struct {
	Name          string `json:"name"`
	Store         string `json:"store,omitempty"` // "": the local group policy, which outlives restarts; ActiveStore
	Template      string `json:"template,omitempty"`
	NetDirectPort int    `json:"net_direct_port,omitempty"`
	Priority      int    `json:"priority"` // -1: none
	Precedence    int    `json:"precedence"`
	Profile       string `json:"network_profile"`
	// Settings are conditions and actions that have no field of their own, by property name.
	Settings map[string]string `json:"settings,omitempty"`
}

// States of the feature.
const (
	featureAvailable        = "Available"
	featureInstalled        = "Installed"
	featureInstallPending   = "InstallPending"
	featureUninstallPending = "UninstallPending"
)

const (
	dcbFeature   = "Data-Center-Bridging"
	defaultClass = "[Default]"
	pfcClasses   = 3 // facts.md 87
	// classesOfHardware is how many traffic classes, and of these with ETS, the hardware has (facts.md 85b).
	classesOfHardware = 8
)

// ScenarioDcb is the data center bridging of a host.
type ScenarioDcb struct {
	Installed      bool                   `json:"installed,omitempty" yaml:"installed" jsonschema:"default=false,description=The feature Data-Center-Bridging."`
	NotWilling     bool                   `json:"not_willing,omitempty" yaml:"not_willing" jsonschema:"default=false,description=DCBX Willing is false."`
	FlowControl    []int                  `json:"flow_control,omitempty" yaml:"flow_control" jsonschema:"minimum=0,maximum=7,description=Priorities with flow control."`
	TrafficClasses []ScenarioTrafficClass `json:"traffic_classes,omitempty" yaml:"traffic_classes"`
	Policies       []ScenarioQosPolicy    `json:"policies,omitempty" yaml:"policies"`
}

// ScenarioTrafficClass is a traffic class.
type ScenarioTrafficClass struct {
	Name       string `json:"name" yaml:"name" jsonschema:"required,minLength=1"`
	Algorithm  string `json:"algorithm,omitempty" yaml:"algorithm" jsonschema:"enum=ETS,enum=Strict,default=ETS"`
	Bandwidth  int    `json:"bandwidth,omitempty" yaml:"bandwidth" jsonschema:"minimum=0,maximum=99"`
	Priorities []int  `json:"priorities" yaml:"priorities" jsonschema:"required,minItems=1"`
}

// ScenarioQosPolicy is a QoS policy of the local group policy.
type ScenarioQosPolicy struct {
	Name          string `json:"name" yaml:"name" jsonschema:"required,minLength=1"`
	Template      string `json:"template,omitempty" yaml:"template" jsonschema:"enum=Default,enum=iSCSI,enum=FCoE,enum=SMB,enum=NFS,enum=LiveMigration,enum=Cluster"`
	NetDirectPort int    `json:"net_direct_port,omitempty" yaml:"net_direct_port" jsonschema:"minimum=0,maximum=65535"`
	Priority      *int   `json:"priority,omitempty" yaml:"priority" jsonschema:"minimum=0,maximum=7"`
}

// dcb: until somebody sets it otherwise, a host is willing to take its configuration from the switch (facts.md 85a).
func (b *builder) dcb(h *Host, s *ScenarioDcb) error {
	h.Dcb = Dcb{Feature: featureAvailable, Willing: true, TrafficClasses: []*TrafficClass{}, Policies: []*QosPolicy{}}
	if s == nil {
		return nil
	}
	h.Dcb.Willing = !s.NotWilling
	if s.Installed {
		h.Dcb.Feature = featureInstalled
	}
	for _, p := range s.FlowControl {
		if p < 0 || p > 7 {
			return fmt.Errorf("there is no priority %d", p)
		}
		h.Dcb.FlowControl[p] = true
	}
	for _, x := range s.TrafficClasses {
		class := &TrafficClass{Name: x.Name, Algorithm: x.Algorithm, Bandwidth: x.Bandwidth, Priorities: slices.Sorted(slices.Values(x.Priorities))}
		if class.Algorithm == "" {
			class.Algorithm = "ETS"
		}
		if why := h.Dcb.refuses(class, nil); why != "" {
			return fmt.Errorf("traffic class %q: %s", x.Name, why)
		}
		h.Dcb.TrafficClasses = append(h.Dcb.TrafficClasses, class)
	}
	for _, x := range s.Policies {
		p := &QosPolicy{Name: x.Name, Template: x.Template, NetDirectPort: x.NetDirectPort, Priority: -1, Precedence: 127, Profile: "All"}
		if x.Priority != nil {
			p.Priority = *x.Priority
		}
		h.Dcb.Policies = append(h.Dcb.Policies, p)
	}
	return nil
}

// refuses says why the host does not take a class, or "": the classes besides the default one are at most seven, a
// priority is in one of them only, and the default class keeps one percent (facts.md 85b). except is a class that it replaces.
func (d *Dcb) refuses(class, except *TrafficClass) string {
	sum, count := class.Bandwidth, 1
	for _, other := range d.TrafficClasses {
		if other == except {
			continue
		}
		if strings.EqualFold(other.Name, class.Name) {
			return "there is a traffic class of that name"
		}
		for _, p := range class.Priorities {
			if slices.Contains(other.Priorities, p) {
				return fmt.Sprintf("priority %d belongs to traffic class %q", p, other.Name)
			}
		}
		sum += other.Bandwidth
		count++
	}
	for _, p := range class.Priorities {
		if p < 0 || p > 7 {
			return fmt.Sprintf("there is no priority %d", p)
		}
	}
	switch {
	case strings.EqualFold(class.Name, defaultClass):
		return "the default class is there already"
	case len(class.Priorities) == 0:
		return "a traffic class has a priority"
	case class.Algorithm == "Strict" && class.Bandwidth > 0:
		return "strict priority has no bandwidth"
	case class.Algorithm == "ETS" && class.Bandwidth == 0:
		return "ETS needs a bandwidth"
	case sum > 99:
		return "the sum of the bandwidths is above 99 percent"
	case count > 7:
		return "there are more than seven traffic classes"
	}
	return ""
}

// classes are all traffic classes, the default one first: it has the priorities and the bandwidth that the others leave (facts.md 85b).
func (d *Dcb) classes() []*TrafficClass {
	rest := &TrafficClass{Name: defaultClass, Algorithm: "ETS", Bandwidth: 100, Priorities: []int{}}
	for p := range 8 {
		if !slices.ContainsFunc(d.TrafficClasses, func(c *TrafficClass) bool { return slices.Contains(c.Priorities, p) }) {
			rest.Priorities = append(rest.Priorities, p)
		}
	}
	for _, c := range d.TrafficClasses {
		rest.Bandwidth -= c.Bandwidth
	}
	return append([]*TrafficClass{rest}, d.TrafficClasses...)
}

// lossless counts the priorities with flow control.
func (d *Dcb) lossless() int {
	n := 0
	for _, on := range d.FlowControl {
		if on {
			n++
		}
	}
	return n
}

// restarted is what a restart of the host completes.
func (d *Dcb) restarted() {
	switch d.Feature {
	case featureInstallPending:
		d.Feature = featureInstalled
	case featureUninstallPending:
		d.Feature = featureAvailable
	}
	kept := []*QosPolicy{}
	for _, p := range d.Policies {
		if p.Store != activeStore {
			kept = append(kept, p)
		}
	}
	d.Policies = kept
}

// registerDcb registers the feature and its cmdlets on hosts only: a guest has no DCB and no NetQos (facts.md 60).
func registerDcb(r registry) {
	registerWindowsFeature(r)
	registerNetQosPolicy(r)
	registerDcbQos(r)
	registerNetAdapterQos(r)
}
