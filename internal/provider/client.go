package provider

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// Options are how a host is worked on, how its sessions are kept, and how it is connected to.
type Options struct {
	hyperv.Options
	powershell.PoolOptions
	Connection winrm.Config
}

// client is a configured provider: the hosts by name. It contacts none by itself.
type client struct {
	hosts        map[string]*hostEntry
	hostsUnknown bool // not even the names are known before apply
	guests       guestLogins
	guestPools   *powershell.GuestPools // of guests that are reached without their host
	options      []func(*Options)
}

// hostEntry opens a host's sessions when something first asks for the host.
type hostEntry struct {
	name       string
	connection connection

	mu   sync.Mutex
	pool *powershell.Pool
	host *hyperv.Host
}

// newClient reads the provider's configuration. What is unknown is remembered as such, what is known
// is checked.
func newClient(ctx context.Context, m providerModel, env environment, diags *diag.Diagnostics) *client {
	c := &client{hosts: map[string]*hostEntry{}, guestPools: powershell.NewGuestPools(nil)}
	defaults := env.connection(diags)
	guestsKnown := known(ctx, m.GuestCredentials) && known(ctx, m.Guests) && !m.DefaultGuestCredential.IsUnknown()
	if guestsKnown {
		c.guests = newGuestLogins(ctx, m, env, diags)
		c.guestPools = powershell.NewGuestPools(guestConnections(ctx, m.Guests, diags))
	}
	if m.Hosts.IsUnknown() {
		c.hostsUnknown = true
		return c
	}
	elements := m.Hosts.Elements()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		value := elements[name]
		entry := &hostEntry{name: name}
		c.hosts[name] = entry
		object, ok := value.(basetypes.ObjectValue)
		if !ok || object.IsUnknown() {
			entry.connection.unknown = true
			continue
		}
		var h hostModel
		diags.Append(object.As(ctx, &h, basetypes.ObjectAsOptions{})...)
		address, _ := first(h.Address, types.StringValue(name))
		entry.connection = source{host: h.connectionModel, top: m.connectionModel, env: defaults, at: path.Root("hosts").AtMapKey(name), named: fmt.Sprintf("%q", name)}.connection(ctx, address, diags)
	}
	if m.Hosts.IsNull() {
		c.addEnvironmentHost(ctx, m, env, defaults, diags)
	}
	if !guestsKnown {
		for _, entry := range c.hosts {
			entry.connection.unknown = true
		}
	}
	return c
}

// addEnvironmentHost adds the host that only the environment names.
func (c *client) addEnvironmentHost(ctx context.Context, m providerModel, env environment, defaults connectionModel, diags *diag.Diagnostics) {
	address := env(envHost)
	if address == "" {
		return
	}
	if !regexp.MustCompile(bareAddress).MatchString(address) {
		diags.AddError("Invalid environment variable "+envHost, fmt.Sprintf("%s is %q, but %s (%s).", envHost, address, bareAddressRule, envPort))
		return
	}
	from := source{top: m.connectionModel, env: defaults, at: path.Empty(), named: fmt.Sprintf("%q (%s)", address, envHost)}
	c.hosts[address] = &hostEntry{name: address, connection: from.connection(ctx, types.StringValue(address), diags)}
}

// known says whether a value is known in all its depth.
func known(ctx context.Context, v types.Map) bool {
	t, err := v.ToTerraformValue(ctx)
	return err == nil && t.IsFullyKnown()
}

func (c *client) anyUnknown() bool {
	for _, h := range c.hosts {
		if h.connection.unknown {
			return true
		}
	}
	return c.hostsUnknown
}

// names are the known hosts, sorted.
func (c *client) names() []string { return slices.Sorted(maps.Keys(c.hosts)) }

// defaultHost is the name of the only host.
func (c *client) defaultHost() (string, error) {
	if len(c.hosts) == 1 {
		return c.names()[0], nil
	}
	if len(c.hosts) == 0 {
		return "", c.noHost()
	}
	return "", &hyperv.Error{
		Kind: hyperv.Invalid, Attribute: "host",
		Cause: fmt.Sprintf("The provider has %d hosts, so host must say which is meant.", len(c.hosts)),
		Fix:   fmt.Sprintf("Set host to one of %s.", quotedList(c.names())),
	}
}

