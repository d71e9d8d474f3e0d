// Package provider is the Terraform side: schemas, plans, state and diagnostics. What is done on hosts
// is internal/hyperv's business.
package provider

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// Server makes provider values and closes what they opened on hosts. Terraform's protocol has no call
// that says "you are done", so whoever serves the provider calls Close when serving ends.
type Server struct {
	version string
	options []func(*Options)

	mu      sync.Mutex
	clients []*client
}

// NewServer returns a Server for providers of this version. The options change how hosts are worked on: how
// long to wait for what.
func NewServer(version string, options ...func(*Options)) *Server {
	return &Server{version: version, options: options}
}

// New returns a function that makes a fresh provider value at each call.
func New(version string) func() provider.Provider { return NewServer(version).Provider }

// Provider makes a fresh provider value.
func (s *Server) Provider() provider.Provider { return &hypervProvider{server: s} }

// Close deletes the shells of all providers on all hosts, in parallel, and gives up when ctx ends.
// A provider cannot be used afterwards.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	clients := s.clients
	s.clients = nil
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { c.close(ctx) })
	}
	wg.Wait()
}

func (s *Server) remember(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, c)
}

type hypervProvider struct{ server *Server }

var _ provider.Provider = (*hypervProvider)(nil)

func (p *hypervProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "hyperv"
	resp.Version = p.server.version
}

func (p *hypervProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	if !req.Config.Raw.IsFullyKnown() && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
	}
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c := newClient(ctx, m, newEnvironment(), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if resp.Deferred == nil && c.anyUnknown() {
		resp.Diagnostics.AddAttributeWarning(path.Root("hosts"), "Provider configuration is not known yet",
			"Values of the provider configuration are known only after apply. Resources of these hosts are planned without "+
				"contacting them: what exists is shown as in the state, and changes made outside of Terraform are not seen in this plan.")
	}
	c.options = p.server.options
	p.server.remember(c)
	resp.ResourceData, resp.DataSourceData = c, c
	resp.ActionData, resp.ListResourceData, resp.EphemeralResourceData = c, c, c
}

func (p *hypervProvider) Resources(context.Context) []func() resource.Resource {
	return resources()
}

func (p *hypervProvider) DataSources(context.Context) []func() datasource.DataSource {
	return dataSources()
}

func (p *hypervProvider) Actions(context.Context) []func() action.Action {
	return actions()
}
