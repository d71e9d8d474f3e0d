package customtypes

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	_ basetypes.StringTypable                    = GUIDType{}
	_ basetypes.StringValuableWithSemanticEquals = GUID{}
	_ xattr.ValidateableAttribute                = GUID{}
)

// GUIDType is the type of GUIDs, with or without braces, in upper or lower case.
type GUIDType struct{ basetypes.StringType }

// GUID is a value of GUIDType.
type GUID struct{ basetypes.StringValue }

// NewGUID is a known GUID.
func NewGUID(s string) GUID { return GUID{basetypes.NewStringValue(s)} }

// NewGUIDNull is a GUID that is not set.
func NewGUIDNull() GUID { return GUID{basetypes.NewStringNull()} }

// Equal says whether o is the same type.
func (t GUIDType) Equal(o attr.Type) bool { _, ok := o.(GUIDType); return ok }

// String names the type in messages.
func (GUIDType) String() string { return "customtypes.GUIDType" }

// ValueType is GUID.
func (GUIDType) ValueType(context.Context) attr.Value { return GUID{} }

// ValueFromString makes a GUID.
func (GUIDType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return GUID{in}, nil
}

// ValueFromTerraform makes a GUID.
func (t GUIDType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	s, err := stringFromTerraform(ctx, in)
	return GUID{s}, err
}

// Type is GUIDType.
func (GUID) Type(context.Context) attr.Type { return GUIDType{} }

// Equal says whether both are written the same.
func (v GUID) Equal(o attr.Value) bool {
	other, ok := o.(GUID)
	return ok && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals says whether both mean the same GUID.
func (v GUID) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(GUID)
	return ok && EqualGUID(v.ValueString(), other.ValueString()), nil
}

// ValidateAttribute rejects what is no GUID.
func (v GUID) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if _, err := ParseGUID(v.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid GUID",
			fmt.Sprintf("%q is no GUID: %v. Write it as 5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f, with or without braces.", v.ValueString(), err))
	}
}

// EqualGUID compares two texts by the GUID they mean; what is none equals only itself.
func EqualGUID(a, b string) bool {
	if a == b {
		return true
	}
	pa, errA := ParseGUID(a)
	pb, errB := ParseGUID(b)
	return errA == nil && errB == nil && pa == pb
}

// ParseGUID gives the form without braces in lower case.
func ParseGUID(s string) (string, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}
