package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// namesLists are the lists of texts that a configuration may set in a block: all of them name net adapters.
func namesLists(b *tfprotov6.SchemaBlock) []string {
	var out []string
	for _, a := range b.Attributes {
		if a.Type != nil && a.Type.Is(tftypes.List{ElementType: tftypes.String}) && (a.Required || a.Optional) {
			out = append(out, a.Name)
		}
	}
	return out
}

func TestSameNameTwiceIsRefused(t *testing.T) {
	h := newServer(t)
	blocks, validate := map[string]*tfprotov6.SchemaBlock{}, map[string]func(string, object) diagnostics{}
	for typ, s := range h.schema.ResourceSchemas {
		blocks[typ], validate[typ] = s.Block, h.validate
	}
	for typ, s := range h.schema.ActionSchemas {
		blocks[typ], validate[typ] = s.Schema.Block, h.check
	}
	found := 0
	for typ, block := range blocks {
		for _, attribute := range namesLists(block) {
			found++
			for name, tt := range map[string]struct {
				names list
				want  []string // nil: the list is right
			}{
				"same":        {list{"iWARP 1", "iWARP 1"}, []string{attribute, `"iWARP 1"`, "more than once", "Name each one once"}},
				"other case":  {list{"iWARP 1", "X", "IWARP 1"}, []string{attribute, `"IWARP 1"`, `"iWARP 1"`, "names ignore case"}},
				"Cyrillic":    {list{"ж", "Ж"}, []string{attribute, `"Ж"`, "names ignore case"}},
				"brackets":    {list{"[x]*", "[X]*"}, []string{attribute, `"[X]*"`}},
				"two unknown": {list{unknown, unknown}, nil},
				"different":   {list{"iWARP 1", "iWARP 2"}, nil},
			} {
				t.Run(typ+"/"+attribute+"/"+name, func(t *testing.T) {
					var d diagnostics
					for _, x := range validate[typ](typ, object{attribute: tt.names}).errors() {
						if x.Summary == "The same name twice" {
							d = append(d, x)
						}
					}
					if tt.want == nil {
						if len(d) > 0 {
							t.Errorf("refused: %s", d)
						}
						return
					}
					if len(d) != 1 {
						t.Fatalf("%d errors of it: %s", len(d), d)
					}
					says(t, d.String(), tt.want...)
				})
			}
		}
	}
	if found < 6 {
		t.Errorf("only %d lists of net adapters were found", found)
	}
}
