package catalog

import (
	"math/bits"
	"slices"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// chooseSet ends the command line: one set must be left, or, with input to come, one that the input
// can still decide; mandatory parameters that no input can give must be there.
func (b *binder) chooseSet() *cmdlet.Error {
	count, err := b.validate(b.expectsInput, !b.expectsInput)
	if err != nil {
		return err
	}
	if b.expectsInput && count > 1 {
		if narrowed := b.takingInput(); narrowed != b.valid {
			b.valid = narrowed
			if _, err := b.validate(true, false); err != nil {
				return err
			}
		}
	}
	if b.expectsInput {
		return b.missingBesideInput()
	}
	if missing := b.missing(b.current(), false); len(missing) > 0 {
		return b.cmdlet.missingMandatory(missing)
	}
	return nil
}

// validate is how many sets are possible. With setDefault the default set is taken where it is one of
// several. No possible set, or several that nothing decides, is AmbiguousParameterSet.
func (b *binder) validate(beforeInput, setDefault bool) (int, *cmdlet.Error) {
	if b.oneSet() {
		return 1, nil
	}
	if b.valid == everySet {
		switch {
		case beforeInput && b.someTakesInput():
			return len(b.cmdlet.Sets), nil
		case b.defaultFlag() != 0:
			if setDefault {
				b.valid = b.defaultFlag()
				return 1, nil
			}
			return len(b.cmdlet.Sets), nil
		}
		return b.decideByMandatory()
	}
	count := bits.OnesCount64(b.valid)
	switch {
	case count == 0:
		return 0, b.cmdlet.ambiguousSet()
	case count == 1:
		return 1, nil
	case b.valid&b.defaultFlag() != 0:
		if setDefault {
			b.valid = b.defaultFlag()
			return 1, nil
		}
		return count, nil
	case beforeInput && b.someTakesInput():
		return count, nil
	}
	return b.decideByMandatory()
}

// decideByMandatory takes the only set of which no mandatory parameter of its own is missing. A
// mandatory parameter of all sets does not count, because it tells none of them apart.
func (b *binder) decideByMandatory() (int, *cmdlet.Error) {
	var left uint64
	for i, set := range b.cmdlet.Sets {
		if b.valid&(1<<i) != 0 && !b.missesOwn(set) {
			left |= 1 << i
		}
	}
	if bits.OnesCount64(left) != 1 {
		return 0, b.cmdlet.ambiguousSet()
	}
	b.valid = left
	return 1, nil
}

func (b *binder) missesOwn(set string) bool {
	return slices.ContainsFunc(b.cmdlet.Parameters, func(p *Parameter) bool {
		m, ok := p.in(set)
		_, bound := b.bound[p]
		return ok && m.Set == set && m.Mandatory && !bound
	})
}

// current is the set whose mandatory parameters count now.
func (b *binder) current() string {
	if bits.OnesCount64(b.valid) == 1 {
		return b.cmdlet.Sets[bits.TrailingZeros64(b.valid)]
	}
	if b.oneSet() {
		return b.cmdlet.Sets[0]
	}
	return b.cmdlet.DefaultSet
}

// missing lists mandatory parameters of a set that are not bound; with beside, only those that no
// input can give.
func (b *binder) missing(set string, beside bool) []string {
	var names []string
	for _, p := range b.cmdlet.Parameters {
		if _, ok := b.bound[p]; ok {
			continue
		}
		m, ok := p.in(set)
		if !ok || !m.Mandatory || beside && (m.ByValue || m.ByPropertyName) {
			continue
		}
		names = append(names, p.Name)
	}
	return names
}

// missingBesideInput drops the sets that need a parameter which neither the call nor its input gives.
func (b *binder) missingBesideInput() *cmdlet.Error {
	if b.oneSet() {
		if missing := b.missing(b.cmdlet.Sets[0], true); len(missing) > 0 {
			return b.cmdlet.missingMandatory(missing)
		}
		return nil
	}
	var left uint64
	for i, set := range b.cmdlet.Sets {
		if b.valid&(1<<i) != 0 && len(b.missing(set, true)) == 0 {
			left |= 1 << i
		}
	}
	if left == 0 {
		set := b.current()
		if b.valid&b.defaultFlag() != 0 {
			set = b.cmdlet.DefaultSet
		}
		return b.cmdlet.missingMandatory(b.missing(set, true))
	}
	if b.valid != everySet || left != b.allSets() {
		b.valid = left
	}
	return nil
}

func (b *binder) allSets() uint64 { return 1<<len(b.cmdlet.Sets) - 1 }

// someTakesInput: could the input still decide?
func (b *binder) someTakesInput() bool {
	return slices.ContainsFunc(b.cmdlet.Parameters, func(p *Parameter) bool {
		if _, ok := b.bound[p]; ok {
			return false
		}
		for _, m := range b.memberships(p, b.valid) {
			if m.ByValue || m.ByPropertyName {
				return true
			}
		}
		return false
	})
}

// takingInput narrows the sets to those with a free parameter that takes input.
func (b *binder) takingInput() uint64 {
	var taking uint64
	for _, p := range b.cmdlet.Parameters {
		if _, ok := b.bound[p]; ok {
			continue
		}
		for _, m := range b.memberships(p, b.valid) {
			if !m.ByValue && !m.ByPropertyName {
				continue
			}
			i := slices.Index(b.cmdlet.Sets, m.Set)
			if i < 0 {
				return b.valid
			}
			taking |= 1 << i
		}
	}
	if taking == 0 {
		return b.valid
	}
	return b.valid & taking
}

// memberships are what the parameter is in those of the given sets that have it.
func (b *binder) memberships(p *Parameter, sets uint64) []Membership {
	var out []Membership
	for _, m := range p.Sets {
		i := slices.Index(b.cmdlet.Sets, m.Set)
		if m.Set == AllSets || i < 0 || sets&(1<<i) != 0 {
			out = append(out, m)
		}
	}
	return out
}
