package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// askedSettings is the key of the private state under which the settings are kept that were last asked for. The
// state does not tell them once it shows drift: which of two ports is the wrong one then depends on how often it
// was read, and what drifted away would not be put back.
const askedSettings = "asked_settings"

// privateWriter is what responses offer of the private state.
type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

func keepAsked(ctx context.Context, private privateWriter, spec hyperv.NicSettingsSpec, diags *diag.Diagnostics) {
	raw, err := json.Marshal(spec)
	if err != nil {
		diags.AddError("Private state", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, askedSettings, raw)...)
}

// asked is the settings that were last asked for, with the state's ports, profile and restart policy. Known is false
// for a resource that was imported and not changed since: then the state itself says what is wanted.
func (m *nicRdmaSettingsModel) asked(ctx context.Context, private privateData, diags *diag.Diagnostics) (spec hyperv.NicSettingsSpec, known bool) {
	now := m.spec(ctx, diags)
	now.Known = knownPorts(ctx, private, diags)
	raw, d := private.GetKey(ctx, askedSettings)
	diags.Append(d...)
	if len(raw) == 0 {
		return now, false
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		diags.AddError("Unreadable private state", fmt.Sprintf("The settings that were asked for are not readable: %v.", err))
		return now, false
	}
	spec.Ports, spec.Known, spec.Profile, spec.RestartPolicy, spec.KeepOwedOnDelete = now.Ports, now.Known, now.Profile, now.RestartPolicy, now.KeepOwedOnDelete
	return spec, true
}
