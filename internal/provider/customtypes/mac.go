package customtypes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	_ basetypes.StringTypable                    = MACType{}
	_ basetypes.StringValuableWithSemanticEquals = MAC{}
	_ xattr.ValidateableAttribute                = MAC{}
)

// MACType is the type of MAC addresses, written as 00155D000101, 00-15-5D-00-01-01,
// 00:15:5d:00:01:01 or 0015.5d00.0101. Hyper-V itself writes the first form, net adapters the second.
type MACType struct{ basetypes.StringType }

// MAC is a value of MACType.
type MAC struct{ basetypes.StringValue }

// NewMAC is a known MAC.
func NewMAC(s string) MAC { return MAC{basetypes.NewStringValue(s)} }

// NewMACNull is a MAC that is not set.
func NewMACNull() MAC { return MAC{basetypes.NewStringNull()} }

// Equal says whether o is the same type.
func (t MACType) Equal(o attr.Type) bool { _, ok := o.(MACType); return ok }

// String names the type in messages.
func (MACType) String() string { return "customtypes.MACType" }

// ValueType is MAC.
func (MACType) ValueType(context.Context) attr.Value { return MAC{} }

// ValueFromString makes a MAC.
func (MACType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return MAC{in}, nil
}

// ValueFromTerraform makes a MAC.
func (t MACType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	s, err := stringFromTerraform(ctx, in)
	return MAC{s}, err
}

// Type is MACType.
func (MAC) Type(context.Context) attr.Type { return MACType{} }

// Equal says whether both are written the same.
func (v MAC) Equal(o attr.Value) bool {
	other, ok := o.(MAC)
	return ok && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals says whether both mean the same MAC address.
func (v MAC) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(MAC)
	return ok && EqualMAC(v.ValueString(), other.ValueString()), nil
}

// ValidateAttribute rejects what is no MAC address.
func (v MAC) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if _, err := ParseMAC(v.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid MAC address",
			fmt.Sprintf("%q is no MAC address: %v. Write twelve hexadecimal digits, for example 00155D000101 or 00-15-5D-00-01-01.", v.ValueString(), err))
	}
}

// EqualMAC compares two texts by the MAC address they mean; what is none equals only itself.
func EqualMAC(a, b string) bool {
	if a == b {
		return true
	}
	pa, errA := ParseMAC(a)
	pb, errB := ParseMAC(b)
	return errA == nil && errB == nil && pa == pb
}

// ParseMAC gives the form that Hyper-V writes: twelve hexadecimal digits in upper case.
func ParseMAC(s string) (string, error) {
	digits := s
	for _, separator := range []struct {
		text  string
		parts int
		width int
	}{{"-", 6, 2}, {":", 6, 2}, {".", 3, 4}} {
		if !strings.Contains(s, separator.text) {
			continue
		}
		parts := strings.Split(s, separator.text)
		if len(parts) != separator.parts {
			return "", errors.New("wrong number of groups")
		}
		for _, part := range parts {
			if len(part) != separator.width {
				return "", fmt.Errorf("group %q does not have %d digits", part, separator.width)
			}
		}
		digits = strings.Join(parts, "")
		break
	}
	if len(digits) != 12 {
		return "", errors.New("it does not have twelve digits")
	}
	if !regexp.MustCompile(`^[0-9A-Fa-f]+$`).MatchString(digits) {
		return "", errors.New("it has characters that are no hexadecimal digits")
	}
	return strings.ToUpper(digits), nil
}
