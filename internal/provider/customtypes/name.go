// Package customtypes holds string types whose values may be written in more than one way and still
// mean the same: what the user wrote stays in the state as long as the host means the same by it.
package customtypes

import (
	"context"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	_ basetypes.StringTypable                    = NameType{}
	_ basetypes.StringValuableWithSemanticEquals = Name{}
)

// NameType is the type of names that Windows compares without regard to case: of switches, VMs,
// adapters, keywords.
type NameType struct{ basetypes.StringType }

// Name is a value of NameType.
type Name struct{ basetypes.StringValue }

// NewName is a known Name.
func NewName(s string) Name { return Name{basetypes.NewStringValue(s)} }

// NewNameNull is a Name that is not set.
func NewNameNull() Name { return Name{basetypes.NewStringNull()} }

// Equal says whether o is the same type.
func (t NameType) Equal(o attr.Type) bool { _, ok := o.(NameType); return ok }

// String names the type in messages.
func (NameType) String() string { return "customtypes.NameType" }

// ValueType is Name.
func (NameType) ValueType(context.Context) attr.Value { return Name{} }

// ValueFromString makes a Name.
func (NameType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Name{in}, nil
}

// ValueFromTerraform makes a Name.
func (t NameType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	s, err := stringFromTerraform(ctx, in)
	return Name{s}, err
}

// Type is NameType.
func (Name) Type(context.Context) attr.Type { return NameType{} }

// Equal says whether both are written the same.
func (v Name) Equal(o attr.Value) bool {
	other, ok := o.(Name)
	return ok && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals says whether both name the same thing.
func (v Name) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Name)
	return ok && EqualName(v.ValueString(), other.ValueString()), nil
}

// EqualName compares as Windows does (OrdinalIgnoreCase): by each character's simple upper case, in no
// language. Characters beyond U+FFFF, and those whose upper case would be an ASCII letter without
// being one themselves, equal only themselves.
func EqualName(a, b string) bool {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb && ordinalUpper(ra) != ordinalUpper(rb) {
			return false
		}
		a, b = a[na:], b[nb:]
	}
	return a == "" && b == ""
}

func ordinalUpper(r rune) rune {
	upper := unicode.ToUpper(r)
	if r > 0xFFFF || (r > unicode.MaxASCII && upper <= unicode.MaxASCII) {
		return r
	}
	return upper
}

func stringFromTerraform(ctx context.Context, in tftypes.Value) (basetypes.StringValue, error) {
	v, err := basetypes.StringType{}.ValueFromTerraform(ctx, in)
	if err != nil {
		return basetypes.NewStringNull(), err
	}
	s, ok := v.(basetypes.StringValue)
	if !ok {
		return basetypes.NewStringNull(), fmt.Errorf("%T is no string value", v)
	}
	return s, nil
}
