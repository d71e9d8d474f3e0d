package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// renamedNetAdapters is what the descriptions of names say of them.
const renamedNetAdapters = "A net adapter that is renamed on the host stays the same one, by its interface GUID: the rename is no change, and destroy finds it. The configuration may go on with the former name or follow."

// interfaceGUIDs is the key of the private state under which it is kept which net adapters the names of the
// configuration mean: one that somebody renames stays the same, and is put back by destroy.
const interfaceGUIDs = "interface_guids"

func keepPorts(ctx context.Context, private privateWriter, known hyperv.KnownPorts, diags *diag.Diagnostics) {
	raw, err := json.Marshal(known)
	if err != nil {
		diags.AddError("Private state", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, interfaceGUIDs, raw)...)
}

func knownPorts(ctx context.Context, private privateData, diags *diag.Diagnostics) hyperv.KnownPorts {
	raw, d := private.GetKey(ctx, interfaceGUIDs)
	diags.Append(d...)
	known := hyperv.KnownPorts{}
	if len(raw) == 0 {
		return known
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		diags.AddError("Unreadable private state", fmt.Sprintf("The interface GUIDs of the net adapters are not readable: %v.", err))
	}
	return known
}
