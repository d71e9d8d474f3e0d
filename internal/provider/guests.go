package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider/customtypes"
)

// guestLogins finds the credential of a guest.
type guestLogins struct {
	credentials map[string]guestLogin
	guests      map[string]string // VM name → name of a credential
	fallback    *guestLogin       // for guests that nothing names one for
}

type guestLogin struct{ user, password string }

// newGuestLogins reads a configuration that is known.
func newGuestLogins(ctx context.Context, m providerModel, env environment, diags *diag.Diagnostics) guestLogins {
	g := guestLogins{credentials: map[string]guestLogin{}, guests: map[string]string{}}
	credentials := map[string]guestCredentialModel{}
	diags.Append(m.GuestCredentials.ElementsAs(ctx, &credentials, false)...)
	for name, c := range credentials {
		g.credentials[name] = guestLogin{c.User.ValueString(), c.Password.ValueString()}
	}
	for _, vm := range slices.Sorted(maps.Keys(m.Guests.Elements())) {
		credential := guestText(m.Guests.Elements()[vm], "credential")
		if credential.IsNull() {
			continue
		}
		name := credential.ValueString()
		if _, ok := g.credentials[name]; !ok {
			diags.AddAttributeError(path.Root("guests").AtMapKey(vm).AtName("credential"), "Unknown guest credential", g.unknown(name))
		}
		g.guests[vm] = name
	}
	g.setFallback(m, env, diags)
	return g
}

func (g *guestLogins) setFallback(m providerModel, env environment, diags *diag.Diagnostics) {
	user, password := env(envGuestUser), env(envGuestPassword)
	switch name := m.DefaultGuestCredential; {
	case !name.IsNull():
		login, ok := g.credentials[name.ValueString()]
		if !ok {
			diags.AddAttributeError(path.Root("default_guest_credential"), "Unknown guest credential", g.unknown(name.ValueString()))
		}
		g.fallback = &login
	case user != "" && password != "":
		g.fallback = &guestLogin{user, password}
	case user != "":
		diags.AddError("Missing environment variable "+envGuestPassword, envGuestUser+" is set, but "+envGuestPassword+" is not. Set both or neither.")
	case password != "":
		diags.AddError("Missing environment variable "+envGuestUser, envGuestPassword+" is set, but "+envGuestUser+" is not. Set both or neither.")
	case len(g.credentials) == 1:
		for _, login := range g.credentials {
			g.fallback = &login
		}
	}
}

// find gives the credential that is named (if one is), else the VM's own, else the default.
func (g guestLogins) find(vmName, name string) (user, password string, err error) {
	if name == "" {
		for vm, own := range g.guests {
			if customtypes.EqualName(vm, vmName) {
				name = own
			}
		}
	}
	if name == "" {
		if g.fallback == nil {
			return "", "", &hyperv.Error{
				Kind: hyperv.Invalid, Op: "log on to the guest", Object: fmt.Sprintf("virtual machine %q", vmName), Attribute: "credential",
				Cause: "No credential is configured for this guest.",
				Fix: "Name one in the provider's guests or default_guest_credential, in the resource's credential, or set " +
					envGuestUser + " and " + envGuestPassword + ".",
			}
		}
		return g.fallback.user, g.fallback.password, nil
	}
	login, ok := g.credentials[name]
	if !ok {
		return "", "", &hyperv.Error{
			Kind: hyperv.Invalid, Op: "log on to the guest", Object: fmt.Sprintf("virtual machine %q", vmName), Attribute: "credential", Value: name,
			Cause: g.unknown(name), Fix: "Name one that exists, or add it to guest_credentials.",
		}
	}
	return login.user, login.password, nil
}

func (g guestLogins) unknown(name string) string {
	if len(g.credentials) == 0 {
		return fmt.Sprintf("There is no credential %q: guest_credentials of the provider is empty. Add it there.", name)
	}
	return fmt.Sprintf("There is no credential %q in guest_credentials of the provider; it has %s.", name, quotedList(slices.Sorted(maps.Keys(g.credentials))))
}

// quotedList writes names for a person: "a", "b".
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, ", ")
}
