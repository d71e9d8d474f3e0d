package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// filter connects a parameter with the property that it is compared with.
type filter struct{ parameter, property string }

// query keeps the rows that fit the parameters given, and writes PowerShell's errors for what was not found
// (errors.md 5).
func (c *call) query(class string, rows []*cmdlet.Object, filters ...filter) []*cmdlet.Object {
	var conditions []condition
	for _, f := range filters {
		if c.has(f.parameter) {
			conditions = append(conditions, condition{f.property, c.strs(f.parameter)})
		}
	}
	var found []*cmdlet.Object
	for _, row := range rows {
		fits := true
		for _, q := range conditions {
			v, _ := row.Get(q.property)
			fits = fits && q.holds(text(v))
		}
		if fits {
			found = append(found, row)
		}
	}
	if len(conditions) > 0 {
		c.missingInQuery(class, conditions, len(found) > 0, func(want, property string) bool {
			for _, row := range found {
				if v, _ := row.Get(property); matchesAny([]string{want}, text(v)) {
					return true
				}
			}
			return false
		})
	}
	return found
}

func (c *call) emitAll(objects []*cmdlet.Object) {
	for _, o := range objects {
		c.emit(o)
	}
}
