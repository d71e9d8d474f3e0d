package provider

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
)

// guestsOf is guests of the provider, with what an entry leaves out as null.
func guestsOf(t *testing.T, entries map[string]map[string]attr.Value) types.Map {
	t.Helper()
	kinds := map[string]attr.Type{}
	for name, a := range guestAttributes() {
		kinds[name] = a.GetType()
	}
	values := map[string]attr.Value{}
	for vm, entry := range entries {
		full := map[string]attr.Value{}
		for name, kind := range kinds {
			null, err := kind.ValueFromTerraform(t.Context(), nullOf(t, kind))
			if err != nil {
				t.Fatal(err)
			}
			full[name] = null
			if v, ok := entry[name]; ok {
				full[name] = v
			}
		}
		values[vm] = types.ObjectValueMust(kinds, full)
	}
	return types.MapValueMust(types.ObjectType{AttrTypes: kinds}, values)
}

func TestGuestConnections(t *testing.T) {
	text, winrm := types.StringValue, types.StringValue("winrm")
	tests := []struct {
		name  string
		entry map[string]attr.Value
		error string // path and a part of the text
		want  string
	}{
		{"PowerShell Direct by default", map[string]attr.Value{"credential": text("a")}, "", ""},
		{"PowerShell Direct by name", map[string]attr.Value{"transport": text("powershell_direct")}, "", ""},
		{"nothing but WinRM", map[string]attr.Value{"transport": winrm}, "", "VM 'Ä' [1] 0 https"},
		{"all", map[string]attr.Value{"transport": winrm, "address": text("192.0.2.7"), "port": types.Int64Value(15986), "tls_server_name": text("vm1"), "max_sessions": types.Int64Value(2)}, "", "192.0.2.7 15986 https vm1 2"},
		{"HTTP", map[string]attr.Value{"transport": winrm, "https": types.BoolValue(false), "allow_unencrypted": types.BoolValue(true)}, "", "VM 'Ä' [1] 0 http"},
		{"HTTP by oversight", map[string]attr.Value{"transport": winrm, "auth": text("basic"), "https": types.BoolValue(false)}, `guests["VM 'Ä' [1]"].https: `, ""},
		{"no such file", map[string]attr.Value{"transport": winrm, "ca_file": text("/missing.pem")}, `guests["VM 'Ä' [1]"].ca_file: `, ""},
		{"WinRM's attribute without WinRM", map[string]attr.Value{"port": types.Int64Value(1)}, `guests["VM 'Ä' [1]"].port: port is about Windows Remote Management`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const vm = "VM 'Ä' [1]"
			var d diag.Diagnostics
			got := guestConnections(t.Context(), guestsOf(t, map[string]map[string]attr.Value{vm: tt.entry}), &d)
			if tt.error != "" {
				if len(d) != 1 || !strings.HasPrefix(d[0].(diag.DiagnosticWithPath).Path().String()+": "+d[0].Detail(), tt.error) {
					t.Errorf("%v", d)
				}
				return
			}
			if len(d) > 0 {
				t.Fatal(d)
			}
			c, ok := got[vm]
			if ok != (tt.want != "") {
				t.Fatalf("%+v", got)
			}
			if ok && describe(c) != tt.want {
				t.Errorf("got %q, want %q", describe(c), tt.want)
			}
			if ok && (c.Config.ContactBudget != guestContact || c.Config.User != "" || c.Config.Log == nil) {
				t.Errorf("%+v", c.Config)
			}
		})
	}
}

func describe(c powershell.GuestConnection) string {
	words := []string{c.Config.Address, strconv.Itoa(c.Config.Port), "http"}
	if c.Config.HTTPS {
		words[2] = "https"
	}
	if c.Config.ServerName != "" {
		words = append(words, c.Config.ServerName, strconv.Itoa(c.Options.MaxSessions))
	}
	return strings.Join(words, " ")
}

func nullOf(t *testing.T, kind attr.Type) tftypes.Value {
	t.Helper()
	return tftypes.NewValue(kind.TerraformType(t.Context()), nil)
}
