package provider

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

func TestImportID(t *testing.T) {
	form := importForm{Parts: []string{"host", "vm", "adapter"}, Example: "hv1/VM1/RDMA"}
	base := baseResource{client: &client{hosts: map[string]*hostEntry{"hv1": {}, "hv%2": {}}}}
	tests := []struct {
		name, id string
		parts    []string
		errors   []string
	}{
		{"plain", "hv1/VM1/RDMA", []string{"hv1", "VM1", "RDMA"}, nil},
		{"escaped slash", "hv1/VM%2F1/a%2fb", []string{"hv1", "VM/1", "a/b"}, nil},
		{"escaped percent", "hv%252/100%25/x", []string{"hv%2", "100%", "x"}, nil},
		{"escape of an escape", "hv1/a%252Fb/x", []string{"hv1", "a%2Fb", "x"}, nil},
		{"special characters", "hv1/VM '1' \"$(x)`;[y]*/ Ä 日 ", []string{"hv1", "VM '1' \"$(x)`;[y]*", " Ä 日 "}, nil},
		{"too few", "VM1/RDMA", nil, []string{`"VM1/RDMA"`, "host/vm/adapter", "2 parts, not 3", "hv1/VM1/RDMA", `"hv%2", "hv1"`}},
		{"too many", "hv1/a/b/c", nil, []string{"4 parts, not 3"}},
		{"empty", "", nil, []string{"1 parts, not 3"}},
		{"empty part", "hv1//x", nil, []string{`part "vm" is empty`}},
		{"bare percent", "hv1/100%/x", nil, []string{`part "vm"`, `"%" is no escape`, "%25"}},
		{"other escape", "hv1/a%20b/x", nil, []string{`"%20" is no escape`}},
		{"unknown host", "hv3/VM1/RDMA", nil, []string{`host "hv3"`, `no host "hv3"`, `"hv%2", "hv1"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d diag.Diagnostics
			parts := base.importID(t.Context(), tt.id, form, &d)
			if !reflect.DeepEqual(parts, tt.parts) || d.HasError() != (tt.errors != nil) {
				t.Fatalf("parts %q, diagnostics %v", parts, d)
			}
			for _, want := range tt.errors {
				if !strings.Contains(d[0].Detail(), want) {
					t.Errorf("%q has no %q", d[0].Detail(), want)
				}
			}
			if tt.parts != nil {
				if back, err := parseID(formatID(parts...), form); err != nil || !reflect.DeepEqual(back, parts) {
					t.Errorf("formatID gave %q, back %q, %v", formatID(parts...), back, err)
				}
			}
		})
	}
}
