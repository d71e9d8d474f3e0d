package hyperv

import (
	"slices"
	"strings"
)

// classStep is one call on the way from the classes that are there to those that shall be.
type classStep struct {
	verb  string // Remove, Set, New
	class TrafficClass
}

// classSteps orders the calls so that the host refuses none on the way: a priority is in one class only, and the sum of the
// bandwidths stays below 100 (facts.md 85b). So what goes, goes first; what shrinks or gives priorities away, does so
// next; then come new classes, and at last those that grow. A class that keeps none of its priorities, or changes its
// algorithm, is made anew.
func classSteps(now, target []TrafficClass) []classStep {
	var removes, shrinks, news, grows []classStep
	for _, have := range now {
		i := slices.IndexFunc(target, func(c TrafficClass) bool { return strings.EqualFold(c.Name, have.Name) })
		if i < 0 {
			removes = append(removes, classStep{"Remove", have})
			continue
		}
		want := target[i]
		want.Name = have.Name
		if want.same(have) {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(have.Priorities), func(p int64) bool { return !slices.Contains(want.Priorities, p) })
		if len(kept) == 0 || want.Algorithm != have.Algorithm {
			removes, news = append(removes, classStep{"Remove", have}), append(news, classStep{"New", want})
			continue
		}
		between := TrafficClass{Name: have.Name, Algorithm: have.Algorithm, Bandwidth: min(have.Bandwidth, want.Bandwidth), Priorities: kept}
		if !between.same(have) {
			shrinks = append(shrinks, classStep{"Set", between})
		}
		if !want.same(between) {
			grows = append(grows, classStep{"Set", want})
		}
	}
	for _, want := range target {
		if !hasClass(now, want.Name) {
			news = append(news, classStep{"New", want})
		}
	}
	return slices.Concat(removes, shrinks, news, grows)
}
