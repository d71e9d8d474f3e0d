package native

import (
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// commandError is an error record as the runner writes it. The activity is the cmdlet that raised it.
func commandError(e *cmdlet.Error, activity string) *wire.CommandError {
	if e.ID == wire.ErrorReferenceEmpty {
		return &wire.CommandError{ID: e.ID, Category: e.Category, Message: e.Message}
	}
	out := &wire.CommandError{
		ID: e.ID, Category: e.Category, Message: e.Message, Exception: e.Exception, HResult: e.HResult,
		Activity: activity, TargetType: e.TargetType,
	}
	if out.Exception == "" {
		out.Exception = "System.Exception"
	}
	if out.HResult == "" {
		out.HResult = "0x80131500"
	}
	if strings.HasSuffix(e.ID, ",Microsoft.PowerShell.Commands.GetCommandCommand") {
		out.Activity = "Get-Command"
	}
	out.Reason = out.Exception[strings.LastIndex(out.Exception, ".")+1:]
	if e.Target != nil {
		out.TargetName = catalog.Text(e.Target)
		if out.TargetType == "" {
			out.TargetType = targetType(e.Target)
		}
	}
	return out
}

// targetType is the short name of the target's class.
func targetType(v any) string {
	if o, ok := v.(*cmdlet.Object); ok {
		if len(o.Types) == 0 {
			return "PSCustomObject"
		}
		return o.Types[0][strings.LastIndex(o.Types[0], ".")+1:]
	}
	return "String"
}
