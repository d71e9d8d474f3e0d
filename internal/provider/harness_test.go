package provider_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
)

// harness talks to the provider in-process over protocol 6, as Terraform does: no CLI, milliseconds a
// step, and the only place where warnings of a plan can be looked at.
type harness struct {
	t      testing.TB
	ctx    context.Context
	server *provider.Server
	srv    tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse
	// secrets are the passwords of the configuration: none may ever come back in a state or a message.
	secrets []string
}

// remember takes the passwords out of a configuration.
func (h *harness) remember(v any) {
	o, _ := v.(object)
	for name, x := range o {
		if s, ok := x.(string); ok && name == "password" && len(s) > 3 && s != unknown {
			h.secrets = append(h.secrets, s)
		}
		h.remember(x)
	}
}

// keepsSecrets fails the test where a password came back.
func (h *harness) keepsSecrets(state object, d diagnostics) {
	h.t.Helper()
	text := fmt.Sprint(state) + d.String()
	for _, s := range h.secrets {
		if strings.Contains(text, s) {
			h.t.Errorf("a password is in the state or in a message: %s", text)
		}
	}
}

// diagnostics are what the provider had to say.
type diagnostics []*tfprotov6.Diagnostic

func (d diagnostics) of(severity tfprotov6.DiagnosticSeverity) (out diagnostics) {
	for _, x := range d {
		if x.Severity == severity {
			out = append(out, x)
		}
	}
	return out
}

func (d diagnostics) errors() diagnostics   { return d.of(tfprotov6.DiagnosticSeverityError) }
func (d diagnostics) warnings() diagnostics { return d.of(tfprotov6.DiagnosticSeverityWarning) }

// String prints them one after the other: severity, attribute, summary, detail.
func (d diagnostics) String() string {
	var b strings.Builder
	for _, x := range d {
		at := ""
		if x.Attribute != nil {
			at = " at " + x.Attribute.String()
		}
		fmt.Fprintf(&b, "%s%s: %s\n%s\n", x.Severity, at, x.Summary, x.Detail)
	}
	return b.String()
}

// newServer starts a provider without configuring it. Its shells are deleted at the end of the test.
func newServer(t testing.TB) *harness { t.Helper(); return startServer(t, quick) }

func startServer(t testing.TB, options ...func(*provider.Options)) *harness {
	t.Helper()
	h := &harness{t: t, ctx: t.Context(), server: provider.NewServer("test", options...)}
	h.srv = providerserver.NewProtocol6(h.server.Provider())()
	t.Cleanup(h.close)
	var err error
	h.schema, err = h.srv.GetProviderSchema(h.ctx, &tfprotov6.GetProviderSchemaRequest{})
	must(t, err)
	if len(h.schema.Diagnostics) > 0 {
		t.Fatal(diagnostics(h.schema.Diagnostics))
	}
	return h
}

// newHarness starts and configures a provider; only warnings may come of it.
func newHarness(t testing.TB, config object) *harness {
	t.Helper()
	h := newServer(t)
	if d := h.configure(config).errors(); len(d) > 0 {
		t.Fatal(d)
	}
	return h
}

func (h *harness) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h.server.Close(ctx)
}

// configure validates and configures the provider as Terraform does.
func (h *harness) configure(config object) diagnostics {
	h.t.Helper()
	h.remember(config)
	value := h.dynamic(h.schema.Provider.ValueType(), config)
	v, err := h.srv.ValidateProviderConfig(h.ctx, &tfprotov6.ValidateProviderConfigRequest{Config: value})
	must(h.t, err)
	if d := diagnostics(v.Diagnostics); len(d.errors()) > 0 {
		return d
	}
	r, err := h.srv.ConfigureProvider(h.ctx, &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: value})
	must(h.t, err)
	return append(v.Diagnostics, r.Diagnostics...)
}

func (h *harness) dynamic(ty tftypes.Type, v any) *tfprotov6.DynamicValue {
	h.t.Helper()
	return h.encode(toValue(h.t, ty, plain(h.t, v)))
}

func (h *harness) encode(v tftypes.Value) *tfprotov6.DynamicValue {
	h.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	must(h.t, err)
	return &d
}

func (h *harness) block(typ string) *tfprotov6.SchemaBlock {
	h.t.Helper()
	s, ok := h.schema.ResourceSchemas[typ]
	if !ok {
		h.t.Fatalf("there is no resource %s", typ)
	}
	return s.Block
}

