package catalog

import (
	"slices"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// commonParameter is one that every advanced command has.
type commonParameter struct {
	name, alias, typ string
	shouldProcess    bool
}

func (k *commonParameter) answersTo(name string) bool {
	return strings.EqualFold(k.name, name) || strings.EqualFold(k.alias, name)
}

const switchType = "System.Management.Automation.SwitchParameter"

func (c *Cmdlet) commonParameters() []*commonParameter {
	all := []*commonParameter{
		{name: "Verbose", alias: "vb", typ: switchType}, {name: "Debug", alias: "db", typ: switchType},
		{name: "ErrorAction", alias: "ea", typ: actionPreference}, {name: "WarningAction", alias: "wa", typ: actionPreference},
		{name: "InformationAction", alias: "infa", typ: actionPreference},
		{name: "ErrorVariable", alias: "ev", typ: "System.String"}, {name: "WarningVariable", alias: "wv", typ: "System.String"},
		{name: "InformationVariable", alias: "iv", typ: "System.String"}, {name: "OutVariable", alias: "ov", typ: "System.String"},
		{name: "OutBuffer", alias: "ob", typ: "System.Int32"}, {name: "PipelineVariable", alias: "pv", typ: "System.String"},
		{name: "WhatIf", alias: "wi", typ: switchType, shouldProcess: true},
		{name: "Confirm", alias: "cf", typ: switchType, shouldProcess: true},
	}
	return slices.DeleteFunc(all, func(k *commonParameter) bool { return k.shouldProcess && !c.ShouldProcess })
}

const actionPreference = "System.Management.Automation.ActionPreference"

func actionPreferences() *Enum {
	return &Enum{Name: actionPreference, Members: []EnumMember{
		{"SilentlyContinue", 0}, {"Stop", 1}, {"Continue", 2}, {"Inquire", 3}, {"Ignore", 4}, {"Suspend", 5}, {"Break", 6},
	}}
}

// convertCommon converts as a compiled cmdlet does: the engine declares these for functions too.
func (c *Cmdlet) convertCommon(k *commonParameter, value any) (any, *cmdlet.Error) {
	p := &Parameter{Name: k.name, Type: k.typ}
	v, problem := (&converter{catalog: c.catalog, enum: actionPreferences()}).value(p, value)
	if problem != nil {
		return nil, c.cannotConvert(p, problem, true)
	}
	return v, nil
}