func (c *client) noHost() error {
	return &hyperv.Error{
		Kind: hyperv.Invalid, Attribute: "host",
		Cause: "The provider has no host.",
		Fix:   "Add one to hosts of the provider, or set the environment variable " + envHost + ".",
	}
}

// entry finds a host by name.
func (c *client) entry(name string) (*hostEntry, error) {
	if e, ok := c.hosts[name]; ok {
		return e, nil
	}
	if len(c.hosts) == 0 {
		return nil, c.noHost()
	}
	return nil, &hyperv.Error{
		Kind: hyperv.Invalid, Attribute: "host", Value: name,
		Cause: fmt.Sprintf("The provider has no host %q.", name),
		Fix:   fmt.Sprintf("Use one of %s, or add it to hosts of the provider.", quotedList(c.names())),
	}
}

// unknown says whether a host cannot be contacted because its configuration is known only after apply.
func (c *client) unknown(name string) bool {
	if c.hostsUnknown {
		return true
	}
	e, ok := c.hosts[name]
	return ok && e.connection.unknown
}

// host gives a host that can be used. It is not contacted.
func (c *client) host(name string) (*hyperv.Host, error) {
	if c.unknown(name) {
		return nil, &hyperv.Error{
			Kind: hyperv.Invalid, Attribute: "host", Value: name,
			Cause: "How to reach the host is known only after apply, because the provider's configuration uses values of resources that do not exist yet.",
			Fix:   "Apply these resources first (terraform apply -target=…), or give the provider values that are known.",
		}
	}
	e, err := c.entry(name)
	if err != nil {
		return nil, err
	}
	return e.open(c), nil
}

func (e *hostEntry) open(c *client) *hyperv.Host {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.host != nil {
		return e.host
	}
	options := Options{
		Options:     hyperv.Options{GuestCredential: c.guests.find, Address: e.connection.winrm.Address, RollbackAfter: e.connection.rollbackAfter},
		PoolOptions: powershell.PoolOptions{MaxSessions: e.connection.maxSessions},
		Connection:  e.connection.winrm,
	}
	options.Connection.Log = e.log
	for _, change := range c.options {
		change(&options)
	}
	e.pool = powershell.NewPool(options.Connection, options.PoolOptions)
	options.Reads = powershell.NewRouter(powershell.NewCoalescer(e.pool), c.guestPools)
	e.host = hyperv.NewHost(e.name, powershell.NewRouter(e.pool, c.guestPools), options.Options)
	return e.host
}

// log is logDebug with the host's name.
func (e *hostEntry) log(ctx context.Context, message string, fields map[string]any) {
	logDebug(ctx, message, withField(fields, "host", e.name))
}

func withField(fields map[string]any, name string, value any) map[string]any {
	all := map[string]any{name: value}
	maps.Copy(all, fields)
	return all
}

// close deletes the shells on all hosts, and in guests that are reached directly.
func (c *client) close(ctx context.Context) {
	var wg sync.WaitGroup
	for _, e := range c.hosts {
		wg.Go(func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.pool == nil {
				return
			}
			if err := e.host.Close(ctx); err != nil {
				logDebug(ctx, "not all records of what was made could be taken out of the ledger; the next plan does it", map[string]any{"host": e.name, "error": err.Error()})
			}
			if err := e.pool.Close(ctx); err != nil {
				logDebug(ctx, "not all shells could be removed; the host does it when their idle timeout is over", map[string]any{"host": e.name, "error": err.Error()})
			}
			e.pool, e.host = nil, nil
		})
	}
	wg.Go(func() {
		if err := c.guestPools.Close(ctx); err != nil {
			logDebug(ctx, "not all shells in guests could be removed; the guests do it when their idle timeout is over", map[string]any{"error": err.Error()})
		}
	})
	wg.Wait()
}