// validate checks a resource's configuration without plan.
func (h *harness) validate(typ string, config object) diagnostics {
	h.t.Helper()
	r, err := h.srv.ValidateResourceConfig(h.ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: typ, Config: h.dynamic(h.block(typ).ValueType(), config)})
	must(h.t, err)
	return r.Diagnostics
}

// data reads a data source.
func (h *harness) data(typ string, config object) (object, diagnostics) {
	h.t.Helper()
	s, ok := h.schema.DataSourceSchemas[typ]
	if !ok {
		h.t.Fatalf("there is no data source %s", typ)
	}
	ty := s.ValueType()
	value := h.dynamic(ty, config)
	v, err := h.srv.ValidateDataResourceConfig(h.ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typ, Config: value})
	must(h.t, err)
	if d := diagnostics(v.Diagnostics); len(d.errors()) > 0 {
		return nil, d
	}
	r, err := h.srv.ReadDataSource(h.ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: value})
	must(h.t, err)
	d := append(v.Diagnostics, r.Diagnostics...)
	if r.State == nil {
		return nil, d
	}
	state := h.decode(r.State, ty)
	h.keepsSecrets(state, d)
	return state, d
}

func (h *harness) decode(d *tfprotov6.DynamicValue, ty tftypes.Type) object {
	h.t.Helper()
	v, err := d.Unmarshal(ty)
	must(h.t, err)
	if v.IsNull() {
		return nil
	}
	return fromValue(h.t, v).(object)
}

// instance is one resource instance with the state and the private data that Terraform keeps of it.
type instance struct {
	h       *harness
	typ     string
	state   object // nil: it does not exist
	private []byte
}

// resource is an instance that does not exist yet.
func (h *harness) resource(typ string) *instance { return &instance{h: h, typ: typ} }

// plan is what the provider planned.
type plan struct {
	diagnostics
	config, state object
	replace       []string // attributes that force a replacement
	private       []byte
}

// empty says that the plan changes nothing.
func (p plan) empty(prior object) bool { return reflect.DeepEqual(p.state, prior) }

// plan plans config (nil: destroy) against the state.
func (i *instance) plan(config object) plan {
	i.h.t.Helper()
	return i.planFrom(i.state, config)
}

func (i *instance) planFrom(prior, config object) plan {
	t, block := i.h.t, i.h.block(i.typ)
	t.Helper()
	ty := block.ValueType()
	was, want := toValue(t, ty, plain(t, nilIfEmpty(prior))), toValue(t, ty, plain(t, nilIfEmpty(config)))
	r, err := i.h.srv.PlanResourceChange(i.h.ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: i.typ, PriorState: i.h.encode(was), Config: i.h.encode(want), ProposedNewState: i.h.encode(proposed(t, block, was, want)), PriorPrivate: i.private,
	})
	must(t, err)
	p := plan{diagnostics: r.Diagnostics, config: config, private: r.PlannedPrivate}
	for _, a := range r.RequiresReplace {
		p.replace = append(p.replace, a.String())
	}
	if len(p.errors()) == 0 {
		p.state = i.h.decode(r.PlannedState, ty)
		p.check(t, prior)
	}
	return p
}

func nilIfEmpty(o object) any {
	if o == nil {
		return nil
	}
	return o
}

// check holds a plan against the rule that Terraform itself enforces: what the configuration sets is
// planned as it says, or as it was.
func (p plan) check(t testing.TB, prior object) {
	t.Helper()
	if p.config == nil {
		return
	}
	for name, want := range plain(t, p.config).(object) {
		if want == nil || want == unknown {
			continue
		}
		if d := differences(want, p.state[name], name); len(d) > 0 && !reflect.DeepEqual(p.state[name], prior[name]) {
			if _, nested := want.(object); !nested { // nested computed attributes are filled in by the provider
				t.Errorf("the plan is not what the configuration says: %v", d)
			}
		}
	}
}

