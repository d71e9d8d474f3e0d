package powershell

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// GuestConnection is how a guest is reached by WinRM. The user and password of Config are those of each call.
type GuestConnection struct {
	Config  winrm.Config
	Options PoolOptions
}

// GuestPools holds a Pool for each user of each guest that is reached directly.
type GuestPools struct {
	connections map[string]GuestConnection
	// open makes a pool; tests replace it.
	open func(winrm.Config, PoolOptions) *Pool

	mu     sync.Mutex
	pools  map[guestUser]*Pool
	closed bool
}

type guestUser struct {
	name       string // the key of its connection
	credential wire.Credential
}

// NewGuestPools takes the connections by the machines' names, whose case does not matter. It does not connect.
func NewGuestPools(connections map[string]GuestConnection) *GuestPools {
	return &GuestPools{connections: connections, open: NewPool, pools: map[guestUser]*Pool{}}
}

// Route implements GuestRoutes.
func (g *GuestPools) Route(guest wire.Guest) Executor {
	for name, connection := range g.connections {
		if guest.Name != "" && strings.EqualFold(name, guest.Name) {
			return g.pool(guestUser{name, guest.Credential}, connection)
		}
	}
	return nil
}

func (g *GuestPools) pool(user guestUser, connection GuestConnection) Executor {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.pools[user]; p != nil {
		return p
	}
	if g.closed {
		return closedExecutor{}
	}
	cfg := connection.Config
	cfg.User, cfg.Password = user.credential.User, user.credential.Password
	p := g.open(cfg, connection.Options)
	g.pools[user] = p
	return p
}

// Close closes all pools at once.
func (g *GuestPools) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	pools := make([]*Pool, 0, len(g.pools))
	for _, p := range g.pools {
		pools = append(pools, p)
	}
	g.mu.Unlock()
	failures := make([]error, len(pools))
	var group sync.WaitGroup
	for i, p := range pools {
		group.Go(func() { failures[i] = p.Close(ctx) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// closedExecutor is the pool of a guest that was first asked for after Close.
type closedExecutor struct{}

// Do implements Executor.
func (closedExecutor) Do(context.Context, ...Call) ([]wire.Result, error) { return nil, ErrClosed }

var _ GuestRoutes = (*GuestPools)(nil)
