package provider

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
)

// restartTest is a resource with one setting of its own.
type restartTest struct {
	Setting types.String `tfsdk:"setting"`
	Actual  types.String `tfsdk:"actual"`
	restartModel
}

func restartTestSchema() schema.Schema {
	attributes := map[string]schema.Attribute{
		"setting": schema.StringAttribute{Optional: true},
		"actual":  schema.StringAttribute{Computed: true},
	}
	addRestartAttributes(attributes)
	return schema.Schema{Attributes: attributes}
}

func TestPlanRestarts(t *testing.T) {
	ctx := t.Context()
	var none diag.Diagnostics
	bounce := hyperv.Restart{Kind: hyperv.RestartNetAdapter, Target: "NIC1", Condition: hyperv.Always, Reason: "setting"}
	vm := hyperv.Restart{Kind: hyperv.RestartVM, Target: "VM1", Condition: hyperv.IfRunning, Reason: "setting"}
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	debt := hyperv.Debt{Kind: hyperv.RestartNetAdapter, Target: "NIC1", Reason: "older", Since: since}
	owed := hyperv.Restart{Kind: hyperv.RestartNetAdapter, Target: "NIC1", Condition: hyperv.Always, Reason: "owed since 2026-01-02T03:04:05Z: older"}
	old := hyperv.Restart{Kind: hyperv.RestartNetAdapter, Target: "NIC1", Condition: hyperv.Always, Reason: "of the change before"}

	model := func(setting, policy string, planned []hyperv.Restart, pending []hyperv.Debt) *restartTest {
		m := &restartTest{Setting: types.StringValue(setting), Actual: types.StringValue("x")}
		m.RestartPolicy = types.StringValue(policy)
		m.PlannedRestarts, m.PendingRestarts = plannedList(ctx, planned, &none), pendingList(ctx, pending, &none)
		return m
	}
	// proposed is what the framework makes of a changed configuration: computed attributes are unknown.
	proposed := func(setting types.String, policy types.String) *restartTest {
		m := &restartTest{Setting: setting, Actual: types.StringUnknown()}
		m.RestartPolicy = policy
		m.PlannedRestarts, m.PendingRestarts = types.ListUnknown(plannedRestartType()), types.ListUnknown(pendingRestartType())
		return m
	}
	text, auto, manual := types.StringValue, types.StringValue("auto"), types.StringValue("manual")
	unknownList := "unknown"

	tests := []struct {
		name        string
		state, plan *restartTest
		needs       restartNeeds
		changed     bool
		planned     any // []hyperv.Restart or unknown
		pending     any // []hyperv.Debt or unknown
		warning     []string
	}{
		{"create without restart", nil, proposed(text("a"), auto), restartNeeds{}, true, []hyperv.Restart{}, unknownList, nil},
		{"create with a restart", nil, proposed(text("a"), auto), restartNeeds{Restarts: []hyperv.Restart{bounce}}, true, []hyperv.Restart{bounce}, unknownList,
			[]string{"Setting \"X\" will cause restarts", `- net_adapter "NIC1", always: setting`}},
		{"create under manual", nil, proposed(text("a"), manual), restartNeeds{Restarts: []hyperv.Restart{bounce}}, true, []hyperv.Restart{}, unknownList,
			[]string{"will owe restarts", `- net_adapter "NIC1"`}},
		{"no change keeps the list of the last change", model("a", "auto", []hyperv.Restart{old}, nil), model("a", "auto", []hyperv.Restart{old}, nil), restartNeeds{Restarts: []hyperv.Restart{bounce}}, false,
			[]hyperv.Restart{old}, []hyperv.Debt{}, nil},
		{"only marked as unknown is no change", model("a", "auto", []hyperv.Restart{old}, nil), proposed(text("a"), auto), restartNeeds{Restarts: []hyperv.Restart{bounce}}, false,
			[]hyperv.Restart{old}, []hyperv.Debt{}, nil},
		{"change with restarts", model("a", "auto", []hyperv.Restart{old}, nil), proposed(text("b"), auto), restartNeeds{Restarts: []hyperv.Restart{bounce, vm}, Attribute: path.Root("setting")}, true,
			[]hyperv.Restart{bounce, vm}, unknownList, []string{"will cause restarts", `- net_adapter "NIC1", always: setting` + "\n" + `- vm "VM1", if running: setting`}},
		{"change without restart", model("a", "auto", []hyperv.Restart{old}, nil), proposed(text("b"), auto), restartNeeds{}, true, []hyperv.Restart{}, []hyperv.Debt{}, nil},
		{"unknown input", model("a", "auto", nil, nil), proposed(types.StringUnknown(), auto), restartNeeds{Unknown: []path.Path{path.Root("setting")}}, true, unknownList, unknownList,
			[]string{"may need restarts", "known only after apply: setting"}},
		{"unknown policy", model("a", "auto", nil, nil), proposed(text("a"), types.StringUnknown()), restartNeeds{}, true, unknownList, unknownList, []string{"may need restarts", "restart_policy"}},
		{"debt under auto forces an update", model("a", "auto", []hyperv.Restart{old}, []hyperv.Debt{debt}), model("a", "auto", []hyperv.Restart{old}, []hyperv.Debt{debt}), restartNeeds{}, true,
			[]hyperv.Restart{owed}, unknownList, []string{"will cause restarts", "owed since 2026-01-02T03:04:05Z: older"}},
		{"debt already planned before still forces an update", model("a", "auto", []hyperv.Restart{owed}, []hyperv.Debt{debt}), model("a", "auto", []hyperv.Restart{owed}, []hyperv.Debt{debt}), restartNeeds{}, true,
			[]hyperv.Restart{owed}, unknownList, []string{"will cause restarts"}},
		{"debt under manual rests", model("a", "manual", nil, []hyperv.Debt{debt}), model("a", "manual", nil, []hyperv.Debt{debt}), restartNeeds{}, false, []hyperv.Restart{}, []hyperv.Debt{debt}, nil},
		{"debt under manual with another change", model("a", "manual", nil, []hyperv.Debt{debt}), proposed(text("b"), manual), restartNeeds{}, true, []hyperv.Restart{}, []hyperv.Debt{debt}, nil},
		{"one restart serves change and debt", model("a", "auto", nil, []hyperv.Debt{debt}), proposed(text("b"), auto), restartNeeds{Restarts: []hyperv.Restart{bounce}}, true, []hyperv.Restart{bounce}, unknownList, []string{"will cause restarts"}},
		{"debt of another target is added", model("a", "auto", nil, []hyperv.Debt{debt}), proposed(text("b"), auto), restartNeeds{Restarts: []hyperv.Restart{vm}}, true, []hyperv.Restart{vm, owed}, unknownList, []string{"will cause restarts"}},
		{"from manual to auto pays", model("a", "manual", nil, []hyperv.Debt{debt}), proposed(text("a"), auto), restartNeeds{}, true, []hyperv.Restart{owed}, unknownList, []string{"will cause restarts"}},
		{"destroy", model("a", "auto", nil, []hyperv.Debt{debt}), nil, restartNeeds{Restarts: []hyperv.Restart{bounce}}, false, nil, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := restartTestSchema()
			req := resource.ModifyPlanRequest{
				State: tfsdk.State{Schema: s, Raw: raw(t, s, tt.state)}, Plan: tfsdk.Plan{Schema: s, Raw: raw(t, s, tt.plan)}, Config: tfsdk.Config{Schema: s, Raw: configOf(t, s, tt.plan)},
			}
			resp := &resource.ModifyPlanResponse{Plan: req.Plan}
			if changed := planRestarts(ctx, req, resp, `setting "X"`, func() restartNeeds { return tt.needs }); changed != tt.changed {
				t.Errorf("changed is %v", changed)
			}
			d := resp.Diagnostics
			if d.HasError() || len(d) > 1 || (len(d) == 1) != (tt.warning != nil) {
				t.Fatalf("diagnostics %v", d)
			}
			for _, want := range tt.warning {
				if text := d[0].Summary() + "\n" + d[0].Detail(); !strings.Contains(text, want) {
					t.Errorf("warning %q has no %q", text, want)
				}
			}
			if tt.plan == nil {
				return
			}
			var got restartTest
			if d := resp.Plan.Get(ctx, &got); d.HasError() {
				t.Fatal(d)
			}
			wantPlanned, wantPending := types.ListUnknown(plannedRestartType()), types.ListUnknown(pendingRestartType())
			if l, ok := tt.planned.([]hyperv.Restart); ok {
				wantPlanned = plannedList(ctx, l, &none)
			}
			if l, ok := tt.pending.([]hyperv.Debt); ok {
				wantPending = pendingList(ctx, l, &none)
			}
			if !got.PlannedRestarts.Equal(wantPlanned) {
				t.Errorf("planned_restarts %s, want %s", got.PlannedRestarts, wantPlanned)
			}
			if !got.PendingRestarts.Equal(wantPending) {
				t.Errorf("pending_restarts %s, want %s", got.PendingRestarts, wantPending)
			}
			if !tt.changed && !resp.Plan.Raw.Equal(req.State.Raw) {
				t.Errorf("a plan without change is not the state: %s", resp.Plan.Raw)
			}
		})
	}
}