// applyPlan makes what was planned, replacing the instance where the plan says so, and holds the result
// against the plan as Terraform does. The state is what the provider left, whatever it said.
func (i *instance) applyPlan(p plan) diagnostics {
	i.h.t.Helper()
	if len(p.errors()) > 0 {
		return p.diagnostics
	}
	d := p.diagnostics
	if len(p.replace) > 0 && i.state != nil && p.config != nil {
		d = append(d, i.applyPlan(i.plan(nil))...)
		if i.state != nil {
			return d
		}
		p = i.plan(p.config)
		d = append(d, p.diagnostics...)
		if len(p.errors()) > 0 {
			return d
		}
	}
	return append(d, i.change(p)...)
}

func (i *instance) change(p plan) diagnostics {
	t, ty := i.h.t, i.h.block(i.typ).ValueType()
	t.Helper()
	r, err := i.h.srv.ApplyResourceChange(i.h.ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: i.typ, PriorState: i.h.dynamic(ty, nilIfEmpty(i.state)), PlannedState: i.h.dynamic(ty, nilIfEmpty(p.state)),
		Config: i.h.dynamic(ty, nilIfEmpty(p.config)), PlannedPrivate: p.private,
	})
	must(t, err)
	d := diagnostics(r.Diagnostics)
	if r.NewState != nil {
		i.state, i.private = i.h.decode(r.NewState, ty), r.Private
	}
	i.h.keepsSecrets(i.state, d)
	if len(d.errors()) == 0 {
		var planned, got any = p.state, i.state
		if p.state == nil || i.state == nil {
			planned, got = p.state == nil, i.state == nil
		}
		if diff := differences(planned, got, ""); len(diff) > 0 {
			t.Errorf("provider produced inconsistent result after apply:\n%s", strings.Join(diff, "\n"))
		}
	}
	return d
}

// apply refreshes, plans and applies config (nil: destroy).
func (i *instance) apply(config object) diagnostics {
	i.h.t.Helper()
	var d diagnostics
	if i.state != nil {
		if d = i.refresh(); len(d.errors()) > 0 {
			return d
		}
	}
	if config == nil && i.state == nil {
		return d
	}
	if config != nil {
		if v := i.h.validate(i.typ, config); len(v.errors()) > 0 {
			return append(d, v...)
		}
	}
	p := i.plan(config)
	if len(p.errors()) == 0 && p.empty(i.state) {
		return append(d, p.diagnostics...)
	}
	return append(d, i.applyPlan(p)...)
}

// refresh reads the instance; a state of nil afterwards says that it is gone.
func (i *instance) refresh() diagnostics {
	i.h.t.Helper()
	ty := i.h.block(i.typ).ValueType()
	r, err := i.h.srv.ReadResource(i.h.ctx, &tfprotov6.ReadResourceRequest{TypeName: i.typ, CurrentState: i.h.dynamic(ty, nilIfEmpty(i.state)), Private: i.private})
	must(i.h.t, err)
	i.h.keepsSecrets(nil, r.Diagnostics)
	if d := diagnostics(r.Diagnostics); len(d.errors()) > 0 {
		return d
	}
	i.state, i.private = i.h.decode(r.NewState, ty), r.Private
	i.h.keepsSecrets(i.state, nil)
	return r.Diagnostics
}

// importID imports by id and reads, as Terraform does.
func (i *instance) importID(id string) diagnostics {
	i.h.t.Helper()
	r, err := i.h.srv.ImportResourceState(i.h.ctx, &tfprotov6.ImportResourceStateRequest{TypeName: i.typ, ID: id})
	must(i.h.t, err)
	d := diagnostics(r.Diagnostics)
	i.h.keepsSecrets(nil, d)
	if len(d.errors()) > 0 || len(r.ImportedResources) != 1 {
		return d
	}
	i.state, i.private = i.h.decode(r.ImportedResources[0].State, i.h.block(i.typ).ValueType()), r.ImportedResources[0].Private
	return append(d, i.refresh()...)
}

// settled fails the test unless a refresh and a plan of config change nothing.
func (i *instance) settled(config object) {
	i.h.t.Helper()
	if d := i.refresh(); len(d.errors()) > 0 {
		i.h.t.Fatal(d)
	}
	if i.state == nil {
		i.h.t.Fatalf("%s is gone", i.typ)
	}
	p := i.plan(config)
	if len(p.diagnostics) > 0 {
		i.h.t.Errorf("second plan of %s: %s", i.typ, p.diagnostics)
	}
	if !p.empty(i.state) {
		i.h.t.Errorf("second plan of %s is not empty: %v", i.typ, differences(i.state, p.state, ""))
	}
}
