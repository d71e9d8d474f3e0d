package customtypes_test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

func TestSemanticEquality(t *testing.T) {
	name := func(s string) basetypes.StringValuableWithSemanticEquals { return customtypes.NewName(s) }
	mac := func(s string) basetypes.StringValuableWithSemanticEquals { return customtypes.NewMAC(s) }
	guid := func(s string) basetypes.StringValuableWithSemanticEquals { return customtypes.NewGUID(s) }
	tests := []struct {
		name string
		make func(string) basetypes.StringValuableWithSemanticEquals
		a, b string
		want bool
	}{
		{"same name", name, "Switch 'A' [1]*", "Switch 'A' [1]*", true},
		{"name in other case", name, "Switch-A", "sWITCH-a", true},
		{"umlaut", name, "Übung", "üBUNG", true},
		{"Cyrillic", name, "ж", "Ж", true},
		{"sharp s has no upper case of one letter", name, "straße", "STRASSE", false},
		{"long s is no s", name, "ſ", "s", false},
		{"dotless i is no I", name, "ı", "I", false},
		{"Kelvin sign is no k", name, "\u212a", "k", false},
		{"letters beyond U+FFFF are compared as they are", name, "\U00010400", "\U00010428", false},
		{"prefix", name, "Switch", "Switch1", false},
		{"combining character", name, "u\u0308", "\u00fc", false},

		{"MAC forms", mac, "00155D000aB1", "00-15-5d-00-0A-b1", true},
		{"MAC with colons", mac, "00:15:5d:00:0a:b1", "00155D000AB1", true},
		{"MAC with dots", mac, "0015.5d00.0ab1", "00155D000AB1", true},
		{"another MAC", mac, "00155D000AB1", "00155D000AB2", false},
		{"the same text that is no MAC", mac, "x", "x", true},
		{"texts that are no MACs", mac, "x", "X", false},

		{"GUID with braces", guid, "{5F0E4B8A-3C57-4F8E-9D0A-6B1F2C3D4E5F}", "5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f", true},
		{"another GUID", guid, "5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f", "5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e50", false},
		{"texts that are no GUIDs", guid, "a", "A", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, pair := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
				got, d := tt.make(pair[0]).StringSemanticEquals(context.Background(), tt.make(pair[1]))
				if got != tt.want || d.HasError() {
					t.Errorf("%q and %q: %v %v", pair[0], pair[1], got, d)
				}
			}
		})
	}
}

func TestValidate(t *testing.T) {
	mac := func(s string) xattr.ValidateableAttribute { return customtypes.NewMAC(s) }
	guid := func(s string) xattr.ValidateableAttribute { return customtypes.NewGUID(s) }
	tests := []struct {
		name  string
		value xattr.ValidateableAttribute
		ok    bool
	}{
		{"MAC", mac("00155D000101"), true},
		{"MAC with hyphens", mac("00-15-5D-00-01-01"), true},
		{"MAC that is null", customtypes.NewMACNull(), true},
		{"MAC with too few digits", mac("00155D00010"), false},
		{"MAC with a letter too many", mac("00155D00010G"), false},
		{"MAC with uneven groups", mac("0015-5D-00-01-0-1"), false},
		{"MAC with two separators", mac("00-15-5D:00-01-01"), false},
		{"MAC with too many groups", mac("00-15-5D-00-01-01-02"), false},
		{"empty MAC", mac(""), false},
		{"GUID", guid("5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f"), true},
		{"GUID with one brace", guid("{5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f"), false},
		{"GUID that is too short", guid("5f0e4b8a"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var resp xattr.ValidateAttributeResponse
			tt.value.ValidateAttribute(context.Background(), xattr.ValidateAttributeRequest{Path: path.Root("x")}, &resp)
			if resp.Diagnostics.HasError() == tt.ok {
				t.Errorf("%v", resp.Diagnostics)
			}
		})
	}
}

func TestKeep(t *testing.T) {
	tests := []struct {
		name                string
		modifier            planmodifier.String
		state, config, want types.String
	}{
		{"name in another spelling", customtypes.KeepName(), types.StringValue("SW"), types.StringValue("sw"), types.StringValue("SW")},
		{"another name", customtypes.KeepName(), types.StringValue("SW"), types.StringValue("sx"), types.StringValue("sx")},
		{"new", customtypes.KeepName(), types.StringNull(), types.StringValue("sw"), types.StringValue("sw")},
		{"removed", customtypes.KeepName(), types.StringValue("sw"), types.StringNull(), types.StringNull()},
		{"unknown", customtypes.KeepName(), types.StringValue("sw"), types.StringUnknown(), types.StringUnknown()},
		{"MAC", customtypes.KeepMAC(), types.StringValue("00155D000101"), types.StringValue("00-15-5d-00-01-01"), types.StringValue("00155D000101")},
		{"GUID", customtypes.KeepGUID(), types.StringValue("5F0E4B8A-3C57-4F8E-9D0A-6B1F2C3D4E5F"), types.StringValue("{5f0e4b8a-3c57-4f8e-9d0a-6b1f2c3d4e5f}"), types.StringValue("5F0E4B8A-3C57-4F8E-9D0A-6B1F2C3D4E5F")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := planmodifier.StringResponse{PlanValue: tt.config}
			tt.modifier.PlanModifyString(context.Background(), planmodifier.StringRequest{StateValue: tt.state, ConfigValue: tt.config, PlanValue: tt.config}, &resp)
			if !resp.PlanValue.Equal(tt.want) {
				t.Errorf("planned %s, want %s", resp.PlanValue, tt.want)
			}
		})
	}
}

func TestValueFromTerraform(t *testing.T) {
	for _, ty := range []attr.Type{customtypes.NameType{}, customtypes.MACType{}, customtypes.GUIDType{}} {
		t.Run(ty.String(), func(t *testing.T) {
			for _, v := range []tftypes.Value{tftypes.NewValue(tftypes.String, "x"), tftypes.NewValue(tftypes.String, nil), tftypes.NewValue(tftypes.String, tftypes.UnknownValue)} {
				got, err := ty.ValueFromTerraform(context.Background(), v)
				if err != nil {
					t.Fatal(err)
				}
				back, err := got.ToTerraformValue(context.Background())
				if err != nil || !back.Equal(v) || !got.Type(context.Background()).Equal(ty) {
					t.Errorf("%s became %s of %s: %v", v, back, got.Type(context.Background()), err)
				}
			}
			if _, err := ty.ValueFromTerraform(context.Background(), tftypes.NewValue(tftypes.Bool, true)); err == nil {
				t.Error("a bool was taken for a string")
			}
			if ty.Equal(types.StringType) {
				t.Error("equal to an ordinary string type")
			}
		})
	}
}
