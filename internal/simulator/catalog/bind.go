package catalog

import (
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Binding is a call that PowerShell's binder would let through.
type Binding struct {
	Set        string         // name of the parameter set, AllSets where the cmdlet has none
	Parameters map[string]any // canonical values (package cmdlet) under the catalogue's names
	Common     map[string]any // ErrorAction, WhatIf, Confirm and the like, under their full names
}

// Bind judges a call with named parameters: args are values as a script would splat them (JSON
// values and those of package cmdlet), piped is the pipeline's object, nil without a pipeline. An
// error with Terminating set is about the call itself, any other about this one object.
func (c *Cmdlet) Bind(args map[string]any, piped *cmdlet.Object) (set string, bound map[string]any, err *cmdlet.Error) {
	b, err := c.BindCall(args, piped)
	if err != nil {
		return "", nil, err
	}
	return b.Set, b.Parameters, nil
}

// BindCall is Bind with the common parameters in its result.
func (c *Cmdlet) BindCall(args map[string]any, piped *cmdlet.Object) (*Binding, *cmdlet.Error) {
	b := &binder{
		cmdlet: c, valid: everySet, expectsInput: piped != nil,
		bound: map[*Parameter]any{}, common: map[string]any{},
	}
	if err := b.commandLine(args); err != nil {
		return nil, err
	}
	if piped != nil {
		if err := b.pipeline(piped); err != nil {
			err.Target, err.Terminating = piped, false
			return nil, err
		}
	}
	out := &Binding{Set: b.setName(), Parameters: make(map[string]any, len(b.bound)), Common: b.common}
	for p, v := range b.bound {
		out.Parameters[p.Name] = v
	}
	return out, nil
}

// everySet is the state before any parameter has narrowed the sets down.
const everySet = ^uint64(0)

// binder is one call on its way through the engine's rules: named parameters first, then the choice
// of a set, then the pipeline's object.
type binder struct {
	cmdlet       *Cmdlet
	valid        uint64 // sets that are still possible, by position in Cmdlet.Sets
	expectsInput bool
	bound        map[*Parameter]any
	common       map[string]any
}

// commandLine binds named parameters and chooses the set as far as it can be known without input.
func (b *binder) commandLine(args map[string]any) *cmdlet.Error {
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	sort.Strings(names)
	type match struct {
		parameter *Parameter
		common    *commonParameter
	}
	matches := make(map[string]match, len(names))
	for _, name := range names {
		p, k, err := b.match(name)
		if err != nil {
			return err
		}
		matches[name] = match{p, k}
	}
	unknown := ""
	seen := map[any]bool{}
	for _, name := range names {
		m := matches[name]
		switch {
		case m.parameter != nil:
			if seen[m.parameter] {
				return b.cmdlet.alreadyBound(m.parameter.Name)
			}
			seen[m.parameter] = true
			if err := b.bindNamed(m.parameter, args[name]); err != nil {
				return err
			}
		case m.common != nil:
			if seen[m.common] {
				return b.cmdlet.alreadyBound(m.common.name)
			}
			seen[m.common] = true
			v, err := b.cmdlet.convertCommon(m.common, args[name])
			if err != nil {
				return err
			}
			b.common[m.common.name] = v
		case unknown == "":
			unknown = name
		}
	}
	if unknown != "" {
		return b.cmdlet.notFound(unknown)
	}
	return b.chooseSet()
}

func (b *binder) bindNamed(p *Parameter, value any) *cmdlet.Error {
	v, err := b.cmdlet.convertChecked(p, value)
	if err != nil {
		return err
	}
	b.keep(p, v)
	return nil
}

func (b *binder) keep(p *Parameter, value any) {
	b.bound[p] = value
	if flags := b.flags(p); flags != everySet {
		b.valid &= flags
	}
}

// flags are the sets that have the parameter; everySet for one that belongs to all.
func (b *binder) flags(p *Parameter) uint64 {
	var flags uint64
	for _, m := range p.Sets {
		i := slices.Index(b.cmdlet.Sets, m.Set)
		if m.Set == AllSets || i < 0 {
			return everySet
		}
		flags |= 1 << i
	}
	return flags
}

// match finds a parameter by name, alias, or the beginning of exactly one of them.
func (b *binder) match(name string) (*Parameter, *commonParameter, *cmdlet.Error) {
	if p := b.cmdlet.Parameter(name); p != nil {
		return p, nil, nil
	}
	usable := b.cmdlet.commonParameters()
	for _, k := range usable {
		if k.answersTo(name) {
			return nil, k, nil
		}
	}
	if name == "" {
		return nil, nil, nil
	}
	var own []*Parameter
	for _, p := range b.cmdlet.Parameters {
		if begins(p.Name, name) || slices.ContainsFunc(p.Aliases, func(a string) bool { return begins(a, name) }) {
			own = append(own, p)
		}
	}
	if len(own) == 1 {
		return own[0], nil, nil
	}
	if len(own) > 1 {
		return nil, nil, b.cmdlet.ambiguousName(name)
	}
	var shared []*commonParameter
	for _, k := range usable {
		if begins(k.name, name) {
			shared = append(shared, k)
		}
	}
	if len(shared) == 1 {
		return nil, shared[0], nil
	}
	if len(shared) > 1 {
		return nil, nil, b.cmdlet.ambiguousName(name)
	}
	return nil, nil, nil
}

func begins(full, start string) bool {
	return len(full) >= len(start) && strings.EqualFold(full[:len(start)], start)
}

// defaultFlag is the bit of the default set, 0 when there is none.
func (b *binder) defaultFlag() uint64 {
	if i := slices.Index(b.cmdlet.Sets, b.cmdlet.DefaultSet); i >= 0 && !b.cmdlet.single && !b.oneSet() {
		return 1 << i
	}
	return 0
}

// oneSet says that the parameters name no set at all, although the documentation gives it a name.
func (b *binder) oneSet() bool { return len(b.cmdlet.Sets) == 1 }

func (b *binder) setName() string {
	if b.oneSet() || bits.OnesCount64(b.valid) != 1 {
		if b.cmdlet.DefaultSet != "" {
			return b.cmdlet.DefaultSet
		}
		return AllSets
	}
	return b.cmdlet.Sets[bits.TrailingZeros64(b.valid)]
}
