package provider

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// A host's own patience goes before that of all hosts, before the environment's, before the default.
func TestTiming(t *testing.T) {
	seconds := func(n int) timetypes.GoDuration { return timetypes.NewGoDurationValue(time.Duration(n) * time.Second) }
	credentials := connectionModel{User: types.StringValue("u"), Password: types.StringValue("p")}
	for _, c := range []struct {
		name           string
		host, top, env timingModel
		want           [4]time.Duration
		unknown        bool
	}{
		{"defaults", timingModel{}, timingModel{}, timingModel{}, [4]time.Duration{3 * time.Minute, 10 * time.Second, 20 * time.Second, 2 * time.Minute}, false},
		{"environment", timingModel{}, timingModel{}, timingModel{seconds(1), seconds(2), seconds(3), seconds(40)}, [4]time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 40 * time.Second}, false},
		{"all hosts", timingModel{}, timingModel{RetryBudget: seconds(4)}, timingModel{seconds(1), seconds(2), seconds(3), seconds(40)}, [4]time.Duration{4 * time.Second, 2 * time.Second, 3 * time.Second, 40 * time.Second}, false},
		{"the host", timingModel{OperationTimeout: seconds(5)}, timingModel{OperationTimeout: seconds(4)}, timingModel{}, [4]time.Duration{3 * time.Minute, 10 * time.Second, 5 * time.Second, 2 * time.Minute}, false},
		{"unknown", timingModel{}, timingModel{ConnectTimeout: timetypes.NewGoDurationUnknown()}, timingModel{}, [4]time.Duration{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var diags diag.Diagnostics
			s := source{host: credentials, at: path.Root("hosts").AtMapKey("hv1"), named: `"hv1"`}
			s.host.timingModel, s.top.timingModel, s.env.timingModel = c.host, c.top, c.env
			got := s.connection(context.Background(), types.StringValue("hv1"), &diags)
			if diags.HasError() || got.unknown != c.unknown {
				t.Fatalf("%v, unknown %v", diags, got.unknown)
			}
			if w := got.winrm; [4]time.Duration{w.RetryBudget, w.ConnectTimeout, w.OperationTimeout, got.rollbackAfter} != c.want {
				t.Errorf("%v %v %v %v", w.RetryBudget, w.ConnectTimeout, w.OperationTimeout, got.rollbackAfter)
			}
		})
	}
}

func TestTimingOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		text string
		good bool
	}{{"90s", true}, {"", true}, {"1h", true}, {"90", false}, {"500ms", false}, {"-3m", false}, {"2h", false}, {"three minutes", false}} {
		var diags diag.Diagnostics
		env := environment(func(name string) string {
			if name == "HYPERV_RETRY_BUDGET" {
				return c.text
			}
			return ""
		})
		if env.timing(&diags); diags.HasError() == c.good {
			t.Errorf("%q: %v", c.text, diags)
		}
		for _, d := range diags {
			if !strings.Contains(d.Summary()+d.Detail(), "HYPERV_RETRY_BUDGET is "+`"`+c.text+`", but must be a duration of 1s to 1h, such as 3m`) {
				t.Errorf("%q: %s %s", c.text, d.Summary(), d.Detail())
			}
		}
	}
}

func TestDurationBetween(t *testing.T) {
	for _, c := range []struct {
		timing timing
		value  types.String
		good   bool
	}{
		{operationTimeout(), types.StringNull(), true},
		{operationTimeout(), types.StringUnknown(), true},
		{operationTimeout(), types.StringValue("60s"), true},
		{operationTimeout(), types.StringValue("1m"), true},
		{operationTimeout(), types.StringValue("61s"), false},
		{operationTimeout(), types.StringValue("0s"), false},
		{operationTimeout(), types.StringValue("-1s"), false},
		{connectTimeout(), types.StringValue("5m"), true},
		{connectTimeout(), types.StringValue("1h"), false},
		{rollbackAfter(), types.StringValue("30s"), true},
		{rollbackAfter(), types.StringValue("10s"), false},
		{retryBudget(), types.StringValue("1s"), true},
		{retryBudget(), types.StringValue("999ms"), false},
		{retryBudget(), types.StringValue("no duration"), true}, // the type says so
	} {
		var resp validator.StringResponse
		durationBetween{c.timing}.ValidateString(context.Background(), validator.StringRequest{Path: path.Root(c.timing.name), ConfigValue: c.value}, &resp)
		if resp.Diagnostics.HasError() == c.good {
			t.Errorf("%s = %s: %v", c.timing.name, c.value, resp.Diagnostics)
		}
	}
	// What the schema permits must be what the connection takes.
	for _, d := range []time.Duration{operationTimeout().from, operationTimeout().to} {
		if err := (winrm.Config{Address: "h", HTTPS: true, OperationTimeout: d}).Check(); err != nil {
			t.Error(err)
		}
	}
}
