package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// importForm says what the id of a resource looks like. The first part is the host.
type importForm struct {
	Parts   []string // as in "host", "vm", "adapter"
	Example string
}

func (f importForm) expected() string { return strings.Join(f.Parts, "/") }

// formatID writes the parts of an id.
func formatID(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = strings.NewReplacer("%", "%25", "/", "%2F").Replace(p)
	}
	return strings.Join(escaped, "/")
}

// parseID is the reverse of formatID. Only "%2F" and "%25" are escapes; any other "%" is an error, so
// that a name with a "%" in it is never mistaken for another.
func parseID(id string, form importForm) ([]string, error) {
	parts := strings.Split(id, "/")
	if len(parts) != len(form.Parts) {
		return nil, fmt.Errorf("it has %d parts, not %d", len(parts), len(form.Parts))
	}
	for i, p := range parts {
		if p == "" {
			return nil, fmt.Errorf("its part %q is empty", form.Parts[i])
		}
		text, err := unescape(p)
		if err != nil {
			return nil, fmt.Errorf("in its part %q, %w", form.Parts[i], err)
		}
		parts[i] = text
	}
	return parts, nil
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		switch code := strings.ToUpper(s[i:min(i+3, len(s))]); code {
		case "%2F":
			b.WriteByte('/')
		case "%25":
			b.WriteByte('%')
		default:
			return "", fmt.Errorf("%q is no escape: a %% is written %%25 and a / is written %%2F", code)
		}
		i += 2
	}
	return b.String(), nil
}

// importID parses an id and checks that the provider has the host. It gives nil with an error in diags
// for anything else.
func (b *baseResource) importID(_ context.Context, id string, form importForm, diags *diag.Diagnostics) []string {
	parts, err := parseID(id, form)
	if err != nil {
		diags.AddError("Malformed import id",
			fmt.Sprintf("The id %q does not have the form %s: %v. Give it as in %q; a / inside a part is written %%2F and a %% is written %%25.%s",
				id, form.expected(), err, form.Example, b.knownHosts()))
		return nil
	}
	if b.client == nil || b.client.hostsUnknown {
		return parts
	}
	if _, err := b.client.entry(parts[0]); err != nil {
		diags.AddAttributeError(path.Root("host"), "Unable to import", fmt.Sprintf("The id %q begins with the host %q. %s", id, parts[0], causeAndFix(err)))
		return nil
	}
	return parts
}

func (b *baseResource) knownHosts() string {
	if b.client == nil || len(b.client.hosts) == 0 {
		return ""
	}
	return fmt.Sprintf(" The provider's hosts are %s.", quotedList(b.client.names()))
}
