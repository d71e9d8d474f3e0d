package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
)

// terraform is a real Terraform in a folder of its own. terraform-plugin-testing copies one folder alone,
// and a lab needs its modules. The provider runs in this process, anew for each command, as in real life.
type terraform struct {
	t   *testing.T
	dir string
	cli *tfexec.Terraform
}

// newTerraform copies a folder of examples (labs/NAME) with the modules that it uses, and gets ready to
// apply it with the variables.
func newTerraform(t *testing.T, example string, variables object) *terraform {
	t.Helper()
	top := t.TempDir()
	for _, part := range []string{"modules", example} {
		must(t, os.CopyFS(filepath.Join(top, part), os.DirFS(filepath.Join("../../examples", part))))
	}
	tf := terraformIn(t, filepath.Join(top, example))
	tf.write("terraform.tfvars.json", variables)
	tf.init()
	return tf
}

// terraformIn is a Terraform in a folder, which may still be empty. Without a CLI the test skips.
func terraformIn(t *testing.T, dir string) *terraform {
	t.Helper()
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if path == "" {
		t.Skip("no terraform and no tofu found: not tested with a real Terraform")
	}
	cli, err := tfexec.NewTerraform(dir, path)
	must(t, err)
	return &terraform{t: t, dir: dir, cli: cli}
}

// write writes a file: text as it is, anything else as JSON.
func (tf *terraform) write(name string, content any) {
	tf.t.Helper()
	text, ok := content.(string)
	if !ok {
		data, err := json.Marshal(content)
		must(tf.t, err)
		text = string(data)
	}
	must(tf.t, os.WriteFile(filepath.Join(tf.dir, name), []byte(text), 0o600))
}

// read reads a file.
func (tf *terraform) read(name string) string {
	tf.t.Helper()
	data, err := os.ReadFile(filepath.Join(tf.dir, name))
	must(tf.t, err)
	return string(data)
}

func (tf *terraform) init() {
	tf.t.Helper()
	tf.served(func(ctx context.Context, r tfexec.ReattachInfo) error {
		return tf.cli.Init(ctx, tfexec.Reattach(r), tfexec.Backend(false))
	})
}

// apply plans and applies; with parallelism 0 as many operations at once as Terraform likes.
func (tf *terraform) apply(parallelism int) {
	tf.t.Helper()
	tf.served(func(ctx context.Context, r tfexec.ReattachInfo) error {
		options := []tfexec.ApplyOption{tfexec.Reattach(r)}
		if parallelism > 0 {
			options = append(options, tfexec.Parallelism(parallelism))
		}
		return tf.cli.Apply(ctx, options...)
	})
}

func (tf *terraform) destroy(parallelism int) {
	tf.t.Helper()
	tf.served(func(ctx context.Context, r tfexec.ReattachInfo) error {
		options := []tfexec.DestroyOption{tfexec.Reattach(r)}
		if parallelism > 0 {
			options = append(options, tfexec.Parallelism(parallelism))
		}
		return tf.cli.Destroy(ctx, options...)
	})
}

// settled fails the test unless a plan changes nothing, no output included.
func (tf *terraform) settled() {
	tf.t.Helper()
	if p, changed := tf.plan(); changed {
		tf.t.Errorf("the second plan is not empty: %s", describe(p))
	}
}

// plan refreshes and plans, and says whether the plan changes anything.
func (tf *terraform) plan(more ...tfexec.PlanOption) (p *tfjson.Plan, changed bool) {
	tf.t.Helper()
	const file = "test.tfplan"
	tf.served(func(ctx context.Context, r tfexec.ReattachInfo) (err error) {
		if changed, err = tf.cli.Plan(ctx, append(more, tfexec.Reattach(r), tfexec.Out(file))...); err != nil {
			return err
		}
		p, err = tf.cli.ShowPlanFile(ctx, file, tfexec.Reattach(r))
		return err
	})
	must(tf.t, os.Remove(filepath.Join(tf.dir, file)))
	return p, changed
}

// outputs are the outputs of the last apply.
func (tf *terraform) outputs() map[string]any {
	tf.t.Helper()
	out := map[string]any{}
	tf.served(func(ctx context.Context, _ tfexec.ReattachInfo) error {
		all, err := tf.cli.Output(ctx)
		for name, o := range all {
			var v any
			must(tf.t, json.Unmarshal(o.Value, &v))
			out[name] = v
		}
		return err
	})
	return out
}

// state are the resources of the state by address.
func (tf *terraform) state() map[string]*tfjson.StateResource {
	tf.t.Helper()
	found := map[string]*tfjson.StateResource{}
	tf.served(func(ctx context.Context, r tfexec.ReattachInfo) error {
		s, err := tf.cli.Show(ctx, tfexec.Reattach(r))
		if err == nil && s.Values != nil {
			collect(s.Values.RootModule, found)
		}
		return err
	})
	return found
}

func collect(m *tfjson.StateModule, found map[string]*tfjson.StateResource) {
	for _, r := range m.Resources {
		if r.Mode == tfjson.ManagedResourceMode {
			found[r.Address] = r
		}
	}
	for _, child := range m.ChildModules {
		collect(child, found)
	}
}

// served runs a command with a provider of its own.
func (tf *terraform) served(command func(context.Context, tfexec.ReattachInfo) error) {
	tf.t.Helper()
	ctx, cancel := context.WithTimeout(tf.t.Context(), 5*time.Minute)
	defer cancel()
	address := providerAddress()
	server := provider.NewServer("test", quick)
	started, ended := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	serving, stop := context.WithCancel(ctx)
	go func() {
		_ = tf6server.Serve(address, providerserver.NewProtocol6(server.Provider()), // it reports by its channels
			tf6server.WithDebug(serving, started, ended), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithLoggingSink(tf.t))
	}()
	c := <-started
	err := command(ctx, tfexec.ReattachInfo{address: {
		Protocol: string(c.Protocol), ProtocolVersion: c.ProtocolVersion, Pid: c.Pid, Test: true,
		Addr: tfexec.ReattachConfigAddr{Network: c.Addr.Network(), String: c.Addr.String()},
	}})
	stop()
	<-ended
	closing, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	server.Close(closing)
	must(tf.t, err)
}

// providerAddress is the provider's address in the registry of the CLI that is used.
func providerAddress() string {
	host := os.Getenv("TF_ACC_PROVIDER_HOST")
	if host == "" {
		host = "registry.terraform.io"
	}
	return host + "/hyperv-rdma/hyperv"
}

// describe lists what a plan changes, and which attributes.
func describe(p *tfjson.Plan) string {
	var out []string
	for _, rc := range p.ResourceChanges {
		if rc.Change.Actions.NoOp() || rc.Change.Actions.Read() {
			continue
		}
		before, _ := rc.Change.Before.(object)
		after, _ := rc.Change.After.(object)
		var names []string
		for _, name := range sortedKeys(after) {
			if fmt.Sprint(before[name]) != fmt.Sprint(after[name]) {
				names = append(names, fmt.Sprintf("%s: %v -> %v", name, before[name], after[name]))
			}
		}
		out = append(out, fmt.Sprintf("%v %s (%s)", rc.Change.Actions, rc.Address, strings.Join(names, "; ")))
	}
	for _, name := range sortedKeys(p.OutputChanges) {
		if !p.OutputChanges[name].Actions.NoOp() {
			out = append(out, "output "+name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
