package hyperv

import (
	"reflect"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// fieldsOf lists what a Go type wants of a PowerShell object: each field's json tag names it in the
// answer, the tag ps gives the property path where that differs.
func fieldsOf[T any]() []wire.Field {
	return structFields(reflect.TypeFor[T]())
}

func structFields(t reflect.Type) []wire.Field {
	var out []wire.Field
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("json")
		if name == "" || name == "-" {
			continue
		}
		w := wire.Field{Name: name, Path: f.Tag.Get("ps")}
		inner := f.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == t.PkgPath() {
			w.Fields = structFields(inner)
		}
		out = append(out, w)
	}
	return out
}
