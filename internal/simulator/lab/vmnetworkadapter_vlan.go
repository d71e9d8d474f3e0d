package lab

import (
	"strconv"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// getVMNetworkAdapterVlan is Get-VMNetworkAdapterVlan. A VLAN set by Set-VMNetworkAdapterIsolation shows as
// Untagged here: the two are stored apart (facts.md 60).
func getVMNetworkAdapterVlan(c *call) {
	for _, o := range c.operands() {
		c.emit(c.vlanObject(o, c.parentAdapter(o)))
	}
}

func (c *call) vlanObject(o operand, parent *cmdlet.Object) *cmdlet.Object {
	v := o.vlan()
	var private any
	if v.Mode == "Private" {
		private = hyperVEnum("VMNetworkAdapterPrivateVlanMode", v.PrivateMode)
	}
	return c.hyperVObject("VMNetworkAdapterVlanSetting", parent.Ref, vlanText(v), []string{"VMNetworkAdapterFeatureBase"},
		prop("OperationMode", hyperVEnum("VMNetworkAdapterVlanMode", v.Mode)), prop("AccessVlanId", int64(v.AccessID)), prop("NativeVlanId", int64(v.NativeID)),
		prop("AllowedVlanIdList", vlanNumbers(v.Allowed)), prop("AllowedVlanIdListString", v.Allowed), prop("PrivateVlanMode", private),
		prop("PrimaryVlanId", int64(v.PrimaryID)), prop("SecondaryVlanId", int64(v.SecondaryID)), prop("SecondaryVlanIdList", vlanNumbers(v.Secondary)),
		prop("SecondaryVlanIdListString", v.Secondary), prop("ParentAdapter", parent), prop("IsTemplate", false))
}

func vlanText(v *Vlan) string {
	switch v.Mode {
	case "Access":
		return "Access: " + strconv.Itoa(v.AccessID)
	case "Trunk":
		return "Trunk: " + strconv.Itoa(v.NativeID) + "; " + v.Allowed
	}
	return v.Mode
}

// setVMNetworkAdapterVlan is Set-VMNetworkAdapterVlan.
func setVMNetworkAdapterVlan(c *call) {
	v, err := c.wantedVlan()
	if err != nil {
		c.fail(err)
		return
	}
	for _, o := range c.operands() {
		*o.vlan() = v
		c.reallocate(c.host)
		if c.boolean("Passthru") {
			c.emit(c.vlanObject(o, c.parentAdapter(o)))
		}
	}
}

// wantedVlan is the record that the switches of a call describe: exactly one mode, with what it needs.
func (c *call) wantedVlan() (Vlan, *cmdlet.Error) {
	mode := ""
	for _, m := range []string{"Untagged", "Access", "Trunk", "Isolated", "Community", "Promiscuous"} {
		if !c.boolean(m) {
			continue
		}
		if mode != "" {
			return Vlan{}, c.hyperv("InvalidParameter", "The modes %s and %s exclude each other.", mode, m)
		}
		mode = m
	}
	switch mode {
	case "Untagged":
		return Vlan{Mode: "Untagged"}, nil
	case "Access":
		return Vlan{Mode: "Access", AccessID: c.integer("VlanId")}, c.vlanIDs("VlanId")
	case "Trunk":
		if c.has("NativeVlanId") && (c.integer("NativeVlanId") < 0 || c.integer("NativeVlanId") > 4094) {
			return Vlan{}, c.badVlan("NativeVlanId")
		}
		allowed := c.str("AllowedVlanIdList")
		if len(vlanNumbers(allowed)) == 0 {
			return Vlan{}, c.badVlan("AllowedVlanIdList")
		}
		return Vlan{Mode: "Trunk", NativeID: c.integer("NativeVlanId"), Allowed: allowed}, nil
	case "Isolated", "Community":
		return Vlan{Mode: "Private", PrivateMode: mode, PrimaryID: c.integer("PrimaryVlanId"), SecondaryID: c.integer("SecondaryVlanId")},
			c.vlanIDs("PrimaryVlanId", "SecondaryVlanId")
	case "Promiscuous":
		secondary := c.str("SecondaryVlanIdList")
		if len(vlanNumbers(secondary)) == 0 {
			return Vlan{}, c.badVlan("SecondaryVlanIdList")
		}
		return Vlan{Mode: "Private", PrivateMode: mode, PrimaryID: c.integer("PrimaryVlanId"), Secondary: secondary}, c.vlanIDs("PrimaryVlanId")
	}
	return Vlan{}, c.hyperv("InvalidParameter", "A VLAN mode has to be given.")
}

// vlanIDs refuses parameters that are missing or no VLAN number.
func (c *call) vlanIDs(names ...string) *cmdlet.Error {
	for _, name := range names {
		if n := c.integer(name); n < 1 || n > 4094 {
			return c.badVlan(name)
		}
	}
	return nil
}

func (c *call) badVlan(name string) *cmdlet.Error {
	return c.hyperv("InvalidParameter", "Parameter %s has no VLAN number from 1 to 4094.", name)
}

// vlanNumbers reads a list such as 10,20-22; nothing when a part of it is no VLAN.
func vlanNumbers(text string) []any {
	out := []any{}
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		low, err := strconv.Atoi(from)
		high := low
		if err == nil && isRange {
			high, err = strconv.Atoi(to)
		}
		if err != nil || low < 1 || high > 4094 || low > high {
			return []any{}
		}
		for n := low; n <= high; n++ {
			out = append(out, int64(n))
		}
	}
	return out
}
