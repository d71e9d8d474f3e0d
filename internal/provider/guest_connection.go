package provider

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
)

// Ways to a guest.
const (
	transportDirect = "powershell_direct"
	transportWinRM  = "winrm"
)

// A guest that does not answer may be off, which its host knows better: it is not waited for as long as a host.
const (
	guestContact     = 15 * time.Second
	guestRetryBudget = time.Minute
)

// guestAttributes are those of a guest: its credential, the way to it, and for WinRM what a host's connection has.
func guestAttributes() map[string]schema.Attribute {
	attributes := connectionAttributes("With `transport = \"winrm\"`: ")
	delete(attributes, "user")
	delete(attributes, "password")
	delete(attributes, rollbackAfter().name) // of guests no change cuts the own connection
	for name, a := range attributes {
		attributes[name] = forGuest(a)
	}
	attributes["credential"] = schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Key of `guest_credentials`. Default: `default_guest_credential`.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
	}
	attributes["transport"] = schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "`powershell_direct` (default): through the host, which needs no network in the guest, but Windows in it. `winrm`: Windows Remote Management of the guest itself, " +
			"from where Terraform runs; its connection should not use the net adapter whose RDMA is managed, since that one restarts. Nothing is taken over from the connection of hosts, nor from the environment.",
		Validators: []validator.String{stringvalidator.OneOf(transportDirect, transportWinRM)},
	}
	attributes["address"] = schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "With `transport = \"winrm\"`: DNS name or IP address of the guest, without port. Default: the key in `guests`.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1), noPort()},
	}
	return attributes
}

// forGuest takes out of a description what holds for hosts only.
func forGuest(a schema.Attribute) schema.Attribute {
	text := func(s string) string {
		s = regexp.MustCompile(" Environment: .*$").ReplaceAllString(s, "")
		return strings.NewReplacer("the host", "the guest", "a host", "a guest", "A host", "A guest", short(retryBudget().usual), short(guestRetryBudget)).Replace(s)
	}
	switch a := a.(type) {
	case schema.StringAttribute:
		a.MarkdownDescription = text(a.MarkdownDescription)
		return a
	case schema.BoolAttribute:
		a.MarkdownDescription = text(a.MarkdownDescription)
		return a
	case schema.SingleNestedAttribute:
		a.MarkdownDescription = text(a.MarkdownDescription)
		return a
	case schema.Int64Attribute:
		a.MarkdownDescription = text(a.MarkdownDescription)
		return a
	}
	return a
}

// guestText is a text of a guest's entry in guests.
func guestText(guest attr.Value, name string) types.String {
	object, ok := guest.(basetypes.ObjectValue)
	if !ok {
		return types.StringNull()
	}
	s, ok := object.Attributes()[name].(types.String)
	if !ok {
		return types.StringNull()
	}
	return s
}

// guestConnections reads how the guests are reached that have transport = "winrm". The guests are known.
func guestConnections(ctx context.Context, guests types.Map, diags *diag.Diagnostics) map[string]powershell.GuestConnection {
	connections := map[string]powershell.GuestConnection{}
	elements := guests.Elements()
	for _, vm := range slices.Sorted(maps.Keys(elements)) {
		object, ok := elements[vm].(basetypes.ObjectValue)
		if !ok {
			continue
		}
		at := path.Root("guests").AtMapKey(vm)
		if guestText(object, "transport").ValueString() != transportWinRM {
			onlyForWinRM(object, at, diags)
			continue
		}
		m := guestConnectionModel(ctx, object, diags)
		address, _ := first(m.Address, types.StringValue(vm))
		m.RetryBudget, _ = first(m.RetryBudget, timetypes.NewGoDurationValue(guestRetryBudget))
		c := source{host: m.connectionModel, at: at, named: fmt.Sprintf("%q (a guest)", vm), loginElsewhere: true}.connection(ctx, address, diags)
		c.winrm.ContactBudget = guestContact
		c.winrm.Log = func(ctx context.Context, message string, fields map[string]any) {
			logDebug(ctx, message, withField(fields, "guest", vm))
		}
		connections[vm] = powershell.GuestConnection{Config: c.winrm, Options: powershell.PoolOptions{MaxSessions: c.maxSessions}}
	}
	return connections
}

// onlyForWinRM refuses what would have no effect.
func onlyForWinRM(guest basetypes.ObjectValue, at path.Path, diags *diag.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(guest.Attributes())) {
		if name != "credential" && name != "transport" && !guest.Attributes()[name].IsNull() {
			diags.AddAttributeError(at.AtName(name), "Attribute without effect",
				fmt.Sprintf("%s is about Windows Remote Management, but the guest is reached by PowerShell Direct through its host. Set transport = %q for it, or leave out %s.", name, transportWinRM, name))
		}
	}
}

// guestConnectionModel reads a guest's entry as a host's, which has all the same attributes and a user and a password.
func guestConnectionModel(ctx context.Context, guest basetypes.ObjectValue, diags *diag.Diagnostics) hostModel {
	values := maps.Clone(guest.Attributes())
	delete(values, "credential")
	delete(values, "transport")
	values["user"], values["password"] = types.StringNull(), types.StringNull()
	values[rollbackAfter().name] = timetypes.NewGoDurationNull()
	kinds := map[string]attr.Type{}
	for name, v := range values {
		kinds[name] = v.Type(ctx)
	}
	object, d := types.ObjectValue(kinds, values)
	diags.Append(d...)
	var m hostModel
	diags.Append(object.As(ctx, &m, basetypes.ObjectAsOptions{})...)
	return m
}
