package door

import (
	"strings"
	"sync"
	"time"
)

// shell is a remote shell. It belongs to the host, not to a TCP connection.
type shell struct {
	id   string
	env  []string
	idle time.Duration

	mu       sync.Mutex
	commands map[string]*command
	started  int // commands over the life of the shell
	active   int // requests at work
	timer    *time.Timer
	gone     bool
}

// openShell registers a shell; false where the quota is used up.
func (d *Door) openShell(id string, env []string, idle time.Duration) (*shell, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.shells) >= d.limits.MaxShells {
		return nil, false
	}
	if _, taken := d.shells[id]; taken || id == "" {
		id = newID()
	}
	sh := &shell{id: id, env: env, idle: idle, commands: map[string]*command{}}
	sh.timer = time.AfterFunc(idle, func() { d.expire(sh) })
	d.shells[id] = sh
	d.counters.shellsCreated.Add(1)
	return sh, true
}

// enter finds a shell and keeps it from expiring until leave is called.
func (d *Door) enter(id string) *shell {
	d.mu.Lock()
	sh := d.shells[strings.ToUpper(id)]
	d.mu.Unlock()
	if sh == nil {
		return nil
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.gone {
		return nil
	}
	sh.active++
	sh.timer.Stop()
	return sh
}

func (sh *shell) leave() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.active--; sh.active == 0 && !sh.gone {
		sh.timer.Reset(sh.idle)
	}
}

func (d *Door) expire(sh *shell) {
	sh.mu.Lock()
	if sh.active > 0 || sh.gone {
		sh.mu.Unlock()
		return
	}
	sh.gone = true // from here on nobody enters
	sh.mu.Unlock()
	d.removeShell(sh)
}

// removeShell deletes a shell and ends everything in it.
func (d *Door) removeShell(sh *shell) {
	d.mu.Lock()
	delete(d.shells, sh.id)
	d.mu.Unlock()
	sh.mu.Lock()
	sh.gone = true
	sh.timer.Stop()
	all := sh.commands
	sh.commands = map[string]*command{}
	sh.mu.Unlock()
	for _, c := range all {
		c.abort()
	}
}

func (d *Door) allShells() []*shell {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*shell, 0, len(d.shells))
	for _, sh := range d.shells {
		all = append(all, sh)
	}
	return all
}

func (sh *shell) killProcesses() {
	sh.mu.Lock()
	all := make([]*command, 0, len(sh.commands))
	for _, c := range sh.commands {
		all = append(all, c)
	}
	sh.mu.Unlock()
	for _, c := range all {
		c.kill()
	}
}

// admit counts a new command; false where the quota is used up.
func (sh *shell) admit(most int) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.started >= most {
		return false
	}
	sh.started++
	return true
}

// add registers a command; false where the shell went away meanwhile.
func (sh *shell) add(c *command) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.gone {
		return false
	}
	sh.commands[c.id] = c
	return true
}

func (sh *shell) command(id string) *command {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.commands[strings.ToUpper(id)]
}

func (sh *shell) remove(c *command) {
	sh.mu.Lock()
	delete(sh.commands, c.id)
	sh.mu.Unlock()
	c.abort()
}
