package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

// netAdapterNamesValidators are the rules of every list of net adapters: at least one, none of them empty, none twice.
func netAdapterNamesValidators() []validator.List {
	return []validator.List{listvalidator.SizeAtLeast(1), uniqueNames{}, listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))}
}

// uniqueNames refuses a list that has the same name twice. Windows ignores case in names, and so does this.
type uniqueNames struct{}

func (uniqueNames) Description(context.Context) string { return "must not have the same name twice" }

func (v uniqueNames) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (uniqueNames) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	var seen []string
	for i, e := range req.ConfigValue.Elements() {
		s, ok := e.(interface{ ValueString() string })
		if !ok || e.IsUnknown() || e.IsNull() {
			continue
		}
		name := s.ValueString()
		for _, other := range seen {
			if !customtypes.EqualName(other, name) {
				continue
			}
			as := ""
			if other != name {
				as = fmt.Sprintf(" (the other one is written %q: names ignore case)", other)
			}
			resp.Diagnostics.AddAttributeError(req.Path.AtListIndex(i), "The same name twice",
				fmt.Sprintf("%s has %q more than once%s. Name each one once.", req.Path, name, as))
			break
		}
		seen = append(seen, name)
	}
}
