package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// timingModel is how patient the provider is with a host.
type timingModel struct {
	RetryBudget      timetypes.GoDuration `tfsdk:"retry_budget"`
	ConnectTimeout   timetypes.GoDuration `tfsdk:"connect_timeout"`
	OperationTimeout timetypes.GoDuration `tfsdk:"operation_timeout"`
	RollbackAfter    timetypes.GoDuration `tfsdk:"rollback_after"`
}

// timing is one attribute of timingModel.
type timing struct {
	name, env, about string
	from, to, usual  time.Duration
}

func retryBudget() timing {
	return timing{name: "retry_budget", env: "HYPERV_RETRY_BUDGET", from: time.Second, to: time.Hour, usual: 3 * time.Minute,
		about: "How long a request to a host that was reached before is tried again while the network between is lost, for example because a net adapter of the host restarts. " +
			"A host that was never reached is given up after 15 seconds."}
}

func connectTimeout() timing {
	return timing{name: "connect_timeout", env: "HYPERV_CONNECT_TIMEOUT", from: 100 * time.Millisecond, to: 5 * time.Minute, usual: 10 * time.Second,
		about: "How long a TCP connection to a host may take to be made, and as long again the TLS handshake."}
}

func operationTimeout() timing {
	return timing{name: "operation_timeout", env: "HYPERV_OPERATION_TIMEOUT", from: 100 * time.Millisecond, to: 60 * time.Second, usual: 20 * time.Second,
		about: "How long the host holds a request that has no answer yet. A lost answer is noticed 10 seconds after it. It does not limit how long a cmdlet may run: that is what `timeouts` of resources do."}
}

func rollbackAfter() timing {
	return timing{name: "rollback_after", env: "HYPERV_ROLLBACK_AFTER", from: 30 * time.Second, to: time.Hour, usual: 2 * time.Minute,
		about: "A change that cuts the connection to its host (the restart of the net adapter that carries it, a switch made on it or removed from it) runs apart from the connection, " +
			"and the host takes it back by itself unless it is reached again within this time, or at its next start."}
}

func timings() []timing {
	return []timing{retryBudget(), connectTimeout(), operationTimeout(), rollbackAfter()}
}

func (x timing) rule() string { return short(x.from) + " to " + short(x.to) }

// short writes a duration as a person would: 3m, not 3m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, unit := range []string{"m", "h"} {
		if trimmed, ok := strings.CutSuffix(text, unit+map[string]string{"m": "0s", "h": "0m"}[unit]); ok {
			text = trimmed + unit
		}
	}
	return text
}

func (x timing) attribute(intro string) schema.Attribute {
	return schema.StringAttribute{
		Optional:            true,
		CustomType:          timetypes.GoDurationType{},
		MarkdownDescription: fmt.Sprintf("%s%s A duration such as `90s` or `2m`, %s. Default: `%s`. Environment: `%s`.", intro, x.about, x.rule(), short(x.usual), x.env),
		Validators:          []validator.String{durationBetween{x}},
	}
}

func timingAttributes(intro string) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, x := range timings() {
		attributes[x.name] = x.attribute(intro)
	}
	return attributes
}

// durationBetween bounds a duration. What is no duration is the type's business.
type durationBetween struct{ timing }

func (v durationBetween) Description(context.Context) string             { return "a duration of " + v.rule() }
func (v durationBetween) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v durationBetween) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	d, err := time.ParseDuration(req.ConfigValue.ValueString())
	if err == nil && (d < v.from || d > v.to) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid duration", fmt.Sprintf("%s must be %s, but is %s.", v.name, v.Description(ctx), req.ConfigValue.ValueString()))
	}
}

// duration is what a variable says about an attribute.
func (e environment) duration(x timing, diags *diag.Diagnostics) timetypes.GoDuration {
	text := e(x.env)
	if text == "" {
		return timetypes.NewGoDurationNull()
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < x.from || d > x.to {
		diags.AddError("Invalid environment variable "+x.env, fmt.Sprintf("%s is %q, but must be a duration of %s, such as %s. Correct or unset it.", x.env, text, x.rule(), short(x.usual)))
		return timetypes.NewGoDurationNull()
	}
	return timetypes.NewGoDurationValue(d)
}

func (e environment) timing(diags *diag.Diagnostics) timingModel {
	return timingModel{
		RetryBudget: e.duration(retryBudget(), diags), ConnectTimeout: e.duration(connectTimeout(), diags), OperationTimeout: e.duration(operationTimeout(), diags),
		RollbackAfter: e.duration(rollbackAfter(), diags),
	}
}

// timing is what holds for a host.
func (s source) timing() timingModel {
	var m timingModel
	m.RetryBudget, _ = first(s.host.RetryBudget, s.top.RetryBudget, s.env.RetryBudget, timetypes.NewGoDurationValue(retryBudget().usual))
	m.ConnectTimeout, _ = first(s.host.ConnectTimeout, s.top.ConnectTimeout, s.env.ConnectTimeout, timetypes.NewGoDurationValue(connectTimeout().usual))
	m.OperationTimeout, _ = first(s.host.OperationTimeout, s.top.OperationTimeout, s.env.OperationTimeout, timetypes.NewGoDurationValue(operationTimeout().usual))
	m.RollbackAfter, _ = first(s.host.RollbackAfter, s.top.RollbackAfter, s.env.RollbackAfter, timetypes.NewGoDurationValue(rollbackAfter().usual))
	return m
}

func (m timingModel) values() []attr.Value {
	return []attr.Value{m.RetryBudget, m.ConnectTimeout, m.OperationTimeout, m.RollbackAfter}
}
