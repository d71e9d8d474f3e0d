package catalog

import "github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"

// The engine tries an object in this order; a parameter that one step binds is out of the next.
var pipelineSteps = []struct{ byProperty, coerce bool }{{false, false}, {true, false}, {false, true}, {true, true}}

// pipeline binds an object of the pipeline and settles the set.
func (b *binder) pipeline(object *cmdlet.Object) *cmdlet.Error {
	bound := false
	for _, step := range pipelineSteps {
		if !b.step(object, step.byProperty, step.coerce) {
			continue
		}
		bound = true
		if _, err := b.validate(true, true); err != nil {
			return err
		}
	}
	if !bound {
		return b.cmdlet.inputNotBound()
	}
	if _, err := b.validate(false, true); err != nil {
		return err
	}
	if missing := b.missing(b.current(), false); len(missing) > 0 {
		return b.cmdlet.inputMissesMandatory(missing)
	}
	return nil
}

// step prefers the default set where it is still possible.
func (b *binder) step(object *cmdlet.Object, byProperty, coerce bool) bool {
	sets := b.valid
	if d := b.defaultFlag(); d != 0 && sets&d != 0 {
		if b.stepIn(object, byProperty, coerce, d) {
			return true
		}
		sets &^= d
		if sets == everySet&^d {
			sets = b.allSets() &^ d
		}
	}
	return b.stepIn(object, byProperty, coerce, sets)
}

func (b *binder) stepIn(object *cmdlet.Object, byProperty, coerce bool, sets uint64) bool {
	bound := false
	for i := len(b.cmdlet.Parameters) - 1; i >= 0; i-- {
		p := b.cmdlet.Parameters[i]
		if _, ok := b.bound[p]; ok {
			continue
		}
		if flags := b.flags(p); flags != everySet && flags&b.valid == 0 {
			continue
		}
		for _, m := range b.memberships(p, sets) {
			if byProperty && !m.ByPropertyName || !byProperty && !m.ByValue {
				continue
			}
			var value any = object
			if byProperty {
				var ok bool
				if value, ok = propertyFor(object, p); !ok {
					continue
				}
			}
			if b.tryBind(p, value, coerce) {
				bound = true
				break
			}
		}
	}
	return bound
}

// tryBind binds a value of the pipeline; one that does not fit is no error here.
func (b *binder) tryBind(p *Parameter, value any, coerce bool) bool {
	if !coerce && !b.cmdlet.catalog.instanceOf(p, value) {
		return false
	}
	v, err := b.cmdlet.convertChecked(p, value)
	if err != nil {
		return false
	}
	b.keep(p, v)
	return true
}

func propertyFor(object *cmdlet.Object, p *Parameter) (any, bool) {
	if v, ok := object.Get(p.Name); ok {
		return v, true
	}
	for _, a := range p.Aliases {
		if v, ok := object.Get(a); ok {
			return v, true
		}
	}
	return nil, false
}