func raw(t *testing.T, s schema.Schema, m *restartTest) tftypes.Value {
	t.Helper()
	state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}
	if m != nil {
		if d := state.Set(t.Context(), m); d.HasError() {
			t.Fatal(d)
		}
	}
	return state.Raw
}

// configOf is the configuration that leads to a plan: nothing for computed attributes.
func configOf(t *testing.T, s schema.Schema, m *restartTest) tftypes.Value {
	t.Helper()
	if m == nil {
		return raw(t, s, nil)
	}
	c := *m
	c.Actual = types.StringNull()
	c.PlannedRestarts, c.PendingRestarts = types.ListNull(plannedRestartType()), types.ListNull(pendingRestartType())
	return raw(t, s, &c)
}

func TestRestartModel(t *testing.T) {
	ctx := t.Context()
	var d diag.Diagnostics
	debts := []hyperv.Debt{{Kind: hyperv.RestartVM, Target: "VM1", Reason: "r", Since: time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("", 3600))}}
	restarts := plannedList(ctx, []hyperv.Restart{{Kind: hyperv.RestartVM, Target: "VM1"}}, &d)
	empty := plannedList(ctx, nil, &d)
	pending := types.ListValueMust(pendingRestartType(), []attr.Value{types.ObjectValueMust(pendingRestartType().AttrTypes, map[string]attr.Value{
		"kind": types.StringValue("vm"), "target": types.StringValue("VM1"), "reason": types.StringValue("r"), "since": types.StringValue("2026-01-02T03:04:05Z"),
	})})
	none := pendingList(ctx, nil, &d)
	model := func(policy types.String, planned, pending types.List) restartModel {
		return restartModel{policy, planned, pending}
	}
	auto := types.StringValue("auto")
	tests := []struct {
		name      string
		got, want restartModel
	}{
		{"applied: unknown becomes what is owed", model(auto, restarts, types.ListUnknown(pendingRestartType())).applied(ctx, debts, &d), model(auto, restarts, pending)},
		{"applied: what was planned stays", model(auto, restarts, none).applied(ctx, debts, &d), model(auto, restarts, none)},
		{"read: the last plan stays", model(auto, restarts, none).read(ctx, debts, &d), model(auto, restarts, pending)},
		{"read after import", model(types.StringNull(), types.ListNull(plannedRestartType()), types.ListNull(pendingRestartType())).read(ctx, nil, &d), model(auto, empty, none)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !reflect.DeepEqual(tt.got.RestartPolicy, tt.want.RestartPolicy) || !tt.got.PlannedRestarts.Equal(tt.want.PlannedRestarts) || !tt.got.PendingRestarts.Equal(tt.want.PendingRestarts) {
				t.Errorf("got %v, want %v", tt.got, tt.want)
			}
		})
	}
	if d.HasError() {
		t.Error(d)
	}
}

func TestWarnDestroy(t *testing.T) {
	bounce := []hyperv.Restart{{Kind: hyperv.RestartNetAdapter, Target: "NIC1", Condition: hyperv.Always, Reason: "put back"}}
	tests := []struct {
		name, policy string
		restarts     []hyperv.Restart
		want         string
	}{
		{"auto", "auto", bounce, "Destroying setting X will cause restarts"},
		{"manual", "manual", bounce, "Destroying setting X will owe restarts"},
		{"none", "auto", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var resp resource.ModifyPlanResponse
			warnDestroy(&resp, "setting X", types.StringValue(tt.policy), tt.restarts)
			if len(resp.Diagnostics) != min(1, len(tt.want)) {
				t.Fatal(resp.Diagnostics)
			}
			if tt.want != "" && (resp.Diagnostics[0].Summary() != tt.want || !strings.Contains(resp.Diagnostics[0].Detail(), `net_adapter "NIC1"`)) {
				t.Error(resp.Diagnostics[0])
			}
		})
	}
}
