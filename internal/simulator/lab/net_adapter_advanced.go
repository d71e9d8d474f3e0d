package lab

import (
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

const classAdvanced = "MSFT_NetAdapterAdvancedPropertySettingData"

func registerNetAdapterAdvancedProperty(r registry) {
	r.both("Get-NetAdapterAdvancedProperty", func(c *call) {
		for _, p := range c.findAdvanced() {
			c.emit(c.advancedObject(p))
		}
	})
	r.both("Set-NetAdapterAdvancedProperty", setNetAdapterAdvancedProperty)
	r.both("Reset-NetAdapterAdvancedProperty", func(c *call) {
		for _, p := range c.findAdvanced() {
			c.setKeyword(p.adapter, p.keyword, p.keyword.Default)
			c.finishAdvanced(p)
		}
	})
}

// advancedProperty is a keyword of an adapter.
type advancedProperty struct {
	adapter *netAdapter
	keyword *Keyword
}

// findAdvanced picks properties by object, or by name or description of the adapter together with keyword or
// display name. All of these take patterns, so *SRIOV is one (facts.md 39). A query over several properties
// fails as a whole when nothing matched and one of its values was exact (errors.md 5); a keyword that the
// driver does not have cannot be created here (facts.md 38).
func (c *call) findAdvanced() []advancedProperty {
	if c.has("InputObject") {
		return c.advancedByObject()
	}
	conditions := []condition{
		{"Name", c.strs("Name")}, {"InterfaceDescription", c.strs("InterfaceDescription")},
		{"RegistryKeyword", c.strs("RegistryKeyword")}, {"DisplayName", c.strs("DisplayName")},
	}
	var found []advancedProperty
	for _, a := range c.netAdapters(c.boolean("IncludeHidden")) {
		for _, k := range a.keywords() {
			if k.Hidden && !c.boolean("AllProperties") {
				continue
			}
			if conditions[0].holds(a.name()) && conditions[1].holds(c.description(a)) && conditions[2].holds(k.Keyword) && conditions[3].holds(k.DisplayName) {
				found = append(found, advancedProperty{a, k})
			}
		}
	}
	c.missingInQuery(classAdvanced, conditions, len(found) > 0, func(want string, property string) bool {
		for _, p := range found {
			if property == "Name" && matchesAny([]string{want}, p.adapter.name()) || property == "InterfaceDescription" && matchesAny([]string{want}, c.description(p.adapter)) {
				return true
			}
		}
		return false
	})
	return found
}

// condition is one property of a query with the values that it may have.
type condition struct {
	property string
	values   []string
}

func (q condition) holds(value string) bool { return len(q.values) == 0 || matchesAny(q.values, value) }

// missingInQuery writes the errors of a query that came out empty. With one property each exact value without
// a match is an error; with several there is one error for the whole.
func (c *call) missingInQuery(class string, conditions []condition, found bool, matched func(value, property string) bool) {
	var given []condition
	for _, q := range conditions {
		if len(q.values) > 0 {
			given = append(given, q)
		}
	}
	if len(given) == 1 {
		for _, want := range given[0].values {
			if !isWildcard(want) && !matched(want, given[0].property) {
				c.fail(c.cimNotFound(class, given[0].property, want))
			}
		}
		return
	}
	if found {
		return
	}
	exact := false
	var parts []string
	for _, q := range given {
		var alternatives []string
		for _, v := range q.values {
			exact = exact || !isWildcard(v)
			alternatives = append(alternatives, fmt.Sprintf("(%s LIKE '%s')", q.property, strings.ReplaceAll(v, "*", "%")))
		}
		parts = append(parts, "("+strings.Join(alternatives, " OR ")+")")
	}
	if exact {
		c.fail(c.cimNotFoundQuery(class, strings.Join(parts, " AND ")))
	}
}

func (c *call) advancedByObject() []advancedProperty {
	var found []advancedProperty
	for _, o := range c.objects("InputObject") {
		_, id, _ := strings.Cut(o.Ref, ":")
		id, name, _ := strings.Cut(id, "::")
		matched := false
		for _, a := range c.netAdapters(true) {
			if strings.EqualFold(a.guid(), id) {
				if k := findKeyword(a.keywords(), name); k != nil {
					found, matched = append(found, advancedProperty{a, k}), true
				}
			}
		}
		if !matched {
			c.fail(c.cimNotFoundQuery(classAdvanced, fmt.Sprintf("((InstanceID = '%s::%s'))", id, name)))
		}
	}
	return found
}

// setNetAdapterAdvancedProperty changes the registry; the running miniport follows with the restart that
// comes at the end unless -NoRestart is given (facts.md 33).
func setNetAdapterAdvancedProperty(c *call) {
	for _, p := range c.findAdvanced() {
		var value string
		switch {
		case c.has("RegistryValue"):
			values := c.strs("RegistryValue")
			if len(values) != 1 {
				c.fail(c.cimSystemError(87, classAdvanced, "The parameter is incorrect."))
				continue
			}
			value = values[0]
			if err := c.checkValue(p.keyword, value); err != nil {
				c.fail(err)
				continue
			}
		case c.has("DisplayValue"):
			var err *cmdlet.Error
			if value, err = c.fromDisplay(p.keyword, c.str("DisplayValue")); err != nil {
				c.fail(err)
				continue
			}
		default:
			continue
		}
		c.setKeyword(p.adapter, p.keyword, value)
		c.finishAdvanced(p)
	}
}

func (c *call) finishAdvanced(p advancedProperty) {
	if !c.boolean("NoRestart") {
		c.restart(p.adapter, c.inv.Cmdlet+" "+p.keyword.Keyword)
	}
	if c.boolean("PassThru") {
		c.emit(c.advancedObject(p))
	}
}

// setKeyword writes a value to the registry. A change of RdmaMaxVfsEnabled waits for a bounce of every PF of
// the device (facts.md 35).
func (c *call) setKeyword(a *netAdapter, k *Keyword, value string) {
	changed := k.Registry != value
	k.Registry = value
	if changed && a.device != nil && strings.EqualFold(k.Keyword, keywordMaxVFs) {
		a.device.needMaxVfsBounce()
	}
}

// checkValue judges a value as the driver's list or range does (errors.md 5).
func (c *call) checkValue(k *Keyword, value string) *cmdlet.Error {
	if len(k.Valid) > 0 {
		if matchesExactly(k.Valid, value) {
			return nil
		}
		return c.cimSystemError(87, classAdvanced, "No matching keyword value found. The following are valid keyword values: %s", strings.Join(k.Valid, ", "))
	}
	if k.Min == nil || k.Max == nil {
		return nil
	}
	step := 1
	if k.Step != nil && *k.Step > 0 {
		step = *k.Step
	}
	n, ok := wholeNumber(value)
	if ok && n >= int64(*k.Min) && n <= int64(*k.Max) && (n-int64(*k.Min))%int64(step) == 0 {
		return nil
	}
	if step > 1 {
		return c.cimSystemError(87, classAdvanced, "Value must be within the range %d - %d, in increments of %d", *k.Min, *k.Max, step)
	}
	return c.cimSystemError(87, classAdvanced, "Value must be within the range %d - %d", *k.Min, *k.Max)
}

func (c *call) fromDisplay(k *Keyword, display string) (string, *cmdlet.Error) {
	for i, d := range k.ValidDisplay {
		if strings.EqualFold(d, display) {
			return k.Valid[i], nil
		}
	}
	if len(k.Valid) > 0 {
		return "", c.cimSystemError(87, classAdvanced, "No matching display value found. The following are valid display values: %s", strings.Join(k.ValidDisplay, ", "))
	}
	return display, c.checkValue(k, display)
}

func (k *Keyword) display(value string) string {
	for i, v := range k.Valid {
		if strings.EqualFold(v, value) && i < len(k.ValidDisplay) {
			return k.ValidDisplay[i]
		}
	}
	return value
}

// advancedObject: RegistryValue is an array, and shows what the registry holds (facts.md 40).
func (c *call) advancedObject(p advancedProperty) *cmdlet.Object {
	k := p.keyword
	kind, base := 5, any(nil)
	low, high, step := any(nil), any(nil), any(nil)
	if len(k.Valid) == 0 && k.Min != nil {
		kind, base = 4, "10"
		low, high, step = fmt.Sprint(*k.Min), fmt.Sprint(*k.Max), "1"
		if k.Step != nil {
			step = fmt.Sprint(*k.Step)
		}
	}
	o := c.settingData(classAdvanced, p.adapter, 3,
		prop("DisplayName", k.DisplayName), prop("DisplayValue", k.display(k.Registry)), prop("DefaultDisplayValue", k.display(k.Default)),
		prop("DefaultRegistryValue", k.Default), prop("DisplayParameterType", u32(kind)), prop("NumericParameterBaseValue", base),
		prop("NumericParameterMinValue", low), prop("NumericParameterMaxValue", high), prop("NumericParameterStepValue", step), prop("Optional", false),
		prop("RegistryDataType", u32(1)), prop("RegistryKeyword", k.Keyword), prop("RegistryValue", list(k.Registry)),
		prop("ValidDisplayValues", list(k.ValidDisplay...)), prop("ValidRegistryValues", list(k.Valid...)),
		prop("ValueName", k.Keyword), prop("ValueData", list(k.Registry)),
	)
	o.Ref += "::" + k.Keyword
	for i := range o.Properties {
		if o.Properties[i].Name == "InstanceID" {
			o.Properties[i].Value = p.adapter.guid() + "::" + k.Keyword
		}
	}
	return o
}
