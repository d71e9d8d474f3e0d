package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// vmRestartModel is embedded in the model of every resource that can restart a virtual machine.
type vmRestartModel struct {
	VMRestart types.Object `tfsdk:"vm_restart"`
}

type vmRestartOptions struct {
	ShutdownTimeout timetypes.GoDuration `tfsdk:"shutdown_timeout"`
	OnTimeout       types.String         `tfsdk:"on_timeout"`
	GuestTimeout    timetypes.GoDuration `tfsdk:"guest_timeout"`
}

func vmRestartTypes() map[string]attr.Type {
	return map[string]attr.Type{"shutdown_timeout": timetypes.GoDurationType{}, "on_timeout": types.StringType, "guest_timeout": timetypes.GoDurationType{}}
}

func vmRestartNull() vmRestartModel { return vmRestartModel{types.ObjectNull(vmRestartTypes())} }

func shutdownTimeout() timing {
	return timing{name: "shutdown_timeout", from: time.Second, to: time.Hour, usual: 5 * time.Minute,
		about: "How long the guest may take to shut down, which its integration services ask it to."}
}

func guestTimeout() timing {
	return timing{name: "guest_timeout", from: time.Second, to: time.Hour, usual: 5 * time.Minute,
		about: "How long the guest is waited for after the start, until its integration services give a heartbeat. Longer is a warning."}
}

// plain is the attribute of a duration that no environment variable sets.
func (x timing) plain() schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: timetypes.GoDurationType{},
		MarkdownDescription: fmt.Sprintf("%s A duration such as `90s` or `2m`, %s. Default: `%s`.", x.about, x.rule(), short(x.usual)),
		Validators:          []validator.String{durationBetween{x}}}
}

func vmRestartAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true,
		MarkdownDescription: "How the VM is restarted where that is needed and `restart_policy` allows it: it is shut down by its integration services, started again, and its guest waited for. " +
			"A VM that is off needs no restart and is left off; one that is saved or paused is never resumed or discarded, and one of a failover cluster is restarted by the cluster alone: these are errors. Checkpoints stay.",
		Attributes: map[string]schema.Attribute{
			"shutdown_timeout": shutdownTimeout().plain(),
			"on_timeout": schema.StringAttribute{Optional: true,
				MarkdownDescription: "What happens to a guest that does not shut down in time, or cannot be asked to: `fail` (default) leaves the VM running and ends with an error; `turn_off` turns it off as by pulling the plug, and the guest loses what it has not written.",
				Validators:          []validator.String{stringvalidator.OneOf(hyperv.OnTimeoutFail, hyperv.OnTimeoutTurnOff)}},
			"guest_timeout": guestTimeout().plain(),
		}}
}

// rules are what the resource may restart, and how.
func (m vmRestartModel) rules(ctx context.Context, policy types.String, diags *diag.Diagnostics) hyperv.RestartRules {
	rules := hyperv.RestartRules{Policy: policy.ValueString()}
	if m.VMRestart.IsNull() || m.VMRestart.IsUnknown() {
		return rules
	}
	var o vmRestartOptions
	diags.Append(m.VMRestart.As(ctx, &o, basetypes.ObjectAsOptions{})...)
	rules.VM = o.domain(diags)
	return rules
}

func (o vmRestartOptions) domain(diags *diag.Diagnostics) hyperv.VMRestartOptions {
	duration := func(d timetypes.GoDuration) time.Duration {
		if d.IsNull() {
			return 0
		}
		value, problems := d.ValueGoDuration()
		diags.Append(problems...)
		return value
	}
	return hyperv.VMRestartOptions{ShutdownTimeout: duration(o.ShutdownTimeout), OnTimeout: o.OnTimeout.ValueString(), GuestTimeout: duration(o.GuestTimeout)}
}

// turnsOff says that the configuration lets a VM be turned off, for the reason of a planned restart.
func (m vmRestartModel) turnsOff() string {
	if on, ok := m.VMRestart.Attributes()["on_timeout"].(types.String); ok && on.ValueString() == hyperv.OnTimeoutTurnOff {
		return "; a guest that does not shut down in time is turned off (vm_restart.on_timeout)"
	}
	return ""
}
