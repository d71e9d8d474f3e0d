package hyperv

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// DcbFeature is the Windows feature behind data center bridging (facts.md 85).
const DcbFeature = "Data-Center-Bridging"

const (
	featureInstalled = "Installed"
	featurePending   = "InstallPending"
	defaultClass     = "[Default]"
)

// Algorithms of a traffic class.
const (
	AlgorithmETS    = "ETS"
	AlgorithmStrict = "Strict"
)

// QosTemplates are the built-in filters of a policy, by the word that attributes take, with New-NetQosPolicy's parameter
// for each. Get-NetQosPolicy says them by the same words.
func QosTemplates() map[string]string {
	return map[string]string{"Cluster": "Cluster", "Default": "Default", "FCoE": "FCOE", "iSCSI": "iSCSI", "LiveMigration": "LiveMigration", "NFS": "NFS", "SMB": "SMB"}
}

// QosPolicy tags traffic with an 802.1p priority: by a Network Direct port, or by a template.
type QosPolicy struct {
	Name          string
	NetDirectPort int64  // 0: none
	Template      string // a key of QosTemplates, or ""
	Priority      int64  // 0 to 7; -1: none
	Special       bool   // it has conditions besides these, which somebody else gave it
}

func (p QosPolicy) same(other QosPolicy) bool {
	return p.NetDirectPort == other.NetDirectPort && strings.EqualFold(p.Template, other.Template) && p.Priority == other.Priority && p.Special == other.Special
}

// String says what the policy does, for people.
func (p QosPolicy) String() string {
	what := "other traffic"
	switch {
	case p.NetDirectPort != 0:
		what = fmt.Sprintf("Network Direct port %d", p.NetDirectPort)
	case p.Template != "":
		what = "template " + p.Template
	}
	if p.Special {
		what += " under further conditions"
	}
	return fmt.Sprintf("%s to priority %d", what, p.Priority)
}

// TrafficClass is a share of the bandwidth for some priorities. The default class has what the others leave (facts.md 85b).
type TrafficClass struct {
	Name       string
	Algorithm  string // ETS or Strict
	Bandwidth  int64  // percent; 0 with Strict
	Priorities []int64
}

func (c TrafficClass) same(other TrafficClass) bool {
	return c.Algorithm == other.Algorithm && c.Bandwidth == other.Bandwidth && slices.Equal(c.Priorities, other.Priorities)
}

// String says what the class is, for people.
func (c TrafficClass) String() string {
	return fmt.Sprintf("priorities %s, %s, %d %%", joinNumbers(c.Priorities), c.Algorithm, c.Bandwidth)
}

// AdapterQos is a net adapter whose driver does DCB.
type AdapterQos struct {
	Name           string
	Enabled        bool // as it is written, be it that the adapter has yet to restart
	TrafficClasses int64
	EtsClasses     int64
	PfcClasses     int64 // how many priorities the hardware can make lossless (facts.md 87)
}

// The objects of Windows.

type windowsFeature struct {
	Name         string `json:"Name"`
	InstallState string `json:"InstallState"`
}

type featureResult struct {
	Success       bool   `json:"Success"`
	RestartNeeded string `json:"RestartNeeded"` // No, Yes, Maybe
	ExitCode      string `json:"ExitCode"`
}

type computerSystem struct {
	Manufacturer string `json:"Manufacturer"`
	Model        string `json:"Model"`
}

// netQosPolicy is Get-NetQosPolicy. Conditions that this package does not set are read to know another's policy.
type netQosPolicy struct {
	Name          string `json:"Name"`
	Template      string `json:"Template"`
	NetDirectPort *int64 `json:"NetDirectPort" ps:"NetDirectPortMatchCondition"`
	Priority      *int64 `json:"Priority" ps:"PriorityValue8021Action"`
	AppPath       string `json:"AppPath" ps:"AppPathNameMatchCondition"`
	Source        string `json:"Source" ps:"IPSrcPrefixMatchCondition"`
	Destination   string `json:"Destination" ps:"IPDstPrefixMatchCondition"`
	User          string `json:"User" ps:"UserMatchCondition"`
	URI           string `json:"URI" ps:"URIMatchCondition"`
	Port          *int64 `json:"Port" ps:"IPPortMatchCondition"`
}

func (p netQosPolicy) policy() QosPolicy {
	out := QosPolicy{Name: p.Name, Priority: -1, Special: p.special()}
	if p.NetDirectPort != nil {
		out.NetDirectPort = *p.NetDirectPort
	}
	if p.Priority != nil {
		out.Priority = *p.Priority
	}
	for template := range QosTemplates() {
		if strings.EqualFold(template, p.Template) {
			out.Template = template
		}
	}
	return out
}

// special says that the policy has a condition that QosPolicy cannot say.
func (p netQosPolicy) special() bool {
	return p.AppPath != "" || p.Source != "" || p.Destination != "" || p.User != "" || p.URI != "" || p.Port != nil && *p.Port != 0
}

type netQosTrafficClass struct {
	Name       string        `json:"Name"`
	Algorithm  algorithmName `json:"Algorithm"`
	Bandwidth  int64         `json:"Bandwidth" ps:"BandwidthPercentage"`
	Priorities byteList      `json:"Priorities" ps:"Priority"`
}

type netQosFlowControl struct {
	Priority int64 `json:"Priority"`
	Enabled  bool  `json:"Enabled"`
}

type netQosDcbx struct {
	Willing bool `json:"Willing"`
}

type netAdapterQos struct {
	Name           string `json:"Name"`
	Enabled        bool   `json:"Enabled"`
	TrafficClasses int64  `json:"TrafficClasses" ps:"HardwareCapabilities.NumberOfTrafficClasses"`
	EtsClasses     int64  `json:"EtsClasses" ps:"HardwareCapabilities.NumberOfEtsCapableTrafficClasses"`
	PfcClasses     int64  `json:"PfcClasses" ps:"HardwareCapabilities.NumberOfPfcEnabledTrafficClasses"`
}

// algorithmName reads the algorithm as a word or as the number of the class: Strict 0, ETS 2 (objects.md 1). Which of the
// two Windows gives is not known.
type algorithmName string

// UnmarshalJSON takes both forms.
func (a *algorithmName) UnmarshalJSON(raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	switch v {
	case nil:
		*a = ""
	case float64(0):
		*a = AlgorithmStrict
	case float64(2):
		*a = AlgorithmETS
	default:
		*a = algorithmName(fmt.Sprint(v))
	}
	return nil
}

// byteList reads an array of bytes: as base64, as the runner writes a byte array of .NET, or as numbers.
type byteList []int64

// UnmarshalJSON takes all forms.
func (l *byteList) UnmarshalJSON(raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	*l = byteList{}
	switch v := v.(type) {
	case nil:
	case string:
		data, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return err
		}
		for _, b := range data {
			*l = append(*l, int64(b))
		}
	case float64:
		*l = append(*l, int64(v))
	case []any:
		for _, e := range v {
			n, ok := e.(float64)
			if !ok {
				return fmt.Errorf("%v is no number", e)
			}
			*l = append(*l, int64(n))
		}
	default:
		return fmt.Errorf("%v is no list of numbers", v)
	}
	slices.Sort(*l)
	return nil
}

func joinNumbers(list []int64) string {
	if len(list) == 0 {
		return "(none)"
	}
	out := make([]string, 0, len(list))
	for _, n := range list {
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, ", ")
}
