package winrm

import "sync"

// shared is what the transports of one host have in common: Kerberos tickets, which cost requests to
// the KDC, the kind of authentication that AuthAuto has found to work, and how the network is.
type shared struct {
	tickets *tickets // nil without Kerberos
	outage  outage

	mu      sync.Mutex
	settled string
}

// Shared gives a configuration whose transports share what is worth keeping from one connection to the
// next. Release ends its use.
func (c Config) Shared() Config {
	c.shared = &shared{}
	if c.Kerberos != nil || c.Auth == AuthKerberos {
		c.shared.tickets = newTickets(c)
	}
	return c
}

// Release forgets tickets. What is kept would otherwise be renewed until the program ends.
func (c Config) Release() {
	if c.shared != nil && c.shared.tickets != nil {
		c.shared.tickets.forget()
	}
}

func (s *shared) kind() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled
}

func (s *shared) settle(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = kind
}
